// A measured scan, from counts to attenuation: flats and darks, the rotation axis, a region of interest, progress, Ctrl-C.
//   measured SCAN.h5 VOLUME.h5 [COLUMN_BEGIN COLUMN_END ROW_BEGIN ROW_END]
//   c++ -std=c++17 measured.cpp $(pkg-config --cflags --libs isocenter hdf5) -Wl,-rpath,$(pkg-config --variable=libdir isocenter)
#include "arguments.hpp"
#include "find_axis.hpp"
#include "scan_file.hpp" // Data Exchange and NXtomo

#include <isocenter.hpp>

#include <csignal>
#include <cstdio>

static volatile std::sig_atomic_t interrupted = 0;
extern "C" void interrupt(int) { interrupted = 1; } // all that a signal handler may do: progress looks at it

// Line integrals of one detector row, (views, bins).
static std::vector<float> lines(const scan_file &scan, hsize_t row) {
    const auto mean = [&](const scan_file::frames &frames) {
        std::vector<float> all(frames.count * scan.bins), sums(scan.bins);
        if (frames.count > 0) scan.read(frames, row, 1, all.data());
        for (std::size_t k = 0; k < all.size(); k++) sums[k % scan.bins] += all[k] / static_cast<float>(frames.count);
        return sums;
    };
    const std::vector<float> flat = mean(scan.flats), dark = mean(scan.darks);
    std::vector<float> values(scan.views.count * scan.bins);
    scan.read(scan.views, row, 1, values.data());
    for (std::size_t k = 0; k < values.size(); k++) {
        const std::size_t bin = k % scan.bins;
        values[k] = -std::log(std::max((values[k] - dark[bin]) / (flat[bin] - dark[bin]), 1e-6f));
    }
    return values;
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
    bool searching = true; // the axis, by many small calls that need no progress, but end with Ctrl-C
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
    const double axis = find_axis(context, lines(scan, scan.rows / 2), scan.angles, geometry.bins);
    geometry.axis = axis, searching = false;
    if (argc == 7) geometry.region(region[0], region[1], region[2], region[3]); // after all else that sets nx and ny
    isocenter::ct ct(context);
    ct.set_geometry(geometry);
    isocenter::ct::options options;
    options.input = ISOC_CT_INPUT_COUNTS;   // f32, but counts
    options.padding = ISOC_CT_PADDING_EDGE; // the object may be wider than the detector
    ct.set_options(options);
    const auto shape = [&](const scan_file::frames &frames) { return isocenter::shape(frames.count, scan.rows, scan.bins); };
    const std::vector<float> flats = scan.read(scan.flats), darks = scan.read(scan.darks);
    const isocenter::const_tensor dark(darks, shape(scan.darks));
    ct.set_flat_field({ flats, shape(scan.flats) }, scan.darks.count > 0 ? dark : nullptr);

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
