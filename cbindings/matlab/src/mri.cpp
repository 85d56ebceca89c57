#include "gateway.hpp"

#include <algorithm>
#include <cstring>

static const char *const units[] = { "", "cycles_per_voxel", "cycles_per_field_of_view", "radians_per_voxel", nullptr };
static const char *const precisions[] = { "single", "double", nullptr };
static const char *const methods[] = { "auto", "nufft", "exact", nullptr };
static const char *const normals[] = { "auto", "toeplitz", "pair", nullptr };
static const char *const penalties[] = { "identity", "differences", "matrix", "wavelets", "variation", "low_rank", nullptr };
static const char *const algorithms[] = { "auto", "conjugate_gradient", "fista", "primal_dual", nullptr };
static const char *const wavelets[] = { "daubechies4", "haar", nullptr };
static const char *const sines[] = { "precise", "hardware", nullptr };
static const char *const densities[] = { "iterative", "radial", nullptr };
static const char *const phantoms[] = { "original", "modified", nullptr };

struct mri_geometry {
    isoc_mri_geometry g;
    const mxArray *size;
};
#define AT(member) offsetof(mri_geometry, member)
static const record geometry_record{ "geometry", sizeof(mri_geometry), {
    { "Size", field::any, AT(size) },
    { "Unit", field::word, AT(g.unit), 0, units },
    { "Coils", field::count, AT(g.coils), 0, nullptr, nullptr, true },
    { "Precision", field::word, AT(g.precision), 0, precisions },
} };
#undef AT

#define AT(member) offsetof(isoc_mri_options, member)
static const record options_record{ "options", sizeof(isoc_mri_options), {
    { "Iterations", field::count, AT(iterations), 0, nullptr, nullptr, true },
    { "Lambda", field::real, AT(lambda) },
    { "Penalty", field::word, AT(penalty), 0, penalties },
    { "Residual", field::real, AT(residual), 0, nullptr, nullptr, true },
    { "Method", field::word, AT(method), 0, methods },
    { "Normal", field::word, AT(normal), 0, normals },
    { "Tolerance", field::real, AT(tolerance), 0, nullptr, nullptr, true },
    { "Upsampling", field::real, AT(upsampling), 0, nullptr, nullptr, true },
    { "Sines", field::word, AT(sines), 0, sines },
    { "Algorithm", field::word, AT(algorithm), 0, algorithms },
    { "Wavelet", field::word, AT(wavelet), 0, wavelets },
    { "Levels", field::count32, AT(levels) },
    { "FixedGrid", field::logical, AT(fixed_grid) },
    { "Huber", field::real, AT(huber) },
    { "Block", field::count, AT(block), 0, nullptr, nullptr, true },
    { "Joint", field::logical, AT(joint) },
    { "Imaginary", field::real, AT(imaginary) },
} };
#undef AT

#define AT(member) offsetof(isoc_mri_info, member)
static const record info_record{ "info", sizeof(isoc_mri_info), {
    { "HasQ", field::logical, AT(has_q) },
    { "Images", field::count, AT(images) },
    { "FineNx", field::count, AT(fine_nx) },
    { "FineNy", field::count, AT(fine_ny) },
    { "FineNz", field::count, AT(fine_nz) },
    { "Width", field::count, AT(width) },
    { "QNx", field::count, AT(q_nx) },
    { "QNy", field::count, AT(q_ny) },
    { "QNz", field::count, AT(q_nz) },
    { "ReplacedValues", field::count, AT(replaced_values) },
    { "FieldTerms", field::count, AT(field_terms) },
    { "FieldError", field::real, AT(field_error) },
    { "NormalTerms", field::count, AT(normal_terms) },
    { "NormalError", field::real, AT(normal_error) },
    { "LambdaLimit", field::real, AT(lambda_limit) },
} };
#undef AT

struct delays_wanted {
    isoc_mri_delay_options options;
    const mxArray *voxel;
};
#define AT(member) offsetof(delays_wanted, member)
static const record delays_wanted_record{ "options", sizeof(delays_wanted), {
    { "Readout", field::count, AT(options.readout), 0, nullptr, nullptr, true },
    { "Range", field::real, AT(options.range), 0, nullptr, nullptr, true },
    { "Voxel", field::any, AT(voxel) },
} };
#undef AT

#define AT(member) offsetof(isoc_mri_maps_options, member)
static const record maps_options_record{ "options", sizeof(isoc_mri_maps_options), {
    { "Steps", field::count, AT(steps), 0, nullptr, nullptr, true },
    { "Iterations", field::count, AT(iterations), 0, nullptr, nullptr, true },
    { "Residual", field::real, AT(residual), 0, nullptr, nullptr, true },
    { "Alpha", field::real, AT(alpha), 0, nullptr, nullptr, true },
    { "Reduction", field::real, AT(reduction), 0, nullptr, nullptr, true },
    { "Scale", field::real, AT(scale), 0, nullptr, nullptr, true },
    { "Order", field::real, AT(order), 0, nullptr, nullptr, true },
} };
#undef AT

