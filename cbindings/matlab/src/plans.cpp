// Numbers are never used twice: one that has been freed is an error, not another plan.
#include "gateway.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#ifndef _WIN32
#include <unistd.h>
#endif

static std::vector<std::unique_ptr<plan>> plans;
static plan *shared_context;

// `clear` forgets all of this file, and objects that hold numbers may outlive it: each load begins elsewhere.
static uint64_t next_number() {
    static uint64_t last = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    return ++last;
}

// A process that was forked, which Windows has not, has none of the library's threads: plans that it inherits would wait for them.
static void forget_inherited() {
#ifndef _WIN32
    static pid_t owner = getpid();
    if (owner == getpid()) return;
    owner = getpid();
    for (auto &p : plans) static_cast<void>(p.release());
    plans.clear();
    shared_context = nullptr;
#endif
}

static const char *name_of(kind k) {
    static const char *const names[] = { "isocenter.Context", "isocenter.CT", "isocenter.MRI", "isocenter.PET" };
    return names[static_cast<int>(k)];
}

plan *plan_find(const mxArray *id, kind wanted) {
    forget_inherited();
    if (!mxIsUint64(id) || mxGetNumberOfElements(id) != 1) fail("invalidHandle", "this is not a number of an %s", name_of(wanted));
    const uint64_t number = *static_cast<const uint64_t *>(mxGetData(id));
    if (number == 0)
        fail("notConfigured", "this %s has no geometry yet, nor has one that was loaded or sent to another process; call setGeometry first", name_of(wanted));
    for (const auto &p : plans) {
        if (p->id != number) continue;
        if (p->kind != wanted) fail("invalidHandle", "this is an %s; it must be an %s", name_of(p->kind), name_of(wanted));
        return p.get();
    }
    fail("invalidHandle", "this %s has been freed, by delete or by clear, or was made before a fork; make a new one", name_of(wanted));
}

plan *plan_keep(kind made_kind, void *made, reporter *r, const char *device) {
    auto p = std::make_unique<plan>();
    p->id = next_number();
    p->kind = made_kind;
    p->handle = made;
    p->reporter = r;
    p->device = device;
    plans.push_back(std::move(p));
    return plans.back().get();
}

mxArray *plan_number(const plan *p) {
    mxArray *id = mxCreateNumericMatrix(1, 1, mxUINT64_CLASS, mxREAL);
    *static_cast<uint64_t *>(mxGetData(id)) = p->id;
    return id;
}

plan *plan_context(const mxArray *id) {
    if (!mxIsUint64(id) || mxGetNumberOfElements(id) != 1 || *static_cast<const uint64_t *>(mxGetData(id)) != 0)
        return plan_find(id, kind::context);
    forget_inherited();
    if (!shared_context) {
        auto options = sized<isoc_context_options>();
        reporter *r = reporter_new(progress_mode::none, nullptr, false);
        options.progress = report_progress, options.progress_user = r;
        options.log = report_log, options.log_user = r;
        isoc_context *made = nullptr;
        const isoc_status status = isoc_context_create(&options, &made);
        if (status != ISOC_STATUS_OK) reporter_release(r);
        check(status);
        shared_context = plan_keep(kind::context, made, r, "auto");
    }
    return shared_context;
}

void describe_as(call &c, const std::string &facts) {
    const std::string text = (c.plan->configured ? facts : "no geometry") + ", device " + c.plan->device;
    c.result(0, mxCreateString(text.c_str()));
}

static isoc_status destroy(const plan &p) {
    switch (p.kind) {
        case kind::context: return isoc_context_destroy(p.context());
        case kind::ct: return isoc_ct_destroy(p.ct());
        case kind::mri: return isoc_mri_destroy(p.mri());
        default: return isoc_pet_destroy(p.pet());
    }
}

void plan_destroy(plan *p) {
    check(destroy(*p)); // BUSY where a callback of its own asks: then it stays
    reporter_release(p->reporter);
    if (p == shared_context) shared_context = nullptr;
    plans.erase(std::find_if(plans.begin(), plans.end(), [p](const auto &other) { return other.get() == p; }));
}

void plans_clear() {
    forget_inherited();
    for (const auto &p : plans) {
        destroy(*p);
        reporter_release(p->reporter);
    }
    plans.clear();
    shared_context = nullptr;
}
