/* Streamed reconstruction, host memory, and the calls that concern GPUs only. */
#include "check.h"

static const isoc_dtype f32 = ISOC_F32, u16 = ISOC_U16, f64 = { ISOC_DTYPE_FLOAT, 64, 1 };

typedef struct {
    scan *s;
    int reads, writes;
    /* Stops at this call, 0 never. */
    int stop_read, stop_write;
    int64_t next_read, next_write;
    int in_order, shapes;
    /* A call on the plan from within a callback. */
    isoc_status inner;
} job;

static int shape_is(const isoc_tensor *t, int64_t a, int64_t b, int64_t c) {
    return t->ndim == 3 && t->shape[0] == a && t->shape[1] == b && t->shape[2] == c && !t->strides && t->data
        && t->device.device_type == ISOC_DEVICE_HOST && t->byte_offset == 0;
}

static int32_t read_rows(void *user, int64_t first, int64_t count, const isoc_tensor *t) {
    job *j = (job *)user;
    j->in_order &= first == j->next_read;
    j->next_read = first + count;
    j->shapes &= shape_is(t, VIEWS, count, BINS);
    j->inner = isoc_ct_reconstruct(j->s->ct, &j->s->t[PROJECTIONS], &j->s->t[VOLUME]);
    if (++j->reads == j->stop_read)
        return 7;
    float *to = (float *)t->data;
    for (int v = 0; v < VIEWS; v++)
        for (int64_t r = 0; r < count; r++)
            memcpy(to + (v * count + r) * BINS, j->s->projections + (v * ROWS + first + r) * BINS,
                   BINS * sizeof(float));
    return 0;
}

static int32_t write_slices(void *user, int64_t first, int64_t count, const isoc_tensor *t) {
    job *j = (job *)user;
    j->in_order &= first == j->next_write && first + count <= j->next_read;
    j->next_write = first + count;
    j->shapes &= shape_is(t, count, NY, NX);
    if (++j->writes == j->stop_write)
        return -3;
    memcpy(j->s->volume + first * NY * NX, t->data, (size_t)count * NY * NX * sizeof(float));
    return 0;
}

/* Of slice 0, which is detector row 1: with a stage that looks at the rows beside it. */
static int32_t read_beside(void *user, int64_t first, int64_t count, const isoc_tensor *t) {
    job *j = (job *)user;
    j->reads++;
    j->in_order &= first == -1 && count == 2;
    j->shapes &= shape_is(t, VIEWS, count, BINS);
    float *to = (float *)t->data;
    for (int v = 0; v < VIEWS; v++)
        for (int64_t r = 0; r < count; r++)
            memcpy(to + (v * count + r) * BINS, j->s->projections + (v * ROWS + 1 + first + r) * BINS, BINS * sizeof(float));
    return 0;
}

static int32_t write_one(void *user, int64_t first, int64_t count, const isoc_tensor *t) {
    job *j = (job *)user;
    j->writes++;
    j->in_order &= first == 0 && count == 1;
    memcpy(j->s->volume + NY * NX, t->data, NY * NX * sizeof(float));
    return 0;
}

static job new_job(scan *s) {
    job j;
    memset(&j, 0, sizeof j);
    j.s = s;
    j.in_order = j.shapes = 1;
    return j;
}

static void rows_beside(isoc_context *ctx) {
    current_case = "stream with outliers";
    scan *s = new_scan(ctx);
    job j = new_job(s);
    isoc_ct_outliers outliers;
    memset(&outliers, 0, sizeof outliers);
    outliers.struct_size = sizeof outliers;
    s->geometry.first_row = 1, s->geometry.slices = 1, s->options.input = ISOC_CT_INPUT_TRANSMISSION;
    check_ok("geometry", isoc_ct_set_geometry(s->ct, &s->geometry));
    check_ok("options", isoc_ct_set_options(s->ct, &s->options));
    check_ok("outliers", isoc_ct_set_outliers(s->ct, &outliers));
    for (int k = 0; k < PROJECTION_SIZE; k++)
        s->projections[k] = 0.9f - 0.001f * (float)(k % 37);
    s->projections[(5 * ROWS + 1) * BINS + 9] = 4.0f;
    s->shape[VOLUME][0] = 1;
    check_ok("reconstruct", isoc_ct_reconstruct(s->ct, &s->t[PROJECTIONS], &s->t[VOLUME]));
    check_ok("stream", isoc_ct_reconstruct_stream(s->ct, f32, read_beside, write_one, &j));
    expect("stream: rows beside a slab are read, in an array that has them", j.in_order && j.shapes && j.reads == 1 && j.writes == 1);
    expect("stream: the same slice", near(s->volume + NY * NX, s->volume, NY * NX, 1e-5));
    check_ok("info", isoc_ct_get_info(s->ct, &s->info));
    expect("stream: an outlier is counted once", s->info.outliers == 1);
    free_scan(s);
}

