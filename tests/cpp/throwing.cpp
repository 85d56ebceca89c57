// isocenter.hpp with exceptions: every method of it, known values, errors, callbacks, threads.
#include "check.hpp"

#include <isocenter.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace iso = isocenter;
using iso::next;
using complex = std::complex<float>;

struct sample {
    float real, imaginary;
};
template <> struct isocenter::dtype_of<sample> {
    static constexpr isoc_dtype value = ISOC_C64;
};

namespace {

constexpr int views = 90, rows = 5, bins = 64;
constexpr double pi = 3.14159265358979323846;

template <class Handle> constexpr bool moves_only = std::is_nothrow_move_constructible_v<Handle> &&
                                                    std::is_nothrow_move_assignable_v<Handle> &&
                                                    !std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle>;
static_assert(moves_only<iso::context> && moves_only<iso::ct> && moves_only<iso::mri> && moves_only<iso::pet>);
static_assert(moves_only<iso::host_array<float>>);
static_assert(std::is_convertible_v<iso::tensor, iso::const_tensor> && !std::is_convertible_v<iso::const_tensor, iso::tensor>);
static_assert(!std::is_constructible_v<iso::tensor, const void *, isoc_dtype, iso::shape>);
static_assert(std::is_base_of_v<std::runtime_error, iso::error>);
// What a temporary owns is read in the call, and never written to. Views and pointers own nothing.
template <class Tensor, class From> constexpr bool made_of = std::is_constructible_v<Tensor, From, iso::shape>;
using temporary = std::vector<float>;
static_assert(made_of<iso::tensor, temporary &> && !made_of<iso::tensor, temporary> && !std::is_convertible_v<temporary, iso::tensor>);
static_assert(made_of<iso::const_tensor, temporary> && made_of<iso::const_tensor, const temporary> && std::is_convertible_v<temporary, iso::const_tensor>);
static_assert(!made_of<iso::tensor, std::array<float, 4>> && !made_of<iso::tensor, iso::host_array<float>>);
static_assert(made_of<iso::tensor, float *> && made_of<iso::tensor, iso::span<float>> && std::is_convertible_v<iso::span<float>, iso::tensor>);
struct view_of_its_own { // constant elements where it is constant, as Eigen's Map
    float *from;
    std::size_t many;
    explicit view_of_its_own(float *data) : from(data), many(1) {}
    float *data() { return from; }
    const float *data() const { return from; }
    std::size_t size() const { return many; }
};
static_assert(made_of<iso::tensor, view_of_its_own> && made_of<iso::const_tensor, view_of_its_own>);
#if __cplusplus >= 202002L
static_assert(made_of<iso::tensor, std::span<float>> && made_of<iso::const_tensor, std::span<const float, 4>>);
#endif
// A std::function that was kept, a function, nothing.
static_assert(std::is_convertible_v<std::function<next(double, const char *)>, iso::progress_function>);
static_assert(std::is_convertible_v<next (*)(double, const char *), iso::progress_function> && std::is_convertible_v<std::nullptr_t, iso::progress_function>);

// The status that `call` throws, and its words.
template <class F> isoc_status status_of(F &&call, std::string *words = nullptr) {
    try {
        call();
    } catch (const iso::error &e) {
        if (words) *words = e.what();
        return e.status();
    }
    return ISOC_STATUS_OK;
}

template <class F> void expect_error(const char *what, isoc_status wanted, const char *in_message, F &&call) {
    std::string words;
    const isoc_status status = status_of(call, &words);
    expect(what, status == wanted && has(words.c_str(), in_message), std::string(iso::status_string(status)) + ": " + words);
}

double dot(const std::vector<float> &a, const std::vector<float> &b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                              [](float x, float y) { return double{ x } * double{ y }; });
}

double largest_difference(const std::vector<float> &a, const std::vector<float> &b) {
    double most = a.size() == b.size() ? 0 : HUGE_VAL;
    for (std::size_t k = 0; most < HUGE_VAL && k < a.size(); k++)
        most = std::max(most, std::fabs(double{ a[k] } - double{ b[k] }));
    return most;
}

// A disk of attenuation 1, the same in all rows, its projections, and a plan.
struct scan {
    std::vector<double> angles = std::vector<double>(views);
    std::vector<float> projections = std::vector<float>(views * rows * bins), volume = std::vector<float>(rows * bins * bins);
    iso::ct plan;

    explicit scan(const iso::context &context) : plan(context) {
        for (int k = 0; k < views; k++) angles[static_cast<std::size_t>(k)] = pi * k / views;
        iso::ct::geometry g;
        g.views = views, g.rows = rows, g.bins = bins, g.angles = angles;
        plan.set_geometry(g);
        plan.phantom_projections({ disk }, p());
    }

    iso::tensor p() { return { projections, { views, rows, bins } }; }
    iso::tensor v() { return { volume, { rows, bins, bins } }; }
    double centre() const { return double{ volume[(2 * bins + bins / 2) * bins + bins / 2] }; }
    static constexpr iso::ct::ellipse disk = { 1.0, 2.0, -1.0, 20.0, 20.0, 0.0 };
};

