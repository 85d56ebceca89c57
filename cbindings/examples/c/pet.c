/* Simulates a time-of-flight PET scan of a cylinder with six small hot spheres, deposits its events, reconstructs it with three
 * models of the detectors' resolution, and draws slices and curves of contrast against noise.
 *   pet OUTPUT_FOLDER [--counts N] [--iterations N] [--relaxation L] [--device auto|cpu|gpu]
 *
 * Phantom, scanner, views and models are those of S. Ha et al., "GPU-Based spatially variant SR kernel modeling and projections
 * in 3D DIRECT TOF PET Reconstruction", section 6, which measured twenty times as many events. */
#define _POSIX_C_SOURCE 200809L
#include "demo.h"
#include "picture.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NX = 144, NZ = 48, AZIMUTHS = 40, TILTS = 3, VIEWS = AZIMUTHS * TILTS };
enum { SPHERES = 6, BODIES = 1 + SPHERES, MODELS = 3 };

static const int64_t VOXELS = (int64_t)NZ * NX * NX;
static const int64_t IMAGE[] = { NZ, NX, NX }, HISTO_IMAGES[] = { VIEWS, NZ, NX, NX };
static const double PI = 3.14159265358979323846;
/* Millimetres; activity of the spheres over that of the cylinder. */
static const double VOXEL = 4, CYLINDER = 350, SPHERE = 10, AT = 75, RATIO = 4;

/* Radial widths at half maximum, mm, over the distance from the axis. */
typedef struct {
    const char *name, *description;
    uint32_t colour;
    double table[4];
} model;

static const model models[MODELS] = {
    { "invariant", "invariant: 5.8 mm", PICTURE_BLUE, { 0, 5.8, 390, 5.8 } },
    { "variant1", "variant1: 4.8 mm at the centre, 5.8 mm at the spheres, 10 mm at the edge", PICTURE_ORANGE,
      { 0, 4.8, 390, 10 } },
    { "variant2", "variant2: 5.8 mm at the centre, 12 mm at the edge", PICTURE_GREEN, { 0, 5.8, 390, 12 } },
};
/* The model that the scan is simulated with. */
enum { TRUTH = 1 };
static const double TOF = 400, AXIAL = 5.8;

typedef struct {
    const char *folder;
    int64_t counts, iterations;
    double relaxation;
    uint32_t device;
} settings;

/* After each iteration of a model. */
typedef struct {
    float *images;
    float *contrast, *noise; /* percent */
    double *seconds;
} result;

/* The scan, and what is expected of it. */
typedef struct {
    isoc_pet_body bodies[BODIES];
    double centres[SPHERES][3];
    uint32_t *measured;
    float *factors, *additive;
} data;

static int usage(void) {
    fputs("usage: pet OUTPUT_FOLDER [--counts N] [--iterations N] [--relaxation L] [--device auto|cpu|gpu]\n"
          "  --counts N       events to simulate (default: 20000000)\n"
          "  --iterations N   of each model (default: 12)\n"
          "  --relaxation L   of RAMLA, above 0 to 1 (default: 1)\n",
          stderr);
    return -1;
}

static int number(const char *text, double least, double most, double *out) {
    char *end = NULL;
    *out = text ? strtod(text, &end) : 0;
    return text && end != text && !*end && *out >= least && *out <= most ? 0 : usage();
}

static int parse(int argc, char **argv, settings *out) {
    double value = 0;
    *out = (settings){ .counts = 20000000, .iterations = 12, .relaxation = 1 };
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--counts") == 0) {
            if (number(argv[++k], 1, 1e10, &value) != 0) return -1;
            out->counts = (int64_t)value;
        } else if (strcmp(argv[k], "--iterations") == 0) {
            if (number(argv[++k], 1, 1000, &value) != 0) return -1;
            out->iterations = (int64_t)value;
        } else if (strcmp(argv[k], "--relaxation") == 0) {
            if (number(argv[++k], 1e-6, 1, &out->relaxation) != 0) return -1;
        } else if (strcmp(argv[k], "--device") == 0) {
            const char *name = ++k < argc ? argv[k] : "";
            if (strcmp(name, "auto") == 0) out->device = ISOC_CONTEXT_DEVICE_AUTO;
            else if (strcmp(name, "cpu") == 0) out->device = ISOC_CONTEXT_DEVICE_CPU;
            else if (strcmp(name, "gpu") == 0) out->device = ISOC_CONTEXT_DEVICE_GPU;
            else return usage();
        } else if (argv[k][0] == '-' || out->folder) {
            return usage();
        } else {
            out->folder = argv[k];
        }
    }
    return out->folder ? 0 : usage();
}

