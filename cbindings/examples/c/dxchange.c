/* Reconstructs a parallel-beam scan from a Data Exchange HDF5 file (see scan.h for what is read) or, WITH_TIFF, a sinogram in a TIFF file (see
 * sinogram.h).
 * dxchange FILE.h5 [OUTPUT_FOLDER] [--axis BIN] [--pitch LENGTH] [--replace] [--algorithm A] [--iterations N] */
#define _POSIX_C_SOURCE 200809L
#include "demo.h"
#include "picture.h"
#include "scan.h"
#ifdef WITH_TIFF
#include "sinogram.h"
#endif

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double PI = 3.14159265358979323846;

enum { CURVE = 401 };

typedef struct {
    const char *input, *folder;
    double axis, pitch; /* axis below zero: to be found */
    uint32_t nan_policy, algorithm;
    int64_t iterations;
} settings;

static const char *const algorithms[] = { "fbp", "sirt", "cgls", "mlem" }; /* isoc_ct_algorithm */

static int usage(void) {
    fputs("usage: dxchange FILE.h5 [OUTPUT_FOLDER] [--axis BIN] [--pitch LENGTH] [--replace] [--algorithm A] [--iterations N]\n"
          "  --axis BIN      the rotation axis as a fractional bin, 0-based (default: find it)\n"
          "  --pitch LENGTH  distance between bins; attenuation comes out per this unit (default: 1)\n"
          "  --replace       read pixels without a usable flat field, NaN and Inf as 0 (default: an error)\n"
          "  --algorithm A   fbp, sirt, cgls or mlem (default: fbp)\n"
          "  --iterations N  of all but fbp (default: 30)\n", stderr);
    return -1;
}

static int number(const char *text, double least, double *out) {
    char *end = NULL;
    *out = text ? strtod(text, &end) : 0;
    return text && end != text && !*end && *out >= least ? 0 : usage();
}

static int algorithm_named(const char *word, uint32_t *out) {
    for (uint32_t k = 0; k < sizeof algorithms / sizeof *algorithms; k++) {
        if (word && strcmp(word, algorithms[k]) == 0) {
            *out = k;
            return 0;
        }
    }
    return usage();
}

static int parse(int argc, char **argv, settings *out) {
    double count = 0;
    *out = (settings){ NULL, NULL, -1, 1, ISOC_NAN_POLICY_ERROR, ISOC_CT_ALGORITHM_FBP, 30 };
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--replace") == 0) {
            out->nan_policy = ISOC_NAN_POLICY_REPLACE;
        } else if (strcmp(argv[k], "--axis") == 0) {
            if (number(argv[++k], 0, &out->axis) != 0) return -1;
        } else if (strcmp(argv[k], "--pitch") == 0) {
            if (number(argv[++k], 1e-300, &out->pitch) != 0) return -1;
        } else if (strcmp(argv[k], "--algorithm") == 0) {
            if (algorithm_named(argv[++k], &out->algorithm) != 0) return -1;
        } else if (strcmp(argv[k], "--iterations") == 0) {
            if (number(argv[++k], 1, &count) != 0 || count > 1e6) return usage();
            out->iterations = (int64_t)count;
        } else if (argv[k][0] == '-' || out->folder) {
            return usage();
        } else if (out->input) {
            out->folder = argv[k];
        } else {
            out->input = argv[k];
        }
    }
    if (!out->input) return usage();
    if (!out->folder) out->folder = ".";
    return 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* FOLDER/INPUT with another ending. To be freed. */
static char *output_path(const settings *set, const char *ending) {
    const char *name = base_name(set->input), *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    size_t length = strlen(set->folder) + 1 + stem + strlen(ending) + 1;
    char *path = malloc(length);
    if (path) snprintf(path, length, "%s/%.*s%s", set->folder, (int)stem, name, ending);
    return path;
}

/* Whether two paths lead to one file. */
static int same_file(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* The scan would be lost where a result's name is a link to it. */
static int spares_input(const settings *set, const char *output) {
    if (!same_file(set->input, output)) return 1;
    fprintf(stderr, "error: %s: the scan is read from this file; results need another name\n", output);
    return 0;
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Greys between two quantiles of the values within `radius` of the middle: hot pixels must not darken the rest. */
static int grey_window(const float *slice, int64_t n, double radius, double *low, double *high) {
    float *sorted = demo_array(n * n, sizeof *sorted);
    if (!sorted) return -1;
    int64_t count = 0;
    double middle = 0.5 * (double)(n - 1);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (hypot((double)i - middle, (double)j - middle) <= radius) sorted[count++] = slice[i * n + j];
        }
    }
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    *low = (double)sorted[count / 200];
    *high = (double)sorted[count - 1 - count / 500];
    free(sorted);
    if (!(*high > *low)) *high = *low + 1;
    return 0;
}