void ct_values(const iso::context &context) {
    scan s(context);
    s.plan.reconstruct(s.p(), s.v());
    expect_near("ct: a disk of 1", s.centre(), 1.0, 0.01);
    const std::vector<float> usual = s.volume;

    expect("ct: views found", s.plan.get_info().distinct_angles == views);
    expect("ct: working memory", s.plan.memory() > 0);
    std::vector<double> weights(views);
    expect("ct: weights, their number", s.plan.get_angular_weights({}) == views && s.plan.get_angular_weights(weights) == views);
    expect_near("ct: weights add up to pi", std::accumulate(weights.begin(), weights.end(), 0.0), pi, 1e-9);
    std::vector<double> own(views, 2 * pi / views), small(views - 1);
    s.plan.set_angular_weights(own);
    s.plan.reconstruct(s.p(), s.v());
    expect_near("ct: weights twice as large", s.centre(), 2.0, 0.02);
    expect_near("ct: their sum", s.plan.get_info().angle_covered, 2 * pi, 1e-9);
    expect_error("ct: no room for weights", ISOC_STATUS_OUT_OF_RANGE, "capacity is", [&] { s.plan.get_angular_weights(small); });
    expect_error("ct: an empty list of weights", ISOC_STATUS_OUT_OF_RANGE, "weight_count is 0",
                 [&] { s.plan.set_angular_weights(std::vector<double>()); });
    s.plan.set_angular_weights();
    s.plan.reconstruct(s.p(), s.v());

    {
        std::vector<double> turn(48);
        for (std::size_t k = 0; k < turn.size(); k++) turn[k] = 2 * pi * static_cast<double>(k) / 48;
        const std::vector<double> near = { 12.5 };
        iso::ct half(context);
        iso::ct::geometry scan;
        scan.bins = 50, scan.angles = turn, scan.axis = near;
        half.set_half_acquisition();
        half.set_geometry(scan);
        // 49 - 12.5 bins on either side; 13.5 of them to the first bin without weight.
        expect("ct: half acquisition", half.get_info().computed_bins == 74 && half.get_info().overlap == 27.0);
        iso::ct::half_acquisition wide;
        wide.overlap = 28;
        expect_error("ct: an overlap", ISOC_STATUS_OUT_OF_RANGE, "at most 27", [&] { half.set_half_acquisition(wide); });
        half.set_half_acquisition(nullptr);
        expect("ct: no half acquisition", half.get_info().computed_bins == 50);
    }

    {
        std::vector<float> noisy = s.projections;
        std::mt19937 random(1);
        std::normal_distribution<float> normal(0, 0.02f);
        for (float &value : noisy) value += normal(random);
        double noise = 0;
        const double weight = s.plan.suggest_regularisation({ noisy, { views, rows, bins } }, &noise);
        // 27 000 differences tell it to 1.1 %; the edges of the disk are in 7 of 61 differences twice, which makes it 30 % more at most.
        expect("ct: noise", noise > 0.02 * 0.95 && noise < 0.02 * 1.35);
        // Iterations leave at least half of the noise, whose power of 1.6 is 0.33; an edge that is so far above the noise up to 8 times, 28.
        const double unit = 0.7 * noise * std::sqrt(double{ views }) * std::pow(bins / 64.0, 0.7);
        expect("ct: the weight of total variation", weight > 0.33 * unit && weight < 28 * unit);
        std::vector<uint32_t> faults(views, 7);
        std::vector<float> frozen = noisy;
        std::copy_n(frozen.begin() + 4 * rows * bins, rows * bins, frozen.begin() + 5 * rows * bins);
        s.plan.find_bad_views({ frozen, { views, rows, bins } }, faults);
        expect("ct: a frozen view", faults[5] == ISOC_CT_VIEW_FAULT_FROZEN && std::count(faults.begin(), faults.end(), 0u) == views - 1);
        expect_error("ct: room for the faults", ISOC_STATUS_OUT_OF_RANGE, "view_count is 3",
                     [&] { s.plan.find_bad_views({ noisy, { views, rows, bins } }, { faults.data(), 3 }); });
        expect("ct: the weight alone", s.plan.suggest_regularisation({ noisy, { views, rows, bins } }) == weight);
    }

    {
        expect_error("ct: no iterations yet", ISOC_STATUS_NOT_CONFIGURED, "isoc_ct_set_iterative", [&] { s.plan.history({}); });
        iso::ct::options sirt;
        sirt.algorithm = ISOC_CT_ALGORITHM_SIRT;
        s.plan.set_options(sirt);
        iso::ct::iterative iterative;
        expect("ct: 30 iterations by default", iterative.iterations == 30 && iterative.struct_size == sizeof(isoc_ct_iterative));
        iterative.iterations = 6, iterative.subsets = 10, iterative.bounds = ISOC_CT_BOUNDS_NON_NEGATIVE;
        s.plan.set_iterative(iterative);
        s.plan.reconstruct(s.p(), s.v());
        // A disk of 1 again; a pixel in its middle is off by what the rays at the edge add.
        expect_near("ct: SIRT", s.centre(), 1.0, 0.02);
        expect("ct: no value below 0", *std::min_element(s.volume.begin(), s.volume.end()) >= 0);
        std::vector<iso::ct::iteration> found(6), few(5);
        expect("ct: history", s.plan.history({}) == 6 && s.plan.history(found) == 6 && found[0].slices == rows
                                  && std::is_sorted(found.rbegin(), found.rend(), [](const auto &a, const auto &b) { return a.objective < b.objective; }));
        expect_error("ct: no room for the history", ISOC_STATUS_OUT_OF_RANGE, "capacity is 5", [&] { s.plan.history(few); });
        const std::vector<float> first = s.volume;
        iterative.start = ISOC_CT_START_VOLUME;
        s.plan.set_iterative(iterative);
        s.plan.reconstruct(s.p(), s.v());
        std::vector<iso::ct::iteration> more(6);
        s.plan.history(more);
        expect("ct: iterations go on from the volume", more[0].objective < found[5].objective && s.volume != first);
        iterative.relaxation = 2;
        expect_error("ct: relaxation", ISOC_STATUS_OUT_OF_RANGE, "iterative.relaxation is 2", [&] { s.plan.set_iterative(iterative); });
        s.plan.set_iterative();
        iso::ct::options cgls;
        cgls.algorithm = ISOC_CT_ALGORITHM_CGLS;
        s.plan.set_options(cgls);
        s.plan.reconstruct(s.p(), s.v());
        expect("ct: the defaults", s.plan.history({}) == 30);
        s.plan.set_options({});
        s.plan.reconstruct(s.p(), s.v());
        expect("ct: filtered back projection again", largest_difference(s.volume, usual) < 1e-6);
    }

    iso::ct::output output;
    output.dtype = ISOC_CT_OUTPUT_TYPE_U16, output.low = -0.5, output.high = 1.5, output.histogram_bins = 8;
    s.plan.set_output(output);
    std::vector<uint16_t> stored(usual.size());
    s.plan.reconstruct(s.p(), { stored, { rows, bins, bins } });
    const iso::ct::output_info written = s.plan.get_output();
    expect_near("ct: u16", written.offset + written.slope * stored[(2 * bins + bins / 2) * bins + bins / 2], 1.0, 0.01);
    expect("ct: u16, nothing clipped", written.clipped_low == 0 && written.clipped_high == 0 && written.low == -0.5);
    std::vector<int64_t> histogram(8);
    expect("ct: histogram", s.plan.get_histogram({}) == 8 && s.plan.get_histogram(histogram) == 8
                                && std::accumulate(histogram.begin(), histogram.end(), int64_t{ 0 }) == static_cast<int64_t>(usual.size()));
    expect_error("ct: f32 where u16 was set", ISOC_STATUS_TENSOR_DTYPE, "volume", [&] { s.plan.reconstruct(s.p(), s.v()); });
    {
        const auto read = [&](const iso::slab<float> &to) {
            for (int64_t v = 0; v < views; v++)
                std::copy_n(s.projections.data() + (v * rows + to.first) * bins, to.count * bins, to.data + v * to.count * bins);
            return next::proceed;
        };
        std::vector<uint16_t> streamed(stored.size());
        s.plan.reconstruct_stream<float, uint16_t>(read, [&](const iso::slab<const uint16_t> &slices) {
            std::copy(slices.begin(), slices.end(), streamed.begin() + slices.first * bins * bins);
            return next::proceed;
        });
        int worst = 0;
        for (std::size_t k = 0; k < stored.size(); k++) worst = std::max(worst, std::abs(int{ stored[k] } - int{ streamed[k] }));
        expect("ct: u16 from a stream", worst <= 1);
        expect_error("ct: a stream of another type", ISOC_STATUS_TENSOR_DTYPE, "set_output",
                     [&] { s.plan.reconstruct_stream<float>(read, [](const iso::slab<const float> &) { return next::proceed; }); });
    }
    output.high = -1;
    expect_error("ct: a window", ISOC_STATUS_OUT_OF_RANGE, "output.high is -1", [&] { s.plan.set_output(output); });
    s.plan.set_output();
    s.plan.reconstruct(s.p(), s.v());
    expect("ct: f32 again", largest_difference(s.volume, usual) < 1e-6);

    std::vector<float> filtered(s.projections.size()), other(usual.size());
    iso::ct::options options;
    options.weighted_backprojection = 1;
    s.plan.set_options(options);
    s.plan.filter(s.p(), { filtered, { views, rows, bins } });
    s.plan.backproject({ filtered, { views, rows, bins } }, { other, { rows, bins, bins } });
    expect("ct: filter and backproject are reconstruct", largest_difference(other, usual) < 1e-5);
    options = iso::ct::options();
    options.interpolation = ISOC_CT_INTERPOLATION_BAND_LIMITED, options.tolerance = 1e-3;
    s.plan.set_options(options);
    expect("ct: period", s.plan.get_info().period >= bins);
    s.plan.reconstruct(s.p(), s.v());
    expect_near("ct: band-limited", s.centre(), 1.0, 0.02);
    options = iso::ct::options();
    options.projector = ISOC_CT_PROJECTOR_BAND_LIMITED;
    s.plan.set_options(options);
    expect("ct: period of the pair", s.plan.get_info().period >= bins);
    options.projector = 2;
    expect_error("ct: projector", ISOC_STATUS_UNKNOWN_VALUE, "projector is 2", [&] { s.plan.set_options(options); });
    options = iso::ct::options();
    options.interpolation = ISOC_CT_INTERPOLATION_BAND_LIMITED, options.tolerance = 0.1;
    expect_error("ct: tolerance", ISOC_STATUS_OUT_OF_RANGE, "tolerance is 0.1", [&] { s.plan.set_options(options); });
    options.tolerance = 0, options.kernel = ISOC_CT_KERNEL_ALU;
    expect_error("ct: kernel", ISOC_STATUS_OUT_OF_RANGE, "kernel is 3 (alu)", [&] { s.plan.set_options(options); });
    s.plan.set_options();
    expect("ct: no period", s.plan.get_info().period == 0);

    std::vector<float> lines(s.projections.size());
    s.plan.phantom_volume({ scan::disk }, { other, { rows, bins, bins } });
    expect_near("ct: the truth", double{ other[(2 * bins + bins / 2) * bins + bins / 2] }, 1.0, 1e-6);
    s.plan.forward({ other, { rows, bins, bins } }, { lines, { views, rows, bins } });
    expect_near("ct: forward gives the phantom's lines", std::accumulate(lines.begin(), lines.end(), 0.0),
                std::accumulate(s.projections.begin(), s.projections.end(), 0.0), 0.001 * pi * 400 * views * rows);
    std::vector<float> back(usual.size());
    s.plan.adjoint(s.p(), { back, { rows, bins, bins } });
    expect_near("ct: adjoint is forward's transpose", dot(lines, s.projections) / dot(other, back), 1.0, 1e-5);

    // The same projections as sinograms, by strides: no copy is made.
    iso::ct::geometry g;
    g.views = views, g.rows = rows, g.bins = bins, g.angles = s.angles, g.order = ISOC_CT_ORDER_SINOGRAMS;
    s.plan.set_geometry(g);
    s.plan.reconstruct(iso::const_tensor(s.projections, { rows, views, bins }).strided({ bins, rows * bins, 1 }),
                       { other, { rows, bins, bins } });
    expect("ct: strides", largest_difference(other, usual) < 1e-6);
    // A slice upside down: negative strides count back from an offset.
    g.slices = 1, g.order = ISOC_CT_ORDER_FRAMES, g.first_row = 2;
    s.plan.set_geometry(g);
    std::vector<float> flipped(bins * bins);
    s.plan.reconstruct(
        s.p(), iso::tensor(flipped, { 1, bins, bins }).strided({ 1, -bins, 1 }).offset_bytes((bins - 1) * bins * sizeof(float)));
    std::vector<float> slice(usual.begin() + 2 * bins * bins, usual.begin() + 3 * bins * bins), upright;
    for (int i = bins - 1; i >= 0; i--)
        upright.insert(upright.end(), flipped.begin() + i * bins, flipped.begin() + (i + 1) * bins);
    expect("ct: negative strides", largest_difference(upright, slice) < 1e-6);

    // Counts of 1000 exp(-attenuation) in u16, and a C tensor for the flats.
    g = iso::ct::geometry();
    g.views = views, g.rows = rows, g.bins = bins, g.angles = s.angles;
    s.plan.set_geometry(g);
    std::vector<uint16_t> raw(s.projections.size()), flat(rows * bins, 60000);
    for (std::size_t k = 0; k < raw.size(); k++)
        raw[k] = static_cast<uint16_t>(std::lround(60000 * std::exp(-0.1 * double{ s.projections[k] })));
    const int64_t flat_shape[] = { rows, bins };
    isoc_tensor flat_c = { flat.data(), ISOC_HOST, 2, ISOC_U16, flat_shape, nullptr, 0 };
    s.plan.set_flat_field(flat_c, nullptr);
    s.plan.reconstruct({ raw, { views, rows, bins } }, s.v());
    expect_near("ct: counts", s.centre(), 0.1, 0.002);
    const void *untyped = raw.data();
    s.volume.assign(s.volume.size(), 0);
    s.plan.reconstruct(iso::const_tensor(untyped, ISOC_U16, { views, rows, bins }), s.v());
    expect_near("ct: a type that only the program knows", s.centre(), 0.1, 0.002);
    expect_error("ct: f32 with a flat field", ISOC_STATUS_FLAT_FIELD, "counts or line integrals", [&] { s.plan.reconstruct(s.p(), s.v()); });
    options = iso::ct::options();
    options.input = ISOC_CT_INPUT_COUNTS;
    s.plan.set_options(options);
    const std::vector<float> floats(raw.begin(), raw.end());
    s.plan.reconstruct({ floats, { views, rows, bins } }, s.v());
    expect_near("ct: counts as floats", s.centre(), 0.1, 0.002);
    s.plan.set_options();

    // A beam that doubles over the scan, told by flats at its ends, or by a monitor and one flat; a dead pixel, outliers.
    std::vector<uint16_t> flats(flat);
    flats.insert(flats.end(), flat.begin(), flat.end());
    for (std::size_t k = 0; k < flat.size(); k++) flats[k] = 30000;
    std::vector<double> beam;
    for (int v = 0; v < views; v++) beam.push_back((v + 0.5 + views) / (2.0 * views));
    for (std::size_t k = 0; k < raw.size(); k++) raw[k] = static_cast<uint16_t>(std::lround(raw[k] * beam[k / (rows * bins)]));
    const iso::const_tensor two(flats, { 2, rows, bins });
    iso::ct::flat_field_options in_time;
    in_time.group_frames = { 1, 1 }, in_time.group_positions = { 0.0, double{ views } };
    s.plan.set_flat_field(two, nullptr, in_time);
    s.plan.reconstruct({ raw, { views, rows, bins } }, s.v());
    expect_near("ct: flats in time", s.centre(), 0.1, 0.002);
    iso::ct::flat_field_options by_monitor;
    by_monitor.group_frames = { 2 }, by_monitor.group_positions = { 0.0 }, by_monitor.group_monitor = { 0.75 }, by_monitor.monitor = beam;
    s.plan.set_flat_field(two, nullptr, by_monitor);
    s.plan.reconstruct({ raw, { views, rows, bins } }, s.v());
    expect_near("ct: a monitor", s.centre(), 0.1, 0.002);
    flats[5] = flats[rows * bins + 5] = 0;
    iso::ct::outliers zingers;
    zingers.threshold = 20;
    in_time.combine = ISOC_CT_COMBINE_MEDIAN, in_time.bad_pixels = 10, in_time.outliers = &zingers;
    s.plan.set_flat_field(two, nullptr, in_time);
    expect("ct: a bad pixel", s.plan.get_info().bad_pixels == 1);
    s.plan.set_outliers(zingers);
    s.plan.reconstruct({ raw, { views, rows, bins } }, s.v());
    const auto usual_outliers = s.plan.get_info().outliers;
    raw[7 * bins * rows + 3] = 65535;
    s.plan.reconstruct({ raw, { views, rows, bins } }, s.v());
    expect("ct: an outlier", s.plan.get_info().outliers == usual_outliers + 1);
    expect_near("ct: without outliers", s.centre(), 0.1, 0.002);
    // A kernel of a bin: far from edges lines are straight, and stay.
    iso::ct::phase propagation;
    propagation.length_um = 0.7, propagation.pixel_um = 0.7;
    s.plan.set_phase(propagation);
    s.plan.reconstruct({ raw, { views, rows, bins } }, s.v());
    expect_near("ct: phase", s.centre(), 0.1, 0.002);
    propagation.energy_kev = 20000;
    expect_error("ct: phase told twice", ISOC_STATUS_OUT_OF_RANGE, "phase.energy_kev is 20000 with length_um 0.7", [&] { s.plan.set_phase(propagation); });
    propagation.length_um = 0;
    expect_error("ct: an energy in eV", ISOC_STATUS_OUT_OF_RANGE, "is the energy in eV?", [&] { s.plan.set_phase(propagation); });
    s.plan.set_phase(nullptr);
    zingers.depth = 2;
    expect_error("ct: outliers", ISOC_STATUS_OUT_OF_RANGE, "depth is 2", [&] { s.plan.set_outliers(zingers); });
    s.plan.set_outliers(nullptr);
    in_time.outliers = nullptr, in_time.group_positions = { 3.0 };
    expect_error("ct: groups", ISOC_STATUS_OUT_OF_RANGE, "options.group_positions has 1 values, options.group_frames 2",
                 [&] { s.plan.set_flat_field(two, nullptr, in_time); });
    in_time.group_positions = { 3.0, 3.0 };
    expect_error("ct: two groups at one place", ISOC_STATUS_OUT_OF_RANGE, "two groups at one place",
                 [&] { s.plan.set_flat_field(two, nullptr, in_time); });
    // Flats of waves, one of which is in all views.
    std::vector<uint16_t> waves;
    for (int n = 0; n < 5; n++)
        for (std::size_t k = 0; k < flat.size(); k++) waves.push_back(static_cast<uint16_t>(30000 + (n - 2) * (k % 8 < 4 ? 500 : -500)));
    iso::ct::flat_field_options drifting;
    drifting.eigenflats = 2;
    s.plan.set_flat_field({ waves, { 5, rows, bins } }, nullptr, drifting);
    expect_error("ct: eigenflats without a fit", ISOC_STATUS_FLAT_FIELD, "views[0] is not known",
                 [&] { s.plan.reconstruct({ raw, { views, rows, bins } }, s.v()); });
    std::vector<double> explained(3), of_views(views * explained.size());
    const iso::ct::flat_fit fit = s.plan.fit_flat_field({ raw, { views, rows, bins } }, 0, {}, explained, of_views);
    expect("ct: one eigenflat", fit.components == 1 && explained[0] > 0.99 && of_views[1] == 0 && fit.variation_after <= fit.variation_before);
    s.plan.reconstruct({ raw, { views, rows, bins } }, s.v());
    expect_error("ct: too few weights", ISOC_STATUS_OUT_OF_RANGE, "found.weight_count is 3",
                 [&] { s.plan.fit_flat_field({ raw, { views, rows, bins } }, 0, {}, explained, explained); });
    s.plan.set_flat_field(nullptr);

    // Views that lie up to 2 bins aside, put back by lists of shifts beside maps that change nothing.
    std::vector<float> aside(s.projections.size());
    iso::ct::distortion lens;
    std::vector<double> shifts;
    for (int v = 0; v < views; v++) {
        shifts.push_back(v % 3);
        for (int r = 0; r < rows; r++)
            std::copy_n(s.projections.begin() + (v * rows + r) * bins, bins - v % 3, aside.begin() + (v * rows + r) * bins + v % 3);
    }
    lens.x_shifts = shifts, lens.radial = 1, lens.x_centre = 20, lens.perspective = { 1, 0, 0, 0, 1, 0, 0, 0 };
    s.plan.set_distortion(lens);
    s.plan.reconstruct({ aside, { views, rows, bins } }, s.v());
    expect("ct: distortion", largest_difference(s.volume, usual) < 1e-6);
    lens.y_shifts = { 1, 2 };
    expect_error("ct: lists of shifts", ISOC_STATUS_OUT_OF_RANGE, "distortion.y_shifts 2; a view has one of each", [&] { s.plan.set_distortion(lens); });
    lens.y_shifts = {}, lens.radial = { 1.0, 1e3 };
    expect_error("ct: coefficients of another unit", ISOC_STATUS_OUT_OF_RANGE, "of this detector, in pixels?", [&] { s.plan.set_distortion(lens); });
    s.plan.set_distortion(nullptr);
    s.plan.reconstruct(s.p(), s.v());
    expect("ct: no distortion", largest_difference(s.volume, usual) < 1e-6);

    const auto ellipses = iso::ct::shepp_logan(ISOC_CT_SHEPP_LOGAN_KIND_MODIFIED, 30.0);
    s.plan.phantom_projections(ellipses, s.p());
    s.plan.reconstruct(s.p(), s.v());
    expect("ct: Shepp-Logan's skull", ellipses[0].value == 1.0 && std::fabs(ellipses[0].semi_y - 0.92 * 30.0) < 1e-9);
    s.plan.tune();
    s.plan.set_stream(nullptr);

    iso::host_array<float> pinned(context, s.projections.size());
    std::copy(s.projections.begin(), s.projections.end(), pinned.begin());
    other = s.volume;
    s.plan.reconstruct({ pinned, { views, rows, bins } }, s.v());
    expect("ct: host_array", largest_difference(other, s.volume) == 0 && pinned.size() == s.projections.size());
    expect_error("host_array: too many", ISOC_STATUS_OUT_OF_RANGE, "", [&] { iso::host_array<double> none(context, SIZE_MAX); });

#if __cplusplus >= 202002L
    std::span<const float> from(s.projections);
    std::span<float> to(s.volume);
    s.plan.set_geometry({ .views = views, .bins = bins, .rows = rows, .angles = s.angles });
    s.plan.reconstruct({ from, { views, rows, bins } }, { to, { rows, bins, bins } });
    expect("ct: std::span", largest_difference(other, s.volume) == 0);
    expect_error("ct: a std::span too short", ISOC_STATUS_TENSOR_SHAPE, "(90, 5, 64)",
                 [&] { s.plan.reconstruct({ from.first(100), { views, rows, bins } }, { to, { rows, bins, bins } }); });
#endif
}

