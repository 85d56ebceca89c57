// The lists in structs of isocenter.hpp: what they are made from, and lengths that do not fit, which are errors and never a read past
// an end. And a region of interest. Run under AddressSanitizer, with exceptions and without.
#include "check.hpp"

#include <isocenter.hpp>

#include <algorithm>
#include <deque>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace iso = isocenter;

namespace {

constexpr int views = 60, bins = 48, rows = 2;

template <class L, class From> constexpr bool made_from = std::is_convertible_v<From, L>;
using reals = iso::list<double>;
static_assert(made_from<reals, std::vector<double>> && made_from<reals, std::vector<float> &> && made_from<reals, double>);
static_assert(made_from<reals, std::array<double, 3>> && made_from<reals, const double (&)[3]> && made_from<reals, int>);
static_assert(made_from<reals, const iso::host_array<double> &> && made_from<reals, iso::span<const double>>);
// A list that must not be mistaken for a number of its values takes no number, but a list of one.
using all_angles = decltype(iso::ct::geometry::angles);
static_assert(!made_from<all_angles, int> && !made_from<all_angles, double> && !std::is_assignable_v<all_angles &, int> && !std::is_constructible_v<all_angles, long>);
static_assert(std::is_assignable_v<all_angles &, std::initializer_list<double>> && made_from<all_angles, std::vector<double>> && made_from<all_angles, reals>);
// A pointer says nothing of a length, and nothing is made of text or of what has no array.
static_assert(!made_from<reals, const double *> && !made_from<reals, double *> && !made_from<reals, std::nullptr_t>);
static_assert(!made_from<reals, const char *> && !made_from<reals, const char (&)[4]> && !made_from<reals, std::string> && !made_from<reals, std::deque<double>> && !made_from<reals, bool>);
static_assert(!made_from<iso::list<int32_t>, std::vector<int64_t>> && !made_from<iso::list<int32_t>, double> && !made_from<iso::list<int32_t>, int64_t>);
#if __cplusplus >= 202002L
static_assert(made_from<reals, std::span<const double>> && made_from<reals, std::span<double, 4>>);
#endif
// Nothing of the caller's is left to dangle.
static_assert(std::is_copy_constructible_v<iso::ct::geometry> && std::is_nothrow_move_constructible_v<iso::ct::geometry>);
static_assert(std::is_aggregate_v<iso::ct::geometry> && std::is_aggregate_v<iso::ct::options> && std::is_aggregate_v<iso::ct::distortion>);
static_assert(std::is_aggregate_v<iso::pet::response> && std::is_aggregate_v<iso::pet::scan> && std::is_aggregate_v<iso::pet::event_list>);

// What a call said: OK, or a status and words.
struct outcome {
    isoc_status status = ISOC_STATUS_OK;
    std::string words;
};
template <class F> outcome outcome_of(F &&call) {
#if ISOCENTER_EXCEPTIONS
    try {
        call();
    } catch (const iso::error &e) {
        return { e.status(), e.what() };
    }
    return {};
#else
    const auto done = call();
    return { done.status(), done.message() };
#endif
}
template <class F> void good(const char *what, F &&call) {
    const outcome seen = outcome_of(call);
    expect(what, seen.status == ISOC_STATUS_OK, seen.words);
}
template <class F> void bad(const char *what, std::initializer_list<const char *> words, F &&call, isoc_status status = ISOC_STATUS_OUT_OF_RANGE) {
    const outcome seen = outcome_of(call);
    bool all = seen.status == status;
    for (const char *word : words) all = all && has(seen.words.c_str(), word);
    expect(what, all, std::string(iso::status_string(seen.status)) + ": " + seen.words);
}

#if ISOCENTER_EXCEPTIONS
template <class T> T value(T made) { return made; }
#else
template <class T> T value(iso::result<T> made) { return std::move(*made); }
#endif

// Memory of its own for each, so that AddressSanitizer sees a read past the end.
std::vector<double> turn(int number) {
    std::vector<double> angles(static_cast<std::size_t>(number));
    for (int k = 0; k < number; k++) angles[static_cast<std::size_t>(k)] = 3.14159265358979 * k / views;
    return angles;
}

void made() {
    const double plain[] = { 1, 2, 3 };
    const std::array<float, 3> single = { 1, 2, 3 };
    const std::vector<int> whole = { 1, 2, 3 };
    reals all[] = { plain, single, whole, { 1, 2, 3 }, { plain, 3 }, iso::span<const double>(plain), std::vector<double>{ 1, 2, 3 } };
    for (const reals &one : all)
        expect("list: three values", one.size() == 3 && one[0] == 1 && one[1] == 2 && one[2] == 3 && one.pointer() == one.data());
    all[0] = 4.5;
    expect("list: one value", all[0].size() == 1 && all[0][0] == 4.5);
    all[0] = {};
    expect("list: of NULL", reals(nullptr, 7).empty());
    expect("list: none", all[0].empty() && all[0].pointer() == nullptr && all[0].count() == 0);
    std::vector<double> moved(1000, 1.0);
    const double *where = moved.data();
    all[0] = std::move(moved);
    expect("list: a vector that is moved is not copied", all[0].data() == where);
    all[1] = all[0];
    expect("list: copies are of their own", all[1].data() != where && std::equal(all[1].begin(), all[1].end(), all[0].begin()));
}

void ct(iso::ct &plan) {
    iso::ct::geometry g;
    g.bins = bins, g.rows = rows;
    const auto set = [&] { return plan.set_geometry(g); };
    bad("angles: none", { "geometry.angles is empty", "for each view" }, set);
    g.views = views;
    bad("angles: none, with views", { "geometry.angles is empty" }, set);
    g.angles = turn(views - 1);
    bad("angles: too few", { "geometry.angles has 59 values", "views (60)" }, set);
    g.angles = turn(views + 1);
    bad("angles: too many", { "geometry.angles has 61 values", "views (60)" }, set);
    g.angles = turn(views);
    good("angles: as many as views", set);
    g.views = 0;
    good("views: as many as angles", set);
    g.views = -1;
    bad("views: below 0", { "views (-1)" }, set);
    g.views = 0;
    {
        // What a list was made from may go.
        const std::vector<float> single(views, 0.5f);
        g.angles = single;
        g.axis = { 20.0, 21.0 };
    }
    bad("axis: two for many views", { "geometry.axis has 2 values", "1, or one for each view (60)" }, set);
    g.angles = turn(views), g.axis = std::vector<double>(views - 1, 20.0);
    bad("axis: too few", { "geometry.axis has 59 values" }, set);
    g.axis = std::vector<double>(views + 1, 20.0);
    bad("axis: too many", { "geometry.axis has 61 values" }, set);
    g.axis = std::vector<double>(views, 20.0);
    good("axis: one for each view", set);
    g.axis = 20.5;
    good("axis: one", set);
    g.axis = {};
    good("axis: the middle", set);
    g.angles = std::vector<double>(std::size_t{ 1 << 20 } + 1, 0.0);
    bad("angles: more than there can be", { "views is 1048577", "1 to 1048576" }, set);

    iso::ct::options options;
    const auto choose = [&] { return plan.set_options(options); };
    options.filter = ISOC_CT_FILTER_CUSTOM;
    bad("response: none", { "options.response has 0 values", "2 or more" }, choose);
    options.response = 0.5f;
    bad("response: one", { "options.response has 1 values" }, choose);
    options.response = { 0.0f, 0.5f };
    good("response: two", choose);
    options.response = turn(7);
    good("response: any number", choose);
    good("options: the defaults", [&] { return plan.set_options(); });

    iso::ct::distortion lens;
    const auto undistort = [&] { return plan.set_distortion(lens); };
    good("distortion: none", undistort);
    lens.perspective = { 1, 0, 0, 0, 1, 0, 0 };
    bad("perspective: seven", { "distortion.perspective has 7 values", "8, or none" }, undistort);
    lens.perspective = turn(9);
    bad("perspective: nine", { "distortion.perspective has 9 values" }, undistort);
    lens.perspective = { 1, 0, 0, 0, 1, 0, 0, 0 };
    good("perspective: eight", undistort);
    lens.radial = turn(11);
    bad("radial: eleven", { "distortion.radial_count is 11", "0 to 10" }, undistort);
    lens.radial = { 1.0, 1e-6 };
    good("radial: two", undistort);
    lens.radial = std::vector<double>{ 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    good("radial: ten", undistort);
    lens.x_shifts = std::vector<double>(views, 0.5), lens.y_shifts = std::vector<double>(views - 1, 0.5);
    bad("shifts: rows of too few views", { "distortion.x_shifts has 60 values", "distortion.y_shifts 59" }, undistort);
    lens.y_shifts = 0.5;
    bad("shifts: one for all rows", { "distortion.x_shifts has 60 values", "distortion.y_shifts 1" }, undistort);
    lens.y_shifts = std::vector<double>(views, 0.5);
    good("shifts: both", undistort);
    lens.x_shifts = {};
    good("shifts: rows alone", undistort);
    lens.y_shifts = {}, lens.x_shifts = std::vector<double>(views + 1, 0.5);
    bad("shifts: of too many views", { "distortion.shift_count is 61", "the number of views, 60" }, undistort);
    good("distortion: off", [&] { return plan.set_distortion(nullptr); });
#if __cplusplus >= 202002L
    const std::vector<double> angles = turn(views);
    good("designators", [&] { return plan.set_geometry({ .bins = bins, .angles = angles, .axis = 23.0 }); });
    good("designators of a std::span",
         [&] { return plan.set_geometry({ .bins = bins, .angles = std::span(angles).first(30) }); });
    good("designators of options", [&] { return plan.set_options({ .filter = ISOC_CT_FILTER_HANN, .cutoff = 0.8 }); });
    good("designators of a distortion", [&] { return plan.set_distortion({ .radial = { 1.0, 1e-6 }, .x_centre = 20, .y_centre = 1 }); });
#endif
}

void pet(iso::pet &plan) {
    constexpr int side = 17, depth = 3;
    iso::pet::geometry lattice;
    lattice.nx = lattice.ny = side, lattice.nz = depth, lattice.voxel_x = 4, lattice.azimuths = 4, lattice.max_tilt = 0.1;
    good("pet: lattice", [&] { return plan.set_geometry(lattice); });
    iso::pet::response response;
    response.tof_fwhm = 40, response.radial_fwhm = response.axial_fwhm = 4;
    const auto set = [&] { return plan.set_response(response); };
    good("pet: no table", set);
    std::vector<float> ends(60), when(10), values(10), volume(depth * side * side, 1.0f);
    for (std::size_t k = 0; k < 10; k++) ends[3 * k] = -90, ends[3 * k + 30] = 90;
    iso::pet::event_list events;
    const auto along_lines = [&] { return plan.forward_lines(events, { volume, { depth, side, side } }, values); };
    bad("pet: a list of nothing", { "list.crystals is NULL" }, along_lines, ISOC_STATUS_NULL_POINTER);
    events.first_positions = { ends, { 21, 3 } }, events.second_positions = { ends.data() + 30, { 10, 3 } };
    bad("pet: positions that are not all there", { "list.first_positions holds 60 elements", "needs 63" }, along_lines, ISOC_STATUS_TENSOR_SHAPE);
    events.first_positions = { ends, { 10, 3 } };
    good("pet: lines", along_lines);
    expect("pet: through a row of 68 mm", values[9] > 67.9f && values[9] < 68.1f);
    events.times = { when, { 10, 2 } };
    bad("pet: times that are not all there", { "list.times holds 10 elements" }, along_lines, ISOC_STATUS_TENSOR_SHAPE);
    events.times = { when, { 9 } };
    bad("pet: a time too few", { "list.times" }, along_lines, ISOC_STATUS_TENSOR_SHAPE);
    events.times = when;
    good("pet: lines with times", along_lines);

    response.radial_table = { 0, 4, 20 };
    bad("pet: half a pair", { "response.radial_table has 3 values", "pairs of distance and width" }, set);
    response.radial_table = { 0, 4, 30, 5 };
    good("pet: two pairs", set);

    iso::pet::scan scan;
    std::vector<float> first(30), second(30), times(10);
    const auto simulate = [&] { return plan.simulate(scan, nullptr, { first, { 10, 3 } }, { second, { 10, 3 } }, times); };
    expect("pet: no bodies", outcome_of(simulate).status != ISOC_STATUS_OK);
    scan.bodies = { { ISOC_PET_SHAPE_CYLINDER, 0, 0, 0, 0, 20, 20, 4, 3.0, 0.0096 } };
    scan.tof_fwhm = 40, scan.radial_fwhm = scan.axial_fwhm = 4;
    good("pet: a body", simulate);
    scan.radial_table = { 0 };
    bad("pet: half a pair of a scan", { "scan.radial_table has 1 values" }, simulate);

    const std::vector<float> image(depth * side * side, 1.0f);
    bad("pet: a sphere of two coordinates", { "centres has 5 values", "3 for each sphere" },
        [&] { return plan.contrast_recovery({ image, { depth, side, side } }, { 0, 0, 0, 1, 1 }, 4); });
    const std::vector<uint32_t> map(side * side);
    bad("pet: an offset of two coordinates", { "offsets has 4 values", "3 for each offset" },
        [&] { return plan.set_tables(0, map, { 0, 0, 0, 1 }, { 1.0f }); });
    bad("pet: half a kernel", { "value_count is 3", "multiple of offset_count, 2" },
        [&] { return plan.set_tables(0, map, { 0, 0, 0, 1, 0, 0 }, { 1.0f, 1.0f, 1.0f }); });
    good("pet: tables", [&] { return plan.set_tables(0, map, { 0, 0, 0, 1, 0, 0 }, { 1.0f, 1.0f }); });
}

void contexts() {
    iso::context::options options;
    options.device = ISOC_CONTEXT_DEVICE_CPU, options.gpus = { 0 };
    bad("context: GPUs of the processor", { "gpus" }, [&] { return iso::context::create(options); });
    options.device = ISOC_CONTEXT_DEVICE_GPU, options.gpus = std::vector<int32_t>(2000, 0);
    bad("context: more GPUs than there can be", { "gpu_count is 2000", "1 to 1024" }, [&] { return iso::context::create(options); });
}

// The pixels of a region are those of the full slice, to the rounding that tests/c/region.c derives.
void region(iso::ct &plan) {
    iso::ct::geometry g;
    g.angles = turn(views), g.bins = bins, g.rows = rows, g.axis = 20.75, g.bin_pitch = 0.5, g.pixel_size = 0.4, g.nx = 51, g.ny = 60;
    std::vector<float> projections(std::size_t{ views * rows * bins }), full(std::size_t{ rows * 60 * 51 });
    for (std::size_t k = 0; k < projections.size(); k++) projections[k] = static_cast<float>((k * 7919) % 1009) / 1009;
    good("region: full geometry", [&] { return plan.set_geometry(g); });
    good("region: full volume", [&] { return plan.reconstruct({ projections, { views, rows, bins } }, { full, { rows, 60, 51 } }); });
    good("region", [&] { return g.region(10, 45, 5, 40); });
    good("region: of a region", [&] { return g.region(3, 23, 1, 31); });
    expect("region: sizes", g.nx == 20 && g.ny == 30);
    std::vector<float> part(std::size_t{ rows * 30 * 20 });
    good("region: geometry", [&] { return plan.set_geometry(g); });
    good("region: volume", [&] { return plan.reconstruct({ projections, { views, rows, bins } }, { part, { rows, 30, 20 } }); });
    double most = 0, off = 0;
    for (std::size_t z = 0; z < rows; z++)
        for (std::size_t i = 0; i < 30; i++)
            for (std::size_t j = 0; j < 20; j++) {
                const double wanted = double{ full[(z * 60 + i + 6) * 51 + j + 13] };
                most = std::max(most, std::fabs(wanted));
                off = std::max(off, std::fabs(double{ part[(z * 30 + i) * 20 + j] } - wanted));
            }
    expect("region: the full slice's pixels", off <= 1e-5 * most, std::to_string(off / most));
    const iso::ct::geometry before = g;
    bad("region: too wide", { "column_end is 21", "0 to 20" }, [&] { return g.region(0, 21, 0, 30); });
    bad("region: no rows", { "row_begin is 4 and row_end 4" }, [&] { return g.region(0, 20, 4, 4); });
    expect("region: a wrong one changes nothing", g.nx == before.nx && g.ny == before.ny && g.x_offset == before.x_offset
                                                      && g.y_offset == before.y_offset);
    iso::ct::geometry none;
    bad("region: of nothing", { "bins is 0" }, [&] { return none.region(0, 1, 0, 1); });
}

} // namespace

int main() {
    iso::context::options options;
    options.device = ISOC_CONTEXT_DEVICE_CPU, options.threads = 2;
    const iso::context context = value(iso::context::create(options));
    iso::ct ct_plan = value(iso::ct::create(context));
    iso::pet pet_plan = value(iso::pet::create(context));
    made();
    ct(ct_plan);
    region(ct_plan);
    pet(pet_plan);
    contexts();
    return finish();
}
