/* Reconstructs a non-Cartesian scan twice, by gridding and by the solver, and draws both.
 *   mri OUTPUT_FOLDER [--noise PERCENT]          a simulated 3-D radial scan of a head, compared with the truth
 *   mri OUTPUT_FOLDER DATA_FOLDER [--size N]     a measured scan: kspace.h says which files it is read from
 * Both take [--iterations N] [--lambda L]. */
#define _POSIX_C_SOURCE 200809L
#include "demo.h"
#include "kspace.h"
#include "picture.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double PI = 3.14159265358979323846;

/* Image and number of samples of Kirk and Hwu, "Programming Massively Parallel Processors", chapter 11; the spokes' directions
 * follow the golden angle over half a sphere. */
enum { N = 128, SPOKES = 1848, READOUT = 154, SAMPLES = SPOKES * READOUT };
enum { ELLIPSOIDS = ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS };

typedef struct {
    const char *folder, *input; /* input is NULL for a simulated scan */
    double noise, lambda;
    int64_t size, iterations;
} settings;

/* A plan and what it made of a scan: complex images (images, nz, ny, nx) as pairs of floats. */
typedef struct {
    isoc_mri *mri;
    isoc_mri_geometry geometry;
    int64_t readout; /* samples of a spoke; 0 where there may be none */
    demo_bar bar;
    int64_t images, voxels;
    float *gridded, *solved;
    double weights_time, gridding_time, q_time, solver_time, residual;
    int64_t iterations;
} job;

static int usage(void) {
    fputs("usage: mri OUTPUT_FOLDER [DATA_FOLDER] [--iterations N] [--lambda L] [--noise PERCENT] [--size N]\n"
          "  --iterations N   of the solver at most (default: 15)\n"
          "  --lambda L       weight of the solver's penalty on large values (default: 0.02)\n"
          "  --noise PERCENT  added to a simulated scan, of its samples' root mean square (default: 0; 0.1 is felt)\n"
          "  --size N         sides of a measured scan's image without coil maps (default: half of a spoke's samples)\n",
          stderr);
    return -1;
}

static int number(const char *text, double least, double *out) {
    char *end = NULL;
    *out = text ? strtod(text, &end) : 0;
    return text && end != text && !*end && *out >= least && *out <= 1e6 ? 0 : usage();
}

static int parse(int argc, char **argv, settings *out) {
    double value = 0;
    *out = (settings){ .lambda = 0.02, .iterations = 15 };
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--noise") == 0) {
            if (number(argv[++k], 0, &out->noise) != 0) return -1;
        } else if (strcmp(argv[k], "--lambda") == 0) {
            if (number(argv[++k], 0, &out->lambda) != 0) return -1;
        } else if (strcmp(argv[k], "--size") == 0) {
            if (number(argv[++k], 1, &value) != 0) return -1;
            out->size = (int64_t)value;
        } else if (strcmp(argv[k], "--iterations") == 0) {
            if (number(argv[++k], 1, &value) != 0) return -1;
            out->iterations = (int64_t)value;
        } else if (argv[k][0] == '-' || out->input) {
            return usage();
        } else if (out->folder) {
            out->input = argv[k];
        } else {
            out->folder = argv[k];
        }
    }
    if (!out->folder || (out->input ? out->noise != 0 : out->size != 0)) return usage();
    return 0;
}

/* Images of the geometry's grid; `shape` holds 4 sizes. */
static isoc_tensor image_tensor(const job *work, float *data, int64_t *shape) {
    const isoc_mri_geometry *g = &work->geometry;
    shape[0] = work->images;
    shape[1] = g->nz;
    shape[2] = g->ny;
    shape[3] = g->nx;
    return (isoc_tensor){ data, ISOC_HOST, 4, ISOC_C64, shape, NULL, 0 };
}