void moves(const iso::context &context) {
    scan s(context);
    iso::ct moved = std::move(s.plan);
    expect("move: the old one is empty", !s.plan && moved); // NOLINT: what is left behind is the point
    moved.reconstruct(s.p(), s.v());
    expect_near("move: the new one works", s.centre(), 1.0, 0.01);
    expect_error("move: the old one says so", ISOC_STATUS_NULL_POINTER, "handle is NULL",
                 [&] { s.plan.reconstruct(s.p(), s.v()); });
    s.plan = std::move(moved);
    s.plan.reconstruct(s.p(), s.v());
    iso::ct &same = s.plan;
    s.plan = std::move(same);
    s.plan.reconstruct(s.p(), s.v());
    std::vector<iso::ct> plans;
    for (int k = 0; k < 10; k++) plans.emplace_back(context);
    plans.erase(plans.begin(), plans.begin() + 5);
    expect("move: in a vector",
           std::all_of(plans.begin(), plans.end(), [](const iso::ct &plan) { return static_cast<bool>(plan); }));
}

void errors(const iso::context &context) {
    scan s(context);
    expect_error("error: shape", ISOC_STATUS_TENSOR_SHAPE, "64",
                 [&] { s.plan.reconstruct(s.p(), { s.volume, { rows, bins, bins - 1 } }); });
    expect_error("error: vector too short", ISOC_STATUS_TENSOR_SHAPE,
                 "volume holds 10 elements; its shape (5, 64, 64) needs 20480", [&] {
                     std::vector<float> small(10);
                     s.plan.reconstruct(s.p(), { small, { rows, bins, bins } });
                 });
    // The last of 90 x 5 x 64 elements, 2 x 5 x 64 apart along the first dimension: 89 x 640 + 319, and it begins 4 elements on.
    expect_error("error: vector too short for strides", ISOC_STATUS_TENSOR_SHAPE,
                 "projections holds 28800 elements; its shape (90, 5, 64) with its strides and offset needs 57284",
                 [&] { s.plan.reconstruct(s.p().strided({ 2 * rows * bins, bins, 1 }).offset_bytes(16), s.v()); });
    for (const iso::shape &huge : { iso::shape(INT64_MAX, INT64_MAX), iso::shape(2, INT64_MAX, 2), iso::shape(INT64_MAX, 3) })
        expect_error("error: a shape beyond counting", ISOC_STATUS_TENSOR_SHAPE, "volume holds 20480 elements; its shape (",
                     [&] { s.plan.reconstruct(s.p(), { s.volume, huge }); });
    expect_error("error: as many elements as 64 bits count", ISOC_STATUS_TENSOR_SHAPE, "needs 18446744073709551614",
                 [&] { s.plan.reconstruct(s.p(), { s.volume, { 2, INT64_MAX } }); });
    std::vector<float> nothing(1);
    expect_error("error: a shape without elements is for the library to judge", ISOC_STATUS_TENSOR_SHAPE, "(0, 64, 64)",
                 [&] { s.plan.reconstruct(s.p(), { nothing, { 0, bins, bins } }); });
    expect_error("error: strides", ISOC_STATUS_TENSOR_STRIDES, "projections has 2 strides for 3 dimensions",
                 [&] { s.plan.reconstruct(s.p().strided({ 1, 1 }), s.v()); });
    expect_error("error: no volume", ISOC_STATUS_NULL_POINTER, "volume", [&] { s.plan.reconstruct(s.p(), nullptr); });
    expect_error("error: dtype", ISOC_STATUS_TENSOR_DTYPE, "volume", [&] {
        std::vector<double> wide(s.volume.size());
        s.plan.reconstruct(s.p(), { wide, { rows, bins, bins } });
    });
    expect_error("error: a GPU's memory on the processor", ISOC_STATUS_TENSOR_DEVICE, "",
                 [&] { s.plan.reconstruct(s.p(), s.v().on_gpu(977)); });
    expect_error("error: option", ISOC_STATUS_UNKNOWN_VALUE, "filter", [&] {
        iso::ct::options options;
        options.filter = 99;
        s.plan.set_options(options);
    });
    expect_error("error: no geometry", ISOC_STATUS_NOT_CONFIGURED, "", [&] { iso::ct(context).reconstruct(s.p(), s.v()); });
    expect_error("error: GPUs that are not there", ISOC_STATUS_NO_DEVICE, "", [&] {
        iso::context::options options;
        options.device = ISOC_CONTEXT_DEVICE_GPU, options.gpus = { 1000 };
        iso::context none(options);
    });
    s.projections[7] = NAN;
    expect_error("error: NaN", ISOC_STATUS_NOT_FINITE_DATA, "", [&] { s.plan.reconstruct(s.p(), s.v()); });
    s.plan.phantom_projections({ scan::disk }, s.p());
    s.plan.reconstruct(s.p(), s.v());
    expect_near("error: the plan works afterwards", s.centre(), 1.0, 0.01);
}

