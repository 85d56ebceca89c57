/* Handles, callbacks and threads: cancelling, calls from inside a callback, one plan in several threads, errors that
 * stay in their thread, handles that go while they are in use.
 */
#include "check.h"

#include <pthread.h>
#ifndef _WIN32
#include <sys/wait.h>
#endif

enum { THREADS = 4, CALLS = 5 };

static isoc_context *new_context(isoc_progress_fn progress, isoc_log_fn log, void *user, uint64_t memory_cap) {
    isoc_context *ctx = NULL;
    isoc_context_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options, options.threads = 2, options.memory_cap = memory_cap;
    options.progress = progress, options.progress_user = user, options.log = log, options.log_user = user;
    check_ok("isoc_context_create", isoc_context_create(&options, &ctx));
    return ctx;
}

/* Only what computes reports progress. */
static int computes(const plan_call *call) { return call->in != FLATS && (call->in >= 0 || call->out >= 0); }

/* --- progress --- */

typedef struct {
    pthread_t thread;
    int calls, done, wrong;
    double last;
    /* The fraction from which on to cancel; 2 for never. */
    double cancel_at;
} progress_log;

static int32_t watch(void *user, double fraction, const char *stage) {
    progress_log *log = (progress_log *)user;
    int done = strcmp(stage, "done") == 0;
    log->calls++;
    log->done += done;
    log->wrong += !pthread_equal(pthread_self(), log->thread) || !(fraction >= log->last && fraction <= 1.0) || !*stage
                  || (done && fraction != 1.0) || (log->done && !done);
    log->last = fraction;
    return fraction >= log->cancel_at;
}

static void progress_and_first_cancel(void) {
    progress_log log;
    memset(&log, 0, sizeof log);
    log.thread = pthread_self();
    isoc_context *ctx = new_context(watch, NULL, &log, 0);
    log.cancel_at = 2.0;
    usual_volume(ctx);
    for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
        const plan_call *call = &plan_calls[k];
        char name[80];
        if (!computes(call))
            continue;
        scan *s = new_scan(ctx);
        log.calls = log.done = log.wrong = 0, log.last = 0.0, log.cancel_at = 0.0;
        unsigned char *before = snapshot(s);
        isoc_status status = call->call(s->ct, s);
        int untouched = same_as(s, before), calls = log.calls;
        snprintf(name, sizeof name, "%s: cancelled at the first report", call->name);
        current_case = name;
        const char *const words[] = { "progress callback", NULL };
        log.cancel_at = 2.0, log.last = 0.0;
        if (check_status(name, status, ISOC_STATUS_CANCELLED, words))
            report(name, untouched && calls == 1 && still_works(s), "output touched, or the plan no longer works");
        good_tensors(s);
        log.calls = log.done = log.wrong = 0, log.last = 0.0;
        snprintf(name, sizeof name, "%s: progress runs from 0 to \"done\" in the caller's thread", call->name);
        check_ok(name, call->call(s->ct, s));
        expect(name, log.calls >= 2 && log.done == 1 && log.wrong == 0 && log.last == 1.0);
        free_scan(s);
    }
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
}

/* --- cancelling in the middle of a long job --- */

enum { LONG_VIEWS = 256, LONG_SIDE = 64, LONG_SLICE = LONG_SIDE * LONG_SIDE, MOST_SLICES = 32768 };

/* The slice holds nothing but the bytes that it held before. */
static int untouched_slice(const float *slice) {
    const unsigned char *bytes = (const unsigned char *)slice;
    for (size_t k = 0; k < LONG_SLICE * sizeof(float); k++)
        if (bytes[k] != 0xA6)
            return 0;
    return 1;
}

/* Every slice sees the same detector row (input stride 0), so a long job needs little memory and has a known result. */
typedef struct {
    isoc_ct *ct;
    double angles[LONG_VIEWS];
    float *rows, *volume;
} long_job;

