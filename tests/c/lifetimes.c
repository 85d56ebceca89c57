/* Contexts and plans of every modality, made and destroyed thousands of times without growth, one after the other and in threads;
 * plans that threads share: on the GPU where there is one. ISOC_TEST_ROUNDS lowers the number, for tools that slow programs down:
 * growth is not looked at then.
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, SIDE = 8, ANGLES = 6, SAMPLES = 40, MODALITIES = 3 };
/* A context on a GPU takes up to 160 ms. */
enum { ROUNDS = 10000, ROUNDS_ON_GPU = 300 };

static const int64_t plane[] = { 1, SIDE, SIDE }, frames[] = { ANGLES, 1, SIDE }, volume[] = { SIDE, SIDE, SIDE };
static const int64_t points[] = { SAMPLES, 2 }, coil[] = { 1, SAMPLES };
static const double angles[ANGLES] = { 0.0, 0.5, 1.0, 1.5, 2.0, 2.5 };

/* One plan, of CT, MRI or PET. */
typedef struct {
    isoc_ct *ct;
    isoc_mri *mri;
    isoc_pet *pet;
} plan;

static isoc_status new_context(uint32_t device, isoc_context **ctx) {
    isoc_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options, options.threads = 1, options.device = device;
    return isoc_context_create(&options, ctx);
}

static isoc_status make(isoc_context *ctx, int modality, plan *p) {
    isoc_status status = ISOC_STATUS_OK;
    memset(p, 0, sizeof *p);
    if (modality == 0) {
        isoc_ct_geometry g;
        memset(&g, 0, sizeof g);
        g.struct_size = sizeof g, g.views = ANGLES, g.bins = SIDE, g.angles = angles;
        status = isoc_ct_create(ctx, &p->ct);
        return status ? status : isoc_ct_set_geometry(p->ct, &g);
    }
    if (modality == 1) {
        double k[2 * SAMPLES];
        for (int m = 0; m < 2 * SAMPLES; m++)
            k[m] = 0.5 * sin(1.0 + m * m);
        isoc_mri_geometry g;
        memset(&g, 0, sizeof g);
        g.struct_size = sizeof g, g.unit = ISOC_MRI_UNIT_CYCLES_PER_VOXEL, g.nx = g.ny = SIDE, g.samples = SAMPLES, g.coils = 1;
        isoc_mri_options o;
        memset(&o, 0, sizeof o);
        o.struct_size = sizeof o, o.method = ISOC_MRI_METHOD_EXACT;
        const isoc_tensor t = tensor(k, 2, points, ISOC_DTYPE_FLOAT, 64);
        status = isoc_mri_create(ctx, &p->mri);
        status = status ? status : isoc_mri_set_geometry(p->mri, &g, &t);
        return status ? status : isoc_mri_set_options(p->mri, &o);
    }
    isoc_pet_geometry g;
    memset(&g, 0, sizeof g);
    g.struct_size = sizeof g, g.nx = g.ny = g.nz = SIDE, g.voxel_x = 8.0, g.azimuths = 2, g.max_tilt = 0.1;
    isoc_pet_response r;
    memset(&r, 0, sizeof r);
    r.struct_size = sizeof r, r.tof_fwhm = 60.0, r.radial_fwhm = 9.0, r.axial_fwhm = 9.0;
    status = isoc_pet_create(ctx, &p->pet);
    status = status ? status : isoc_pet_set_geometry(p->pet, &g, NULL);
    return status ? status : isoc_pet_set_response(p->pet, &r);
}

static isoc_status destroy(plan *p) {
    return p->ct ? isoc_ct_destroy(p->ct) : p->mri ? isoc_mri_destroy(p->mri) : isoc_pet_destroy(p->pet);
}

/* Of data that are the same in every call. */
static isoc_status compute(const plan *p, float *out) {
    float data[SIDE * SIDE * SIDE];
    for (int k = 0; k < SIDE * SIDE * SIDE; k++)
        data[k] = (float)(1 + k % 7);
    if (p->ct) {
        const isoc_tensor from = tensor(data, 3, frames, ISOC_DTYPE_FLOAT, 32), to = tensor(out, 3, plane, ISOC_DTYPE_FLOAT, 32);
        return isoc_ct_adjoint(p->ct, &from, &to);
    }
    if (p->mri) {
        const isoc_tensor from = tensor(data, 3, plane, ISOC_DTYPE_COMPLEX, 64), to = tensor(out, 2, coil, ISOC_DTYPE_COMPLEX, 64);
        return isoc_mri_forward(p->mri, &from, &to);
    }
    const int64_t view = 1;
    const isoc_tensor from = tensor(data, 3, volume, ISOC_DTYPE_FLOAT, 32), to = tensor(out, 3, volume, ISOC_DTYPE_FLOAT, 32);
    return isoc_pet_forward(p->pet, &view, 1, &from, &to);
}

