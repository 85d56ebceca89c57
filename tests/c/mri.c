/* Bad input to isoc_mri_*: every case has its status and the words of its message, and the plan works afterwards. Contexts choose
   their device: the GPU where there is one. */
#include "check.h"

enum { N = 8, SAMPLES = 60, COILS = 2, PIXELS = N * N };

static isoc_context *ctx, *lenient;
static isoc_mri *mri;
static double points[2 * SAMPLES];
static float samples[2 * COILS * SAMPLES], image[2 * COILS * PIXELS], maps[2 * COILS * PIXELS], out[2 * COILS * PIXELS];
static float weights[SAMPLES], times[SAMPLES], hertz[PIXELS];
static const int64_t points_shape[] = { SAMPLES, 2 }, scan_shape[] = { COILS, SAMPLES }, image_shape[] = { COILS, N, N };
static const int64_t by_sample[] = { SAMPLES }, plane[] = { N, N }, one_coil[] = { 1, SAMPLES };
static const int64_t turned[] = { SAMPLES, COILS }, three[] = { 3, N, N };

static isoc_tensor samples_tensor(void) { return tensor(samples, 2, scan_shape, ISOC_DTYPE_COMPLEX, 64); }
static isoc_tensor images(const void *data) { return tensor(data, 3, image_shape, ISOC_DTYPE_COMPLEX, 64); }
static isoc_tensor trajectory(void) { return tensor(points, 2, points_shape, ISOC_DTYPE_FLOAT, 64); }

static isoc_mri_geometry geometry(void) {
    isoc_mri_geometry g;
    memset(&g, 0, sizeof g);
    g.struct_size = sizeof g, g.unit = ISOC_MRI_UNIT_CYCLES_PER_VOXEL;
    g.nx = g.ny = N, g.samples = SAMPLES, g.coils = COILS;
    return g;
}

static isoc_mri_options options(void) {
    isoc_mri_options o;
    memset(&o, 0, sizeof o);
    o.struct_size = sizeof o;
    return o;
}

static isoc_mri_delay_options delay_options(void) {
    isoc_mri_delay_options d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d, d.readout = SAMPLES / 3;
    return d;
}

static isoc_mri_maps_options maps_options(void) {
    isoc_mri_maps_options j;
    memset(&j, 0, sizeof j);
    j.struct_size = sizeof j, j.steps = 2, j.iterations = 3;
    return j;
}