/* The score of the axes that were looked at, best where it is lowest, and the axis taken in the end. */
static void draw_search(picture *page, picture_box box, const isoc_ct_axis *search) {
    float values[CURVE], lowest = INFINITY, highest = -INFINITY;
    for (int k = 0; k < CURVE; k++) {
        values[k] = (float)search->curve[k];
        lowest = fminf(lowest, values[k]);
        highest = fmaxf(highest, values[k]);
    }
    const double space = 0.1 * fmax((double)(highest - lowest), 1e-6);
    const double last = search->curve_first + (CURVE - 1) * search->curve_step;
    const picture_plot plot = { box, fmin(search->curve_first, search->axis), fmax(last, search->axis),
                                (double)lowest - space, (double)highest + space };
    const double x = box.x + box.width * (search->axis - plot.x_low) / (plot.x_high - plot.x_low);
    char text[64];
    picture_axes(page, &plot, "rotation axis (bin)", "score");
    picture_curve(page, &plot, search->curve_first, search->curve_step, values, CURVE, 2, PICTURE_BLUE);
    picture_line(page, x, box.y, x, box.y + box.height, 1.5, PICTURE_ORANGE);
    snprintf(text, sizeof text, "axis found: %.2f", search->axis);
    picture_text(page, x + 6, box.y + 16, 12, 0, PICTURE_ORANGE, text);
}

/* `search` is NULL where the axis was given. */
static int draw(const char *path, const float *slice, int64_t n, double axis, const isoc_ct_axis *search,
                const char *title, const char *caption) {
    const double side = 720, margin = 24, top = 84, plot_height = search ? 170 : 0, foot = search ? 90 : margin;
    double low = 0, high = 0;
    if (grey_window(slice, n, fmax(2, fmin(axis, (double)(n - 1) - axis)), &low, &high) != 0) return -1;
    picture *page = picture_new((int)(side + 2 * margin), (int)(top + side + plot_height + foot));
    if (!page) return -1;
    picture_text(page, margin, 34, 18, 0, PICTURE_BLACK, title);
    picture_text(page, margin, 66, 13, 0, PICTURE_GREY, caption);
    picture_scale(page, (picture_box){ margin + side - 200, top - 27, 140, 12 }, low, high);
    picture_image(page, (picture_box){ margin, top, side, side }, slice, n, n, low, high);
    if (search) draw_search(page, (picture_box){ margin + 60, top + side + 30, side - 60, plot_height }, search);
    int failed = picture_save(page, path);
    picture_free(page);
    return failed;
}

