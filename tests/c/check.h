/* Counted checks, and a small scan whose every byte can be compared before and after a call. C11 and C++17. */
#ifndef CHECK_H
#define CHECK_H

#include "system.h"

#include <isocenter.h>

#include <float.h>
#include <math.h>

static int passed, failed;

#define PI 3.14159265358979323846
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The case at hand, for the last words of a crash. */
static const char *current_case = "";

static inline void crashed(int signal_number) {
    const char *const words[] = { "CRASH ", current_case, "\n" };
    int written = 0;
    for (size_t k = 0; k < COUNT_OF(words); k++)
        written += (int)write(1, words[k], strlen(words[k]));
    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* A call that never returns is a failure too. */
static inline void start(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    watch_over(crashed, 600);
}

static inline void report(const char *name, int good, const char *why) {
    good ? passed++ : failed++;
    if (!good)
        printf("FAIL  %s: %s\n", name, why);
}

static inline void expect(const char *name, int good) { report(name, good, "not so"); }

static inline int finish(void) {
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

/* On the host, without gaps. */
static inline isoc_tensor tensor(const void *data, int32_t ndim, const int64_t *shape, uint8_t code, uint8_t bits) {
    isoc_tensor t;
    memset(&t, 0, sizeof t);
    t.data = (void *)(uintptr_t)data, t.device.device_type = ISOC_DEVICE_HOST;
    t.ndim = ndim, t.shape = shape, t.dtype.code = code, t.dtype.bits = bits, t.dtype.lanes = 1;
    return t;
}

static inline void *allocate(size_t bytes) {
    void *p = malloc(bytes);
    if (!p)
        abort();
    return p;
}

/* Fails unless the call gave this status and, in this thread's message, every word. */
static inline int check_status(const char *name, isoc_status status, isoc_status expected, const char *const *words) {
    const char *message = status == ISOC_STATUS_OK ? "" : isoc_last_error();
    char why[1024];
    if (status != expected) {
        snprintf(why, sizeof why, "status %d (%s) instead of %d (%s); \"%s\"", status, isoc_status_string(status),
                 expected, isoc_status_string(expected), message);
        report(name, 0, why);
        return 0;
    }
    for (; words && *words; words++) {
        if (!strstr(message, *words)) {
            snprintf(why, sizeof why, "no \"%s\" in \"%s\"", *words, message);
            report(name, 0, why);
            return 0;
        }
    }
    return 1;
}

/* A step on the way to a case: counted only if it fails. */
static inline void check_ok(const char *name, isoc_status status) { check_status(name, status, ISOC_STATUS_OK, NULL); }

/* Whether contexts compute on a GPU by default. */
static inline int computes_on_gpu(void) {
    isoc_context *ctx = NULL;
    isoc_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options, options.device = ISOC_CONTEXT_DEVICE_GPU;
    isoc_status status = isoc_context_create(&options, &ctx);
    isoc_context_destroy(ctx);
    return status == ISOC_STATUS_OK;
}

/* The library's worker threads, which it names; a GPU's driver has threads of its own. */
static inline int workers_alive(void) { return threads_named("isocenter"); }

/* They end when their context goes, though not at once. */
static inline void check_threads_end(void) {
    for (int k = 0; k < 1000 && workers_alive() > 0; k++)
        sleep_ms(10);
    expect("no worker thread outlives its context", workers_alive() == 0);
}

/* --- a scan --- */

enum { VIEWS = 24, ROWS = 2, BINS = 32, SLICES = 2, NY = 20, NX = 28, FLATS_COUNT = 2 };
enum { PROJECTIONS, FILTERED, VOLUME, FLATS, DARKS, TENSORS };
enum { PROJECTION_SIZE = VIEWS * ROWS * BINS, VOLUME_SIZE = SLICES * NY * NX, FRAME_SIZE = ROWS * BINS };
enum { ELLIPSES = ISOC_CT_SHEPP_LOGAN_ELLIPSES };

/* What a plan can do after a failed call: the usual job as it is, once set up anew, or none (a tiny memory cap). */
enum { AS_IT_IS, SET_UP_ANEW, NOT_AT_ALL };

typedef struct {
    isoc_context *ctx;
    isoc_ct *ct;
    int afterwards;
    isoc_ct_geometry geometry;
    isoc_ct_options options;
    isoc_ct_outliers outliers;
    isoc_ct_flat_field_options flat_options;
    int64_t group_frames[2];
    double group_positions[2], group_monitor[2], monitor[VIEWS];
    isoc_ct_distortion distortion;
    double radial[3], perspective[8], x_shifts[VIEWS], y_shifts[VIEWS];
    isoc_ct_phase phase;
    isoc_ct_stripes stripes;
    isoc_ct_half_acquisition half;
    isoc_ct_iterative iterative;
    isoc_ct_info info;
    isoc_ct_output output;
    isoc_ct_output_info written;
    isoc_tensor t[TENSORS];
    int64_t shape[TENSORS][3], strides[TENSORS][3];
    double angles[VIEWS], axis[VIEWS], weights[VIEWS];
    float response[4];
    isoc_ct_ellipse ellipses[ELLIPSES];
    uint64_t bytes;
    double suggested, noise;
    isoc_context *new_ctx;
    isoc_ct *new_ct;
    /* Of the exact sizes, each by itself, so that Valgrind sees any step outside. */
    float *projections, *filtered, *volume;
    uint16_t *flats, *darks;
} scan;

typedef struct {
    void *start;
    size_t size;
} block;

enum { BLOCKS = 6 };

/* All memory that a call could reach. */
static inline void scan_blocks(scan *s, block *blocks) {
    block all[BLOCKS] = {
        { s, sizeof *s },
        { s->projections, PROJECTION_SIZE * sizeof(float) },
        { s->filtered, PROJECTION_SIZE * sizeof(float) },
        { s->volume, VOLUME_SIZE * sizeof(float) },
        { s->flats, FLATS_COUNT * FRAME_SIZE * sizeof(uint16_t) },
        { s->darks, FRAME_SIZE * sizeof(uint16_t) },
    };
    memcpy(blocks, all, sizeof all);
}

static inline unsigned char *snapshot(scan *s) {
    block blocks[BLOCKS];
    size_t size = 0;
    scan_blocks(s, blocks);
    for (int k = 0; k < BLOCKS; k++)
        size += blocks[k].size;
    unsigned char *copy = (unsigned char *)allocate(size), *to = copy;
    for (int k = 0; k < BLOCKS; to += blocks[k].size, k++)
        memcpy(to, blocks[k].start, blocks[k].size);
    return copy;
}

/* Frees the snapshot. */
static inline int same_as(scan *s, unsigned char *copy) {
    block blocks[BLOCKS];
    const unsigned char *from = copy;
    int same = 1;
    scan_blocks(s, blocks);
    for (int k = 0; k < BLOCKS; from += blocks[k].size, k++)
        same &= memcmp(from, blocks[k].start, blocks[k].size) == 0;
    free(copy);
    return same;
}

static inline isoc_tensor tensor3(void *data, isoc_dtype dtype, const int64_t *shape) {
    isoc_tensor t = { data, ISOC_HOST, 3, ISOC_F32, shape, NULL, 0 };
    t.dtype = dtype;
    return t;
}

static inline void set_shape(scan *s, int which, int64_t a, int64_t b, int64_t c) {
    s->shape[which][0] = a, s->shape[which][1] = b, s->shape[which][2] = c;
}

/* Gives a tensor explicit strides: the contiguous ones, for a test to change. */
static inline int64_t *contiguous(scan *s, int which) {
    int64_t *strides = s->strides[which];
    strides[2] = 1, strides[1] = s->shape[which][2], strides[0] = s->shape[which][1] * strides[1];
    s->t[which].strides = strides;
    return strides;
}

static inline void good_tensors(scan *s) {
    const isoc_dtype f32 = ISOC_F32, u16 = ISOC_U16;
    void *data[TENSORS] = { s->projections, s->filtered, s->volume, s->flats, s->darks };
    set_shape(s, PROJECTIONS, VIEWS, ROWS, BINS);
    set_shape(s, FILTERED, VIEWS, ROWS, BINS);
    set_shape(s, VOLUME, SLICES, NY, NX);
    set_shape(s, FLATS, FLATS_COUNT, ROWS, BINS);
    set_shape(s, DARKS, 1, ROWS, BINS);
    for (int k = 0; k < TENSORS; k++)
        s->t[k] = tensor3(data[k], k < FLATS ? f32 : u16, s->shape[k]);
}

/* Smooth line integrals, with nothing symmetric about them. */
static inline float sample(int view, int row, int bin) {
    return (float)(bin * (BINS - 1 - bin)) * (0.01f + 0.001f * (float)row) + 0.02f * (float)((3 * view + bin) % 7);
}

static inline void good_data(scan *s) {
    for (int k = 0; k < PROJECTION_SIZE; k++)
        s->projections[k] = sample(k / FRAME_SIZE, k / BINS % ROWS, k % BINS);
    for (int k = 0; k < FLATS_COUNT * FRAME_SIZE; k++)
        s->flats[k] = (uint16_t)(1000 + k % 13);
    for (int k = 0; k < FRAME_SIZE; k++)
        s->darks[k] = (uint16_t)(100 + k % 5);
    /* What outputs hold before a call: -5.8e-16 as a float, so that reading it by mistake does no harm. */
    memset(s->filtered, 0xA6, PROJECTION_SIZE * sizeof(float));
    memset(s->volume, 0xA6, VOLUME_SIZE * sizeof(float));
}

static inline void good_parameters(scan *s) {
    memset(&s->geometry, 0, sizeof s->geometry);
    memset(&s->options, 0, sizeof s->options);
    memset(&s->info, 0, sizeof s->info);
    memset(&s->iterative, 0, sizeof s->iterative);
    memset(&s->output, 0, sizeof s->output);
    memset(&s->written, 0, sizeof s->written);
    s->geometry.struct_size = sizeof s->geometry;
    s->options.struct_size = sizeof s->options;
    s->info.struct_size = sizeof s->info;
    s->iterative.struct_size = sizeof s->iterative, s->iterative.iterations = 3;
    s->output.struct_size = sizeof s->output;
    s->written.struct_size = sizeof s->written;
    for (int k = 0; k < VIEWS; k++) {
        s->angles[k] = PI * k / VIEWS;
        s->axis[k] = 15.25;
        s->weights[k] = -1.0;
    }
    s->geometry.views = VIEWS, s->geometry.bins = BINS, s->geometry.rows = ROWS;
    s->geometry.nx = NX, s->geometry.ny = NY;
    s->geometry.angles = s->angles, s->geometry.axis = s->axis, s->geometry.axis_count = 1;
    for (int k = 0; k < ELLIPSES; k++) {
        isoc_ct_ellipse ellipse = { 1.0, 0.5, -0.5, 3.0, 2.0, 0.3 };
        s->ellipses[k] = ellipse;
    }
    for (size_t k = 0; k < COUNT_OF(s->response); k++)
        s->response[k] = 0.1f * (float)k;
    s->bytes = 12345;
}

/* A scan and a plan with nothing set yet. */
static inline scan *unset_scan(isoc_context *ctx) {
    scan *s = (scan *)calloc(1, sizeof *s);
    if (!s)
        abort();
    s->projections = (float *)allocate(PROJECTION_SIZE * sizeof(float));
    s->filtered = (float *)allocate(PROJECTION_SIZE * sizeof(float));
    s->volume = (float *)allocate(VOLUME_SIZE * sizeof(float));
    s->flats = (uint16_t *)allocate(FLATS_COUNT * FRAME_SIZE * sizeof(uint16_t));
    s->darks = (uint16_t *)allocate(FRAME_SIZE * sizeof(uint16_t));
    s->ctx = ctx;
    good_parameters(s);
    good_tensors(s);
    good_data(s);
    s->afterwards = SET_UP_ANEW;
    check_ok("isoc_ct_create", isoc_ct_create(ctx, &s->ct));
    return s;
}

static inline scan *new_scan(isoc_context *ctx) {
    scan *s = unset_scan(ctx);
    check_ok("isoc_ct_set_geometry", isoc_ct_set_geometry(s->ct, &s->geometry));
    s->afterwards = AS_IT_IS;
    return s;
}

static inline void free_scan(scan *s) {
    isoc_ct_destroy(s->ct);
    free(s->projections);
    free(s->filtered);
    free(s->volume);
    free(s->flats);
    free(s->darks);
    free(s);
}

/* No difference over this part of the largest value; NaN is a difference. */
static inline int near(const float *a, const float *b, size_t count, double tolerance) {
    double largest = 0.0;
    for (size_t k = 0; k < count; k++)
        largest = fabs((double)b[k]) > largest ? fabs((double)b[k]) : largest;
    for (size_t k = 0; k < count; k++)
        if (!(fabs((double)a[k] - (double)b[k]) <= tolerance * largest))
            return 0;
    return largest > 0.0;
}

/* What `reconstruct` makes of the usual scan; made once. */
static inline const float *usual_volume(isoc_context *ctx) {
    static float volume[VOLUME_SIZE];
    static int made;
    if (!made) {
        scan *s = new_scan(ctx);
        check_ok("isoc_ct_reconstruct", isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]));
        memcpy(volume, s->volume, sizeof volume);
        free_scan(s);
        made = 1;
    }
    return volume;
}