static isoc_status long_reconstruct(long_job *job, int64_t slices) {
    isoc_ct_geometry geometry;
    memset(&geometry, 0, sizeof geometry);
    geometry.struct_size = sizeof geometry, geometry.views = LONG_VIEWS, geometry.bins = LONG_SIDE;
    geometry.rows = slices, geometry.angles = job->angles;
    check_ok("isoc_ct_set_geometry", isoc_ct_set_geometry(job->ct, &geometry));
    int64_t shape[] = { LONG_VIEWS, slices, LONG_SIDE }, strides[] = { LONG_SIDE, 0, 1 };
    int64_t volume_shape[] = { slices, LONG_SIDE, LONG_SIDE };
    const isoc_dtype f32 = ISOC_F32;
    isoc_tensor projections = tensor3(job->rows, f32, shape), volume = tensor3(job->volume, f32, volume_shape);
    projections.strides = strides;
    memset(job->volume, 0xA6, (size_t)slices * LONG_SLICE * sizeof(float));
    return isoc_ct_reconstruct(job->ct, &projections, &volume);
}

static void cancel_in_the_middle(void) {
    current_case = "cancel in the middle";
    progress_log log;
    memset(&log, 0, sizeof log);
    log.thread = pthread_self(), log.cancel_at = 2.0;
    /* A cap of two slabs at most, so that there are many. */
    isoc_context *ctx = new_context(watch, NULL, &log, 1 << 20);
    long_job job;
    job.rows = (float *)allocate(LONG_VIEWS * LONG_SIDE * sizeof(float));
    job.volume = (float *)allocate(LONG_SLICE * sizeof(float));
    for (int k = 0; k < LONG_VIEWS; k++)
        job.angles[k] = PI * k / LONG_VIEWS;
    for (int k = 0; k < LONG_VIEWS * LONG_SIDE; k++)
        job.rows[k] = sample(k / LONG_SIDE, 0, k % LONG_SIDE);
    check_ok("isoc_ct_create", isoc_ct_create(ctx, &job.ct));
    check_ok("the slice to compare with", long_reconstruct(&job, 1));
    float *slice = job.volume;

    /* Many slabs; and machines differ in speed: the job grows until a report comes while it is half done. */
    isoc_status status = ISOC_STATUS_OK;
    int64_t slices = 128;
    isoc_ct_info info;
    info.struct_size = sizeof info;
    job.volume = NULL;
    for (; slices <= MOST_SLICES && status == ISOC_STATUS_OK; slices *= 2) {
        free(job.volume);
        job.volume = (float *)allocate((size_t)slices * LONG_SLICE * sizeof(float));
        log.last = 0.0, log.done = 0, log.cancel_at = 0.4;
        status = long_reconstruct(&job, slices);
    }
    slices /= 2;
    check_ok("isoc_ct_get_info", isoc_ct_get_info(job.ct, &info));
    expect("a long job in several slabs", info.slab_slices * 4 <= slices);
    const char *const words[] = { "progress callback", "%", NULL };
    if (check_status("cancel in the middle", status, ISOC_STATUS_CANCELLED, words)) {
        int finished = 0, untouched = 0;
        for (int64_t z = 0; z < slices; z++) {
            const float *found = job.volume + z * LONG_SLICE;
            untouched += untouched_slice(found);
            finished += near(found, slice, LONG_SLICE, 1e-5);
        }
        expect("cancelled: each slice is finished or untouched", finished + untouched == slices);
        expect("cancelled: some slices are finished", finished > 0);
        expect("cancelled: some slices are untouched", untouched > 0);
        expect("cancelled: no report follows, least of all \"done\"", log.done == 0);
    }
    log.cancel_at = 2.0, log.last = 0.0, log.done = 0;
    check_ok("cancelled: the plan still works", long_reconstruct(&job, 40));
    int good = 0;
    for (int z = 0; z < 40; z++)
        good += near(job.volume + z * LONG_SLICE, slice, LONG_SLICE, 1e-5);
    expect("cancelled: the plan still works", good == 40 && log.wrong == 0);
    free(job.volume);
    free(slice);
    free(job.rows);
    check_ok("isoc_ct_destroy", isoc_ct_destroy(job.ct));
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
}

/* --- calls from inside callbacks --- */

typedef struct {
    scan *own, *other;
    int depth, reports, logs;
    isoc_status from_progress[COUNT_OF(plan_calls)], from_log, other_status;
    int message_good;
} reentry;

static int32_t call_from_progress(void *user, double fraction, const char *stage) {
    reentry *r = (reentry *)user;
    (void)fraction;
    if (r->depth || !r->own || strcmp(stage, "done") == 0)
        return 0;
    r->depth++;
    r->reports++;
    for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
        r->from_progress[k] = plan_calls[k].call(r->own->ct, r->own);
        r->message_good &= strstr(isoc_last_error(), "callback") != NULL;
    }
    /* Its own reports come here as well, and go no further. */
    r->other_status = call_reconstruct(r->other->ct, r->other);
    r->depth--;
    return 0;
}