#define AT(member) offsetof(isoc_mri_delays, member)
static const record delays_record{ "delays", sizeof(isoc_mri_delays), {
    { "Axes", field::count32, AT(axes) },
    { "Xx", field::real, AT(xx) },
    { "Yy", field::real, AT(yy) },
    { "Zz", field::real, AT(zz) },
    { "Xy", field::real, AT(xy) },
    { "Xz", field::real, AT(xz) },
    { "Yz", field::real, AT(yz) },
    { "XxError", field::real, AT(xx_error) },
    { "YyError", field::real, AT(yy_error) },
    { "ZzError", field::real, AT(zz_error) },
    { "XyError", field::real, AT(xy_error) },
    { "XzError", field::real, AT(xz_error) },
    { "YzError", field::real, AT(yz_error) },
    { "Confidence", field::real, AT(confidence) },
} };
#undef AT

#define AT(member) offsetof(isoc_mri_ellipsoid, member)
static const record ellipsoid_record{ "ellipsoids", sizeof(isoc_mri_ellipsoid), {
    { "Value", field::real, AT(value) },
    { "X", field::real, AT(x) },
    { "Y", field::real, AT(y) },
    { "Z", field::real, AT(z) },
    { "SemiX", field::real, AT(semi_x) },
    { "SemiY", field::real, AT(semi_y) },
    { "SemiZ", field::real, AT(semi_z) },
    { "Angle", field::real, AT(angle) },
} };
#undef AT

static const unsigned real = is_single | is_double, complex = real | is_complex;

static unsigned precision(const call &c) { return c.plan->mri_size.is_double ? is_double : is_single; }
static bool is_plane(const call &c) { return c.plan->mri_size.nz == 1; }

static shape one_image(const call &c) {
    const mri_sizes &s = c.plan->mri_size;
    if (is_plane(c)) return { { s.nx, s.ny }, "nx x ny" };
    return { { s.nx, s.ny, s.nz }, "nx x ny x nz" };
}

// The voxels, with `last` of them along a further dimension.
static shape voxels(const call &c, int64_t last, const char *plane, const char *volume) {
    shape out = one_image(c);
    out.size.push_back(last);
    out.meaning = is_plane(c) ? plane : volume;
    return out;
}

// Coils are easily forgotten, or those of another scan.
static shape counting_coils(shape out, std::vector<int64_t> counted) {
    counted.push_back(0);
    out.option = "Coils", out.counted = std::move(counted);
    return out;
}

static shape maps_of(const call &c) {
    const shape maps = voxels(c, c.plan->mri_size.coils, "nx x ny x coils", "nx x ny x nz x coils");
    return counting_coils(maps, one_image(c).size);
}

static shape image(const call &c) {
    const mri_sizes &s = c.plan->mri_size;
    const int64_t images = s.series * (s.sets ? s.sets : s.coils);
    if (s.series > 1 || s.sets > 1) return voxels(c, images, "nx x ny x images", "nx x ny x nz x images");
    if (s.sets) return one_image(c);
    return s.coils > 1 ? maps_of(c) : counting_coils(one_image(c), one_image(c).size);
}

static shape samples(const call &c) {
    const mri_sizes &s = c.plan->mri_size;
    return counting_coils({ { s.samples, s.coils }, s.coils > 1 ? "samples x coils" : "samples" }, { s.samples });
}

static shape one_a_sample(const call &c) { return { { c.plan->mri_size.samples }, "one a sample" }; }

static void create(call &c) {
    isoc_mri *made = nullptr;
    check(isoc_mri_create(c.plan->context(), &made));
    plan *p = plan_keep(kind::mri, made, reporter_share(c.plan->reporter), c.plan->device);
    p->mri_size.options = sized<isoc_mri_options>();
    c.result(0, plan_number(p));
}

static void destroy(call &c) { plan_destroy(c.plan); }

static void describe(call &c) {
    const mri_sizes &s = c.plan->mri_size;
    describe_as(c, sized("samples", samples(c)) + ", " + sized("image", image(c)) + ", " + (s.is_double ? "double" : "single") +
                       " precision, " + (s.sets ? "maps" : "no maps"));
}