/* The plan still reconstructs the usual scan. */
static inline int still_works(scan *s) {
    good_tensors(s);
    good_data(s);
    if (s->afterwards == NOT_AT_ALL)
        return 1;
    if (s->afterwards == SET_UP_ANEW) {
        good_parameters(s);
        /* Where there is no geometry yet, there is no flat field either. */
        (void)isoc_ct_set_flat_field(s->ct, NULL, NULL, NULL);
        if (isoc_ct_set_outliers(s->ct, NULL) || isoc_ct_set_distortion(s->ct, NULL) || isoc_ct_set_phase(s->ct, NULL) ||
            isoc_ct_set_options(s->ct, NULL) || isoc_ct_set_output(s->ct, NULL) || isoc_ct_set_half_acquisition(s->ct, NULL) ||
            isoc_ct_set_iterative(s->ct, NULL) || isoc_ct_set_geometry(s->ct, &s->geometry))
            return 0;
    }
    return isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]) == ISOC_STATUS_OK && near(s->volume,
        usual_volume(s->ctx), VOLUME_SIZE, 1e-5);
}

/* --- the calls that take a plan --- */

typedef struct {
    const char *name;
    isoc_status (*call)(isoc_ct *ct, scan *s);
    /* Tensors that it reads and writes, or -1. */
    int in, out;
    int needs_geometry;
} plan_call;