struct own_exception {
    int value;
};

// The value of the own_exception that `call` lets through, or -1.
template <class F> int thrown_by(F &&call) {
    try {
        call();
    } catch (const own_exception &e) {
        return e.value;
    }
    return -1;
}

void callbacks() {
    enum { quiet, stop, raise, nested } wish = quiet;
    int reports = 0, logs = 0;
    bool raise_in_log = false;
    double last = 0;
    iso::ct *other = nullptr;
    scan *other_scan = nullptr;
    iso::context::options options;
    options.device = ISOC_CONTEXT_DEVICE_CPU;
    options.on_progress = [&](double fraction, const char *) {
        reports++, last = fraction;
        if (wish == raise) throw own_exception{ 42 };
        if (wish == nested) {
            expect("callback: a plan is busy meanwhile", status_of([&] { other_scan->plan.get_info(); }) == ISOC_STATUS_BUSY);
            wish = raise;
            expect("callback: an inner call throws here",
                   thrown_by([&] { other->reconstruct(other_scan->p(), other_scan->v()); }) == 42);
            wish = quiet;
        }
        return wish == stop ? next::stop : next::proceed;
    };
    options.on_log = [&](int, const char *) {
        logs++;
        if (raise_in_log) throw own_exception{ 7 };
    };
    auto context = std::make_unique<iso::context>(options);
    scan s(*context);
    iso::ct second(*context);
    iso::ct::geometry g;
    g.views = views, g.rows = rows, g.bins = bins, g.angles = s.angles;
    second.set_geometry(g);
    other = &second, other_scan = &s;
    context.reset(); // plans and their callbacks outlive it

    s.plan.reconstruct(s.p(), s.v());
    expect("progress: reported up to 1", reports > 0 && last == 1.0);
    wish = stop;
    bool caught = false;
    try {
        s.plan.reconstruct(s.p(), s.v());
    } catch (const iso::cancelled &e) {
        caught = e.status() == ISOC_STATUS_CANCELLED && has(e.what(), "progress");
    }
    expect("progress: stop cancels", caught);
    wish = raise, reports = 0;
    expect("progress: an exception comes out", thrown_by([&] { s.plan.reconstruct(s.p(), s.v()); }) == 42);
    expect("progress: nothing is called after an exception", reports == 1);
    wish = nested;
    s.plan.reconstruct(s.p(), s.v());
    wish = raise;
    const iso::tensor from = s.p(), to = s.v();
    const isoc_tensor p = from.c_tensor(), v = to.c_tensor();
    expect("progress: a C call is stopped", isoc_ct_reconstruct(s.plan.get(), &p, &v) == ISOC_STATUS_CANCELLED);
    wish = quiet;
    s.plan.reconstruct(s.p(), s.v());
    expect_near("progress: the plan works afterwards", s.centre(), 1.0, 0.01);

    // A trajectory that looks like one in another unit is worth a warning.
    const std::vector<double> trajectory = { 0.001, 0.001, 0.002, 0.001 };
    iso::mri::geometry m;
    m.unit = ISOC_MRI_UNIT_RADIANS_PER_VOXEL, m.nx = m.ny = 8, m.samples = 2;
    iso::mri third(iso::context{ options });
    third.set_geometry(m, { trajectory, { 2, 2 } });
    expect("log: a warning", logs > 0);
    const std::function<next(double, const char *)> none;
    const iso::progress_function empty = none, null = nullptr, kept = options.on_progress;
    expect("callback: none, and one that is copied", !empty && !null && kept);
    raise_in_log = true;
    expect("log: an exception comes out", thrown_by([&] { third.set_geometry(m, { trajectory, { 2, 2 } }); }) == 7);
}

// The last owner of callbacks is an object that they destroy: they stay until its call returns.
void destroyed_by_callbacks() {
    std::optional<iso::ct> ct;
    std::optional<iso::mri> mri;
    int reports = 0, logs = 0;
    iso::context::options options;
    options.device = ISOC_CONTEXT_DEVICE_CPU;
    options.on_progress = [&, kept = std::string(100, 'p')](double, const char *) {
        ct.reset();
        reports += kept == std::string(100, 'p');
        return next::proceed;
    };
    ct.emplace(iso::context(options));
    options.on_log = [&, kept = std::string(100, 'l')](int, const char *) {
        mri.reset();
        logs += kept == std::string(100, 'l');
    };
    mri.emplace(iso::context(options));
    options = {};
    iso::ct::geometry g;
    g.angles = std::vector<double>{ 0, pi / 3, 2 * pi / 3 }, g.bins = bins;
    ct->set_geometry(g);
    const std::vector<float> projections(3 * bins, 1.0f);
    std::vector<float> volume(bins * bins);
    ct->reconstruct({ projections, { 3, bins } }, { volume, { bins, bins } });
    expect("progress: destroys its plan", reports > 0 && !ct && volume[bins / 2 * bins + bins / 2] != 0, std::to_string(reports));
    iso::mri::geometry m;
    m.unit = ISOC_MRI_UNIT_RADIANS_PER_VOXEL, m.nx = m.ny = 8, m.samples = 2;
    mri->set_geometry(m, { std::vector<double>{ 0.001, 0.001, 0.002, 0.001 }, { 2, 2 } });
    expect("log: destroys its plan", logs > 0 && !mri, std::to_string(logs));
}