int main(int argc, char **argv) {
    isoc_status status = ISOC_STATUS_OK;
    int failed = 1;
    settings set;
    scan input = { 0 };
    double curve[CURVE];
    isoc_ct_axis search = { .struct_size = sizeof search, .curve = curve, .curve_count = CURVE };
    demo_bar bar = { "", 0, 1 };
    isoc_context *ctx = NULL;
    isoc_ct *ct = NULL;
    float *volume = NULL;
    char *volume_path = NULL, *picture_path = NULL;

    if (parse(argc, argv, &set) != 0) return EXIT_FAILURE;
    if (mkdir(set.folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "error: %s: %s\n", set.folder, strerror(errno));
        goto end;
    }
    volume_path = output_path(&set, "_volume.h5");
    picture_path = output_path(&set, "_slice.png");
    if (!volume_path || !picture_path || !spares_input(&set, volume_path) || !spares_input(&set, picture_path)) goto end;
#ifdef WITH_TIFF
    if ((sinogram_is(set.input) ? sinogram_read : scan_read)(&input, set.input) != 0) goto end;
#else
    if (scan_read(&input, set.input) != 0) goto end;
#endif
    const int64_t n = input.bins;
    printf("Isocenter      %s: %s\n", isoc_version(), isoc_build_info());
    printf("scan           %" PRId64 " views, %" PRId64 " rows, %" PRId64 " bins\n", input.views, input.rows, n);

    double axis = set.axis;
    TRY(demo_context(&bar, set.nan_policy, &ctx));
    isoc_ct_geometry geometry = {
        .struct_size = sizeof geometry, .views = input.views, .bins = n, .rows = input.rows,
        .angles = input.angles, .bin_pitch = set.pitch
    };
    /* Data Exchange files have counts as integers or as floats. */
    const isoc_ct_options options = { .struct_size = sizeof options, .input = ISOC_CT_INPUT_COUNTS, .algorithm = set.algorithm };
    const int iterates = set.algorithm != ISOC_CT_ALGORITHM_FBP;
    const isoc_ct_iterative iterative = {
        .struct_size = sizeof iterative, .iterations = set.iterations,
        .bounds = set.algorithm == ISOC_CT_ALGORITHM_SIRT ? ISOC_CT_BOUNDS_NON_NEGATIVE : ISOC_CT_BOUNDS_NONE
    };
    /* What stands out from noise, and would become rings. */
    const isoc_ct_stripes stripes = { .struct_size = sizeof stripes };
    const isoc_ct_half_acquisition half = { .struct_size = sizeof half };
    isoc_ct_info info = { .struct_size = sizeof info };
    const isoc_tensor raw = scan_tensor(&input.data);
    const isoc_tensor white = scan_tensor(&input.white), dark = scan_tensor(&input.dark);
    uint64_t bytes = 0;
    int64_t side = n;
    TRY(isoc_ct_create(ctx, &ct));
    TRY(isoc_ct_set_geometry(ct, &geometry));
    TRY(isoc_ct_set_options(ct, &options));
    TRY(isoc_ct_set_iterative(ct, &iterative));
    TRY(isoc_ct_set_flat_field(ct, &white, input.dark.data ? &dark : NULL, NULL));
    TRY(isoc_ct_set_stripes(ct, &stripes));
    if (axis < 0) {
        double begin = demo_seconds();
        TRY(isoc_ct_find_axis(ct, &raw, NULL, &search));
        axis = search.axis;
        printf("rotation axis  %.2f +- %.2f, found in %.2f s (confidence %.2f)\n", axis, search.error,
               demo_seconds() - begin, search.confidence);
    }
    if (search.half_acquisition) {
        /* The larger part of the detector, on both sides of the axis. */
        side = 2 * (int64_t)(axis < (double)n / 2 ? (double)n - axis : axis + 1);
        printf("field          %" PRId64 " bins, by half acquisition\n", side);
        if (!iterates) TRY(isoc_ct_set_half_acquisition(ct, &half)); /* iterations take such rows as they are */
    }
    geometry.axis = &axis, geometry.axis_count = 1; /* the flat field stays */
    geometry.nx = geometry.ny = side;
    TRY(isoc_ct_set_geometry(ct, &geometry));
    const int64_t shape[] = { input.rows, side, side };
    if (!(volume = demo_array(input.rows * side * side, sizeof *volume))) goto end;
    const isoc_tensor v = { volume, ISOC_HOST, 3, ISOC_F32, shape, NULL, 0 };
    TRY(isoc_ct_memory(ct, &bytes));
    bar = (demo_bar){ "reconstruct", 0, 1 };
    double begin = demo_seconds();
    TRY(isoc_ct_reconstruct(ct, &raw, &v));
    double seconds = demo_seconds() - begin;
    TRY(isoc_ct_get_info(ct, &info));

    double rate = 1e-9 * (double)input.rows * (double)side * (double)side * (double)input.views / seconds;
    if (iterates) rate *= 2.0 * (double)set.iterations; /* forward and adjoint */
    char title[256], caption[160], megabytes[32];
    printf("angles         %.4f degrees apart, covering %.1f degrees\n", info.angular_spacing * 180 / PI,
           info.angle_covered * 180 / PI);
    printf("memory         %s of working memory\n", demo_bytes(bytes, megabytes));
    printf("time           %.3f s, %.1f GU/s (1 GU is 1e9 pixels updated from a view)\n", seconds, rate);
    if (info.replaced_values > 0) printf("replaced       %" PRId64 " values by 0\n", info.replaced_values);

    const scan_notes notes = { axis, set.pitch, set.pitch, set.input };
    if (scan_write_volume(volume_path, volume, shape, &notes) != 0) goto end;
    printf("volume         %s\n", volume_path);
    snprintf(title, sizeof title, "%.180s, slice %" PRId64, base_name(set.input), input.rows / 2);
    snprintf(caption, sizeof caption, "%" PRId64 " views, axis at bin %.2f, %s, %.0f GU/s", input.views, axis, algorithms[set.algorithm], rate);
    const float *middle = volume + input.rows / 2 * side * side;
    if (draw(picture_path, middle, side, axis, set.axis < 0 ? &search : NULL, title, caption) != 0) goto end;
    printf("picture        %s\n", picture_path);
    failed = 0;
end:
    if (status != ISOC_STATUS_OK) demo_complain(status);
    isoc_ct_destroy(ct);
    isoc_context_destroy(ctx);
    scan_free(&input);
    free(picture_path);
    free(volume_path);
    free(volume);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
