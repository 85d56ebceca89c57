#include "axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* Correlation coefficient of a view with the mirror image of another, if the axis lies at bin twice / 2. */
static double mirrored_correlation(const float *a, const float *b, int64_t bins, int64_t twice) {
    int64_t first = twice > bins - 1 ? twice - (bins - 1) : 0, last = twice < bins - 1 ? twice : bins - 1;
    double n = (double)(last - first + 1), sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
    for (int64_t k = first; k <= last; k++) {
        double x = (double)a[k], y = (double)b[twice - k];
        sum_a += x;
        sum_b += y;
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    double variances = (aa - sum_a * sum_a / n) * (bb - sum_b * sum_b / n);
    return variances > 0 ? (ab - sum_a * sum_b / n) / sqrt(variances) : -1;
}

/* Where a parabola through three evenly spaced values has its extremum, in steps from the middle one. */
static double parabola(double left, double middle, double right) {
    double curvature = left - 2 * middle + right;
    return curvature != 0 ? fmin(fmax(0.5 * (left - right) / curvature, -0.5), 0.5) : 0;
}

/* The two views nearest to half a turn apart mirror each other about the axis. Returns the axis, or a negative number
 * if no two views oppose each other to 5 degrees, or a row is uniform wherever they overlap. */
static double coarse_axis(const float *rows, const double *angles, int64_t views, int64_t bins) {
    int64_t p = 0, q = 0;
    double nearest = 5 * PI / 180;
    for (int64_t i = 0; i < views; i++) {
        for (int64_t k = i + 1; k < views; k++) {
            double off = fabs(remainder(angles[k] - angles[i] - PI, 2 * PI));
            if (off < nearest) {
                nearest = off;
                p = i;
                q = k;
            }
        }
    }
    if (p == q) return -1;
    const float *a = rows + p * bins, *b = rows + q * bins;
    /* At least a quarter of the bins overlap: less can match by chance. */
    int64_t best = bins - 1;
    double highest = -2;
    for (int64_t twice = bins / 4; twice <= 2 * (bins - 1) - bins / 4; twice++) {
        double correlation = mirrored_correlation(a, b, bins, twice);
        if (correlation > highest) {
            highest = correlation;
            best = twice;
        }
    }
    if (highest <= -1) return -1;
    double below = mirrored_correlation(a, b, bins, best - 1), above = mirrored_correlation(a, b, bins, best + 1);
    return 0.5 * ((double)best + parabola(below, highest, above));
}

/* Keeps the rows of half a turn, and their angles; returns how many. Over a full turn a wrong axis only blurs, without
 * the arcs that `negativity` looks for. */
static int64_t keep_half_turn(float *rows, double *angles, int64_t views, int64_t bins) {
    double start = angles[0];
    int64_t kept = 0;
    for (int64_t p = 1; p < views; p++) start = fmin(start, angles[p]);
    for (int64_t p = 0; p < views; p++) {
        if (fmod(angles[p] - start, 2 * PI) >= PI) continue;
        memmove(rows + kept * bins, rows + p * bins, (size_t)bins * sizeof *rows);
        angles[kept++] = angles[p];
    }
    return kept;
}

/* Mean negative part of the slice in its inscribed disk. Attenuation is not negative, and a wrong axis pulls edges
 * apart into bright and dark arcs while the mean stays: the cleanest slice has the least of it (Donath et al. 2006,
 * J. Opt. Soc. Am. A 23, 1048, their Q_IN). */
static double negativity(const float *slice, int64_t n) {
    double sum = 0, count = 0, middle = 0.5 * (double)(n - 1);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            double y = (double)i - middle, x = (double)j - middle;
            if (x * x + y * y <= middle * middle) {
                sum += fmax(0.0, -(double)slice[i * n + j]);
                count++;
            }
        }
    }
    return sum / count;
}

/* What a candidate axis needs: filtered rows, made once, and a plan whose geometry only changes its axis. */
typedef struct {
    isoc_ct *ct;
    isoc_ct_geometry geometry;
    double *axis; /* what geometry.axis points to */
    isoc_tensor filtered, slice;
    demo_bar *bar;
} search;

static isoc_status score_axes(search *s, double first, double step, double score[AXIS_CANDIDATES]) {
    isoc_status status = ISOC_STATUS_OK;
    for (int k = 0; k < AXIS_CANDIDATES; k++) {
        *s->axis = first + k * step;
        TRY(isoc_ct_set_geometry(s->ct, &s->geometry));
        TRY(isoc_ct_backproject(s->ct, &s->filtered, &s->slice));
        s->bar->start = fmin(s->bar->start + s->bar->share, 1 - s->bar->share);
        score[k] = negativity((const float *)s->slice.data, s->geometry.nx);
    }
end:
    return status;
}