static inline isoc_status call_set_geometry(isoc_ct *ct, scan *s) { return isoc_ct_set_geometry(ct, &s->geometry); }
static inline isoc_status call_set_options(isoc_ct *ct, scan *s) { return isoc_ct_set_options(ct, &s->options); }
static inline isoc_status call_set_output(isoc_ct *ct, scan *s) { return isoc_ct_set_output(ct, &s->output); }
static inline isoc_status call_set_iterative(isoc_ct *ct, scan *s) { return isoc_ct_set_iterative(ct, &s->iterative); }
static inline isoc_status call_set_flat_field(isoc_ct *ct, scan *s) {
    return isoc_ct_set_flat_field(ct, &s->t[FLATS], &s->t[DARKS], NULL);
}
static inline isoc_status call_get_info(isoc_ct *ct, scan *s) { return isoc_ct_get_info(ct, &s->info); }
static inline isoc_status call_get_angular_weights(isoc_ct *ct, scan *s) {
    return isoc_ct_get_angular_weights(ct, s->weights, VIEWS, NULL);
}
static inline isoc_status call_set_angular_weights(isoc_ct *ct, scan *s) {
    (void)s;
    return isoc_ct_set_angular_weights(ct, NULL, 0);
}
static inline isoc_status call_memory(isoc_ct *ct, scan *s) { return isoc_ct_memory(ct, &s->bytes); }
static inline isoc_status call_filter(isoc_ct *ct, scan *s) {
    return isoc_ct_filter(ct, &s->t[PROJECTIONS], &s->t[FILTERED]);
}
static inline isoc_status call_backproject(isoc_ct *ct, scan *s) {
    return isoc_ct_backproject(ct, &s->t[PROJECTIONS], &s->t[VOLUME]);
}
static inline isoc_status call_forward(isoc_ct *ct, scan *s) {
    return isoc_ct_forward(ct, &s->t[VOLUME], &s->t[PROJECTIONS]);
}
static inline isoc_status call_adjoint(isoc_ct *ct, scan *s) {
    return isoc_ct_adjoint(ct, &s->t[PROJECTIONS], &s->t[VOLUME]);
}
static inline isoc_status call_reconstruct(isoc_ct *ct, scan *s) {
    return isoc_ct_reconstruct(ct, &s->t[PROJECTIONS], &s->t[VOLUME]);
}
static inline isoc_status call_suggest_regularisation(isoc_ct *ct, scan *s) {
    return isoc_ct_suggest_regularisation(ct, &s->t[PROJECTIONS], &s->suggested, &s->noise);
}
static inline isoc_status call_phantom_volume(isoc_ct *ct, scan *s) {
    return isoc_ct_phantom_volume(ct, s->ellipses, ELLIPSES, &s->t[VOLUME]);
}
static inline isoc_status call_phantom_projections(isoc_ct *ct, scan *s) {
    return isoc_ct_phantom_projections(ct, s->ellipses, ELLIPSES, &s->t[PROJECTIONS]);
}