void streams(const iso::context &context) {
    scan s(context);
    s.plan.reconstruct(s.p(), s.v());
    std::vector<float> streamed(s.volume.size());
    int raise_read = 0, raise_write = 0, stop_write = 0;
    const auto read = [&](const iso::slab<float> &p) {
        if (raise_read) throw own_exception{ 1 };
        for (int64_t view = 0; view < views; view++)
            std::copy_n(&s.projections[static_cast<std::size_t>((view * rows + p.first) * bins)], p.count * bins,
                        p.data + view * p.count * bins);
        return p.shape == std::array<int64_t, 3>{ views, p.count, bins } ? next::proceed : next::stop;
    };
    const auto write = [&](const iso::slab<const float> &v) {
        if (raise_write) throw own_exception{ 2 };
        std::copy(v.begin(), v.end(), streamed.begin() + v.first * bins * bins);
        return stop_write ? next::stop : next::proceed;
    };
    s.plan.reconstruct_stream<float>(read, write);
    expect("stream: the usual volume", largest_difference(streamed, s.volume) < 1e-5);
    raise_read = 1;
    expect("stream: read throws", thrown_by([&] { s.plan.reconstruct_stream<float>(read, write); }) == 1);
    raise_read = 0, raise_write = 1;
    expect("stream: write throws", thrown_by([&] { s.plan.reconstruct_stream<float>(read, write); }) == 2);
    raise_write = 0, stop_write = 1;
    expect_error("stream: write stops", ISOC_STATUS_CALLBACK, "write", [&] { s.plan.reconstruct_stream<float>(read, write); });
    expect_error("stream: no reader", ISOC_STATUS_NULL_POINTER, "read",
                 [&] { s.plan.reconstruct_stream<float>(nullptr, write); });
    expect_error("stream: counts without a flat field", ISOC_STATUS_FLAT_FIELD, "flat field",
                 [&] { s.plan.reconstruct_stream<uint16_t>([](const iso::slab<uint16_t> &) { return next::proceed; }, write); });
}

void threads() {
    iso::context::options options;
    options.device = ISOC_CONTEXT_DEVICE_CPU, options.threads = 2;
    static thread_local int mine = 0;
    options.on_progress = [](double, const char *) -> next { throw own_exception{ mine }; };
    iso::context context(options);
    std::vector<int> seen(4, -1);
    std::vector<std::thread> workers;
    for (int k = 0; k < 4; k++)
        workers.emplace_back([&, k] {
            mine = 100 + k;
            std::vector<double> angles = { 0, 1, 2 };
            std::vector<float> p(3 * bins), v(bins * bins);
            iso::ct plan(context);
            iso::ct::geometry g;
            g.views = 3, g.bins = bins, g.angles = angles;
            plan.set_geometry(g);
            seen[static_cast<std::size_t>(k)] = thrown_by([&] { plan.reconstruct({ p, { 3, bins } }, { v, { bins, bins } }); });
        });
    for (std::thread &worker : workers) worker.join();
    expect("threads: each gets its own exception", seen == std::vector<int>{ 100, 101, 102, 103 });
}

void coils(const iso::context &context) {
    constexpr int count = 2, side = 8, grid = 10, samples = side * side;
    std::vector<complex> calibration(count * samples), matrix(count * count), maps(count * grid * grid), out(count * samples);
    for (std::size_t k = 0; k < calibration.size(); k++) {
        const double angle = double(k * k);
        calibration[k] = complex(float(std::sin(angle)), float(std::cos(1 + 3 * angle)));
    }
    const iso::const_tensor data(calibration, { count, samples });
    context.coil_whitening(data, { matrix, { count, count } });
    expect("coils: a whitening matrix is lower triangular", std::abs(matrix[1]) == 0 && std::abs(matrix[2]) > 0);
    context.coil_apply({ matrix, { count, count } }, data, { out, { count, samples } });
    double power = 0;
    for (const complex v : out) power += double{ std::norm(v) };
    expect_near("coils: whitened noise", power / double(out.size()), 2.0, 1e-3);
    expect_near("coils: all of the energy", context.coil_compression(data, { matrix, { count, count } }), 1.0, 1e-9);
    std::vector<complex> lines(side * count);
    const double part = context.coil_geometric_compression({ calibration, { count, side, side } }, { lines, { side, 1, count } });
    expect("coils: part of the energy", part > 0.5 && part < 1);
    context.coil_apply_geometric({ lines, { side, 1, count } }, { calibration, { count, side, side } }, { out.data(), { 1, side, side } });
    iso::context::coil_options options;
    options.crop = -1, options.kernel_x = 3, options.kernel_y = 3, options.threshold = 0.3;
    std::vector<float> values(grid * grid);
    context.coil_maps({ calibration, { count, side, side } }, { maps, { count, grid, grid } }, options, { values, { grid, grid } });
    expect_near("coils: maps of length 1", double{ std::norm(maps[7]) + std::norm(maps[grid * grid + 7]) }, 1.0, 1e-5);
    expect("coils: eigenvalues", values[7] > 0 && values[7] < 1.001f);
    context.coil_maps({ calibration, { count, side, side } }, { maps, { count, grid, grid } });
    expect_error("coils: a kernel that is too large", ISOC_STATUS_OUT_OF_RANGE, "kernel_x is 9", [&] {
        options.kernel_x = 9;
        context.coil_maps({ calibration, { count, side, side } }, { maps, { count, grid, grid } }, options);
    });
}

void mri(const iso::context &context) {
    constexpr int side = 32, spokes = 64, readout = 64, samples = spokes * readout;
    std::vector<double> trajectory(samples * 2);
    for (int k = 0; k < samples; k++) {
        const double r = (k % readout - readout / 2) / double{ readout } * 0.98, angle = pi * (k / readout) / spokes;
        trajectory[static_cast<std::size_t>(2 * k)] = r * std::cos(angle);
        trajectory[static_cast<std::size_t>(2 * k + 1)] = r * std::sin(angle);
    }
    iso::mri plan(context);
    iso::mri::geometry g;
    g.unit = ISOC_MRI_UNIT_CYCLES_PER_VOXEL, g.nx = side, g.ny = side, g.samples = samples;
    plan.set_geometry(g, { trajectory, { samples, 2 } });

    std::vector<complex> image(side * side), measured(samples), found(side * side), truth(side * side);
    image[(side / 2) * side + side / 2] = 2.0f;
    const auto view = [](std::vector<complex> &array) { return iso::tensor(array, { side, side }); };
    plan.forward(view(image), measured);
    expect("mri: a point in the centre is the same everywhere",
           std::all_of(measured.begin(), measured.end(), [](complex s) { return std::abs(s - complex(2)) < 1e-4f; }));
    std::vector<sample> own(samples);
    plan.forward(view(image), own);
    expect("mri: elements of one's own type", std::memcmp(own.data(), measured.data(), samples * sizeof(complex)) == 0);
    plan.adjoint(measured, view(found));
    expect_near("mri: adjoint sums the samples", double{ found[(side / 2) * side + side / 2].real() }, 2.0 * samples, 0.5);

    const auto head = iso::mri::shepp_logan(ISOC_MRI_SHEPP_LOGAN_KIND_MODIFIED, 0.45 * side);
    plan.phantom_samples(head, measured);
    plan.phantom_image(head, view(truth));
    plan.compute_weights(ISOC_MRI_DENSITY_RADIAL, readout);
    std::vector<float> weights(samples);
    plan.get_weights(weights);
    expect("mri: weights", *std::min_element(weights.begin(), weights.end()) > 0);
    plan.set_weights(weights);
    plan.gridding(measured, view(found));
    expect("mri: gridding has the image's scale", plan.compare(view(found), view(truth)).percent_error < 40);
    iso::mri::options options;
    options.iterations = 12;
    plan.set_options(options);
    plan.compute_q();
    const iso::mri::info info = plan.get_info();
    expect("mri: Q", info.has_q == 1 && info.q_nx >= 2 * side - 1);
    std::vector<float> q(static_cast<std::size_t>(info.q_nx * info.q_ny));
    plan.export_q({ q, { info.q_ny, info.q_nx } });
    plan.import_q({ q, { info.q_ny, info.q_nx } });
    expect("mri: working memory", plan.memory() > 0);
    plan.reconstruct(measured, view(found));
    const iso::mri::quality quality = plan.compare(view(found), view(truth));
    expect("mri: reconstruct finds the phantom", quality.percent_error < 25 && quality.psnr > 20,
           std::to_string(quality.percent_error));
    std::vector<complex> streamed(side * side);
    int64_t asked = 0;
    const auto read = [&](const iso::shots<complex> &part) {
        expect("mri: parts in order", part.first == asked && part.coils == 1 && part.coil(0) == part.begin());
        std::copy_n(measured.begin() + part.first, part.count, part.begin());
        asked += part.count;
        return iso::next::proceed;
    };
    expect("mri: memory of a stream", plan.stream_memory<complex>(10 * readout).host > 0);
    plan.reconstruct_stream<complex>(read, view(streamed), 10 * readout);
    expect("mri: a stream reads all", asked == samples);
    double apart = 0;
    for (std::size_t k = 0; k < found.size(); k++) apart = std::max(apart, double{ std::abs(found[k] - streamed[k]) });
    expect("mri: a stream finds the same", apart < 1e-2, std::to_string(apart));
    asked = 0;
    plan.gridding_stream<complex>(read, view(streamed));
    expect_error("mri: a reader stops a stream", ISOC_STATUS_CALLBACK, "read", [&] {
        plan.reconstruct_stream<complex>([](const iso::shots<complex> &) { return iso::next::stop; }, view(streamed));
    });
    {
        iso::mri joint(context);
        iso::mri::geometry pair = g;
        pair.coils = 2;
        joint.set_geometry(pair, { trajectory, { samples, 2 } });
        std::vector<complex> both(measured), found_maps(2 * side * side), alone(side * side);
        for (const complex &value : measured) both.push_back(value * complex(0.3f, 0.4f));
        joint.find_maps({ both, { 2, samples } }, { found_maps, { 2, side, side } }, view(alone));
        const std::size_t middle = (side / 2) * side + side / 2;
        // The second coil is half as sensitive as the first: a length of 1 is (2, 1) over the root of 5.
        expect("mri: maps of two coils", std::abs(std::abs(found_maps[middle]) - 2 / std::sqrt(5.0)) < 1e-3, std::to_string(std::abs(found_maps[middle])));
        iso::mri::maps_options few;
        few.steps = 3;
        joint.find_maps({ both, { 2, samples } }, { found_maps, { 2, side, side } }, few);
        expect("mri: memory of maps", joint.maps_memory(few) > 0);
        few.steps = -1;
        expect_error("mri: steps", ISOC_STATUS_OUT_OF_RANGE, "options.steps", [&] { joint.maps_memory(few); });
    }
    iso::mri::delay_options timing;
    timing.readout = readout;
    const iso::mri::delays late = plan.find_delays(measured, timing);
    expect("mri: a phantom has no delays", std::abs(late.xx) < 0.02 && std::abs(late.yy) < 0.02 && late.confidence > 0.99, std::to_string(late.xx));
    std::vector<double> moved(2 * samples);
    plan.delayed_trajectory(timing, late, { moved, { samples, 2 } });
    expect("mri: nor a trajectory that moves", *std::max_element(moved.begin(), moved.end()) < 0.51);
    timing.readout = samples - 1;
    expect_error("mri: a readout that is no part", ISOC_STATUS_OUT_OF_RANGE, "options.readout", [&] { plan.find_delays(measured, timing); });
    std::vector<double> residuals(40);
    const int64_t passes = plan.history(0, residuals);
    expect("mri: history falls", passes > 2 && passes <= 13 && residuals[static_cast<std::size_t>(passes - 1)] < residuals[0]);

    std::vector<complex> through(side * side);
    plan.normal(view(image), view(through));
    expect("mri: normal", std::abs(through[(side / 2) * side + side / 2]) > 0);
    const std::vector<float> ones(2 * side * side, 1.0f);
    plan.set_difference_weights({ ones, { 2, side, side } });
    plan.set_matrix({ 0, 1 }, { 5 }, std::vector<float>{ 1.0f });
    plan.set_maps(iso::const_tensor(std::vector<complex>(side * side, complex(1)), { 1, side, side }));
    plan.set_field({ ones.data(), { side, side } }, std::vector<double>(samples, 0.0));
    plan.set_field(nullptr, nullptr);
    plan.set_frames({ 0, 10 }, { samples - 10, 20 });
    expect("mri: frames", static_cast<iso::mri::info>(plan.get_info()).images == 2);
    expect_error("mri: frames of two lengths", ISOC_STATUS_OUT_OF_RANGE, "counts has 1 values; it must have 2, as first", [&] { plan.set_frames({ 0, 10 }, { 5 }); });
    plan.set_windows(samples / 2, samples / 4);
    expect("mri: windows", static_cast<iso::mri::info>(plan.get_info()).images == 3);
    plan.set_frames({}, {});
    plan.set_basis({ std::vector<float>{ 1, 2, 3, 4 }, { 2, 2 } }, std::vector<int64_t>(samples, 1));
    expect("mri: basis", static_cast<iso::mri::info>(plan.get_info()).images == 2);
    plan.set_basis(nullptr);
    plan.set_shots(std::vector<int64_t>(samples, 0), iso::const_tensor(std::vector<complex>(side * side, complex(1)), { 1, side, side }));
    expect("mri: shots", static_cast<iso::mri::info>(plan.get_info()).images == 1);
    plan.set_shots({}, nullptr);
    plan.set_positions(iso::const_tensor(std::vector<float>(side * side * 2, 0.25f), { 1, side, side, 2 }));
    plan.set_positions(nullptr);
    plan.set_stream(nullptr);
    expect_error("mri: trajectory out of its unit", ISOC_STATUS_OUT_OF_RANGE, "cycles", [&] {
        trajectory[3] = 3.0;
        plan.set_geometry(g, { trajectory, { samples, 2 } });
    });
}