isoc_status axis_find(isoc_context *ctx, demo_bar *bar, const scan *s, axis_result *out) {
    isoc_status status = ISOC_STATUS_OUT_OF_MEMORY;
    const int64_t middle = s->rows / 2;
    *bar = (demo_bar){ "rotation axis", 0, 1.0 / (2 * AXIS_CANDIDATES + 2) };
    int64_t shape[] = { s->views, 1, s->bins };
    isoc_ct *ct = NULL;
    float *slice = NULL, *rows = demo_array(s->views * s->bins, sizeof *rows);
    double *angles = demo_array(s->views, sizeof *angles);
    if (!rows || !angles) goto end;
    memcpy(angles, s->angles, (size_t)s->views * sizeof *angles);

    /* The middle row as line integrals, then filtered. Strides pick it from the frames: nothing is copied. */
    const isoc_tensor raw = scan_row(&s->data, middle);
    const isoc_tensor white = scan_row(&s->white, middle);
    const isoc_tensor dark = scan_row(&s->dark, middle);
    const isoc_tensor row = { rows, ISOC_HOST, 3, ISOC_F32, shape, NULL, 0 };
    isoc_ct_geometry geometry = {
        .struct_size = sizeof geometry, .views = s->views, .bins = s->bins, .angles = angles
    };
    isoc_ct_options options = {
        .struct_size = sizeof options, .filter = ISOC_CT_FILTER_NONE, .weighted_backprojection = 1,
        .input = ISOC_CT_INPUT_COUNTS /* also those that a file has as floats */
    };
    TRY(isoc_ct_create(ctx, &ct));
    TRY(isoc_ct_set_geometry(ct, &geometry));
    TRY(isoc_ct_set_flat_field(ct, &white, s->dark.data ? &dark : NULL));
    TRY(isoc_ct_set_options(ct, &options));
    TRY(isoc_ct_filter(ct, &raw, &row));
    out->best = out->coarse = coarse_axis(rows, s->angles, s->views, s->bins);
    if (out->coarse < 0) goto end;
    options.filter = ISOC_CT_FILTER_PARZEN; /* the softest window: noise has a negative part too, whatever the axis */
    options.padding = ISOC_CT_PADDING_EDGE;
    TRY(isoc_ct_set_options(ct, &options));
    TRY(isoc_ct_filter(ct, &raw, &row));
    shape[0] = keep_half_turn(rows, angles, s->views, s->bins); /* `row` has this shape, too */
    geometry.views = shape[0];

    /* Slices from candidates around the guess, of the largest disk that the detector covers from both sides. */
    const double reach = AXIS_CANDIDATES / 2;
    double axis = out->coarse, covered = fmin(axis, (double)(s->bins - 1) - axis) - reach;
    const int64_t n = 2 * (int64_t)fmax(covered, (double)s->bins / 8) + 1, slice_shape[] = { 1, n, n };
    if (!(slice = demo_array(n * n, sizeof *slice))) {
        status = ISOC_STATUS_OUT_OF_MEMORY;
        goto end;
    }
    geometry.nx = geometry.ny = n;
    geometry.axis = &axis;
    geometry.axis_count = 1;
    search state = { ct, geometry, &axis, row, { slice, ISOC_HOST, 3, ISOC_F32, slice_shape, NULL, 0 }, bar };
    out->first = out->coarse - reach;
    for (double step = 1; step > 0.1; step /= reach) {
        double score[AXIS_CANDIDATES], first = out->best - reach * step;
        TRY(score_axes(&state, first, step, score));
        int lowest = 0;
        for (int k = 1; k < AXIS_CANDIDATES; k++) lowest = score[k] < score[lowest] ? k : lowest;
        for (int k = 0; step == 1 && k < AXIS_CANDIDATES; k++) {
            out->score[k] = (float)(score[k] / fmax(score[lowest], 1e-30));
        }
        if (lowest == 0 || lowest == AXIS_CANDIDATES - 1) break; /* no clear minimum: the best so far stands */
        out->best = first + step * (lowest + parabola(score[lowest - 1], score[lowest], score[lowest + 1]));
    }
end:
    isoc_ct_destroy(ct);
    free(slice);
    free(angles);
    free(rows);
    return status;
}