static void set_geometry(call &c) {
    mri_geometry s{};
    s.g = sized<isoc_mri_geometry>();
    const mxArray *trajectory = c.count ? c.arguments[0] : nullptr;
    if (!trajectory || is_text(trajectory)) fail("invalidGeometry", "trajectory is missing: it comes first, 2 x samples or 3 x samples; names and values follow");
    settings_read(geometry_record, c, 1, "invalidGeometry", &s);
    if (!s.g.unit) fail("invalidGeometry", "Unit is missing: 'cycles_per_voxel', 'cycles_per_field_of_view' or 'radians_per_voxel'");
    if (!s.size) fail("invalidGeometry", "Size is missing: [nx ny] or [nx ny nz], in voxels");
    std::vector<int64_t> size = with_kind("invalidGeometry", [&] { return integers_of(s.size, "Size"); });
    if (size.size() == 2) size.push_back(1);
    if (size.size() != 3 || *std::min_element(size.begin(), size.end()) < 1)
        fail("invalidGeometry", "Size must be two or three numbers above 0, [nx ny] or [nx ny nz]");
    const std::vector<int64_t> given = size_of(trajectory);
    if (mxIsComplex(trajectory)) {
        // A matrix is more likely samples x coils.
        const bool vector = given.size() == 2 && (given[0] == 1 || given[1] == 1);
        fail("arrayType", "trajectory is complex, %s; it must be real, 2 x samples or 3 x samples, x first: %s", times(given).c_str(),
             vector ? "write [real(trajectory(:)), imag(trajectory(:))].'"
                    : "if these are samples, the trajectory comes in their place, and they are for gridding and reconstruct; if it is kx + i ky, "
                      "write [real(trajectory(:)), imag(trajectory(:))].'");
    }
    const size_t axes = mxGetM(trajectory), number_of = mxGetN(trajectory);
    const bool is_line = size[1] == 1 && size[2] == 1;
    const auto counts_axes = [&](int64_t n) { return n == 2 || n == 3 || (n == 1 && is_line); };
    if (given.size() != 2 || !counts_axes(given[0]) || number_of == 0) {
        const std::string rows = std::to_string(given[0]), columns = std::to_string(given.back());
        std::string hint;
        if (mxIsEmpty(trajectory)) hint = "";
        else if (counts_axes(given[0])) hint = ": write reshape(trajectory, " + rows + ", [])";
        else if (counts_axes(given.back()) && given.size() == 2) hint = ": write trajectory.'";
        else if (counts_axes(given.back())) {
            // C's order of dimensions, with neighbours along a spoke in the last but one; or MATLAB's, with them in the first.
            std::string order;
            for (size_t k = given.size(); k > 0; k--) order += std::to_string(k) + (k > 1 ? " " : "");
            hint = ": from Python or C order, write reshape(permute(trajectory, [" + order + "]), " + columns + ", []); where samples of a spoke are along "
                   "the first dimension, reshape(trajectory, [], " + columns + ").'";
        }
        fail("arrayShape", "trajectory is %s; it must be 2 x samples or 3 x samples, x first%s%s", times(given).c_str(), is_line ? ", or 1 x samples of a line" : "", hint.c_str());
    }
    if (axes == 2 && size[2] > 1)
        fail("arrayShape", "trajectory is %s; of a volume, Size [%lld %lld %lld], it must be 3 x samples", times(given).c_str(),
             static_cast<long long>(size[0]), static_cast<long long>(size[1]), static_cast<long long>(size[2]));
    s.g.nx = size[0], s.g.ny = size[1], s.g.nz = size[2];
    s.g.axes = static_cast<uint32_t>(axes), s.g.samples = static_cast<int64_t>(number_of);
    const array k(trajectory, "trajectory", real, { { s.g.axes, s.g.samples }, "axes x samples" });
    check(isoc_mri_set_geometry(c.plan->mri(), &s.g, k.tensor()), "invalidGeometry");
    mri_sizes &z = c.plan->mri_size;
    z.nx = s.g.nx, z.ny = s.g.ny, z.nz = s.g.nz, z.samples = s.g.samples, z.axes = std::max(s.g.axes, 2U);
    z.coils = s.g.coils ? s.g.coils : 1;
    z.is_double = s.g.precision == ISOC_MRI_PRECISION_DOUBLE;
    z.sets = 0, z.series = 1;
    c.plan->configured = true;
}

static void set_options(call &c) {
    auto options = sized<isoc_mri_options>();
    settings_read(options_record, c, 0, "invalidOptions", &options);
    check(isoc_mri_set_options(c.plan->mri(), &options), "invalidOptions");
    c.plan->mri_size.options = options;
}

// One real array that [] forgets.
static void set_real(call &c, isoc_status (*run)(isoc_mri *, const isoc_tensor *), const char *name, const shape &size) {
    c.takes({ name });
    c.argument(0, name);
    const mxArray *value = c.optional(0);
    if (!value) {
        check(run(c.plan->mri(), nullptr));
        return;
    }
    const array a(value, name, real, size);
    check(run(c.plan->mri(), a.tensor()));
}

static void set_weights(call &c) { set_real(c, isoc_mri_set_weights, "weights", one_a_sample(c)); }