void pet(const iso::context &context) {
    constexpr int side = 17, depth = 5, azimuths = 6, voxels = depth * side * side, centre = (2 * side + 8) * side + 8;
    iso::pet plan(context);
    iso::pet::geometry g;
    g.nx = side, g.ny = side, g.nz = depth, g.voxel_x = 4.0, g.azimuths = azimuths, g.max_tilt = 0.1;
    plan.set_geometry(g);
    iso::pet::response response;
    response.tof_fwhm = 40.0, response.radial_fwhm = 4.0, response.axial_fwhm = 4.0;
    plan.set_response(response);
    std::vector<double> directions(2 * azimuths);
    expect("pet: as many views as azimuths", plan.get_views(directions) == azimuths && plan.get_views({}) == azimuths);
    expect_error("pet: no room for the views", ISOC_STATUS_OUT_OF_RANGE, "capacity is 5",
                 [&] { plan.get_views({ directions.data(), directions.size() - 2 }); });
    expect_near("pet: the second view's azimuth", directions[2], pi / azimuths, 1e-12);

    std::vector<float> image(voxels), histos(azimuths * voxels), back(voxels), found(voxels);
    const iso::tensor i(image, { depth, side, side }), h(histos, { azimuths, depth, side, side });
    image[centre] = 600.0f;
    plan.forward(i, h);
    expect_near("pet: a kernel's sum is 1", std::accumulate(histos.begin(), histos.end(), 0.0), 600.0 * azimuths, 1.0);
    std::vector<float> two(2 * voxels);
    plan.forward({ 3, 0 }, i, { two, { 2, depth, side, side } });
    expect("pet: views by name", std::equal(two.begin(), two.begin() + voxels, histos.begin() + 3 * voxels) &&
                                     std::equal(two.begin() + voxels, two.end(), histos.begin()));
    expect_error("pet: an empty list is not all views", ISOC_STATUS_OUT_OF_RANGE, "view_count",
                 [&] { plan.forward(std::vector<int64_t>(), i, { two, { 2, depth, side, side } }); });
    plan.adjoint(h, { back, { depth, side, side } });
    expect_near("pet: adjoint is forward's transpose", dot(histos, histos) / dot(image, back), 1.0, 1e-5);
    plan.adjoint({ 3, 0 }, { two, { 2, depth, side, side } }, { back, { depth, side, side } });
    plan.sensitivity(nullptr, { back, { depth, side, side } });
    expect_near("pet: sensitivity is the number of views", double{ back[centre] }, azimuths, 1e-3);

    iso::pet::options options;
    options.algorithm = ISOC_PET_ALGORITHM_MLEM, options.iterations = 8;
    plan.set_options(options);
    plan.reconstruct(h, nullptr, nullptr, { found, { depth, side, side } });
    expect_near("pet: MLEM keeps the counts", std::accumulate(found.begin(), found.end(), 0.0), 600.0, 3.0);
    expect("pet: MLEM finds the point", std::max_element(found.begin(), found.end()) - found.begin() == centre);
    std::vector<iso::pet::iteration> passes(8);
    expect("pet: the likelihood grows", plan.history(passes) == 8 && passes[7].log_likelihood > passes[0].log_likelihood);
    expect("pet: passes", plan.get_info().iterations == 8 && plan.memory() > 0);

    iso::pet::prior smooth;
    smooth.strength = 0.1;
    const iso::tensor slope(back, { depth, side, side });
    expect_error("pet: no prior yet", ISOC_STATUS_NOT_CONFIGURED, "isoc_pet_set_prior comes first", [&] { plan.prior_gradient(i); });
    plan.set_prior(smooth);
    const double penalty = plan.prior_gradient(i, slope);
    expect("pet: a point costs", penalty > 0 && back[centre] > 0 && back[centre + 1] < 0 && back[0] == 0);
    expect_near("pet: a penalty without its gradient", plan.prior_gradient(i), penalty, 0);
    expect_near("pet: a uniform image costs nothing", plan.prior_gradient({ std::vector<float>(voxels, 2.0f), { depth, side, side } }, slope), 0, 0);
    expect("pet: nor has it a slope", std::count(back.begin(), back.end(), 0.0f) == voxels);
    plan.set_prior(smooth, { std::vector<float>(voxels, 2.0f), { depth, side, side } });
    expect_near("pet: weights are of both neighbours", plan.prior_gradient(i) / penalty, 4, 1e-5);
    smooth.anatomy_sigma = 300;
    plan.set_prior(smooth, nullptr, i);
    expect_near("pet: anatomy where the image has its edge", plan.prior_gradient(i) / penalty, std::exp(-2.0), 1e-5);
    expect_error("pet: anatomy_sigma without anatomy", ISOC_STATUS_OUT_OF_RANGE, "prior.anatomy_sigma is 300 without", [&] { plan.set_prior(smooth); });
    expect_error("pet: weights below 0", ISOC_STATUS_OUT_OF_RANGE, "weights[0, 0, 0] is -1",
                 [&] { plan.set_prior(smooth, { std::vector<float>(voxels, -1.0f), { depth, side, side } }, i); });
    expect_error("pet: a short anatomy", ISOC_STATUS_TENSOR_SHAPE, "anatomy holds", [&] { plan.set_prior(smooth, nullptr, { two, { 4, depth, side, side } }); });
    expect_error("pet: MLEM knows no prior", ISOC_STATUS_OUT_OF_RANGE, "options.algorithm is 2 (mlem)",
                 [&] { plan.reconstruct(h, nullptr, nullptr, { found, { depth, side, side } }); });
    std::vector<uint16_t> labels(voxels);
    labels[centre] = 1, labels[centre + 1] = 65535;
    for (const uint32_t algorithm : { ISOC_PET_ALGORITHM_BSREM, ISOC_PET_ALGORITHM_SVRG }) {
        iso::pet::options climb;
        climb.algorithm = algorithm, climb.iterations = 3, climb.stop_region_change = 1e-9;
        plan.set_options(climb);
        expect_error("pet: no regions yet", ISOC_STATUS_NOT_CONFIGURED, "isoc_pet_set_regions comes first",
                     [&] { plan.reconstruct(h, nullptr, nullptr, { found, { depth, side, side } }); });
        plan.set_regions({ labels, { depth, side, side } });
        plan.reconstruct(h, nullptr, nullptr, { found, { depth, side, side } });
        expect("pet: penalties and changes", plan.history(passes) == 3 && passes[0].penalty == 0 && passes[2].penalty > 0
                                                 && passes[2].change > 0 && passes[2].region_change > 0);
        expect("pet: the point again", std::max_element(found.begin(), found.end()) - found.begin() == centre);
        climb.stop_region_change = 1e9, climb.iterations = 6;
        plan.set_options(climb);
        plan.reconstruct(h, nullptr, nullptr, { found, { depth, side, side } });
        // The first pass is not judged, nor is SVRG's of one step.
        expect("pet: enough after a pass", plan.history({}) == (algorithm == ISOC_PET_ALGORITHM_SVRG ? 3 : 2));
        plan.set_regions(nullptr);
    }
    plan.set_prior(nullptr);
    plan.set_options(options);
    plan.reconstruct(h, nullptr, nullptr, { found, { depth, side, side } });
    expect("pet: MLEM without a prior", plan.history(passes) == 8 && passes[7].penalty == 0);
    plan.set_order({ 5, 4, 3, 2, 1, 0 });

    const std::vector<float> first = { 400, 0, 0, 0, 400, 0 }, second = { -400, 0, 0, 0, -400, 0 };
    std::vector<uint32_t> counts(azimuths * voxels);
    const iso::pet::dropped dropped = plan.deposit({ first, { 2, 3 } }, { second, { 2, 3 } }, std::vector<double>{ 0.0, 1e9 },
                                                   { counts, { azimuths, depth, side, side } });
    expect("pet: an event in the centre", dropped.events == 1 && dropped.outside_lattice == 1 && counts[centre] == 1,
           std::to_string(dropped.events) + " " + std::to_string(dropped.outside_lattice) + " " + std::to_string(counts[centre]));

    const iso::pet::body body = { ISOC_PET_SHAPE_CYLINDER, 0, 0, 0, 0, 20, 20, 8, 3.0, 0.0096 };
    plan.phantom_image({ body }, ISOC_PET_QUANTITY_ACTIVITY, i);
    expect_near("pet: activity inside", double{ image[centre] }, 3.0, 1e-6);
    expect_near("pet: no noise in a uniform phantom", iso::pet(std::move(plan)).noise(i), 0.0, 2.0);
    plan = iso::pet(context);
    plan.set_geometry(g);
    plan.set_response(response);

    iso::pet::scan setup;
    setup.bodies = { body }, setup.tof_fwhm = 40, setup.randoms = 0.1;
    constexpr int events = 2000;
    std::vector<float> p1(3 * events), p2(3 * events), times(events), factors(azimuths * voxels), additive(azimuths * voxels);
    const iso::pet::tally tally = plan.simulate(setup, nullptr, { p1, { events, 3 } }, { p2, { events, 3 } }, times);
    expect("pet: simulated events", tally.trues + tally.randoms + tally.scatter == events && tally.randoms > 0);
    plan.expect(setup, nullptr, tally, { factors, { azimuths, depth, side, side } },
                { additive, { azimuths, depth, side, side } });
    expect_near("pet: randoms expected", std::accumulate(additive.begin(), additive.end(), 0.0) > 0, 1, 0);
    plan.expect(setup, nullptr, tally, nullptr, { additive, { azimuths, depth, side, side } });
    expect("pet: contrast recovery is a number", std::isfinite(plan.contrast_recovery(i, { 0.0, 0.0, 0.0 }, 4.0)));

    iso::pet::blocks rings;
    rings.blocks = 40, rings.across = 8, rings.along = 10, rings.diameter = 800, rings.pitch_across = 7.5, rings.pitch_along = 20;
    const int64_t crystals = iso::pet::block_crystals(rings, {});
    std::vector<double> places(static_cast<std::size_t>(3 * crystals)), normals(places.size());
    iso::pet::block_crystals(rings, places, normals);
    iso::pet::scanner detectors;
    detectors.crystal_width = 7.5, detectors.crystal_height = 20, detectors.time_edges = { -100, 0, 100 };
    plan.set_scanner(detectors, { places, { crystals, 3 } }, { normals, { crystals, 3 } });
    std::vector<uint32_t> named(2 * events);
    std::vector<uint8_t> when(events);
    const iso::pet::lost lost = plan.detect({ p1, { events, 3 } }, { p2, { events, 3 } }, times, nullptr, 7, { named, { events, 2 } }, when);
    const auto gone = std::count(named.begin(), named.end(), UINT32_MAX);
    expect("pet: lost events have no crystals", gone == 2 * static_cast<int64_t>(lost.events) && lost.events < events && lost.undetected == 0);
    std::vector<float> hounsfield(voxels, -1000.0f), doubled(factors.size());
    hounsfield[centre] = 0;
    const iso::tensor water(hounsfield, { depth, side, side });
    plan.attenuation(120, water, water);
    expect_near("pet: attenuation of water", double{ hounsfield[centre] }, 0.0096, 1e-8);
    expect_near("pet: attenuation of air", double{ hounsfield[0] }, 0, 0);
    iso::pet::factor_options wanted;
    plan.factors(wanted, nullptr, water, { factors, { azimuths, depth, side, side } });
    wanted.duration = 2e3 / 64; // of voxels of 64 mm^3: two decays for a Bq/ml
    plan.factors(wanted, std::vector<float>(static_cast<std::size_t>(crystals), 1.0f), water, { doubled, { azimuths, depth, side, side } });
    expect_near("pet: factors of activity", double{ doubled[centre] } / double{ factors[centre] }, 2, 1e-5);
    // Ten rings of crystals, each measured with itself alone.
    std::vector<uint32_t> ring(static_cast<std::size_t>(crystals)), alone(100);
    for (std::size_t k = 0; k < ring.size(); k++) ring[k] = static_cast<uint32_t>(k / 320);
    for (std::size_t k = 0; k < 10; k++) alone[11 * k] = 1;
    plan.set_pairs(ring, { alone, { 10, 10 } });
    std::vector<float> within(factors.size());
    plan.factors(wanted, nullptr, water, { within, { azimuths, depth, side, side } });
    const auto all = [](const std::vector<float> &v) { return std::accumulate(v.begin(), v.end(), 0.0); };
    expect("pet: rings alone measure less", all(within) > 0 && all(within) < all(doubled));
    expect_error("pet: a ring that is none", ISOC_STATUS_OUT_OF_RANGE, "groups are of 10 modules", [&] {
        ring[7] = 10;
        plan.set_pairs(ring, { alone, { 10, 10 } });
    });
    plan.set_pairs(nullptr, nullptr);
    wanted.live = 7;
    expect_error("pet: more than all of the time", ISOC_STATUS_OUT_OF_RANGE, "options.live is 7",
                 [&] { plan.factors(wanted, nullptr, nullptr, { factors, { azimuths, depth, side, side } }); });
    wanted.live = 1, wanted.directions = 16385;
    expect_error("pet: memory of too many directions", ISOC_STATUS_OUT_OF_RANGE, "options.directions is 16385", [&] { plan.factors_memory(wanted, water); });
    wanted.directions = 0;
    expect("pet: memory of factors", plan.factors_memory(wanted, nullptr).host > 0);
    const iso::memory_bytes small = plan.factors_memory(wanted, water);
    const iso::memory_bytes large = plan.factors_memory(wanted, { static_cast<const float *>(nullptr), { 9 * depth, 9 * side, 9 * side } });
    expect("pet: memory of factors by the map's shape", large.host + large.gpu > small.host + small.gpu);

    std::vector<uint32_t> pairs, sums(static_cast<std::size_t>(crystals));
    for (uint32_t k = 0; k < crystals / 2; k++) // 40 blocks of 8, ring by ring: opposite each other
        pairs.insert(pairs.end(), { k / 160 * 320 + k % 160, k / 160 * 320 + k % 160 + 160 });
    const iso::pet::dropped delayed = plan.fan_sums(0, { pairs, { crystals / 2, 2 } }, nullptr, sums);
    expect("pet: every crystal has one", delayed.events == 0 && std::count(sums.begin(), sums.end(), 1u) == crystals, std::to_string(delayed.events));
    std::vector<float> rates(sums.size());
    plan.singles(0, 60, 0, sums, rates);
    expect("pet: every crystal has a rate", *std::min_element(rates.begin(), rates.end()) > 0);
    expect_error("pet: no time", ISOC_STATUS_OUT_OF_RANGE, "duration is 0", [&] { plan.singles(0, 0, 0, sums, rates); });
    std::vector<float> parts(sums.size());
    const std::vector<double> source(static_cast<std::size_t>(depth * side * side), 1e6);
    wanted.duration = 60;
    plan.efficiencies(0, 0, wanted, sums, { source, { depth, side, side } }, nullptr, nullptr, parts);
    expect("pet: every crystal has an efficiency", *std::min_element(parts.begin(), parts.end()) > 0);
    expect_error("pet: a window of nothing", ISOC_STATUS_OUT_OF_RANGE, "window is 100 ps",
                 [&] { plan.efficiencies(0, 100, wanted, sums, { source, { depth, side, side } }, nullptr, nullptr, parts); });
    wanted.duration = 0;
    const auto total = [](const std::vector<float> &values) { return std::accumulate(values.begin(), values.end(), 0.0); };
    const iso::tensor to(additive, { azimuths, depth, side, side });
    plan.randoms(60, 0, 4, rates, to);
    const double once = total(additive);
    plan.randoms(120, 0, 4, rates, to);
    expect_near("pet: randoms of twice the time", total(additive) / once, 2, 1e-5);
    expect("pet: memory of randoms", plan.randoms_memory(4).host > 0);
    std::fill(hounsfield.begin(), hounsfield.end(), 0.0096f);
    iso::pet::factor_options unit;
    unit.directions = 4;
    iso::pet::scatter_options around;
    around.factors = &unit;
    const iso::pet::scatter_found scattered = plan.scatter(around, i, nullptr, water, nullptr, { doubled, { azimuths, depth, side, side } }, to);
    expect_near("pet: scatter and what is added", total(additive) / (scattered.scatter + total(doubled)), 1, 1e-5);
    expect("pet: water scatters", scattered.scatter > 0 && scattered.places > 0 && scattered.scale == 1);
    expect("pet: memory of scatter", plan.scatter_memory(around, water).host > 0);
    expect_error("pet: memory of scatter in nothing", ISOC_STATUS_NULL_POINTER, "attenuation is NULL", [&] { plan.scatter_memory(around, nullptr); });
    around.spacing = 0.5;
    expect_error("pet: places too near", ISOC_STATUS_OUT_OF_RANGE, "options.spacing is 0.5 mm",
                 [&] { plan.scatter(around, i, nullptr, water, nullptr, nullptr, to); });
    setup.energy_resolution = 0.11, setup.diameter = 100, setup.axial_length = 100;
    g.max_tilt = 1.0; // most photons are measured, so that few are drawn in vain
    plan.set_geometry(g);
    const iso::pet::tally compton = plan.simulate(setup, nullptr, { p1, { events, 3 } }, { p2, { events, 3 } }, times);
    expect("pet: simulated scatter", compton.scatter > 0 && compton.trues + compton.randoms + compton.scatter == events);
    g.max_tilt = 0.1;
    plan.set_geometry(g);

    const iso::pet::table_sizes sizes = plan.get_table_sizes(0);
    std::vector<uint32_t> map(side * side);
    std::vector<int32_t> offsets(static_cast<std::size_t>(3 * sizes.offsets));
    std::vector<float> values(static_cast<std::size_t>(sizes.kernels * sizes.offsets));
    const iso::pet::tables found_tables = plan.get_tables(0, map, offsets, values);
    expect("pet: as many as the sizes say", found_tables.offset_count == sizes.offsets && found_tables.mass_count == sizes.kernels);
    expect_error("pet: no room for the map", ISOC_STATUS_OUT_OF_RANGE, "tables.map_capacity is 288",
                 [&] { plan.get_tables(0, { map.data(), map.size() - 1 }, offsets, values); });
    plan.set_tables(0, map, offsets, values);
    expect_near("pet: a table's sum", std::accumulate(values.begin(), values.end(), 0.0), static_cast<double>(sizes.kernels),
                1e-4);
    plan.set_stream(nullptr);
}

