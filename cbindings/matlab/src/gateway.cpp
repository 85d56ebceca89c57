// isocenter_mex(command, plan, arguments...): see gateway.hpp.
#include "gateway.hpp"

#include <cctype>
#include <cstdio>
#include <new>

#if defined(__linux__)
#include <dlfcn.h>
#endif

const mxArray *call::argument(int at, const char *name) const {
    if (at >= count) fail("invalidArgument", "%s is missing", name);
    return arguments[at];
}

const mxArray *call::optional(int at) const { return at < count && !mxIsEmpty(arguments[at]) ? arguments[at] : nullptr; }

void call::takes(std::initializer_list<const char *> names) const {
    const auto most = static_cast<int>(names.size());
    if (count <= most) return;
    std::string list;
    for (const char *name : names) list += (list.empty() ? "" : ", ") + std::string(name);
    fail("invalidArgument", "there %s %d argument%s; there may be %s%d%s%s", count == 1 ? "is" : "are", count, count == 1 ? "" : "s",
         most ? "at most " : "", most, most ? ": " : "", list.c_str());
}

void call::result(int at, mxArray *value) {
    if (at < wanted || at == 0) results[at] = value;
    else mxDestroyArray(value);
}

// `clear` unloads this file. Threads of the library may still be ending then, so the library itself stays; on Windows it sees to that.
static void keep_library() {
#if defined(__linux__)
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(&isoc_version), &info)) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

static void load() {
    static bool loaded;
    if (loaded) return;
    if (isoc_abi_version() != ISOC_ABI_VERSION)
        fail("abi", "isocenter_mex was built for ABI %d, and the library has %u; run build_mex again", ISOC_ABI_VERSION, isoc_abi_version());
    keep_library();
    mexAtExit(plans_clear);
    loaded = true;
}

static const struct {
    const char *area;
    ::kind kind;
    const std::vector<command> *commands;
} areas[] = {
    { "context", kind::context, &context_commands },
    { "coil", kind::context, &coil_commands },
    { "ct", kind::ct, &ct_commands },
    { "mri", kind::mri, &mri_commands },
    { "pet", kind::pet, &pet_commands },
};

// "mri.set_options" is "MRI.setOptions", "mri.create" is "MRI" and "mri.destroy" "MRI.delete"; "coil.maps" is the function "coilMaps".
static std::string method_of(const std::string &area, const std::string &name) {
    if (area == "coil") return area + camel(name, true);
    std::string out = area == "context" ? "Context" : area;
    if (area != "context")
        for (char &letter : out) letter = static_cast<char>(toupper(static_cast<unsigned char>(letter)));
    return name == "create" ? out : out + "." + (name == "destroy" ? "delete" : camel(name, false));
}

static void run(call &c, int count, const mxArray **arguments) {
    if (count < 1 || !mxIsChar(arguments[0])) fail("invalidArgument", "call this through the classes of the package isocenter");
    c.command = text_of(arguments[0], "the command");
    load();
    const size_t dot = c.command.find('.');
    const std::string area = c.command.substr(0, dot);
    for (const auto &a : areas) {
        if (area != a.area) continue;
        c.area = area;
        for (const command &known : *a.commands) {
            if (c.command.compare(dot + 1, std::string::npos, known.name) != 0) continue;
            c.method = method_of(area, known.name);
            const int used = known.needs == needs::nothing ? 1 : 2;
            if (count < used) fail("invalidArgument", "the number of the plan is missing");
            c.count = count - used;
            c.arguments = arguments + used;
            if (known.needs == needs::context) c.plan = plan_context(arguments[1]);
            else if (known.needs != needs::nothing) c.plan = plan_find(arguments[1], a.kind);
            if (known.needs == needs::geometry && !c.plan->configured)
                fail("notConfigured", "there is no geometry yet; call setGeometry first");
            report_begin(c);
            known.run(c);
            return;
        }
    }
    fail("invalidArgument", "there is no command '%s'", c.command.c_str());
}

static void raise(const char *identifier, const char *text) {
#if defined(ISOCENTER_OCTAVE)
    octave_raise(identifier, text);
#else
    mexErrMsgIdAndTxt(identifier, "%s", text);
#endif
}

void mexFunction(int wanted, mxArray *results[], int count, const mxArray *arguments[]) {
    // Static: MATLAB's error function may not come back to free them.
    static char identifier[96], text[1536];
    bool failed = true;
    {
        call c;
        c.wanted = wanted;
        c.results = results;
        const auto keep = [&c](const char *kind, const char *message) {
            snprintf(identifier, sizeof identifier, "isocenter:%s%s%s", c.area.c_str(), c.area.empty() ? "" : ":", kind);
            snprintf(text, sizeof text, "%s%s%s", c.method.c_str(), c.method.empty() ? "" : ": ", message);
        };
        try {
            run(c, count, arguments);
            report_finish();
            failed = false;
        } catch (const failure &f) {
            keep(f.kind.c_str(), f.text.c_str());
        } catch (const std::bad_alloc &) {
            keep("outOfMemory", "no memory for the arrays of this call");
        }
    }
    if (failed) raise(identifier, text);
}
