/* Bad input to isoc_coil_*: every case has its status and the words of its message, and the calls work afterwards. */
#include "check.h"

enum { N = 12, CAL = 8, COILS = 3, SAMPLES = 40, KEPT = 2, LINES = 4, READOUT = 10 };

static isoc_context *ctx, *lenient;
static float noise[2 * COILS * SAMPLES], calibration[2 * COILS * CAL * CAL], maps[2 * (COILS + 1) * COILS * N * N], values[2 * N * N];
static float matrix[2 * COILS * COILS], out[2 * COILS * SAMPLES], lines[2 * READOUT * COILS * COILS];
static const int64_t noise_shape[] = { COILS, SAMPLES }, square[] = { COILS, COILS }, kept[] = { KEPT, COILS }, out_shape[] = { KEPT, SAMPLES };
static const int64_t few[] = { COILS, 2 }, too_many[] = { COILS + 1, COILS }, data_shape[] = { COILS, LINES, READOUT };
static const int64_t lines_shape[] = { READOUT, KEPT, COILS }, lines_out[] = { KEPT, LINES, READOUT }, lines_many[] = { READOUT, COILS + 1, COILS };
static const int64_t cal_shape[] = { COILS, CAL, CAL }, maps_shape[] = { COILS, N, N }, sets_shape[] = { 2, COILS, N, N };
static const int64_t many_sets[] = { COILS + 1, COILS, N, N }, small[] = { COILS, N, CAL - 1 }, other[] = { COILS + 1, N, N };
static const int64_t values_shape[] = { N, N }, none[] = { 0, CAL, CAL }, huge[] = { INT64_MAX, CAL, CAL };

static isoc_coil_options options(void) {
    isoc_coil_options o;
    memset(&o, 0, sizeof o);
    o.struct_size = sizeof o;
    return o;
}

static void set_up(void) {
    for (int k = 0; k < 2 * COILS * SAMPLES; k++)
        noise[k] = (float)sin(0.7 + 1.3 * k * k);
    for (int k = 0; k < 2 * COILS * CAL * CAL; k++)
        calibration[k] = (float)cos(0.2 * k * k);
    for (int k = 0; k < 2 * COILS * COILS; k++)
        matrix[k] = (float)k;
}

static isoc_tensor c64(const void *data, int32_t ndim, const int64_t *shape) { return tensor(data, ndim, shape, ISOC_DTYPE_COMPLEX, 64); }

static void works_afterwards(const char *name) {
    char line[160];
    snprintf(line, sizeof line, "%s: works afterwards", name);
    isoc_tensor n = c64(noise, 2, noise_shape), w = c64(matrix, 2, square);
    check_ok(line, isoc_coil_whitening(ctx, &n, &w));
}

