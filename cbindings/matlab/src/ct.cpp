#include "gateway.hpp"

#include <algorithm>
#include <cstring>

static const char *const orders[] = { "frames", "sinograms", nullptr };
static const char *const filters[] = { "ram_lak", "shepp_logan", "cosine", "hamming", "hann", "parzen", "butterworth", "none", "custom", nullptr };
static const char *const projectors[] = { "joseph", "band_limited", nullptr };
static const char *const algorithms[] = { "fbp", "sirt", "cgls", "mlem", "total_variation", "fista", nullptr };
static const char *const bounds[] = { "none", "non_negative", "box", nullptr };
static const char *const normals[] = { "auto", "pair", "toeplitz", nullptr };
static const char *const weightings[] = { "uniform", "transmission", "given", nullptr };
static const char *const fits[] = { "squares", "poisson", nullptr };
static const char *const variations[] = { "slices", "volume", nullptr };
static const char *const rises[] = { "smooth", "linear", nullptr };
static const char *const stripe_methods[] = { "significant", "vo", "sorting", "regularised", "wavelet_fourier", nullptr };
static const char *const phase_methods[] = { "paganin", "ctf", nullptr };
static const char *const combinations[] = { "mean", "median", nullptr };
static const char *const outlier_units[] = { "noise", "median", "count", nullptr };
static const char *const outlier_sides[] = { "bright", "dark", "both", nullptr };
static const char *const interpolations[] = { "linear", "nearest", "oversampled", "band_limited", nullptr };
static const char *const kernels[] = { "auto", "texture_standard", "texture", "alu", "hybrid", "tensor", nullptr };
static const char *const precisions[] = { "single", "half", nullptr };
static const char *const inputs[] = { "auto", "counts", "transmission", "line_integrals", nullptr };
static const char *const paddings[] = { "zero", "edge", nullptr };
static const char *const outputs[] = { "f32", "u8", "u16", "f16", nullptr };
static const char *const axis_methods[] = { "auto", "opposite_views", "sinogram", "sharpness", nullptr };
static const char *const phantoms[] = { "original", "modified", nullptr };