static void set_difference_weights(call &c) {
    set_real(c, isoc_mri_set_difference_weights, "weights", voxels(c, is_plane(c) ? 2 : 3, "nx x ny x 2", "nx x ny x nz x 3"));
}

static void set_positions(call &c) {
    shape size = one_image(c);
    size.size.insert(size.size.begin(), c.plan->mri_size.axes);
    size.meaning = is_plane(c) ? "axes x nx x ny" : "axes x nx x ny x nz";
    set_real(c, isoc_mri_set_positions, "positions", size);
}

// Sets of maps, whose dimension is then in their shape, too.
static int64_t sets_in(const mxArray *value, shape &maps) {
    const std::vector<int64_t> found = size_of(value);
    if (found.size() != maps.size.size() + 1 || !std::equal(maps.size.begin(), maps.size.end(), found.begin())) return 1;
    maps = { found, maps.size.size() == 3 ? "nx x ny x coils x sets" : "nx x ny x nz x coils x sets" };
    return found.back();
}

static void set_maps(call &c) {
    c.takes({ "maps" });
    c.argument(0, "maps");
    const mxArray *value = c.optional(0);
    int64_t sets = 0;
    if (value) {
        shape size = maps_of(c);
        sets = sets_in(value, size);
        const array maps(value, "maps", complex, size);
        check(isoc_mri_set_maps(c.plan->mri(), maps.tensor()));
    } else {
        check(isoc_mri_set_maps(c.plan->mri(), nullptr));
    }
    c.plan->mri_size.sets = sets;
}

static void set_field(call &c) {
    c.takes({ "field", "times", "decay" });
    if (!c.optional(0) && !c.optional(1) && !c.optional(2)) {
        check(isoc_mri_set_field(c.plan->mri(), nullptr, nullptr, nullptr));
        return;
    }
    const auto map = [&](size_t i, const char *name) {
        return c.optional(i) ? std::make_unique<array>(c.argument(i, name), name, real, one_image(c)) : nullptr;
    };
    const auto field = map(0, "field"), decay = map(2, "decay");
    if (!field && !decay) c.argument(0, "field");
    const array times(c.argument(1, "times"), "times", real, one_a_sample(c));
    check(isoc_mri_set_field(c.plan->mri(), field ? field->tensor() : nullptr, times.tensor(), decay ? decay->tensor() : nullptr));
}

// Takes R.' as a sparse matrix, whose compressed columns are the compressed rows of R.
static void set_matrix(call &c) {
    c.takes({ "matrix" });
    static_assert(sizeof(mwIndex) == sizeof(int64_t), "compressed columns are passed as they are");
    const mxArray *value = c.argument(0, "matrix");
    const mri_sizes &s = c.plan->mri_size;
    const int64_t voxel_count = s.nx * s.ny * s.nz;
    if (!mxIsSparse(value) || !mxIsDouble(value))
        fail("arrayType", "matrix is %s, of class %s; it must be sparse, of doubles: write sparse(...)", mxIsSparse(value) ? "sparse" : "full",
             mxGetClassName(value));
    if (static_cast<int64_t>(mxGetM(value)) != voxel_count)
        fail("arrayShape", "matrix is %zu x %zu; it must have a column for each of the %lld voxels", mxGetN(value), mxGetM(value),
             static_cast<long long>(voxel_count));
    const auto *starts = reinterpret_cast<const int64_t *>(mxGetJc(value)), *columns = reinterpret_cast<const int64_t *>(mxGetIr(value));
    const auto rows = static_cast<int64_t>(mxGetN(value));
    const array entries(value, starts[rows]);
    check(isoc_mri_set_matrix(c.plan->mri(), rows, starts, columns, starts[rows], entries.tensor()));
}

// Images for each that there would be without frames and basis.
static void keep_series(call &c) {
    auto info = sized<isoc_mri_info>();
    check(isoc_mri_get_info(c.plan->mri(), &info));
    mri_sizes &s = c.plan->mri_size;
    s.series = info.images / (s.sets ? s.sets : s.coils);
}

static void set_frames(call &c) {
    c.takes({ "first", "counts" });
    std::vector<int64_t> first, counts;
    if (c.optional(0) || c.optional(1)) {
        first = integers_of(c.argument(0, "first"), "first");
        counts = integers_of(c.argument(1, "counts"), "counts");
        if (first.size() != counts.size())
            fail("arrayShape", "first has %zu elements, counts %zu; both must have one a frame", first.size(), counts.size());
    }
    for (size_t f = 0; f < first.size(); f++) {
        if (first[f] < 1 || counts[f] < 1 || first[f] > c.plan->mri_size.samples || counts[f] > c.plan->mri_size.samples - first[f] + 1)
            fail("outOfRange", "frame %zu has %lld samples from %lld on; it must have 1 or more of those from 1 to %lld", f + 1,
                 static_cast<long long>(counts[f]), static_cast<long long>(first[f]), static_cast<long long>(c.plan->mri_size.samples));
        first[f]--;
    }
    check(isoc_mri_set_frames(c.plan->mri(), static_cast<int64_t>(first.size()), first.data(), counts.data()));
    keep_series(c);
}