void lines(const iso::context &context) {
    constexpr int side = 17, depth = 9, azimuths = 6, voxels = depth * side * side, events = 2000;
    iso::pet plan(context);
    iso::pet::geometry g;
    g.nx = side, g.ny = side, g.nz = depth, g.voxel_x = 4.0, g.azimuths = azimuths, g.max_tilt = 0.1;
    plan.set_geometry(g);
    iso::pet::blocks rings;
    rings.blocks = 40, rings.across = 8, rings.along = 10, rings.diameter = 800, rings.pitch_across = 7.5, rings.pitch_along = 20;
    const int64_t crystals = iso::pet::block_crystals(rings, {});
    std::vector<double> places(static_cast<std::size_t>(3 * crystals)), normals(places.size());
    iso::pet::block_crystals(rings, places, normals);
    iso::pet::scanner detectors;
    detectors.crystal_width = 7.5, detectors.crystal_height = 20;
    plan.set_scanner(detectors, { places, { crystals, 3 } }, { normals, { crystals, 3 } });
    iso::pet::scan setup;
    setup.bodies = { { ISOC_PET_SHAPE_CYLINDER, 0, 0, 0, 0, 12, 12, 6, 1.0, 0.0 } }, setup.tof_fwhm = 100, setup.diameter = 800, setup.axial_length = 200;
    std::vector<float> p1(3 * events), p2(3 * events), ps(events), times(events), values(events), weights(events);
    plan.simulate(setup, nullptr, { p1, { events, 3 } }, { p2, { events, 3 } }, ps);
    std::vector<uint32_t> pairs(2 * events);
    const iso::pet::lost lost = plan.detect({ p1, { events, 3 } }, { p2, { events, 3 } }, ps, nullptr, 1, { pairs, { events, 2 } }, times);

    std::vector<float> image(voxels), back(voxels), seen(voxels);
    for (std::size_t k = 0; k < image.size(); k++) image[k] = static_cast<float>(k % 7);
    for (std::size_t k = 0; k < values.size(); k++) weights[k] = static_cast<float>(k % 5);
    const iso::tensor i(image, { depth, side, side }), b(back, { depth, side, side }), s(seen, { depth, side, side });
    iso::pet::event_list list;
    list.crystals = { pairs, { events, 2 } };
    // With and without times, of crystals and of positions.
    const auto transposed = [&](const char *what, const iso::pet::event_list &of, uint64_t unknown) {
        const iso::pet::dropped there = plan.forward_lines(of, i, values), again = plan.adjoint_lines(of, weights, b);
        expect(what, there.unknown == unknown && again.unknown == unknown && there.events == again.events,
               std::to_string(there.unknown) + " " + std::to_string(there.events) + " " + std::to_string(again.events));
        expect_near(what, dot(values, weights) / dot(image, back), 1.0, 1e-5);
    };
    transposed("lines: the adjoint is forward's transpose", list, lost.events);
    expect_error("lines: times of no response", ISOC_STATUS_NOT_CONFIGURED, "isoc_pet_set_response comes first", [&] {
        list.times = times;
        plan.forward_lines(list, i, values);
    });
    iso::pet::response response;
    response.tof_fwhm = 100, response.radial_fwhm = 4, response.axial_fwhm = 4;
    plan.set_response(response);
    transposed("lines: with times", list, lost.events);
    iso::pet::event_list of_places;
    of_places.first_positions = { p1, { events, 3 } }, of_places.second_positions = { p2, { events, 3 } }, of_places.times = ps;
    transposed("lines: of positions", of_places, 0);
    const std::vector<double> widths(events, 200.0);
    of_places.tof_fwhm = widths;
    const std::vector<float> narrow = values;
    transposed("lines: with widths of their own", of_places, 0);
    expect("lines: widths matter", values != narrow);

    iso::pet::factor_options wanted;
    std::vector<float> factors(events), water(voxels, 0.0096f);
    plan.line_factors(list, wanted, nullptr, nullptr, factors);
    const double all = std::accumulate(factors.begin(), factors.end(), 0.0);
    plan.line_factors(list, wanted, std::vector<float>(static_cast<std::size_t>(crystals), 0.5f), nullptr, values);
    expect_near("lines: efficiencies of both crystals", std::accumulate(values.begin(), values.end(), 0.0) / all, 0.25, 1e-5);
    plan.line_factors(list, wanted, nullptr, { water, { depth, side, side } }, values);
    expect("lines: water attenuates", std::accumulate(values.begin(), values.end(), 0.0) < 0.8 * all);
    wanted.directions = 8;
    plan.line_sensitivity(wanted, nullptr, nullptr, s);
    std::vector<float> histos(azimuths * voxels), sum(voxels);
    plan.factors(wanted, nullptr, nullptr, { histos, { azimuths, depth, side, side } });
    for (std::size_t k = 0; k < histos.size(); k++) sum[k % voxels] += histos[k];
    const std::vector<float> views_alone = sum;
    for (std::size_t k = side * side; k < voxels - side * side; k++) // interpolated along z
        sum[k] += (views_alone[k - side * side] + views_alone[k + side * side] - 2 * views_alone[k]) / 24;
    expect_near("lines: their sensitivity is the sum of the factors", dot(seen, sum) / dot(sum, sum), 1, 1e-5);

    std::vector<float> rates(static_cast<std::size_t>(crystals), 1e4f), randoms(events);
    plan.line_randoms(list, 60, 1000, rates, randoms);
    plan.line_randoms(list, 120, 1000, rates, values);
    expect_near("lines: randoms of twice the time", dot(values, randoms) / dot(randoms, randoms), 2, 1e-5);
    expect_error("lines: randoms of any time", ISOC_STATUS_NOT_CONFIGURED, "window is 0", [&] { plan.line_randoms(list, 60, 0, rates, values); });
    std::fill(histos.begin(), histos.end(), 1.0f);
    const iso::pet::dropped sampled = plan.sample_lines(list, { histos, { azimuths, depth, side, side } }, values);
    expect("lines: as many of the histo-images as of the list", sampled.events >= lost.events && *std::max_element(values.begin(), values.end()) > 0);

    iso::pet::options options;
    options.algorithm = ISOC_PET_ALGORITHM_MLEM, options.iterations = 4;
    plan.set_options(options);
    const iso::pet::dropped left = plan.reconstruct_lines(list, factors, nullptr, s, b);
    // MLEM's expectation is the counts, of a sensitivity that is blurred, which changes what is smooth by less than 1 % here.
    expect_near("lines: MLEM keeps the counts", dot(back, seen) / (events - static_cast<double>(left.events)), 1, 0.01);
    std::vector<iso::pet::iteration> passes(4);
    expect("lines: the likelihood grows", plan.history(passes) == 4 && passes[3].log_likelihood > passes[0].log_likelihood);
    plan.reconstruct_lines(list, factors, randoms, s, { water, { depth, side, side } });
    expect("lines: randoms leave less", std::accumulate(water.begin(), water.end(), 0.0) < std::accumulate(back.begin(), back.end(), 0.0));
    expect("lines: memory", plan.lines_memory(events) > 0 && plan.lines_memory(1000 * events) >= plan.lines_memory(events));
    expect_error("lines: none", ISOC_STATUS_OUT_OF_RANGE, "events is 0", [&] { plan.lines_memory(0); });
    options.algorithm = ISOC_PET_ALGORITHM_RAMLA;
    plan.set_options(options);
    expect_error("lines: RAMLA", ISOC_STATUS_OUT_OF_RANGE, "options.algorithm is 0 (ramla)", [&] { plan.reconstruct_lines(list, factors, nullptr, s, b); });
}

} // namespace

int main() {
    expect("the library is the header's", iso::abi_version() == ISOC_ABI_VERSION && *iso::version() && *iso::build_info());
    try {
        iso::context context;
        ct_values(context);
        moves(context);
        errors(context);
        callbacks();
        destroyed_by_callbacks();
        streams(context);
        threads();
        coils(context);
        mri(context);
        pet(context);
        lines(context);
    } catch (const iso::error &e) {
        expect("nothing else fails", false, std::string(iso::status_string(e.status())) + ": " + e.what());
    }
    return finish();
}