/* A long cylinder of water, and spheres in the central slice: on top of the cylinder's activity. */
static void make_phantom(data *d) {
    d->bodies[0] = (isoc_pet_body){
        .shape = ISOC_PET_SHAPE_CYLINDER, .half_x = CYLINDER / 2, .half_z = 150, .activity = 1, .attenuation = 0.0096
    };
    for (int k = 0; k < SPHERES; k++) {
        double *c = d->centres[k];
        c[0] = AT * cos(PI / 3 * k), c[1] = AT * sin(PI / 3 * k), c[2] = 0;
        d->bodies[1 + k] = (isoc_pet_body){
            .shape = ISOC_PET_SHAPE_ELLIPSOID, .x = c[0], .y = c[1], .half_x = SPHERE / 2, .activity = RATIO - 1
        };
    }
}

static isoc_tensor image_tensor(float *values) {
    return (isoc_tensor){ values, ISOC_HOST, 3, ISOC_F32, IMAGE, NULL, 0 };
}

static isoc_tensor histo_tensor(const data *d, const void *values) {
    isoc_tensor t = { (void *)(uintptr_t)values, ISOC_HOST, 4, ISOC_F32, HISTO_IMAGES, NULL, 0 };
    if (values == d->measured) t.dtype = (isoc_dtype)ISOC_U32;
    return t;
}

/* Simulates a list of events in parts, and deposits each. */
static isoc_status measure(isoc_pet *pet, data *d, const settings *set, demo_bar *bar) {
    enum { PART = 4000000 };
    isoc_status status = ISOC_STATUS_OUT_OF_MEMORY;
    const int64_t most = set->counts < PART ? set->counts : PART;
    float *first = demo_array(3 * most, sizeof *first), *second = demo_array(3 * most, sizeof *second);
    float *times = demo_array(most, sizeof *times);
    isoc_pet_scan scan = {
        .struct_size = sizeof scan, .bodies = d->bodies, .body_count = BODIES, .tof_fwhm = TOF, .axial_fwhm = AXIAL,
        .radial_table = models[TRUTH].table, .radial_table_count = 2, .randoms = 0.2, .scatter = 0.15, .seed = 1
    };
    isoc_pet_tally tally = { .struct_size = sizeof tally }, all = tally;
    isoc_pet_dropped dropped = { .struct_size = sizeof dropped };
    uint64_t lost = 0;
    double simulating = 0, depositing = 0;
    if (!first || !second || !times) goto end;
    const isoc_tensor measured = histo_tensor(d, d->measured);
    for (int64_t done = 0; done < set->counts; scan.seed++) {
        const int64_t n = set->counts - done < most ? set->counts - done : most, shape[] = { n, 3 };
        const isoc_tensor p = { first, ISOC_HOST, 2, ISOC_F32, shape, NULL, 0 };
        const isoc_tensor q = { second, ISOC_HOST, 2, ISOC_F32, shape, NULL, 0 };
        const isoc_tensor t = { times, ISOC_HOST, 1, ISOC_F32, shape, NULL, 0 };
        double begin = demo_seconds();
        bar->title = "simulation";
        TRY(isoc_pet_simulate(pet, &scan, NULL, &p, &q, &t, &tally));
        simulating += demo_seconds() - begin;
        all.trues += tally.trues, all.decays += tally.decays;
        all.scatter += tally.scatter, all.scatter_draws += tally.scatter_draws;
        all.randoms += tally.randoms, all.random_draws += tally.random_draws;
        begin = demo_seconds();
        bar->title = "deposit";
        TRY(isoc_pet_deposit(pet, &p, &q, &t, &measured, &dropped));
        depositing += demo_seconds() - begin;
        lost += dropped.events;
        done += n;
    }
    const isoc_tensor factors = histo_tensor(d, d->factors), additive = histo_tensor(d, d->additive);
    double begin = demo_seconds();
    bar->title = "expected";
    TRY(isoc_pet_expect(pet, &scan, NULL, &all, &factors, &additive));
    printf("events     %" PRId64 " (%" PRIu64 " trues, %" PRIu64 " scatter, %" PRIu64 " randoms) in %.1f s\n", set->counts,
           all.trues, all.scatter, all.randoms, simulating);
    printf("deposit    %.3f s, %.1f million events a second; %" PRIu64 " outside lattice or tilts\n", depositing,
           1e-6 * (double)set->counts / depositing, lost);
    printf("expected   attenuation, scatter, randoms: %.1f s\n", demo_seconds() - begin);
end:
    free(times);
    free(second);
    free(first);
    return status;
}