static isoc_mri_delays no_delays(void) {
    isoc_mri_delays d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/* A plan and data that work. */
static void set_up(isoc_context *context) {
    check_ok("isoc_mri_destroy", isoc_mri_destroy(mri));
    check_ok("isoc_mri_create", isoc_mri_create(context, &mri));
    for (int m = 0; m < SAMPLES; m++) {
        points[2 * m] = 0.5 * sin(1.0 + m * m), points[2 * m + 1] = 0.5 * cos(2.0 + 3.0 * m * m);
        weights[m] = 1.0f + (float)(m % 3), times[m] = 1e-4f * (float)m;
    }
    for (int k = 0; k < 2 * COILS * SAMPLES; k++)
        samples[k] = (float)sin(0.3 * k * k);
    for (int k = 0; k < 2 * COILS * PIXELS; k++)
        image[k] = maps[k] = (float)cos(0.2 * k * k);
    for (int k = 0; k < PIXELS; k++)
        hertz[k] = (float)k;
    isoc_mri_geometry g = geometry();
    isoc_tensor t = trajectory();
    check_ok("isoc_mri_set_geometry", isoc_mri_set_geometry(mri, &g, &t));
}

static void works_afterwards(const char *name) {
    isoc_tensor from = samples_tensor(), to = images(out);
    char line[160];
    snprintf(line, sizeof line, "%s: works afterwards", name);
    /* Exact sums: a fast transform would be planned anew for each case, which takes Valgrind minutes. */
    isoc_mri_options o = options();
    o.method = ISOC_MRI_METHOD_EXACT;
    check_ok(line, isoc_mri_set_options(mri, &o));
    check_ok(line, isoc_mri_adjoint(mri, &from, &to));
}

/* Sets up, changes something, and calls: the status, the words in the message, and the plan still works. */
#define BAD(name, change, call, status, ...)                                                  \
    do {                                                                                      \
        static const char *const words[] = { __VA_ARGS__, NULL };                             \
        set_up(ctx);                                                                          \
        isoc_mri_geometry g = geometry();                                                     \
        isoc_mri_options o = options();                                                       \
        isoc_tensor k = trajectory(), s = samples_tensor(), i = images(image), v = images(out);         \
        (void)g, (void)o, (void)k, (void)s, (void)i, (void)v;                                 \
        change;                                                                               \
        if (check_status(name, call, ISOC_STATUS_##status, words))                            \
            report(name, 1, "");                                                              \
        set_up(ctx);                                                                          \
        works_afterwards(name);                                                               \
    } while (0)

#define DELAYS(name, change, status, ...)                                                                  \
    do {                                                                                                   \
        isoc_mri_delay_options d = delay_options();                                                        \
        isoc_mri_delays late = no_delays();                                                                \
        BAD("find_delays: " name, change, isoc_mri_find_delays(mri, &s, &d, &late), status, __VA_ARGS__);  \
    } while (0)
#define MAPS(name, change, status, ...)                                                                    \
    do {                                                                                                   \
        isoc_mri_maps_options j = maps_options();                                                          \
        isoc_tensor w = tensor(image, 2, plane, ISOC_DTYPE_COMPLEX, 64);                                   \
        BAD("find_maps: " name, change, isoc_mri_find_maps(mri, &j, &s, &v, &w), status, __VA_ARGS__);     \
    } while (0)
#define GEOMETRY(field, value, status, ...) \
    BAD("geometry." #field, g.field = value, isoc_mri_set_geometry(mri, &g, &k), status, __VA_ARGS__)
#define OPTION(field, value, status, ...) \
    BAD("options." #field, o.field = value, isoc_mri_set_options(mri, &o), status, __VA_ARGS__)

static void handles(void) {
    isoc_mri *none = NULL;
    check_status("create: no context", isoc_mri_create(NULL, &none), ISOC_STATUS_NULL_POINTER, NULL);
    check_status("create: no place", isoc_mri_create(ctx, NULL), ISOC_STATUS_NULL_POINTER, NULL);
    check_status("destroy: NULL", isoc_mri_destroy(NULL), ISOC_STATUS_OK, NULL);
    check_ok("create", isoc_mri_create(ctx, &none));
    isoc_tensor s = samples_tensor(), v = images(out);
    const isoc_dtype c64 = ISOC_C64;
    uint64_t bytes = 0;
    check_status("adjoint before a geometry", isoc_mri_adjoint(none, &s, &v), ISOC_STATUS_NOT_CONFIGURED, NULL);
    check_status("memory before a geometry", isoc_mri_memory(none, &bytes), ISOC_STATUS_NOT_CONFIGURED, NULL);
    check_status("memory of maps before a geometry", isoc_mri_maps_memory(none, NULL, &bytes), ISOC_STATUS_NOT_CONFIGURED, NULL);
    check_status("memory of a stream before a geometry", isoc_mri_stream_memory(none, c64, 0, &bytes, NULL), ISOC_STATUS_NOT_CONFIGURED, NULL);
    check_status("compute_q before a geometry", isoc_mri_compute_q(none), ISOC_STATUS_NOT_CONFIGURED, NULL);
    check_status("weights before a geometry", isoc_mri_compute_weights(none, 0, 0), ISOC_STATUS_NOT_CONFIGURED, NULL);
    check_ok("destroy", isoc_mri_destroy(none));
    check_status("destroy twice", isoc_mri_destroy(none), ISOC_STATUS_INVALID_HANDLE, NULL);
    check_status("use after destroy", isoc_mri_adjoint(none, &s, &v), ISOC_STATUS_INVALID_HANDLE, NULL);
}

static void joint_maps(void) {
    MAPS("works", (void)0, OK, NULL);
    MAPS("steps", j.steps = -1, OUT_OF_RANGE, "options.steps is -1", "1 to 1000");
    MAPS("iterations", j.iterations = 1001, OUT_OF_RANGE, "options.iterations is 1001");
    MAPS("residual", j.residual = 1, OUT_OF_RANGE, "options.residual is 1");
    MAPS("residual that is no number", j.residual = NAN, NOT_FINITE_PARAMETER, "options.residual");
    MAPS("alpha", j.alpha = -2, OUT_OF_RANGE, "options.alpha is -2");
    MAPS("reduction", j.reduction = 2, OUT_OF_RANGE, "options.reduction is 2");
    MAPS("scale", j.scale = INFINITY, NOT_FINITE_PARAMETER, "options.scale");
    MAPS("order", j.order = 1, OUT_OF_RANGE, "options.order is 1");
    MAPS("reserved", j.reserved = 1, OUT_OF_RANGE, "options.reserved is 1");
    MAPS("options of another size", j.struct_size = 3, STRUCT_SIZE, "isoc_mri_maps_options");
    MAPS("samples of another shape", s.shape = turned, TENSOR_SHAPE, "samples.shape[1] is 2");
    MAPS("real samples", s.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "samples.dtype");
    MAPS("maps of another shape", v.shape = three, TENSOR_SHAPE, "maps.shape[0] is 3");
    MAPS("an image of each coil", w = images(image), TENSOR_SHAPE, "image");
    MAPS("maps over samples", v.data = samples, OVERLAP, "samples", "maps");
    MAPS("an image over samples", w.data = samples, OVERLAP, "samples", "image");
    MAPS("an image over maps", w.data = out, OVERLAP, "image", "maps");
    MAPS("samples that are 0", memset(samples, 0, sizeof samples), OUT_OF_RANGE, "samples are 0");
    MAPS("samples that are no number", samples[3] = NAN, NOT_FINITE_DATA, "samples[0, 1]");
    MAPS("maps that are there", check_ok("set_maps", isoc_mri_set_maps(mri, &i)), NOT_CONFIGURED, "maps already");
    MAPS("frames", check_ok("set_windows", isoc_mri_set_windows(mri, 20, 20)), NOT_CONFIGURED, "frames");
    BAD("find_maps: defaults, and no image", (void)0, isoc_mri_find_maps(mri, NULL, &s, &v, NULL), OK, NULL);
    BAD("find_maps: no samples", (void)0, isoc_mri_find_maps(mri, NULL, NULL, &v, NULL), NULL_POINTER, "samples");
    BAD("find_maps: no maps", (void)0, isoc_mri_find_maps(mri, NULL, &s, NULL, NULL), NULL_POINTER, "maps");
    BAD("find_maps: one coil", (g.coils = 1, s.shape = one_coil, isoc_mri_set_geometry(mri, &g, &k)), isoc_mri_find_maps(mri, NULL, &s, &i, NULL),
        TENSOR_SHAPE, "maps.shape[0] is 2");
    isoc_tensor one = tensor(out, 2, plane, ISOC_DTYPE_COMPLEX, 64);
    BAD("find_maps: one coil's map", (g.coils = 1, s.shape = one_coil, isoc_mri_set_geometry(mri, &g, &k)),
        isoc_mri_find_maps(mri, NULL, &s, &one, NULL), NOT_CONFIGURED, "geometry.coils is 1");
    uint64_t bytes = 0;
    BAD("maps_memory: works", (void)0, isoc_mri_maps_memory(mri, NULL, &bytes), OK, NULL);
    BAD("maps_memory: nowhere", (void)0, isoc_mri_maps_memory(mri, NULL, NULL), NULL_POINTER, "bytes");
    BAD("maps_memory: frames", check_ok("set_windows", isoc_mri_set_windows(mri, 20, 20)), isoc_mri_maps_memory(mri, NULL, &bytes), NOT_CONFIGURED,
        "frames");
}

/* Three readouts are too few, so that good arguments have an error, too. */
static void delays(void) {
    isoc_mri_delay_options good = delay_options();
    isoc_mri_delays late = no_delays();
    late.xx = 0.5, late.yy = -0.25;
    DELAYS("too few readouts", (void)0, OUT_OF_RANGE, "the middle of k-space has");
    DELAYS("readout", d.readout = 7, OUT_OF_RANGE, "options.readout is 7", "60");
    DELAYS("no readout", d.readout = 0, OUT_OF_RANGE, "options.readout is 0");
    DELAYS("a negative readout", d.readout = -20, OUT_OF_RANGE, "options.readout is -20");
    DELAYS("range", d.range = 11, OUT_OF_RANGE, "options.range is 11");
    DELAYS("range that is no number", d.range = NAN, OUT_OF_RANGE, "options.range");
    DELAYS("edge", d.voxel_z = -1, OUT_OF_RANGE, "options.voxel_z is -1");
    DELAYS("options of another size", d.struct_size = 3, STRUCT_SIZE, "isoc_mri_delay_options");
    DELAYS("delays of another size", late.struct_size = 3, STRUCT_SIZE, "isoc_mri_delays");
    DELAYS("samples of another shape", s.shape = turned, TENSOR_SHAPE, "samples.shape[1] is 2");
    DELAYS("real samples", s.dtype.code = ISOC_DTYPE_FLOAT, TENSOR_DTYPE, "samples.dtype");
    BAD("find_delays: no options", (void)0, isoc_mri_find_delays(mri, &s, NULL, &late), NULL_POINTER, "isoc_mri_delay_options");
    BAD("find_delays: no place", (void)0, isoc_mri_find_delays(mri, &s, &good, NULL), NULL_POINTER, "isoc_mri_delays");
    BAD("find_delays: no samples", (void)0, isoc_mri_find_delays(mri, NULL, &good, &late), NULL_POINTER, "samples");
    BAD("delayed_trajectory: works", (void)0, isoc_mri_delayed_trajectory(mri, &good, &late, &k), OK, NULL);
    BAD("delayed_trajectory: far", late.yy = 21, isoc_mri_delayed_trajectory(mri, &good, &late, &k), OUT_OF_RANGE, "delays.yy is 21");
    late.yy = 0;
    BAD("delayed_trajectory: NaN", late.xy = NAN, isoc_mri_delayed_trajectory(mri, &good, &late, &k), OUT_OF_RANGE, "delays.xy is NaN");
    late.xy = 0;
    BAD("delayed_trajectory: shape", k.shape = scan_shape, isoc_mri_delayed_trajectory(mri, &good, &late, &k), TENSOR_SHAPE, "trajectory");
    BAD("delayed_trajectory: NULL", (void)0, isoc_mri_delayed_trajectory(mri, &good, &late, NULL), NULL_POINTER, "trajectory");
    BAD("delayed_trajectory: no delays", (void)0, isoc_mri_delayed_trajectory(mri, &good, NULL, &k), NULL_POINTER, "isoc_mri_delays");
}

/* Without a GPU it does nothing. */
static void streams(void) {
    set_up(ctx);
    check_ok("set_stream", isoc_mri_set_stream(mri, NULL));
    check_status("set_stream: no plan", isoc_mri_set_stream(NULL, NULL), ISOC_STATUS_NULL_POINTER, NULL);
    works_afterwards("set_stream");
}

static void geometries(void) {
    GEOMETRY(struct_size, 3, STRUCT_SIZE, "struct_size is 3");
    GEOMETRY(unit, 0, UNKNOWN_VALUE, "unit is 0", "no default");
    GEOMETRY(unit, 4, UNKNOWN_VALUE, "unit is 4");
    GEOMETRY(precision, 2, UNKNOWN_VALUE, "precision is 2");
    GEOMETRY(axes, 1, OUT_OF_RANGE, "axes is 1");
    GEOMETRY(axes, 3, TENSOR_SHAPE, "trajectory.shape[1] is 2", "must be 3");
    GEOMETRY(nx, 0, OUT_OF_RANGE, "nx is 0");
    GEOMETRY(ny, -1, OUT_OF_RANGE, "ny is -1");
    GEOMETRY(nz, INT64_MAX, OUT_OF_RANGE, "nz is 9223372036854775807");
    GEOMETRY(samples, 0, OUT_OF_RANGE, "samples is 0");
    GEOMETRY(samples, SAMPLES + 1, TENSOR_SHAPE, "trajectory.shape[0] is 60", "must be 61");
    GEOMETRY(coils, -2, OUT_OF_RANGE, "coils is -2");
    BAD("geometry: NULL", (void)0, isoc_mri_set_geometry(mri, NULL, &k), NULL_POINTER, "NULL");
    BAD("trajectory: NULL", (void)0, isoc_mri_set_geometry(mri, &g, NULL), NULL_POINTER, "trajectory is NULL");
    BAD("trajectory: NaN", points[13] = NAN, isoc_mri_set_geometry(mri, &g, &k), NOT_FINITE_DATA, "trajectory[6, 1] is NaN;");
    BAD("trajectory: another unit", points[7] = 3.0, isoc_mri_set_geometry(mri, &g, &k), OUT_OF_RANGE,
        "trajectory[3, 1] is 3 cycles per voxel", "+-0.5", "cycles per field of view", "radians per voxel");
    BAD("trajectory: no unit", points[7] = 30.0, isoc_mri_set_geometry(mri, &g, &k), OUT_OF_RANGE, "no unit fits");
    BAD("trajectory: complex", k.dtype.code = ISOC_DTYPE_COMPLEX, isoc_mri_set_geometry(mri, &g, &k), TENSOR_DTYPE,
        "trajectory.dtype", "F64");
    BAD("larger than memory", (g.nz = g.ny = g.nx = 65536, g.axes = 3, k.shape = points_shape),
        isoc_mri_set_geometry(mri, &g, &k), TENSOR_SHAPE, "trajectory");
}

static void all_options(void) {
    OPTION(struct_size, 1000, STRUCT_SIZE, "struct_size is 1000");
    OPTION(method, 3, UNKNOWN_VALUE, "method is 3");
    OPTION(normal, 3, UNKNOWN_VALUE, "normal is 3");
    OPTION(penalty, 6, UNKNOWN_VALUE, "penalty is 6");
    OPTION(algorithm, 4, UNKNOWN_VALUE, "algorithm is 4");
    OPTION(algorithm, 2, OUT_OF_RANGE, "algorithm is 2 (fista)");
    OPTION(wavelet, 2, UNKNOWN_VALUE, "wavelet is 2");
    OPTION(levels, 17, OUT_OF_RANGE, "levels is 17");
    OPTION(huber, -1, OUT_OF_RANGE, "huber is -1");
    OPTION(reserved, 1, UNKNOWN_VALUE, "reserved is 1", "must be 0");
    OPTION(imaginary, -1, OUT_OF_RANGE, "imaginary is -1", "must be 0 to 1e30, or infinity");
    OPTION(imaginary, 1e31, OUT_OF_RANGE, "imaginary is 1e31");
    OPTION(imaginary, NAN, NOT_FINITE_PARAMETER, "imaginary is NaN", "infinity");
    OPTION(sines, 2, UNKNOWN_VALUE, "sines is 2");
    OPTION(iterations, -1, OUT_OF_RANGE, "iterations is -1");
    OPTION(tolerance, NAN, NOT_FINITE_PARAMETER, "tolerance is NaN");
    OPTION(tolerance, -1e-3, OUT_OF_RANGE, "tolerance is -0.001");
    OPTION(tolerance, 1.0, OUT_OF_RANGE, "tolerance is 1");
    OPTION(upsampling, 1.0, OUT_OF_RANGE, "upsampling is 1", "1.1 to 4");
    OPTION(lambda, -0.5, OUT_OF_RANGE, "lambda is -0.5");
    OPTION(lambda, INFINITY, NOT_FINITE_PARAMETER, "lambda is inf");
    OPTION(residual, -1.0, OUT_OF_RANGE, "residual is -1");
    BAD("tolerance beyond single precision", (o.tolerance = 1e-9, check_ok("set", isoc_mri_set_options(mri, &o))),
        isoc_mri_adjoint(mri, &s, &v), OUT_OF_RANGE, "tolerance is 1e-9", "can be reached");
    BAD("a matrix that was not set", (o.penalty = 2, o.lambda = 1, check_ok("set", isoc_mri_set_options(mri, &o))),
        isoc_mri_reconstruct(mri, &s, &v), NOT_CONFIGURED, "isoc_mri_set_matrix");
}

static void arrays(void) {
    BAD("samples: NULL", (void)0, isoc_mri_adjoint(mri, NULL, &v), NULL_POINTER, "samples is NULL");
    BAD("image: NULL", (void)0, isoc_mri_adjoint(mri, &s, NULL), NULL_POINTER, "image is NULL");
    BAD("samples: real", s.dtype.code = ISOC_DTYPE_FLOAT, isoc_mri_adjoint(mri, &s, &v), TENSOR_DTYPE, "samples.dtype", "C64");
    BAD("samples: one coil", s.shape = one_coil, isoc_mri_adjoint(mri, &s, &v), TENSOR_SHAPE, "samples.shape[0] is 1", "must be 2",
        "its shape is (1, 60)", "geometry.coils is 2: set it to 1");
    BAD("samples: turned", s.shape = turned, isoc_mri_adjoint(mri, &s, &v), TENSOR_SHAPE, "samples.shape[1] is 2", "must be 60",
        "its shape is (60, 2), the other way round");
    BAD("samples: by spokes", s.ndim = 3, isoc_mri_adjoint(mri, &s, &v), TENSOR_NDIM, "samples.ndim is 3", "are one dimension");
    BAD("image: one for all coils", v.ndim = 2; v.shape = plane, isoc_mri_adjoint(mri, &s, &v), TENSOR_NDIM, "image.ndim is 2",
        "its shape is (8, 8)", "geometry.coils is 2, and without maps", "an image of its own");
    BAD("image: of another number of coils", v.shape = three, isoc_mri_adjoint(mri, &s, &v), TENSOR_SHAPE,
        "its shape is (3, 8, 8)", "geometry.coils is 2: set it to 3");
    isoc_tensor c = images(maps);
    BAD("image: of every coil, with maps", check_ok("maps", isoc_mri_set_maps(mri, &c)), isoc_mri_adjoint(mri, &s, &v), TENSOR_SHAPE,
        "image.shape[0] is 2", "with maps (isoc_mri_set_maps) all coils see one image");
    BAD("maps: of other coils", c.shape = three, isoc_mri_set_maps(mri, &c), TENSOR_SHAPE, "maps.shape[0] is 3",
        "geometry.coils is 2: set it to 3");
    BAD("image: ndim", v.ndim = 2, isoc_mri_adjoint(mri, &s, &v), TENSOR_NDIM, "image.ndim is 2");
    BAD("image: on a GPU", v.device.device_type = ISOC_DEVICE_CUDA, isoc_mri_adjoint(mri, &s, &v), TENSOR_DEVICE, "type 2");
    BAD("image: misaligned", v.byte_offset = 2, isoc_mri_adjoint(mri, &s, &v), TENSOR_STRIDES, "aligned to 4");
    BAD("in place", v = i, isoc_mri_normal(mri, &i, &v), OVERLAP, "share memory");
    BAD("samples: NaN", samples[2 * (SAMPLES + 5)] = NAN, isoc_mri_adjoint(mri, &s, &v), NOT_FINITE_DATA, "samples[1, 5]", "NaN");
    BAD("samples: Inf", samples[9] = INFINITY, isoc_mri_reconstruct(mri, &s, &v), NOT_FINITE_DATA, "samples[0, 4]", "inf");
    BAD("image: NaN", image[2 * (PIXELS + 3 * N + 1)] = NAN, isoc_mri_forward(mri, &i, &s), NOT_FINITE_DATA, "image[1, 0, 3, 1]");
}

/* Reads samples; a user's number other than 0 is what it returns. */
static int32_t read_part(void *user, int64_t first, int64_t count, const isoc_tensor *to) {
    for (int64_t coil = 0; coil < COILS; coil++)
        memcpy((float *)to->data + 2 * coil * count, samples + 2 * (coil * SAMPLES + first), 2 * sizeof(float) * (size_t)count);
    return user ? *(int32_t *)user : 0;
}

static int32_t read_busy(void *user, int64_t first, int64_t count, const isoc_tensor *to) {
    isoc_tensor from = samples_tensor(), image_to = images(user);
    (void)first, (void)count, (void)to;
    return isoc_mri_adjoint(mri, &from, &image_to) == ISOC_STATUS_BUSY ? 3 : 0;
}

static void parts(void) {
    static int32_t seven = 7;
    const isoc_dtype c64 = ISOC_C64, f32 = ISOC_F32;
    uint64_t host = 0, gpu = 0;
    BAD("stream: no reader", (void)0, isoc_mri_reconstruct_stream(mri, c64, 0, NULL, NULL, &v), NULL_POINTER, "read is NULL");
    BAD("stream: no image", (void)0, isoc_mri_reconstruct_stream(mri, c64, 0, read_part, NULL, NULL), NULL_POINTER, "image is NULL");
    BAD("stream: real samples", (void)0, isoc_mri_reconstruct_stream(mri, f32, 0, read_part, NULL, &v), TENSOR_DTYPE, "samples.dtype", "C64");
    BAD("stream: fewer than none", (void)0, isoc_mri_gridding_stream(mri, c64, -1, read_part, NULL, &v), OUT_OF_RANGE, "at_once is -1");
    BAD("stream: a reader that stops", (void)0, isoc_mri_reconstruct_stream(mri, c64, 25, read_part, &seven, &v), CALLBACK,
        "read returned 7 for samples 0 to 25");
    BAD("stream: a reader that uses the plan", (void)0, isoc_mri_gridding_stream(mri, c64, 25, read_busy, maps, &v), CALLBACK, "read returned 3");
    BAD("stream: NaN", samples[2 * (SAMPLES + 30)] = NAN, isoc_mri_reconstruct_stream(mri, c64, 25, read_part, NULL, &v), NOT_FINITE_DATA,
        "from sample 25 on, samples[1, 5] is NaN");
    BAD("stream: frames are read whole", check_ok("windows", isoc_mri_set_windows(mri, 30, 10)),
        isoc_mri_reconstruct_stream(mri, c64, 29, read_part, NULL, &v), TENSOR_SHAPE, "image.shape[0] is 2");
    BAD("stream_memory: no plan", (void)0, isoc_mri_stream_memory(NULL, c64, 0, NULL, NULL), NULL_POINTER, NULL);
    BAD("stream_memory: real samples", (void)0, isoc_mri_stream_memory(mri, f32, 0, &host, &gpu), TENSOR_DTYPE, "samples.dtype", "C64");
    BAD("stream_memory: fewer than none", (void)0, isoc_mri_stream_memory(mri, c64, -1, &host, &gpu), OUT_OF_RANGE, "at_once is -1");
    BAD("stream_memory: frames are read whole", check_ok("windows", isoc_mri_set_windows(mri, 30, 10)),
        isoc_mri_stream_memory(mri, c64, 29, &host, &gpu), OUT_OF_RANGE, "at_once is 29", "the longest has 30");
    set_up(ctx);
    check_ok("stream_memory: of neither", isoc_mri_stream_memory(mri, c64, 25, NULL, NULL));
    check_ok("stream_memory", isoc_mri_stream_memory(mri, c64, 25, &host, &gpu));
    /* On a GPU nothing but two buffers is on the host. */
    const uint64_t buffers = 2 * 25 * COILS * 2 * sizeof(float);
    expect("stream_memory: where it computes", computes_on_gpu() ? host == buffers && gpu > 0 : host > buffers && gpu == 0);
    static float several[4 * 2 * COILS * PIXELS];
    static const int64_t eight[] = { 8, N, N };
    BAD("stream: frames are read whole", (check_ok("windows", isoc_mri_set_windows(mri, 30, 10)), v = tensor(several, 3, eight, ISOC_DTYPE_COMPLEX, 64)),
        isoc_mri_reconstruct_stream(mri, c64, 29, read_part, NULL, &v), OUT_OF_RANGE, "at_once is 29", "the longest has 30");
}

static void extras(void) {
    isoc_tensor w = tensor(weights, 1, by_sample, ISOC_DTYPE_FLOAT, 32), t = tensor(times, 1, by_sample, ISOC_DTYPE_FLOAT, 32);
    isoc_tensor f = tensor(hertz, 2, plane, ISOC_DTYPE_FLOAT, 32), c = images(maps);
    BAD("weights: negative", weights[4] = -1, isoc_mri_set_weights(mri, &w), OUT_OF_RANGE, "weights[4] is -1");
    BAD("weights: all 0", memset(weights, 0, sizeof weights), isoc_mri_set_weights(mri, &w), OUT_OF_RANGE, "all weights are 0");
    BAD("weights: NaN", weights[4] = NAN, isoc_mri_set_weights(mri, &w), NOT_FINITE_DATA, "weights[4] is NaN");
    BAD("weights: of an unknown kind", (void)0, isoc_mri_compute_weights(mri, 2, 0), UNKNOWN_VALUE, "density is 2");
    BAD("weights: spokes that do not divide", (void)0, isoc_mri_compute_weights(mri, 1, 7), OUT_OF_RANGE, "parameter, the samples of a spoke, is 7", "60");
    BAD("weights: spokes that are not straight", (void)0, isoc_mri_compute_weights(mri, 1, 10), OUT_OF_RANGE, "straight");
    BAD("weights: spokes that miss the centre", (void)0, isoc_mri_compute_weights(mri, 1, 2), OUT_OF_RANGE, "passes the centre",
        "parameter, the samples of a spoke, is 2");
    BAD("maps: of one coil", c.shape = image_shape + 1; c.ndim = 2, isoc_mri_set_maps(mri, &c), TENSOR_NDIM, "maps.ndim is 2");
    c = images(maps);
    BAD("maps: NaN", maps[2] = NAN, isoc_mri_set_maps(mri, &c), NOT_FINITE_DATA, "maps[0, 0, 0, 1]");
    BAD("field: without times", (void)0, isoc_mri_set_field(mri, &f, NULL, NULL), NULL_POINTER, "times is NULL");
    BAD("field: times alone", (void)0, isoc_mri_set_field(mri, NULL, &t, NULL), NULL_POINTER, "field is NULL", "decay");
    BAD("field: Inf", hertz[9] = INFINITY, isoc_mri_set_field(mri, &f, &t, NULL), NOT_FINITE_DATA, "field[0, 1, 1] is inf");
    BAD("decay: Inf", hertz[9] = INFINITY, isoc_mri_set_field(mri, NULL, &t, &f), NOT_FINITE_DATA, "decay[0, 1, 1] is inf");
    BAD("decay: negative", hertz[9] = -1, isoc_mri_set_field(mri, NULL, &t, &f), OUT_OF_RANGE, "decay[0, 1, 1] is -1", "1/s");
    BAD("decay: faster than any", hertz[9] = 1e7f, isoc_mri_set_field(mri, NULL, &t, &f), OUT_OF_RANGE, "decay reaches 10000000 1/s", "times in s");
    const float ones[4] = { 1, 1, 1, 1 };
    const int64_t two_by_two[] = { 2, 2 };
    isoc_tensor basis = tensor((float *)ones, 2, two_by_two, ISOC_DTYPE_FLOAT, 32);
    int64_t rows[SAMPLES] = { 0 };
    BAD("basis: a row a sample", (void)0, isoc_mri_set_basis(mri, &basis, NULL), TENSOR_SHAPE, "basis has 2 rows", "samples");
    BAD("basis: no such row", rows[3] = 2, isoc_mri_set_basis(mri, &basis, rows), OUT_OF_RANGE, "times[3] is 2", "0 to 1");
    rows[3] = 0;
    BAD("basis: times alone", (void)0, isoc_mri_set_basis(mri, NULL, rows), NULL_POINTER, "basis is NULL");
    BAD("basis: of one dimension", basis.ndim = 1, isoc_mri_set_basis(mri, &basis, rows), TENSOR_NDIM, "basis.ndim is 1");
    basis.ndim = 2;
    BAD("basis: one image of two", check_ok("basis", isoc_mri_set_basis(mri, &basis, rows)), isoc_mri_adjoint(mri, &s, &v), TENSOR_SHAPE,
        "image.shape[0] is 2", "there are several images");
    BAD("shots: without phases", (void)0, isoc_mri_set_shots(mri, rows, NULL), NULL_POINTER, "phases is NULL");
    BAD("shots: phases alone", (void)0, isoc_mri_set_shots(mri, NULL, &c), NULL_POINTER, "shots is NULL");
    BAD("shots: no such shot", rows[3] = 7, isoc_mri_set_shots(mri, rows, &c), OUT_OF_RANGE, "shots[3] is 7", "a shot that phases has");
    rows[3] = 0;
    BAD("shots: with a basis", check_ok("basis", isoc_mri_set_basis(mri, &basis, rows)), isoc_mri_set_shots(mri, rows, &c), NOT_CONFIGURED, "exclude each other");
    const int64_t begin[] = { 0, 5 }, count[] = { 10, SAMPLES };
    BAD("frames: beyond the samples", (void)0, isoc_mri_set_frames(mri, 2, begin, count), OUT_OF_RANGE, "frame 1 has 60 samples from 5 on", "0 to 59");
    BAD("frames: NULL", (void)0, isoc_mri_set_frames(mri, 2, NULL, count), NULL_POINTER, "first is NULL");
    BAD("frames: fewer than none", (void)0, isoc_mri_set_frames(mri, -1, begin, count), OUT_OF_RANGE, "frames is -1");
    BAD("frames: with a basis", check_ok("basis", isoc_mri_set_basis(mri, &basis, rows)), isoc_mri_set_frames(mri, 1, begin, count),
        NOT_CONFIGURED, "exclude each other");
    BAD("windows: longer than the series", (void)0, isoc_mri_set_windows(mri, SAMPLES + 1, 1), OUT_OF_RANGE, "longer than the series");
    BAD("windows: no step", (void)0, isoc_mri_set_windows(mri, 10, 0), OUT_OF_RANGE, "step is 0");
    BAD("windows: one Q", check_ok("windows", isoc_mri_set_windows(mri, 10, 5)), isoc_mri_compute_q(mri), NOT_CONFIGURED, "a Q of its own");
    static float values[4 * PIXELS];
    isoc_mri_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check_ok("info", isoc_mri_get_info(mri, &info));
    const int64_t of_q[] = { info.q_ny, info.q_nx };
    isoc_tensor q = tensor(values, 2, of_q, ISOC_DTYPE_FLOAT, 32);
    expect("Q of twice the sides", info.q_ny * info.q_nx <= 4 * PIXELS);
    BAD("field: export of Q", check_ok("field", isoc_mri_set_field(mri, &f, &t, NULL)), isoc_mri_export_q(mri, &q), NOT_CONFIGURED, "no one Q");
    BAD("field: import of Q", check_ok("field", isoc_mri_set_field(mri, &f, &t, NULL)), isoc_mri_import_q(mri, &q), NOT_CONFIGURED, "no one Q");
    BAD("field: too many turns for Q", (hertz[9] = 200, times[2] = 1, check_ok("field", isoc_mri_set_field(mri, &f, &t, NULL))),
        isoc_mri_compute_q(mri), OUT_OF_RANGE, "turns 200 times", "128", "options.normal");
    BAD("field: too many turns for convolutions",
        (hertz[9] = 200, times[2] = 1, check_ok("field", isoc_mri_set_field(mri, &f, &t, NULL)), o.normal = 1,
         check_ok("set", isoc_mri_set_options(mri, &o))),
        isoc_mri_normal(mri, &i, &v), OUT_OF_RANGE, "turns 200 times", "128", "options.normal");
    BAD("field: too many turns for fast sums",
        (hertz[9] = 1e6f, times[2] = 1, check_ok("field", isoc_mri_set_field(mri, &f, &t, NULL)), o.method = 1,
         check_ok("set", isoc_mri_set_options(mri, &o))),
        isoc_mri_adjoint(mri, &s, &v), OUT_OF_RANGE, "turns", "seconds", "method");
    BAD("export of no Q", (void)0, isoc_mri_export_q(mri, NULL), NULL_POINTER, "q is NULL");
    BAD("history of nothing", (void)0, isoc_mri_history(mri, 0, NULL, 0, NULL), NOT_CONFIGURED, "isoc_mri_reconstruct");
    BAD("objective of nothing", (void)0, isoc_mri_objective(mri, 0, NULL, 0, NULL), NOT_CONFIGURED, "isoc_mri_reconstruct");
    BAD("gap of nothing", (void)0, isoc_mri_gap(mri, 0, NULL, 0, NULL), NOT_CONFIGURED, "isoc_mri_reconstruct");
}

static void matrices(void) {
    static int64_t starts[] = { 0, 1, 2 }, columns[] = { 0, 63 };
    static const int64_t two[] = { 2 };
    static float values[] = { 1, 2 };
    isoc_tensor t = tensor(values, 1, two, ISOC_DTYPE_FLOAT, 32);
#define MATRIX(name, change, status, ...)                                                                          \
    do {                                                                                                           \
        starts[0] = 0, starts[1] = 1, starts[2] = 2, columns[0] = 0, columns[1] = 63, values[0] = 1;              \
        BAD("matrix: " name, change, isoc_mri_set_matrix(mri, 2, starts, columns, 2, &t), status, __VA_ARGS__);    \
    } while (0)
    MATRIX("a column beyond", columns[1] = 64, OUT_OF_RANGE, "columns[1] is 64", "0 to 63");
    MATRIX("a negative column", columns[0] = -1, OUT_OF_RANGE, "columns[0] is -1");
    MATRIX("starts that fall", starts[1] = 3, OUT_OF_RANGE, "row_starts[2] is 2", "below");
    MATRIX("starts that end early", starts[2] = 1, OUT_OF_RANGE, "end with the number of entries, 2");
    MATRIX("starts that begin late", starts[0] = 1, OUT_OF_RANGE, "begin with 0");
    MATRIX("NaN", values[0] = NAN, NOT_FINITE_DATA, "matrix values[0]");
    BAD("matrix: no rows", (void)0, isoc_mri_set_matrix(mri, 0, starts, columns, 2, &t), OUT_OF_RANGE, "rows is 0");
    BAD("matrix: no columns", (void)0, isoc_mri_set_matrix(mri, 2, starts, NULL, 2, &t), NULL_POINTER, "columns is NULL");
}

static int32_t stop_at_half(void *user, double fraction, const char *stage) {
    (void)stage;
    ++*(int *)user;
    return fraction >= 0.0 && *(int *)user > 3;
}

/* A cancel leaves the image as it was; a small cap is refused; NaN is replaced where asked for. */
static void contexts(void) {
    isoc_context_options c;
    memset(&c, 0, sizeof c);
    c.struct_size = sizeof c, c.memory_cap = c.gpu_memory_cap = 1000;
    isoc_context *small = NULL, *cancelled = NULL;
    check_ok("context", isoc_context_create(&c, &small));
    isoc_tensor s = samples_tensor(), v = images(out);
    static const char *const cap[] = { "memory_cap is 1000", "at least", NULL };
    set_up(small);
    check_status("memory cap", isoc_mri_reconstruct(mri, &s, &v), ISOC_STATUS_MEMORY_CAP, cap);
    const isoc_dtype c64 = ISOC_C64;
    static const char *const room[] = { "memory_cap is 1000", "2 x 50 samples", NULL };
    check_status("memory cap of a stream", isoc_mri_reconstruct_stream(mri, c64, 50, read_part, NULL, &v), ISOC_STATUS_MEMORY_CAP, room);
    check_status("memory cap of its memory", isoc_mri_stream_memory(mri, c64, 50, NULL, NULL), ISOC_STATUS_MEMORY_CAP, room);
    if (!computes_on_gpu()) {
        /* One transform takes less than a solution. */
        uint64_t bytes = 0;
        check_ok("memory", isoc_mri_memory(mri, &bytes));
        c.memory_cap = bytes - 1;
        isoc_context *less = NULL;
        check_ok("context", isoc_context_create(&c, &less));
        set_up(less);
        static const char *const needs[] = { "memory_cap is", "at least", NULL };
        check_status("cap below a solution", isoc_mri_reconstruct(mri, &s, &v), ISOC_STATUS_MEMORY_CAP, needs);
        check_ok("gridding under it", isoc_mri_gridding(mri, &s, &v));
        check_ok("destroy", isoc_context_destroy(less));
        /* A product has two vectors less than a solution here; five less are too few. */
        c.memory_cap = bytes - 5 * PIXELS * 2 * sizeof(float);
        check_ok("context", isoc_context_create(&c, &less));
        set_up(less);
        isoc_tensor i = images(image);
        check_status("cap below a product", isoc_mri_normal(mri, &i, &v), ISOC_STATUS_MEMORY_CAP, needs);
        check_ok("gridding under it as well", isoc_mri_gridding(mri, &s, &v));
        check_ok("destroy", isoc_context_destroy(less));
    }
    int calls = 0;
    c.memory_cap = c.gpu_memory_cap = 0, c.progress = stop_at_half, c.progress_user = &calls;
    check_ok("context", isoc_context_create(&c, &cancelled));
    set_up(cancelled);
    isoc_mri_options o = options();
    o.iterations = 1000000, o.residual = 1e-300;
    check_ok("options", isoc_mri_set_options(mri, &o));
    memset(out, 7, sizeof out);
    static float before[COUNT_OF(out)];
    memcpy(before, out, sizeof out);
    isoc_status status = isoc_mri_reconstruct(mri, &s, &v);
    /* A singular system may be solved to the last bit before the third report. */
    expect("a cancel", status == ISOC_STATUS_CANCELLED || (status == ISOC_STATUS_OK && calls <= 4));
    expect("a cancel leaves the image", status == ISOC_STATUS_OK || memcmp(before, out, sizeof out) == 0);
    isoc_mri_maps_options j = maps_options();
    j.steps = 1000, j.iterations = 1000, j.residual = -1;
    calls = 0;
    memcpy(before, out, sizeof out);
    check_status("a cancel of find_maps", isoc_mri_find_maps(mri, &j, &s, &v, NULL), ISOC_STATUS_CANCELLED, NULL);
    expect("a cancel leaves the maps", memcmp(before, out, sizeof out) == 0);
    set_up(small);
    check_status("memory cap of find_maps", isoc_mri_find_maps(mri, NULL, &s, &v, NULL), ISOC_STATUS_MEMORY_CAP, cap);
    set_up(lenient);
    samples[0] = samples[9] = NAN;
    check_ok("NaN replaced", isoc_mri_adjoint(mri, &s, &v));
    isoc_mri_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check_ok("info", isoc_mri_get_info(mri, &info));
    expect("NaN counted", info.replaced_values == 2);
    check_ok("destroy", isoc_mri_destroy(mri));
    mri = NULL;
    check_ok("destroy", isoc_context_destroy(small));
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
    handles();
    streams();
    joint_maps();
    delays();
    geometries();
    all_options();
    arrays();
    parts();
    extras();
    matrices();
    contexts();
    check_ok("destroy", isoc_mri_destroy(mri));
    check_ok("destroy", isoc_context_destroy(ctx));
    check_ok("destroy", isoc_context_destroy(lenient));
    check_threads_end();
    return finish();
}
