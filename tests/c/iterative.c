/* Iterative CT from C: near a phantom by every algorithm, faster with subsets, within bounds and mask, from a volume on, the same from a
 * stream; and the history falls. */
#include "check.h"

enum { SIDE = 64, RAYS = 96, ANGLES = 45, LAYERS = 2, PIXELS = LAYERS * SIDE * SIDE, DATA = ANGLES * LAYERS * RAYS, MOST = 60 };

static float truth[PIXELS], data[DATA], volume[PIXELS], other[PIXELS];
static const int64_t data_shape[] = { ANGLES, LAYERS, RAYS }, volume_shape[] = { LAYERS, SIDE, SIDE };
static isoc_ct_iteration found[MOST];

static isoc_tensor lines(void) { return tensor(data, 3, data_shape, ISOC_DTYPE_FLOAT, 32); }
static isoc_tensor slices(float *to) { return tensor(to, 3, volume_shape, ISOC_DTYPE_FLOAT, 32); }

static isoc_ct_iterative settings(int64_t iterations) {
    isoc_ct_iterative i;
    memset(&i, 0, sizeof i);
    i.struct_size = sizeof i, i.iterations = iterations;
    return i;
}

static void set(isoc_ct *ct, uint32_t algorithm, const isoc_ct_iterative *iterative) {
    isoc_ct_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options, options.algorithm = algorithm;
    check_ok("set_options", isoc_ct_set_options(ct, &options));
    check_ok("set_iterative", isoc_ct_set_iterative(ct, iterative));
}

static void run(isoc_ct *ct, uint32_t algorithm, const isoc_ct_iterative *iterative, float *to) {
    const isoc_tensor p = lines(), v = slices(to);
    set(ct, algorithm, iterative);
    check_ok("reconstruct", isoc_ct_reconstruct(ct, &p, &v));
}

/* Root mean square of what a volume is from the truth. */
static double off(const float *seen) {
    double sum = 0.0;
    for (int k = 0; k < PIXELS; k++)
        sum += ((double)seen[k] - (double)truth[k]) * ((double)seen[k] - (double)truth[k]);
    return sqrt(sum / PIXELS);
}

/* Of both layers; each has a disk of 1 with a radius of 22 pixels, of which those within 18 are far from the edge. */
static double mean_inside(const float *seen) {
    double sum = 0.0;
    int count = 0;
    for (int k = 0; k < PIXELS; k++) {
        const double y = k / SIDE % SIDE - (SIDE - 1) / 2.0, x = k % SIDE - (SIDE - 1) / 2.0;
        if (x * x + y * y < 18.0 * 18.0)
            sum += (double)seen[k], count++;
    }
    return sum / count;
}

static int64_t history(isoc_ct *ct) {
    int64_t count = 0;
    check_ok("history", isoc_ct_history(ct, found, MOST, &count));
    return count;
}

static int falls(int64_t count) {
    int all = 1;
    for (int64_t k = 1; k < count; k++)
        all &= found[k].objective < found[k - 1].objective && found[k].slices == LAYERS;
    return all;
}

/* A disk's exact line integrals: the mean well inside is off by less than what the edge's rays, with a pixel or two of partial volume, add. */
static void values(isoc_ct *ct) {
    static const int64_t counts[] = { 60, 12, 60 };
    for (uint32_t algorithm = ISOC_CT_ALGORITHM_SIRT; algorithm <= ISOC_CT_ALGORITHM_MLEM; algorithm++) {
        const isoc_ct_iterative plain = settings(counts[algorithm - 1]);
        char why[64];
        run(ct, algorithm, &plain, volume);
        snprintf(why, sizeof why, "algorithm %u: %.4f", (unsigned)algorithm, mean_inside(volume));
        report("a disk of 1", fabs(mean_inside(volume) - 1.0) < 0.005, why);
        const int64_t count = history(ct);
        expect("as many iterations as asked for", count == plain.iterations);
        expect("the objective falls", falls(count));
    }
}

static void subsets(isoc_ct *ct) {
    for (uint32_t algorithm = ISOC_CT_ALGORITHM_SIRT; algorithm <= ISOC_CT_ALGORITHM_MLEM; algorithm += 2) {
        isoc_ct_iterative few = settings(3);
        const isoc_ct_iterative many = settings(9);
        few.subsets = 9;
        run(ct, algorithm, &few, volume);
        run(ct, algorithm, &many, other);
        expect("3 iterations of 9 subsets go farther than 9 of one", off(volume) < off(other));
    }
}

