#include "gateway.hpp"

static const char *const devices[] = { "auto", "cpu", "gpu", nullptr };
static const char *const nan_policies[] = { "error", "replace", nullptr };

struct context_settings {
    isoc_context_options options;
    const mxArray *progress;
    uint32_t log;
};
#define AT(member) offsetof(context_settings, member)
static const record settings{ "options", sizeof(context_settings), {
    { "Device", field::word, AT(options.device), 0, devices },
    { "Gpus", field::int32s, AT(options.gpus), AT(options.gpu_count) },
    { "Threads", field::count32, AT(options.threads), 0, nullptr, nullptr, true },
    { "MemoryCap", field::count64, AT(options.memory_cap), 0, nullptr, nullptr, true },
    { "GpuMemoryCap", field::count64, AT(options.gpu_memory_cap), 0, nullptr, nullptr, true },
    { "NanPolicy", field::word, AT(options.nan_policy), 0, nan_policies },
    { "Progress", field::any, AT(progress) },
    { "Log", field::logical, AT(log) },
} };
#undef AT

static progress_mode mode_of(const mxArray *progress) {
    if (!progress) return progress_mode::none;
    if (mxGetClassID(progress) == mxFUNCTION_CLASS) return progress_mode::function;
    const std::string text = is_text(progress) ? with_kind("invalidOptions", [&] { return text_of(progress, "Progress"); }) : "";
    if (text == "console") return progress_mode::console;
    if (text != "none") fail("invalidOptions", "Progress must be 'none', 'console' or a function handle");
    return progress_mode::none;
}

static void create(call &c) {
    context_settings s{};
    s.options = sized<isoc_context_options>();
    settings_read(settings, c, 0, "invalidOptions", &s);
    const progress_mode mode = mode_of(s.progress);
    reporter *r = reporter_new(mode, mode == progress_mode::function ? s.progress : nullptr, s.log != 0);
    s.options.progress = report_progress, s.options.progress_user = r;
    s.options.log = report_log, s.options.log_user = r;
    isoc_context *made = nullptr;
    const isoc_status status = isoc_context_create(&s.options, &made);
    if (status != ISOC_STATUS_OK) reporter_release(r);
    check(status, "invalidOptions");
    c.result(0, plan_number(plan_keep(kind::context, made, r, devices[s.options.device])));
}

static void destroy(call &c) { plan_destroy(c.plan); }

static void describe(call &c) { c.result(0, mxCreateString((std::string("device ") + c.plan->device).c_str())); }

static void version(call &c) {
    c.takes({});
    static const char *const names[] = { "Version", "Abi", "BuildInfo" };
    mxArray *out = mxCreateStructMatrix(1, 1, 3, const_cast<const char **>(names));
    mxSetFieldByNumber(out, 0, 0, mxCreateString(isoc_version()));
    mxSetFieldByNumber(out, 0, 1, number(isoc_abi_version()));
    mxSetFieldByNumber(out, 0, 2, mxCreateString(isoc_build_info()));
    c.result(0, out);
}

const std::vector<command> context_commands{
    { "create", create, needs::nothing },
    { "destroy", destroy, needs::plan },
    { "describe", describe, needs::plan },
    { "version", version, needs::nothing },
};
