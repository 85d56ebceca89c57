#include "axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The two views nearest to half a turn apart mirror each other about the axis. Returns the axis, or a negative number if no
 * two views oppose each other to 5 degrees. */
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
    double below = mirrored_correlation(a, b, bins, best - 1), above = mirrored_correlation(a, b, bins, best + 1);
    return 0.5 * ((double)best + parabola(below, highest, above));
}

/* Mean negative part of the slice in its inscribed disk. Attenuation is not negative, and a wrong axis pulls edges apart
 * into bright and dark arcs while the mean stays: the cleanest slice has the least of it (Donath et al. 2006, J. Opt. Soc.
 * Am. A 23, 1048, their Q_IN). */
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
    const int64_t middle = s->rows / 2, shape[] = { s->views, 1, s->bins };
    isoc_ct *ct = NULL;
    float *slice = NULL, *rows = demo_array(s->views * s->bins, sizeof(float));
    if (!rows) return status;

    /* The middle row as line integrals, then filtered. Strides pick it from the frames: nothing is copied. */
    const isoc_tensor raw = scan_row(&s->data, middle), white = scan_row(&s->white, middle), dark = scan_row(&s->dark, middle);
    const isoc_tensor row = { rows, ISOC_HOST, 3, ISOC_F32, shape, NULL, 0 };
    isoc_ct_geometry geometry = { .struct_size = sizeof geometry, .views = s->views, .bins = s->bins, .angles = s->angles };
    isoc_ct_options options = { .struct_size = sizeof options, .filter = ISOC_CT_FILTER_NONE, .weighted_backprojection = 1 };
    isoc_ct_info info = { .struct_size = sizeof info };
    TRY(isoc_ct_create(ctx, &ct));
    TRY(isoc_ct_set_geometry(ct, &geometry));
    TRY(isoc_ct_set_flat_field(ct, &white, s->dark.data ? &dark : NULL));
    TRY(isoc_ct_set_options(ct, &options));
    TRY(isoc_ct_filter(ct, &raw, &row));
    double coarse = coarse_axis(rows, s->angles, s->views, s->bins);
    TRY(isoc_ct_get_info(ct, &info));
    options.filter = ISOC_CT_FILTER_PARZEN; /* the softest window: noise has a negative part too, whatever the axis */
    TRY(isoc_ct_set_options(ct, &options));
    TRY(isoc_ct_filter(ct, &raw, &row));

    /* Slices from candidates around the guess, of the largest disk that the detector covers from both sides. */
    const double reach = AXIS_CANDIDATES / 2, fine = 0.125;
    double best = coarse < 0 ? 0.5 * (double)(s->bins - 1) : coarse, step = coarse < 0 ? (double)s->bins / 64 : 1;
    double covered = fmin(best, (double)(s->bins - 1) - best) - reach * step;
    const int64_t n = 2 * (int64_t)fmax(covered, (double)s->bins / 8) + 1, slice_shape[] = { 1, n, n };
    status = ISOC_STATUS_OUT_OF_MEMORY;
    if (!(slice = demo_array(n * n, sizeof(float)))) goto end;
    double axis = best;
    geometry.nx = geometry.ny = n;
    geometry.axis = &axis;
    geometry.axis_count = 1;
    search state = { ct, geometry, &axis, row, { slice, ISOC_HOST, 3, ISOC_F32, slice_shape, NULL, 0 }, bar };
    *bar = (demo_bar){ "rotation axis", 0, 1.0 / (2 * AXIS_CANDIDATES) };
    out->coarse = coarse;
    out->first = best - reach * step;
    out->step = step;
    out->replaced = info.replaced_values;
    for (int round = 0; round < 12; round++) {
        double score[AXIS_CANDIDATES];
        double first = best - reach * step;
        TRY(score_axes(&state, first, step, score));
        int lowest = 0;
        for (int k = 1; k < AXIS_CANDIDATES; k++) lowest = score[k] < score[lowest] ? k : lowest;
        for (int k = 0; round == 0 && k < AXIS_CANDIDATES; k++) {
            out->score[k] = score[lowest] > 0 ? (float)(score[k] / score[lowest]) : 1;
        }
        best = first + lowest * step;
        if (lowest == 0 || lowest == AXIS_CANDIDATES - 1) continue; /* further out, at the same step */
        if (step <= fine) {
            best += step * parabola(score[lowest - 1], score[lowest], score[lowest + 1]);
            break;
        }
        step = fmax(step / reach, fine);
    }
    out->best = best;
end:
    isoc_ct_destroy(ct);
    free(slice);
    free(rows);
    return status;
}
