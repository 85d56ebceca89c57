// Progress, Ctrl-C and warnings. The library calls these from the thread that called it, which is MATLAB's own; nothing may be thrown
// through its frames.
#include "gateway.hpp"

#include <exception>
#include <memory>

#if defined(ISOCENTER_OCTAVE)
#include <octave/quit.h>
// Not octave_signal_caught, which the end of a child process sets as well.
static bool interrupted() { return octave_interrupt_state > 0; }
static const char *const show_now = "fflush(stdout);";
#else
// Of MATLAB's libut: in no manual, and there since long ago.
extern "C" bool utIsInterruptPending();
static bool interrupted() { return utIsInterruptPending(); }
static const char *const show_now = "drawnow;";
#endif

struct reporter {
    int users;
    progress_mode mode;
    mxArray *function;
    bool log;
    int percent; // that is shown; -1 if none
    int width;   // of the line that is shown
};

// Of the call that runs.
struct state {
    std::string title, warnings;
    bool interrupted = false;
    mxArray *error = nullptr;        // that a MATLAB function raised
    std::unique_ptr<failure> failed; // of our own callbacks
    std::exception_ptr thrown;
};
static state running;

reporter *reporter_new(progress_mode mode, const mxArray *function, bool log) {
    mxArray *copy = nullptr;
    if (function) {
        copy = mxDuplicateArray(function);
        mexMakeArrayPersistent(copy);
    }
    return new reporter{ 1, mode, copy, log, -1, 0 };
}

reporter *reporter_share(reporter *r) {
    r->users++;
    return r;
}

void reporter_release(reporter *r) {
    if (--r->users > 0) return;
    if (r->function) mxDestroyArray(r->function);
    delete r;
}

// While MATLAB code runs within a call: it may call the gateway, and say `clear`.
struct outside {
    state call;
    outside() {
        std::swap(call, running);
        mexLock();
    }
    ~outside() {
        mexUnlock();
        std::swap(call, running);
    }
};

bool call_function(mxArray *function, const std::vector<mxArray *> &inputs, mxArray **out) {
    const int outputs = out ? 1 : 0;
    std::vector<mxArray *> in{ mxCreateString("isocenter.internal.guard"), number(outputs), function };
    in.insert(in.end(), inputs.begin(), inputs.end());
    mxArray *results[2] = { nullptr, nullptr }, *error = nullptr;
    std::exception_ptr thrown;
    try {
        const outside scope;
        error = mexCallMATLABWithTrap(1 + outputs, results, static_cast<int>(in.size()), in.data(), "feval");
    } catch (...) {
        thrown = std::current_exception(); // Ctrl-C
    }
    in.erase(in.begin() + 2);
    for (mxArray *input : in) mxDestroyArray(input);
    if (!error && results[0] && !mxIsEmpty(results[0])) error = results[0];
    if (error) running.error = error;
    if (thrown) running.thrown = thrown;
    if (out) *out = results[1];
    return !error && !thrown;
}

void keep_failure(const failure &f) { running.failed = std::make_unique<failure>(f); }

mxArray *function_of(const mxArray *value, const char *name) {
    if (mxGetClassID(value) != mxFUNCTION_CLASS) fail("invalidArgument", "%s must be a function handle, not of class %s", name, mxGetClassName(value));
    return const_cast<mxArray *>(value);
}

std::vector<mxArray *> part_of(int64_t first, int64_t count) {
    return { number(static_cast<double>(first + 1)), number(static_cast<double>(count)) };
}

static void show(reporter *r, double fraction, const char *stage) {
    const bool done = fraction >= 1;
    const int percent = static_cast<int>(100 * fraction);
    if (percent == r->percent && !done) return;
    const std::string back(static_cast<size_t>(r->width), '\b');
    char line[128];
    const int width = snprintf(line, sizeof line, "%s %3d %%  %-18.18s", running.title.c_str(), percent, stage);
    mexPrintf("%s%s%s", back.c_str(), line, done ? "\n" : "");
    r->percent = done ? -1 : percent;
    r->width = done ? 0 : width;
    const outside scope; // drawnow runs the callbacks of buttons and timers
    if (mxArray *error = mexEvalStringWithTrap(show_now)) mxDestroyArray(error);
}

int32_t report_progress(void *user, double fraction, const char *stage) {
    auto *r = static_cast<reporter *>(user);
    try {
        if (interrupted()) return running.interrupted = true;
        if (r->mode == progress_mode::console) show(r, fraction, stage);
        if (r->mode != progress_mode::function) return 0;
        mxArray *out = nullptr;
        if (!call_function(r->function, { number(fraction), mxCreateString(stage) }, &out)) return 1;
        // Not any number: functions like waitbar return handles.
        const bool stop = out && mxIsLogicalScalarTrue(out);
        if (out) mxDestroyArray(out);
        return stop;
    } catch (...) {
        running.thrown = std::current_exception();
        return 1;
    }
}

void report_log(void *user, int32_t level, const char *message) {
    const auto *r = static_cast<const reporter *>(user);
    try {
        // A warning may be set to be an error, so it waits until the library has returned.
        if (level <= 1) running.warnings += (running.warnings.empty() ? "" : "\n") + running.title + ": " + in_matlab(message);
        else if (r->log) mexPrintf("isocenter: %s: %s\n", running.title.c_str(), in_matlab(message).c_str());
    } catch (...) {
        running.thrown = std::current_exception();
    }
}

void report_begin(const call &c) {
    running = state{};
    running.title = c.method;
    settings_forget();
    arrays_forget();
}

bool report_interrupted() { return running.interrupted; }

static void warn(const std::string &text) {
#if defined(ISOCENTER_OCTAVE)
    octave_warn("isocenter:log", text.c_str());
#else
    mexWarnMsgIdAndTxt("isocenter:log", "%s", text.c_str());
#endif
}

void report_finish() {
    state done;
    std::swap(done, running);
    running.title = done.title;
    running.interrupted = done.interrupted;
    if (!done.warnings.empty()) warn(done.warnings);
    if (done.thrown) std::rethrow_exception(done.thrown);
    if (done.failed) throw failure(*done.failed);
    if (done.error) mexCallMATLAB(0, nullptr, 1, &done.error, "rethrow");
}