static void call_from_log(void *user, int32_t level, const char *message) {
    reentry *r = (reentry *)user;
    if (!r->own || r->depth)
        return;
    r->depth++;
    r->logs++;
    r->message_good &= level >= 1 && level <= 3 && *message;
    r->from_log = call_memory(r->own->ct, r->own);
    r->depth--;
}

static void calls_from_callbacks(void) {
    current_case = "calls from callbacks";
    reentry r;
    memset(&r, 0, sizeof r);
    r.message_good = 1;
    isoc_context *ctx = new_context(call_from_progress, call_from_log, &r, 0);
    const float *usual = usual_volume(ctx);
    scan *own = new_scan(ctx), *other = new_scan(ctx);
    r.own = own, r.other = other;
    check_ok("reconstruct with calls from its callback", call_reconstruct(own->ct, own));
    expect("progress came", r.reports > 0);
    expect("its own result is right", near(own->volume, usual, VOLUME_SIZE, 1e-5));
    for (size_t k = 0; k < COUNT_OF(plan_calls); k++) {
        char name[80];
        snprintf(name, sizeof name, "%s: called from its plan's own callback", plan_calls[k].name);
        report(name, r.from_progress[k] == ISOC_STATUS_BUSY, isoc_status_string(r.from_progress[k]));
    }
    expect("messages from inside callbacks", r.message_good);
    check_ok("another plan's call from the callback", r.other_status);
    expect("another plan's result is right", near(other->volume, usual, VOLUME_SIZE, 1e-5));
    expect("the log came, and its calls were refused", r.logs > 0 && r.from_log == ISOC_STATUS_BUSY);
    r.own = NULL;
    expect("the plan works after refusing", still_works(own));
    free_scan(own);
    free_scan(other);
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
}

/* --- threads --- */

typedef struct {
    pthread_t thread;
    scan *s;
    /* The plan to call, and what to multiply the projections by. */
    isoc_ct *ct;
    float factor;
    int bad_calls, wrong;
} worker;

/* Line integrals times a factor give the volume times the factor. */
static int scaled(worker *w) {
    float expected[VOLUME_SIZE];
    const float *usual = usual_volume(w->s->ctx);
    for (int k = 0; k < VOLUME_SIZE; k++)
        expected[k] = usual[k] * w->factor;
    return near(w->s->volume, expected, VOLUME_SIZE, 1e-5);
}

static void *work(void *argument) {
    worker *w = (worker *)argument;
    scan *s = w->s;
    w->wrong += *isoc_last_error() != '\0';
    for (int k = 0; k < PROJECTION_SIZE; k++)
        s->projections[k] *= w->factor;
    for (int k = 0; k < CALLS; k++) {
        memset(s->volume, 0xA6, VOLUME_SIZE * sizeof(float));
        w->wrong += call_reconstruct(w->ct, s) != ISOC_STATUS_OK || !scaled(w);
        if (w->bad_calls) {
            char seen[32];
            s->t[VOLUME].ndim = (int32_t)w->factor + 10;
            snprintf(seen, sizeof seen, "ndim is %d", s->t[VOLUME].ndim);
            w->wrong += call_reconstruct(w->ct, s) != ISOC_STATUS_TENSOR_NDIM;
            w->wrong += strstr(isoc_last_error(), seen) == NULL;
            s->t[VOLUME].ndim = 3;
        } else {
            w->wrong += *isoc_last_error() != '\0';
        }
    }
    return NULL;
}

/* Several threads at once, on one plan or on one each; `bad_calls` mixes errors in. */
static void in_threads(isoc_context *ctx, const char *name, int one_plan, int bad_calls) {
    current_case = name;
    worker workers[THREADS];
    memset(workers, 0, sizeof workers);
    for (int k = 0; k < THREADS; k++) {
        workers[k].s = new_scan(ctx);
        workers[k].ct = one_plan ? workers[0].s->ct : workers[k].s->ct;
        workers[k].factor = (float)(k + 1);
        /* With one plan every other thread, so that errors of some meet good calls of others. */
        workers[k].bad_calls = bad_calls && k % 2 == 0;
    }
    for (int k = 0; k < THREADS; k++)
        if (pthread_create(&workers[k].thread, NULL, work, &workers[k]))
            abort();
    int wrong = 0;
    for (int k = 0; k < THREADS; k++) {
        pthread_join(workers[k].thread, NULL);
        wrong += workers[k].wrong;
    }
    for (int k = 0; k < THREADS; k++)
        free_scan(workers[k].s);
    expect(name, wrong == 0);
}