static void set_windows(call &c) {
    c.takes({ "length", "step" });
    const int64_t length = integer_of(c.argument(0, "length"), "length"), step = integer_of(c.argument(1, "step"), "step");
    check(isoc_mri_set_windows(c.plan->mri(), length, step));
    keep_series(c);
}

static void set_basis(call &c) {
    c.takes({ "basis", "times" });
    c.argument(0, "basis");
    if (!c.optional(0)) {
        check(isoc_mri_set_basis(c.plan->mri(), nullptr, nullptr));
    } else {
        const std::vector<int64_t> size = size_of(c.optional(0));
        if (size.size() != 2) fail("arrayShape", "basis is %s; it must be images x times", times(size).c_str());
        const array basis(c.optional(0), "basis", complex, { size, "images x times" });
        std::vector<int64_t> rows;
        if (c.optional(1)) {
            rows = integers_of(c.optional(1), "times");
            if (static_cast<int64_t>(rows.size()) != c.plan->mri_size.samples)
                fail("arrayShape", "times has %zu elements; it must have one a sample, %lld", rows.size(),
                     static_cast<long long>(c.plan->mri_size.samples));
            for (size_t m = 0; m < rows.size(); m++) {
                if (rows[m] < 1 || rows[m] > size[1])
                    fail("outOfRange", "times(%zu) is %lld; it must be 1 to %lld, a column of basis", m + 1, static_cast<long long>(rows[m]),
                         static_cast<long long>(size[1]));
                rows[m]--;
            }
        }
        check(isoc_mri_set_basis(c.plan->mri(), basis.tensor(), rows.empty() ? nullptr : rows.data()));
    }
    keep_series(c);
}

static void set_shots(call &c) {
    c.takes({ "shots", "phases" });
    if (!c.optional(0) && !c.optional(1)) {
        check(isoc_mri_set_shots(c.plan->mri(), nullptr, nullptr));
        return;
    }
    std::vector<int64_t> shots = integers_of(c.argument(0, "shots"), "shots");
    if (static_cast<int64_t>(shots.size()) != c.plan->mri_size.samples)
        fail("arrayShape", "shots has %zu elements; it must have one a sample, %lld", shots.size(), static_cast<long long>(c.plan->mri_size.samples));
    const int64_t last = *std::max_element(shots.begin(), shots.end());
    for (size_t m = 0; m < shots.size(); m++) {
        if (shots[m] < 1) fail("outOfRange", "shots(%zu) is %lld; it must be 1 or more", m + 1, static_cast<long long>(shots[m]));
        shots[m]--;
    }
    const array phases(c.argument(1, "phases"), "phases", complex, voxels(c, last, "nx x ny x shots", "nx x ny x nz x shots"));
    check(isoc_mri_set_shots(c.plan->mri(), shots.data(), phases.tensor()));
}

static void compute_weights(call &c) {
    c.takes({ "density", "parameter" });
    const auto how = c.optional(0) ? static_cast<uint32_t>(word_of(c.optional(0), "density", densities)) : uint32_t{ ISOC_MRI_DENSITY_ITERATIVE };
    const bool radial = how == ISOC_MRI_DENSITY_RADIAL;
    if (radial && !c.optional(1)) fail("invalidArgument", "READOUT is missing: the number of samples of a spoke, such as 512");
    const char *name = radial ? "READOUT" : "N";
    const int64_t parameter = c.optional(1) ? integer_of(c.optional(1), name) : 0;
    if (!radial && c.optional(1) && parameter == 0) fail("invalidArgument", "N must not be 0; leave it out, or say [], for the default");
    if (!radial && parameter < 0)
        fail("invalidArgument", "N is %lld; it must be at least 1, the number of iterations", static_cast<long long>(parameter));
    if (radial && parameter < 2)
        fail("invalidArgument", "READOUT is %lld; it must be at least 2, the number of samples of a spoke", static_cast<long long>(parameter));
    check(isoc_mri_compute_weights(c.plan->mri(), how, parameter));
}

static void get_weights(call &c) {
    c.takes({});
    array out(precision(c), one_a_sample(c));
    check(isoc_mri_get_weights(c.plan->mri(), out.tensor()));
    c.result(0, out.finish());
}

static void get_info(call &c) {
    c.takes({});
    auto info = sized<isoc_mri_info>();
    check(isoc_mri_get_info(c.plan->mri(), &info));
    c.result(0, settings_write(info_record, &info));
}