static isoc_status reconstruct(isoc_pet *pet, const data *d, const settings *set, const model *of, demo_bar *bar,
                               result *out) {
    isoc_status status = ISOC_STATUS_OK;
    const isoc_pet_response response = {
        .struct_size = sizeof response, .tof_fwhm = TOF, .axial_fwhm = AXIAL, .radial_fwhm = of->table[1],
        .radial_table = of->table, .radial_table_count = of->table[1] == of->table[3] ? 0 : 2
    };
    const isoc_tensor measured = histo_tensor(d, d->measured), factors = histo_tensor(d, d->factors);
    const isoc_tensor additive = histo_tensor(d, d->additive);
    uint64_t bytes = 0;
    char text[32];
    TRY(isoc_pet_set_response(pet, &response));
    bar->title = "kernels";
    double begin = demo_seconds();
    TRY(isoc_pet_memory(pet, &bytes));
    printf("\n%s\nkernels    %.2f s; working memory %s\n", of->description, demo_seconds() - begin,
           demo_bytes(bytes, text));
    printf("iteration   seconds  contrast %%   noise %%\n");
    for (int64_t k = 0; k < set->iterations; k++) {
        isoc_pet_options options = {
            .struct_size = sizeof options, .iterations = 1, .first_iteration = k, .warm_start = k > 0,
            .relaxation = set->relaxation
        };
        float *values = out->images + k * VOXELS;
        const isoc_tensor image = image_tensor(values);
        double contrast, noise;
        if (k > 0) memcpy(values, values - VOXELS, (size_t)VOXELS * sizeof *values);
        bar->title = of->name;
        begin = demo_seconds();
        TRY(isoc_pet_set_options(pet, &options));
        TRY(isoc_pet_reconstruct(pet, &measured, &factors, &additive, &image));
        out->seconds[k] = demo_seconds() - begin;
        TRY(isoc_pet_contrast_recovery(pet, &image, d->centres[0], SPHERES, RATIO, &contrast));
        TRY(isoc_pet_noise(pet, &image, &noise));
        out->contrast[k] = (float)(100 * contrast);
        out->noise[k] = (float)(100 * noise);
        printf("%9" PRId64 " %9.3f %11.1f %9.1f\n", k + 1, out->seconds[k], 100 * contrast, 100 * noise);
        fflush(stdout);
    }
end:
    return status;
}

/* Where noise passes `level`, as an iteration with a fraction; the last one if it does not. */
static double at_noise(const result *r, int64_t count, double level) {
    for (int64_t k = 1; k < count; k++) {
        double a = (double)r->noise[k - 1], b = (double)r->noise[k];
        if (a <= level && level < b) return (double)k - 1 + (level - a) / (b - a);
    }
    return (double)(count - 1);
}

enum { SHOWN = 100 };