static void *read_error(void *argument) {
    scan *s = (scan *)argument;
    int empty = *isoc_last_error() == '\0';
    int good = call_reconstruct(s->ct, s) == ISOC_STATUS_OK && *isoc_last_error() == '\0';
    int own = isoc_ct_destroy((isoc_ct *)s) == ISOC_STATUS_INVALID_HANDLE && strstr(isoc_last_error(),
        "isoc_ct handle");
    return (void *)(uintptr_t)(empty + 2 * good + 4 * own);
}

static void errors_stay_in_their_thread(isoc_context *ctx) {
    current_case = "errors stay in their thread";
    scan *s = new_scan(ctx);
    s->t[VOLUME].ndim = 17;
    check_status("an error in this thread", call_reconstruct(s->ct, s), ISOC_STATUS_TENSOR_NDIM, NULL);
    const char *message = isoc_last_error();
    s->t[VOLUME].ndim = 3;
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, read_error, s) || pthread_join(thread, &result))
        abort();
    expect("another thread's message is empty", (uintptr_t)result & 1);
    expect("another thread's call works", (uintptr_t)result & 2);
    expect("another thread's error is its own", (uintptr_t)result & 4);
    expect("this thread's message stays", message == isoc_last_error() && strstr(message, "ndim is 17"));
    expect("this thread's message outlives a good call", still_works(s) && strstr(isoc_last_error(), "ndim is 17"));
    free_scan(s);
}

/* --- handles that go while they are in use --- */

typedef struct {
    scan *s;
    isoc_status from_other_thread, afterwards;
    int reports;
} destruction;

static void *destroy_plan(void *argument) {
    destruction *d = (destruction *)argument;
    d->from_other_thread = isoc_ct_destroy(d->s->ct);
    d->afterwards = isoc_ct_destroy(d->s->ct);
    return NULL;
}

static int32_t destroy_meanwhile(void *user, double fraction, const char *stage) {
    destruction *d = (destruction *)user;
    pthread_t thread;
    (void)fraction, (void)stage;
    if (d->s && !d->reports++ && (pthread_create(&thread, NULL, destroy_plan, d) || pthread_join(thread, NULL)))
        abort();
    return 0;
}

static void destroyed_in_use(void) {
    current_case = "destroyed in use";
    destruction d;
    memset(&d, 0, sizeof d);
    isoc_context *ctx = new_context(destroy_meanwhile, NULL, &d, 0);
    const float *usual = usual_volume(ctx);
    scan *s = new_scan(ctx);
    d.s = s;
    check_ok("a call whose plan is destroyed by another thread", call_reconstruct(s->ct, s));
    expect("a call whose plan is destroyed by another thread", near(s->volume, usual, VOLUME_SIZE, 1e-5));
    expect("a plan destroyed in use", d.from_other_thread == ISOC_STATUS_OK);
    expect("a plan destroyed in use cannot be destroyed again", d.afterwards == ISOC_STATUS_INVALID_HANDLE);
    expect("a plan destroyed in use is gone", call_reconstruct(s->ct, s) == ISOC_STATUS_INVALID_HANDLE);
    d.s = NULL;
    free_scan(s);

    scan *orphan = new_scan(ctx);
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
    expect("a plan outlives its context", still_works(orphan));
    free_scan(orphan);
}

/* A plan may not destroy itself from its own callback: the call that reports still needs it. */
static int32_t destroy_itself(void *user, double fraction, const char *stage) {
    destruction *d = (destruction *)user;
    (void)fraction, (void)stage;
    if (d->s && !d->reports++)
        d->afterwards = isoc_ct_destroy(d->s->ct);
    return 0;
}

static void destroyed_from_its_own_callback(void) {
    current_case = "destroyed from its own callback";
    destruction d;
    memset(&d, 0, sizeof d);
    isoc_context *ctx = new_context(destroy_itself, NULL, &d, 0);
    scan *s = new_scan(ctx);
    d.s = s;
    check_ok("a call that tries to destroy its plan", call_reconstruct(s->ct, s));
    report("ct_destroy: called from its plan's own callback", d.afterwards == ISOC_STATUS_BUSY,
        isoc_status_string(d.afterwards));
    expect("the plan is still there", still_works(s));
    free_scan(s);
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
}

