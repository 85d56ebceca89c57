/* Finds the rotation axis of a scan from its middle detector row. */
#ifndef AXIS_H
#define AXIS_H

#include "demo.h"
#include "scan.h"

enum { AXIS_CANDIDATES = 17 };

typedef struct {
    double coarse;                  /* by correlation of opposite views */
    double best;                    /* by the cleanest slice */
    double first, step;             /* the first round of candidates: first + k * step */
    float score[AXIS_CANDIDATES];   /* their artefacts, relative to the cleanest */
    int64_t replaced;               /* values without a usable flat field */
} axis_result;

isoc_status axis_find(isoc_context *ctx, demo_bar *bar, const scan *s, axis_result *out);

#endif