/* The middle of the two central slices. */
static void central(const float *image, float *out) {
    for (int y = 0; y < SHOWN; y++) {
        for (int x = 0; x < SHOWN; x++) {
            const int64_t at = (int64_t)(y + (NX - SHOWN) / 2) * NX + x + (NX - SHOWN) / 2;
            const float *slice = image + at + (int64_t)(NZ / 2 - 1) * NX * NX;
            out[y * SHOWN + x] = 0.5f * (slice[0] + slice[NX * NX]);
        }
    }
}

/* Truth, and each model at the level of noise that all of them reach, as in the paper's Fig. 10. */
static int draw_slices(const char *path, const float *truth, const result *results, const settings *set) {
    static float shown[SHOWN * SHOWN];
    double level = 1e30;
    for (int m = 0; m < MODELS; m++) level = fmin(level, (double)results[m].noise[set->iterations - 1]);
    const double side = 320, gap = 20, top = 92, margin = 24, high = 3;
    const double full = (MODELS + 1) * (side + gap) - gap;
    char text[160];
    picture *page = picture_new((int)(2 * margin + full), (int)(top + side + margin));
    if (!page) return -1;
    snprintf(text, sizeof text, "Central slice at %.0f %% noise, %.1f million events, true ratio %g", level,
             1e-6 * (double)set->counts, RATIO);
    picture_text(page, margin, 34, 18, 0, PICTURE_BLACK, text);
    picture_scale(page, (picture_box){ margin + full - 210, 24, 140, 12 }, 0, high);
    for (int k = 0; k <= MODELS; k++) {
        const double x = margin + k * (side + gap);
        const int64_t which = k ? (int64_t)(at_noise(&results[k - 1], set->iterations, level) + 0.5) : 0;
        central(k ? results[k - 1].images + which * VOXELS : truth, shown);
        if (k) snprintf(text, sizeof text, "%s, iteration %" PRId64, models[k - 1].name, which + 1);
        else snprintf(text, sizeof text, "phantom");
        picture_text(page, x, top - 12, 15, 0, k ? models[k - 1].colour : PICTURE_BLACK, text);
        picture_image(page, (picture_box){ x, top, side, side }, shown, SHOWN, SHOWN, 0, high);
    }
    int failed = picture_save(page, path);
    picture_free(page);
    if (!failed) printf("picture    %s\n", path);
    return failed;
}

static int draw_curves(const char *path, const result *results, const settings *set) {
    double noise = 0, contrast = 0;
    for (int m = 0; m < MODELS; m++) {
        for (int64_t k = 0; k < set->iterations; k++) {
            noise = fmax(noise, (double)results[m].noise[k]);
            contrast = fmax(contrast, (double)results[m].contrast[k]);
        }
    }
    const picture_plot plot = { { 80, 60, 640, 420 }, 0, 1.05 * noise, 0, 1.1 * contrast };
    picture *page = picture_new(760, 560);
    if (!page) return -1;
    picture_text(page, 80, 34, 18, 0, PICTURE_BLACK, "Contrast recovery against noise, one point an iteration");
    picture_axes(page, &plot, "noise, %", "contrast recovery of 10 mm spheres, %");
    for (int m = 0; m < MODELS; m++) {
        const double y = plot.box.y + plot.box.height - 70 + 20 * m;
        picture_points(page, &plot, results[m].noise, results[m].contrast, set->iterations, 2, models[m].colour);
        picture_text(page, plot.box.x + plot.box.width - 12, y, 13, 1, models[m].colour, models[m].description);
    }
    int failed = picture_save(page, path);
    picture_free(page);
    if (!failed) printf("picture    %s\n", path);
    return failed;
}

static int draw(const settings *set, const float *truth, const result *results) {
    static const char slices[] = "/pet_slices.png", curves[] = "/pet_curves.png";
    const size_t length = strlen(set->folder) + sizeof slices;
    char *path = malloc(length);
    if (!path) return -1;
    snprintf(path, length, "%s%s", set->folder, slices);
    int failed = draw_slices(path, truth, results, set);
    snprintf(path, length, "%s%s", set->folder, curves);
    failed |= draw_curves(path, results, set);
    free(path);
    return failed;
}

