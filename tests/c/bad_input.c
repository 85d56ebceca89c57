/* What happens to bad input: a table of faults, each with the one status that it must give and the words that the
 * message must hold (argument, value, allowed range).
 *
 * Each case starts from a good scan, spoils it, and makes one call. Afterwards every byte within the call's reach is as
 * it was, and the same plan reconstructs the good scan. Run under AddressSanitizer and Valgrind, nothing is leaked.
 */
#include "check.h"

#include <limits.h>

static isoc_context *strict;    /* NaN is an error. */
static isoc_context *lenient;   /* NaN becomes 0 and is counted. */
static isoc_context *tiny;      /* Memory for next to nothing. */
static isoc_context *boundless; /* Any memory that the machine gives; NaN becomes 0. */

static void verdict(const char *name, scan *s, unsigned char *before, isoc_status got, isoc_status expected,
                    const char *const *words) {
    int untouched = same_as(s, before);
    if (check_status(name, got, expected, words)) {
        int works = still_works(s);
        report(name, untouched && works, untouched ? "the plan no longer works" : "memory was written to");
    }
    free_scan(s);
}

/* Context, case, what is spoilt, the call, its status, words of the message. BAD leaves out ISOC_STATUS_ too. */
#define BAD_IN(context, name, spoil, call, status, ...)    \
    do {                                                   \
        const char *const words[] = { __VA_ARGS__, NULL }; \
        current_case = name;                               \
        scan *s = new_scan(context);                       \
        spoil;                                             \
        unsigned char *before = snapshot(s);               \
        verdict(name, s, before, (call), status, words);   \
    } while (0)
#define BAD(name, spoil, call, status, ...) BAD_IN(strict, name, spoil, call, ISOC_STATUS_##status, __VA_ARGS__)
#define NOTHING (void)0

/* The same for input that may look odd, but is good; `result` must hold afterwards. */
#define GOOD_IN(context, name, change, call, result)   \
    do {                                               \
        current_case = name;                           \
        scan *s = new_scan(context);                   \
        change;                                        \
        if (check_status(name, (call), ISOC_STATUS_OK, NULL)) \
            report(name, (result), "wrong result");    \
        free_scan(s);                                  \
    } while (0)
#define GOOD(name, change, call, result) GOOD_IN(strict, name, change, call, result)

/* Gives the plan what the scan says now. */
static void use_geometry(scan *s) {
    check_ok("isoc_ct_set_geometry", isoc_ct_set_geometry(s->ct, &s->geometry));
    s->afterwards = SET_UP_ANEW;
}

static void use_options(scan *s) {
    check_ok("isoc_ct_set_options", isoc_ct_set_options(s->ct, &s->options));
    s->afterwards = SET_UP_ANEW;
}

static void use_input(scan *s, isoc_ct_input input) {
    s->options.input = (uint32_t)input;
    use_options(s);
}

static void use_flat_field(scan *s) {
    check_ok("isoc_ct_set_flat_field", isoc_ct_set_flat_field(s->ct, &s->t[FLATS], &s->t[DARKS], NULL));
    s->afterwards = SET_UP_ANEW;
}

static isoc_context *new_context(uint32_t nan_policy, uint64_t memory_cap) {
    isoc_context *ctx = NULL;
    isoc_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options, options.threads = 2;
    options.nan_policy = nan_policy, options.memory_cap = options.gpu_memory_cap = memory_cap;
    check_ok("isoc_context_create", isoc_context_create(&options, &ctx));
    return ctx;
}

/* --- versions and statuses --- */

static void statuses(void) {
    expect("the library's ABI is the header's", isoc_abi_version() == ISOC_ABI_VERSION);
    expect("no error yet, no message", isoc_last_error() && !*isoc_last_error());
    expect("version", isoc_version() && *isoc_version());
    expect("build info names the version", strstr(isoc_build_info(), isoc_version()) != NULL);
    for (int32_t k = ISOC_STATUS_OK; k <= ISOC_STATUS_CALLBACK; k++) {
        int good = strlen(isoc_status_string(k)) > 3 && strcmp(isoc_status_string(k), "unknown status") != 0;
        for (int32_t other = 0; other < k; other++)
            good &= strcmp(isoc_status_string(k), isoc_status_string(other)) != 0;
        expect("each status has a phrase of its own", good);
    }
    const int32_t unknown[] = { -1, ISOC_STATUS_CALLBACK + 1, INT32_MIN, INT32_MAX };
    for (size_t k = 0; k < COUNT_OF(unknown); k++)
        expect("an unknown status says so", strcmp(isoc_status_string(unknown[k]), "unknown status") == 0);
}

/* --- contexts --- */

#define CONTEXT(name, field, value, status, ...)                                       \
    do {                                                                               \
        isoc_context_options options;                                                  \
        memset(&options, 0, sizeof options);                                           \
        options.struct_size = sizeof options, options.threads = 1;                     \
        BAD(name, options.field = (value), isoc_context_create(&options, &s->new_ctx), \
            status, #field, __VA_ARGS__);                                              \
    } while (0)

static void contexts(void) {
    char size[32];
    snprintf(size, sizeof size, "%zu", sizeof(isoc_context_options));
    CONTEXT("context: struct_size 0", struct_size, 0, STRUCT_SIZE, "isoc_context_options", "is 0", size);
    CONTEXT("context: struct_size small", struct_size, sizeof options - 8, STRUCT_SIZE, size);
    CONTEXT("context: struct_size large", struct_size, sizeof options + 8, STRUCT_SIZE, size);
    CONTEXT("context: struct_size huge", struct_size, UINT32_MAX, STRUCT_SIZE, "4294967295", size);
    CONTEXT("context: device", device, 3, UNKNOWN_VALUE, "is 3", "0 (auto)", "1 (cpu)", "2 (gpu)");
    CONTEXT("context: gpu_count without gpus", gpu_count, 1, OUT_OF_RANGE, "is 0", "2 (gpu)");
    CONTEXT("context: device", device, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    CONTEXT("context: NaN policy", nan_policy, 2, UNKNOWN_VALUE, "is 2", "0 (error)", "1 (replace)");
    CONTEXT("context: NaN policy", nan_policy, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    CONTEXT("context: threads", threads, 4097, OUT_OF_RANGE, "is 4097", "at most 4096");
    CONTEXT("context: threads", threads, UINT32_MAX, OUT_OF_RANGE, "4294967295", "at most 4096");
    BAD("context: out NULL", NOTHING, isoc_context_create(NULL, NULL), NULL_POINTER, "out", "NULL");

#ifdef __aarch64__
#define OTHER_LEVELS "neon"
#else
#define OTHER_LEVELS "avx2, avx512"
#endif
    const char *level = getenv("ISOC_CPU_LEVEL");
    char saved[32] = "";
    snprintf(saved, sizeof saved, "%s", level ? level : "");
    set_variable("ISOC_CPU_LEVEL", "mmx");
    BAD("context: ISOC_CPU_LEVEL", NOTHING, isoc_context_create(NULL, &s->new_ctx), UNKNOWN_VALUE,
        "ISOC_CPU_LEVEL", "mmx", "must be one of baseline, " OTHER_LEVELS);
    set_variable("ISOC_CPU_LEVEL", level ? saved : NULL);
}

/* --- handles --- */

static void handles(void) {
    isoc_context *gone_ctx = new_context(ISOC_NAN_POLICY_ERROR, 0);
    isoc_ct *gone = NULL;
    check_ok("isoc_ct_create", isoc_ct_create(gone_ctx, &gone));
    check_ok("isoc_ct_destroy", isoc_ct_destroy(gone));
    check_ok("isoc_context_destroy", isoc_context_destroy(gone_ctx));
    check_ok("destroying no plan", isoc_ct_destroy(NULL));
    check_ok("destroying no context", isoc_context_destroy(NULL));

    static uint64_t bytes[64];
    scan *other = new_scan(strict);
    const struct {
        const char *name;
        void *handle;
        isoc_status status;
        const char *word;
    } wrong[] = {
        { "NULL", NULL, ISOC_STATUS_NULL_POINTER, "NULL" },
        { "destroyed", gone, ISOC_STATUS_INVALID_HANDLE, "not a live isoc_ct handle" },
        { "of a context", strict, ISOC_STATUS_INVALID_HANDLE, "not a live isoc_ct handle" },
        { "of a destroyed context", gone_ctx, ISOC_STATUS_INVALID_HANDLE, "not a live isoc_ct handle" },
        { "of other memory", bytes, ISOC_STATUS_INVALID_HANDLE, "not a live isoc_ct handle" },
        { "of a function", (void *)(uintptr_t)&isoc_version, ISOC_STATUS_INVALID_HANDLE, "not a live isoc_ct handle" },
        { "of page 0", (void *)(uintptr_t)1, ISOC_STATUS_INVALID_HANDLE, "0x1" },
        { "of the last address", (void *)UINTPTR_MAX, ISOC_STATUS_INVALID_HANDLE, "not a live isoc_ct handle" },
        { "off by one", (char *)other->ct + 1, ISOC_STATUS_INVALID_HANDLE, "not a live isoc_ct handle" },
    };
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        isoc_ct *ct = (isoc_ct *)wrong[w].handle;
        char name[64];
        for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
            snprintf(name, sizeof name, "%s: plan handle %s", plan_calls[k].name, wrong[w].name);
            BAD_IN(strict, name, NOTHING, plan_calls[k].call(ct, s), wrong[w].status, "isoc_ct", wrong[w].word);
        }
        if (!ct)
            continue;
        snprintf(name, sizeof name, "ct_destroy: plan handle %s", wrong[w].name);
        BAD_IN(strict, name, NOTHING, isoc_ct_destroy(ct), wrong[w].status, wrong[w].word);
    }
    free_scan(other);

    void *not_contexts[] = { gone_ctx, gone, bytes, (void *)(uintptr_t)1, (char *)strict + 1 };
    for (size_t k = 0; k < COUNT_OF(not_contexts); k++) {
        isoc_context *ctx = (isoc_context *)not_contexts[k];
        BAD("context_destroy: wrong handle", NOTHING, isoc_context_destroy(ctx), INVALID_HANDLE,
            "not a live isoc_context handle");
        BAD("ct_create: wrong context", NOTHING, isoc_ct_create(ctx, &s->new_ct), INVALID_HANDLE,
            "not a live isoc_context handle");
    }
    BAD("context_destroy: a plan", NOTHING, isoc_context_destroy((isoc_context *)s->ct), INVALID_HANDLE,
        "not a live isoc_context handle");
    BAD("ct_create: a plan as context", NOTHING, isoc_ct_create((isoc_context *)s->ct, &s->new_ct),
        INVALID_HANDLE, "not a live isoc_context handle");
    BAD("ct_create: context NULL", NOTHING, isoc_ct_create(NULL, &s->new_ct), NULL_POINTER, "isoc_context");
    BAD("ct_create: out NULL", NOTHING, isoc_ct_create(strict, NULL), NULL_POINTER, "out");
}

static void too_early(void) {
    for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
        if (!plan_calls[k].needs_geometry)
            continue;
        const char *const words[] = { "isoc_ct_set_geometry comes first", NULL };
        char name[64];
        snprintf(name, sizeof name, "%s: before set_geometry", plan_calls[k].name);
        current_case = name;
        scan *s = unset_scan(strict);
        unsigned char *before = snapshot(s);
        verdict(name, s, before, plan_calls[k].call(s->ct, s), ISOC_STATUS_NOT_CONFIGURED, words);
    }
}

/* --- geometry --- */