/* Sets up, changes something, and calls: the status, the words in the message, and the calls still work. */
#define BAD(name, change, call, status, ...)                                                                       \
    do {                                                                                                           \
        static const char *const words[] = { __VA_ARGS__, NULL };                                                  \
        set_up();                                                                                                  \
        isoc_coil_options o = options();                                                                           \
        isoc_tensor n = c64(noise, 2, noise_shape), w = c64(matrix, 2, square), k = c64(matrix, 2, kept);          \
        isoc_tensor y = c64(out, 2, out_shape), d = c64(noise, 3, data_shape), g = c64(lines, 3, lines_shape);     \
        isoc_tensor z = c64(out, 3, lines_out), c = c64(calibration, 3, cal_shape), m = c64(maps, 3, maps_shape);  \
        isoc_tensor v = tensor(values, 2, values_shape, ISOC_DTYPE_FLOAT, 32);                                     \
        (void)o, (void)n, (void)w, (void)k, (void)y, (void)d, (void)g, (void)z, (void)c, (void)m, (void)v;         \
        change;                                                                                                    \
        if (check_status(name, call, ISOC_STATUS_##status, words))                                                 \
            report(name, 1, "");                                                                                   \
        set_up();                                                                                                  \
        works_afterwards(name);                                                                                    \
    } while (0)

static void matrices(void) {
    BAD("whitening: no context", (void)0, isoc_coil_whitening(NULL, &n, &w), NULL_POINTER, "context");
    BAD("whitening: no noise", (void)0, isoc_coil_whitening(ctx, NULL, &w), NULL_POINTER, "noise is NULL");
    BAD("whitening: no matrix", (void)0, isoc_coil_whitening(ctx, &n, NULL), NULL_POINTER, "matrix is NULL");
    BAD("whitening: few samples", n.shape = few, isoc_coil_whitening(ctx, &n, &w), TENSOR_SHAPE, "2 samples of 3 coils");
    BAD("whitening: a coil without noise", memset(noise + 2 * SAMPLES, 0, 2 * SAMPLES * sizeof *noise), isoc_coil_whitening(ctx, &n, &w),
        OUT_OF_RANGE, "coil 1 is 0");
    BAD("whitening: a coil twice", memcpy(noise + 4 * SAMPLES, noise, 2 * SAMPLES * sizeof *noise), isoc_coil_whitening(ctx, &n, &w),
        OUT_OF_RANGE, "coil 2 is a combination", "singular");
    BAD("whitening: NaN", noise[3] = NAN, isoc_coil_whitening(ctx, &n, &w), NOT_FINITE_DATA, "noise[0, 1]");
    BAD("whitening: real", n.dtype.code = ISOC_DTYPE_FLOAT, isoc_coil_whitening(ctx, &n, &w), TENSOR_DTYPE, "noise.dtype", "C64");
    BAD("whitening: another matrix", w.shape = too_many, isoc_coil_whitening(ctx, &n, &w), TENSOR_SHAPE, "matrix.shape[0] is 4", "must be 3");
    BAD("whitening: one dimension", n.ndim = 1, isoc_coil_whitening(ctx, &n, &w), TENSOR_NDIM, "noise.ndim is 1", "(coils, samples)");
    BAD("whitening: in place", w = c64(noise, 2, square), isoc_coil_whitening(ctx, &n, &w), OVERLAP, "share memory");
    double energy = 0;
    BAD("compression: ranks", k.shape = too_many, isoc_coil_compression(ctx, &n, &k, &energy), OUT_OF_RANGE, "4 virtual coils", "3 coils");
    BAD("compression: zeros", memset(noise, 0, sizeof noise), isoc_coil_compression(ctx, &n, &k, &energy), OUT_OF_RANGE, "data is 0");
    BAD("compression: no data", (void)0, isoc_coil_compression(ctx, NULL, &k, &energy), NULL_POINTER, "data is NULL");
    BAD("compression: no energy", (void)0, isoc_coil_compression(ctx, &n, &k, NULL), OK, NULL);
    BAD("geometric: ranks", g.shape = lines_many, isoc_coil_geometric_compression(ctx, &d, &g, &energy), OUT_OF_RANGE, "4 virtual coils");
    BAD("geometric: ndim", d.ndim = 2, isoc_coil_geometric_compression(ctx, &d, &g, &energy), TENSOR_NDIM, "(coils, lines, readout)");
    BAD("geometric: another order", g.shape = data_shape, isoc_coil_geometric_compression(ctx, &d, &g, &energy), TENSOR_SHAPE, "matrix.shape[2] is 10",
        "must be 3");
    BAD("geometric: works", (void)0, isoc_coil_geometric_compression(ctx, &d, &g, &energy), OK, NULL);
    BAD("apply: works", (void)0, isoc_coil_apply(ctx, &k, &n, &y), OK, NULL);
    BAD("apply: coils", k.shape = out_shape, isoc_coil_apply(ctx, &k, &n, &y), TENSOR_SHAPE, "matrix.shape[1] is 40", "must be 3");
    BAD("apply: no matrix", (void)0, isoc_coil_apply(ctx, NULL, &n, &y), NULL_POINTER, "matrix is NULL");
    BAD("apply: in place", y = c64(noise, 2, out_shape), isoc_coil_apply(ctx, &k, &n, &y), OVERLAP, "share memory");
    BAD("apply: rows", y.shape = noise_shape, isoc_coil_apply(ctx, &k, &n, &y), TENSOR_SHAPE, "out.shape[0] is 3", "must be 2");
    BAD("apply_geometric: works", (void)0, isoc_coil_apply_geometric(ctx, &g, &d, &z), OK, NULL);
    BAD("apply_geometric: one matrix", g = k, isoc_coil_apply_geometric(ctx, &g, &d, &z), TENSOR_NDIM, "matrix.ndim is 2");
    BAD("apply_geometric: readout", z.shape = lines_shape, isoc_coil_apply_geometric(ctx, &g, &d, &z), TENSOR_SHAPE, "out");
}

#define MAPS isoc_coil_maps(ctx, &o, &c, &m, &v)
#define OPTION(field, value, status, ...) BAD("options." #field, o.field = value, MAPS, status, __VA_ARGS__)

static void sensitivities(void) {
    BAD("maps: works", (void)0, MAPS, OK, NULL);
    BAD("maps: the defaults", (void)0, isoc_coil_maps(ctx, NULL, &c, &m, NULL), OK, NULL);
    OPTION(struct_size, 3, STRUCT_SIZE, "struct_size is 3");
    OPTION(method, 2, UNKNOWN_VALUE, "method is 2");
    OPTION(kernel_x, CAL + 1, OUT_OF_RANGE, "options.kernel_x is 9", "calibration has 8");
    OPTION(kernel_z, 2, OUT_OF_RANGE, "options.kernel_z is 2", "calibration has 1");
    OPTION(kernel_y, -1, OUT_OF_RANGE, "kernel_y is -1");
    OPTION(window, 3, OUT_OF_RANGE, "window is 3", "ESPIRiT");
    OPTION(threshold, 1.0, OUT_OF_RANGE, "threshold is 1");
    OPTION(threshold, -0.1, OUT_OF_RANGE, "threshold is -0.1");
    OPTION(threshold, NAN, NOT_FINITE_PARAMETER, "threshold is NaN");
    OPTION(crop, 1.0, OUT_OF_RANGE, "crop is 1");
    OPTION(crop, INFINITY, NOT_FINITE_PARAMETER, "crop is inf");
    BAD("maps: an even window", (o.method = 1, o.window = 4), MAPS, OUT_OF_RANGE, "window is 4", "odd");
    BAD("maps: a kernel of the other method", (o.method = 1, o.kernel_x = 4), MAPS, OUT_OF_RANGE, "ESPIRiT");
    BAD("maps: sets", (m.ndim = 4, m.shape = many_sets), isoc_coil_maps(ctx, &o, &c, &m, NULL), OUT_OF_RANGE, "4 sets", "3 coils");
    BAD("maps: eigenvalues of one set", (m.ndim = 4, m.shape = sets_shape), MAPS, TENSOR_NDIM, "eigenvalues.ndim is 2");
    BAD("maps: smaller than calibration", m.shape = small, isoc_coil_maps(ctx, &o, &c, &m, NULL), TENSOR_SHAPE, "8 elements along x", "maps 7");
    BAD("maps: of other coils", m.shape = other, MAPS, TENSOR_SHAPE, "maps.shape[0] is 4", "must be 3");
    BAD("maps: ndim", m.ndim = 2, MAPS, TENSOR_NDIM, "maps.ndim is 2");
    BAD("maps: NULL", (void)0, isoc_coil_maps(ctx, &o, &c, NULL, &v), NULL_POINTER, "maps is NULL");
    BAD("calibration: NULL", (void)0, isoc_coil_maps(ctx, &o, NULL, &m, &v), NULL_POINTER, "calibration is NULL");
    BAD("calibration: ndim", c.ndim = 2, MAPS, TENSOR_NDIM, "calibration.ndim is 2", "(coils, nz, ny, nx)");
    BAD("calibration: no coils", c.shape = none, MAPS, OUT_OF_RANGE, "calibration.shape[0] is 0");
    BAD("calibration: overflow", c.shape = huge, MAPS, SIZE_OVERFLOW, "calibration");
    BAD("calibration: NaN", calibration[2 * (CAL * CAL + 3)] = NAN, MAPS, NOT_FINITE_DATA, "calibration[1, 0, 0, 3]");
    BAD("calibration: zeros", memset(calibration, 0, sizeof calibration), MAPS, OUT_OF_RANGE, "calibration is 0");
    BAD("eigenvalues: complex", v = c64(values, 2, values_shape), MAPS, TENSOR_DTYPE, "eigenvalues.dtype");
    BAD("maps: in place", m = c64(calibration, 3, maps_shape), MAPS, OVERLAP, "share memory");
    set_up();
    isoc_coil_options o = options();
    isoc_tensor c = c64(calibration, 3, cal_shape), m = c64(maps, 3, maps_shape);
    calibration[5] = NAN;
    check_ok("NaN replaced", isoc_coil_maps(lenient, &o, &c, &m, NULL));
}

static int32_t stop(void *user, double fraction, const char *stage) {
    (void)user, (void)fraction, (void)stage;
    return 1;
}

static void contexts(void) {
    isoc_context_options c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c, c.memory_cap = 1000;
    isoc_context *tight = NULL, *cancelled = NULL;
    check_ok("context", isoc_context_create(&c, &tight));
    set_up();
    isoc_tensor k = c64(calibration, 3, cal_shape), m = c64(maps, 3, maps_shape);
    static const char *const cap[] = { "memory", NULL };
    check_status("memory cap", isoc_coil_maps(tight, NULL, &k, &m, NULL), ISOC_STATUS_MEMORY_CAP, cap);
    c.memory_cap = 0, c.progress = stop;
    check_ok("context", isoc_context_create(&c, &cancelled));
    static float before[COUNT_OF(maps)];
    memset(maps, 7, sizeof maps);
    memcpy(before, maps, sizeof maps);
    check_status("cancel", isoc_coil_maps(cancelled, NULL, &k, &m, NULL), ISOC_STATUS_CANCELLED, NULL);
    expect("a cancel leaves the maps", memcmp(before, maps, sizeof maps) == 0);
    check_ok("destroy", isoc_context_destroy(tight));
    check_ok("destroy", isoc_context_destroy(cancelled));
}

int main(void) {
    start();
    isoc_context_options c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c, c.threads = 2;
    check_ok("context", isoc_context_create(&c, &ctx));
    c.nan_policy = ISOC_NAN_POLICY_REPLACE;
    check_ok("context", isoc_context_create(&c, &lenient));
    matrices();
    sensitivities();
    contexts();
    check_ok("destroy", isoc_context_destroy(ctx));
    check_ok("destroy", isoc_context_destroy(lenient));
    check_threads_end();
    return finish();
}