/* Zeros where a GPU fetches them at full speed; NULL with a message for none. */
static void *histo_images(const isoc_context *ctx, size_t size) {
    void *array = NULL;
    const size_t bytes = (size_t)(VIEWS * VOXELS) * size;
    const isoc_status status = isoc_host_alloc(ctx, bytes, &array);
    if (status != ISOC_STATUS_OK) demo_complain(status);
    return array ? memset(array, 0, bytes) : NULL;
}

static int allocate(const isoc_context *ctx, data *d, result *results, float **truth, const settings *set) {
    d->measured = histo_images(ctx, sizeof *d->measured);
    d->factors = histo_images(ctx, sizeof *d->factors);
    d->additive = histo_images(ctx, sizeof *d->additive);
    *truth = demo_array(VOXELS, sizeof **truth);
    int good = d->measured && d->factors && d->additive && *truth;
    for (int m = 0; m < MODELS; m++) {
        result *r = &results[m];
        r->images = demo_array(set->iterations * VOXELS, sizeof *r->images);
        r->contrast = demo_array(set->iterations, sizeof *r->contrast);
        r->noise = demo_array(set->iterations, sizeof *r->noise);
        r->seconds = demo_array(set->iterations, sizeof *r->seconds);
        good = good && r->images && r->contrast && r->noise && r->seconds;
    }
    return good;
}

int main(int argc, char **argv) {
    settings set;
    isoc_status status = ISOC_STATUS_OK;
    int failed = 1;
    isoc_context *ctx = NULL;
    isoc_pet *pet = NULL;
    demo_bar bar = { "", 0, 1 };
    static data d;
    result results[MODELS] = { { NULL, NULL, NULL, NULL } };
    float *truth = NULL;
    if (parse(argc, argv, &set) != 0) return EXIT_FAILURE;
    if (mkdir(set.folder, 0777) != 0 && errno != EEXIST) {
        perror(set.folder);
        return EXIT_FAILURE;
    }
    const isoc_pet_geometry geometry = {
        .struct_size = sizeof geometry, .nx = NX, .ny = NX, .nz = NZ, .voxel_x = VOXEL, .azimuths = AZIMUTHS, .tilts = TILTS,
        .max_tilt = 10 * PI / 180
    };
    TRY(demo_context_on(set.device, &bar, ISOC_NAN_POLICY_ERROR, &ctx));
    printf("Isocenter  %s (ABI %" PRIu32 "): %s\n", isoc_version(), isoc_abi_version(), isoc_build_info());
    printf("scan       cylinder of %g cm, six spheres of %g mm, ratio %g; %d views, %d x %d x %d voxels of %g mm\n",
           CYLINDER / 10, SPHERE, RATIO, VIEWS, NX, NX, NZ, VOXEL);
    if (!allocate(ctx, &d, results, &truth, &set)) goto end;
    make_phantom(&d);
    TRY(isoc_pet_create(ctx, &pet));
    TRY(isoc_pet_set_geometry(pet, &geometry, NULL));
    TRY(measure(pet, &d, &set, &bar));
    const isoc_tensor phantom = image_tensor(truth);
    TRY(isoc_pet_phantom_image(pet, d.bodies, BODIES, ISOC_PET_QUANTITY_ACTIVITY, &phantom));
    for (int m = 0; m < MODELS; m++) TRY(reconstruct(pet, &d, &set, &models[m], &bar, &results[m]));
    puts("");
    for (int m = 0; m < MODELS; m++) {
        double sum = 0;
        for (int64_t k = 0; k < set.iterations; k++) sum += results[m].seconds[k];
        printf("%-10s %.3f s an iteration\n", models[m].name, sum / (double)set.iterations);
    }
    failed = draw(&set, truth, results);
end:
    if (status != ISOC_STATUS_OK) demo_complain(status);
    isoc_pet_destroy(pet);
    isoc_context_destroy(ctx);
    for (int m = 0; m < MODELS; m++) {
        free(results[m].images);
        free(results[m].contrast);
        free(results[m].noise);
        free(results[m].seconds);
    }
    free(truth);
    isoc_host_free(d.additive);
    isoc_host_free(d.factors);
    isoc_host_free(d.measured);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