struct ct_geometry {
    isoc_ct_geometry g;
    const mxArray *size, *region;
};
#define AT(member) offsetof(ct_geometry, member)
static const record geometry_record{ "geometry", sizeof(ct_geometry), {
    { "Angles", field::reals, AT(g.angles), AT(g.views) },
    { "Bins", field::count, AT(g.bins) },
    { "Rows", field::count, AT(g.rows), 0, nullptr, nullptr, true },
    { "Order", field::word, AT(g.order), 0, orders },
    { "Axis", field::places, AT(g.axis), AT(g.axis_count) },
    { "BinPitch", field::real, AT(g.bin_pitch), 0, nullptr, nullptr, true },
    { "PixelSize", field::real, AT(g.pixel_size), 0, nullptr, nullptr, true },
    { "Size", field::any, AT(size) },
    { "XOffset", field::real, AT(g.x_offset) },
    { "YOffset", field::real, AT(g.y_offset) },
    { "FirstRow", field::first, AT(g.first_row) },
    { "Slices", field::count, AT(g.slices), 0, nullptr, nullptr, true },
    { "Region", field::any, AT(region) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_options, member)
static const record options_record{ "options", sizeof(isoc_ct_options), {
    { "Filter", field::word, AT(filter), 0, filters },
    { "Cutoff", field::real, AT(cutoff), 0, nullptr, nullptr, true },
    { "ButterworthOrder", field::real, AT(butterworth_order), 0, nullptr, nullptr, true },
    { "Response", field::singles, AT(response), AT(response_count) },
    { "Interpolation", field::word, AT(interpolation), 0, interpolations },
    { "Padding", field::word, AT(padding), 0, paddings },
    { "WeightedBackprojection", field::logical, AT(weighted_backprojection) },
    { "MinimumTransmission", field::real, AT(minimum_transmission), 0, nullptr, nullptr, true },
    { "Kernel", field::word, AT(kernel), 0, kernels },
    { "Precision", field::word, AT(precision), 0, precisions },
    { "Input", field::word, AT(input), 0, inputs },
    { "Tolerance", field::real, AT(tolerance), 0, nullptr, nullptr, true },
    { "Projector", field::word, AT(projector), 0, projectors },
    { "Algorithm", field::word, AT(algorithm), 0, algorithms },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_outliers, member)
static const record outliers_record{ "outliers", sizeof(isoc_ct_outliers), {
    { "Unit", field::word, AT(unit), 0, outlier_units },
    { "Side", field::word, AT(side), 0, outlier_sides },
    { "Window", field::count, AT(window), 0, nullptr, nullptr, true },
    { "Depth", field::count, AT(depth), 0, nullptr, nullptr, true },
    { "Threshold", field::real, AT(threshold), 0, nullptr, nullptr, true },
} };
#undef AT

// What is said of flats and darks; of the groups' lists the lengths must agree.
struct flat_wanted {
    isoc_ct_flat_field_options options;
    const mxArray *frames, *outliers;
    int64_t positions, monitors;
};
#define AT(member) offsetof(flat_wanted, member)
static const record flat_record{ "options", sizeof(flat_wanted), {
    { "Combine", field::word, AT(options.combine), 0, combinations },
    { "GroupFrames", field::any, AT(frames) },
    { "GroupPositions", field::reals, AT(options.group_positions), AT(positions) },
    { "GroupMonitor", field::reals, AT(options.group_monitor), AT(monitors) },
    { "Monitor", field::reals, AT(options.monitor), AT(options.monitor_count) },
    { "BadPixels", field::real, AT(options.bad_pixels) },
    { "Outliers", field::any, AT(outliers) },
    { "Eigenflats", field::count, AT(options.eigenflats) },
} };
#undef AT

struct fit_wanted {
    isoc_ct_flat_fit_options options;
    int64_t first;
};
#define AT(member) offsetof(fit_wanted, member)
static const record fit_options_record{ "options", sizeof(fit_wanted), {
    { "FirstView", field::count, AT(first) },
    { "Binning", field::count, AT(options.binning) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_flat_fit, member)
static const record fit_record{ "fit", sizeof(isoc_ct_flat_fit), {
    { "Components", field::count, AT(components) },
    { "VariationBefore", field::real, AT(variation_before) },
    { "VariationAfter", field::real, AT(variation_after) },
} };
#undef AT

// What is said of distortion: places count from 1, and the lists of shifts must agree.
struct distortion_wanted {
    isoc_ct_distortion distortion;
    const mxArray *x_centre, *y_centre;
    int64_t coefficients, x_views, y_views;
};
#define AT(member) offsetof(distortion_wanted, member)
static const record distortion_record{ "distortion", sizeof(distortion_wanted), {
    { "Radial", field::reals, AT(distortion.radial), AT(distortion.radial_count) },
    { "XCentre", field::any, AT(x_centre) },
    { "YCentre", field::any, AT(y_centre) },
    { "Perspective", field::reals, AT(distortion.perspective), AT(coefficients) },
    { "Tilt", field::real, AT(distortion.tilt) },
    { "XShifts", field::reals, AT(distortion.x_shifts), AT(x_views) },
    { "YShifts", field::reals, AT(distortion.y_shifts), AT(y_views) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_phase, member)
static const record phase_record{ "phase", sizeof(isoc_ct_phase), {
    { "Method", field::word, AT(method), 0, phase_methods },
    { "EnergyKev", field::real, AT(energy_kev) },
    { "DistanceMm", field::real, AT(distance_mm) },
    { "PixelUm", field::real, AT(pixel_um) },
    { "DeltaBeta", field::real, AT(delta_beta) },
    { "LengthUm", field::real, AT(length_um), 0, nullptr, nullptr, true },
    { "Alpha", field::real, AT(alpha), 0, nullptr, nullptr, true },
    { "UnsharpSigma", field::real, AT(unsharp_sigma) },
    { "UnsharpAmount", field::real, AT(unsharp_amount) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_stripes, member)
static const record stripes_record{ "stripes", sizeof(isoc_ct_stripes), {
    { "Method", field::word, AT(method), 0, stripe_methods },
    { "Snr", field::real, AT(snr), 0, nullptr, nullptr, true },
    { "LargeWindow", field::count, AT(large_window), 0, nullptr, nullptr, true },
    { "SmallWindow", field::count, AT(small_window), 0, nullptr, nullptr, true },
    { "DropRatio", field::real, AT(drop_ratio), 0, nullptr, nullptr, true },
    { "Alpha", field::real, AT(alpha), 0, nullptr, nullptr, true },
    { "Sigma", field::real, AT(sigma), 0, nullptr, nullptr, true },
    { "Levels", field::count, AT(levels), 0, nullptr, nullptr, true },
    { "Wavelet", field::count, AT(wavelet), 0, nullptr, nullptr, true },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_half_acquisition, member)
static const record half_acquisition_record{ "half acquisition", sizeof(isoc_ct_half_acquisition), {
    { "Rise", field::word, AT(rise), 0, rises },
    { "Overlap", field::real, AT(overlap), 0, nullptr, nullptr, true },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_iterative, member)
static const record iterative_record{ "iterations", sizeof(isoc_ct_iterative), {
    { "Iterations", field::count, AT(iterations) },
    { "Subsets", field::count, AT(subsets), 0, nullptr, nullptr, true },
    { "Relaxation", field::real, AT(relaxation), 0, nullptr, nullptr, true },
    { "Bounds", field::word, AT(bounds), 0, bounds },
    { "Lower", field::real, AT(lower) },
    { "Upper", field::real, AT(upper) },
    { "MaskRadius", field::real, AT(mask_radius) },
    { "Normal", field::word, AT(normal), 0, normals },
    { "Weighting", field::word, AT(weighting), 0, weightings },
    { "Fit", field::word, AT(fit), 0, fits },
    { "Variation", field::word, AT(variation), 0, variations },
    { "Regularisation", field::real, AT(regularisation) },
    { "RingWeight", field::real, AT(ring_weight) },
    { "Huber", field::real, AT(huber) },
    { "Tolerance", field::real, AT(tolerance) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_iteration, member)
static const record iteration_record{ "history", sizeof(isoc_ct_iteration), {
    { "Iteration", field::count, AT(iteration) },
    { "Objective", field::real, AT(objective) },
    { "Gap", field::real, AT(gap) },
    { "Slices", field::count, AT(slices) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_output, member)
static const record output_record{ "output", sizeof(isoc_ct_output), {
    { "Dtype", field::word, AT(dtype), 0, outputs },
    { "Low", field::real, AT(low) },
    { "High", field::real, AT(high) },
    { "LowPercentile", field::real, AT(low_percentile) },
    { "HighPercentile", field::real, AT(high_percentile) },
    { "HistogramSlices", field::count, AT(histogram_slices), 0, nullptr, nullptr, true },
    { "MaskRadius", field::real, AT(mask_radius) },
    { "MaskValue", field::real, AT(mask_value) },
    { "HistogramBins", field::count, AT(histogram_bins) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_output_info, member)
static const record output_info_record{ "output", sizeof(isoc_ct_output_info), {
    { "Dtype", field::word, AT(dtype), 0, outputs },
    { "Slope", field::real, AT(slope) },
    { "Offset", field::real, AT(offset) },
    { "Low", field::real, AT(low) },
    { "High", field::real, AT(high) },
    { "ClippedLow", field::count, AT(clipped_low) },
    { "ClippedHigh", field::count, AT(clipped_high) },
    { "HistogramSlices", field::count, AT(histogram_slices) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_info, member)
static const record info_record{ "info", sizeof(isoc_ct_info), {
    { "EvenlySpaced", field::logical, AT(evenly_spaced) },
    { "DistinctAngles", field::count, AT(distinct_angles) },
    { "AngularSpacing", field::real, AT(angular_spacing) },
    { "AngleCovered", field::real, AT(angle_covered) },
    { "MissingWedges", field::count, AT(missing_wedges) },
    { "LargestGapStart", field::real, AT(largest_gap_start) },
    { "LargestGap", field::real, AT(largest_gap) },
    { "PaddedBins", field::count, AT(padded_bins) },
    { "SlabSlices", field::count, AT(slab_slices) },
    { "ReplacedValues", field::count, AT(replaced_values) },
    { "Period", field::count, AT(period) },
    { "Outliers", field::count, AT(outliers) },
    { "BadPixels", field::count, AT(bad_pixels) },
    { "ComputedBins", field::count, AT(computed_bins) },
    { "Overlap", field::real, AT(overlap) },
} };
#undef AT

// What the search is asked for, the curve's length among it.
struct axis_wanted {
    isoc_ct_axis_options options;
    int64_t curve;
};
#define AT(member) offsetof(axis_wanted, member)
static const record axis_options_record{ "options", sizeof(axis_wanted), {
    { "Method", field::word, AT(options.method), 0, axis_methods },
    { "Low", field::real, AT(options.low) },
    { "High", field::real, AT(options.high) },
    { "Rows", field::count, AT(options.rows), 0, nullptr, nullptr, true },
    { "Tilt", field::logical, AT(options.tilt) },
    { "Curve", field::count, AT(curve) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_axis, member)
static const record axis_record{ "axis", sizeof(isoc_ct_axis), {
    { "Method", field::word, AT(method), 0, axis_methods },
    { "Axis", field::real, AT(axis) },
    { "Tilt", field::real, AT(tilt) },
    { "Error", field::real, AT(error) },
    { "Confidence", field::real, AT(confidence) },
    { "HalfAcquisition", field::logical, AT(half_acquisition) },
    { "CurveFirst", field::real, AT(curve_first) },
    { "CurveStep", field::real, AT(curve_step) },
} };
#undef AT

#define AT(member) offsetof(isoc_ct_ellipse, member)
static const record ellipse_record{ "ellipses", sizeof(isoc_ct_ellipse), {
    { "Value", field::real, AT(value) },
    { "X", field::real, AT(x) },
    { "Y", field::real, AT(y) },
    { "SemiX", field::real, AT(semi_x) },
    { "SemiY", field::real, AT(semi_y) },
    { "Angle", field::real, AT(angle) },
} };
#undef AT

// With one row a scan has two dimensions, and so has a slice. One view is seldom meant: the number of views was taken for the angles.
static shape projections_of(const ct_sizes &s, int64_t rows) {
    const char *swapped = s.sinograms ? "'Order', 'frames'" : "'Order', 'sinograms'";
    const char *cause = s.views == 1 ? "Angles has 1 value; it must have one a view" : nullptr;
    if (s.rows == 1) {
        std::vector<int64_t> counted{ s.bins, s.views };
        counted.insert(counted.begin() + (s.sinograms ? 2 : 1), 0);
        return { { s.bins, s.views }, "bins x views", "Rows", counted, swapped, cause };
    }
    if (s.sinograms) return { { s.bins, s.views, rows }, "bins x views x rows", nullptr, {}, swapped, cause };
    return { { s.bins, rows, s.views }, "bins x rows x views", nullptr, {}, swapped, cause };
}

static shape volume_of(const ct_sizes &s, int64_t slices) {
    if (s.slices == 1) return { { s.nx, s.ny }, "nx x ny" };
    return { { s.nx, s.ny, slices }, "nx x ny x slices" };
}

static shape projections_of(const call &c) { return projections_of(c.plan->ct_size, c.plan->ct_size.rows); }
static shape volume_of(const call &c) { return volume_of(c.plan->ct_size, c.plan->ct_size.slices); }

static const unsigned raw = is_single | is_uint16 | is_uint8;

static void create(call &c) {
    isoc_ct *made = nullptr;
    check(isoc_ct_create(c.plan->context(), &made));
    c.result(0, plan_number(plan_keep(kind::ct, made, reporter_share(c.plan->reporter), c.plan->device)));
}

static void destroy(call &c) { plan_destroy(c.plan); }

static void describe(call &c) { describe_as(c, sized("projections", projections_of(c)) + ", " + sized("volume", volume_of(c))); }

// [c0 c1 r0 r1], counted from 1, ends included: the library would say numbers that count from 0.
static void cut_region(ct_geometry &s) {
    const std::vector<int64_t> r = with_kind("invalidGeometry", [&] { return integers_of(s.region, "Region"); });
    if (r.size() != 4) fail("invalidGeometry", "Region must be four numbers, [c0 c1 r0 r1], not %zu", r.size());
    if (s.g.bins < 1) return; // which is what isoc_ct_set_geometry says
    const int64_t sides[] = { s.g.nx ? s.g.nx : s.g.bins, s.g.ny ? s.g.ny : s.g.bins };
    for (size_t k = 0; k < 2; k++)
        if (r[2 * k] < 1 || r[2 * k] > r[2 * k + 1] || r[2 * k + 1] > sides[k])
            fail("invalidGeometry", "Region has %s %lld to %lld; they must ascend, from 1 to %lld", k == 0 ? "columns" : "rows",
                 static_cast<long long>(r[2 * k]), static_cast<long long>(r[2 * k + 1]), static_cast<long long>(sides[k]));
    check(isoc_ct_region(&s.g, r[0] - 1, r[1], r[2] - 1, r[3]), "invalidGeometry");
}

static void set_geometry(call &c) {
    ct_geometry s{};
    s.g = sized<isoc_ct_geometry>();
    settings_read(geometry_record, c, 0, "invalidGeometry", &s);
    if (!s.g.angles) fail("invalidGeometry", "Angles is missing: one a view, in radians");
    if (!s.g.bins) fail("invalidGeometry", "Bins is missing, or 0: the detector's bins in a row");
    if (s.size) {
        const std::vector<int64_t> size = with_kind("invalidGeometry", [&] { return integers_of(s.size, "Size"); });
        if (size.size() != 2 || size[0] < 1 || size[1] < 1) fail("invalidGeometry", "Size must be two numbers above 0, [nx ny]");
        s.g.nx = size[0], s.g.ny = size[1];
    }
    if (s.region) cut_region(s);
    // Of these the library would say numbers that count from 0.
    const auto rows = static_cast<long long>(std::max<int64_t>(s.g.rows, 1)), first = static_cast<long long>(s.g.first_row + 1);
    if (first > rows) fail("invalidGeometry", "FirstRow is %lld; it must be 1 to %lld, the detector's rows", first, rows);
    if (s.g.slices > rows - first + 1)
        fail("invalidGeometry", "Slices is %lld; there are %lld rows from FirstRow on", static_cast<long long>(s.g.slices), rows - first + 1);
    check(isoc_ct_set_geometry(c.plan->ct(), &s.g), "invalidGeometry");
    ct_sizes &z = c.plan->ct_size;
    z.bins = s.g.bins, z.views = s.g.views, z.rows = s.g.rows ? s.g.rows : 1;
    z.nx = s.g.nx ? s.g.nx : z.bins, z.ny = s.g.ny ? s.g.ny : z.bins;
    z.slices = s.g.slices ? s.g.slices : z.rows - s.g.first_row;
    z.sinograms = s.g.order == ISOC_CT_ORDER_SINOGRAMS;
    c.plan->configured = true;
}

static void set_options(call &c) {
    auto options = sized<isoc_ct_options>();
    settings_read(options_record, c, 0, "invalidOptions", &options);
    check(isoc_ct_set_options(c.plan->ct(), &options), "invalidOptions");
    c.plan->ct_algorithm = options.algorithm;
}

static void set_outliers(call &c) {
    auto outliers = sized<isoc_ct_outliers>();
    settings_read(outliers_record, c, 0, "invalidOutliers", &outliers);
    check(isoc_ct_set_outliers(c.plan->ct(), &outliers), "invalidOutliers");
}

static void leave_outliers(call &c) {
    c.takes({});
    check(isoc_ct_set_outliers(c.plan->ct(), nullptr));
}

static void set_distortion(call &c) {
    const char *invalid = "invalidDistortion";
    distortion_wanted wanted{};
    isoc_ct_distortion &distortion = wanted.distortion;
    distortion = sized<isoc_ct_distortion>();
    settings_read(distortion_record, c, 0, invalid, &wanted);
    const auto place = [&](const mxArray *value, const char *name) {
        if (value) return with_kind(invalid, [&] { return real_of(value, name); }) - 1;
        if (distortion.radial) fail(invalid, "%s is missing: Radial needs the bin and row of its centre", name);
        return 0.0;
    };
    distortion.x_centre = place(wanted.x_centre, "XCentre"), distortion.y_centre = place(wanted.y_centre, "YCentre");
    if (distortion.perspective && wanted.coefficients != 8)
        fail(invalid, "Perspective has %lld values; it must have 8, as discorpy gives them", static_cast<long long>(wanted.coefficients));
    if (distortion.x_shifts && distortion.y_shifts && wanted.x_views != wanted.y_views)
        fail(invalid, "XShifts has %lld values, YShifts %lld; a view has one of each", static_cast<long long>(wanted.x_views),
             static_cast<long long>(wanted.y_views));
    distortion.shift_count = distortion.x_shifts ? wanted.x_views : wanted.y_views;
    check(isoc_ct_set_distortion(c.plan->ct(), &distortion), invalid);
}

static void leave_distortion(call &c) {
    c.takes({});
    check(isoc_ct_set_distortion(c.plan->ct(), nullptr));
}

static void set_phase(call &c) {
    auto phase = sized<isoc_ct_phase>();
    settings_read(phase_record, c, 0, "invalidPhase", &phase);
    check(isoc_ct_set_phase(c.plan->ct(), &phase), "invalidPhase");
}

static void leave_phase(call &c) {
    c.takes({});
    check(isoc_ct_set_phase(c.plan->ct(), nullptr));
}

static void set_stripes(call &c) {
    auto stripes = sized<isoc_ct_stripes>();
    settings_read(stripes_record, c, 0, "invalidStripes", &stripes);
    check(isoc_ct_set_stripes(c.plan->ct(), &stripes), "invalidStripes");
}

static void leave_stripes(call &c) {
    c.takes({});
    check(isoc_ct_set_stripes(c.plan->ct(), nullptr));
}

static void set_half_acquisition(call &c) {
    auto half = sized<isoc_ct_half_acquisition>();
    settings_read(half_acquisition_record, c, 0, "invalidHalfAcquisition", &half);
    check(isoc_ct_set_half_acquisition(c.plan->ct(), &half), "invalidHalfAcquisition");
}

static void leave_half_acquisition(call &c) {
    c.takes({});
    check(isoc_ct_set_half_acquisition(c.plan->ct(), nullptr));
}

static const int64_t default_iterations = 30;

static void set_iterative(call &c) {
    auto wanted = sized<isoc_ct_iterative>();
    wanted.iterations = default_iterations;
    settings_read(iterative_record, c, 0, "invalidIterative", &wanted);
    check(isoc_ct_set_iterative(c.plan->ct(), &wanted), "invalidIterative");
    c.plan->ct_iterative = wanted;
}

static void history(call &c) {
    c.takes({});
    int64_t found = 0;
    check(isoc_ct_history(c.plan->ct(), nullptr, 0, &found));
    std::vector<isoc_ct_iteration> iterations(static_cast<size_t>(found));
    check(isoc_ct_history(c.plan->ct(), iterations.data(), found, &found));
    c.result(0, records_write(iteration_record, found, iterations.data()));
}

static void set_output(call &c) {
    auto output = sized<isoc_ct_output>();
    settings_read(output_record, c, 0, "invalidOptions", &output);
    check(isoc_ct_set_output(c.plan->ct(), &output), "invalidOptions");
    c.plan->ct_output = output.dtype;
}

// MATLAB's type of a volume of an isoc_ct_output_type, and the library's. The bits of f16 are uint16's.
struct stored {
    unsigned type;
    isoc_dtype dtype;
};
static stored stored_as(uint32_t output) {
    static const stored all[] = { { is_single, ISOC_F32 }, { is_uint8, ISOC_U8 }, { is_uint16, ISOC_U16 }, { is_uint16, ISOC_F16 } };
    return all[output];
}

static void get_output(call &c) {
    c.takes({});
    auto info = sized<isoc_ct_output_info>();
    check(isoc_ct_get_output(c.plan->ct(), &info));
    c.result(0, settings_write(output_info_record, &info));
}

static void histogram(call &c) {
    c.takes({});
    int64_t bins = 0;
    check(isoc_ct_get_histogram(c.plan->ct(), nullptr, 0, &bins));
    std::vector<int64_t> counts(static_cast<size_t>(bins));
    check(isoc_ct_get_histogram(c.plan->ct(), counts.data(), bins, nullptr));
    c.result(0, row(std::vector<double>(counts.begin(), counts.end())));
}

// (bins, rows, frames), or (bins, rows) of one frame.
static shape frames_of(const call &c, const mxArray *value) {
    const ct_sizes &s = c.plan->ct_size;
    const int64_t frames = static_cast<int64_t>(mxGetNumberOfElements(value)) / (s.bins * s.rows);
    return { { s.bins, s.rows, frames > 1 ? frames : 1 }, "bins x rows x frames" };
}

// Flats and darks, and from there on names and values; darks may be left out before these.
static void set_flat_field(call &c) {
    const auto is_array = [&](int at) { return at < c.count && !is_text(c.arguments[at]) && !mxIsStruct(c.arguments[at]); };
    const int settings = !is_array(0) ? 0 : is_array(1) ? 2 : 1;
    const mxArray *flats = settings > 0 ? c.optional(0) : nullptr, *darks = settings > 1 ? c.optional(1) : nullptr;
    if (!flats) {
        if (darks || settings < c.count)
            fail("invalidArgument", "flats are missing, and %s given; leave all out to forget the flat field", darks ? "darks are" : "options are");
        check(isoc_ct_set_flat_field(c.plan->ct(), nullptr, nullptr, nullptr));
        return;
    }
    flat_wanted wanted{};
    isoc_ct_flat_field_options &options = wanted.options;
    options = sized<isoc_ct_flat_field_options>();
    settings_read(flat_record, c, settings, "invalidOptions", &wanted);
    std::vector<int64_t> frames;
    if (wanted.frames) frames = with_kind("invalidOptions", [&] { return integers_of(wanted.frames, "GroupFrames"); });
    const auto groups = static_cast<int64_t>(frames.size());
    const auto matches = [&](const void *list, const char *name, int64_t count) {
        if (list && wanted.frames && count != groups)
            fail("invalidOptions", "%s has %lld values, GroupFrames %lld; a group has one of each", name, static_cast<long long>(count),
                 static_cast<long long>(groups));
    };
    matches(options.group_positions, "GroupPositions", wanted.positions);
    matches(options.group_monitor, "GroupMonitor", wanted.monitors);
    options.group_frames = wanted.frames ? frames.data() : nullptr;
    options.group_count = wanted.frames ? groups : options.group_positions ? wanted.positions : wanted.monitors;
    const int64_t views = c.plan->ct_size.views;
    if (options.monitor && options.monitor_count != views)
        fail("invalidOptions", "Monitor has %lld values; it must have one a view, %lld", static_cast<long long>(options.monitor_count),
             static_cast<long long>(views));
    auto outliers = sized<isoc_ct_outliers>();
    if (wanted.outliers) {
        settings_read(outliers_record, wanted.outliers, "invalidOptions", &outliers);
        options.outliers = &outliers;
    }
    const array f(flats, "flats", raw, frames_of(c, flats));
    if (!darks) {
        check(isoc_ct_set_flat_field(c.plan->ct(), f.tensor(), nullptr, &options), "invalidOptions");
        return;
    }
    const array d(darks, "darks", raw, frames_of(c, darks));
    check(isoc_ct_set_flat_field(c.plan->ct(), f.tensor(), d.tensor(), &options), "invalidOptions");
}

static void get_info(call &c) {
    c.takes({});
    auto info = sized<isoc_ct_info>();
    check(isoc_ct_get_info(c.plan->ct(), &info));
    c.result(0, settings_write(info_record, &info));
}

static void angular_weights(call &c) {
    c.takes({});
    std::vector<double> weights(static_cast<size_t>(c.plan->ct_size.views));
    check(isoc_ct_get_angular_weights(c.plan->ct(), weights.data(), c.plan->ct_size.views, nullptr));
    c.result(0, row(weights));
}

static void set_angular_weights(call &c) {
    c.takes({ "weights" });
    if (!c.optional(0)) {
        check(isoc_ct_set_angular_weights(c.plan->ct(), nullptr, 0));
        return;
    }
    const std::vector<double> weights = reals_of(c.optional(0), "weights");
    const auto count = static_cast<int64_t>(weights.size()), views = c.plan->ct_size.views;
    if (count != views)
        fail("invalidArgument", "weights has %lld values; it must have one a view, %lld", static_cast<long long>(count), static_cast<long long>(views));
    check(isoc_ct_set_angular_weights(c.plan->ct(), weights.data(), count), "invalidArgument");
}

static void set_ray_weights(call &c) {
    c.takes({ "weights" });
    if (!c.optional(0)) {
        check(isoc_ct_set_ray_weights(c.plan->ct(), nullptr));
        return;
    }
    const ct_sizes &s = c.plan->ct_size;
    const array in(c.optional(0), "weights", is_single | is_double, { { s.bins, s.views }, "bins x views" });
    // The dimension of one row is left out; MATLAB drops views from the end where there is one.
    const int64_t shape[] = { s.views, s.bins };
    isoc_tensor given = *in.tensor();
    given.ndim = 2, given.shape = shape, given.strides = nullptr;
    check(isoc_ct_set_ray_weights(c.plan->ct(), &given), "invalidArgument");
}

static void memory(call &c) {
    c.takes({});
    uint64_t bytes = 0;
    check(isoc_ct_memory(c.plan->ct(), &bytes));
    c.result(0, number(static_cast<double>(bytes)));
}

static void tune(call &c) {
    c.takes({});
    check(isoc_ct_tune(c.plan->ct()));
}

// Rows outside the slices are not written.
static array::contents outside(const call &c) {
    return c.plan->ct_size.slices < c.plan->ct_size.rows ? array::contents::zeros : array::contents::any;
}

static void filter(call &c) {
    c.takes({ "projections" });
    const array in(c.argument(0, "projections"), "projections", raw, projections_of(c));
    array out(is_single, projections_of(c), outside(c));
    check(isoc_ct_filter(c.plan->ct(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

static void to_volume(call &c, isoc_status (*run)(isoc_ct *, const isoc_tensor *, const isoc_tensor *), unsigned types,
                      uint32_t output = ISOC_CT_OUTPUT_TYPE_F32) {
    const array in(c.argument(0, "projections"), "projections", types, projections_of(c));
    const stored as = stored_as(output);
    array out(as.type, volume_of(c));
    out.holds(as.dtype);
    check(run(c.plan->ct(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

static void backproject(call &c) {
    c.takes({ "projections" });
    to_volume(c, isoc_ct_backproject, is_single);
}

static void adjoint(call &c) {
    c.takes({ "projections" });
    to_volume(c, isoc_ct_adjoint, is_single);
}

// Iterations begin with the volume where one is given.
static void begin_with(const call &c, uint32_t start) {
    isoc_ct_iterative wanted = c.plan->ct_iterative;
    if (wanted.start == start) return;
    wanted.struct_size = sizeof wanted;
    if (!wanted.iterations) wanted.iterations = default_iterations;
    wanted.start = start;
    check(isoc_ct_set_iterative(c.plan->ct(), &wanted), "invalidIterative");
    c.plan->ct_iterative = wanted;
}

static void reconstruct(call &c) {
    c.takes({ "projections", "initial" });
    const mxArray *const start = c.optional(1);
    begin_with(c, start ? ISOC_CT_START_VOLUME : ISOC_CT_START_UNIFORM);
    if (!start) {
        to_volume(c, isoc_ct_reconstruct, raw, c.plan->ct_output);
        return;
    }
    if (c.plan->ct_algorithm == ISOC_CT_ALGORITHM_FBP)
        fail("invalidArgument", "initial is what iterations begin with; the option Algorithm is 'fbp', which has none");
    if (c.plan->ct_output != ISOC_CT_OUTPUT_TYPE_F32) fail("invalidArgument", "initial is given; there must be none where the volume is stored by setOutput");
    const array in(c.argument(0, "projections"), "projections", raw, projections_of(c));
    const array initial(start, "initial", is_single, volume_of(c));
    array_rename("volume", "initial");
    array out(initial, volume_of(c));
    check(isoc_ct_reconstruct(c.plan->ct(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

// Frames of some views: those that the scan has left, where the number of values does not say how many they are.
static shape frames_from(const call &c, const mxArray *value, int64_t left) {
    ct_sizes s = c.plan->ct_size;
    const int64_t frame = std::max<int64_t>(s.bins * s.rows, 1), values = static_cast<int64_t>(mxGetNumberOfElements(value));
    const bool whole = values > 0 && values % frame == 0 && values / frame <= s.views;
    s.views = whole ? values / frame : left;
    return projections_of(s, s.rows);
}

static void fit_flat_field(call &c) {
    fit_wanted wanted = { sized<isoc_ct_flat_fit_options>(), 1 };
    settings_read(fit_options_record, c, 1, "invalidOptions", &wanted);
    const mxArray *frames = c.argument(0, "projections");
    const int64_t all = c.plan->ct_size.views;
    // Views count from 1 here.
    if (wanted.first < 1 || wanted.first > std::max<int64_t>(all, 1))
        fail("invalidOptions", "FirstView is %lld; it must be 1 to %lld", static_cast<long long>(wanted.first), static_cast<long long>(all));
    const array in(frames, "projections", raw, frames_from(c, frames, all - wanted.first + 1));
    const isoc_tensor *tensor = in.tensor();
    const int64_t room = 20, views = tensor->shape[c.plan->ct_size.sinograms && tensor->ndim == 3 ? 1 : 0];
    if (views > all - wanted.first + 1)
        fail("invalidOptions", "FirstView is %lld and projections have %lld views; the geometry has %lld", static_cast<long long>(wanted.first),
             static_cast<long long>(views), static_cast<long long>(all));
    std::vector<double> explained(room), weights(static_cast<size_t>(room * std::max<int64_t>(views, 0)));
    auto found = sized<isoc_ct_flat_fit>();
    found.explained = explained.data(), found.component_count = room;
    found.weights = weights.data(), found.weight_count = static_cast<int64_t>(weights.size());
    check(isoc_ct_fit_flat_field(c.plan->ct(), tensor, wanted.first - 1, &wanted.options, &found), "invalidArgument");
    const size_t kept = static_cast<size_t>(found.components);
    mxArray *out = settings_write(fit_record, &found);
    mxArray *matrix = mxCreateDoubleMatrix(kept, static_cast<size_t>(views), mxREAL);
    double *to = mxGetPr(matrix);
    for (size_t view = 0; view < static_cast<size_t>(views); view++)
        for (size_t k = 0; k < kept; k++) *to++ = weights[view * static_cast<size_t>(room) + k];
    explained.resize(kept);
    mxAddField(out, "Explained");
    mxSetField(out, 0, "Explained", row(explained));
    mxAddField(out, "Weights");
    mxSetField(out, 0, "Weights", matrix);
    c.result(0, out);
}

static void find_axis(call &c) {
    axis_wanted wanted = { sized<isoc_ct_axis_options>(), 0 };
    auto &options = wanted.options;
    auto found = sized<isoc_ct_axis>();
    settings_read(axis_options_record, c, 1, "invalidOptions", &wanted);
    // The library refuses what is more.
    std::vector<double> curve(static_cast<size_t>(std::clamp<int64_t>(wanted.curve, 0, int64_t{ 1 } << 20)));
    found.curve = curve.data(), found.curve_count = wanted.curve;
    // Bins count from 1 here.
    if (options.low != 0 || options.high != 0) options.low -= 1, options.high -= 1;
    const array in(c.argument(0, "projections"), "projections", raw, projections_of(c));
    check(isoc_ct_find_axis(c.plan->ct(), in.tensor(), &options, &found), "invalidArgument");
    found.axis += 1, found.curve_first += 1;
    mxArray *out = settings_write(axis_record, &found);
    mxAddField(out, "Curve");
    mxSetField(out, 0, "Curve", row(curve));
    c.result(0, out);
}

static void find_bad_views(call &c) {
    static const char *const words[] = { "none", "black", "saturated", "frozen", "not_finite", "doubtful" };
    c.takes({ "projections" });
    const array in(c.argument(0, "projections"), "projections", raw, projections_of(c));
    std::vector<uint32_t> faults(static_cast<size_t>(c.plan->ct_size.views));
    check(isoc_ct_find_bad_views(c.plan->ct(), in.tensor(), faults.data(), c.plan->ct_size.views), "invalidArgument");
    std::vector<double> certain, doubtful, good;
    mxArray *of_views = mxCreateCellMatrix(1, faults.size());
    for (size_t view = 0; view < faults.size(); view++) {
        const uint32_t fault = faults[view];
        // Views count from 1 here.
        const auto number = static_cast<double>(view + 1);
        mxSetCell(of_views, view, mxCreateString(words[fault]));
        if (fault == ISOC_CT_VIEW_FAULT_DOUBTFUL) doubtful.push_back(number);
        (fault == ISOC_CT_VIEW_FAULT_NONE || fault == ISOC_CT_VIEW_FAULT_DOUBTFUL ? good : certain).push_back(number);
    }
    const char *names[] = { "Faults", "Certain", "Doubtful", "Good" };
    mxArray *out = mxCreateStructMatrix(1, 1, 4, names);
    mxSetField(out, 0, "Faults", of_views);
    mxSetField(out, 0, "Certain", row(certain));
    mxSetField(out, 0, "Doubtful", row(doubtful));
    mxSetField(out, 0, "Good", row(good));
    c.result(0, out);
}

static void suggest_regularisation(call &c) {
    c.takes({ "projections" });
    const array in(c.argument(0, "projections"), "projections", raw, projections_of(c));
    double weight = 0, noise = 0;
    check(isoc_ct_suggest_regularisation(c.plan->ct(), in.tensor(), &weight, &noise), "invalidArgument");
    c.result(0, number(weight));
    c.result(1, number(noise));
}

static void forward(call &c) {
    c.takes({ "volume" });
    const array in(c.argument(0, "volume"), "volume", is_single, volume_of(c));
    array out(is_single, projections_of(c), outside(c));
    check(isoc_ct_forward(c.plan->ct(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

// What the callbacks of a streamed reconstruction need.
struct stream {
    const call *c;
    unsigned type;
    mxArray *read, *write;
};

static int32_t read_slab(void *user, int64_t first, int64_t count, const isoc_tensor *to) {
    const auto *s = static_cast<const stream *>(user);
    return guarded([&] {
        mxArray *got = nullptr;
        if (!call_function(s->read, part_of(first, count), &got)) return 1;
        if (!got) fail("callback", "the reading function returned nothing");
        const shape size = projections_of(s->c->plan->ct_size, count);
        const array in(got, "what the reading function returned", s->type, size);
        memcpy(to->data, in.tensor()->data, static_cast<size_t>(size.elements()) * in.tensor()->dtype.bits / 8);
        mxDestroyArray(got);
        return 0;
    });
}

static int32_t write_slab(void *user, int64_t first, int64_t count, const isoc_tensor *from) {
    const auto *s = static_cast<const stream *>(user);
    return guarded([&] {
        const shape size = volume_of(s->c->plan->ct_size, count);
        array out(stored_as(s->c->plan->ct_output).type, size);
        memcpy(out.tensor()->data, from->data, static_cast<size_t>(size.elements()) * from->dtype.bits / 8);
        std::vector<mxArray *> in{ out.finish() };
        for (mxArray *value : part_of(first, count)) in.push_back(value);
        return call_function(s->write, in, nullptr) ? 0 : 1;
    });
}

static void reconstruct_stream(call &c) {
    c.takes({ "read", "write", "class" });
    static const char *const names[] = { "single", "uint16", "uint8", nullptr };
    static const unsigned types[] = { is_single, is_uint16, is_uint8 };
    static const isoc_dtype dtypes[] = { ISOC_F32, ISOC_U16, ISOC_U8 };
    stream s{ &c, 0, function_of(c.argument(0, "read"), "read"), function_of(c.argument(1, "write"), "write") };
    const int k = c.optional(2) ? word_of(c.optional(2), "class", names) : 0;
    s.type = types[k];
    begin_with(c, ISOC_CT_START_UNIFORM);
    check(isoc_ct_reconstruct_stream(c.plan->ct(), dtypes[k], read_slab, write_slab, &s));
}

static void shepp_logan(call &c) {
    c.takes({ "kind", "radius" });
    isoc_ct_ellipse ellipses[ISOC_CT_SHEPP_LOGAN_ELLIPSES];
    const auto set = static_cast<uint32_t>(word_of(c.argument(0, "kind"), "kind", phantoms));
    check(isoc_ct_shepp_logan(set, real_of(c.argument(1, "radius"), "radius"), ellipses, ISOC_CT_SHEPP_LOGAN_ELLIPSES,
                              nullptr));
    c.result(0, records_write(ellipse_record, ISOC_CT_SHEPP_LOGAN_ELLIPSES, ellipses));
}

static const isoc_ct_ellipse *ellipses_of(const call &c, int64_t *count) {
    c.takes({ "ellipses" });
    return static_cast<const isoc_ct_ellipse *>(records_read(ellipse_record, c.argument(0, "ellipses"), "invalidArgument", count));
}

static void phantom_volume(call &c) {
    int64_t count = 0;
    const isoc_ct_ellipse *ellipses = ellipses_of(c, &count);
    array out(is_single, volume_of(c));
    check(isoc_ct_phantom_volume(c.plan->ct(), ellipses, count, out.tensor()));
    c.result(0, out.finish());
}

static void phantom_projections(call &c) {
    int64_t count = 0;
    const isoc_ct_ellipse *ellipses = ellipses_of(c, &count);
    array out(is_single, projections_of(c));
    check(isoc_ct_phantom_projections(c.plan->ct(), ellipses, count, out.tensor()));
    c.result(0, out.finish());
}

const std::vector<command> ct_commands{
    { "create", create, needs::context },
    { "destroy", destroy, needs::plan },
    { "describe", describe, needs::plan },
    { "set_geometry", set_geometry, needs::plan },
    { "set_options", set_options, needs::plan },
    { "set_output", set_output, needs::plan },
    { "output", get_output },
    { "histogram", histogram },
    { "set_flat_field", set_flat_field },
    { "set_outliers", set_outliers, needs::plan },
    { "leave_outliers", leave_outliers, needs::plan },
    { "set_distortion", set_distortion, needs::plan },
    { "leave_distortion", leave_distortion, needs::plan },
    { "set_phase", set_phase, needs::plan },
    { "leave_phase", leave_phase, needs::plan },
    { "set_stripes", set_stripes, needs::plan },
    { "leave_stripes", leave_stripes, needs::plan },
    { "set_iterative", set_iterative, needs::plan },
    { "history", history, needs::plan },
    { "set_half_acquisition", set_half_acquisition, needs::plan },
    { "leave_half_acquisition", leave_half_acquisition, needs::plan },
    { "info", get_info },
    { "angular_weights", angular_weights },
    { "set_angular_weights", set_angular_weights },
    { "set_ray_weights", set_ray_weights },
    { "memory", memory },
    { "tune", tune },
    { "filter", filter },
    { "backproject", backproject },
    { "forward", forward },
    { "adjoint", adjoint },
    { "reconstruct", reconstruct },
    { "find_axis", find_axis },
    { "find_bad_views", find_bad_views },
    { "suggest_regularisation", suggest_regularisation },
    { "fit_flat_field", fit_flat_field },
    { "reconstruct_stream", reconstruct_stream },
    { "shepp_logan", shepp_logan, needs::nothing },
    { "phantom_volume", phantom_volume },
    { "phantom_projections", phantom_projections },
};