/* Both reconstructions. The plan has its geometry, and its coil maps if there are any. */
static isoc_status reconstruct(job *work, const isoc_tensor *samples, const settings *set) {
    isoc_status status = ISOC_STATUS_OK;
    isoc_mri_info info = { .struct_size = sizeof info };
    isoc_mri_options options = {
        .struct_size = sizeof options, .iterations = set->iterations, .lambda = set->lambda
    };
    int64_t shape[4], found = 0;
    double *history = demo_array(set->iterations + 1, sizeof *history);
    TRY(isoc_mri_get_info(work->mri, &info));
    work->images = info.images;
    work->voxels = work->geometry.nz * work->geometry.ny * work->geometry.nx;
    work->gridded = demo_array(2 * work->images * work->voxels, sizeof(float));
    work->solved = demo_array(2 * work->images * work->voxels, sizeof(float));
    if (!work->gridded || !work->solved || !history) {
        status = ISOC_STATUS_OUT_OF_MEMORY;
        goto end;
    }
    const isoc_tensor gridded = image_tensor(work, work->gridded, shape);
    const isoc_tensor solved = image_tensor(work, work->solved, shape);
    TRY(isoc_mri_set_options(work->mri, &options));

    double begin = demo_seconds();
    work->bar.title = "weights";
    if (work->readout) status = isoc_mri_compute_weights(work->mri, ISOC_MRI_DENSITY_RADIAL, work->readout);
    /* No spokes, or curved ones: the way that serves any trajectory. */
    if (!work->readout || status == ISOC_STATUS_OUT_OF_RANGE) {
        status = isoc_mri_compute_weights(work->mri, ISOC_MRI_DENSITY_ITERATIVE, 0);
    }
    TRY(status);
    work->weights_time = demo_seconds() - begin;

    begin = demo_seconds();
    work->bar.title = "gridding";
    TRY(isoc_mri_gridding(work->mri, samples, &gridded));
    work->gridding_time = demo_seconds() - begin;

    begin = demo_seconds();
    work->bar.title = "Q";
    TRY(isoc_mri_compute_q(work->mri));
    work->q_time = demo_seconds() - begin;

    begin = demo_seconds();
    work->bar.title = "solver";
    TRY(isoc_mri_reconstruct(work->mri, samples, &solved));
    work->solver_time = demo_seconds() - begin;

    TRY(isoc_mri_history(work->mri, 0, history, set->iterations + 1, &found));
    work->iterations = found - 1;
    work->residual = history[found - 1];
end:
    free(history);
    return status;
}

/* Magnitude, over several images the root of their sum of squares, rows in reverse: y points upwards, and pictures begin at the top.
   NULL without memory. */
