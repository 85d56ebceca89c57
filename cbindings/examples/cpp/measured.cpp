// A measured scan, from counts to attenuation: flats and darks, the rotation axis, a region of interest, progress, Ctrl-C.
//   measured SCAN.h5 VOLUME.h5 [COLUMN_BEGIN COLUMN_END ROW_BEGIN ROW_END]
//   c++ -std=c++17 measured.cpp $(pkg-config --cflags --libs isocenter hdf5) -Wl,-rpath,$(pkg-config --variable=libdir isocenter)
#include "arguments.hpp"
#include "scan_file.hpp" // Data Exchange and NXtomo

#include <isocenter.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>

static volatile std::sig_atomic_t interrupted = 0;
extern "C" void interrupt(int) { interrupted = 1; } // all that a signal handler may do: progress looks at it

// The axis, from the counts of the middle row alone.
static isocenter::ct::axis axis_of(const isocenter::context &context, const scan_file &scan) {
    const auto row = [&](const scan_file::frames &frames) {
        std::vector<float> values(frames.count * scan.bins);
        if (frames.count > 0) scan.read(frames, scan.rows / 2, 1, values.data());
        return values;
    };
    const auto shape = [&](const scan_file::frames &frames) { return isocenter::shape(frames.count, 1, scan.bins); };
    const std::vector<float> values = row(scan.views), flats = row(scan.flats), darks = row(scan.darks);
    isocenter::ct::geometry geometry;
    geometry.angles = scan.angles;
    geometry.rows = 1, geometry.bins = static_cast<int64_t>(scan.bins);
    isocenter::ct::options options;
    options.input = ISOC_CT_INPUT_COUNTS; // f32, but counts
    isocenter::ct ct(context);
    ct.set_geometry(geometry);
    ct.set_options(options);
    const isocenter::const_tensor dark(darks, shape(scan.darks));
    ct.set_flat_field({ flats, shape(scan.flats) }, scan.darks.count > 0 ? dark : nullptr);
    return ct.find_axis({ values, shape(scan.views) }); // throws where it cannot be told
}

int main(int argc, char **argv) try {
    if (argc != 3 && argc != 7) throw std::invalid_argument("usage: measured SCAN.h5 VOLUME.h5 [COLUMN_BEGIN COLUMN_END ROW_BEGIN ROW_END]");
    int64_t region[4] = {};
    const char *const words[] = { "COLUMN_BEGIN", "COLUMN_END", "ROW_BEGIN", "ROW_END" };
    for (int k = 0; k < argc - 3; k++) region[k] = whole_number(words[k], argv[3 + k]);
    h5::begin(); // one line of our own in place of HDF5's stack
    const scan_file scan(argv[1]);
    scan.check_output(argv[2]);
    if (scan.flats.count == 0) throw std::runtime_error("the scan has no flat fields");
    std::signal(SIGINT, interrupt);
    isocenter::context::options wanted;
    bool searching = true; // the axis, which is found in no time
    wanted.on_progress = [&](double fraction, const char *stage) {
        if (!searching) std::fprintf(stderr, "\r%3.0f %%  %-20s", 100 * fraction, stage);
        return interrupted ? isocenter::next::stop : isocenter::next::proceed; // stop: the call throws isocenter::cancelled
    };
    const isocenter::context context(wanted); // all GPUs, or the processor

    isocenter::ct::geometry geometry;
    geometry.angles = scan.angles;
    geometry.rows = static_cast<int64_t>(scan.rows), geometry.bins = static_cast<int64_t>(scan.bins);
    geometry.nx = geometry.ny = geometry.bins;
    std::fprintf(stderr, "finding the axis");
    const isocenter::ct::axis found = axis_of(context, scan);
    const double axis = found.axis, last = static_cast<double>(scan.bins) - 1;
    geometry.axis = axis, searching = false;
    if (found.half_acquisition) // the larger part of the detector, on both sides of the axis
        geometry.nx = geometry.ny = 2 * static_cast<int64_t>(std::ceil(std::max(axis, last - axis)));
    if (argc == 7) geometry.region(region[0], region[1], region[2], region[3]); // after all else that sets nx and ny
    isocenter::ct ct(context);
    ct.set_geometry(geometry);
    isocenter::ct::options options;
    options.input = ISOC_CT_INPUT_COUNTS;
    options.padding = ISOC_CT_PADDING_EDGE; // the object may be wider than the detector
    ct.set_options(options);
    const auto shape = [&](const scan_file::frames &frames) { return isocenter::shape(frames.count, scan.rows, scan.bins); };
    const std::vector<float> flats = scan.read(scan.flats), darks = scan.read(scan.darks);
    const isocenter::const_tensor dark(darks, shape(scan.darks));
    ct.set_flat_field({ flats, shape(scan.flats) }, scan.darks.count > 0 ? dark : nullptr);
    if (found.half_acquisition) ct.set_half_acquisition();
    ct.set_stripes(); // what stands out from noise, and would become rings

    // Some rows in, some slices out, so that neither the scan nor the volume has to fit memory. The file has its name once it is whole.
    volume_file volume(argv[2], scan.rows, static_cast<hsize_t>(geometry.ny), static_cast<hsize_t>(geometry.nx));
    ct.reconstruct_stream<float>(
        [&](const isocenter::slab<float> &p) {
            scan.read(scan.views, static_cast<hsize_t>(p.first), static_cast<hsize_t>(p.count), p.data);
            return isocenter::next::proceed;
        },
        [&](const isocenter::slab<const float> &v) {
            volume.write(static_cast<hsize_t>(v.first), static_cast<hsize_t>(v.count), v.data);
            return isocenter::next::proceed;
        });
    volume.finish();
    std::printf("\n%lld slices of %lld x %lld, axis at bin %.2f\n", static_cast<long long>(geometry.rows),
                static_cast<long long>(geometry.nx), static_cast<long long>(geometry.ny), axis);
} catch (const isocenter::cancelled &) {
    std::fprintf(stderr, "\ncancelled\n");
    return 130;
} catch (const std::exception &failure) { // isocenter::error is one of them
    std::fprintf(stderr, "\nerror: %s\n", failure.what());
    return 1;
}