/* `moves`: bytes that the process may be larger by; 0 if that is not looked at. */
static void one_after_the_other(uint32_t device, int rounds, long moves) {
    current_case = "made and destroyed";
    int wrong = 0;
    long before = 0;
    for (int k = 0; k < rounds; k++) {
        float out[SIDE * SIDE * SIDE];
        plan p;
        isoc_context *ctx = NULL;
        wrong += new_context(device, &ctx) != ISOC_STATUS_OK;
        wrong += make(ctx, k % MODALITIES, &p) != ISOC_STATUS_OK;
        if (k % 16 < MODALITIES)
            wrong += compute(&p, out) != ISOC_STATUS_OK;
        wrong += destroy(&p) != ISOC_STATUS_OK;
        wrong += isoc_context_destroy(ctx) != ISOC_STATUS_OK;
        if (k == rounds / 10)
            before = resident();
    }
    expect("contexts and plans, made and destroyed", wrong == 0);
    if (moves) {
        const long grown = resident() - before;
        char why[64];
        snprintf(why, sizeof why, "it grew by %ld bytes", grown);
        report("memory does not grow", grown < moves, why);
    }
}

typedef struct {
    pthread_t thread;
    isoc_context *ctx;
    /* What all threads call, and what it gives. */
    const plan *shared;
    float (*expected)[SIDE * SIDE * SIDE];
    int rounds, wrong;
} worker;

static void *work(void *argument) {
    worker *w = (worker *)argument;
    float out[SIDE * SIDE * SIDE];
    for (int k = 0; k < w->rounds; k++) {
        plan own;
        const int m = k % MODALITIES;
        w->wrong += make(w->ctx, m, &own) != ISOC_STATUS_OK;
        for (int which = 0; which < 2; which++) {
            memset(out, 0, sizeof out);
            w->wrong += compute(which ? &own : &w->shared[m], out) != ISOC_STATUS_OK;
            w->wrong += memcmp(out, w->expected[m], sizeof out) != 0;
        }
        w->wrong += destroy(&own) != ISOC_STATUS_OK;
        w->wrong += destroy(&own) != ISOC_STATUS_INVALID_HANDLE;
    }
    return NULL;
}

static void in_threads(int rounds) {
    current_case = "threads";
    static float expected[MODALITIES][SIDE * SIDE * SIDE];
    isoc_context *ctx = NULL;
    check_ok("isoc_context_create", new_context(ISOC_CONTEXT_DEVICE_AUTO, &ctx));
    plan shared[MODALITIES];
    for (int m = 0; m < MODALITIES; m++) {
        check_ok("a plan", make(ctx, m, &shared[m]));
        check_ok("its result", compute(&shared[m], expected[m]));
    }
    worker workers[THREADS];
    memset(workers, 0, sizeof workers);
    for (int k = 0; k < THREADS; k++) {
        workers[k].ctx = ctx, workers[k].shared = shared, workers[k].expected = expected, workers[k].rounds = rounds;
        if (pthread_create(&workers[k].thread, NULL, work, &workers[k]))
            abort();
    }
    int wrong = 0;
    for (int k = 0; k < THREADS; k++) {
        pthread_join(workers[k].thread, NULL);
        wrong += workers[k].wrong;
    }
    expect("own and shared plans of every modality in threads", wrong == 0);
    for (int m = 0; m < MODALITIES; m++)
        check_ok("a plan destroyed", destroy(&shared[m]));
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
}

int main(void) {
    start();
    const char *lowered = getenv("ISOC_TEST_ROUNDS");
    /* A leak of 120 bytes a round would be 1 MiB; the allocator moves by some hundred kilobytes, a GPU's driver by megabytes. */
    one_after_the_other(ISOC_CONTEXT_DEVICE_CPU, lowered ? atoi(lowered) : ROUNDS, lowered ? 0 : 1 << 20);
    if (computes_on_gpu())
        one_after_the_other(ISOC_CONTEXT_DEVICE_GPU, lowered ? atoi(lowered) : ROUNDS_ON_GPU, lowered ? 0 : 4 << 20);
    in_threads(lowered ? 10 : 300);
    return finish();
}