static float *magnitude(const job *work, const float *images) {
    const int64_t nx = work->geometry.nx, ny = work->geometry.ny;
    float *out = demo_array(work->voxels, sizeof *out);
    for (int64_t k = 0; out && k < work->voxels; k++) {
        const int64_t row = k / nx, shown = row - row % ny + (ny - 1 - row % ny);
        double sum = 0;
        for (int64_t c = 0; c < work->images; c++) {
            const float *value = images + 2 * (c * work->voxels + k);
            sum += (double)value[0] * value[0] + (double)value[1] * value[1];
        }
        out[shown * nx + k % nx] = (float)sqrt(sum);
    }
    return out;
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* What 99.8 % of the voxels stay below; 0 without memory. */
static double nearly_all(const float *values, int64_t count) {
    float *sorted = demo_array(count, sizeof *sorted);
    if (!sorted) return 0;
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    double value = (double)sorted[count - 1 - count / 500];
    free(sorted);
    return value;
}

typedef struct {
    const char *label;
    const float *volume;
} panel;

enum { SLICES = 6 };

/* A row of slices for each panel; panels of a plane stand side by side. */
static int draw(const char *path, const job *work, const char *title, const char *caption, const panel *panels,
                int count, double high) {
    const int64_t shape[] = { work->geometry.nz, work->geometry.ny, work->geometry.nx };
    const int plane = shape[0] == 1, across = plane ? 1 : SLICES;
    const double margin = 24, top = 84, gap = 34, height = plane ? 512 : 192;
    const double width = across * (height * (double)shape[2] / (double)shape[1] + 4) - 4;
    const double full = plane ? count * (width + margin) - margin : width;
    const double deep = plane ? height : count * (height + gap) - gap;
    int64_t slices[SLICES] = { 0 };
    for (int k = 0; !plane && k < SLICES; k++) slices[k] = shape[0] * (k + 2) / (SLICES + 3);
    picture *page = picture_new((int)(margin + full + margin), (int)(top + deep + margin));
    if (!page) return -1;
    picture_text(page, margin, 34, 18, 0, PICTURE_BLACK, title);
    picture_text(page, margin + full, 34, 12, 1, PICTURE_GREY, caption);
    picture_scale(page, (picture_box){ margin + full - 210, 46, 140, 12 }, 0, high);
    for (int k = 0; k < count; k++) {
        const double x = plane ? margin + k * (width + margin) : margin, y = plane ? top : top + k * (height + gap);
        picture_text(page, x, y - 10, 15, 0, PICTURE_BLUE, panels[k].label);
        picture_slices(page, (picture_box){ x, y, width, height }, panels[k].volume, shape, slices, across, 0, high);
    }
    int failed = picture_save(page, path);
    picture_free(page);
    if (!failed) printf("picture    %s\n", path);
    return failed;
}

static void report(const job *work, const char *gridding, const char *solver) {
    printf("weights    %.3f s\n", work->weights_time);
    printf("gridding   %.3f s%s\n", work->gridding_time, gridding);
    printf("Q          %.3f s, once for all scans of this trajectory\n", work->q_time);
    printf("solver     %.3f s%s, %" PRId64 " iterations, residual down to %.1e\n", work->solver_time, solver,
           work->iterations, work->residual);
}

/* FOLDER/mri_NAME.png. To be freed. */
static char *picture_path(const settings *set, const char *name) {
    size_t length = strlen(set->folder) + strlen(name) + sizeof "/mri_.png";
    char *path = malloc(length);
    if (path) snprintf(path, length, "%s/mri_%s.png", set->folder, name);
    return path;
}

/* Normal deviate by Box and Muller's method from a 64-bit linear congruential generator. */
static double normal(uint64_t *state) {
    double uniform[2];
    for (int k = 0; k < 2; k++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        uniform[k] = ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
    }
    return sqrt(-2 * log(uniform[0])) * cos(2 * PI * uniform[1]);
}

static void add_noise(float *samples, int64_t count, double percent) {
    double power = 0;
    uint64_t state = 1;
    for (int64_t k = 0; k < 2 * count; k++) power += (double)samples[k] * (double)samples[k];
    /* Both parts together have the power asked for. */
    const double deviation = percent / 100 * sqrt(power / (double)count / 2);
    for (int64_t k = 0; k < 2 * count; k++) samples[k] += (float)(deviation * normal(&state));
}

/* Spokes through the centre of k-space, in cycles per voxel, x first. */
static void make_spokes(double *k) {
    const double golden = PI * (3 - sqrt(5));
    for (int64_t spoke = 0; spoke < SPOKES; spoke++) {
        const double z = ((double)spoke + 0.5) / SPOKES, flat = sqrt(1 - z * z), turn = golden * (double)spoke;
        const double direction[] = { flat * cos(turn), flat * sin(turn), z };
        for (int64_t i = 0; i < READOUT; i++) {
            const double along = ((double)i - 0.5 * (READOUT - 1)) / READOUT;
            for (int d = 0; d < 3; d++) *k++ = along * direction[d];
        }
    }
}

static isoc_status simulated(isoc_context *ctx, job *work, const settings *set, int *failed) {
    isoc_status status = ISOC_STATUS_OUT_OF_MEMORY;
    const int64_t voxels = (int64_t)N * N * N, k_shape[] = { SAMPLES, 3 }, s_shape[] = { SAMPLES };
    double *spokes = demo_array((int64_t)SAMPLES * 3, sizeof *spokes);
    float *samples = demo_array((int64_t)SAMPLES * 2, sizeof *samples), *truth = demo_array(2 * voxels, sizeof *truth);
    float *shown[3] = { NULL };
    char *path = NULL;
    if (!spokes || !samples || !truth) goto end;
    make_spokes(spokes);
    const isoc_tensor k = { spokes, ISOC_HOST, 2, ISOC_F64, k_shape, NULL, 0 };
    const isoc_tensor s = { samples, ISOC_HOST, 1, ISOC_C64, s_shape, NULL, 0 };
    work->geometry = (isoc_mri_geometry){
        .struct_size = sizeof work->geometry, .unit = ISOC_MRI_UNIT_CYCLES_PER_VOXEL, .nx = N, .ny = N, .nz = N,
        .samples = SAMPLES
    };
    work->readout = READOUT;
    isoc_mri_ellipsoid head[ELLIPSOIDS];
    double psnr[2], error[2];
    int64_t shape[4];
    TRY(isoc_mri_create(ctx, &work->mri));
    TRY(isoc_mri_set_geometry(work->mri, &work->geometry, &k));
    TRY(isoc_mri_shepp_logan(ISOC_MRI_SHEPP_LOGAN_KIND_MODIFIED, N / 2.0, N / 2.0, head, ELLIPSOIDS, NULL));
    TRY(isoc_mri_phantom_samples(work->mri, head, ELLIPSOIDS, &s));
    add_noise(samples, SAMPLES, set->noise);
    TRY(reconstruct(work, &s, set));
    const isoc_tensor t = image_tensor(work, truth, shape);
    TRY(isoc_mri_phantom_image(work->mri, head, ELLIPSOIDS, &t));
    for (int m = 0; m < 2; m++) {
        const isoc_tensor image = image_tensor(work, m ? work->solved : work->gridded, shape);
        TRY(isoc_mri_compare(work->mri, &image, &t, &psnr[m], &error[m]));
    }

    char text[2][96], caption[160];
    printf("scan       simulated, 3-D radial: %d spokes of %d samples, %d in all; noise %g %%\n", SPOKES, READOUT,
           SAMPLES, set->noise);
    printf("image      %d x %d x %d\n", N, N, N);
    for (int m = 0; m < 2; m++) snprintf(text[m], sizeof text[m], ", PSNR %.1f dB, error %.1f %%", psnr[m], error[m]);
    report(work, text[0], text[1]);
    for (int m = 0; m < 3; m++) {
        shown[m] = magnitude(work, m == 0 ? truth : m == 1 ? work->gridded : work->solved);
        if (!shown[m]) goto end;
    }
    char labels[2][64];
    snprintf(labels[0], sizeof labels[0], "Gridding: %.1f dB", psnr[0]);
    snprintf(labels[1], sizeof labels[1], "Solver: %.1f dB", psnr[1]);
    snprintf(caption, sizeof caption, "%d samples on %d spokes, %d x %d x %d voxels", SAMPLES, SPOKES, N, N, N);
    const panel panels[] = { { "Truth", shown[0] }, { labels[0], shown[1] }, { labels[1], shown[2] } };
    path = picture_path(set, "phantom");
    *failed = !path || draw(path, work, "3-D Shepp-Logan head, non-Cartesian MRI", caption, panels, 3, 1.8);
end:
    for (int m = 0; m < 3; m++) free(shown[m]);
    free(path);
    free(truth);
    free(samples);
    free(spokes);
    return status;
}

/* The image's size: that of the coil maps, or as told, or half of a spoke, which scanners sample twice as finely as needed. */
static int choose_grid(job *work, const kspace *scan, const settings *set) {
    isoc_mri_geometry *g = &work->geometry;
    const int planar = scan->axes == 2;
    work->readout = scan->readout;
    *g = (isoc_mri_geometry){
        .struct_size = sizeof *g, .unit = scan->unit, .nz = 1, .samples = scan->samples, .coils = scan->coils
    };
    if (scan->maps.data) {
        if (set->size) {
            fputs("error: --size is for scans without coil maps\n", stderr);
            return -1;
        }
        const int64_t *sizes = scan->maps.shape + scan->maps.ndim - 2;
        if (!planar) g->nz = sizes[-1];
        g->ny = sizes[0];
        g->nx = sizes[1];
        return 0;
    }
    const int64_t size = set->size ? set->size : scan->readout / 2;
    if (size < 1) {
        fputs("error: neither coil maps nor spokes tell the image's size: --size has to\n", stderr);
        return -1;
    }
    g->nx = g->ny = size;
    if (!planar) g->nz = size;
    return 0;
}

static isoc_status measured(isoc_context *ctx, job *work, const settings *set, int *failed) {
    isoc_status status = ISOC_STATUS_OK;
    kspace scan;
    float *shown[2] = { NULL };
    char *path = NULL, caption[160];
    if (kspace_read(&scan, set->input) != 0 || choose_grid(work, &scan, set) != 0) goto end;
    const isoc_tensor k = npy_tensor(&scan.trajectory), s = npy_tensor(&scan.data), maps = npy_tensor(&scan.maps);
    const isoc_mri_geometry *g = &work->geometry;
    TRY(isoc_mri_create(ctx, &work->mri));
    TRY(isoc_mri_set_geometry(work->mri, g, &k));
    if (scan.maps.data) TRY(isoc_mri_set_maps(work->mri, &maps));
    TRY(reconstruct(work, &s, set));

    printf("scan       %s: %" PRId64 " samples in %d dimensions, %" PRId64 " coils\n", set->input, scan.samples,
           (int)scan.axes, scan.coils);
    printf("image      %" PRId64 " x %" PRId64 " x %" PRId64 "%s\n", g->nx, g->ny, g->nz,
           scan.maps.data ? ", one of all coils by their maps" : " of each coil, joined as root of the sum of squares");
    report(work, "", "");
    for (int m = 0; m < 2; m++) {
        shown[m] = magnitude(work, m ? work->solved : work->gridded);
        if (!shown[m]) goto end;
    }
    const double high = nearly_all(shown[1], work->voxels);
    char label[64], name[64];
    snprintf(label, sizeof label, "Solver, %" PRId64 " iterations", work->iterations);
    snprintf(caption, sizeof caption, "%" PRId64 " samples of %" PRId64 " coils, %" PRId64 " x %" PRId64 " x %" PRId64
             " voxels", scan.samples, scan.coils, g->nx, g->ny, g->nz);
    const panel panels[] = { { "Gridding", shown[0] }, { label, shown[1] } };
    /* The folder's own name. */
    size_t length = strlen(set->input);
    while (length > 1 && set->input[length - 1] == '/') length--;
    size_t start = length;
    while (start > 0 && set->input[start - 1] != '/') start--;
    snprintf(name, sizeof name, "%.*s", (int)(length - start), set->input + start);
    path = picture_path(set, name);
    *failed = !path || draw(path, work, name, caption, panels, 2, high);
end:
    for (int m = 0; m < 2; m++) free(shown[m]);
    free(path);
    kspace_free(&scan);
    return status;
}

int main(int argc, char **argv) {
    settings set;
    isoc_status status = ISOC_STATUS_OK;
    int failed = 1;
    isoc_context *ctx = NULL;
    job work = { .bar = { "", 0, 1 } };
    if (parse(argc, argv, &set) != 0) return EXIT_FAILURE;
    if (mkdir(set.folder, 0777) != 0 && errno != EEXIST) {
        perror(set.folder);
        return EXIT_FAILURE;
    }
    TRY(demo_context(&work.bar, ISOC_NAN_POLICY_ERROR, &ctx));
    printf("Isocenter  %s (ABI %" PRIu32 "): %s\n", isoc_version(), isoc_abi_version(), isoc_build_info());
    TRY(set.input ? measured(ctx, &work, &set, &failed) : simulated(ctx, &work, &set, &failed));
end:
    if (status != ISOC_STATUS_OK) demo_complain(status);
    isoc_mri_destroy(work.mri);
    isoc_context_destroy(ctx);
    free(work.gridded);
    free(work.solved);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
