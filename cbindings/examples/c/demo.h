/* What the demos share: memory, time, and a progress bar. */
#ifndef DEMO_H
#define DEMO_H

#include <isocenter.h>
#include <stddef.h>

/* Leaves the function through its label `end` when a library call fails; `status` then holds the reason. */
#define TRY(call) \
    do { \
        if ((status = (call)) != ISOC_STATUS_OK) goto end; \
    } while (0)

/* A progress bar on stderr, drawn only where that is a terminal. A job of several calls moves `start` for each. */
typedef struct {
    const char *title;
    double start, share;
} demo_bar;

/* A context that reports to `bar`, which must outlive it. */
isoc_status demo_context(demo_bar *bar, uint32_t nan_policy, isoc_context **out);

/* The same on an isoc_context_device. */
isoc_status demo_context_on(uint32_t device, demo_bar *bar, uint32_t nan_policy, isoc_context **out);

/* Says on stderr what a status means, with the library's own words for this thread's last failure. */
void demo_complain(isoc_status status);

/* `count` zeroed elements, or NULL, said on stderr. */
void *demo_array(int64_t count, size_t size);

/* Seconds since some fixed moment. */
double demo_seconds(void);

/* "123 MB" and the like; `text` holds 32 characters. */
const char *demo_bytes(uint64_t bytes, char *text);

#endif
