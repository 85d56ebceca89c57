#include "gateway.hpp"

static const char *const methods[] = { "espirit", "adaptive", nullptr };

#define AT(member) offsetof(isoc_coil_options, member)
static const record options_record{ "options", sizeof(isoc_coil_options), {
    { "Method", field::word, AT(method), 0, methods },
    { "KernelX", field::count, AT(kernel_x), 0, nullptr, nullptr, true },
    { "KernelY", field::count, AT(kernel_y), 0, nullptr, nullptr, true },
    { "KernelZ", field::count, AT(kernel_z), 0, nullptr, nullptr, true },
    { "Window", field::count, AT(window), 0, nullptr, nullptr, true },
    { "Threshold", field::real, AT(threshold), 0, nullptr, nullptr, true },
    { "Crop", field::real, AT(crop), 0, nullptr, nullptr, true },
} };
#undef AT

static const unsigned complex = is_single | is_double | is_complex;

// Sizes of an array with so many dimensions, ones at the end put back.
static std::vector<int64_t> sizes(const mxArray *value, size_t dimensions, const char *name, const char *meaning) {
    std::vector<int64_t> size = size_of(value);
    while (size.size() > 2 && size.back() == 1) size.pop_back();
    if (size.size() > dimensions) fail("arrayShape", "%s is %s; it must be %s", name, times(size_of(value)).c_str(), meaning);
    size.resize(dimensions, 1);
    return size;
}

static void whitening(call &c) {
    c.takes({ "noise" });
    const mxArray *value = c.argument(0, "noise");
    const auto size = sizes(value, 2, "noise", "samples x coils");
    const array noise(value, "noise", complex, { size, "samples x coils" });
    array matrix(noise.type(), { { size[1], size[1] }, "coils x coils" });
    check(isoc_coil_whitening(c.plan->context(), noise.tensor(), matrix.tensor()));
    c.result(0, matrix.finish());
}

static void compression(call &c) {
    c.takes({ "data", "kept" });
    const mxArray *value = c.argument(0, "data");
    const auto size = sizes(value, 2, "data", "samples x coils");
    const array data(value, "data", complex, { size, "samples x coils" });
    const int64_t kept = integer_of(c.argument(1, "kept"), "kept");
    if (kept < 1) fail("invalidArgument", "kept is %lld; it must be at least 1", static_cast<long long>(kept));
    array matrix(data.type(), { { size[1], kept }, "coils x kept" });
    double energy = 0;
    check(isoc_coil_compression(c.plan->context(), data.tensor(), matrix.tensor(), &energy));
    c.result(0, matrix.finish());
    c.result(1, number(energy));
}

static void geometric_compression(call &c) {
    c.takes({ "data", "kept" });
    const mxArray *value = c.argument(0, "data");
    const auto size = sizes(value, 3, "data", "readout x lines x coils");
    const array data(value, "data", complex, { size, "readout x lines x coils" });
    const int64_t kept = integer_of(c.argument(1, "kept"), "kept");
    if (kept < 1) fail("invalidArgument", "kept is %lld; it must be at least 1", static_cast<long long>(kept));
    array matrix(data.type(), { { size[2], kept, size[0] }, "coils x kept x readout" });
    double energy = 0;
    check(isoc_coil_geometric_compression(c.plan->context(), data.tensor(), matrix.tensor(), &energy));
    c.result(0, matrix.finish());
    c.result(1, number(energy));
}

static void apply(call &c) {
    c.takes({ "matrix", "data" });
    const mxArray *first = c.argument(0, "matrix"), *second = c.argument(1, "data");
    if (size_of(first).size() > 2) {
        const auto of = sizes(first, 3, "matrix", "coils x kept x readout"), size = sizes(second, 3, "data", "readout x lines x coils");
        const array matrix(first, "matrix", complex, { { size[2], of[1], size[0] }, "coils x kept x readout" });
        const array data(second, "data", complex, { size, "readout x lines x coils" });
        array out(data.type(), { { size[0], size[1], of[1] }, "readout x lines x kept" });
        check(isoc_coil_apply_geometric(c.plan->context(), matrix.tensor(), data.tensor(), out.tensor()));
        c.result(0, out.finish());
        return;
    }
    const auto of = size_of(first), size = sizes(second, 2, "data", "samples x coils");
    const array matrix(first, "matrix", complex, { { size[1], of[1] }, "coils x kept" });
    const array data(second, "data", complex, { size, "samples x coils" });
    array out(data.type(), { { size[0], of[1] }, "samples x kept" });
    check(isoc_coil_apply(c.plan->context(), matrix.tensor(), data.tensor(), out.tensor()));
    c.result(0, out.finish());
}

static void maps(call &c) {
    const mxArray *value = c.argument(0, "calibration");
    const std::vector<int64_t> grid = integers_of(c.argument(1, "size"), "size");
    if (grid.size() != 2 && grid.size() != 3) fail("invalidArgument", "size has %zu values; it must be [nx ny] or [nx ny nz]", grid.size());
    for (int64_t n : grid)
        if (n < 1) fail("invalidArgument", "size has a %lld; sizes must be at least 1", static_cast<long long>(n));
    const bool plane = grid.size() == 2;
    const char *meaning = plane ? "nx x ny x coils" : "nx x ny x nz x coils";
    const auto size = sizes(value, grid.size() + 1, "calibration", meaning);
    const array calibration(value, "calibration", complex, { size, meaning });
    const bool has_sets = c.count > 2 && mxIsNumeric(c.arguments[2]);
    const int64_t sets = has_sets && c.optional(2) ? integer_of(c.optional(2), "sets") : 1;
    if (sets < 1) fail("invalidArgument", "sets is %lld; it must be at least 1", static_cast<long long>(sets));
    auto options = sized<isoc_coil_options>();
    settings_read(options_record, c, has_sets ? 3 : 2, "invalidOptions", &options);
    std::vector<int64_t> to = grid, of = grid;
    to.push_back(size.back());
    to.push_back(sets), of.push_back(sets);
    array found(calibration.type(), { to, plane ? "nx x ny x coils x sets" : "nx x ny x nz x coils x sets" });
    array values(calibration.type() & ~unsigned{ is_complex }, { of, plane ? "nx x ny x sets" : "nx x ny x nz x sets" });
    check(isoc_coil_maps(c.plan->context(), &options, calibration.tensor(), found.tensor(), c.wanted > 1 ? values.tensor() : nullptr), "invalidOptions");
    c.result(0, found.finish());
    c.result(1, values.finish());
}

const std::vector<command> coil_commands{
    { "whitening", whitening, needs::context },
    { "compression", compression, needs::context },
    { "geometric_compression", geometric_compression, needs::context },
    { "apply", apply, needs::context },
    { "maps", maps, needs::context },
};