static void bounds_and_mask(isoc_ct *ct) {
    isoc_ct_iterative i = settings(10);
    int within = 1, outside = 1;
    i.bounds = ISOC_CT_BOUNDS_BOX, i.lower = 0.0, i.upper = 0.9, i.mask_radius = 0.8;
    run(ct, ISOC_CT_ALGORITHM_SIRT, &i, volume);
    for (int k = 0; k < PIXELS; k++) {
        const double y = k / SIDE % SIDE - (SIDE - 1) / 2.0, x = k % SIDE - (SIDE - 1) / 2.0;
        within &= volume[k] >= 0.0f && volume[k] <= 0.9f;
        outside &= x * x + y * y <= 25.6 * 25.6 || volume[k] == 0.0f;
    }
    expect("values are within the bounds", within);
    expect("pixels outside the mask are 0", outside);
}

/* Each step depends on the image alone. Products round by some 1e-6 of the largest value, which a handful of iterations add up. */
static void start_from_a_volume(isoc_ct *ct) {
    const isoc_ct_iterative ten = settings(10), five = settings(5);
    isoc_ct_iterative on = settings(5);
    on.start = ISOC_CT_START_VOLUME;
    run(ct, ISOC_CT_ALGORITHM_SIRT, &ten, other);
    run(ct, ISOC_CT_ALGORITHM_SIRT, &five, volume);
    run(ct, ISOC_CT_ALGORITHM_SIRT, &on, volume);
    expect("five iterations and then five are ten", near(volume, other, PIXELS, 2e-5));
}

static int32_t read_lines(void *user, int64_t first, int64_t count, const isoc_tensor *t) {
    (void)user;
    for (int64_t v = 0; v < ANGLES; v++)
        memcpy((float *)t->data + v * count * RAYS, data + (v * LAYERS + first) * RAYS, (size_t)(count * RAYS) * sizeof(float));
    return 0;
}

static int32_t write_volume(void *user, int64_t first, int64_t count, const isoc_tensor *t) {
    (void)user;
    memcpy(volume + first * SIDE * SIDE, t->data, (size_t)(count * SIDE * SIDE) * sizeof(float));
    return 0;
}

static void stream(isoc_ct *ct) {
    const isoc_dtype f32 = ISOC_F32;
    const isoc_ct_iterative plain = settings(4);
    isoc_ct_iterative on = settings(4);
    static const char *const words[] = { "iterative.start is 1 (volume)", "in a stream", NULL };
    run(ct, ISOC_CT_ALGORITHM_CGLS, &plain, other);
    memset(volume, 0, sizeof volume);
    check_ok("stream", isoc_ct_reconstruct_stream(ct, f32, read_lines, write_volume, NULL));
    expect("a stream gives what arrays give", near(volume, other, PIXELS, 2e-5));
    expect("a stream has a history", history(ct) == 4);
    on.start = ISOC_CT_START_VOLUME;
    set(ct, ISOC_CT_ALGORITHM_CGLS, &on);
    expect("a stream has no volume to begin with", check_status("stream", isoc_ct_reconstruct_stream(ct, f32, read_lines, write_volume, NULL),
        ISOC_STATUS_OUT_OF_RANGE, words));
}

int main(void) {
    start();
    isoc_context *ctx = NULL;
    isoc_ct *ct = NULL;
    double angles[ANGLES];
    isoc_ct_geometry g;
    const isoc_ct_ellipse disk = { 1.0, 0.0, 0.0, 22.0, 22.0, 0.0 };
    memset(&g, 0, sizeof g);
    for (int k = 0; k < ANGLES; k++)
        angles[k] = 0.01 + PI * k / ANGLES;
    g.struct_size = sizeof g, g.views = ANGLES, g.bins = RAYS, g.rows = LAYERS, g.nx = SIDE, g.ny = SIDE, g.angles = angles;
    const isoc_tensor p = lines(), v = slices(truth);
    check_ok("context", isoc_context_create(NULL, &ctx));
    check_ok("ct", isoc_ct_create(ctx, &ct));
    check_ok("set_geometry", isoc_ct_set_geometry(ct, &g));
    check_ok("phantom_volume", isoc_ct_phantom_volume(ct, &disk, 1, &v));
    check_ok("phantom_projections", isoc_ct_phantom_projections(ct, &disk, 1, &p));
    values(ct);
    subsets(ct);
    bounds_and_mask(ct);
    start_from_a_volume(ct);
    stream(ct);
    isoc_ct_destroy(ct);
    isoc_context_destroy(ctx);
    return finish();
}