static const plan_call plan_calls[] = {
    { "set_geometry", call_set_geometry, -1, -1, 0 },
    { "set_options", call_set_options, -1, -1, 0 },
    { "set_output", call_set_output, -1, -1, 0 },
    { "set_iterative", call_set_iterative, -1, -1, 0 },
    { "set_flat_field", call_set_flat_field, FLATS, -1, 1 },
    { "get_info", call_get_info, -1, -1, 1 },
    { "get_angular_weights", call_get_angular_weights, -1, -1, 1 },
    { "set_angular_weights", call_set_angular_weights, -1, -1, 1 },
    { "memory", call_memory, -1, -1, 1 },
    { "filter", call_filter, PROJECTIONS, FILTERED, 1 },
    { "backproject", call_backproject, PROJECTIONS, VOLUME, 1 },
    { "forward", call_forward, VOLUME, PROJECTIONS, 1 },
    { "adjoint", call_adjoint, PROJECTIONS, VOLUME, 1 },
    { "reconstruct", call_reconstruct, PROJECTIONS, VOLUME, 1 },
    { "suggest_regularisation", call_suggest_regularisation, PROJECTIONS, -1, 1 },
    { "phantom_volume", call_phantom_volume, -1, VOLUME, 1 },
    { "phantom_projections", call_phantom_projections, -1, PROJECTIONS, 1 },
};

#endif
