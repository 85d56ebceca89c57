/* Finds the rotation axis of a scan from its middle detector row. */
#ifndef AXIS_H
#define AXIS_H

#include "demo.h"
#include "scan.h"

enum { AXIS_CANDIDATES = 17 };

typedef struct {
    double coarse;                /* by correlation of opposite views; negative if it cannot be told */
    double best;                  /* by the cleanest slice */
    double first;                 /* the first candidate; the others follow bin by bin */
    float score[AXIS_CANDIDATES]; /* their artefacts, relative to the cleanest */
} axis_result;

/* Good to about a tenth of a bin. */
isoc_status axis_find(isoc_context *ctx, demo_bar *bar, const scan *s, axis_result *out);

#endif