static void streams(isoc_context *ctx) {
    current_case = "stream";
    scan *s = new_scan(ctx);
    job j = new_job(s);
    check_ok("stream", isoc_ct_reconstruct_stream(s->ct, f32, read_rows, write_slices, &j));
    expect("stream: every slice in order", j.in_order && j.next_read == SLICES && j.next_write == SLICES);
    expect("stream: the arrays are as promised", j.shapes);
    expect("stream: the plan is busy meanwhile", j.inner == ISOC_STATUS_BUSY);
    expect("stream: the usual volume", near(s->volume, usual_volume(ctx), VOLUME_SIZE, 1e-5));

    const char *const seven[] = { "read returned 7", "0 to", NULL }, *const three[] = { "write returned -3", NULL };
    j = new_job(s), j.stop_read = 1;
    report("stream: read fails", check_status("stream: read fails",
        isoc_ct_reconstruct_stream(s->ct, f32, read_rows, write_slices, &j), ISOC_STATUS_CALLBACK, seven), "");
    expect("stream: nothing more is asked after a failed read", j.reads == 1 && j.writes == 0);
    j = new_job(s), j.stop_write = 1;
    report("stream: write fails", check_status("stream: write fails",
        isoc_ct_reconstruct_stream(s->ct, f32, read_rows, write_slices, &j), ISOC_STATUS_CALLBACK, three), "");
    expect("stream: nothing more is offered after a failed write", j.writes == 1);

    const char *const no_read[] = { "read is NULL", NULL }, *const no_write[] = { "write is NULL", NULL };
    const char *const no_f64[] = { "dtype", "F64", NULL }, *const no_flat[] = { "U16", "flat field", NULL };
    const struct {
        const char *name;
        isoc_ct_read_fn read;
        isoc_ct_write_fn write;
        isoc_dtype dtype;
        isoc_status status;
        const char *const *words;
    } bad[] = {
        { "stream: read NULL", NULL, write_slices, f32, ISOC_STATUS_NULL_POINTER, no_read },
        { "stream: write NULL", read_rows, NULL, f32, ISOC_STATUS_NULL_POINTER, no_write },
        { "stream: f64", read_rows, write_slices, f64, ISOC_STATUS_TENSOR_DTYPE, no_f64 },
        { "stream: counts without a flat field", read_rows, write_slices, u16, ISOC_STATUS_FLAT_FIELD, no_flat },
    };
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        j = new_job(s);
        isoc_status status = isoc_ct_reconstruct_stream(s->ct, bad[k].dtype, bad[k].read, bad[k].write, &j);
        report(bad[k].name, check_status(bad[k].name, status, bad[k].status, bad[k].words), "");
    }
    s->projections[(5 * ROWS + 1) * BINS + 3] = NAN;
    j = new_job(s);
    expect("stream: NaN", isoc_ct_reconstruct_stream(s->ct, f32, read_rows, write_slices, &j)
                              == ISOC_STATUS_NOT_FINITE_DATA);
    expect("stream: the plan still works", still_works(s));
    expect("stream: no plan", isoc_ct_reconstruct_stream(NULL, f32, read_rows, write_slices, &j)
                                  == ISOC_STATUS_NULL_POINTER);
    free_scan(s);

    s = unset_scan(ctx);
    j = new_job(s);
    expect("stream: no geometry", isoc_ct_reconstruct_stream(s->ct, f32, read_rows, write_slices, &j)
                                      == ISOC_STATUS_NOT_CONFIGURED);
    free_scan(s);
}

/* Slices as u16, and the first slice that was read after all had been. */
typedef struct {
    job j;
    int passes;
    uint16_t stored[VOLUME_SIZE];
} job16;

static int32_t read_again(void *user, int64_t first, int64_t count, const isoc_tensor *t) {
    job16 *k = (job16 *)user;
    if (first == 0)
        k->j.next_read = 0, k->passes++;
    return read_rows(&k->j, first, count, t);
}

static int32_t write_u16(void *user, int64_t first, int64_t count, const isoc_tensor *t) {
    job16 *k = (job16 *)user;
    k->j.in_order &= first == k->j.next_write && k->passes == 2;
    k->j.next_write = first + count;
    k->j.shapes &= shape_is(t, count, NY, NX) && t->dtype.code == ISOC_DTYPE_UINT && t->dtype.bits == 16;
    memcpy(k->stored + first * NY * NX, t->data, (size_t)count * NY * NX * sizeof(uint16_t));
    return 0;
}

