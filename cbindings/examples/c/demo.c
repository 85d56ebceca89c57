#define _POSIX_C_SOURCE 200809L
#include "demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int32_t draw_bar(void *user, double fraction, const char *stage) {
    const demo_bar *bar = (const demo_bar *)user;
    static const char full[] = "########################################";
    const int width = (int)sizeof full - 1;
    double done = bar->start + bar->share * fraction;
    if (done > 0.9999) {
        fputs("\r\033[K", stderr);
    } else {
        int cells = (int)(done * width);
        fprintf(stderr, "\r%-14s [%.*s%*s] %3.0f %%  %s\033[K", bar->title, cells, full, width - cells, "", 100 * done,
                stage);
    }
    fflush(stderr);
    return 0;
}

isoc_status demo_context(demo_bar *bar, uint32_t nan_policy, isoc_context **out) {
    return demo_context_on(ISOC_CONTEXT_DEVICE_AUTO, bar, nan_policy, out);
}

isoc_status demo_context_on(uint32_t device, demo_bar *bar, uint32_t nan_policy, isoc_context **out) {
    isoc_context_options options = { .struct_size = sizeof options, .device = device, .nan_policy = nan_policy };
    if (isatty(STDERR_FILENO)) {
        options.progress = draw_bar;
        options.progress_user = bar;
    }
    return isoc_context_create(&options, out);
}

void demo_complain(isoc_status status) {
    fprintf(stderr, "error: %s: %s\n", isoc_status_string(status), isoc_last_error());
}

void *demo_array(int64_t count, size_t size) {
    void *array = count > 0 && (uint64_t)count <= SIZE_MAX ? calloc((size_t)count, size) : NULL;
    if (!array) fprintf(stderr, "error: no memory for %lld elements of %zu bytes\n", (long long)count, size);
    return array;
}

double demo_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *demo_bytes(uint64_t bytes, char *text) {
    snprintf(text, 32, bytes < 1000000 ? "%.2f MB" : "%.0f MB", 1e-6 * (double)bytes);
    return text;
}