#ifndef _WIN32 /* Windows has no fork. */
/* --- fork --- */

/* A query that the library answers with several threads. */
static isoc_status pet_tables(isoc_context *ctx) {
    isoc_pet *pet = NULL;
    isoc_pet_geometry g;
    isoc_pet_response r;
    isoc_pet_table_sizes sizes;
    memset(&g, 0, sizeof g), memset(&r, 0, sizeof r), memset(&sizes, 0, sizeof sizes);
    g.struct_size = sizeof g, g.nx = g.ny = g.nz = 8, g.voxel_x = 8.0, g.azimuths = 2, g.max_tilt = 0.1;
    r.struct_size = sizeof r, r.tof_fwhm = 60.0, r.radial_fwhm = 9.0, r.axial_fwhm = 9.0;
    sizes.struct_size = sizeof sizes;
    isoc_status status = isoc_pet_create(ctx, &pet);
    status = status ? status : isoc_pet_set_geometry(pet, &g, NULL);
    status = status ? status : isoc_pet_set_response(pet, &r);
    status = status ? status : isoc_pet_get_table_sizes(pet, 0, &sizes);
    isoc_pet_destroy(pet);
    return status;
}

/* A child cannot use what its parent made, can destroy it for nothing, and works with what it makes itself. */
static void forks(void) {
    isoc_context *ctx = new_context(NULL, NULL, NULL, 0);
    scan *s = new_scan(ctx);
    isoc_ct *ct = s->ct;
    void *memory = NULL;
    check_ok("isoc_host_alloc", isoc_host_alloc(ctx, 64, &memory));
    check_ok("tables", pet_tables(ctx));
    uint64_t bytes;
    int ends[2];
    if (pipe(ends))
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int before = failed;
        static const char *const words[] = { "isoc_ct handle", "forked from", NULL };
        check_status("a parent's plan", isoc_ct_memory(ct, &bytes), ISOC_STATUS_INVALID_HANDLE, words);
        check_ok("a parent's memory", isoc_host_free(memory));
        check_ok("a parent's plan destroyed", isoc_ct_destroy(ct));
        check_ok("a parent's context destroyed", isoc_context_destroy(ctx));
        check_ok("and again", isoc_ct_destroy(ct));
        free_scan(s);
        if (!computes_on_gpu()) {
            isoc_context *own = new_context(NULL, NULL, NULL, 0);
            scan *anew = new_scan(own);
            check_ok("a plan of its own", call_reconstruct(anew->ct, anew));
            check_ok("tables of its own", pet_tables(own));
            free_scan(anew);
            check_ok("isoc_context_destroy", isoc_context_destroy(own));
        }
        fflush(stdout);
        char good = failed == before;
        /* Killed, not ended: a leak check would count what the parent's threads, which are not here, still hold. */
        if (write(ends[1], &good, 1) == 1)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    close(ends[1]);
    char good = 0;
    expect("a child's calls", child > 0 && read(ends[0], &good, 1) == 1 && good);
    close(ends[0]);
    expect("the child ended", waitpid(child, NULL, 0) == child);
    check_ok("the parent's plan", isoc_ct_memory(ct, &bytes));
    check_ok("isoc_host_free", isoc_host_free(memory));
    free_scan(s);
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
}
#endif

int main(void) {
    start();
    isoc_context *ctx = new_context(NULL, NULL, NULL, 0);
    usual_volume(ctx);
    in_threads(ctx, "one plan in several threads", 1, 0);
    in_threads(ctx, "one plan in several threads, with errors among them", 1, 1);
    in_threads(ctx, "a plan in each of several threads", 0, 0);
    in_threads(ctx, "a plan in each of several threads, with errors among them", 0, 1);
    errors_stay_in_their_thread(ctx);
    check_ok("isoc_context_destroy", isoc_context_destroy(ctx));
    progress_and_first_cancel();
    cancel_in_the_middle();
    calls_from_callbacks();
    destroyed_in_use();
    destroyed_from_its_own_callback();
#ifndef _WIN32
    if (getenv("ISOC_TEST_EMULATED"))
        puts("skipped: fork, which emulators of one process do not survive when it has several threads");
    else
        forks();
#endif
    check_threads_end();
    return finish();
}
