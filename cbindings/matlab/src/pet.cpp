#include "gateway.hpp"

#include <algorithm>
#include <memory>

static const char *const profiles[] = { "symmetric", "asymmetric", nullptr };
static const char *const cuts[] = { "box", "ellipsoid", nullptr };
static const char *const projectors[] = { "auto", "gather", "fourier", nullptr };
static const char *const algorithms[] = { "ramla", "osem", "mlem", "bsrem", "svrg", nullptr };
static const char *const orders[] = { "geometric", "random", "given", nullptr };
static const char *const potentials[] = { "relative_difference", "quadratic", nullptr };
static const char *const shapes[] = { "cylinder", "ellipsoid", "box", nullptr };
static const char *const quantities[] = { "activity", "attenuation", nullptr };

struct pet_geometry {
    isoc_pet_geometry g;
    const mxArray *size, *voxel, *list;
};
#define AT(member) offsetof(pet_geometry, member)
static const record geometry_record{ "geometry", sizeof(pet_geometry), {
    { "Size", field::any, AT(size) },
    { "Voxel", field::any, AT(voxel) },
    { "Azimuths", field::count, AT(g.azimuths) },
    { "Tilts", field::count32, AT(g.tilts), 0, nullptr, nullptr, true },
    { "MaxTilt", field::real, AT(g.max_tilt) },
    { "Views", field::any, AT(list) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_response, member)
static const record response_record{ "response", sizeof(isoc_pet_response), {
    { "TofFwhm", field::real, AT(tof_fwhm) },
    { "RadialFwhm", field::real, AT(radial_fwhm) },
    { "AxialFwhm", field::real, AT(axial_fwhm) },
    { "RadialTable", field::pairs, AT(radial_table), AT(radial_table_count) },
    { "Step", field::real, AT(step), 0, nullptr, nullptr, true },
    { "Cut", field::word, AT(cut), 0, cuts },
    { "CutWidth", field::real, AT(cut_width), 0, nullptr, nullptr, true },
    { "Profile", field::word, AT(profile), 0, profiles },
    { "Ratio", field::real, AT(ratio) },
    { "Shift", field::real, AT(shift) },
    { "Share", field::real, AT(share) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_options, member)
static const record options_record{ "options", sizeof(isoc_pet_options), {
    { "Algorithm", field::word, AT(algorithm), 0, algorithms },
    { "Iterations", field::count, AT(iterations), 0, nullptr, nullptr, true },
    { "FirstIteration", field::count, AT(first_iteration) },
    { "Subsets", field::count32, AT(subsets), 0, nullptr, nullptr, true },
    { "Order", field::word, AT(order), 0, orders },
    { "Seed", field::count64, AT(seed) },
    { "Relaxation", field::real, AT(relaxation), 0, nullptr, nullptr, true },
    { "RelaxationDecay", field::real, AT(relaxation_decay) },
    { "Projector", field::word, AT(projector), 0, projectors },
    { "Tolerance", field::real, AT(tolerance), 0, nullptr, nullptr, true },
    { "StopChange", field::real, AT(stop_change) },
    { "StopRegionChange", field::real, AT(stop_region_change) },
} };
#undef AT

struct pet_prior {
    isoc_pet_prior p;
    const mxArray *strength, *weights, *anatomy;
};
#define AT(member) offsetof(pet_prior, member)
static const record prior_record{ "prior", sizeof(pet_prior), {
    { "Potential", field::word, AT(p.potential), 0, potentials },
    { "Strength", field::any, AT(strength) },
    { "Gamma", field::real, AT(p.gamma), 0, nullptr, nullptr, true },
    { "Epsilon", field::real, AT(p.epsilon) },
    { "Edge", field::real, AT(p.edge) },
    { "Weights", field::any, AT(weights) },
    { "Anatomy", field::any, AT(anatomy) },
    { "AnatomySigma", field::real, AT(p.anatomy_sigma) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_info, member)
static const record info_record{ "info", sizeof(isoc_pet_info), {
    { "Views", field::count, AT(views) },
    { "ReplacedValues", field::count, AT(replaced_values) },
    { "Iterations", field::count, AT(iterations) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_iteration, member)
static const record iteration_record{ "history", sizeof(isoc_pet_iteration), {
    { "LogLikelihood", field::real, AT(log_likelihood) },
    { "Penalty", field::real, AT(penalty) },
    { "Change", field::real, AT(change) },
    { "RegionChange", field::real, AT(region_change) },
    { "SkippedVoxels", field::count64, AT(skipped_voxels) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_dropped, member)
static const record dropped_record{ "dropped", sizeof(isoc_pet_dropped), {
    { "Events", field::count64, AT(events) },
    { "NotFinite", field::count64, AT(not_finite) },
    { "EqualPositions", field::count64, AT(equal_positions) },
    { "OutsideTilts", field::count64, AT(outside_tilts) },
    { "OutsideLattice", field::count64, AT(outside_lattice) },
    { "Overflow", field::count64, AT(overflow) },
    { "Unknown", field::count64, AT(unknown) },
    { "NotMeasured", field::count64, AT(not_measured) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_blocks, member)
static const record blocks_record{ "blocks", sizeof(isoc_pet_blocks), {
    { "Blocks", field::count, AT(blocks), 0, nullptr, nullptr, true },
    { "BlockRings", field::count, AT(block_rings), 0, nullptr, nullptr, true },
    { "Across", field::count, AT(across), 0, nullptr, nullptr, true },
    { "Along", field::count, AT(along), 0, nullptr, nullptr, true },
    { "Diameter", field::real, AT(diameter) },
    { "PitchAcross", field::real, AT(pitch_across) },
    { "PitchAlong", field::real, AT(pitch_along), 0, nullptr, nullptr, true },
    { "BlockPitch", field::real, AT(block_pitch), 0, nullptr, nullptr, true },
    { "FirstAzimuth", field::real, AT(first_azimuth) },
} };
#undef AT

struct pet_scanner {
    isoc_pet_scanner s;
    int64_t edges;
    const mxArray *sizes;
};
#define AT(member) offsetof(pet_scanner, member)
static const record scanner_record{ "scanner", sizeof(pet_scanner), {
    { "CrystalWidth", field::real, AT(s.crystal_width) },
    { "CrystalHeight", field::real, AT(s.crystal_height) },
    { "CrystalSizes", field::any, AT(sizes) },
    { "TimeEdges", field::reals, AT(s.time_edges), AT(edges) },
} };
#undef AT

struct pet_factors {
    isoc_pet_factor_options o;
    const mxArray *voxel, *centre;
};
#define AT(member) offsetof(pet_factors, member)
static const record factors_record{ "options", sizeof(pet_factors), {
    { "Directions", field::count32, AT(o.directions), 0, nullptr, nullptr, true },
    { "Duration", field::real, AT(o.duration) },
    { "Branching", field::real, AT(o.branching), 0, nullptr, nullptr, true },
    { "HalfLife", field::real, AT(o.half_life) },
    { "Delay", field::real, AT(o.delay) },
    { "Live", field::real, AT(o.live), 0, nullptr, nullptr, true },
    { "MapVoxel", field::any, AT(voxel) },
    { "MapCentre", field::any, AT(centre) },
} };
#undef AT

struct pet_fans {
    double field_of_view;
};
static const record fans_record{ "options", sizeof(pet_fans), {
    { "FieldOfView", field::real, offsetof(pet_fans, field_of_view), 0, nullptr, nullptr, true },
} };

// Of singles, and of randoms.
struct pet_accidentals {
    double field_of_view, duration, window;
    uint32_t directions;
};
#define AT(member) offsetof(pet_accidentals, member)
static const record singles_record{ "options", sizeof(pet_accidentals), {
    { "Duration", field::real, AT(duration) },
    { "Window", field::real, AT(window), 0, nullptr, nullptr, true },
    { "FieldOfView", field::real, AT(field_of_view), 0, nullptr, nullptr, true },
} };
static const record randoms_record{ "options", sizeof(pet_accidentals), {
    { "Duration", field::real, AT(duration) },
    { "Window", field::real, AT(window), 0, nullptr, nullptr, true },
    { "Directions", field::count32, AT(directions), 0, nullptr, nullptr, true },
} };
static const record randoms_memory_record{ "options", sizeof(pet_accidentals), {
    { "Directions", field::count32, AT(directions), 0, nullptr, nullptr, true },
} };
#undef AT

static const record line_randoms_record{ "options", sizeof(pet_accidentals), {
    { "Duration", field::real, offsetof(pet_accidentals, duration) },
    { "Window", field::real, offsetof(pet_accidentals, window), 0, nullptr, nullptr, true },
} };

struct pet_list {
    int64_t first_event;
    const mxArray *crystals, *times, *first_positions, *second_positions, *tof_fwhm;
};
#define AT(member) offsetof(pet_list, member)
static const record list_record{ "list", sizeof(pet_list), {
    { "Crystals", field::any, AT(crystals) },
    { "Times", field::any, AT(times) },
    { "FirstPositions", field::any, AT(first_positions) },
    { "SecondPositions", field::any, AT(second_positions) },
    { "TofFwhm", field::any, AT(tof_fwhm) },
    { "FirstEvent", field::first, AT(first_event) },
} };
#undef AT

// The settings of one record behind those of another, within which it is.
static record with(record r, const record &within, size_t at) {
    for (setting s : within.settings) {
        s.at += at;
        r.settings.push_back(s);
    }
    return r;
}

struct pet_estimate {
    isoc_pet_scatter_options o;
    pet_factors factors;
};
#define AT(member) offsetof(pet_estimate, member)
static const record estimate_record = with({ "options", sizeof(pet_estimate), {
    { "EnergyResolution", field::real, AT(o.energy_resolution), 0, nullptr, nullptr, true },
    { "EnergyLower", field::real, AT(o.energy_lower), 0, nullptr, nullptr, true },
    { "EnergyUpper", field::real, AT(o.energy_upper), 0, nullptr, nullptr, true },
    { "TofFwhm", field::real, AT(o.tof_fwhm), 0, nullptr, nullptr, true },
    { "Spacing", field::real, AT(o.spacing), 0, nullptr, nullptr, true },
} }, factors_record, AT(factors));
#undef AT

// Of a scan of a known source, without views, and so without directions.
struct pet_normalisation {
    pet_factors of;
    double field_of_view, window;
    const mxArray *singles;
};
#define AT(member) offsetof(pet_normalisation, member)
static const record normalisation_record{ "options", sizeof(pet_normalisation), {
    { "Singles", field::any, AT(singles) },
    { "Window", field::real, AT(window), 0, nullptr, nullptr, true },
    { "FieldOfView", field::real, AT(field_of_view), 0, nullptr, nullptr, true },
    { "Duration", field::real, AT(of.o.duration) },
    { "Branching", field::real, AT(of.o.branching), 0, nullptr, nullptr, true },
    { "HalfLife", field::real, AT(of.o.half_life) },
    { "Delay", field::real, AT(of.o.delay) },
    { "Live", field::real, AT(of.o.live), 0, nullptr, nullptr, true },
    { "MapVoxel", field::any, AT(of.voxel) },
    { "MapCentre", field::any, AT(of.centre) },
} };
#undef AT

struct pet_scatter {
    pet_estimate how;
    const mxArray *efficiencies, *measured, *randoms;
};
#define AT(member) offsetof(pet_scatter, member)
static const record scatter_record = with({ "options", sizeof(pet_scatter), {
    { "Efficiencies", field::any, AT(efficiencies) },
    { "Measured", field::any, AT(measured) },
    { "Randoms", field::any, AT(randoms) },
} }, estimate_record, AT(how));
#undef AT

#define AT(member) offsetof(isoc_pet_scatter_found, member)
static const record found_record{ "found", sizeof(isoc_pet_scatter_found), {
    { "Scatter", field::real, AT(scatter) },
    { "Scale", field::real, AT(scale) },
    { "Tails", field::real, AT(tails) },
    { "TailsScatter", field::real, AT(tails_scatter) },
    { "Places", field::count64, AT(places) },
    { "ScaleError", field::real, AT(scale_error) },
} };
#undef AT

struct pet_detection {
    uint64_t seed;
    uint32_t bins;
};
#define AT(member) offsetof(pet_detection, member)
static const record detection_record{ "options", sizeof(pet_detection), {
    { "Seed", field::count64, AT(seed) },
    { "Bins", field::logical, AT(bins) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_lost, member)
static const record lost_record{ "lost", sizeof(isoc_pet_lost), {
    { "Events", field::count64, AT(events) },
    { "Missed", field::count64, AT(missed) },
    { "Undetected", field::count64, AT(undetected) },
    { "OutsideWindow", field::count64, AT(outside_window) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_body, member)
static const record body_record{ "bodies", sizeof(isoc_pet_body), {
    { "Shape", field::word, AT(shape), 0, shapes },
    { "X", field::real, AT(x) },
    { "Y", field::real, AT(y) },
    { "Z", field::real, AT(z) },
    { "HalfX", field::real, AT(half_x) },
    { "HalfY", field::real, AT(half_y) },
    { "HalfZ", field::real, AT(half_z) },
    { "Activity", field::real, AT(activity) },
    { "Attenuation", field::real, AT(attenuation) },
} };
#undef AT

struct pet_scan {
    isoc_pet_scan s;
    const mxArray *attenuation, *voxel, *centre;
};
#define AT(member) offsetof(pet_scan, member)
static const record scan_record{ "scan", sizeof(pet_scan), {
    { "Bodies", field::records, AT(s.bodies), AT(s.body_count), nullptr, &body_record },
    { "Diameter", field::real, AT(s.diameter), 0, nullptr, nullptr, true },
    { "AxialLength", field::real, AT(s.axial_length), 0, nullptr, nullptr, true },
    { "TofFwhm", field::real, AT(s.tof_fwhm) },
    { "RadialFwhm", field::real, AT(s.radial_fwhm) },
    { "AxialFwhm", field::real, AT(s.axial_fwhm) },
    { "RadialTable", field::pairs, AT(s.radial_table), AT(s.radial_table_count) },
    { "Randoms", field::real, AT(s.randoms) },
    { "RandomWindow", field::real, AT(s.random_window), 0, nullptr, nullptr, true },
    { "Scatter", field::real, AT(s.scatter) },
    { "ScatterSigma", field::real, AT(s.scatter_sigma), 0, nullptr, nullptr, true },
    { "Seed", field::count64, AT(s.seed) },
    { "EnergyResolution", field::real, AT(s.energy_resolution) },
    { "EnergyLower", field::real, AT(s.energy_lower), 0, nullptr, nullptr, true },
    { "EnergyUpper", field::real, AT(s.energy_upper), 0, nullptr, nullptr, true },
    { "Attenuation", field::any, AT(attenuation) },
    { "MapVoxel", field::any, AT(voxel) },
    { "MapCentre", field::any, AT(centre) },
} };
#undef AT

#define AT(member) offsetof(isoc_pet_tally, member)
static const record tally_record{ "tally", sizeof(isoc_pet_tally), {
    { "Trues", field::count64, AT(trues) },
    { "Scatter", field::count64, AT(scatter) },
    { "Randoms", field::count64, AT(randoms) },
    { "Decays", field::count64, AT(decays) },
    { "ScatterDraws", field::count64, AT(scatter_draws) },
    { "RandomDraws", field::count64, AT(random_draws) },
} };
#undef AT

static const unsigned real = is_single | is_double, counts = is_single | is_uint32;

static shape image(const call &c) {
    const pet_sizes &s = c.plan->pet_size;
    return { { s.nx, s.ny, s.nz }, "nx x ny x nz" };
}

static shape histo_images(const call &c, int64_t views) {
    const pet_sizes &s = c.plan->pet_size;
    return { { s.nx, s.ny, s.nz, views }, "nx x ny x nz x views" };
}

static shape histo_images(const call &c) { return histo_images(c, c.plan->pet_size.views); }

static void create(call &c) {
    isoc_pet *made = nullptr;
    check(isoc_pet_create(c.plan->context(), &made));
    plan *p = plan_keep(kind::pet, made, reporter_share(c.plan->reporter), c.plan->device);
    p->pet_size.options = sized<isoc_pet_options>();
    c.result(0, plan_number(p));
}

static void destroy(call &c) { plan_destroy(c.plan); }

static void describe(call &c) { describe_as(c, sized("histo_images", histo_images(c)) + ", " + sized("image", image(c))); }

static void set_geometry(call &c) {
    pet_geometry s{};
    s.g = sized<isoc_pet_geometry>();
    settings_read(geometry_record, c, 0, "invalidGeometry", &s);
    if (!s.size) fail("invalidGeometry", "Size is missing: [nx ny nz], in voxels");
    if (!s.voxel) fail("invalidGeometry", "Voxel is missing: its size in mm, one number or [x y z]");
    if (!s.list && !s.g.azimuths) fail("invalidGeometry", "Azimuths is missing, or 0: of a grid of views, in place of a list in Views");
    if (s.g.max_tilt == 0) fail("invalidGeometry", "MaxTilt is missing, or 0: the largest tilt of an event, in radians");
    const std::vector<int64_t> size = with_kind("invalidGeometry", [&] { return integers_of(s.size, "Size"); });
    const std::vector<double> voxel = with_kind("invalidGeometry", [&] { return reals_of(s.voxel, "Voxel"); });
    if (size.size() != 3) fail("invalidGeometry", "Size must be three numbers, [nx ny nz]");
    if (voxel.size() != 1 && voxel.size() != 3) fail("invalidGeometry", "Voxel must be one number or three, in mm");
    for (double side : voxel)
        if (side == 0) fail("invalidGeometry", "Voxel must not be 0");
    s.g.nx = size[0], s.g.ny = size[1], s.g.nz = size[2];
    s.g.voxel_x = voxel.front(), s.g.voxel_y = voxel[voxel.size() / 2], s.g.voxel_z = voxel.back();
    if (s.list && (s.g.azimuths || s.g.tilts)) fail("invalidGeometry", "Views is a list of its own: Azimuths and Tilts have no place beside it");
    if (s.list) {
        if (mxGetM(s.list) != 2 || mxGetNumberOfDimensions(s.list) != 2)
            fail("arrayShape", "Views is %s; it must be 2 x views, of azimuth and tilt%s", times(size_of(s.list)).c_str(),
                 transposing(s.list, 2, "Views").c_str());
        const array list(s.list, "Views", real, { { 2, static_cast<int64_t>(mxGetN(s.list)) }, "2 x views" });
        check(isoc_pet_set_geometry(c.plan->pet(), &s.g, list.tensor()), "invalidGeometry");
    } else {
        check(isoc_pet_set_geometry(c.plan->pet(), &s.g, nullptr), "invalidGeometry");
    }
    auto info = sized<isoc_pet_info>();
    check(isoc_pet_get_info(c.plan->pet(), &info));
    pet_sizes &z = c.plan->pet_size;
    z.nx = s.g.nx, z.ny = s.g.ny, z.nz = s.g.nz, z.views = info.views;
    c.plan->configured = true;
}

static void get_views(call &c) {
    c.takes({});
    const int64_t views = c.plan->pet_size.views;
    mxArray *out = mxCreateDoubleMatrix(2, static_cast<mwSize>(views), mxREAL);
    check(isoc_pet_get_views(c.plan->pet(), static_cast<double *>(mxGetData(out)), views, nullptr));
    c.result(0, out);
}

static void set_response(call &c) {
    auto response = sized<isoc_pet_response>();
    settings_read(response_record, c, 0, "invalidResponse", &response);
    check(isoc_pet_set_response(c.plan->pet(), &response), "invalidResponse");
}

static void set_options(call &c) {
    auto options = sized<isoc_pet_options>();
    settings_read(options_record, c, 0, "invalidOptions", &options);
    check(isoc_pet_set_options(c.plan->pet(), &options), "invalidOptions");
    c.plan->pet_size.options = options;
}

// Numbers of views, from 1, as the library's from 0.
static std::vector<int64_t> views_of(const call &c, const mxArray *value) {
    if (mxIsLogical(value)) fail("invalidArgument", "views are numbers, not logical: write find(...)");
    std::vector<int64_t> views = integers_of(value, "views");
    for (int64_t &v : views) {
        if (v < 1 || v > c.plan->pet_size.views)
            fail("invalidArgument", "view %lld is not there; they are 1 to %lld", static_cast<long long>(v), static_cast<long long>(c.plan->pet_size.views));
        v--;
    }
    return views;
}

static void set_order(call &c) {
    c.takes({ "order" });
    const std::vector<int64_t> order = views_of(c, c.argument(0, "order"));
    // The library would say a number that counts from 0.
    std::vector<bool> there(static_cast<size_t>(c.plan->pet_size.views));
    for (size_t k = 0; k < order.size(); k++) {
        if (there[static_cast<size_t>(order[k])])
            fail("invalidArgument", "order(%zu) is %lld, which is there already", k + 1, static_cast<long long>(order[k] + 1));
        there[static_cast<size_t>(order[k])] = true;
    }
    check(isoc_pet_set_order(c.plan->pet(), order.data(), static_cast<int64_t>(order.size())));
}

static int64_t one_view(const call &c) {
    const std::vector<int64_t> views = views_of(c, c.argument(0, "view"));
    if (views.size() != 1) fail("invalidArgument", "view must be one number, not %zu", views.size());
    return views[0];
}

static void tables(call &c) {
    c.takes({ "view" });
    const pet_sizes &s = c.plan->pet_size;
    const int64_t view = one_view(c);
    auto sizes = sized<isoc_pet_table_sizes>();
    check(isoc_pet_get_table_sizes(c.plan->pet(), view, &sizes));
    const auto kernels = static_cast<mwSize>(sizes.kernels), offsets = static_cast<mwSize>(sizes.offsets);
    mxArray *map = mxCreateNumericMatrix(static_cast<mwSize>(s.nx), static_cast<mwSize>(s.ny), mxUINT32_CLASS, mxREAL);
    mxArray *where = mxCreateNumericMatrix(3, offsets, mxINT32_CLASS, mxREAL);
    mxArray *values = mxCreateNumericMatrix(offsets, kernels, mxSINGLE_CLASS, mxREAL);
    mxArray *mass = mxCreateDoubleMatrix(1, kernels, mxREAL);
    auto to = sized<isoc_pet_tables>();
    auto *numbers = static_cast<uint32_t *>(mxGetData(map));
    to.map = numbers, to.map_capacity = s.nx * s.ny;
    to.offsets = static_cast<int32_t *>(mxGetData(where)), to.offset_capacity = sizes.offsets;
    to.values = static_cast<float *>(mxGetData(values)), to.value_capacity = sizes.kernels * sizes.offsets;
    to.mass = static_cast<double *>(mxGetData(mass)), to.mass_capacity = sizes.kernels;
    check(isoc_pet_get_tables(c.plan->pet(), view, &to));
    for (int64_t k = 0; k < s.nx * s.ny; k++) numbers[k]++;
    const char *names[] = { "Map", "Offsets", "Values", "Mass" };
    mxArray *out = mxCreateStructMatrix(1, 1, 4, names), *parts[] = { map, where, values, mass };
    for (int k = 0; k < 4; k++) mxSetFieldByNumber(out, 0, k, parts[k]);
    c.result(0, out);
}

static void set_tables(call &c) {
    c.takes({ "view", "map", "offsets", "values" });
    const pet_sizes &s = c.plan->pet_size;
    const int64_t view = one_view(c);
    const mxArray *map = c.argument(1, "map"), *offsets = c.argument(2, "offsets"), *values = c.argument(3, "values");
    const size_t reach = mxGetN(offsets), kernels = mxGetN(values);
    if (static_cast<int64_t>(mxGetM(map)) != s.nx || static_cast<int64_t>(mxGetN(map)) != s.ny)
        fail("arrayShape", "map is %s; it must be %lld x %lld (nx x ny)%s", times(size_of(map)).c_str(), static_cast<long long>(s.nx),
             static_cast<long long>(s.ny), transposing(map, static_cast<size_t>(s.nx), "map").c_str());
    if (mxGetM(offsets) != 3 || mxGetNumberOfDimensions(offsets) != 2)
        fail("arrayShape", "offsets is %s; it must be 3 x n, of x, y and z%s", times(size_of(offsets)).c_str(), transposing(offsets, 3, "offsets").c_str());
    const array weights(values, "values", is_single, { { static_cast<int64_t>(reach), static_cast<int64_t>(kernels) }, "offsets x kernels" });
    std::vector<uint32_t> numbers;
    for (int64_t k : integers_of(map, "map")) {
        if (k < 1 || k > static_cast<int64_t>(kernels))
            fail("invalidArgument", "map has kernel %lld; they are 1 to %zu", static_cast<long long>(k), kernels);
        numbers.push_back(static_cast<uint32_t>(k - 1));
    }
    std::vector<int32_t> steps;
    for (int64_t k : integers_of(offsets, "offsets")) {
        if (k < -(1 << 20) || k > 1 << 20) fail("invalidArgument", "an offset is %lld voxels", static_cast<long long>(k));
        steps.push_back(static_cast<int32_t>(k));
    }
    check(isoc_pet_set_tables(c.plan->pet(), view, numbers.data(), static_cast<int64_t>(numbers.size()), steps.data(),
                              static_cast<int64_t>(reach), static_cast<const float *>(weights.tensor()->data),
                              static_cast<int64_t>(reach * kernels)));
}

static void get_info(call &c) {
    c.takes({});
    auto info = sized<isoc_pet_info>();
    check(isoc_pet_get_info(c.plan->pet(), &info));
    c.result(0, settings_write(info_record, &info));
}

static void memory(call &c) {
    c.takes({});
    uint64_t bytes = 0;
    check(isoc_pet_memory(c.plan->pet(), &bytes));
    c.result(0, number(static_cast<double>(bytes)));
}

// The views of argument 1, all of them if it is not there or 0 x 0. Other empty lists come of find() where nothing is chosen.
struct chosen {
    std::vector<int64_t> views;
    int64_t count;
    explicit chosen(const call &c) : count(c.plan->pet_size.views) {
        if (c.count < 2) return;
        const mxArray *list = c.arguments[1];
        if (mxGetNumberOfDimensions(list) == 2 && mxGetM(list) == 0 && mxGetN(list) == 0) return;
        if (mxIsEmpty(list)) fail("invalidArgument", "the list of views is empty; leave it out for all of them");
        views = views_of(c, list);
        count = static_cast<int64_t>(views.size());
    }
    const int64_t *data() const { return views.empty() ? nullptr : views.data(); }
    int64_t number() const { return static_cast<int64_t>(views.size()); }
};

static void forward(call &c) {
    c.takes({ "image", "views" });
    const array in(c.argument(0, "image"), "image", is_single, image(c));
    const chosen views(c);
    array out(is_single, histo_images(c, views.count));
    check(isoc_pet_forward(c.plan->pet(), views.data(), views.number(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

static void adjoint(call &c) {
    c.takes({ "histo_images", "views" });
    const chosen views(c);
    const array in(c.argument(0, "histo_images"), "histo_images", counts, histo_images(c, views.count));
    array out(is_single, image(c));
    check(isoc_pet_adjoint(c.plan->pet(), views.data(), views.number(), in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

// An input that may be left out.
struct optional_array {
    std::unique_ptr<array> a;
    optional_array(const mxArray *value, const char *name, unsigned types, const shape &size) {
        if (value) a = std::make_unique<array>(value, name, types, size);
    }
    const isoc_tensor *tensor() const { return a ? a->tensor() : nullptr; }
};

static void set_prior(call &c) {
    if (c.count == 1 && mxIsNumeric(c.arguments[0]) && mxIsEmpty(c.arguments[0])) {
        check(isoc_pet_set_prior(c.plan->pet(), nullptr, nullptr, nullptr));
        return;
    }
    pet_prior s{};
    s.p = sized<isoc_pet_prior>();
    settings_read(prior_record, c, 0, "invalidPrior", &s);
    if (!s.strength) fail("invalidPrior", "Strength is missing: the factor of the whole prior; setPrior([]) takes a prior away");
    s.p.strength = with_kind("invalidPrior", [&] { return real_of(s.strength, "Strength"); });
    const optional_array weights(s.weights, "Weights", is_single, image(c)), anatomy(s.anatomy, "Anatomy", is_single, image(c));
    check(isoc_pet_set_prior(c.plan->pet(), &s.p, weights.tensor(), anatomy.tensor()), "invalidPrior");
}

static void prior_gradient(call &c) {
    c.takes({ "image" });
    const array in(c.argument(0, "image"), "image", is_single, image(c));
    array out(is_single, image(c));
    double value = 0;
    check(isoc_pet_prior_gradient(c.plan->pet(), in.tensor(), out.tensor(), &value));
    c.result(0, out.finish());
    c.result(1, number(value));
}

static void set_regions(call &c) {
    c.takes({ "regions" });
    c.argument(0, "regions");
    const optional_array regions(c.optional(0), "regions", is_uint8 | is_uint16 | is_uint32, image(c));
    check(isoc_pet_set_regions(c.plan->pet(), regions.tensor()));
}

static void sensitivity(call &c) {
    c.takes({ "factors" });
    const optional_array factors(c.optional(0), "factors", is_single, histo_images(c));
    array out(is_single, image(c));
    check(isoc_pet_sensitivity(c.plan->pet(), factors.tensor(), out.tensor()));
    c.result(0, out.finish());
}

// The image that a reconstruction writes, which a warm start begins with.
static std::unique_ptr<array> begin_with(const call &c, const optional_array &initial) {
    isoc_pet_options options = c.plan->pet_size.options;
    options.warm_start = initial.a != nullptr;
    if (initial.a) array_rename("image", "initial");
    check(isoc_pet_set_options(c.plan->pet(), &options), "invalidOptions");
    return initial.a ? std::make_unique<array>(*initial.a, image(c)) : std::make_unique<array>(is_single, image(c));
}

static void reconstruct(call &c) {
    c.takes({ "measured", "factors", "additive", "initial" });
    const array measured(c.argument(0, "measured"), "measured", counts, histo_images(c));
    const optional_array factors(c.optional(1), "factors", is_single, histo_images(c));
    const optional_array additive(c.optional(2), "additive", is_single, histo_images(c));
    const optional_array initial(c.optional(3), "initial", is_single, image(c));
    const auto out = begin_with(c, initial);
    check(isoc_pet_reconstruct(c.plan->pet(), measured.tensor(), factors.tensor(), additive.tensor(), out->tensor()));
    c.result(0, out->finish());
}

static void history(call &c) {
    c.takes({});
    int64_t found = 0;
    check(isoc_pet_history(c.plan->pet(), nullptr, 0, &found));
    std::vector<isoc_pet_iteration> iterations(static_cast<size_t>(found));
    check(isoc_pet_history(c.plan->pet(), iterations.data(), found, &found));
    c.result(0, records_write(iteration_record, found, iterations.data()));
}

static shape positions(int64_t events) { return { { 3, events }, "3 x events" }; }
static shape one_an_event(int64_t events) { return { { events }, "one an event" }; }

// Of no events any empty array is a list: [] is 0 x 0, and find() has several sizes.
static const mxArray *list_of(const mxArray *value, mwSize rows, int64_t events) {
    return events == 0 && mxIsEmpty(value) ? mxCreateDoubleMatrix(rows, 0, mxREAL) : value;
}

// As many as there are positions, where both lists agree, so that the odd one out is told of; else as many as there are times.
static int64_t events_of(const mxArray *first, const mxArray *second, const mxArray *times) {
    const auto are_positions = [](const mxArray *list) { return mxGetNumberOfDimensions(list) == 2 && mxGetM(list) == 3; };
    const bool agree = are_positions(first) && are_positions(second) && mxGetN(first) == mxGetN(second);
    return static_cast<int64_t>(agree ? mxGetN(first) : mxGetNumberOfElements(times));
}

static void deposit(call &c) {
    c.takes({ "first_positions", "second_positions", "time_differences", "histo_images" });
    const mxArray *first_positions = c.argument(0, "first_positions"), *second_positions = c.argument(1, "second_positions");
    const mxArray *times = c.argument(2, "time_differences");
    const int64_t events = events_of(first_positions, second_positions, times);
    const array first(list_of(first_positions, 3, events), "first_positions", real, positions(events));
    const array second(list_of(second_positions, 3, events), "second_positions", real, positions(events));
    const array difference(list_of(times, 1, events), "time_differences", real, one_an_event(events));
    const optional_array before(c.optional(3), "histo_images", counts, histo_images(c));
    const auto out = before.a ? std::make_unique<array>(*before.a, histo_images(c)) : std::make_unique<array>(is_uint32, histo_images(c), array::contents::zeros);
    auto dropped = sized<isoc_pet_dropped>();
    check(isoc_pet_deposit(c.plan->pet(), first.tensor(), second.tensor(), difference.tensor(), out->tensor(), &dropped));
    c.result(0, out->finish());
    c.result(1, settings_write(dropped_record, &dropped));
}

static void block_crystals(call &c) {
    auto blocks = sized<isoc_pet_blocks>();
    settings_read(blocks_record, c, 0, "invalidGeometry", &blocks);
    int64_t count = 0;
    check(isoc_pet_block_crystals(&blocks, nullptr, nullptr, 0, &count), "invalidGeometry");
    mxArray *where = mxCreateDoubleMatrix(3, static_cast<mwSize>(count), mxREAL), *normals = mxCreateDoubleMatrix(3, static_cast<mwSize>(count), mxREAL);
    check(isoc_pet_block_crystals(&blocks, static_cast<double *>(mxGetData(where)), static_cast<double *>(mxGetData(normals)), count, nullptr));
    c.result(0, where);
    c.result(1, normals);
}

// Where names and values begin, before which arrays from `least` on may be left out.
static int settings_at(const call &c, int least, int most) {
    for (int k = least; k < most && k < c.count; k++)
        if (is_text(c.arguments[k]) || mxIsStruct(c.arguments[k])) return k;
    return most;
}

static void set_scanner(call &c) {
    const mxArray *where = c.argument(0, "positions");
    const int settings = settings_at(c, 1, 2);
    const mxArray *directions = settings > 1 ? c.optional(1) : nullptr;
    pet_scanner s{};
    s.s = sized<isoc_pet_scanner>();
    settings_read(scanner_record, c, settings, "invalidGeometry", &s);
    if (s.edges == 1) fail("invalidGeometry", "TimeEdges is one number; there must be one more edge than there are bins");
    s.s.time_bins = static_cast<uint32_t>(s.edges ? s.edges - 1 : 0);
    if (!s.edges) s.s.time_edges = nullptr;
    if (mxGetM(where) != 3 || mxGetNumberOfDimensions(where) != 2)
        fail("arrayShape", "positions is %s; it must be 3 x crystals, of x, y and z%s", times(size_of(where)).c_str(), transposing(where, 3, "positions").c_str());
    const shape size{ { 3, static_cast<int64_t>(mxGetN(where)) }, "3 x crystals" };
    const array places(where, "positions", real, size);
    const optional_array normals(directions, "normals", real, size);
    const optional_array sizes(s.sizes, "CrystalSizes", real, { { 2, size.size[1] }, "2 x crystals" });
    s.s.crystal_sizes = sizes.tensor();
    check(isoc_pet_set_scanner(c.plan->pet(), &s.s, places.tensor(), normals.tensor()), "invalidGeometry");
    c.plan->pet_size.crystals = size.size[1], c.plan->pet_size.has_bins = s.s.time_bins > 0;
}

static shape one_a_crystal(const call &c, const mxArray *value) {
    // Without a scanner any number will do: the library says what is missing.
    const int64_t known = c.plan->pet_size.crystals;
    return { { value && !known ? static_cast<int64_t>(mxGetNumberOfElements(value)) : known }, "one a crystal" };
}

static optional_array efficiencies_of(const call &c, const mxArray *value, const char *name = "efficiencies") {
    return { value, name, real, one_a_crystal(c, value) };
}

// The sizes of a map, which may be any.
static shape map_of(const mxArray *value, const char *name) {
    std::vector<int64_t> size = size_of(value);
    if (size.size() > 3) fail("arrayShape", "%s is %s; it must be nx x ny x nz", name, times(size).c_str());
    size.resize(3, 1);
    return { size, "nx x ny x nz" };
}

static void attenuation(call &c) {
    c.takes({ "hounsfield", "kilovolts" });
    const mxArray *units = c.argument(0, "hounsfield");
    const double kilovolts = real_of(c.argument(1, "kilovolts"), "kilovolts");
    const shape size = map_of(units, "hounsfield");
    const array in(units, "hounsfield", real, size);
    array out(is_single, size);
    check(isoc_pet_attenuation(c.plan->pet(), kilovolts, in.tensor(), out.tensor()));
    c.result(0, out.finish());
}

static std::vector<double> along_axes(const mxArray *value, const char *name, bool may_be_one, const char *invalid) {
    std::vector<double> three = with_kind(invalid, [&] { return reals_of(value, name); });
    if (may_be_one && three.size() == 1) three.resize(3, three[0]);
    if (three.size() != 3) fail(invalid, "%s must be %sthree numbers, [x y z], in mm", name, may_be_one ? "one number or " : "");
    return three;
}

// Where a map is, of options or a scan.
template <class T> static void place_map(T &of, const mxArray *voxel, const mxArray *centre, const char *invalid = "invalidOptions") {
    if (voxel) {
        const std::vector<double> v = along_axes(voxel, "MapVoxel", true, invalid);
        of.map_voxel_x = v[0], of.map_voxel_y = v[1], of.map_voxel_z = v[2];
    }
    if (centre) {
        const std::vector<double> v = along_axes(centre, "MapCentre", false, invalid);
        of.map_centre_x = v[0], of.map_centre_y = v[1], of.map_centre_z = v[2];
    }
}

static isoc_pet_factor_options factor_options_of(const call &c, int settings) {
    pet_factors f{};
    f.o = sized<isoc_pet_factor_options>();
    settings_read(factors_record, c, settings, "invalidOptions", &f);
    place_map(f.o, f.voxel, f.centre);
    return f.o;
}

static void factors(call &c) {
    const int settings = settings_at(c, 0, 2);
    const mxArray *detected = settings > 0 ? c.optional(0) : nullptr, *map = settings > 1 ? c.optional(1) : nullptr;
    const isoc_pet_factor_options options = factor_options_of(c, settings);
    const optional_array efficiencies = efficiencies_of(c, detected);
    const optional_array attenuation(map, "attenuation", real, map ? map_of(map, "attenuation") : shape{});
    array out(is_single, histo_images(c));
    check(isoc_pet_factors(c.plan->pet(), &options, efficiencies.tensor(), attenuation.tensor(), out.tensor()), "invalidOptions");
    c.result(0, out.finish());
}

// What a call needs of the host and of the GPU.
struct needed {
    uint64_t host = 0, gpu = 0;
    void results(call &c) const {
        c.result(0, number(static_cast<double>(host)));
        c.result(1, number(static_cast<double>(gpu)));
    }
};

static void factors_memory(call &c) {
    const int settings = settings_at(c, 0, 1);
    const mxArray *map = settings > 0 ? c.optional(0) : nullptr;
    const isoc_pet_factor_options options = factor_options_of(c, settings);
    const optional_array attenuation(map, "attenuation", real, map ? map_of(map, "attenuation") : shape{});
    needed bytes;
    check(isoc_pet_factors_memory(c.plan->pet(), &options, attenuation.tensor(), &bytes.host, &bytes.gpu), "invalidOptions");
    bytes.results(c);
}

static void detect(call &c) {
    const mxArray *first_positions = c.argument(0, "first_positions"), *second_positions = c.argument(1, "second_positions");
    const mxArray *differences = c.argument(2, "time_differences");
    const int settings = settings_at(c, 3, 4);
    const mxArray *detected = settings > 3 ? c.optional(3) : nullptr;
    pet_detection d{};
    d.bins = 1;
    settings_read(detection_record, c, settings, "invalidOptions", &d);
    const int64_t events = events_of(first_positions, second_positions, differences);
    const array first(list_of(first_positions, 3, events), "first_positions", real, positions(events));
    const array second(list_of(second_positions, 3, events), "second_positions", real, positions(events));
    const array difference(list_of(differences, 1, events), "time_differences", real, one_an_event(events));
    const optional_array efficiencies = efficiencies_of(c, detected);
    const bool binned = d.bins && c.plan->pet_size.has_bins;
    array crystals(is_uint32, { { 2, events }, "" }), when(binned ? is_uint32 : is_single, { { 1, events }, "" });
    isoc_tensor times = *when.tensor(); // (events, 1) of MATLAB's row
    times.ndim = 1;
    auto lost = sized<isoc_pet_lost>();
    check(isoc_pet_detect(c.plan->pet(), first.tensor(), second.tensor(), difference.tensor(), efficiencies.tensor(), d.seed, crystals.tensor(), &times,
                          &lost));
    // From 1; those of lost events, the largest number, become 0.
    auto *pairs = static_cast<uint32_t *>(crystals.tensor()->data), *bins = static_cast<uint32_t *>(times.data);
    for (int64_t k = 0; k < 2 * events; k++) pairs[k]++;
    for (int64_t k = 0; binned && k < events; k++) bins[k] += pairs[2 * k] != 0;
    c.result(0, crystals.finish());
    c.result(1, when.finish());
    c.result(2, settings_write(lost_record, &lost));
}

// Numbers from 1 of any class as the library's from 0; those that are none of them as the largest, which is none of the library's.
template <class T> static void from_zero(const mxArray *value, const char *name, uint32_t *out) {
    const T *data = static_cast<const T *>(mxGetData(value));
    const size_t count = mxGetNumberOfElements(value);
    for (size_t k = 0; k < count; k++) {
        const double v = static_cast<double>(data[k]);
        if (v != static_cast<double>(static_cast<int64_t>(v >= 0 && v < 4294967296.0 ? v : 0)) && v >= 0 && v < 4294967296.0)
            fail("invalidArgument", "%s(%zu) is %.17g; it must be a whole number", name, k + 1, v);
        out[k] = v >= 1 && v < 4294967296.0 ? static_cast<uint32_t>(v) - 1 : UINT32_MAX;
    }
}

static void count_from_zero(const mxArray *value, const char *name, uint32_t *out) {
    if (mxIsComplex(value)) fail("arrayType", "%s is complex; it must be real", name);
    if (mxIsSparse(value)) fail("arrayType", "%s is sparse; write full(%s)", name, name);
    switch (mxGetClassID(value)) {
        case mxDOUBLE_CLASS: return from_zero<double>(value, name, out);
        case mxSINGLE_CLASS: return from_zero<float>(value, name, out);
        case mxINT8_CLASS: return from_zero<int8_t>(value, name, out);
        case mxUINT8_CLASS: return from_zero<uint8_t>(value, name, out);
        case mxINT16_CLASS: return from_zero<int16_t>(value, name, out);
        case mxUINT16_CLASS: return from_zero<uint16_t>(value, name, out);
        case mxINT32_CLASS: return from_zero<int32_t>(value, name, out);
        case mxUINT32_CLASS: return from_zero<uint32_t>(value, name, out);
        case mxINT64_CLASS: return from_zero<int64_t>(value, name, out);
        case mxUINT64_CLASS: return from_zero<uint64_t>(value, name, out);
        default: fail("arrayType", "%s is of class %s; it must be numbers from 1", name, mxGetClassName(value));
    }
}

// A copy of numbers from 1 as uint32 from 0.
static std::unique_ptr<array> numbers_of(const mxArray *value, const char *name, const shape &size) {
    auto out = std::make_unique<array>(is_uint32, size);
    count_from_zero(value, name, static_cast<uint32_t *>(out->tensor()->data));
    return out;
}

// Of pairs: one value a group, or a table of elements for each.
static shape tables_of(const mxArray *value) {
    const std::vector<int64_t> size = size_of(value);
    const bool is_list = size.size() == 2 && (size[0] == 1 || size[1] == 1);
    if (is_list) return { { static_cast<int64_t>(mxGetNumberOfElements(value)) }, "one a group" };
    if (size.size() > 3 || size[0] != size[1])
        fail("arrayShape", "efficiencies is %s; it must be one a group, or elements x elements x groups", times(size).c_str());
    return { { size[0], size[1], size.size() > 2 ? size[2] : 1 }, "elements x elements x groups" };
}

static void set_pairs(call &c) {
    c.takes({ "modules", "groups", "efficiencies" });
    const mxArray *of_crystals = c.optional(0), *table = c.optional(1), *values = c.optional(2);
    if (!of_crystals && !table && !values) {
        check(isoc_pet_set_pairs(c.plan->pet(), nullptr, nullptr, nullptr), "invalidGeometry");
        return;
    }
    if (!of_crystals || !table) fail("invalidGeometry", "%s is left out; modules and groups come together", of_crystals ? "groups" : "modules");
    if (mxGetNumberOfDimensions(table) != 2 || mxGetN(table) != mxGetM(table))
        fail("arrayShape", "groups is %s; it must be modules x modules", times(size_of(table)).c_str());
    const auto modules = static_cast<int64_t>(mxGetM(table));
    const auto numbers = numbers_of(of_crystals, "modules", one_a_crystal(c, of_crystals));
    array groups(is_uint32, { { modules, modules }, "modules x modules" });
    const std::vector<int64_t> given = integers_of(table, "groups");
    auto *out = static_cast<uint32_t *>(groups.tensor()->data);
    for (size_t k = 0; k < given.size(); k++) {
        if (given[k] < 0 || given[k] > INT32_MAX)
            fail("invalidGeometry", "groups(%zu) is %lld; it must be 0, or a group from 1 on", k + 1, static_cast<long long>(given[k]));
        out[k] = static_cast<uint32_t>(given[k]);
    }
    const optional_array efficiencies(values, "efficiencies", real, values ? tables_of(values) : shape{});
    check(isoc_pet_set_pairs(c.plan->pet(), numbers->tensor(), groups.tensor(), efficiencies.tensor()), "invalidGeometry");
}

static int64_t largest_of(const array &labels, int64_t events) {
    const auto *numbers = static_cast<const uint32_t *>(labels.tensor()->data);
    uint32_t largest = 0;
    for (int64_t k = 0; k < events; k++)
        if (numbers[k] != UINT32_MAX && numbers[k] > largest) largest = numbers[k];
    return int64_t{ largest } + 1;
}

// Time bins from 1, of an integer class, or differences in ps.
class time_list {
public:
    time_list(const mxArray *value, const char *name, int64_t events) {
        const bool binned = !mxIsSingle(value) && !mxIsDouble(value);
        a_ = binned ? numbers_of(value, name, one_an_event(events)) : std::make_unique<array>(list_of(value, 1, events), name, real, one_an_event(events));
    }
    const isoc_tensor *tensor() const { return a_->tensor(); }

private:
    std::unique_ptr<array> a_;
};

static void deposit_crystals(call &c) {
    c.takes({ "crystals", "times", "labels", "histo_images", "first_event" });
    const mxArray *named = c.argument(0, "crystals"), *when = c.argument(1, "times"), *label = c.optional(2), *given = c.optional(3);
    const auto events = static_cast<int64_t>(mxGetNumberOfElements(when));
    if (!(mxIsEmpty(named) && events == 0) && (mxGetNumberOfDimensions(named) != 2 || mxGetM(named) != 2))
        fail("arrayShape", "crystals is %s; it must be 2 x events%s", ::times(size_of(named)).c_str(), transposing(named, 2, "crystals").c_str());
    if (static_cast<int64_t>(mxGetNumberOfElements(named)) != 2 * events)
        fail("arrayShape", "crystals is %s; it must be 2 x %lld, as many events as times has", ::times(size_of(named)).c_str(), static_cast<long long>(events));
    if (label && static_cast<int64_t>(mxGetNumberOfElements(label)) != events)
        fail("arrayShape", "labels is %s; it must have %lld, one an event", ::times(size_of(label)).c_str(), static_cast<long long>(events));
    const auto crystals = numbers_of(named, "crystals", { { 2, events }, "2 x events" });
    const time_list times(when, "times", events);
    const auto labels = label ? numbers_of(label, "labels", one_an_event(events)) : nullptr;
    const int64_t first = c.optional(4) ? integer_of(c.optional(4), "first_event") : 1;
    if (first < 1) fail("invalidArgument", "first_event is %lld; it must be at least 1", static_cast<long long>(first));
    const int64_t each = std::max<int64_t>(histo_images(c).elements(), 1);
    int64_t sets = labels ? largest_of(*labels, events) : 1;
    if (given) sets = std::max<int64_t>(static_cast<int64_t>(mxGetNumberOfElements(given)) / each, 1);
    else if (sets > 65536) fail("invalidArgument", "labels has %lld; they must be at most 65536", static_cast<long long>(sets));
    const pet_sizes &s = c.plan->pet_size;
    const shape size{ { s.nx, s.ny, s.nz, s.views, sets }, "nx x ny x nz x views x labels" };
    const optional_array before(given, "histo_images", counts, size);
    const auto out = before.a ? std::make_unique<array>(*before.a, size) : std::make_unique<array>(is_uint32, size, array::contents::zeros);
    auto dropped = sized<isoc_pet_dropped>();
    check(isoc_pet_deposit_crystals(c.plan->pet(), crystals->tensor(), times.tensor(), labels ? labels->tensor() : nullptr,
                                    static_cast<uint64_t>(first - 1), out->tensor(), &dropped));
    c.result(0, out->finish());
    c.result(1, settings_write(dropped_record, &dropped));
}

static void fan_sums(call &c) {
    const mxArray *named = c.argument(0, "crystals");
    const int settings = settings_at(c, 1, 3);
    const mxArray *label = settings > 1 ? c.optional(1) : nullptr, *given = settings > 2 ? c.optional(2) : nullptr;
    pet_fans f{};
    settings_read(fans_record, c, settings, "invalidOptions", &f);
    const auto events = static_cast<int64_t>(mxGetNumberOfElements(named) / 2);
    if (!mxIsEmpty(named) && (mxGetNumberOfDimensions(named) != 2 || mxGetM(named) != 2))
        fail("arrayShape", "crystals is %s; it must be 2 x events%s", times(size_of(named)).c_str(), transposing(named, 2, "crystals").c_str());
    if (label && static_cast<int64_t>(mxGetNumberOfElements(label)) != events)
        fail("arrayShape", "labels is %s; it must have %lld, one an event", times(size_of(label)).c_str(), static_cast<long long>(events));
    const auto crystals = numbers_of(named, "crystals", { { 2, events }, "2 x events" });
    const auto labels = label ? numbers_of(label, "labels", one_an_event(events)) : nullptr;
    const int64_t each = c.plan->pet_size.crystals; // 0 without a scanner, of which the library says that it is missing
    int64_t sets = labels ? largest_of(*labels, events) : 1;
    if (given) sets = std::max<int64_t>(static_cast<int64_t>(mxGetNumberOfElements(given)) / std::max<int64_t>(each, 1), 1);
    else if (sets > 65536) fail("invalidArgument", "labels has %lld; they must be at most 65536", static_cast<long long>(sets));
    const shape size{ { each, sets }, "crystals x labels" };
    const optional_array before(each ? given : nullptr, "sums", is_uint32, size);
    const auto out = before.a ? std::make_unique<array>(*before.a, size) : std::make_unique<array>(is_uint32, size, array::contents::zeros);
    auto dropped = sized<isoc_pet_dropped>();
    check(isoc_pet_fan_sums(c.plan->pet(), f.field_of_view, crystals->tensor(), labels ? labels->tensor() : nullptr, out->tensor(), &dropped), "invalidOptions");
    c.result(0, out->finish());
    c.result(1, settings_write(dropped_record, &dropped));
}

static pet_accidentals accidentals_of(const record &r, const call &c, int settings = 1) {
    pet_accidentals a{};
    settings_read(r, c, settings, "invalidOptions", &a);
    if (a.duration == 0) fail("invalidOptions", "Duration is missing, or 0: of the measurement, in s");
    return a;
}

static shape sums_of(const call &c, const mxArray *given) {
    shape size = one_a_crystal(c, given);
    if (size.size[0] > 0 && static_cast<int64_t>(mxGetM(given)) == size.size[0] && mxGetN(given) > 1) size.cause = "of one label, write sums(:, 1)";
    return size;
}

static void singles(call &c) {
    const mxArray *given = c.argument(0, "sums");
    const pet_accidentals a = accidentals_of(singles_record, c);
    const shape size = sums_of(c, given);
    const array sums(given, "sums", counts, size);
    array out(is_single, size);
    check(isoc_pet_singles(c.plan->pet(), a.field_of_view, a.duration, a.window, sums.tensor(), out.tensor()), "invalidOptions");
    c.result(0, out.finish());
}

static void efficiencies(call &c) {
    const mxArray *given = c.argument(0, "sums"), *activity = c.argument(1, "image");
    const int settings = settings_at(c, 2, 3);
    const mxArray *map = settings > 2 ? c.optional(2) : nullptr;
    pet_normalisation n{};
    n.of.o = sized<isoc_pet_factor_options>();
    settings_read(normalisation_record, c, settings, "invalidOptions", &n);
    place_map(n.of.o, n.of.voxel, n.of.centre);
    const shape size = sums_of(c, given);
    const array sums(given, "sums", real | is_uint32, size), from(activity, "image", real, image(c));
    const optional_array attenuation(map, "attenuation", real, map ? map_of(map, "attenuation") : shape{});
    // As it is named, and the library's messages too.
    const optional_array singles(n.singles, "Singles", real, n.singles ? one_a_crystal(c, n.singles) : shape{});
    array out(is_single, size);
    check(isoc_pet_efficiencies(c.plan->pet(), n.field_of_view, n.window, &n.of.o, sums.tensor(), from.tensor(), attenuation.tensor(), singles.tensor(),
                                out.tensor()), "invalidOptions");
    c.result(0, out.finish());
}

static void randoms(call &c) {
    const mxArray *given = c.argument(0, "singles");
    const pet_accidentals a = accidentals_of(randoms_record, c);
    const array rates(given, "singles", real, one_a_crystal(c, given));
    array out(is_single, histo_images(c));
    check(isoc_pet_randoms(c.plan->pet(), a.duration, a.window, a.directions, rates.tensor(), out.tensor()), "invalidOptions");
    c.result(0, out.finish());
}

static void randoms_memory(call &c) {
    pet_accidentals a{};
    settings_read(randoms_memory_record, c, 0, "invalidOptions", &a);
    needed bytes;
    check(isoc_pet_randoms_memory(c.plan->pet(), a.directions, &bytes.host, &bytes.gpu), "invalidOptions");
    bytes.results(c);
}

// Settings from argument `first` on, into what `how` is, or is a part of.
static void read_estimate(const record &r, const call &c, int first, void *into, pet_estimate &how) {
    how.o = sized<isoc_pet_scatter_options>();
    how.factors.o = sized<isoc_pet_factor_options>();
    settings_read(r, c, first, "invalidOptions", into);
    place_map(how.factors.o, how.factors.voxel, how.factors.centre);
    how.o.factors = &how.factors.o;
}

static shape scattering_map_of(const mxArray *map) {
    if (mxIsEmpty(map)) fail("arrayShape", "attenuation is empty; without it nothing scatters");
    return map_of(map, "attenuation");
}

static void scatter(call &c) {
    const mxArray *activity = c.argument(0, "image"), *map = c.argument(1, "attenuation");
    pet_scatter s{};
    read_estimate(scatter_record, c, 2, &s, s.how);
    const shape size = scattering_map_of(map);
    const array from(activity, "image", real, image(c)), attenuation(map, "attenuation", real, size);
    // As they are named, and the library's messages too.
    const optional_array efficiencies = efficiencies_of(c, s.efficiencies, "Efficiencies");
    const optional_array measured(s.measured, "Measured", counts, histo_images(c)), randoms(s.randoms, "Randoms", counts, histo_images(c));
    array out(is_single, histo_images(c));
    auto found = sized<isoc_pet_scatter_found>();
    check(isoc_pet_scatter(c.plan->pet(), &s.how.o, from.tensor(), efficiencies.tensor(), attenuation.tensor(), measured.tensor(), randoms.tensor(),
                           out.tensor(), &found), "invalidOptions");
    c.result(0, out.finish());
    c.result(1, settings_write(found_record, &found));
}

static void scatter_memory(call &c) {
    const mxArray *map = c.argument(0, "attenuation");
    pet_estimate how{};
    read_estimate(estimate_record, c, 1, &how, how);
    const array attenuation(map, "attenuation", real, scattering_map_of(map));
    needed bytes;
    check(isoc_pet_scatter_memory(c.plan->pet(), &how.o, attenuation.tensor(), &bytes.host, &bytes.gpu), "invalidOptions");
    bytes.results(c);
}

// The list of events that a call begins with. It points into itself, so it stays where it is made.
class event_list {
public:
    explicit event_list(const call &c) {
        pet_list given{};
        settings_read(list_record, c.argument(0, "list"), "invalidArgument", &given);
        if (!given.crystals && !(given.first_positions && given.second_positions))
            fail("invalidArgument", "the list has no Crystals, nor both FirstPositions and SecondPositions; it must have one of them");
        if (given.crystals) {
            events_ = events_of(given.crystals, "Crystals", 2);
            crystals_ = numbers_of(given.crystals, "Crystals", { { 2, events_ }, "2 x events" });
        } else {
            events_ = events_of(given.first_positions, "FirstPositions", 3);
        }
        first_ = of(given.first_positions, "FirstPositions", positions(events_));
        second_ = of(given.second_positions, "SecondPositions", positions(events_));
        if (given.times && given.crystals) bins_ = std::make_unique<time_list>(given.times, "Times", events_);
        else times_ = of(given.times, "Times", one_an_event(events_));
        tof_fwhm_ = of(given.tof_fwhm, "TofFwhm", one_an_event(events_));
        list_.first_event = static_cast<uint64_t>(given.first_event);
        list_.crystals = tensor(crystals_), list_.first_positions = tensor(first_), list_.second_positions = tensor(second_);
        list_.times = bins_ ? bins_->tensor() : tensor(times_), list_.tof_fwhm = tensor(tof_fwhm_);
    }
    event_list(const event_list &) = delete;
    event_list &operator=(const event_list &) = delete;
    const isoc_pet_list *address() const { return &list_; }
    int64_t events() const { return events_; }

private:
    using kept = std::unique_ptr<array>;
    static kept of(const mxArray *value, const char *name, const shape &size) {
        return value ? std::make_unique<array>(value, name, real, size) : nullptr;
    }
    static const isoc_tensor *tensor(const kept &a) { return a ? a->tensor() : nullptr; }
    static int64_t events_of(const mxArray *value, const char *name, size_t rows) {
        if (mxGetNumberOfDimensions(value) != 2 || mxGetM(value) != rows)
            fail("arrayShape", "%s is %s; it must be %zu x events%s", name, ::times(size_of(value)).c_str(), rows, transposing(value, rows, name).c_str());
        return static_cast<int64_t>(mxGetN(value));
    }

    int64_t events_ = 0;
    kept crystals_, first_, second_, times_, tof_fwhm_;
    std::unique_ptr<time_list> bins_;
    isoc_pet_list list_ = sized<isoc_pet_list>();
};

// A value for each event, in MATLAB a row.
struct event_values {
    array a;
    isoc_tensor tensor;
    explicit event_values(int64_t events) : a(is_single, { { 1, events }, "" }), tensor(*a.tensor()) { tensor.ndim = 1; }
};

static void forward_lines(call &c) {
    c.takes({ "list", "image" });
    const event_list list(c);
    const array from(c.argument(1, "image"), "image", is_single, image(c));
    event_values out(list.events());
    auto dropped = sized<isoc_pet_dropped>();
    check(isoc_pet_forward_lines(c.plan->pet(), list.address(), from.tensor(), &out.tensor, &dropped));
    c.result(0, out.a.finish());
    c.result(1, settings_write(dropped_record, &dropped));
}

static void adjoint_lines(call &c) {
    c.takes({ "list", "values" });
    const event_list list(c);
    const array from(c.argument(1, "values"), "values", is_single, one_an_event(list.events()));
    array out(is_single, image(c));
    auto dropped = sized<isoc_pet_dropped>();
    check(isoc_pet_adjoint_lines(c.plan->pet(), list.address(), from.tensor(), out.tensor(), &dropped));
    c.result(0, out.finish());
    c.result(1, settings_write(dropped_record, &dropped));
}

static void line_factors(call &c) {
    const event_list list(c);
    const int settings = settings_at(c, 1, 3);
    const mxArray *detected = settings > 1 ? c.optional(1) : nullptr, *map = settings > 2 ? c.optional(2) : nullptr;
    const isoc_pet_factor_options options = factor_options_of(c, settings);
    const optional_array efficiencies = efficiencies_of(c, detected);
    const optional_array attenuation(map, "attenuation", real, map ? map_of(map, "attenuation") : shape{});
    event_values out(list.events());
    auto dropped = sized<isoc_pet_dropped>();
    check(isoc_pet_line_factors(c.plan->pet(), list.address(), &options, efficiencies.tensor(), attenuation.tensor(), &out.tensor, &dropped), "invalidOptions");
    c.result(0, out.a.finish());
    c.result(1, settings_write(dropped_record, &dropped));
}

static void line_sensitivity(call &c) {
    const int settings = settings_at(c, 0, 2);
    const mxArray *detected = settings > 0 ? c.optional(0) : nullptr, *map = settings > 1 ? c.optional(1) : nullptr;
    const isoc_pet_factor_options options = factor_options_of(c, settings);
    const optional_array efficiencies = efficiencies_of(c, detected);
    const optional_array attenuation(map, "attenuation", real, map ? map_of(map, "attenuation") : shape{});
    array out(is_single, image(c));
    check(isoc_pet_line_sensitivity(c.plan->pet(), &options, efficiencies.tensor(), attenuation.tensor(), out.tensor()), "invalidOptions");
    c.result(0, out.finish());
}

static void line_randoms(call &c) {
    const event_list list(c);
    const mxArray *given = c.argument(1, "singles");
    const pet_accidentals a = accidentals_of(line_randoms_record, c, 2);
    const array rates(given, "singles", real, one_a_crystal(c, given));
    event_values out(list.events());
    check(isoc_pet_line_randoms(c.plan->pet(), list.address(), a.duration, a.window, rates.tensor(), &out.tensor), "invalidOptions");
    c.result(0, out.a.finish());
}

static void sample_lines(call &c) {
    c.takes({ "list", "histo_images" });
    const event_list list(c);
    const array from(c.argument(1, "histo_images"), "histo_images", is_single, histo_images(c));
    event_values out(list.events());
    auto dropped = sized<isoc_pet_dropped>();
    check(isoc_pet_sample_lines(c.plan->pet(), list.address(), from.tensor(), &out.tensor, &dropped));
    c.result(0, out.a.finish());
    c.result(1, settings_write(dropped_record, &dropped));
}

static void reconstruct_lines(call &c) {
    c.takes({ "list", "sensitivity", "factors", "additive", "initial" });
    const event_list list(c);
    const array seen(c.argument(1, "sensitivity"), "sensitivity", is_single, image(c));
    const optional_array factors(c.optional(2), "factors", is_single, one_an_event(list.events()));
    const optional_array additive(c.optional(3), "additive", is_single, one_an_event(list.events()));
    const optional_array initial(c.optional(4), "initial", is_single, image(c));
    const auto out = begin_with(c, initial);
    auto dropped = sized<isoc_pet_dropped>();
    check(isoc_pet_reconstruct_lines(c.plan->pet(), list.address(), factors.tensor(), additive.tensor(), seen.tensor(), out->tensor(), &dropped));
    c.result(0, out->finish());
    c.result(1, settings_write(dropped_record, &dropped));
}

static void lines_memory(call &c) {
    c.takes({ "events" });
    const int64_t events = integer_of(c.argument(0, "events"), "events");
    if (events < 1) fail("invalidArgument", "events is %lld; it must be at least 1", static_cast<long long>(events));
    uint64_t bytes = 0;
    check(isoc_pet_lines_memory(c.plan->pet(), static_cast<uint64_t>(events), &bytes));
    c.result(0, number(static_cast<double>(bytes)));
}

static void phantom_image(call &c) {
    c.takes({ "bodies", "quantity" });
    int64_t count = 0;
    const void *bodies = records_read(body_record, c.argument(0, "bodies"), "invalidArgument", &count);
    const auto quantity = c.optional(1) ? static_cast<uint32_t>(word_of(c.optional(1), "quantity", quantities)) : 0u;
    array out(is_single, image(c));
    check(isoc_pet_phantom_image(c.plan->pet(), static_cast<const isoc_pet_body *>(bodies), count, quantity, out.tensor()));
    c.result(0, out.finish());
}

struct scan_of {
    pet_scan given{};
    std::unique_ptr<array> map;
    explicit scan_of(const mxArray *value) {
        given.s = sized<isoc_pet_scan>();
        settings_read(scan_record, value, "invalidScan", &given);
        place_map(given.s, given.voxel, given.centre, "invalidScan");
        if (!given.attenuation) return;
        map = std::make_unique<array>(given.attenuation, "Attenuation", real, map_of(given.attenuation, "Attenuation"));
        given.s.attenuation = map->tensor();
    }
    const isoc_pet_scan *address() const { return &given.s; }
};

static void simulate(call &c) {
    c.takes({ "scan", "events", "activity" });
    const scan_of scan(c.argument(0, "scan"));
    const int64_t events = integer_of(c.argument(1, "events"), "events");
    if (events < 1) fail("invalidArgument", "events is %lld; it must be at least 1", static_cast<long long>(events));
    const optional_array activity(c.optional(2), "activity", is_single, image(c));
    array first(is_single, positions(events)), second(is_single, positions(events)), difference(is_single, { { 1, events }, "" });
    auto tally = sized<isoc_pet_tally>();
    isoc_tensor times = *difference.tensor(); // (events, 1) of MATLAB's row
    times.ndim = 1;
    check(isoc_pet_simulate(c.plan->pet(), scan.address(), activity.tensor(), first.tensor(), second.tensor(), &times, &tally), "invalidScan");
    c.result(0, first.finish());
    c.result(1, second.finish());
    c.result(2, difference.finish());
    c.result(3, settings_write(tally_record, &tally));
}

static void expect(call &c) {
    c.takes({ "scan", "tally", "activity" });
    const scan_of scan(c.argument(0, "scan"));
    auto tally = sized<isoc_pet_tally>();
    settings_read(tally_record, c.argument(1, "tally"), "invalidArgument", &tally);
    const optional_array activity(c.optional(2), "activity", is_single, image(c));
    array factors(is_single, histo_images(c)), additive(is_single, histo_images(c));
    check(isoc_pet_expect(c.plan->pet(), scan.address(), activity.tensor(), &tally, factors.tensor(), additive.tensor()), "invalidScan");
    c.result(0, factors.finish());
    c.result(1, additive.finish());
}

static void contrast_recovery(call &c) {
    c.takes({ "image", "centres", "ratio" });
    const array in(c.argument(0, "image"), "image", is_single, image(c));
    const mxArray *centres = c.argument(1, "centres");
    if (mxGetM(centres) != 3 || mxGetNumberOfDimensions(centres) != 2)
        fail("arrayShape", "centres is %s; it must be 3 x spheres, of x, y and z%s", times(size_of(centres)).c_str(), transposing(centres, 3, "centres").c_str());
    const std::vector<double> places = reals_of(centres, "centres");
    double recovery = 0;
    check(isoc_pet_contrast_recovery(c.plan->pet(), in.tensor(), places.data(), static_cast<int64_t>(places.size() / 3),
                                     real_of(c.argument(2, "ratio"), "ratio"), &recovery));
    c.result(0, number(recovery));
}

static void noise(call &c) {
    c.takes({ "image" });
    const array in(c.argument(0, "image"), "image", is_single, image(c));
    double found = 0;
    check(isoc_pet_noise(c.plan->pet(), in.tensor(), &found));
    c.result(0, number(found));
}

const std::vector<command> pet_commands{
    { "create", create, needs::context },
    { "destroy", destroy, needs::plan },
    { "describe", describe, needs::plan },
    { "set_geometry", set_geometry, needs::plan },
    { "set_response", set_response, needs::plan },
    { "set_options", set_options, needs::plan },
    { "set_order", set_order },
    { "set_prior", set_prior },
    { "prior_gradient", prior_gradient },
    { "set_regions", set_regions },
    { "set_tables", set_tables },
    { "tables", tables },
    { "views", get_views },
    { "info", get_info },
    { "memory", memory },
    { "forward", forward },
    { "adjoint", adjoint },
    { "sensitivity", sensitivity },
    { "reconstruct", reconstruct },
    { "history", history },
    { "deposit", deposit },
    { "block_crystals", block_crystals, needs::nothing },
    { "set_scanner", set_scanner, needs::plan },
    { "set_pairs", set_pairs, needs::plan },
    { "deposit_crystals", deposit_crystals },
    { "detect", detect, needs::plan },
    { "factors", factors },
    { "factors_memory", factors_memory },
    { "attenuation", attenuation, needs::plan },
    { "fan_sums", fan_sums },
    { "singles", singles },
    { "efficiencies", efficiencies },
    { "randoms", randoms },
    { "randoms_memory", randoms_memory },
    { "scatter", scatter },
    { "scatter_memory", scatter_memory },
    { "forward_lines", forward_lines },
    { "adjoint_lines", adjoint_lines },
    { "line_factors", line_factors },
    { "line_sensitivity", line_sensitivity },
    { "line_randoms", line_randoms },
    { "sample_lines", sample_lines },
    { "reconstruct_lines", reconstruct_lines },
    { "lines_memory", lines_memory },
    { "phantom_image", phantom_image },
    { "simulate", simulate },
    { "expect", expect },
    { "contrast_recovery", contrast_recovery },
    { "noise", noise },
};