static void memory(call &c) {
    c.takes({});
    uint64_t bytes = 0;
    check(isoc_mri_memory(c.plan->mri(), &bytes));
    c.result(0, number(static_cast<double>(bytes)));
}

// The result is of the input's precision.
static void transform(call &c, isoc_status (*run)(isoc_mri *, const isoc_tensor *, const isoc_tensor *), const char *name, const shape &from,
                      const shape &to) {
    c.takes({ name });
    const array in(c.argument(0, name), name, complex, from);
    array out(in.type(), to);
    check(run(c.plan->mri(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

// Samples and images of several scans, where samples have these as a third dimension.
struct scans_shapes {
    shape samples, image;
};

static scans_shapes of_scans(const call &c) {
    const mri_sizes &s = c.plan->mri_size;
    const std::vector<int64_t> given = c.count ? size_of(c.arguments[0]) : std::vector<int64_t>{};
    if (given.size() != 3 || given[0] != s.samples || given[1] != s.coils) return { samples(c), image(c) };
    shape images = image(c);
    images.size.push_back(given[2]), images.meaning = "an image as of one scan, x scans";
    return { { given, "samples x coils x scans" }, images };
}

static void forward(call &c) { transform(c, isoc_mri_forward, "image", image(c), samples(c)); }

static void to_image(call &c, isoc_status (*run)(isoc_mri *, const isoc_tensor *, const isoc_tensor *)) {
    c.takes({ "samples" });
    c.argument(0, "samples");
    const scans_shapes of = of_scans(c);
    const array in(c.argument(0, "samples"), "samples", complex, of.samples);
    array out(in.type(), of.image);
    check(run(c.plan->mri(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

static void adjoint(call &c) { to_image(c, isoc_mri_adjoint); }
static void gridding(call &c) { to_image(c, isoc_mri_gridding); }
static void normal(call &c) { transform(c, isoc_mri_normal, "image", image(c), image(c)); }

static void reconstruct(call &c) {
    c.takes({ "samples", "initial" });
    c.argument(0, "samples");
    const scans_shapes of = of_scans(c);
    const array in(c.argument(0, "samples"), "samples", complex, of.samples);
    isoc_mri_options options = c.plan->mri_size.options;
    options.warm_start = c.optional(1) != nullptr;
    check(isoc_mri_set_options(c.plan->mri(), &options), "invalidOptions");
    if (!options.warm_start) {
        array out(in.type(), of.image);
        check(isoc_mri_reconstruct(c.plan->mri(), in.tensor(), out.tensor()));
        c.result(0, out.finish());
        return;
    }
    const array initial(c.optional(1), "initial", complex, of.image);
    array_rename("image", "initial");
    array out(initial, of.image);
    check(isoc_mri_reconstruct(c.plan->mri(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

static void find_maps(call &c) {
    auto options = sized<isoc_mri_maps_options>();
    settings_read(maps_options_record, c, 1, "invalidOptions", &options);
    const array in(c.argument(0, "samples"), "samples", complex, samples(c));
    array maps(in.type(), maps_of(c)), image(in.type(), one_image(c));
    check(isoc_mri_find_maps(c.plan->mri(), &options, in.tensor(), maps.tensor(), c.wanted > 1 ? image.tensor() : nullptr), "invalidOptions");
    c.result(0, maps.finish());
    c.result(1, image.finish());
}

static void maps_memory(call &c) {
    auto options = sized<isoc_mri_maps_options>();
    settings_read(maps_options_record, c, 0, "invalidOptions", &options);
    uint64_t bytes = 0;
    check(isoc_mri_maps_memory(c.plan->mri(), &options, &bytes), "invalidOptions");
    c.result(0, number(static_cast<double>(bytes)));
}

// Options of delays, from argument 1 on.
static isoc_mri_delay_options delay_options(const call &c) {
    delays_wanted wanted = { sized<isoc_mri_delay_options>(), nullptr };
    settings_read(delays_wanted_record, c, 1, "invalidOptions", &wanted);
    if (!wanted.voxel) return wanted.options;
    const std::vector<double> edges = with_kind("invalidOptions", [&] { return reals_of(wanted.voxel, "Voxel"); });
    if (edges.size() != 2 && edges.size() != 3) fail("invalidOptions", "Voxel has %zu values; it must be [x y] or [x y z]", edges.size());
    for (double edge : edges)
        if (edge == 0) fail("invalidOptions", "Voxel has a 0; edges must be above 0");
    wanted.options.voxel_x = edges[0], wanted.options.voxel_y = edges[1], wanted.options.voxel_z = edges.size() > 2 ? edges[2] : 0;
    return wanted.options;
}

static void find_delays(call &c) {
    const isoc_mri_delay_options options = delay_options(c);
    const array in(c.argument(0, "samples"), "samples", complex, samples(c));
    auto found = sized<isoc_mri_delays>();
    check(isoc_mri_find_delays(c.plan->mri(), in.tensor(), &options, &found), "invalidOptions");
    c.result(0, settings_write(delays_record, &found));
}

static void delayed_trajectory(call &c) {
    const isoc_mri_delay_options options = delay_options(c);
    const mxArray *given = c.argument(0, "delays");
    auto late = sized<isoc_mri_delays>();
    if (mxIsStruct(given)) {
        settings_read(delays_record, given, "invalidArgument", &late);
    } else {
        const std::vector<double> along = reals_of(given, "delays");
        if (along.size() != 2 && along.size() != 3) fail("invalidArgument", "delays has %zu values; it must be [x y] or [x y z], or what findDelays gives", along.size());
        late.xx = along[0], late.yy = along[1], late.zz = along.size() > 2 ? along[2] : 0;
    }
    array out(is_double, { { c.plan->mri_size.axes, c.plan->mri_size.samples }, "axes x samples" });
    check(isoc_mri_delayed_trajectory(c.plan->mri(), &options, &late, out.tensor()), "invalidOptions");
    c.result(0, out.finish());
}

// What the callback of a streamed reconstruction needs.
struct shots_of {
    const call *c;
    unsigned type;
    mxArray *read;
};

static int32_t read_shots(void *user, int64_t first, int64_t count, const isoc_tensor *to) {
    const auto *s = static_cast<const shots_of *>(user);
    return guarded([&] {
        mxArray *got = nullptr;
        if (!call_function(s->read, part_of(first, count), &got)) return 1;
        if (!got) fail("callback", "the reading function returned nothing");
        const int64_t coils = s->c->plan->mri_size.coils;
        const shape size = counting_coils({ { count, coils }, coils > 1 ? "samples x coils" : "samples" }, { count });
        const array in(got, "what the reading function returned", s->type, size);
        memcpy(to->data, in.tensor()->data, static_cast<size_t>(count * coils) * in.tensor()->dtype.bits / 8);
        mxDestroyArray(got);
        return 0;
    });
}

using stream_call = isoc_status (*)(isoc_mri *, isoc_dtype, int64_t, isoc_mri_read_fn, void *, const isoc_tensor *);

// The arguments atOnce and class, from this one on.
struct portions {
    int64_t at_once;
    unsigned type;
    isoc_dtype dtype;

    portions(const call &c, int first) {
        static const char *const names[] = { "single", "double", nullptr };
        static const unsigned types[] = { is_single | is_complex, is_double | is_complex };
        static const isoc_dtype dtypes[] = { ISOC_C64, ISOC_C128 };
        const mxArray *const count = c.optional(first), *const of = c.optional(first + 1);
        at_once = count ? integer_of(count, "atOnce") : 0;
        const int k = of ? word_of(of, "class", names) : 0;
        type = types[k], dtype = dtypes[k];
    }
};

static void stream(call &c, stream_call run, const mxArray *start) {
    mxArray *const read = function_of(c.argument(0, "read"), "read");
    const portions of(c, 1);
    shots_of s{ &c, of.type, read };
    isoc_mri_options options = c.plan->mri_size.options;
    options.warm_start = start != nullptr;
    check(isoc_mri_set_options(c.plan->mri(), &options), "invalidOptions");
    if (!start) {
        array out(of.type, image(c));
        check(run(c.plan->mri(), of.dtype, of.at_once, read_shots, &s, out.tensor()));
        c.result(0, out.finish());
        return;
    }
    const array initial(start, "initial", complex, image(c));
    array_rename("image", "initial");
    array out(initial, image(c));
    check(run(c.plan->mri(), of.dtype, of.at_once, read_shots, &s, out.tensor()));
    c.result(0, out.finish());
}

static void reconstruct_stream(call &c) {
    c.takes({ "read", "atOnce", "class", "initial" });
    stream(c, isoc_mri_reconstruct_stream, c.optional(3));
}

static void gridding_stream(call &c) {
    c.takes({ "read", "atOnce", "class" });
    stream(c, isoc_mri_gridding_stream, nullptr);
}

static void stream_memory(call &c) {
    c.takes({ "atOnce", "class" });
    const portions of(c, 0);
    uint64_t host = 0, gpu = 0;
    check(isoc_mri_stream_memory(c.plan->mri(), of.dtype, of.at_once, &host, &gpu));
    c.result(0, number(static_cast<double>(host)));
    c.result(1, number(static_cast<double>(gpu)));
}

// What a call tells of image k's iterations.
static void told(call &c, decltype(isoc_mri_history) *of) {
    c.takes({ "k" });
    const int64_t which = c.optional(0) ? integer_of(c.optional(0), "k") : 1;
    auto info = sized<isoc_mri_info>();
    check(isoc_mri_get_info(c.plan->mri(), &info));
    if (which < 1 || which > info.images)
        fail("invalidArgument", "image %lld is not there; they are 1 to %lld", static_cast<long long>(which), static_cast<long long>(info.images));
    int64_t found = 0;
    check(of(c.plan->mri(), which - 1, nullptr, 0, &found));
    std::vector<double> values(static_cast<size_t>(found));
    check(of(c.plan->mri(), which - 1, values.data(), found, &found));
    c.result(0, row(values));
}

static void history(call &c) {
    told(c, isoc_mri_history);
}

static void objective(call &c) {
    told(c, isoc_mri_objective);
}

static void gap(call &c) {
    told(c, isoc_mri_gap);
}

static void compute_q(call &c) {
    c.takes({});
    check(isoc_mri_compute_q(c.plan->mri()));
}

static shape q_of(const call &c) {
    auto info = sized<isoc_mri_info>();
    check(isoc_mri_get_info(c.plan->mri(), &info));
    return { { info.q_nx, info.q_ny, info.q_nz }, "QNx x QNy x QNz of info" };
}

static void export_q(call &c) {
    c.takes({});
    array out(precision(c), q_of(c));
    check(isoc_mri_export_q(c.plan->mri(), out.tensor()));
    c.result(0, out.finish());
}

static void import_q(call &c) {
    c.takes({ "Q" });
    const array q(c.argument(0, "Q"), "Q", real, q_of(c));
    check(isoc_mri_import_q(c.plan->mri(), q.tensor()));
}

static void shepp_logan(call &c) {
    c.takes({ "kind", "half", "half_z" });
    isoc_mri_ellipsoid ellipsoids[ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS];
    const auto set = static_cast<uint32_t>(word_of(c.argument(0, "kind"), "kind", phantoms));
    const double half_xy = real_of(c.argument(1, "half"), "half");
    const double half_z = c.optional(2) ? real_of(c.optional(2), "half_z") : 0;
    check(isoc_mri_shepp_logan(set, half_xy, half_z, ellipsoids, ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS, nullptr));
    c.result(0, records_write(ellipsoid_record, ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS, ellipsoids));
}

static void from_phantom(call &c, isoc_status (*run)(isoc_mri *, const isoc_mri_ellipsoid *, int64_t, const isoc_tensor *), const shape &to) {
    c.takes({ "ellipsoids" });
    int64_t count = 0;
    const void *ellipsoids = records_read(ellipsoid_record, c.argument(0, "ellipsoids"), "invalidArgument", &count);
    array out(precision(c) | is_complex, to);
    check(run(c.plan->mri(), static_cast<const isoc_mri_ellipsoid *>(ellipsoids), count, out.tensor()));
    c.result(0, out.finish());
}

static void phantom_samples(call &c) { from_phantom(c, isoc_mri_phantom_samples, one_a_sample(c)); }
static void phantom_image(call &c) { from_phantom(c, isoc_mri_phantom_image, one_image(c)); }

static void compare(call &c) {
    c.takes({ "image", "truth" });
    const array a(c.argument(0, "image"), "image", complex, one_image(c)), b(c.argument(1, "truth"), "truth", complex, one_image(c));
    double psnr = 0, error = 0;
    check(isoc_mri_compare(c.plan->mri(), a.tensor(), b.tensor(), &psnr, &error));
    c.result(0, number(psnr));
    c.result(1, number(error));
}

const std::vector<command> mri_commands{
    { "create", create, needs::context },
    { "destroy", destroy, needs::plan },
    { "describe", describe, needs::plan },
    { "set_geometry", set_geometry, needs::plan },
    { "set_options", set_options, needs::plan },
    { "set_weights", set_weights },
    { "compute_weights", compute_weights },
    { "weights", get_weights },
    { "set_maps", set_maps },
    { "set_field", set_field },
    { "set_positions", set_positions },
    { "set_difference_weights", set_difference_weights },
    { "set_matrix", set_matrix },
    { "set_frames", set_frames },
    { "set_windows", set_windows },
    { "set_basis", set_basis },
    { "set_shots", set_shots },
    { "info", get_info },
    { "memory", memory },
    { "forward", forward },
    { "adjoint", adjoint },
    { "gridding", gridding },
    { "normal", normal },
    { "find_maps", find_maps },
    { "maps_memory", maps_memory },
    { "find_delays", find_delays },
    { "delayed_trajectory", delayed_trajectory },
    { "reconstruct", reconstruct },
    { "reconstruct_stream", reconstruct_stream },
    { "gridding_stream", gridding_stream },
    { "stream_memory", stream_memory },
    { "history", history },
    { "objective", objective },
    { "gap", gap },
    { "compute_q", compute_q },
    { "export_q", export_q },
    { "import_q", import_q },
    { "shepp_logan", shepp_logan, needs::nothing },
    { "phantom_samples", phantom_samples },
    { "phantom_image", phantom_image },
    { "compare", compare },
};