#define SET_GEOMETRY isoc_ct_set_geometry(s->ct, &s->geometry)
/* A field of the geometry, its bad value, the status, and words besides the field's name. */
#define GEOMETRY(field, value, status, ...) \
    BAD("geometry." #field " = " #value, s->geometry.field = (value), SET_GEOMETRY, status, #field, __VA_ARGS__)

/* The largest side of anything. */
static const int64_t most = 1 << 20;
static const int64_t one_too_many = (1 << 20) + 1;
static const int64_t far_too_many = (int64_t)1 << 40;

/* As many views as can be, so that a product of sizes within their ranges overflows. */
static double many_angles[1 << 20];

static void geometry(void) {
    char size[32];
    snprintf(size, sizeof size, "%zu", sizeof(isoc_ct_geometry));
    BAD("set_geometry: NULL", NOTHING, isoc_ct_set_geometry(s->ct, NULL), NULL_POINTER, "isoc_ct_geometry", "NULL");
    GEOMETRY(struct_size, 0, STRUCT_SIZE, "isoc_ct_geometry", "is 0", size);
    GEOMETRY(struct_size, sizeof s->geometry - 8, STRUCT_SIZE, size);
    GEOMETRY(struct_size, sizeof s->geometry + 8, STRUCT_SIZE, size);
    GEOMETRY(struct_size, UINT32_MAX, STRUCT_SIZE, "4294967295", size);
    GEOMETRY(order, 2, UNKNOWN_VALUE, "is 2", "0 (frames)", "1 (sinograms)");
    GEOMETRY(order, UINT32_MAX, UNKNOWN_VALUE, "4294967295");

    GEOMETRY(views, 0, OUT_OF_RANGE, "is 0", "1");
    GEOMETRY(views, -1, OUT_OF_RANGE, "is -1", "1");
    GEOMETRY(views, INT64_MIN, OUT_OF_RANGE, "-9223372036854775808");
    GEOMETRY(bins, 0, OUT_OF_RANGE, "is 0", "1");
    GEOMETRY(bins, -32, OUT_OF_RANGE, "is -32", "1");
    GEOMETRY(rows, -1, OUT_OF_RANGE, "is -1");
    GEOMETRY(nx, -1, OUT_OF_RANGE, "is -1");
    GEOMETRY(ny, INT64_MIN, OUT_OF_RANGE, "-9223372036854775808");
    GEOMETRY(slices, -1, OUT_OF_RANGE, "is -1");
    GEOMETRY(slices, ROWS + 1, OUT_OF_RANGE, "slices (3)", "at most rows (2)");
    GEOMETRY(first_row, -1, OUT_OF_RANGE, "is -1", "0");
    GEOMETRY(first_row, ROWS, OUT_OF_RANGE, "2");
    GEOMETRY(first_row, INT64_MAX, OUT_OF_RANGE, "9223372036854775807");
    BAD("geometry: first_row + slices", (s->geometry.first_row = 1, s->geometry.slices = 2), SET_GEOMETRY,
        OUT_OF_RANGE, "first_row (1)", "slices (2)", "at most rows (2)");

    /* Sizes that no array can have: none of the caller's memory is read by them. */
    GEOMETRY(views, one_too_many, OUT_OF_RANGE, "1048577", "1 to 1048576");
    GEOMETRY(views, far_too_many, OUT_OF_RANGE, "1099511627776", "1 to 1048576");
    GEOMETRY(views, INT64_MAX, OUT_OF_RANGE, "9223372036854775807", "1 to 1048576");
    GEOMETRY(bins, one_too_many, OUT_OF_RANGE, "1048577", "1 to 1048576");
    GEOMETRY(bins, INT64_MAX, OUT_OF_RANGE, "9223372036854775807", "1 to 1048576");
    GEOMETRY(rows, INT64_MAX, OUT_OF_RANGE, "9223372036854775807", "1048576");
    GEOMETRY(nx, INT64_MAX, OUT_OF_RANGE, "9223372036854775807", "1048576");
    GEOMETRY(ny, one_too_many, OUT_OF_RANGE, "1048577", "1048576");
    GEOMETRY(slices, INT64_MAX, OUT_OF_RANGE, "9223372036854775807");
    BAD("geometry: the volume's size overflows",
        (s->geometry.rows = s->geometry.nx = s->geometry.ny = most), SET_GEOMETRY,
        SIZE_OVERFLOW, "1048576, 1048576, 1048576", "address space");
    BAD("geometry: the projections' size overflows",
        (s->geometry.views = s->geometry.rows = s->geometry.bins = most, s->geometry.angles = many_angles,
         s->geometry.nx = s->geometry.ny = s->geometry.slices = 1),
        SET_GEOMETRY, SIZE_OVERFLOW, "1048576, 1048576, 1048576", "address space");

    GEOMETRY(angles, NULL, NULL_POINTER, "NULL");
    GEOMETRY(angles, (const double *)((const char *)s->angles + 1), TENSOR_STRIDES, "aligned", "8");
    BAD("geometry: an angle is NaN", s->angles[7] = NAN, SET_GEOMETRY, NOT_FINITE_PARAMETER, "angles[7]", "NaN",
        "finite");
    BAD("geometry: an angle is Inf", s->angles[0] = INFINITY, SET_GEOMETRY, NOT_FINITE_PARAMETER, "angles[0]", "inf");
    BAD("geometry: an angle is -Inf", s->angles[23] = -INFINITY, SET_GEOMETRY, NOT_FINITE_PARAMETER, "angles[23]",
        "-inf");
    BAD("geometry: an angle is 1e7", s->angles[3] = 1e7, SET_GEOMETRY, OUT_OF_RANGE, "angles[3]", "10000000", "1e6");

    GEOMETRY(axis, NULL, NULL_POINTER, "NULL", "axis_count 1");
    GEOMETRY(axis_count, -1, OUT_OF_RANGE, "is -1");
    GEOMETRY(axis_count, 2, OUT_OF_RANGE, "is 2", "1 or views (24)");
    GEOMETRY(axis_count, INT64_MAX, OUT_OF_RANGE, "9223372036854775807");
    BAD("geometry: the axis is NaN", s->axis[0] = NAN, SET_GEOMETRY, NOT_FINITE_PARAMETER, "axis[0]", "NaN");
    BAD("geometry: one view's axis is Inf", (s->axis[3] = INFINITY, s->geometry.axis_count = VIEWS), SET_GEOMETRY,
        NOT_FINITE_PARAMETER, "axis[3]", "inf");
    BAD("geometry: the axis is 1e9", s->axis[0] = 1e9, SET_GEOMETRY, OUT_OF_RANGE, "axis[0]", "1000000000",
        "within 100000000");

    GEOMETRY(bin_pitch, NAN, NOT_FINITE_PARAMETER, "NaN");
    GEOMETRY(bin_pitch, INFINITY, NOT_FINITE_PARAMETER, "inf");
    GEOMETRY(bin_pitch, -1.0, OUT_OF_RANGE, "is -1", "1e-15 to 1e15");
    GEOMETRY(bin_pitch, DBL_MIN, OUT_OF_RANGE, "1e-15 to 1e15");
    GEOMETRY(bin_pitch, DBL_MAX, OUT_OF_RANGE, "1e-15 to 1e15");
    GEOMETRY(pixel_size, NAN, NOT_FINITE_PARAMETER, "NaN");
    GEOMETRY(pixel_size, -INFINITY, NOT_FINITE_PARAMETER, "-inf");
    GEOMETRY(pixel_size, -0.5, OUT_OF_RANGE, "is -0.5", "1e-15 to 1e15");
    GEOMETRY(pixel_size, 1025.0, OUT_OF_RANGE, "is 1025", "1/1024 to 1024");
    GEOMETRY(pixel_size, 1e-4, OUT_OF_RANGE, "is 0.0001", "1/1024 to 1024");
    GEOMETRY(x_offset, NAN, NOT_FINITE_PARAMETER, "NaN");
    GEOMETRY(x_offset, 1e9, OUT_OF_RANGE, "is 1000000000", "within 100000000");
    GEOMETRY(y_offset, -INFINITY, NOT_FINITE_PARAMETER, "-inf");
    GEOMETRY(y_offset, -1e9, OUT_OF_RANGE, "is -1000000000", "within 100000000");
}

/* A region that must be refused: the geometry stays as it is. */
#define REGION(name, change, c0, c1, r0, r1, status, ...) \
    BAD("region: " name, change, isoc_ct_region(&s->geometry, c0, c1, r0, r1), status, __VA_ARGS__)

static void regions(void) {
    char size[32];
    snprintf(size, sizeof size, "%zu", sizeof(isoc_ct_geometry));
    BAD("region: NULL", NOTHING, isoc_ct_region(NULL, 0, 1, 0, 1), NULL_POINTER, "isoc_ct_geometry", "NULL");
    REGION("struct_size 0", s->geometry.struct_size = 0, 0, 1, 0, 1, STRUCT_SIZE, "is 0", size);
    REGION("struct_size large", s->geometry.struct_size += 8, 0, 1, 0, 1, STRUCT_SIZE, size);
    REGION("a column before the first", NOTHING, -1, 5, 0, 5, OUT_OF_RANGE, "column_begin is -1", "0 to 28");
    REGION("a column after the last", NOTHING, 0, NX + 1, 0, 5, OUT_OF_RANGE, "column_end is 29", "0 to 28");
    REGION("a row before the first", NOTHING, 0, 5, INT64_MIN, 5, OUT_OF_RANGE, "row_begin is -9223372036854775808", "0 to 20");
    REGION("a row after the last", NOTHING, 0, 5, 0, INT64_MAX, OUT_OF_RANGE, "row_end is 9223372036854775807", "0 to 20");
    REGION("no columns", NOTHING, 5, 5, 0, 5, OUT_OF_RANGE, "column_begin is 5", "column_end 5", "ascend");
    REGION("no rows", NOTHING, 0, 5, 20, 20, OUT_OF_RANGE, "row_begin is 20", "row_end 20", "ascend");
    REGION("columns that descend", NOTHING, 9, 3, 0, 5, OUT_OF_RANGE, "column_begin is 9", "column_end 3", "ascend");
    REGION("rows that descend", NOTHING, 0, 5, 7, 6, OUT_OF_RANGE, "row_begin is 7", "row_end 6", "ascend");
    REGION("no sizes", (s->geometry.nx = s->geometry.bins = 0), 0, 1, 0, 1, OUT_OF_RANGE, "bins is 0", "1 to 1048576");
    REGION("too many columns", s->geometry.nx = one_too_many, 0, 1, 0, 1, OUT_OF_RANGE, "nx is 1048577", "1 to 1048576");
    REGION("rows below 0", s->geometry.ny = -1, 0, 1, 0, 1, OUT_OF_RANGE, "ny is -1", "1 to 1048576");
    BAD("region: an offset that is NaN is found where it counts",
        (s->geometry.x_offset = NAN, check_ok("isoc_ct_region", isoc_ct_region(&s->geometry, 0, 5, 0, 5))), SET_GEOMETRY,
        NOT_FINITE_PARAMETER, "x_offset", "NaN");
}

static int finite_values(const float *values, size_t count) {
    for (size_t k = 0; k < count; k++)
        if (!(fabs((double)values[k]) <= FLT_MAX))
            return 0;
    return 1;
}

/* Every operator takes it, and gives numbers. */
#define EVERY_OPERATOR(what, change)                                                                      \
    for (const plan_call *op = plan_calls; op < plan_calls + COUNT_OF(plan_calls); op++) {                \
        char title[96];                                                                                   \
        snprintf(title, sizeof title, "%s: %s", op->name, what);                                          \
        if (op->out >= 0)                                                                                 \
            GOOD(title, (change, memset(s->volume, 0, VOLUME_SIZE * sizeof(float)), use_geometry(s)),     \
                 op->call(s->ct, s),                                                                      \
                 finite_values(s->projections, PROJECTION_SIZE) && finite_values(s->volume, VOLUME_SIZE)); \
    }

/* What lies just within the limits is good. */
static void limits(void) {
    EVERY_OPERATOR("the axis at its limit", s->axis[0] = 1e8);
    EVERY_OPERATOR("offsets at their limits", (s->geometry.x_offset = 1e8, s->geometry.y_offset = -1e8));
    EVERY_OPERATOR("an angle at its limit", s->angles[5] = -1e6);
    EVERY_OPERATOR("pixels of 1024 bins", (s->geometry.pixel_size = 1024.0, s->geometry.nx = 3, s->geometry.ny = 2,
                                           set_shape(s, VOLUME, SLICES, 2, 3)));
    EVERY_OPERATOR("1024 pixels a bin", s->geometry.pixel_size = 1.0 / 1024.0);
    EVERY_OPERATOR("the largest bin pitch", s->geometry.bin_pitch = 1e15);
    EVERY_OPERATOR("the smallest bin pitch", s->geometry.bin_pitch = 1e-15);
    EVERY_OPERATOR("one bin, one pixel",
                   (s->geometry.bins = s->geometry.nx = s->geometry.ny = 1, set_shape(s, PROJECTIONS, VIEWS, ROWS, 1),
                    set_shape(s, FILTERED, VIEWS, ROWS, 1), set_shape(s, VOLUME, SLICES, 1, 1)));
    EVERY_OPERATOR("ellipses too small to see",
                   s->ellipses[0].semi_x = s->ellipses[0].semi_y = s->ellipses[1].semi_x = DBL_MIN);
}

/* --- options --- */

#define SET_OPTIONS isoc_ct_set_options(s->ct, &s->options)
#define OPTIONS(field, value, status, ...) \
    BAD("options." #field " = " #value, s->options.field = (value), SET_OPTIONS, status, #field, __VA_ARGS__)
#define BUTTERWORTH(field, value, status, ...)                                                                  \
    BAD("options." #field " = " #value " (Butterworth)",                                                        \
        (s->options.filter = ISOC_CT_FILTER_BUTTERWORTH, s->options.field = (value)), SET_OPTIONS, status, #field, \
        __VA_ARGS__)
#define CUSTOM(field, value, status, ...)                                                              \
    BAD("options." #field " = " #value " (custom)", (custom(s), s->options.field = (value)), SET_OPTIONS, \
        status, #field, __VA_ARGS__)

static void custom(scan *s) {
    s->options.filter = ISOC_CT_FILTER_CUSTOM;
    s->options.response = s->response;
    s->options.response_count = COUNT_OF(s->response);
}

#define BAND_LIMITED(field, value, status, ...)                                                                  \
    BAD("options." #field " = " #value " (band-limited)", (band_limited(s), s->options.field = (value)), SET_OPTIONS, \
        status, #field, __VA_ARGS__)

static void band_limited(scan *s) {
    s->options.interpolation = ISOC_CT_INTERPOLATION_BAND_LIMITED;
}

static void options(void) {
    char size[32];
    snprintf(size, sizeof size, "%zu", sizeof(isoc_ct_options));
    OPTIONS(struct_size, 0, STRUCT_SIZE, "isoc_ct_options", "is 0", size);
    OPTIONS(struct_size, sizeof s->options - 8, STRUCT_SIZE, size);
    OPTIONS(struct_size, sizeof s->options + 8, STRUCT_SIZE, size);
    OPTIONS(struct_size, UINT32_MAX, STRUCT_SIZE, "4294967295", size);
    OPTIONS(filter, ISOC_CT_FILTER_CUSTOM + 1, UNKNOWN_VALUE, "is 9", "0 to 8");
    OPTIONS(filter, UINT32_MAX, UNKNOWN_VALUE, "4294967295", "0 to 8");
    OPTIONS(interpolation, 4, UNKNOWN_VALUE, "is 4", "0 to 3");
    OPTIONS(interpolation, UINT32_MAX, UNKNOWN_VALUE, "4294967295", "0 to 3");
    OPTIONS(projector, 2, UNKNOWN_VALUE, "is 2", "0 or 1");
    OPTIONS(projector, UINT32_MAX, UNKNOWN_VALUE, "4294967295", "0 or 1");
    OPTIONS(padding, 2, UNKNOWN_VALUE, "is 2", "0 or 1");
    OPTIONS(padding, UINT32_MAX, UNKNOWN_VALUE, "4294967295", "0 or 1");
    OPTIONS(input, 4, UNKNOWN_VALUE, "is 4", "0 to 3");
    OPTIONS(input, UINT32_MAX, UNKNOWN_VALUE, "is 4294967295", "0 to 3");
    OPTIONS(kernel, 99, UNKNOWN_VALUE, "is 99", "isoc_ct_kernel");
    OPTIONS(precision, 2, UNKNOWN_VALUE, "is 2", "isoc_ct_precision");

    OPTIONS(cutoff, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    OPTIONS(cutoff, INFINITY, NOT_FINITE_PARAMETER, "inf", "finite");
    OPTIONS(cutoff, -0.1, OUT_OF_RANGE, "is -0.1", "above 0", "at most 1");
    OPTIONS(cutoff, 1.5, OUT_OF_RANGE, "is 1.5", "above 0", "at most 1");
    BUTTERWORTH(cutoff, NAN, NOT_FINITE_PARAMETER, "NaN");
    BUTTERWORTH(butterworth_order, NAN, NOT_FINITE_PARAMETER, "NaN");
    BUTTERWORTH(butterworth_order, -INFINITY, NOT_FINITE_PARAMETER, "-inf");
    BUTTERWORTH(butterworth_order, -1.0, OUT_OF_RANGE, "is -1", "0.5 to 64");
    BUTTERWORTH(butterworth_order, 0.25, OUT_OF_RANGE, "is 0.25", "0.5 to 64");
    BUTTERWORTH(butterworth_order, 65.0, OUT_OF_RANGE, "is 65", "0.5 to 64");
    /* A NaN is a mistake in a field that the filter at hand does not use, too. */
    OPTIONS(butterworth_order, NAN, NOT_FINITE_PARAMETER, "NaN");
    CUSTOM(cutoff, NAN, NOT_FINITE_PARAMETER, "NaN");

    CUSTOM(response, NULL, NULL_POINTER, "NULL");
    CUSTOM(response_count, 0, OUT_OF_RANGE, "is 0", "2");
    CUSTOM(response_count, 1, OUT_OF_RANGE, "is 1", "2");
    CUSTOM(response_count, -4, OUT_OF_RANGE, "is -4", "2");
    CUSTOM(response_count, far_too_many, OUT_OF_RANGE, "1099511627776", "1048576");
    CUSTOM(response_count, INT64_MAX, OUT_OF_RANGE, "9223372036854775807", "1048576");
    BAD("options: the response is NaN", (custom(s), s->response[2] = NAN), SET_OPTIONS,
        NOT_FINITE_PARAMETER, "response[2]", "NaN");
    BAD("options: the response is Inf", (custom(s), s->response[0] = -INFINITY), SET_OPTIONS,
        NOT_FINITE_PARAMETER, "response[0]", "-inf");

    OPTIONS(minimum_transmission, NAN, NOT_FINITE_PARAMETER, "NaN");
    OPTIONS(minimum_transmission, INFINITY, NOT_FINITE_PARAMETER, "inf");
    OPTIONS(minimum_transmission, -1e-6, OUT_OF_RANGE, "is -0.000001", "above", "below 1");
    OPTIONS(minimum_transmission, 1.0, OUT_OF_RANGE, "is 1", "above", "below 1");

    /* Checked whatever the interpolation. */
    OPTIONS(tolerance, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    OPTIONS(tolerance, -INFINITY, NOT_FINITE_PARAMETER, "-inf", "finite");
    OPTIONS(tolerance, -1e-4, OUT_OF_RANGE, "is -0.0001", "1e-6 to 0.01");
    OPTIONS(tolerance, 1e-7, OUT_OF_RANGE, "is 1e-7", "1e-6 to 0.01");
    OPTIONS(tolerance, 0.1, OUT_OF_RANGE, "is 0.1", "1e-6 to 0.01");
    OPTIONS(tolerance, DBL_MIN, OUT_OF_RANGE, "1e-6 to 0.01");
    BAND_LIMITED(tolerance, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    BAND_LIMITED(tolerance, 1e-7, OUT_OF_RANGE, "is 1e-7", "1e-6 to 0.01");
    BAND_LIMITED(tolerance, 0.1, OUT_OF_RANGE, "is 0.1", "1e-6 to 0.01");
    BAND_LIMITED(kernel, ISOC_CT_KERNEL_TEXTURE_STANDARD, OUT_OF_RANGE, "1 (texture_standard)", "0 (auto)", "3 (band_limited)");
    BAND_LIMITED(kernel, ISOC_CT_KERNEL_TENSOR, OUT_OF_RANGE, "5 (tensor)", "0 (auto)", "3 (band_limited)");
    GOOD("set_options: band-limited, its largest tolerance", (band_limited(s), s->options.tolerance = 1e-2), SET_OPTIONS,
         (use_options(s), still_works(s)));

    GOOD("set_options: NULL sets the defaults", s->options.filter = ISOC_CT_FILTER_NONE; use_options(s),
         isoc_ct_set_options(s->ct, NULL), (s->afterwards = AS_IT_IS, still_works(s)));
}

/* --- stripes --- */

#define SET_STRIPES isoc_ct_set_stripes(s->ct, &s->stripes)
#define STRIPES(field, value, status, ...)                                                                                \
    BAD("stripes." #field " = " #value, (vo(s), s->stripes.field = (value)), SET_STRIPES, status, #field, __VA_ARGS__)

/* With windows that fit the detector. */
static void vo(scan *s) {
    memset(&s->stripes, 0, sizeof s->stripes);
    s->stripes.struct_size = sizeof s->stripes, s->stripes.method = ISOC_CT_STRIPE_METHOD_VO;
    s->stripes.large_window = BINS, s->stripes.small_window = 5;
}

static void stripes(void) {
    STRIPES(struct_size, 0, STRUCT_SIZE, "0");
    STRIPES(struct_size, 7, STRUCT_SIZE, "7");
    STRIPES(method, 5, UNKNOWN_VALUE, "is 5", "0 to 4");
    STRIPES(method, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    STRIPES(snr, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    STRIPES(snr, INFINITY, NOT_FINITE_PARAMETER, "inf", "finite");
    STRIPES(snr, 1.0, OUT_OF_RANGE, "is 1", "above 1");
    STRIPES(snr, -3.0, OUT_OF_RANGE, "is -3", "above 1");
    STRIPES(large_window, BINS + 1, OUT_OF_RANGE, "33 bins", "has 32");
    STRIPES(large_window, 1, OUT_OF_RANGE, "is 1");
    STRIPES(large_window, INT64_MAX, OUT_OF_RANGE, "9223372036854775807");
    STRIPES(small_window, INT64_MIN, OUT_OF_RANGE, "-9223372036854775808");
    STRIPES(small_window, BINS + 1, OUT_OF_RANGE, "33 bins", "has 32");
    STRIPES(drop_ratio, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    STRIPES(drop_ratio, 0.81, OUT_OF_RANGE, "0.81", "0 to 0.8");
    STRIPES(drop_ratio, -0.1, OUT_OF_RANGE, "-0.1", "0 to 0.8");
    GOOD("set_stripes: the usual windows are no longer than the detector", (vo(s), s->stripes.large_window = 0), SET_STRIPES,
         isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]) == ISOC_STATUS_OK);
    STRIPES(alpha, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    STRIPES(alpha, -1.0, OUT_OF_RANGE, "is -1", "1e-9 to 1e6");
    STRIPES(alpha, 1e7, OUT_OF_RANGE, "1e-9 to 1e6");
    STRIPES(sigma, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    STRIPES(sigma, -1.0, OUT_OF_RANGE, "is -1", "0.01 to 100");
    STRIPES(sigma, 101.0, OUT_OF_RANGE, "is 101", "0.01 to 100");
    STRIPES(levels, -1, OUT_OF_RANGE, "is -1");
    STRIPES(levels, 17, OUT_OF_RANGE, "is 17");
    STRIPES(levels, INT64_MAX, OUT_OF_RANGE, "9223372036854775807");
    STRIPES(wavelet, 21, OUT_OF_RANGE, "is 21", "1 to 20");
    STRIPES(wavelet, INT64_MIN, OUT_OF_RANGE, "-9223372036854775808", "1 to 20");
    BAD("set_stripes: more levels than the sinogram has",
        (vo(s), s->stripes.method = ISOC_CT_STRIPE_METHOD_WAVELET_FOURIER, s->stripes.levels = 16), SET_STRIPES, OUT_OF_RANGE, "levels",
        "is 16", "32 bins");
    BAD("set_stripes: checked whatever the method", (vo(s), s->stripes.method = 0, s->stripes.snr = NAN), SET_STRIPES,
        NOT_FINITE_PARAMETER, "snr", "NaN");
    GOOD("set_stripes: NULL leaves them", (vo(s), check_ok("isoc_ct_set_stripes", SET_STRIPES)), isoc_ct_set_stripes(s->ct, NULL),
         still_works(s));
    for (uint32_t method = 0; method < 5; method++)
        GOOD("set_stripes: every method", (vo(s), s->stripes.method = method), SET_STRIPES,
             isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]) == ISOC_STATUS_OK &&
                 near(s->volume, s->volume, VOLUME_SIZE, 0.0));
}

/* --- half acquisition --- */

#define SET_HALF isoc_ct_set_half_acquisition(s->ct, &s->half)
#define HALF(field, value, status, ...)                                                                                  \
    BAD("half_acquisition." #field " = " #value, (half(s), s->half.field = (value)), SET_HALF, status, #field, __VA_ARGS__)

/* A full turn about bin 9. */
static void half(scan *s) {
    for (int k = 0; k < VIEWS; k++)
        s->angles[k] = 2 * 3.14159265358979 * k / VIEWS, s->axis[k] = 9.0;
    s->geometry.axis = s->axis, s->geometry.axis_count = VIEWS;
    use_geometry(s);
    memset(&s->half, 0, sizeof s->half);
    s->half.struct_size = sizeof s->half;
}

static void half_acquisition(void) {
    HALF(struct_size, 0, STRUCT_SIZE, "0");
    HALF(struct_size, 17, STRUCT_SIZE, "17");
    HALF(rise, 2, UNKNOWN_VALUE, "is 2", "0 (smooth)", "1 (linear)");
    HALF(rise, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    HALF(overlap, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    HALF(overlap, -INFINITY, NOT_FINITE_PARAMETER, "-inf", "finite");
    HALF(overlap, -2.0, OUT_OF_RANGE, "is -2", "1 to 1048576");
    HALF(overlap, 0.25, OUT_OF_RANGE, "is 0.25", "1 to 1048576");
    HALF(overlap, 1e300, OUT_OF_RANGE, "1 to 1048576");
    HALF(overlap, 20.5, OUT_OF_RANGE, "is 20.5", "at most 20", "9.00 bins", "0 to 31");
    BAD("half_acquisition: an axis far beside the detector", (half(s), s->axis[5] = -8.5, use_geometry(s)), SET_HALF,
        OUT_OF_RANGE, "geometry.axis is -8.5", "0 to 31", "8 bins");
    BAD("half_acquisition: half a turn", half(s);
        for (int k = 0; k < VIEWS; k++) s->angles[k] /= 2; use_geometry(s), SET_HALF, OUT_OF_RANGE, "geometry.angles",
        "full turn");
    BAD("half_acquisition: an overlap that another geometry does not have",
        (half(s), s->half.overlap = 20.0, check_ok("isoc_ct_set_half_acquisition", SET_HALF), s->axis[3] = 8.0, use_geometry(s)),
        isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]), OUT_OF_RANGE, "overlap is 20", "at most 18");
    GOOD("half_acquisition: NULL turns it off", (half(s), check_ok("isoc_ct_set_half_acquisition", SET_HALF)),
         isoc_ct_set_half_acquisition(s->ct, NULL),
         (s->info.struct_size = sizeof s->info, isoc_ct_get_info(s->ct, &s->info) == ISOC_STATUS_OK) &&
             s->info.computed_bins == BINS && s->info.overlap == 0.0);
    for (uint32_t rise = 0; rise < 2; rise++)
        GOOD("half_acquisition: both rises", (half(s), s->half.rise = rise), SET_HALF,
             isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]) == ISOC_STATUS_OK &&
                 near(s->volume, s->volume, VOLUME_SIZE, 0.0) &&
                 (s->info.struct_size = sizeof s->info, isoc_ct_get_info(s->ct, &s->info) == ISOC_STATUS_OK) &&
                 s->info.computed_bins == BINS + 13 && s->info.overlap == 20.0);
}

/* --- iterations --- */

#define ITERATIVE(field, value, status, ...)                                                                              \
    BAD("iterative." #field " = " #value, s->iterative.field = (value), call_set_iterative(s->ct, s), status, #field, __VA_ARGS__)
/* What only `reconstruct` knows to be wrong: two fields, or one twice. */
#define ITERATES(algorithm, first, second, ...)                                                                           \
    BAD("reconstruct: " #algorithm ", " #first ", " #second,                                                              \
        (s->iterative.first, s->iterative.second, iterate(s, ISOC_CT_ALGORITHM_##algorithm)), call_reconstruct(s->ct, s), \
        OUT_OF_RANGE, __VA_ARGS__)

static void iterate(scan *s, uint32_t algorithm) {
    s->options.algorithm = algorithm;
    check_ok("isoc_ct_set_iterative", isoc_ct_set_iterative(s->ct, &s->iterative));
    use_options(s);
}

static int ran(scan *s, int64_t iterations) {
    isoc_ct_iteration found[3];
    int64_t count = -1;
    return isoc_ct_history(s->ct, NULL, 0, &count) == ISOC_STATUS_OK && count == iterations &&
        isoc_ct_history(s->ct, found, 3, &count) == ISOC_STATUS_OK && count == iterations && found[0].slices == SLICES;
}

static void iterations(void) {
    ITERATIVE(struct_size, 0, STRUCT_SIZE, "0");
    ITERATIVE(struct_size, sizeof(isoc_ct_iterative) - 8, STRUCT_SIZE, "isoc_ct_iterative");
    ITERATIVE(iterations, 0, OUT_OF_RANGE, "is 0", "1 to 1000000");
    ITERATIVE(iterations, -1, OUT_OF_RANGE, "is -1", "1 to 1000000");
    ITERATIVE(iterations, INT64_MAX, OUT_OF_RANGE, "9223372036854775807");
    ITERATIVE(start, 2, UNKNOWN_VALUE, "is 2", "isoc_ct_start");
    ITERATIVE(start, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    ITERATIVE(subsets, -1, OUT_OF_RANGE, "is -1");
    ITERATIVE(subsets, INT64_MAX, OUT_OF_RANGE, "9223372036854775807");
    ITERATIVE(relaxation, 2.0, OUT_OF_RANGE, "is 2.0", "above 0 and below 2");
    ITERATIVE(relaxation, -0.5, OUT_OF_RANGE, "is -0.5", "above 0 and below 2");
    ITERATIVE(relaxation, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    ITERATIVE(bounds, 3, UNKNOWN_VALUE, "is 3", "isoc_ct_bounds");
    ITERATIVE(normal, 3, UNKNOWN_VALUE, "is 3", "isoc_ct_normal");
    ITERATIVE(fit, 2, UNKNOWN_VALUE, "is 2", "isoc_ct_fit");
    ITERATIVE(variation, 2, UNKNOWN_VALUE, "is 2", "isoc_ct_variation");
    ITERATIVE(weighting, 3, UNKNOWN_VALUE, "is 3", "isoc_ct_weighting");
    BAD("iterative: a box without bounds", s->iterative.bounds = ISOC_CT_BOUNDS_BOX, call_set_iterative(s->ct, s), OUT_OF_RANGE,
        "lower is 0.0 and upper 0.0", "below upper");
    ITERATIVE(lower, 1.0, OUT_OF_RANGE, "lower is 1.0 and upper 0.0", "2 (box)");
    ITERATIVE(upper, 1.0, OUT_OF_RANGE, "lower is 0.0 and upper 1.0", "2 (box)");
    BAD("iterative: bounds that cross", (s->iterative.bounds = ISOC_CT_BOUNDS_BOX, s->iterative.lower = 2.0, s->iterative.upper = 1.0),
        call_set_iterative(s->ct, s), OUT_OF_RANGE, "lower is 2.0 and upper 1.0", "lower must be below upper");
    BAD("iterative: NaN for a bound", (s->iterative.bounds = ISOC_CT_BOUNDS_BOX, s->iterative.upper = NAN), call_set_iterative(s->ct, s),
        NOT_FINITE_PARAMETER, "upper is NaN");
    ITERATIVE(mask_radius, 1.6, OUT_OF_RANGE, "is 1.6", "0 to 1.5");
    ITERATIVE(mask_radius, -0.1, OUT_OF_RANGE, "is -0.1", "0 to 1.5");
    ITERATIVE(regularisation, -1.0, OUT_OF_RANGE, "is -1.0", "it must be 0, or 1e-30 to 1e30");
    ITERATIVE(huber, -1.0, OUT_OF_RANGE, "is -1.0", "it must be 0, or 1e-30 to 1e30");
    ITERATIVE(ring_weight, -1.0, OUT_OF_RANGE, "is -1.0", "it must be 0, or 1e-30 to 1e30");
    ITERATIVE(ring_weight, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    ITERATIVE(huber, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    ITERATIVE(regularisation, INFINITY, NOT_FINITE_PARAMETER, "inf", "finite");
    ITERATIVE(tolerance, 1.0, OUT_OF_RANGE, "is 1.0", "below 1");
    ITERATIVE(tolerance, -1e-3, OUT_OF_RANGE, "0 or more");
    BAD("options.algorithm", s->options.algorithm = 6, call_set_options(s->ct, s), UNKNOWN_VALUE, "options.algorithm is 6", "isoc_ct_algorithm");
    BAD("options: an algorithm with the other pair", (s->options.algorithm = ISOC_CT_ALGORITHM_SIRT, s->options.projector = 1),
        call_set_options(s->ct, s), OUT_OF_RANGE, "options.projector is 1 (band_limited)", "1 (sirt)");

    ITERATES(SIRT, subsets = VIEWS + 1, subsets = VIEWS + 1, "iterative.subsets is 25", "number of views, 24");
    ITERATES(CGLS, subsets = 2, subsets = 2, "iterative.subsets is 2", "2 (cgls)");
    ITERATES(CGLS, bounds = ISOC_CT_BOUNDS_NON_NEGATIVE, upper = 0.0, "iterative.bounds are 0.0 and inf", "2 (cgls)");
    ITERATES(TOTAL_VARIATION, bounds = ISOC_CT_BOUNDS_NON_NEGATIVE, regularisation = 0.0, "iterative.regularisation is 0", "4 (total_variation)");
    ITERATES(TOTAL_VARIATION, regularisation = 1.0, subsets = 2, "iterative.subsets is 2", "4 (total_variation)");
    ITERATES(TOTAL_VARIATION, regularisation = 1.0, relaxation = 0.5, "iterative.relaxation is 0.5", "4 (total_variation)");
    ITERATES(TOTAL_VARIATION, regularisation = 1.0, bounds = ISOC_CT_BOUNDS_NONE, "iterative.bounds have no lower one", "4 (total_variation)");
    ITERATES(CGLS, normal = ISOC_CT_NORMAL_TOEPLITZ, subsets = 1, "options.projector 0 (joseph)", "must be 1 (band_limited)");
    ITERATES(SIRT, normal = ISOC_CT_NORMAL_PAIR, subsets = 1, "iterative.normal is 1 (pair)", "1 (sirt)");
    ITERATES(MLEM, fit = ISOC_CT_FIT_POISSON, subsets = 1, "iterative.fit is 1 (poisson)", "3 (mlem)");
    ITERATES(TOTAL_VARIATION, regularisation = 1.0, fit = ISOC_CT_FIT_POISSON, "iterative.fit is 1 (poisson)", "two bounds");
    ITERATES(SIRT, variation = ISOC_CT_VARIATION_VOLUME, subsets = 1, "iterative.variation is 1 (volume)", "1 (sirt)");
    ITERATES(SIRT, weighting = ISOC_CT_WEIGHTING_TRANSMISSION, subsets = 1, "iterative.weighting is 1 (transmission)", "1 (sirt)");
    ITERATES(TOTAL_VARIATION, regularisation = 1.0, weighting = ISOC_CT_WEIGHTING_TRANSMISSION, "iterative.weighting is 1", "two bounds");
    ITERATES(SIRT, ring_weight = 1.0, subsets = 1, "iterative.ring_weight is 1.0", "1 (sirt)");
    ITERATES(TOTAL_VARIATION, regularisation = 1.0, ring_weight = 1.0, "iterative.ring_weight is 1.0", "two bounds");
    ITERATES(SIRT, huber = 1.0, huber = 1.0, "iterative.huber is 1.0", "1 (sirt)");
    ITERATES(MLEM, relaxation = 0.5, relaxation = 0.5, "iterative.relaxation is 0.5", "3 (mlem)");
    ITERATES(SIRT, regularisation = 2.0, tolerance = 0.0, "iterative.regularisation is 2.0", "1 (sirt)");
    ITERATES(MLEM, tolerance = 0.5, tolerance = 0.5, "iterative.tolerance is 0.5", "3 (mlem)");
    ITERATES(SIRT, mask_radius = 1e-9, mask_radius = 1e-9, "iterative.mask_radius is 1e-9", "no pixel is inside");
    BAD("reconstruct: data below 0 for mlem", (iterate(s, ISOC_CT_ALGORITHM_MLEM), s->projections[3 * FRAME_SIZE + BINS + 4] = -1.0f),
        call_reconstruct(s->ct, s), OUT_OF_RANGE, "view 3, row 1, bin 4 is below 0");
    BAD("reconstruct: a volume to begin with that is to be stored",
        (s->iterative.start = ISOC_CT_START_VOLUME, iterate(s, ISOC_CT_ALGORITHM_SIRT), s->output.mask_radius = 1.0,
         check_ok("isoc_ct_set_output", isoc_ct_set_output(s->ct, &s->output))),
        call_reconstruct(s->ct, s), OUT_OF_RANGE, "iterative.start is 1 (volume)", "isoc_ct_set_output");
    BAD("reconstruct: percentiles of slices that are done together",
        (s->iterative.variation = ISOC_CT_VARIATION_VOLUME, s->iterative.regularisation = 1.0, s->iterative.bounds = ISOC_CT_BOUNDS_NON_NEGATIVE,
         iterate(s, ISOC_CT_ALGORITHM_TOTAL_VARIATION), s->output.histogram_bins = 16,
         check_ok("isoc_ct_set_output", isoc_ct_set_output(s->ct, &s->output))),
        call_reconstruct(s->ct, s), OUT_OF_RANGE, "iterative.variation is 1 (volume)", "percentiles");
    BAD("reconstruct: a volume to begin with that is not finite",
        (s->iterative.start = ISOC_CT_START_VOLUME, iterate(s, ISOC_CT_ALGORITHM_SIRT), s->volume[7] = NAN), call_reconstruct(s->ct, s),
        NOT_FINITE_DATA, "volume[0, 0, 7] is NaN");
    BAD("reconstruct: iterations under half acquisition",
        (half(s), check_ok("isoc_ct_set_half_acquisition", SET_HALF), iterate(s, ISOC_CT_ALGORITHM_SIRT)), call_reconstruct(s->ct, s),
        OUT_OF_RANGE, "half acquisition is set", "1 (sirt)", "isoc_ct_set_half_acquisition with NULL");
    BAD_IN(tiny, "reconstruct: iterations beyond the cap", (iterate(s, ISOC_CT_ALGORITHM_SIRT), s->afterwards = NOT_AT_ALL),
           call_reconstruct(s->ct, s), ISOC_STATUS_MEMORY_CAP, "memory_cap is 1000");

    int64_t count = 0;
    isoc_ct_iteration found[2];
    BAD("history: before a reconstruction", NOTHING, isoc_ct_history(s->ct, NULL, 0, &count), NOT_CONFIGURED, "isoc_ct_set_iterative");
    BAD("history: of filtered back projection", (call_reconstruct(s->ct, s), good_data(s)), isoc_ct_history(s->ct, NULL, 0, &count),
        NOT_CONFIGURED, "no iterative reconstruction");
    BAD("history: no plan", NOTHING, isoc_ct_history(NULL, found, 2, &count), NULL_POINTER, "isoc_ct handle is NULL");
    BAD("history: room for fewer", (iterate(s, ISOC_CT_ALGORITHM_SIRT), call_reconstruct(s->ct, s), good_data(s)),
        isoc_ct_history(s->ct, found, 2, &count), OUT_OF_RANGE, "capacity is 2", "3");

    for (uint32_t algorithm = ISOC_CT_ALGORITHM_SIRT; algorithm <= ISOC_CT_ALGORITHM_MLEM; algorithm++)
        GOOD("reconstruct: every algorithm", iterate(s, algorithm), call_reconstruct(s->ct, s),
             ran(s, 3) && near(s->volume, s->volume, VOLUME_SIZE, 0.0));
    GOOD("reconstruct: total variation",
         (s->iterative.regularisation = 1.0, s->iterative.bounds = ISOC_CT_BOUNDS_NON_NEGATIVE, iterate(s, ISOC_CT_ALGORITHM_TOTAL_VARIATION)),
         call_reconstruct(s->ct, s), ran(s, 1));
    GOOD("reconstruct: subsets of one view, infinite bounds",
         (s->iterative.subsets = VIEWS, s->iterative.bounds = ISOC_CT_BOUNDS_BOX, s->iterative.lower = -INFINITY, s->iterative.upper = INFINITY,
          iterate(s, ISOC_CT_ALGORITHM_SIRT)),
         call_reconstruct(s->ct, s), ran(s, 3));
    GOOD("set_iterative: NULL forgets", (iterate(s, ISOC_CT_ALGORITHM_SIRT), call_reconstruct(s->ct, s)), isoc_ct_set_iterative(s->ct, NULL),
         isoc_ct_history(s->ct, NULL, 0, &count) == ISOC_STATUS_NOT_CONFIGURED && call_reconstruct(s->ct, s) == ISOC_STATUS_OK
             && isoc_ct_history(s->ct, NULL, 0, &count) == ISOC_STATUS_OK && count == 30);
    GOOD_IN(lenient, "reconstruct: data below 0 become 0", (iterate(s, ISOC_CT_ALGORITHM_MLEM), s->projections[7] = -1.0f),
            call_reconstruct(s->ct, s), isoc_ct_get_info(s->ct, &s->info) == ISOC_STATUS_OK && s->info.replaced_values == 1);
}

/* --- outliers --- */

/* Projections as raw counts, in the same buffer. */
static void raw(scan *s, isoc_dtype dtype) {
    unsigned char *small = (unsigned char *)s->projections;
    uint16_t *large = (uint16_t *)s->projections;
    for (int k = 0; k < PROJECTION_SIZE; k++)
        if (dtype.bits == 8)
            small[k] = (unsigned char)(100 + k % 100);
        else
            large[k] = (uint16_t)(200 + k % 500);
    s->t[PROJECTIONS].dtype = dtype;
}

/* Counts of 1000 to 1064 with one that stands out. */
static void flat_counts(scan *s) {
    const isoc_dtype u16 = ISOC_U16;
    uint16_t *counts = (uint16_t *)s->projections;
    for (int k = 0; k < PROJECTION_SIZE; k++)
        counts[k] = (uint16_t)(1000 + 37 * k % 65);
    counts[(7 * ROWS + 1) * BINS + 20] = 2000;
    s->t[PROJECTIONS].dtype = u16;
}

#define SET_OUTLIERS isoc_ct_set_outliers(s->ct, &s->outliers)
#define OUTLIERS(field, value, status, ...) \
    BAD("outliers." #field " = " #value, (zingers(s), s->outliers.field = (value)), SET_OUTLIERS, status, #field, __VA_ARGS__)

static void zingers(scan *s) {
    memset(&s->outliers, 0, sizeof s->outliers);
    s->outliers.struct_size = sizeof s->outliers, s->outliers.threshold = 5.0;
}

static void use_outliers(scan *s) {
    check_ok("isoc_ct_set_outliers", SET_OUTLIERS);
    s->afterwards = SET_UP_ANEW;
}

static void outliers(void) {
    OUTLIERS(struct_size, 0, STRUCT_SIZE, "isoc_ct_outliers", "is 0");
    OUTLIERS(struct_size, sizeof s->outliers - 8, STRUCT_SIZE, "isoc_ct_outliers");
    OUTLIERS(struct_size, sizeof s->outliers + 8, STRUCT_SIZE, "isoc_ct_outliers");
    OUTLIERS(unit, 3, UNKNOWN_VALUE, "is 3", "0 to 2");
    OUTLIERS(unit, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    OUTLIERS(side, 3, UNKNOWN_VALUE, "is 3", "0 to 2");
    OUTLIERS(side, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    OUTLIERS(window, 1, OUT_OF_RANGE, "is 1", "3 or 5");
    OUTLIERS(window, 4, OUT_OF_RANGE, "is 4", "3 or 5");
    OUTLIERS(window, -3, OUT_OF_RANGE, "is -3");
    OUTLIERS(window, INT64_MAX, OUT_OF_RANGE, "9223372036854775807");
    OUTLIERS(depth, 2, OUT_OF_RANGE, "is 2", "1 or 3");
    OUTLIERS(depth, 5, OUT_OF_RANGE, "is 5", "1 or 3");
    OUTLIERS(depth, INT64_MIN, OUT_OF_RANGE, "-9223372036854775808");
    OUTLIERS(threshold, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    OUTLIERS(threshold, -INFINITY, NOT_FINITE_PARAMETER, "-inf", "finite");
    OUTLIERS(threshold, -1.0, OUT_OF_RANGE, "is -1", "1e-6 to 1e9");
    OUTLIERS(threshold, 1e-7, OUT_OF_RANGE, "1e-6 to 1e9");
    OUTLIERS(threshold, 1.1e9, OUT_OF_RANGE, "1e-6 to 1e9");
    BAD("set_outliers: counts have to be said",
        (zingers(s), s->outliers.unit = ISOC_CT_OUTLIER_UNIT_COUNT, s->outliers.threshold = 0.0), SET_OUTLIERS, OUT_OF_RANGE,
        "threshold is 0", "2 (count)");
    GOOD("set_outliers: NULL leaves them", (zingers(s), check_ok("isoc_ct_set_outliers", SET_OUTLIERS)),
         isoc_ct_set_outliers(s->ct, NULL), still_works(s));
    BAD("reconstruct: outliers of line integrals", (zingers(s), use_outliers(s)), call_reconstruct(s->ct, s), FLAT_FIELD,
        "line integrals", "isoc_ct_set_outliers");
    GOOD("backproject: outliers do not matter", (zingers(s), use_outliers(s)), call_backproject(s->ct, s), 1);
    /* 2000 where the largest neighbour is 1064: above its median by more than 40 %, whatever that is. */
    for (uint32_t unit = 0; unit < 3; unit++)
        for (uint32_t side = 0; side < 3; side++)
            for (int64_t size = 0; size < 4; size++)
                GOOD("reconstruct: every kind of outlier",
                     (zingers(s), use_flat_field(s), flat_counts(s), s->outliers.unit = unit, s->outliers.side = side,
                      s->outliers.threshold = unit == ISOC_CT_OUTLIER_UNIT_NOISE ? 0.0 : unit == ISOC_CT_OUTLIER_UNIT_MEDIAN ? 0.4 : 400.0,
                      s->outliers.window = size % 2 ? 5 : 0, s->outliers.depth = size / 2 ? 1 : 0, use_outliers(s)),
                     call_reconstruct(s->ct, s),
                     call_get_info(s->ct, s) == ISOC_STATUS_OK &&
                         s->info.outliers == (side == ISOC_CT_OUTLIER_SIDE_DARK ? 0 : 1));
}

/* --- distortion --- */

#define SET_DISTORTION isoc_ct_set_distortion(s->ct, &s->distortion)
#define DISTORTION(field, value, status, ...) \
    BAD("distortion: " #field " = " #value, (lens(s), s->field = (value)), SET_DISTORTION, status, __VA_ARGS__)

/* All that there can be, a bin or so at the detector's edge. */
static void lens(scan *s) {
    static const double radial[3] = { 1.002, -1e-4, 1e-6 }, perspective[8] = { 1.01, -0.004, 0.3, 0.006, 0.99, -0.1, 1e-5, -2e-5 };
    memset(&s->distortion, 0, sizeof s->distortion);
    memcpy(s->radial, radial, sizeof radial);
    memcpy(s->perspective, perspective, sizeof perspective);
    for (int k = 0; k < VIEWS; k++)
        s->x_shifts[k] = 0.5 * (k % 3) - 0.5, s->y_shifts[k] = 0.25 * (k % 2);
    s->distortion.struct_size = sizeof s->distortion, s->distortion.x_centre = 14.0, s->distortion.y_centre = -2.5, s->distortion.tilt = 0.01;
    s->distortion.radial = s->radial, s->distortion.radial_count = 3, s->distortion.perspective = s->perspective;
    s->distortion.x_shifts = s->x_shifts, s->distortion.y_shifts = s->y_shifts, s->distortion.shift_count = VIEWS;
}

/* Those parts of it whose bits are set. */
static void parts_of_lens(scan *s, unsigned parts) {
    lens(s);
    if (!(parts & 1))
        s->distortion.radial = NULL, s->distortion.radial_count = 0;
    if (!(parts & 2))
        s->distortion.perspective = NULL;
    if (!(parts & 4))
        s->distortion.tilt = 0.0;
    if (!(parts & 8))
        s->distortion.x_shifts = NULL;
    if (!(parts & 16))
        s->distortion.y_shifts = NULL;
    if (!(parts & 24))
        s->distortion.shift_count = 0;
}

static void use_distortion(scan *s) {
    check_ok("isoc_ct_set_distortion", SET_DISTORTION);
    s->afterwards = SET_UP_ANEW;
}

static void distortions(void) {
    DISTORTION(distortion.struct_size, 0, STRUCT_SIZE, "isoc_ct_distortion", "is 0");
    DISTORTION(distortion.struct_size, sizeof s->distortion - 8, STRUCT_SIZE, "isoc_ct_distortion");
    DISTORTION(distortion.struct_size, sizeof s->distortion + 8, STRUCT_SIZE, "isoc_ct_distortion");
    DISTORTION(distortion.radial, NULL, NULL_POINTER, "distortion.radial is NULL with radial_count 3", "radial_count values");
    DISTORTION(distortion.radial_count, 0, NULL_POINTER, "distortion.radial is not NULL with radial_count 0", "radial_count values");
    DISTORTION(distortion.radial_count, -1, OUT_OF_RANGE, "distortion.radial_count is -1", "0 to 10");
    DISTORTION(distortion.radial_count, 11, OUT_OF_RANGE, "distortion.radial_count is 11", "0 to 10");
    DISTORTION(distortion.radial_count, INT64_MAX, OUT_OF_RANGE, "distortion.radial_count", "9223372036854775807", "0 to 10");
    DISTORTION(radial[0], NAN, NOT_FINITE_PARAMETER, "distortion.radial[0] is NaN", "finite");
    DISTORTION(radial[2], -INFINITY, NOT_FINITE_PARAMETER, "distortion.radial[2] is -inf", "finite");
    DISTORTION(radial[1], 10.0, OUT_OF_RANGE, "distortion moves pixels", "2 rows of 32 bins", "in pixels?");
    DISTORTION(radial[2], DBL_MAX, OUT_OF_RANGE, "distortion moves pixels", "in pixels?");
    DISTORTION(distortion.x_centre, NAN, NOT_FINITE_PARAMETER, "distortion.x_centre is NaN", "finite");
    DISTORTION(distortion.x_centre, 1e9, OUT_OF_RANGE, "distortion moves pixels", "are centre, coefficients and shifts of this detector");
    DISTORTION(distortion.y_centre, INFINITY, NOT_FINITE_PARAMETER, "distortion.y_centre is inf", "finite");
    DISTORTION(distortion.y_centre, -1e300, OUT_OF_RANGE, "distortion moves pixels", "are centre, coefficients and shifts of this detector");
    DISTORTION(perspective[7], NAN, NOT_FINITE_PARAMETER, "distortion.perspective[7] is NaN", "finite");
    DISTORTION(perspective[2], INFINITY, NOT_FINITE_PARAMETER, "distortion.perspective[2] is inf", "finite");
    DISTORTION(perspective[6], -1.0 / 15.5, OUT_OF_RANGE, "distortion moves pixels"); /* a horizon on the detector */
    DISTORTION(perspective[6], DBL_MAX, OUT_OF_RANGE, "distortion moves pixels");
    BAD("distortion: a perspective of zeros", (lens(s), memset(s->perspective, 0, sizeof s->perspective)), SET_DISTORTION, OUT_OF_RANGE,
        "distortion moves pixels", "in pixels?");
    DISTORTION(distortion.tilt, NAN, NOT_FINITE_PARAMETER, "distortion.tilt is NaN", "finite");
    DISTORTION(distortion.tilt, 0.6, OUT_OF_RANGE, "distortion.tilt is 0.6", "within 0.5", "not degrees");
    DISTORTION(distortion.tilt, -2.0, OUT_OF_RANGE, "distortion.tilt is -2", "within 0.5", "not degrees");
    DISTORTION(x_shifts[3], NAN, NOT_FINITE_PARAMETER, "distortion.x_shifts[3] is NaN", "finite");
    DISTORTION(y_shifts[23], -INFINITY, NOT_FINITE_PARAMETER, "distortion.y_shifts[23] is -inf", "finite");
    DISTORTION(x_shifts[5], 1e3, OUT_OF_RANGE, "distortion moves pixels", "shifts of this detector");
    DISTORTION(y_shifts[0], -DBL_MAX, OUT_OF_RANGE, "distortion moves pixels", "shifts of this detector");
    DISTORTION(distortion.shift_count, VIEWS - 1, OUT_OF_RANGE, "distortion.shift_count is 23", "the number of views, 24");
    DISTORTION(distortion.shift_count, -1, OUT_OF_RANGE, "distortion.shift_count is -1", "0 to 1048576");
    DISTORTION(distortion.shift_count, INT64_MAX, OUT_OF_RANGE, "distortion.shift_count", "9223372036854775807", "0 to 1048576");
    DISTORTION(distortion.shift_count, 0, NULL_POINTER, "distortion.x_shifts is not NULL with shift_count 0", "shift_count values");
    BAD("distortion: rows alone with shift_count 0", (parts_of_lens(s, 16), s->distortion.shift_count = 0), SET_DISTORTION, NULL_POINTER,
        "distortion.y_shifts is not NULL with shift_count 0");
    BAD("distortion: shift_count without shifts", (parts_of_lens(s, 7), s->distortion.shift_count = VIEWS), SET_DISTORTION, NULL_POINTER,
        "distortion.x_shifts and y_shifts are NULL with shift_count 24", "must be 0 then");
    BAD("reconstruct: shifts of another scan's views",
        (lens(s), use_distortion(s), s->geometry.views = VIEWS - 1, use_geometry(s), s->shape[PROJECTIONS][0] = VIEWS - 1),
        call_reconstruct(s->ct, s), OUT_OF_RANGE, "distortion.shift_count is 24", "the number of views, 23");

    GOOD("set_distortion: NULL turns it off", (lens(s), check_ok("isoc_ct_set_distortion", SET_DISTORTION)),
         isoc_ct_set_distortion(s->ct, NULL), still_works(s));
    GOOD("set_distortion: nothing given changes nothing", parts_of_lens(s, 0), SET_DISTORTION, still_works(s));
    GOOD("backproject: distortion does not matter", (lens(s), use_distortion(s)), call_backproject(s->ct, s), 1);
    for (unsigned parts = 1; parts < 32; parts++) {
        GOOD("reconstruct: distortion of line integrals", (parts_of_lens(s, parts), use_distortion(s)), call_reconstruct(s->ct, s),
             finite_values(s->volume, VOLUME_SIZE) && still_works(s));
        GOOD("filter: distortion of counts", (parts_of_lens(s, parts), use_distortion(s), use_flat_field(s), flat_counts(s)),
             call_filter(s->ct, s), finite_values(s->filtered, PROJECTION_SIZE));
    }
}

/* --- phase --- */

#define SET_PHASE isoc_ct_set_phase(s->ct, &s->phase)
#define PHASE(field, value, status, ...) \
    BAD("phase." #field " = " #value, (paganin(s), s->phase.field = (value)), SET_PHASE, status, "phase." #field, __VA_ARGS__)
#define BY_LENGTH(field, value, status, ...) \
    BAD("phase by length, " #field " = " #value, (by_length(s), s->phase.field = (value)), SET_PHASE, status, "phase." #field, __VA_ARGS__)

/* Paganin's length is 3.5 bins. */
static void paganin(scan *s) {
    memset(&s->phase, 0, sizeof s->phase);
    s->phase.struct_size = sizeof s->phase, s->phase.energy_kev = 20.0, s->phase.distance_mm = 50.0, s->phase.pixel_um = 2.0;
    s->phase.delta_beta = 5.0;
}

static void by_length(scan *s) {
    memset(&s->phase, 0, sizeof s->phase);
    s->phase.struct_size = sizeof s->phase, s->phase.pixel_um = 2.0, s->phase.length_um = 7.0;
}

static void use_phase(scan *s) {
    check_ok("isoc_ct_set_phase", SET_PHASE);
    s->afterwards = SET_UP_ANEW;
}

static void phases(void) {
    PHASE(method, 2, UNKNOWN_VALUE, "is 2", "0 or 1 (isoc_ct_phase_method)");
    PHASE(method, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    PHASE(energy_kev, 0.0, OUT_OF_RANGE, "is 0", "1 to 1000");
    PHASE(energy_kev, -20.0, OUT_OF_RANGE, "is -20", "1 to 1000");
    PHASE(energy_kev, 0.02, OUT_OF_RANGE, "is 0.02", "is the energy in MeV?");
    PHASE(energy_kev, 20000.0, OUT_OF_RANGE, "is 20000", "1 to 1000", "is the energy in eV?");
    PHASE(energy_kev, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    PHASE(distance_mm, 0.0, OUT_OF_RANGE, "is 0", "1 to 100000");
    PHASE(distance_mm, -50.0, OUT_OF_RANGE, "is -50");
    PHASE(distance_mm, 0.1, OUT_OF_RANGE, "is 0.1", "is the distance in metres?");
    PHASE(distance_mm, 5e5, OUT_OF_RANGE, "is 500000", "is the distance in micrometres?");
    PHASE(distance_mm, INFINITY, NOT_FINITE_PARAMETER, "inf", "finite");
    PHASE(pixel_um, 0.0, OUT_OF_RANGE, "is 0", "0.01 to 1000");
    PHASE(pixel_um, -1.0, OUT_OF_RANGE, "is -1");
    PHASE(pixel_um, 1e-6, OUT_OF_RANGE, "is the pixel in millimetres or metres?");
    PHASE(pixel_um, 2000.0, OUT_OF_RANGE, "is 2000", "is the pixel in nanometres?");
    PHASE(pixel_um, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    PHASE(delta_beta, 0.0, OUT_OF_RANGE, "is 0", "0.001 to 1000000");
    PHASE(delta_beta, -5.0, OUT_OF_RANGE, "is -5");
    PHASE(delta_beta, 1e-4, OUT_OF_RANGE, "is 0.0001", "0.001 to 1000000");
    PHASE(delta_beta, 2e6, OUT_OF_RANGE, "is 2000000", "0.001 to 1000000");
    PHASE(delta_beta, -INFINITY, NOT_FINITE_PARAMETER, "-inf", "finite");
    PHASE(unsharp_sigma, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    PHASE(unsharp_sigma, -1.0, OUT_OF_RANGE, "is -1", "0 to 100");
    PHASE(unsharp_sigma, 101.0, OUT_OF_RANGE, "is 101", "0 to 100");
    PHASE(unsharp_sigma, 1.0, OUT_OF_RANGE, "is 1 and unsharp_amount 0", "an unsharp mask has both");
    PHASE(unsharp_amount, INFINITY, NOT_FINITE_PARAMETER, "inf", "finite");
    PHASE(unsharp_amount, -0.5, OUT_OF_RANGE, "is -0.5", "0 to 100");
    PHASE(unsharp_amount, 101.0, OUT_OF_RANGE, "is 101", "0 to 100");
    BAD("phase: an unsharp mask of no width", (paganin(s), s->phase.unsharp_amount = 2.0), SET_PHASE, OUT_OF_RANGE,
        "phase.unsharp_sigma is 0 and unsharp_amount 2");
    BAD("phase.struct_size = 0", (paganin(s), s->phase.struct_size = 0), SET_PHASE, STRUCT_SIZE, "isoc_ct_phase", "is 0");
    BAD("phase.struct_size, smaller", (paganin(s), s->phase.struct_size = sizeof s->phase - 8), SET_PHASE, STRUCT_SIZE, "isoc_ct_phase");
    BAD("phase.struct_size, larger", (paganin(s), s->phase.struct_size = sizeof s->phase + 8), SET_PHASE, STRUCT_SIZE, "isoc_ct_phase");

    BY_LENGTH(energy_kev, 20.0, OUT_OF_RANGE, "is 20 with length_um 7", "it must be 0 then");
    BY_LENGTH(distance_mm, 50.0, OUT_OF_RANGE, "is 50 with length_um 7");
    BY_LENGTH(delta_beta, 5.0, OUT_OF_RANGE, "is 5 with length_um 7");
    BY_LENGTH(delta_beta, NAN, OUT_OF_RANGE, "is NaN with length_um 7");
    BY_LENGTH(pixel_um, 0.0, OUT_OF_RANGE, "is 0", "0.01 to 1000");
    BY_LENGTH(length_um, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    BY_LENGTH(length_um, -7.0, OUT_OF_RANGE, "is -7", "are both in micrometres?");
    BY_LENGTH(length_um, 1e-5, OUT_OF_RANGE, "for pixel_um 2", "are both in micrometres?");
    BY_LENGTH(length_um, 1e6, OUT_OF_RANGE, "is 1000000 for pixel_um 2", "are both in micrometres?");
    BAD("phase: a length is Paganin's", (by_length(s), s->phase.method = ISOC_CT_PHASE_METHOD_CTF), SET_PHASE, OUT_OF_RANGE,
        "phase.length_um is 7", "1 (ctf)", "must be 0");
    BAD("phase: nothing is told", (by_length(s), s->phase.length_um = 0.0), SET_PHASE, OUT_OF_RANGE, "phase.energy_kev is 0");
    /* Whatever the method. */
    PHASE(alpha, 2.0, OUT_OF_RANGE, "is 2", "to 1");
    PHASE(alpha, -0.1, OUT_OF_RANGE, "is -0.1");
    PHASE(alpha, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");

    GOOD("set_phase: NULL turns it off", (paganin(s), check_ok("isoc_ct_set_phase", SET_PHASE)), isoc_ct_set_phase(s->ct, NULL),
         still_works(s));
    BAD("reconstruct: phase of line integrals", (paganin(s), use_phase(s)), call_reconstruct(s->ct, s), FLAT_FIELD, "line integrals",
        "isoc_ct_set_phase");
    BAD("reconstruct: a kernel far longer than the detector",
        (paganin(s), s->phase.distance_mm = 1e5, s->phase.delta_beta = 1e4, use_phase(s), use_flat_field(s), flat_counts(s)),
        call_reconstruct(s->ct, s), OUT_OF_RANGE, "kernel", "are energy, distance and pixel in their units?");
    GOOD("backproject: phase does not matter", (paganin(s), use_phase(s)), call_backproject(s->ct, s), 1);
    for (uint32_t method = 0; method < 2; method++)
        for (int mask = 0; mask < 2; mask++)
            GOOD("reconstruct: phase", (paganin(s), s->phase.method = method, s->phase.unsharp_sigma = mask * 1.5, s->phase.unsharp_amount = mask * 0.5,
                                        use_phase(s), use_flat_field(s), flat_counts(s)),
                 call_reconstruct(s->ct, s), finite_values(s->volume, VOLUME_SIZE));
    GOOD("reconstruct: phase by length, after outliers",
         (by_length(s), zingers(s), use_phase(s), use_outliers(s), use_flat_field(s), flat_counts(s)), call_reconstruct(s->ct, s),
         finite_values(s->volume, VOLUME_SIZE));
}

/* --- tensors --- */

static const char *const tensor_names[TENSORS] = { "projections", "filtered", "volume", "flats", "darks" };

/* Which arguments a fault applies to: inputs, outputs, and frames, whose first size is free and may be left out. */
enum { IN = 1, OUT = 2, FRAMES = 4, DATA = IN | OUT, ALL = DATA | FRAMES };

typedef struct {
    const char *name;
    void (*spoil)(scan *s, int which);
    int where;
    isoc_status status;
    const char *words[3];
} tensor_fault;

#define SPOIL(name, statements) \
    static void name(scan *s, int k) { statements; }

SPOIL(no_data, s->t[k].data = NULL)
SPOIL(no_shape, s->t[k].shape = NULL)
SPOIL(on_gpu, s->t[k].device.device_type = 2)
SPOIL(on_no_device, s->t[k].device.device_type = -7)
SPOIL(complex_numbers, s->t[k].dtype.code = 5)
SPOIL(doubles, s->t[k].dtype.code = ISOC_DTYPE_FLOAT; s->t[k].dtype.bits = 64)
SPOIL(halves, s->t[k].dtype.code = ISOC_DTYPE_FLOAT; s->t[k].dtype.bits = 16)
SPOIL(wide_counts, s->t[k].dtype.code = ISOC_DTYPE_UINT; s->t[k].dtype.bits = 32)
SPOIL(vectors, s->t[k].dtype.lanes = 4)
SPOIL(no_lanes, s->t[k].dtype.lanes = 0)
SPOIL(counts, s->t[k].dtype.code = ISOC_DTYPE_UINT; s->t[k].dtype.bits = 16)
SPOIL(ndim_0, s->t[k].ndim = 0)
SPOIL(ndim_1, s->t[k].ndim = 1)
SPOIL(ndim_2, s->t[k].ndim = 2)
SPOIL(ndim_4, s->t[k].ndim = 4)
SPOIL(ndim_negative, s->t[k].ndim = -3)
SPOIL(ndim_max, s->t[k].ndim = INT32_MAX)
SPOIL(one_more, s->shape[k][2]++)
SPOIL(one_less, s->shape[k][1]--)
SPOIL(no_rows, s->shape[k][1] = 0)
SPOIL(negative_bins, s->shape[k][2] = -s->shape[k][2])
SPOIL(huge_rows, s->shape[k][1] = INT64_MAX)
SPOIL(first_zero, s->shape[k][0] = 0)
SPOIL(first_negative, s->shape[k][0] = -1)
SPOIL(first_huge, s->shape[k][0] = INT64_MAX)
SPOIL(swapped, set_shape(s, k, s->shape[k][1], s->shape[k][0], s->shape[k][2]))
SPOIL(backwards, contiguous(s, k)[2] = -1)
SPOIL(far_backwards, contiguous(s, k)[1] = INT64_MIN)
SPOIL(half_backwards, contiguous(s, k)[1] *= -1; s->t[k].byte_offset = 4)
SPOIL(far_forwards, contiguous(s, k)[1] = INT64_MAX / 4)
SPOIL(wraps, contiguous(s, k)[1] = INT64_MAX)
SPOIL(far_offset, s->t[k].byte_offset = UINT64_MAX - 3)
SPOIL(half_offset, s->t[k].byte_offset = (uint64_t)1 << 63)
SPOIL(odd_data, s->t[k].data = (char *)s->t[k].data + 1)
SPOIL(odd_offset, s->t[k].byte_offset = 1)
SPOIL(one_bin, contiguous(s, k)[2] = 0)
SPOIL(one_row, contiguous(s, k)[1] = 0)
SPOIL(one_frame, contiguous(s, k)[0] = 0)
SPOIL(rows_overlap, contiguous(s, k)[1]--)
SPOIL(frames_overlap, contiguous(s, k)[0] /= 2)
SPOIL(frames_cross, contiguous(s, k)[0] = s->shape[k][2]; s->strides[k][1] = s->shape[k][2])
SPOIL(backwards_onto_itself, contiguous(s, k)[2] = -1; s->strides[k][1] = 1; s->t[k].byte_offset = 1000)

#define FAULT(name, spoil, where, status, ...) { name, spoil, where, ISOC_STATUS_##status, { __VA_ARGS__ } }

static const tensor_fault tensor_faults[] = {
    FAULT("data NULL", no_data, ALL, NULL_POINTER, ".data", "NULL"),
    FAULT("shape NULL", no_shape, ALL, NULL_POINTER, ".shape", "NULL"),
    FAULT("on a GPU", on_gpu, ALL, TENSOR_DEVICE, "type 2", "host", "0, 1 or 3"),
    FAULT("on no known device", on_no_device, ALL, TENSOR_DEVICE, "type -7", "host"),
    FAULT("complex", complex_numbers, ALL, TENSOR_DTYPE, ".dtype is C", "F32"),
    FAULT("f64", doubles, ALL, TENSOR_DTYPE, ".dtype", "F64", "F32"),
    FAULT("f16", halves, ALL, TENSOR_DTYPE, ".dtype is F16", "F32"),
    FAULT("u32", wide_counts, ALL, TENSOR_DTYPE, ".dtype is U32", "F32"),
    FAULT("4 lanes", vectors, ALL, TENSOR_DTYPE, ".dtype", "4 lanes", "F32"),
    FAULT("0 lanes", no_lanes, ALL, TENSOR_DTYPE, ".dtype", "0 lanes"),
    FAULT("u16", counts, OUT, TENSOR_DTYPE, ".dtype is U16", "F32"),
    FAULT("ndim 0", ndim_0, ALL, TENSOR_NDIM, ".ndim is 0", "3"),
    FAULT("ndim 1", ndim_1, ALL, TENSOR_NDIM, ".ndim is 1", "3"),
    FAULT("ndim 2", ndim_2, DATA, TENSOR_NDIM, ".ndim is 2", "3"),
    FAULT("ndim 4", ndim_4, ALL, TENSOR_NDIM, ".ndim is 4", "3"),
    FAULT("ndim -3", ndim_negative, ALL, TENSOR_NDIM, ".ndim is -3", "3"),
    FAULT("ndim 2147483647", ndim_max, ALL, TENSOR_NDIM, ".ndim is 2147483647", "3"),
    FAULT("one column more", one_more, ALL, TENSOR_SHAPE, ".shape[2] is", "must be"),
    FAULT("one row less", one_less, ALL, TENSOR_SHAPE, ".shape[1] is", "must be"),
    FAULT("no rows", no_rows, ALL, TENSOR_SHAPE, ".shape[1] is 0", "must be"),
    FAULT("negative size", negative_bins, ALL, TENSOR_SHAPE, ".shape[2] is -", "must be"),
    FAULT("huge size", huge_rows, ALL, TENSOR_SHAPE, ".shape[1] is 9223372036854775807", "must be"),
    FAULT("no frames", first_zero, DATA, TENSOR_SHAPE, ".shape[0] is 0", "must be"),
    FAULT("negative first size", first_negative, DATA, TENSOR_SHAPE, ".shape[0] is -1", "must be"),
    FAULT("huge first size", first_huge, DATA, TENSOR_SHAPE, ".shape[0] is 9223372036854775807", "must be"),
    FAULT("dimensions swapped", swapped, DATA, TENSOR_SHAPE, ".shape[", "must be"),
    FAULT("strides before data", backwards, ALL, TENSOR_STRIDES, "strides", "before its data"),
    FAULT("strides far before data", far_backwards, ALL, TENSOR_STRIDES, "strides", "before its data"),
    FAULT("strides before byte_offset", half_backwards, ALL, TENSOR_STRIDES, "strides", "before its data"),
    FAULT("strides beyond all memory", far_forwards, ALL, TENSOR_STRIDES, "strides", "address space"),
    FAULT("strides that wrap round", wraps, ALL, TENSOR_STRIDES, "strides", "address space"),
    FAULT("byte_offset of 2^64 - 4", far_offset, ALL, TENSOR_STRIDES, "address space"),
    FAULT("byte_offset of 2^63", half_offset, ALL, TENSOR_STRIDES, "address space"),
    FAULT("data misaligned", odd_data, ALL, TENSOR_STRIDES, "data + byte_offset", "aligned", "bytes"),
    FAULT("byte_offset misaligned", odd_offset, ALL, TENSOR_STRIDES, "byte_offset (1)", "aligned", "bytes"),
    FAULT("all columns in one", one_bin, OUT, TENSOR_STRIDES, "stride of 0", "share memory"),
    FAULT("all rows in one", one_row, OUT, TENSOR_STRIDES, "stride of 0", "share memory"),
    FAULT("all frames in one", one_frame, OUT, TENSOR_STRIDES, "stride of 0", "share memory"),
    FAULT("rows overlap by one", rows_overlap, OUT, TENSOR_STRIDES, "stride of", "share memory"),
    FAULT("frames overlap by half", frames_overlap, OUT, TENSOR_STRIDES, "stride of", "share memory"),
    FAULT("frames cross rows", frames_cross, OUT, TENSOR_STRIDES, "stride of", "share memory"),
    FAULT("negative strides onto itself", backwards_onto_itself, OUT, TENSOR_STRIDES, "stride of", "share memory"),
};

/* One fault in one argument of one call. */
static void tensor_case(const plan_call *call, const tensor_fault *fault, int which) {
    char name[96];
    snprintf(name, sizeof name, "%s: %s %s", call->name, tensor_names[which], fault->name);
    BAD_IN(strict, name, fault->spoil(s, which), call->call(s->ct, s), fault->status, tensor_names[which],
        fault->words[0], fault->words[1], fault->words[2]);
}

static void tensors(void) {
    for (size_t f = 0; f < COUNT_OF(tensor_faults); f++) {
        const tensor_fault *fault = &tensor_faults[f];
        for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
            const plan_call *call = &plan_calls[k];
            if (call->in == FLATS) {
                if (fault->where & FRAMES) {
                    tensor_case(call, fault, FLATS);
                    tensor_case(call, fault, DARKS);
                }
                continue;
            }
            if (call->in >= 0 && (fault->where & IN))
                tensor_case(call, fault, call->in);
            if (call->out >= 0 && (fault->where & OUT))
                tensor_case(call, fault, call->out);
        }
    }
}

#define NO_TENSOR(name, call, argument) BAD(name, NOTHING, call, NULL_POINTER, argument, "NULL")

static void null_tensors(void) {
    NO_TENSOR("filter: projections NULL", isoc_ct_filter(s->ct, NULL, &s->t[FILTERED]), "projections");
    NO_TENSOR("filter: filtered NULL", isoc_ct_filter(s->ct, &s->t[PROJECTIONS], NULL), "filtered");
    NO_TENSOR("backproject: projections NULL", isoc_ct_backproject(s->ct, NULL, &s->t[VOLUME]), "projections");
    NO_TENSOR("backproject: volume NULL", isoc_ct_backproject(s->ct, &s->t[PROJECTIONS], NULL), "volume");
    NO_TENSOR("forward: volume NULL", isoc_ct_forward(s->ct, NULL, &s->t[PROJECTIONS]), "volume");
    NO_TENSOR("forward: projections NULL", isoc_ct_forward(s->ct, &s->t[VOLUME], NULL), "projections");
    NO_TENSOR("adjoint: projections NULL", isoc_ct_adjoint(s->ct, NULL, &s->t[VOLUME]), "projections");
    NO_TENSOR("adjoint: volume NULL", isoc_ct_adjoint(s->ct, &s->t[PROJECTIONS], NULL), "volume");
    NO_TENSOR("reconstruct: projections NULL", isoc_ct_reconstruct(s->ct, NULL, &s->t[VOLUME]), "projections");
    NO_TENSOR("reconstruct: volume NULL", isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], NULL), "volume");
    NO_TENSOR("reconstruct: both NULL", isoc_ct_reconstruct(s->ct, NULL, NULL), "projections");
    NO_TENSOR("phantom_volume: volume NULL", isoc_ct_phantom_volume(s->ct, s->ellipses, ELLIPSES, NULL), "volume");
    NO_TENSOR("phantom_projections: projections NULL", isoc_ct_phantom_projections(s->ct, s->ellipses, ELLIPSES, NULL),
        "projections");
}

/* Lays input and output of a call in one buffer, the output's start `shift` bytes after the input's. */
static void overlap_case(const plan_call *call, const char *how, int64_t shift) {
    char name[96];
    snprintf(name, sizeof name, "%s: output %s", call->name, how);
    size_t size = 2 * (PROJECTION_SIZE + VOLUME_SIZE) * sizeof(float);
    char *shared = (char *)calloc(1, size), *copy = (char *)calloc(1, size);
    if (!shared || !copy)
        abort();
    char *middle = shared + size / 2 / 64 * 64;
    BAD(name, (s->t[call->in].data = middle, s->t[call->out].data = middle + shift), call->call(s->ct, s),
        OVERLAP, tensor_names[call->in], tensor_names[call->out], "share memory");
    expect("overlapping tensors stay as they are", memcmp(shared, copy, size) == 0);
    free(shared);
    free(copy);
}

static void overlaps(void) {
    for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
        const plan_call *call = &plan_calls[k];
        if (call->in < 0 || call->out < 0)
            continue;
        int64_t in_size = (call->in == VOLUME ? VOLUME_SIZE : PROJECTION_SIZE) * (int64_t)sizeof(float);
        int64_t out_size = (call->out == VOLUME ? VOLUME_SIZE : PROJECTION_SIZE) * (int64_t)sizeof(float);
        overlap_case(call, "is its input", 0);
        overlap_case(call, "begins inside its input", 512);
        overlap_case(call, "begins at its input's last element", in_size - (int64_t)sizeof(float));
        overlap_case(call, "ends inside its input", -512);
        overlap_case(call, "ends at its input's first element", -out_size + (int64_t)sizeof(float));
    }
    BAD("reconstruct: the volume overlaps raw u8 projections",
        (use_flat_field(s), s->t[PROJECTIONS].dtype.code = ISOC_DTYPE_UINT, s->t[PROJECTIONS].dtype.bits = 8,
         s->t[PROJECTIONS].data = (char *)s->volume + VOLUME_SIZE * sizeof(float) - 1),
        call_reconstruct(s->ct, s), OVERLAP, "projections", "volume");
}

static void sinograms(scan *s) {
    s->geometry.order = ISOC_CT_ORDER_SINOGRAMS;
    use_geometry(s);
    set_shape(s, PROJECTIONS, ROWS, VIEWS, BINS);
    set_shape(s, FILTERED, ROWS, VIEWS, BINS);
}

static void other_order(void) {
    BAD("reconstruct: frames where sinograms are expected", (sinograms(s), set_shape(s, PROJECTIONS, VIEWS, ROWS,
        BINS)),
        call_reconstruct(s->ct, s), TENSOR_SHAPE, "projections.shape[", "(rows, views, bins) = (2, 24, 32)");
    BAD("reconstruct: sinograms where frames are expected", set_shape(s, PROJECTIONS, ROWS, VIEWS, BINS),
        call_reconstruct(s->ct, s), TENSOR_SHAPE, "projections.shape[", "(views, rows, bins) = (24, 2, 32)");
}

static void odd_but_good_tensors(void) {
    const float *usual = usual_volume(strict);
    GOOD("reconstruct: explicit contiguous strides", (contiguous(s, PROJECTIONS), contiguous(s, VOLUME)),
         call_reconstruct(s->ct, s), near(s->volume, usual, VOLUME_SIZE, 1e-6));
    GOOD("reconstruct: device type 0", s->t[VOLUME].device.device_type = 0, call_reconstruct(s->ct, s),
         near(s->volume, usual, VOLUME_SIZE, 1e-6));
    GOOD("reconstruct: the volume bottom up",
         (contiguous(s, VOLUME)[1] *= -1, s->t[VOLUME].byte_offset = (NY - 1) * NX * sizeof(float)),
         call_reconstruct(s->ct, s), near(s->volume + (NY - 1) * NX, usual, NX, 1e-5));
    GOOD("reconstruct: all views from one frame (input stride 0)", contiguous(s, PROJECTIONS)[0] = 0,
         call_reconstruct(s->ct, s), s->volume[0] == s->volume[0]);
    GOOD("reconstruct: any stride where the size is 1",
         (s->geometry.slices = s->shape[VOLUME][0] = 1, use_geometry(s), contiguous(s, VOLUME)[0] = INT64_MIN),
         call_reconstruct(s->ct, s), near(s->volume, usual, NY * NX, 1e-5));
    GOOD("reconstruct: two dimensions for one slice",
         (s->geometry.slices = 1, use_geometry(s), set_shape(s, VOLUME, NY, NX, -1), s->t[VOLUME].ndim = 2),
         call_reconstruct(s->ct, s), near(s->volume, usual, NY * NX, 1e-5));
    float *joined = (float *)allocate((PROJECTION_SIZE + VOLUME_SIZE) * sizeof(float));
    GOOD("reconstruct: the volume right after the projections",
         (memcpy(joined, s->projections, PROJECTION_SIZE * sizeof(float)), s->t[PROJECTIONS].data = joined,
          s->t[VOLUME].data = joined + PROJECTION_SIZE),
         call_reconstruct(s->ct, s), near(joined + PROJECTION_SIZE, usual, VOLUME_SIZE, 1e-6));
    free(joined);
}

/* --- angles --- */

static void use_angles(scan *s, int views, double even, double odd) {
    s->geometry.views = views;
    for (int k = 0; k < views; k++)
        s->angles[k] = k % 2 ? odd : even;
    use_geometry(s);
    set_shape(s, PROJECTIONS, views, ROWS, BINS);
    set_shape(s, FILTERED, views, ROWS, BINS);
}

static void weighted(scan *s) {
    s->options.weighted_backprojection = 1;
    use_options(s);
}

static void fill_weights(scan *s, double value) {
    for (int k = 0; k < VIEWS; k++)
        s->weights[k] = value;
}

static void use_weights(scan *s, int views) {
    fill_weights(s, PI / views);
    check_ok("isoc_ct_set_angular_weights", isoc_ct_set_angular_weights(s->ct, s->weights, views));
    s->afterwards = SET_UP_ANEW;
}

/* Calls that need angular weights refuse these views; the others take them. */
static void degenerate_angles(const char *what, int views, double even, double odd, isoc_status status,
                              const char *seen, const char *allowed) {
    char name[96];
    snprintf(name, sizeof name, "%s: reconstruct", what);
    BAD_IN(strict, name, use_angles(s, views, even, odd), call_reconstruct(s->ct, s), status, seen, allowed);
    snprintf(name, sizeof name, "%s: weighted backproject", what);
    BAD_IN(strict, name, (use_angles(s, views, even, odd), weighted(s)), call_backproject(s->ct, s), status, seen,
        allowed);
    snprintf(name, sizeof name, "%s: get_angular_weights", what);
    BAD_IN(strict, name, use_angles(s, views, even, odd), isoc_ct_get_angular_weights(s->ct, s->weights, views, NULL), status,
        seen, allowed);
    snprintf(name, sizeof name, "%s: reconstruct with the caller's weights", what);
    GOOD(name, (use_angles(s, views, even, odd), use_weights(s, views)), call_reconstruct(s->ct, s),
         finite_values(s->volume, VOLUME_SIZE));

    const plan_call *call = plan_calls;
    for (size_t k = 0; k < COUNT_OF(plan_calls); k++, call++) {
        if (call->in != VOLUME && call->in != PROJECTIONS)
            continue;
        if (call->call == call_reconstruct)
            continue;
        snprintf(name, sizeof name, "%s: %s", what, call->name);
        GOOD(name, use_angles(s, views, even, odd), call->call(s->ct, s), 1);
    }
}

static void angles(void) {
    degenerate_angles("one view", 1, 0.7, 0.7, ISOC_STATUS_TOO_FEW_VIEWS, "views is 1", "at least 2");
    degenerate_angles("equal angles", VIEWS, 0.7, 0.7, ISOC_STATUS_EQUAL_ANGLES, "24 angles are 0.7",
        "at least 2 different");
    degenerate_angles("angles 0 and pi", VIEWS, 0.0, PI, ISOC_STATUS_EQUAL_ANGLES, "24 angles are 0", "modulo pi");
    degenerate_angles("angles pi and 0", 2, PI, 0.0, ISOC_STATUS_EQUAL_ANGLES, "modulo pi", "at least 2 different");
    degenerate_angles("angles -pi and 3 pi", 2, -PI, 3.0 * PI, ISOC_STATUS_EQUAL_ANGLES, "modulo pi",
        "at least 2 different");
}

/* --- data --- */

static const isoc_dtype f32 = ISOC_F32, u16 = ISOC_U16, u8 = ISOC_U8;

static void spoil_projections(scan *s, float value) {
    s->projections[(5 * ROWS + 0) * BINS + 2] = value;
    s->projections[(3 * ROWS + 1) * BINS + 17] = value;
}

static void spoil_volume(scan *s, float value) {
    s->volume[(1 * NY + 0) * NX + 0] = value;
    s->volume[(0 * NY + 7) * NX + 5] = value;
}

/* The first dimension fastest. */
static void column_major(scan *s, int which) {
    int64_t *strides = contiguous(s, which), *shape = s->shape[which];
    strides[0] = 1, strides[1] = shape[0], strides[2] = shape[0] * shape[1];
}

static int replaced(scan *s) {
    check_ok("isoc_ct_get_info", isoc_ct_get_info(s->ct, &s->info));
    return (int)s->info.replaced_values;
}

/* The same call with zeros where the bad values were gives the same output. */
static int same_with_zeros(scan *s, const plan_call *call) {
    size_t size = call->out == VOLUME ? VOLUME_SIZE : PROJECTION_SIZE;
    float *first = (float *)allocate(size * sizeof(float));
    memcpy(first, s->t[call->out].data, size * sizeof(float));
    call->in == VOLUME ? spoil_volume(s, 0.0f) : spoil_projections(s, 0.0f);
    check_ok("the same with zeros", call->call(s->ct, s));
    int same = near(first, (const float *)s->t[call->out].data, size, 1e-6);
    free(first);
    return same;
}

static void not_finite_data(void) {
    for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
        const plan_call *call = &plan_calls[k];
        char name[64];
        if (call->in == PROJECTIONS) {
            snprintf(name, sizeof name, "%s: NaN", call->name);
            /* Calls that look at some rows look at one after the other. */
            const char *first = call->out < 0 ? "projections[5, 0, 2]" : "projections[3, 1, 17]";
            BAD(name, spoil_projections(s, NAN), call->call(s->ct, s), NOT_FINITE_DATA, first, "NaN", "finite", "replace");
            snprintf(name, sizeof name, "%s: Inf in sinograms", call->name);
            BAD(name, (sinograms(s), s->projections[(1 * VIEWS + 3) * BINS + 17] = INFINITY,
                s->projections[5 * BINS + 2] = INFINITY),
                call->call(s->ct, s), NOT_FINITE_DATA, "projections[0, 5, 2]", "inf");
            snprintf(name, sizeof name, "%s: NaN, column-major", call->name);
            BAD(name, (column_major(s, PROJECTIONS), s->projections[(17 * ROWS + 1) * VIEWS + 3] = NAN),
                call->call(s->ct, s), NOT_FINITE_DATA, "projections[3, 1, 17]", "NaN");
            snprintf(name, sizeof name, "%s: the last value is -Inf", call->name);
            BAD(name, s->projections[PROJECTION_SIZE - 1] = -INFINITY, call->call(s->ct, s),
                NOT_FINITE_DATA, "projections[23, 1, 31]", "-inf");
        } else if (call->in == VOLUME) {
            snprintf(name, sizeof name, "%s: NaN in the volume", call->name);
            BAD(name, spoil_volume(s, NAN), call->call(s->ct, s), NOT_FINITE_DATA, "volume[0, 7, 5]", "NaN", "finite");
            snprintf(name, sizeof name, "%s: the volume's last value is Inf", call->name);
            BAD(name, s->volume[VOLUME_SIZE - 1] = INFINITY, call->call(s->ct, s), NOT_FINITE_DATA,
                "volume[1, 19, 27]", "inf");
        } else {
            continue;
        }
        if (call->out < 0)
            continue;
        snprintf(name, sizeof name, "%s: NaN replaced", call->name);
        GOOD_IN(lenient, name, call->in == VOLUME ? spoil_volume(s, NAN) : spoil_projections(s, NAN),
                call->call(s->ct, s), replaced(s) == 2 && same_with_zeros(s, call) && replaced(s) == 0);
        snprintf(name, sizeof name, "%s: Inf replaced", call->name);
        GOOD_IN(lenient, name, call->in == VOLUME ? spoil_volume(s, -INFINITY) : spoil_projections(s, INFINITY),
                call->call(s->ct, s), replaced(s) == 2 && same_with_zeros(s, call));
    }
    BAD("reconstruct: NaN in raw f32 counts", (use_flat_field(s), use_input(s, ISOC_CT_INPUT_COUNTS), spoil_projections(s, NAN)), call_reconstruct(s->ct,
        s),
        NOT_FINITE_DATA, "projections[3, 1, 17]", "NaN");
    GOOD_IN(lenient, "reconstruct: NaN in raw f32 counts replaced", (use_flat_field(s), use_input(s, ISOC_CT_INPUT_COUNTS), spoil_projections(s, NAN)),
            call_reconstruct(s->ct, s), replaced(s) == 2);
}

/* --- flat field --- */

static void set_flats(scan *s, int row, int bin, uint16_t value) {
    for (int k = 0; k < FLATS_COUNT; k++)
        s->flats[(k * ROWS + row) * BINS + bin] = value;
}

/* Flats as f32, in the projections' buffer. */
static void float_flats(scan *s, float value) {
    for (int k = 0; k < FLATS_COUNT * FRAME_SIZE; k++)
        s->projections[k] = 1000.0f;
    s->projections[1 * BINS + 5] = value;
    s->t[FLATS].data = s->projections;
    s->t[FLATS].dtype = f32;
}

static void use_flat_without_darks(scan *s) {
    check_ok("isoc_ct_set_flat_field", isoc_ct_set_flat_field(s->ct, &s->t[FLATS], NULL, NULL));
    s->afterwards = SET_UP_ANEW;
}

#define SET_FLAT_FIELD call_set_flat_field(s->ct, s)

#define SET_FLAT_OPTIONS isoc_ct_set_flat_field(s->ct, &s->t[FLATS], &s->t[DARKS], &s->flat_options)
#define FLAT_OPTION(field, value, status, ...) \
    BAD("flat field: " #field " = " #value, (flats_in_time(s), s->field = (value)), SET_FLAT_OPTIONS, status, __VA_ARGS__)

/* A flat before the scan and one after it, and a monitor. */
static void flats_in_time(scan *s) {
    memset(&s->flat_options, 0, sizeof s->flat_options);
    s->flat_options.struct_size = sizeof s->flat_options;
    s->flat_options.group_frames = s->group_frames, s->flat_options.group_positions = s->group_positions;
    s->flat_options.group_monitor = s->group_monitor, s->flat_options.group_count = 2;
    s->flat_options.monitor = s->monitor, s->flat_options.monitor_count = VIEWS;
    s->group_frames[0] = s->group_frames[1] = 1;
    s->group_positions[0] = 0.0, s->group_positions[1] = VIEWS;
    s->group_monitor[0] = 200.0, s->group_monitor[1] = 190.0;
    for (int k = 0; k < VIEWS; k++)
        s->monitor[k] = 195.0 + k % 3;
    zingers(s);
}

static void flat_options(void) {
    FLAT_OPTION(flat_options.struct_size, 0, STRUCT_SIZE, "isoc_ct_flat_field_options", "is 0");
    FLAT_OPTION(flat_options.struct_size, sizeof s->flat_options + 8, STRUCT_SIZE, "isoc_ct_flat_field_options");
    FLAT_OPTION(flat_options.combine, 2, UNKNOWN_VALUE, "options.combine is 2", "0 (mean) or 1 (median)");
    FLAT_OPTION(flat_options.combine, UINT32_MAX, UNKNOWN_VALUE, "4294967295");
    FLAT_OPTION(flat_options.group_count, -1, OUT_OF_RANGE, "options.group_count is -1");
    FLAT_OPTION(flat_options.group_count, INT64_MAX, OUT_OF_RANGE, "options.group_count", "9223372036854775807");
    FLAT_OPTION(flat_options.group_count, 0, OUT_OF_RANGE, "options.group_frames", "group_count 0");
    FLAT_OPTION(flat_options.group_count, 1, OUT_OF_RANGE, "group_frames add up to 1", "2 frames");
    FLAT_OPTION(flat_options.group_frames, NULL, NULL_POINTER, "options.group_frames is NULL");
    FLAT_OPTION(flat_options.group_positions, NULL, NULL_POINTER, "options.group_positions is NULL");
    FLAT_OPTION(group_frames[1], 2, OUT_OF_RANGE, "options.group_frames add up to 3", "flats has 2");
    FLAT_OPTION(group_frames[1], 0, OUT_OF_RANGE, "options.group_frames[1] is 0");
    FLAT_OPTION(group_frames[0], -1, OUT_OF_RANGE, "options.group_frames[0] is -1");
    FLAT_OPTION(group_frames[0], INT64_MAX, OUT_OF_RANGE, "options.group_frames[0]", "9223372036854775807");
    FLAT_OPTION(group_positions[1], 0.0, OUT_OF_RANGE, "options.group_positions[1] is 0 after 0", "two groups at one place");
    FLAT_OPTION(group_positions[0], 24.0, OUT_OF_RANGE, "two groups at one place");
    BAD("flat field: positions that descend", (flats_in_time(s), s->group_positions[0] = 9.0, s->group_positions[1] = 4.0),
        SET_FLAT_OPTIONS, OUT_OF_RANGE, "options.group_positions[1] is 4 after 9", "ascend");
    FLAT_OPTION(group_positions[0], -0.5, OUT_OF_RANGE, "options.group_positions[0] is -0.5", "outside the scan", "0 to 24");
    FLAT_OPTION(group_positions[1], 24.5, OUT_OF_RANGE, "options.group_positions[1] is 24.5", "outside the scan", "0 to 24");
    FLAT_OPTION(group_positions[1], NAN, NOT_FINITE_PARAMETER, "options.group_positions[1] is NaN", "finite");
    FLAT_OPTION(group_positions[0], -INFINITY, NOT_FINITE_PARAMETER, "options.group_positions[0] is -inf");
    FLAT_OPTION(group_monitor[1], 0.0, OUT_OF_RANGE, "options.group_monitor[1] is 0", "above 0");
    FLAT_OPTION(group_monitor[0], NAN, NOT_FINITE_PARAMETER, "options.group_monitor[0] is NaN", "finite");
    FLAT_OPTION(monitor[7], -1.0, OUT_OF_RANGE, "options.monitor[7] is -1", "above 0");
    FLAT_OPTION(monitor[23], INFINITY, NOT_FINITE_PARAMETER, "options.monitor[23] is inf", "finite");
    FLAT_OPTION(flat_options.monitor_count, VIEWS - 1, OUT_OF_RANGE, "options.monitor_count is 23", "24");
    FLAT_OPTION(flat_options.monitor_count, -1, OUT_OF_RANGE, "options.monitor_count is -1", "24");
    FLAT_OPTION(flat_options.monitor, NULL, NULL_POINTER, "options.monitor is NULL", "group_monitor");
    BAD("flat field: a number of views without a monitor", (flats_in_time(s), s->flat_options.monitor = NULL, s->flat_options.group_monitor = NULL),
        SET_FLAT_OPTIONS, NULL_POINTER, "options.monitor is NULL", "monitor_count 24");
    FLAT_OPTION(flat_options.bad_pixels, NAN, NOT_FINITE_PARAMETER, "options.bad_pixels is NaN", "finite");
    FLAT_OPTION(flat_options.bad_pixels, 0.5, OUT_OF_RANGE, "options.bad_pixels is 0.5", "1 to 1e6");
    FLAT_OPTION(flat_options.bad_pixels, -10.0, OUT_OF_RANGE, "options.bad_pixels is -10", "1 to 1e6");
    BAD("flat field: its outliers are checked", (flats_in_time(s), s->flat_options.outliers = &s->outliers, s->outliers.window = 4),
        SET_FLAT_OPTIONS, OUT_OF_RANGE, "outliers.window is 4", "3 or 5");
    BAD("flat field: size of its outliers", (flats_in_time(s), s->flat_options.outliers = &s->outliers, s->outliers.struct_size = 4),
        SET_FLAT_OPTIONS, STRUCT_SIZE, "isoc_ct_outliers");
    BAD("flat field: options without flats", flats_in_time(s), isoc_ct_set_flat_field(s->ct, NULL, NULL, &s->flat_options), NULL_POINTER,
        "flats is NULL", "options");
    BAD("flat field: a flat of a group equal to dark", (flats_in_time(s), s->flats[FRAME_SIZE + 5] = 50), SET_FLAT_OPTIONS, FLAT_FIELD,
        "flats[0, 5] is 50", "in group 1", "above darks, 100 there");
    GOOD("reconstruct: flats in time", (flats_in_time(s), check_ok("flats", SET_FLAT_OPTIONS), flat_counts(s)), call_reconstruct(s->ct, s),
         near(s->volume, s->volume, VOLUME_SIZE, 0.0));
    GOOD("reconstruct: medians without outliers, bad pixels",
         (flats_in_time(s), set_flats(s, 1, 5, 3), s->flat_options.outliers = &s->outliers, s->flat_options.bad_pixels = 10.0,
          s->flat_options.combine = ISOC_CT_COMBINE_MEDIAN, check_ok("flats", SET_FLAT_OPTIONS), flat_counts(s)),
         call_reconstruct(s->ct, s),
         near(s->volume, s->volume, VOLUME_SIZE, 0.0) && call_get_info(s->ct, s) == ISOC_STATUS_OK && s->info.bad_pixels == 1);
    GOOD("flat field: all in one group", (flats_in_time(s), s->flat_options.group_count = 1, s->group_frames[0] = 2, s->group_positions[0] = 3.5),
         SET_FLAT_OPTIONS, 1);
    BAD("reconstruct: flats in time of another number of views",
        (flats_in_time(s), check_ok("flats", SET_FLAT_OPTIONS), s->geometry.views = VIEWS - 1, use_geometry(s), flat_counts(s),
         s->shape[PROJECTIONS][0] = VIEWS - 1),
        call_reconstruct(s->ct, s), FLAT_FIELD, "isoc_ct_set_flat_field comes first");
}

/* Flats with waves of several strengths, and what is found of them in frames. */
enum { DRIFTING = 6, ROOM = 3 };
static uint16_t drifting[DRIFTING * FRAME_SIZE];
static isoc_ct_flat_fit_options fit_options;
static isoc_ct_flat_fit found_fit;
static double fit_explained[ROOM], fit_weights[VIEWS * ROOM];

static isoc_status call_fit(scan *s) {
    return isoc_ct_fit_flat_field(s->ct, &s->t[PROJECTIONS], 0, &fit_options, &found_fit);
}

static void flats_that_drift(scan *s) {
    const int strengths[DRIFTING] = { 30, -30, 20, -20, 10, -10 };
    for (int k = 0; k < DRIFTING * FRAME_SIZE; k++)
        drifting[k] = (uint16_t)(2000 + strengths[k / FRAME_SIZE] * (k % 8 < 4 ? 1 : -1));
    s->t[FLATS].data = drifting;
    set_shape(s, FLATS, DRIFTING, ROWS, BINS);
    memset(&s->flat_options, 0, sizeof s->flat_options);
    s->flat_options.struct_size = sizeof s->flat_options, s->flat_options.eigenflats = 2;
    check_ok("flats that drift", SET_FLAT_OPTIONS);
    flat_counts(s);
    memset(&fit_options, 0, sizeof fit_options);
    memset(&found_fit, 0, sizeof found_fit);
    fit_options.struct_size = sizeof fit_options, found_fit.struct_size = sizeof found_fit;
    found_fit.explained = fit_explained, found_fit.weights = fit_weights;
    found_fit.component_count = ROOM, found_fit.weight_count = VIEWS * ROOM;
    s->afterwards = SET_UP_ANEW;
}

#define FIT(name, spoil, status, ...) BAD("fit: " name, (flats_that_drift(s), spoil), call_fit(s), status, __VA_ARGS__)

static void eigenflats(void) {
    FLAT_OPTION(flat_options.eigenflats, -1, OUT_OF_RANGE, "options.eigenflats is -1");
    FLAT_OPTION(flat_options.eigenflats, 21, OUT_OF_RANGE, "options.eigenflats is 21", "0 to 20");
    FLAT_OPTION(flat_options.eigenflats, INT64_MAX, OUT_OF_RANGE, "options.eigenflats", "9223372036854775807");
    FLAT_OPTION(flat_options.eigenflats, 1, OUT_OF_RANGE, "options.eigenflats is 1", "4 flats or more in 2 groups", "flats has 2");
    BAD("flat field: eigenflats of few flats", (flats_that_drift(s), s->flat_options.eigenflats = 5), SET_FLAT_OPTIONS, OUT_OF_RANGE,
        "options.eigenflats is 5", "7 flats or more", "flats has 6");
    FIT("size of options", fit_options.struct_size = 4, STRUCT_SIZE, "isoc_ct_flat_fit_options.struct_size is 4");
    FIT("size of what is found", found_fit.struct_size = 0, STRUCT_SIZE, "isoc_ct_flat_fit.struct_size is 0");
    FIT("binning below 0", fit_options.binning = -1, OUT_OF_RANGE, "options.binning is -1");
    FIT("blocks as large as the detector", fit_options.binning = 20, OUT_OF_RANGE, "options.binning is 20", "1 x 2 pixels", "1 eigenflats need 8");
    FIT("room for too many", found_fit.component_count = 21, OUT_OF_RANGE, "found.component_count is 21");
    FIT("no room", (found_fit.component_count = 0, found_fit.weights = NULL, found_fit.weight_count = 0), OUT_OF_RANGE,
        "found.component_count is 0", "found.explained");
    FIT("too few weights", found_fit.weight_count = VIEWS, OUT_OF_RANGE, "found.weight_count is 24", "72 for 24 views of 3");
    FIT("a number of no weights", found_fit.weights = NULL, OUT_OF_RANGE, "found.weight_count is 72", "0 without found.weights");
    FIT("more views than the scan", (set_shape(s, PROJECTIONS, VIEWS + 1, ROWS, BINS)), OUT_OF_RANGE, "projections.shape[0]", "25");
    FIT("no views", (set_shape(s, PROJECTIONS, 0, ROWS, BINS)), OUT_OF_RANGE, "projections.shape[0]", "0");
    FIT("another row", (set_shape(s, PROJECTIONS, VIEWS, ROWS - 1, BINS)), TENSOR_SHAPE, "projections");
    FIT("f32 of unknown kind", (s->t[PROJECTIONS].dtype.code = ISOC_DTYPE_FLOAT, s->t[PROJECTIONS].dtype.bits = 32), FLAT_FIELD,
        "projections are F32", "options.input");
    FIT("transmissions", (s->t[PROJECTIONS].dtype.code = ISOC_DTYPE_FLOAT, s->t[PROJECTIONS].dtype.bits = 32, use_input(s, ISOC_CT_INPUT_TRANSMISSION)),
        FLAT_FIELD, "by options.input no counts");
    FIT("no flat field", check_ok("none", isoc_ct_set_flat_field(s->ct, NULL, NULL, NULL)), FLAT_FIELD, "isoc_ct_set_flat_field comes first");
    FIT("flats without eigenflats", (s->flat_options.eigenflats = 0, check_ok("flats", SET_FLAT_OPTIONS)), FLAT_FIELD, "has no eigenflats");
    BAD("fit: a view beyond the scan", flats_that_drift(s),
        isoc_ct_fit_flat_field(s->ct, &s->t[PROJECTIONS], VIEWS, NULL, NULL), OUT_OF_RANGE, "first_view is 24");
    BAD("fit: a view before the scan", flats_that_drift(s), isoc_ct_fit_flat_field(s->ct, &s->t[PROJECTIONS], -1, NULL, NULL),
        OUT_OF_RANGE, "first_view is -1");
    BAD("fit: views that end beyond the scan", flats_that_drift(s), isoc_ct_fit_flat_field(s->ct, &s->t[PROJECTIONS], 1, NULL, NULL),
        OUT_OF_RANGE, "first_view is 1 and projections have 24 views");
    BAD("fit: projections NULL", flats_that_drift(s), isoc_ct_fit_flat_field(s->ct, NULL, 0, NULL, NULL), NULL_POINTER, "projections");
    BAD("fit: plan NULL", flats_that_drift(s), isoc_ct_fit_flat_field(NULL, &s->t[PROJECTIONS], 0, NULL, NULL), NULL_POINTER, "isoc_ct");
    BAD("reconstruct: before the fit", flats_that_drift(s), call_reconstruct(s->ct, s), FLAT_FIELD, "views[0] is not known",
        "isoc_ct_fit_flat_field");
    BAD("reconstruct: the fit's last view is missing",
        (flats_that_drift(s), set_shape(s, PROJECTIONS, VIEWS - 1, ROWS, BINS),
         check_ok("fit", isoc_ct_fit_flat_field(s->ct, &s->t[PROJECTIONS], 0, NULL, NULL)), set_shape(s, PROJECTIONS, VIEWS, ROWS, BINS)),
        call_reconstruct(s->ct, s), FLAT_FIELD, "views[23] is not known");
    GOOD("fit: what is found", flats_that_drift(s), call_fit(s),
         found_fit.components == 1 && fit_explained[0] > 0.99 && fit_explained[1] == 0 && fit_weights[1] == 0 && fit_weights[2] == 0
             && found_fit.variation_after <= found_fit.variation_before && found_fit.variation_before > 0
             && call_reconstruct(s->ct, s) == ISOC_STATUS_OK);
    GOOD("fit: nothing asked for", flats_that_drift(s), isoc_ct_fit_flat_field(s->ct, &s->t[PROJECTIONS], 0, NULL, NULL),
         call_reconstruct(s->ct, s) == ISOC_STATUS_OK);
    GOOD("fit: flats that do not differ", (flats_that_drift(s), memset(drifting, 7, sizeof drifting), check_ok("flats", SET_FLAT_OPTIONS)),
         call_fit(s), found_fit.components == 0 && call_reconstruct(s->ct, s) == ISOC_STATUS_OK);
}

static void flat_fields(void) {
    eigenflats();
    BAD("flat equal to dark", set_flats(s, 1, 5, s->darks[BINS + 5]), SET_FLAT_FIELD, FLAT_FIELD,
        "flats[1, 5] is 102 on average", "above darks, 102 there");
    BAD("flat below dark", set_flats(s, 0, 31, 3), SET_FLAT_FIELD, FLAT_FIELD, "flats[0, 31] is 3 on average",
        "above dark");
    BAD("flat 0 without darks", set_flats(s, 0, 0, 0), isoc_ct_set_flat_field(s->ct, &s->t[FLATS], NULL, NULL),
        FLAT_FIELD, "flats[0, 0] is 0 on average", "above darks, 0 there");
    BAD("darks without flats", NOTHING, isoc_ct_set_flat_field(s->ct, NULL, &s->t[DARKS], NULL), NULL_POINTER,
        "flats is NULL", "darks");
    BAD("NaN in the flats", float_flats(s, NAN), SET_FLAT_FIELD, NOT_FINITE_DATA, "flats[1, 5]", "NaN",
        "finite");
    BAD("Inf in the flats", float_flats(s, INFINITY), SET_FLAT_FIELD, NOT_FINITE_DATA, "flats[1, 5]", "inf");
    BAD("no flat frames", s->shape[FLATS][0] = 0, SET_FLAT_FIELD, OUT_OF_RANGE, "flats.shape[0]", "is 0", "1");
    BAD("-1 dark frames", s->shape[DARKS][0] = -1, SET_FLAT_FIELD, OUT_OF_RANGE, "darks.shape[0]", "is -1", "1");
    BAD("2^40 flat frames", s->shape[FLATS][0] = far_too_many, SET_FLAT_FIELD, OUT_OF_RANGE,
        "flats.shape[0]", "1099511627776", "1048576");
    BAD("2^63 - 1 dark frames", s->shape[DARKS][0] = INT64_MAX, SET_FLAT_FIELD, OUT_OF_RANGE,
        "darks.shape[0]", "9223372036854775807", "1048576");

    const isoc_dtype counts[] = { u16, u8 };
    for (size_t k = 0; k < COUNT_OF(counts); k++) {
        const char *seen = k == 0 ? "is U16" : "is U8";
        BAD("reconstruct: raw counts without a flat field", raw(s, counts[k]), call_reconstruct(s->ct, s),
            FLAT_FIELD, "projections", "isoc_ct_set_flat_field comes first");
        BAD("filter: raw counts without a flat field", raw(s, counts[k]), call_filter(s->ct, s),
            FLAT_FIELD, "projections", "isoc_ct_set_flat_field comes first");
        GOOD("reconstruct: raw counts, the flat field of the geometry before",
             (use_flat_field(s), use_geometry(s), raw(s, counts[k])), call_reconstruct(s->ct, s),
             near(s->volume, s->volume, VOLUME_SIZE, 0.0));
        BAD("reconstruct: counts as transmissions", (use_input(s, ISOC_CT_INPUT_TRANSMISSION), raw(s, counts[k])),
            call_reconstruct(s->ct, s), TENSOR_DTYPE, "projections", "transmission", "F32");
        BAD("filter: counts as line integrals", (use_input(s, ISOC_CT_INPUT_LINE_INTEGRALS), raw(s, counts[k])),
            call_filter(s->ct, s), TENSOR_DTYPE, "projections", "3 (line_integrals)", "F32");
        BAD("backproject: raw counts", (use_flat_field(s), raw(s, counts[k])), call_backproject(s->ct, s),
            TENSOR_DTYPE, "projections.dtype", seen, "F32");
        BAD("adjoint: raw counts", (use_flat_field(s), raw(s, counts[k])), call_adjoint(s->ct, s),
            TENSOR_DTYPE, "projections.dtype", seen, "F32");
        BAD("forward: volume of counts", s->t[VOLUME].dtype = counts[k], call_forward(s->ct, s),
            TENSOR_DTYPE, "volume.dtype", seen, "F32");
        GOOD("reconstruct: raw counts", (use_flat_field(s), raw(s, counts[k])), call_reconstruct(s->ct, s),
             near(s->volume, s->volume, VOLUME_SIZE, 0.0) && still_works(s));
    }
    BAD("reconstruct: raw counts, flat field forgotten",
        (use_flat_field(s), check_ok("no flat field", isoc_ct_set_flat_field(s->ct, NULL, NULL, NULL)), raw(s, u16)),
        call_reconstruct(s->ct, s), FLAT_FIELD, "projections", "isoc_ct_set_flat_field comes first");
    GOOD("set_flat_field: one flat frame in two dimensions, no darks", (set_shape(s, FLATS, ROWS, BINS, -1),
        s->t[FLATS].ndim = 2),
         isoc_ct_set_flat_field(s->ct, &s->t[FLATS], NULL, NULL), 1);

    BAD("reconstruct: f32 with a flat field", use_flat_field(s), call_reconstruct(s->ct, s), FLAT_FIELD, "projections are F32",
        "counts or line integrals", "forget the flat field");
    BAD("filter: f32 with a flat field", use_flat_field(s), call_filter(s->ct, s), FLAT_FIELD, "projections are F32",
        "counts or line integrals", "forget the flat field");
    BAD("reconstruct: f32 counts without a flat field", use_input(s, ISOC_CT_INPUT_COUNTS), call_reconstruct(s->ct, s),
        FLAT_FIELD, "F32 counts", "isoc_ct_set_flat_field comes first");
    GOOD("reconstruct: line integrals with a flat field", (use_flat_field(s), use_input(s, ISOC_CT_INPUT_LINE_INTEGRALS)),
         call_reconstruct(s->ct, s), near(s->volume, usual_volume(s->ctx), VOLUME_SIZE, 1e-5));
    GOOD("reconstruct: transmissions with a flat field", (use_flat_field(s), use_input(s, ISOC_CT_INPUT_TRANSMISSION)),
         call_reconstruct(s->ct, s), finite_values(s->volume, VOLUME_SIZE));
    GOOD("backproject: f32 with a flat field", use_flat_field(s), call_backproject(s->ct, s), 1);
    BAD("set_geometry: the flat field cannot correct a row that is now used",
        (s->geometry.first_row = 1, s->geometry.slices = 1, use_geometry(s), set_flats(s, 0, 3, 0), use_flat_field(s),
         s->geometry.first_row = 0, s->geometry.slices = 0), call_set_geometry(s->ct, s), FLAT_FIELD, "flats[0, 3]",
        "forget the flat field");

    /* Quotients that overflow are numbers all the same. */
    GOOD("reconstruct: a flat barely above its dark",
         (float_flats(s, 1e-40f), use_flat_without_darks(s), use_input(s, ISOC_CT_INPUT_COUNTS), memset(s->projections, 0,
             PROJECTION_SIZE * sizeof(float))),
         call_reconstruct(s->ct, s), finite_values(s->volume, VOLUME_SIZE));
    GOOD("reconstruct: the largest counts over a small flat",
         (float_flats(s, 0.01f), use_flat_without_darks(s), use_input(s, ISOC_CT_INPUT_COUNTS), s->projections[5] = s->projections[BINS + 5] = FLT_MAX),
         call_reconstruct(s->ct, s), finite_values(s->volume, VOLUME_SIZE));

    flat_options();

    /* With the other policy a pixel without a usable flat is 0 in every view. */
    GOOD_IN(lenient, "flat equal to dark, replaced", (set_flats(s, 1, 5, 100), use_flat_field(s), raw(s, u16)),
            call_reconstruct(s->ct, s), replaced(s) == VIEWS && near(s->volume, s->volume, VOLUME_SIZE, 0.0));
    GOOD_IN(lenient, "NaN in the flats, replaced", (float_flats(s, NAN), use_flat_field(s), raw(s, u16)),
            call_filter(s->ct, s), replaced(s) == VIEWS && near(s->filtered, s->filtered, PROJECTION_SIZE, 0.0));
    GOOD_IN(lenient, "NaN where the flat is equal to dark: one value, counted once",
            (set_flats(s, 1, 17, 100), use_flat_field(s), use_input(s, ISOC_CT_INPUT_COUNTS), s->projections[(3 * ROWS + 1) * BINS + 17] = NAN),
            call_reconstruct(s->ct, s), replaced(s) == VIEWS);
}

/* --- how the volume is stored --- */

/* A field of the output, its bad value, the status, and words besides the field's name. */
#define OUTPUT(field, value, status, ...) \
    BAD("output." #field " = " #value, (s->output.dtype = ISOC_CT_OUTPUT_TYPE_U16, s->output.field = (value)), call_set_output(s->ct, s), status, #field, __VA_ARGS__)
/* Two of them. */
#define WINDOW(low_field, low_value, high_field, high_value, status, ...)                                                    \
    BAD("output: " #low_field " = " #low_value ", " #high_field " = " #high_value,                                           \
        (s->output.dtype = ISOC_CT_OUTPUT_TYPE_U8, s->output.low_field = (low_value), s->output.high_field = (high_value)), \
        call_set_output(s->ct, s), status, __VA_ARGS__)

static void use_output(scan *s, isoc_ct_output_type dtype, double low, double high) {
    s->output.dtype = (uint32_t)dtype, s->output.low = low, s->output.high = high;
    check_ok("isoc_ct_set_output", isoc_ct_set_output(s->ct, &s->output));
    s->afterwards = SET_UP_ANEW;
}

/* The volume's tensor over the same memory, of another type. */
static void volume_of(scan *s, isoc_dtype dtype) { s->t[VOLUME].dtype = dtype; }

static void zero_projections(scan *s) { memset(s->projections, 0, PROJECTION_SIZE * sizeof(float)); }

/* Every stored number is the one that its value in the usual volume gives. */
static int stored_as_u16(scan *s, double low, double high) {
    const uint16_t *stored = (const uint16_t *)(const void *)s->volume;
    const float *usual = usual_volume(s->ctx);
    for (int k = 0; k < VOLUME_SIZE; k++) {
        double x = ((double)usual[k] - low) * (65535 / (high - low));
        x = x < 0 ? 0 : x > 65535 ? 65535 : x;
        if (fabs((double)stored[k] - x) > 0.5)
            return 0;
    }
    return 1;
}

static void outputs(void) {
    const isoc_dtype f16 = ISOC_F16, f32 = ISOC_F32, f64 = ISOC_F64, u8 = ISOC_U8, u16 = ISOC_U16;
    char size[32];
    snprintf(size, sizeof size, "%zu", sizeof(isoc_ct_output));
    OUTPUT(struct_size, 0, STRUCT_SIZE, "isoc_ct_output", "is 0", size);
    OUTPUT(struct_size, sizeof s->output - 8, STRUCT_SIZE, size);
    OUTPUT(struct_size, sizeof s->output + 8, STRUCT_SIZE, size);
    OUTPUT(dtype, 4, UNKNOWN_VALUE, "is 4", "0 to 3", "isoc_ct_output_type");
    OUTPUT(dtype, UINT32_MAX, UNKNOWN_VALUE, "4294967295", "0 to 3");
    WINDOW(low, NAN, high, 1.0, NOT_FINITE_PARAMETER, "output.low is NaN", "finite");
    WINDOW(low, 0.0, high, INFINITY, NOT_FINITE_PARAMETER, "output.high is inf", "finite");
    WINDOW(low, 2.0, high, 1.0, OUT_OF_RANGE, "output.low is 2.0", "output.high is 1.0", "below");
    WINDOW(low, 1.5, high, 1.5, OUT_OF_RANGE, "output.low is 1.5", "output.high is 1.5", "below");
    WINDOW(low, 1.0, high, 0.0, OUT_OF_RANGE, "output.low is 1.0", "output.high is 0.0", "below");
    WINDOW(low, -1e39, high, 0.0, OUT_OF_RANGE, "output.low is -1e39", "3.4028235e38");
    WINDOW(low, 0.0, high, 1e-300, OUT_OF_RANGE, "output.high - output.low is 1e-300", "1.2e-38 or more");
    WINDOW(low_percentile, 99.0, high_percentile, 1.0, OUT_OF_RANGE, "output.low_percentile is 99.0", "high_percentile is 1.0", "below");
    WINDOW(low_percentile, 1.0, high_percentile, 0.0, OUT_OF_RANGE, "output.low_percentile is 1.0", "below");
    WINDOW(low_percentile, 50.0, high_percentile, 50.0, OUT_OF_RANGE, "output.low_percentile is 50.0", "below");
    WINDOW(low_percentile, -0.1, high_percentile, 99.0, OUT_OF_RANGE, "output.low_percentile is -0.1", "0 to 100");
    WINDOW(low_percentile, 0.0, high_percentile, 100.1, OUT_OF_RANGE, "output.high_percentile is 100.1", "0 to 100");
    WINDOW(low_percentile, NAN, high_percentile, 99.0, NOT_FINITE_PARAMETER, "output.low_percentile is NaN", "finite");
    BAD("output: percentiles with a window", (s->output.dtype = 1, s->output.high = 1.0, s->output.high_percentile = 99.0),
        call_set_output(s->ct, s), OUT_OF_RANGE, "output.high_percentile is 99.0", "must be 0 where output.low", "are given");
    OUTPUT(histogram_slices, -2, OUT_OF_RANGE, "is -2", "-1 for all");
    OUTPUT(histogram_slices, INT64_MIN, OUT_OF_RANGE, "-1 for all");
    OUTPUT(mask_radius, -1.0, OUT_OF_RANGE, "is -1.0", "0 to 1.5", "0 for no mask");
    OUTPUT(mask_radius, 2.0, OUT_OF_RANGE, "is 2.0", "0 to 1.5");
    OUTPUT(mask_radius, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    OUTPUT(mask_value, -INFINITY, NOT_FINITE_PARAMETER, "-inf", "finite");
    OUTPUT(mask_value, 1e39, OUT_OF_RANGE, "is 1e39");
    OUTPUT(histogram_bins, -1, OUT_OF_RANGE, "is -1", "0 to 65536");
    OUTPUT(histogram_bins, 65537, OUT_OF_RANGE, "is 65537", "0 to 65536");
    OUTPUT(histogram_bins, INT64_MAX, OUT_OF_RANGE, "0 to 65536");

    /* The volume has the type that was set, in reconstruct alone. */
    const isoc_dtype others[] = { f32, f64, u8, f16 };
    for (size_t k = 0; k < COUNT_OF(others); k++)
        BAD("reconstruct: a volume of another type than was set", (use_output(s, ISOC_CT_OUTPUT_TYPE_U16, 0.0, 1.0), volume_of(s, others[k])),
            call_reconstruct(s->ct, s), TENSOR_DTYPE, "volume.dtype", "[U16]");
    BAD("reconstruct: u16 without isoc_ct_set_output", volume_of(s, u16), call_reconstruct(s->ct, s), TENSOR_DTYPE, "volume.dtype is U16", "[F32]");
    BAD("backproject: the type that was set", (use_output(s, ISOC_CT_OUTPUT_TYPE_U16, 0.0, 1.0), volume_of(s, u16)),
        call_backproject(s->ct, s), TENSOR_DTYPE, "volume.dtype is U16", "[F32]");
    GOOD("backproject: f32 as ever", use_output(s, ISOC_CT_OUTPUT_TYPE_U16, 0.0, 1.0), call_backproject(s->ct, s), 1);
    BAD("reconstruct: percentiles of one value", (use_output(s, ISOC_CT_OUTPUT_TYPE_U8, 0.0, 0.0), volume_of(s, u8), zero_projections(s)),
        call_reconstruct(s->ct, s), OUT_OF_RANGE, "percentiles 0.1 and 99.9", "both 0.0", "zero width", "output.low");
    BAD("reconstruct: no pixel inside the mask", (s->output.mask_radius = 1e-9, use_output(s, ISOC_CT_OUTPUT_TYPE_F32, 0.0, 0.0)),
        call_reconstruct(s->ct, s), OUT_OF_RANGE, "output.mask_radius is 1e-9", "no pixel is inside");
    BAD("reconstruct: NaN, found by the pass for percentiles",
        (use_output(s, ISOC_CT_OUTPUT_TYPE_U8, 0.0, 0.0), volume_of(s, u8), s->projections[7] = NAN), call_reconstruct(s->ct, s),
        NOT_FINITE_DATA, "projections[0, 0, 7] is NaN");

    int64_t there = -7, counts[4] = { 0 };
    BAD("get_output: before a reconstruction", NOTHING, isoc_ct_get_output(s->ct, &s->written), NOT_CONFIGURED, "isoc_ct_set_output");
    BAD("get_histogram: before a reconstruction", NOTHING, isoc_ct_get_histogram(s->ct, NULL, 0, &there), NOT_CONFIGURED, "isoc_ct_set_output");
    BAD("get_output: NULL", (call_reconstruct(s->ct, s), good_data(s)), isoc_ct_get_output(s->ct, NULL), NULL_POINTER, "isoc_ct_output_info");
    BAD("get_output: struct_size", (call_reconstruct(s->ct, s), good_data(s), s->written.struct_size -= 8),
        isoc_ct_get_output(s->ct, &s->written), STRUCT_SIZE, "isoc_ct_output_info");
    BAD("get_output: no plan", NOTHING, isoc_ct_get_output(NULL, &s->written), NULL_POINTER, "isoc_ct handle is NULL");
    BAD("get_histogram: no plan", NOTHING, isoc_ct_get_histogram(NULL, counts, 4, &there), NULL_POINTER, "isoc_ct handle is NULL");
    BAD("get_histogram: room for fewer",
        (s->output.histogram_bins = 5, use_output(s, ISOC_CT_OUTPUT_TYPE_F32, 0.0, 1.0), call_reconstruct(s->ct, s), good_data(s)),
        isoc_ct_get_histogram(s->ct, counts, 4, &there), OUT_OF_RANGE, "capacity is 4", "5");

    GOOD("reconstruct: u16", (use_output(s, ISOC_CT_OUTPUT_TYPE_U16, -0.1, 2.0), volume_of(s, u16)), call_reconstruct(s->ct, s),
         stored_as_u16(s, -0.1, 2.0) && isoc_ct_get_output(s->ct, &s->written) == ISOC_STATUS_OK && s->written.dtype == ISOC_CT_OUTPUT_TYPE_U16
             && fabs(s->written.slope * 65535 - 2.1) < 1e-12 && s->written.offset == -0.1 && s->written.low == -0.1 && s->written.high == 2.0
             && s->written.histogram_slices == 0 && s->written.struct_size == sizeof s->written);
    GOOD("reconstruct: u16 from percentiles",
         (s->output.histogram_bins = 4, use_output(s, ISOC_CT_OUTPUT_TYPE_U16, 0.0, 0.0), volume_of(s, u16)), call_reconstruct(s->ct, s),
         isoc_ct_get_output(s->ct, &s->written) == ISOC_STATUS_OK && stored_as_u16(s, s->written.low, s->written.high)
             && s->written.histogram_slices == SLICES && isoc_ct_get_histogram(s->ct, counts, 4, &there) == ISOC_STATUS_OK && there == 4
             && counts[0] + counts[1] + counts[2] + counts[3] == VOLUME_SIZE);
    GOOD("reconstruct: f16", (use_output(s, ISOC_CT_OUTPUT_TYPE_F16, 0.0, 0.0), volume_of(s, f16)), call_reconstruct(s->ct, s),
         isoc_ct_get_output(s->ct, &s->written) == ISOC_STATUS_OK && s->written.slope == 1.0 && s->written.clipped_high == 0
             && isoc_ct_get_histogram(s->ct, NULL, 0, &there) == ISOC_STATUS_OK && there == 0);
    GOOD("reconstruct: f32 again", (use_output(s, ISOC_CT_OUTPUT_TYPE_U16, 0.0, 1.0), check_ok("NULL", isoc_ct_set_output(s->ct, NULL))),
         call_reconstruct(s->ct, s), near(s->volume, usual_volume(strict), VOLUME_SIZE, 1e-6));
}

/* --- the search for the axis --- */

static isoc_ct_axis_options axis_options;
static isoc_ct_axis found_axis;

static isoc_status call_find_axis(scan *s) {
    return isoc_ct_find_axis(s->ct, &s->t[PROJECTIONS], &axis_options, &found_axis);
}

/* Good arguments but for one field. */
#define AXIS(name, place, value, status, ...)                                 \
    do {                                                                      \
        memset(&axis_options, 0, sizeof axis_options);                        \
        memset(&found_axis, 0, sizeof found_axis);                            \
        axis_options.struct_size = sizeof axis_options;                       \
        found_axis.struct_size = sizeof found_axis;                           \
        place = (value);                                                      \
        BAD("find_axis: " name, NOTHING, call_find_axis(s), status, __VA_ARGS__); \
    } while (0)

static void axes(void) {
    AXIS("struct_size 0", axis_options.struct_size, 0, STRUCT_SIZE, "isoc_ct_axis_options.struct_size is 0");
    AXIS("found's struct_size 0", found_axis.struct_size, 0, STRUCT_SIZE, "isoc_ct_axis.struct_size is 0");
    AXIS("method", axis_options.method, 4, UNKNOWN_VALUE, "options.method is 4", "0 to 3");
    AXIS("rows", axis_options.rows, -1, OUT_OF_RANGE, "options.rows is -1");
    axis_options.rows = 0, axis_options.method = ISOC_CT_AXIS_METHOD_SHARPNESS, axis_options.tilt = 1;
    BAD("find_axis: tilt with sharpness", NOTHING, call_find_axis(s), OUT_OF_RANGE, "options.tilt", "sharpness");
    AXIS("curve without memory", found_axis.curve_count, 5, NULL_POINTER, "found.curve is NULL", "5");
    AXIS("curve of no length", found_axis.curve_count, -1, OUT_OF_RANGE, "found.curve_count is -1");
    BAD("find_axis: found NULL", NOTHING, isoc_ct_find_axis(s->ct, &s->t[PROJECTIONS], NULL, NULL), NULL_POINTER,
        "isoc_ct_axis is NULL");
    found_axis.curve_count = 0;
    BAD("find_axis: projections NULL", NOTHING, isoc_ct_find_axis(s->ct, NULL, NULL, &found_axis), NULL_POINTER,
        "projections");
    BAD("find_axis: plan NULL", NOTHING, isoc_ct_find_axis(NULL, &s->t[PROJECTIONS], NULL, &found_axis), NULL_POINTER,
        "isoc_ct");
}

/* --- bad views --- */

static uint32_t view_faults[VIEWS];

static isoc_status find_bad_views(scan *s) {
    memset(view_faults, 7, sizeof view_faults);
    return isoc_ct_find_bad_views(s->ct, &s->t[PROJECTIONS], view_faults, VIEWS);
}

static void bad_views(void) {
    BAD("find_bad_views: faults NULL", NOTHING, isoc_ct_find_bad_views(s->ct, &s->t[PROJECTIONS], NULL, VIEWS), NULL_POINTER, "faults is NULL");
    BAD("find_bad_views: too little room", NOTHING, isoc_ct_find_bad_views(s->ct, &s->t[PROJECTIONS], view_faults, VIEWS - 1), OUT_OF_RANGE,
        "view_count is", "number of views");
    BAD("find_bad_views: too much room", NOTHING, isoc_ct_find_bad_views(s->ct, &s->t[PROJECTIONS], view_faults, INT64_MAX), OUT_OF_RANGE,
        "view_count is", "number of views");
    BAD("find_bad_views: projections NULL", NOTHING, isoc_ct_find_bad_views(s->ct, NULL, view_faults, VIEWS), NULL_POINTER, "projections");
    BAD("find_bad_views: counts without a flat field", s->t[PROJECTIONS].dtype = u16, find_bad_views(s), FLAT_FIELD,
        "isoc_ct_set_flat_field");
    BAD("find_bad_views: another shape", set_shape(s, PROJECTIONS, VIEWS, ROWS, BINS - 1), find_bad_views(s), TENSOR_SHAPE, "projections");
    GOOD("find_bad_views: the phantom", NOTHING, find_bad_views(s), view_faults[0] == ISOC_CT_VIEW_FAULT_NONE && view_faults[VIEWS - 1] == ISOC_CT_VIEW_FAULT_NONE);
    GOOD("find_bad_views: a view without numbers", for (int k = 0; k < ROWS * BINS; k++) s->projections[ROWS * BINS + k] = NAN, find_bad_views(s),
         view_faults[0] == ISOC_CT_VIEW_FAULT_NONE && view_faults[1] == ISOC_CT_VIEW_FAULT_NOT_FINITE);
}

/* --- the weight of total variation --- */

/* Noise of a uniform distribution, of deviation 1 / sqrt(12), that is the same every time. */
static void noisy_projections(scan *s) {
    uint32_t state = 1;
    for (int k = 0; k < PROJECTION_SIZE; k++)
        state = state * 1664525u + 1013904223u, s->projections[k] = (float)(state >> 8) / (float)(1 << 24);
}

static void suggestions(void) {
    BAD("suggest_regularisation: weight NULL", NOTHING, isoc_ct_suggest_regularisation(s->ct, &s->t[PROJECTIONS], NULL, &s->noise), NULL_POINTER,
        "weight is NULL");
    BAD("suggest_regularisation: projections NULL", NOTHING, isoc_ct_suggest_regularisation(s->ct, NULL, &s->suggested, &s->noise), NULL_POINTER,
        "projections");
    BAD("suggest_regularisation: too few bins",
        (s->geometry.bins = 15, set_shape(s, PROJECTIONS, VIEWS, ROWS, 15), use_geometry(s)), call_suggest_regularisation(s->ct, s),
        OUT_OF_RANGE, "geometry.bins is 15", "at least 16");
    BAD("suggest_regularisation: after phase retrieval", (paganin(s), use_phase(s)), call_suggest_regularisation(s->ct, s),
        OUT_OF_RANGE, "isoc_ct_set_phase is set", "by eye");
    BAD("suggest_regularisation: counts without a flat field", s->t[PROJECTIONS].dtype = u16, call_suggest_regularisation(s->ct, s),
        FLAT_FIELD, "isoc_ct_set_flat_field");
    /* 1400 differences tell it to 5 %, and the median of sums of 4 such numbers is 5 % larger than that of normal ones. */
    GOOD("suggest_regularisation: uniform noise", noisy_projections(s), call_suggest_regularisation(s->ct, s),
         fabs(s->noise * sqrt(12.0) - 1.0) < 0.3 && s->suggested > 0.0 && s->suggested < 2.0 * s->noise * sqrt((double)VIEWS));
    GOOD("suggest_regularisation: the weight alone", noisy_projections(s),
         isoc_ct_suggest_regularisation(s->ct, &s->t[PROJECTIONS], &s->suggested, NULL), s->suggested > 0.0);
}

/* --- what is left --- */

static float ray_values[VIEWS * BINS];
static const int64_t ray_shape[] = { VIEWS, BINS }, other_shape[] = { BINS, VIEWS };

static isoc_status set_rays(scan *s, float all, size_t at, float value, const int64_t *shape, uint8_t code) {
    for (size_t k = 0; k < COUNT_OF(ray_values); k++) ray_values[k] = all;
    ray_values[at] = value;
    const isoc_tensor t = tensor(ray_values, 2, shape, code, 32);
    return isoc_ct_set_ray_weights(s->ct, &t);
}

static void ray_weights(void) {
    BAD("set_ray_weights: not (views, bins)", NOTHING, set_rays(s, 1.0f, 0, 1.0f, other_shape, ISOC_DTYPE_FLOAT), TENSOR_SHAPE, "weights", "views");
    BAD("set_ray_weights: integers", NOTHING, set_rays(s, 1.0f, 0, 1.0f, ray_shape, ISOC_DTYPE_UINT), TENSOR_DTYPE, "weights");
    BAD("set_ray_weights: NaN", NOTHING, set_rays(s, 1.0f, BINS + 3, NAN, ray_shape, ISOC_DTYPE_FLOAT), NOT_FINITE_DATA, "weights[1, 3] is NaN");
    BAD("set_ray_weights: below 0", NOTHING, set_rays(s, 1.0f, 2, -0.5f, ray_shape, ISOC_DTYPE_FLOAT), OUT_OF_RANGE, "weights[0, 2] is -0.5",
        "0 or more");
    BAD("set_ray_weights: all 0", NOTHING, set_rays(s, 0.0f, 0, 0.0f, ray_shape, ISOC_DTYPE_FLOAT), OUT_OF_RANGE, "all 0");
    BAD("set_ray_weights: none, and asked for", (s->iterative.weighting = ISOC_CT_WEIGHTING_GIVEN, iterate(s, ISOC_CT_ALGORITHM_CGLS)),
        call_reconstruct(s->ct, s), NOT_CONFIGURED, "isoc_ct_set_ray_weights");
    GOOD("set_ray_weights: forgotten", NOTHING, isoc_ct_set_ray_weights(s->ct, NULL), 1);
    GOOD("set_ray_weights: a ray left out",
         (s->iterative.weighting = ISOC_CT_WEIGHTING_GIVEN, iterate(s, ISOC_CT_ALGORITHM_CGLS), set_rays(s, 1.0f, 5, 0.0f, ray_shape, ISOC_DTYPE_FLOAT)),
         call_reconstruct(s->ct, s), isfinite(s->volume[7]));
}

static void queries(void) {
    char size[32];
    snprintf(size, sizeof size, "%zu", sizeof(isoc_ct_info));
    BAD("get_info: NULL", NOTHING, isoc_ct_get_info(s->ct, NULL), NULL_POINTER, "isoc_ct_info", "NULL");
    BAD("get_info: struct_size 0", s->info.struct_size = 0, call_get_info(s->ct, s), STRUCT_SIZE,
        "isoc_ct_info.struct_size is 0", size);
    BAD("get_info: struct_size small", s->info.struct_size -= 8, call_get_info(s->ct, s), STRUCT_SIZE, "isoc_ct_info",
        size);
    BAD("get_info: struct_size large", s->info.struct_size += 8, call_get_info(s->ct, s), STRUCT_SIZE, "isoc_ct_info",
        size);
    BAD("get_info: struct_size huge", s->info.struct_size = UINT32_MAX, call_get_info(s->ct, s), STRUCT_SIZE,
        "4294967295", size);
    BAD("memory: bytes NULL", NOTHING, isoc_ct_memory(s->ct, NULL), NULL_POINTER, "bytes", "NULL");

    BAD("get_angular_weights: out NULL", NOTHING, isoc_ct_get_angular_weights(s->ct, NULL, VIEWS, NULL), NULL_POINTER, "out",
        "NULL", "24");
    const int64_t small[] = { VIEWS - 1, 1, -1, INT64_MIN };
    for (size_t k = 0; k < COUNT_OF(small); k++) {
        char seen[40];
        int64_t there = -7;
        snprintf(seen, sizeof seen, "capacity is %lld", (long long)small[k]);
        BAD("get_angular_weights: capacity", (there = -7, fill_weights(s, 5.0)),
            isoc_ct_get_angular_weights(s->ct, s->weights, small[k], &there), OUT_OF_RANGE, seen, "24");
        expect("get_angular_weights: the number there is, in spite of a small capacity", there == VIEWS);
    }
    int64_t there = -7;
    GOOD("get_angular_weights: the number alone", there = -7, isoc_ct_get_angular_weights(s->ct, NULL, 0, &there),
         there == VIEWS);
    GOOD("get_angular_weights: room to spare", there = -7, isoc_ct_get_angular_weights(s->ct, s->weights, INT64_MAX, &there),
         there == VIEWS && fabs(s->weights[VIEWS - 1] - PI / VIEWS) < 1e-9);

    const int64_t counts[] = { VIEWS - 1, VIEWS + 1, 0, -1, INT64_MIN, INT64_MAX };
    for (size_t k = 0; k < COUNT_OF(counts); k++) {
        char seen[40];
        snprintf(seen, sizeof seen, "weight_count is %lld", (long long)counts[k]);
        BAD("set_angular_weights: count", fill_weights(s, 0.1), isoc_ct_set_angular_weights(s->ct, s->weights, counts[k]),
            OUT_OF_RANGE, seen, "24");
    }
    BAD("set_angular_weights: NULL", NOTHING, isoc_ct_set_angular_weights(s->ct, NULL, VIEWS), NULL_POINTER, "weights", "NULL");
    BAD("set_angular_weights: misaligned", NOTHING,
        isoc_ct_set_angular_weights(s->ct, (double *)((char *)s->weights + 1), VIEWS), TENSOR_STRIDES, "weights", "aligned");
    BAD("set_angular_weights: NaN", (fill_weights(s, 0.1), s->weights[3] = NAN),
        isoc_ct_set_angular_weights(s->ct, s->weights, VIEWS), NOT_FINITE_PARAMETER, "weights[3]", "NaN", "finite");
    BAD("set_angular_weights: Inf", (fill_weights(s, 0.1), s->weights[23] = INFINITY),
        isoc_ct_set_angular_weights(s->ct, s->weights, VIEWS), NOT_FINITE_PARAMETER, "weights[23]", "inf", "finite");
    BAD("set_angular_weights: below 0", (fill_weights(s, 0.1), s->weights[0] = -0.5),
        isoc_ct_set_angular_weights(s->ct, s->weights, VIEWS), OUT_OF_RANGE, "weights[0] is -0.5", "0 or more");
    BAD("set_angular_weights: all 0", fill_weights(s, 0.0), isoc_ct_set_angular_weights(s->ct, s->weights, VIEWS), OUT_OF_RANGE,
        "sum of weights is 0");
    GOOD("set_angular_weights: the sum in force", use_weights(s, VIEWS), call_get_info(s->ct, s),
         fabs(s->info.angle_covered - PI) < 1e-9 && s->info.evenly_spaced == 1);
    GOOD("get_info", NOTHING, call_get_info(s->ct, s),
         s->info.evenly_spaced == 1 && s->info.distinct_angles == VIEWS && s->info.missing_wedges == 0
             && fabs(s->info.angle_covered - PI) < 1e-9 && s->info.struct_size == sizeof s->info && s->info.period == 0);
    GOOD("get_info: the period reaches the slice's corners", (band_limited(s), use_options(s)), call_get_info(s->ct, s),
         s->info.period % 2 == 0 && s->info.period > BINS);
    BAD("get_info: a slice far from the detector", (band_limited(s), use_options(s), s->geometry.x_offset = 1e8, use_geometry(s)),
        call_get_info(s->ct, s), OUT_OF_RANGE, "1000000", "bins", "band-limited interpolation reaches");
    BAD("reconstruct: a slice far from the detector", (band_limited(s), use_options(s), s->geometry.x_offset = 1e8, use_geometry(s)),
        isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]), OUT_OF_RANGE, "1000000", "bins",
        "band-limited interpolation reaches");
    GOOD("reconstruct: band-limited", (band_limited(s), use_options(s)),
         isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]),
         !near(s->volume, usual_volume(s->ctx), VOLUME_SIZE, 1e-5) && still_works(s));
}

static const isoc_ct_ellipse one_ellipse[1] = { { 1.0, 0.0, 0.0, 1.0, 1.0, 0.0 } };

#define SHEPP_LOGAN(kind, radius, capacity) isoc_ct_shepp_logan(kind, radius, s->ellipses, capacity, NULL)
/* A field of the third ellipse, its bad value, and the status. */
#define ELLIPSE(field, value, status, ...)                                                                             \
    do {                                                                                                               \
        BAD("phantom_volume: ellipse." #field " = " #value, s->ellipses[2].field = (value),                            \
            call_phantom_volume(s->ct, s), status, "ellipses[2]", __VA_ARGS__);                                \
        BAD("phantom_projections: ellipse." #field " = " #value, s->ellipses[2].field = (value),                       \
            call_phantom_projections(s->ct, s), status, "ellipses[2]", __VA_ARGS__);                           \
    } while (0)

static void phantoms(void) {
    const uint32_t modified = ISOC_CT_SHEPP_LOGAN_KIND_MODIFIED;
    BAD("shepp_logan: kind", NOTHING, SHEPP_LOGAN(2, 1.0, ELLIPSES), UNKNOWN_VALUE, "kind is 2", "0 or 1");
    BAD("shepp_logan: kind", NOTHING, SHEPP_LOGAN(UINT32_MAX, 1.0, ELLIPSES), UNKNOWN_VALUE, "4294967295", "0 or 1");
    BAD("shepp_logan: radius NaN", NOTHING, SHEPP_LOGAN(modified, NAN, ELLIPSES), NOT_FINITE_PARAMETER, "radius",
        "NaN");
    BAD("shepp_logan: radius Inf", NOTHING, SHEPP_LOGAN(modified, INFINITY, ELLIPSES), NOT_FINITE_PARAMETER, "radius",
        "inf");
    BAD("shepp_logan: radius 0", NOTHING, SHEPP_LOGAN(modified, 0.0, ELLIPSES), OUT_OF_RANGE, "radius is 0");
    BAD("shepp_logan: radius -1", NOTHING, SHEPP_LOGAN(modified, -1.0, ELLIPSES), OUT_OF_RANGE, "radius is -1");
    BAD("shepp_logan: NULL", NOTHING, isoc_ct_shepp_logan(modified, 1.0, NULL, ELLIPSES, NULL), NULL_POINTER, "ellipses",
        "NULL");
    BAD("shepp_logan: 9 ellipses", NOTHING, SHEPP_LOGAN(modified, 1.0, 9), OUT_OF_RANGE, "capacity is 9", "10");
    BAD("shepp_logan: -1 ellipses", NOTHING, SHEPP_LOGAN(modified, 1.0, -1), OUT_OF_RANGE, "capacity is -1", "10");

    const struct {
        const char *name;
        const isoc_ct_ellipse *ellipses;
        int64_t count;
        isoc_status status;
        const char *words[2];
    } lists[] = {
        { "NULL", NULL, ELLIPSES, ISOC_STATUS_NULL_POINTER, { "ellipses", "NULL" } },
        { "count 0", one_ellipse, 0, ISOC_STATUS_OUT_OF_RANGE, { "ellipse_count is 0", "1" } },
        { "count -1", one_ellipse, -1, ISOC_STATUS_OUT_OF_RANGE, { "ellipse_count is -1", "1" } },
        { "count 2^40", one_ellipse, far_too_many, ISOC_STATUS_OUT_OF_RANGE, { "ellipse_count is 1099511627776",
            "1048576" } },
        { "count 2^63 - 1", one_ellipse, INT64_MAX, ISOC_STATUS_OUT_OF_RANGE, { "9223372036854775807", "1048576" } },
    };
    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        char name[64];
        snprintf(name, sizeof name, "phantom_volume: ellipses %s", lists[k].name);
        BAD_IN(strict, name, NOTHING, isoc_ct_phantom_volume(s->ct, lists[k].ellipses, lists[k].count, &s->t[VOLUME]),
            lists[k].status, lists[k].words[0], lists[k].words[1]);
        snprintf(name, sizeof name, "phantom_projections: ellipses %s", lists[k].name);
        BAD_IN(strict, name, NOTHING, isoc_ct_phantom_projections(s->ct, lists[k].ellipses, lists[k].count,
            &s->t[PROJECTIONS]),
            lists[k].status, lists[k].words[0], lists[k].words[1]);
    }
    ELLIPSE(value, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    ELLIPSE(x, INFINITY, NOT_FINITE_PARAMETER, "inf", "finite");
    ELLIPSE(y, -INFINITY, NOT_FINITE_PARAMETER, "-inf", "finite");
    ELLIPSE(angle, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    ELLIPSE(semi_x, NAN, NOT_FINITE_PARAMETER, "NaN", "finite");
    ELLIPSE(semi_x, 0.0, OUT_OF_RANGE, "semi", "0", "above 0");
    ELLIPSE(semi_y, -2.0, OUT_OF_RANGE, "semi", "-2", "above 0");
    GOOD("shepp_logan, and its phantom", check_ok("isoc_ct_shepp_logan", SHEPP_LOGAN(modified, 9.0, ELLIPSES)),
         call_phantom_volume(s->ct, s), near(s->volume, s->volume, VOLUME_SIZE, 0.0));
}

static int64_t zeros[3];

/* A slice, or a frame, of 4 TiB or more; all its elements are one (stride 0). */
static void beyond_all_memory(scan *s, int which) {
    const int64_t side = most;
    s->geometry.slices = 1;
    if (which == VOLUME) {
        s->geometry.nx = s->geometry.ny = side;
        set_shape(s, VOLUME, 1, side, side);
    } else {
        s->geometry.rows = s->geometry.bins = side;
        s->geometry.nx = s->geometry.ny = 1;
        set_shape(s, FLATS, 1, side, side);
    }
    use_geometry(s);
    s->t[which].strides = zeros;
}

static void out_of_memory(void) {
    BAD("forward: a slice beyond the memory cap", beyond_all_memory(s, VOLUME), call_forward(s->ct, s),
        MEMORY_CAP, "memory_cap is", "at least");
    BAD("memory: a slice beyond the memory cap", beyond_all_memory(s, VOLUME), call_memory(s->ct, s),
        MEMORY_CAP, "memory_cap is", "at least");
    /* Some systems promise memory that they do not have: there nothing can be tested. */
    if (promises((size_t)4 << 40))
        return;
    /* A GPU's memory has a known end. */
    if (computes_on_gpu())
        BAD_IN(boundless, "forward: a slice beyond all memory", beyond_all_memory(s, VOLUME), call_forward(s->ct, s),
               ISOC_STATUS_MEMORY_CAP, "memory_cap is");
    else
        BAD_IN(boundless, "forward: a slice beyond all memory", beyond_all_memory(s, VOLUME), call_forward(s->ct, s),
               ISOC_STATUS_OUT_OF_MEMORY, "allocate");
    BAD_IN(boundless, "set_flat_field: a frame beyond all memory", beyond_all_memory(s, FLATS),
           isoc_ct_set_flat_field(s->ct, &s->t[FLATS], NULL, NULL), ISOC_STATUS_OUT_OF_MEMORY, "allocate");
}

static void memory_cap(void) {
    for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
        const plan_call *call = &plan_calls[k];
        if (call->call != call_memory && (call->in < 0 || call->out < 0))
            continue;
        char name[64];
        snprintf(name, sizeof name, "%s: memory cap too small for one slice", call->name);
        BAD_IN(tiny, name, s->afterwards = NOT_AT_ALL, call->call(s->ct, s), ISOC_STATUS_MEMORY_CAP,
               "memory_cap is 1000", "at least");
    }
}

int main(void) {
    start();
    statuses();
    strict = new_context(ISOC_NAN_POLICY_ERROR, 0);
    lenient = new_context(ISOC_NAN_POLICY_REPLACE, 0);
    tiny = new_context(ISOC_NAN_POLICY_ERROR, 1000);
    boundless = new_context(ISOC_NAN_POLICY_REPLACE, UINT64_MAX);
    usual_volume(strict);
    contexts();
    handles();
    too_early();
    geometry();
    regions();
    limits();
    options();
    stripes();
    half_acquisition();
    iterations();
    outliers();
    distortions();
    phases();
    null_tensors();
    tensors();
    overlaps();
    other_order();
    odd_but_good_tensors();
    angles();
    not_finite_data();
    flat_fields();
    outputs();
    axes();
    bad_views();
    suggestions();
    ray_weights();
    queries();
    phantoms();
    memory_cap();
    out_of_memory();
    expect("worker threads can be told by their names", workers_alive() > 0);
    check_ok("isoc_context_destroy", isoc_context_destroy(strict));
    check_ok("isoc_context_destroy", isoc_context_destroy(lenient));
    check_ok("isoc_context_destroy", isoc_context_destroy(tiny));
    check_ok("isoc_context_destroy", isoc_context_destroy(boundless));
    check_threads_end();
    return finish();
}