static void stored_streams(isoc_context *ctx) {
    current_case = "stream of u16";
    scan *s = new_scan(ctx);
    static job16 k;
    k.j = new_job(s);
    s->output.dtype = ISOC_CT_OUTPUT_TYPE_U16, s->output.low_percentile = 0.0, s->output.high_percentile = 100.0;
    check_ok("set_output", isoc_ct_set_output(s->ct, &s->output));
    check_ok("stream of u16", isoc_ct_reconstruct_stream(s->ct, f32, read_again, write_u16, &k));
    check_ok("get_output", isoc_ct_get_output(s->ct, &s->written));
    expect("stream of u16: both passes read all slices, one writes", k.passes == 2 && k.j.in_order && k.j.next_write == SLICES);
    expect("stream of u16: the arrays are as promised", k.j.shapes);
    int right = s->written.clipped_low == 0 && s->written.clipped_high == 0;
    const float *usual = usual_volume(ctx);
    float largest = 0;
    for (int at = 0; at < VOLUME_SIZE; at++)
        largest = fabsf(usual[at]) > largest ? fabsf(usual[at]) : largest;
    for (int at = 0; at < VOLUME_SIZE; at++) {
        /* Half a step, and what slabs change in the last bits of sums. */
        double value = s->written.offset + s->written.slope * k.stored[at];
        right &= fabs(value - (double)usual[at]) <= 0.51 * s->written.slope + 1e-5 * (double)largest;
    }
    expect("stream of u16: offset + slope * stored is the usual volume", right);
    free_scan(s);
}

static void host_memory(isoc_context *ctx) {
    current_case = "host memory";
    void *data = NULL;
    check_ok("host_alloc", isoc_host_alloc(ctx, 1000, &data));
    expect("host_alloc: aligned", data && (uintptr_t)data % 64 == 0);
    memset(data, 1, 1000);
    check_ok("host_free", isoc_host_free(data));
    expect("host_free: twice", isoc_host_free(data) == ISOC_STATUS_INVALID_HANDLE);
    check_ok("host_free: NULL", isoc_host_free(NULL));
    int local = 0;
    expect("host_free: not ours", isoc_host_free(&local) == ISOC_STATUS_INVALID_HANDLE);
    expect("host_alloc: out NULL", isoc_host_alloc(ctx, 1000, NULL) == ISOC_STATUS_NULL_POINTER);
    expect("host_alloc: no context", isoc_host_alloc(NULL, 1000, &data) == ISOC_STATUS_NULL_POINTER);
    const uint64_t sizes[] = { 0, UINT64_MAX, (uint64_t)1 << 63 };
    for (size_t k = 0; k < COUNT_OF(sizes); k++)
        expect("host_alloc: size", isoc_host_alloc(ctx, sizes[k], &data) == ISOC_STATUS_OUT_OF_RANGE);
    expect("host_alloc: more than there is", isoc_host_alloc(ctx, (uint64_t)1 << 60, &data) == ISOC_STATUS_OUT_OF_MEMORY);
}

/* On a machine without a GPU these do nothing, or say that there is none. */
static void for_gpus(isoc_context *ctx) {
    current_case = "for GPUs";
    scan *s = new_scan(ctx);
    check_ok("set_stream", isoc_ct_set_stream(s->ct, NULL));
    expect("set_stream: no plan", isoc_ct_set_stream(NULL, NULL) == ISOC_STATUS_NULL_POINTER);
    check_ok("tune", isoc_ct_tune(s->ct));
    expect("tune: no plan", isoc_ct_tune(NULL) == ISOC_STATUS_NULL_POINTER);
    expect("tune: the plan still works", still_works(s));
    free_scan(s);

    isoc_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.device = ISOC_CONTEXT_DEVICE_GPU;
    const int32_t absent[] = { 1000 }, negative[] = { -1 };
    const struct {
        const char *name;
        const int32_t *gpus;
        int64_t count;
        isoc_status status;
    } bad[] = {
        { "gpus: index 1000", absent, 1, ISOC_STATUS_NO_DEVICE },
        { "gpus: index -1", negative, 1, ISOC_STATUS_NO_DEVICE },
        { "gpus: count without a list", NULL, 1, ISOC_STATUS_NULL_POINTER },
        { "gpus: count 0", absent, 0, ISOC_STATUS_OUT_OF_RANGE },
        { "gpus: count -1", absent, -1, ISOC_STATUS_OUT_OF_RANGE },
    };
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        isoc_context *none = NULL;
        options.gpus = bad[k].gpus;
        options.gpu_count = bad[k].count;
        isoc_status status = isoc_context_create(&options, &none);
        report(bad[k].name, status == bad[k].status && !none && *isoc_last_error(), isoc_status_string(status));
    }
}

int main(void) {
    start();
    isoc_context *ctx = NULL;
    check_ok("isoc_context_create", isoc_context_create(NULL, &ctx));
    usual_volume(ctx);
    streams(ctx);
    rows_beside(ctx);
    stored_streams(ctx);
    host_memory(ctx);
    for_gpus(ctx);
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
    check_threads_end();
    return finish();
}
