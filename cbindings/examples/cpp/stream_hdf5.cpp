// Reconstructs a scan of any size slab by slab, from HDF5 to HDF5: neither the projections nor the volume are in memory at once.
//   stream_hdf5 SCAN.h5 VOLUME.h5 [--axis BIN] [--pitch LENGTH] [--rows FIRST COUNT] [--memory MB]
// See scan_file.hpp for what is read. The volume, f32 (slices, bins, bins), becomes /exchange/data of a new file. Without --axis the middle of
// the detector is taken: measured.cpp finds the axis.
//   c++ -std=c++17 stream_hdf5.cpp $(pkg-config --cflags --libs isocenter hdf5) -Wl,-rpath,$(pkg-config --variable=libdir isocenter)
#include "arguments.hpp"
#include "scan_file.hpp"

#include <isocenter.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace {

struct settings {
    std::string input, output;
    double axis = -1, pitch = 1; // axis below 0: the middle of the detector
    uint64_t memory = 0;         // bytes; 0: the library's choice
    hsize_t first_row = 0, rows = 0;
};

settings parse(int argc, char **argv) {
    static const char usage[] =
        "usage: stream_hdf5 SCAN.h5 VOLUME.h5 [--axis BIN] [--pitch LENGTH] [--rows FIRST COUNT] [--memory MB]\n"
        "  --axis BIN           the rotation axis as a fractional bin, 0-based (default: the middle of the detector)\n"
        "  --pitch LENGTH       distance between bins; attenuation comes out per this unit (default: 1)\n"
        "  --rows FIRST COUNT   detector rows to reconstruct (default: all)\n"
        "  --memory MB          most working memory of the host, which sets the size of slabs";
    settings set;
    int k = 1;
    const auto next = [&] {
        if (++k == argc) throw std::invalid_argument(usage);
        return argv[k];
    };
    for (; k < argc; k++) {
        const std::string word = argv[k];
        if (word == "--axis") set.axis = number_from_zero(word, next());
        else if (word == "--pitch") set.pitch = number_from_zero(word, next());
        else if (word == "--memory") set.memory = static_cast<uint64_t>(1e6 * std::min(number_from_zero(word, next()), 1e12));
        else if (word == "--rows")
            set.first_row = static_cast<hsize_t>(whole_number("FIRST of --rows", next(), 0)),
            set.rows = static_cast<hsize_t>(whole_number("COUNT of --rows", next(), 1));
        else if (word[0] == '-' || !set.output.empty()) throw std::invalid_argument(usage);
        else (set.input.empty() ? set.input : set.output) = word;
    }
    if (set.output.empty()) throw std::invalid_argument(usage);
    if (set.pitch == 0) throw std::invalid_argument("--pitch is 0; it must be above 0");
    return set;
}

isocenter::context make_context(const settings &set) {
    isocenter::context::options options;
    options.memory_cap = set.memory;
    if (isatty(STDERR_FILENO))
        options.on_progress = [](double fraction, const char *stage) {
            std::fprintf(stderr, fraction < 1 ? "\r%3.0f %%  %s\033[K" : "\r\033[K", 100 * fraction, stage);
            return isocenter::next::proceed;
        };
    return isocenter::context(options);
}

// T is the type of the projections: counts stay as they are in the file.
template <class T> void reconstruct(const settings &set, const scan_file &scan) {
    const isocenter::context context = make_context(set);
    const double axis = set.axis < 0 ? 0.5 * static_cast<double>(scan.bins - 1) : set.axis;
    if (set.axis < 0) std::printf("no --axis: the middle of the detector, bin %.2f, is taken\n", axis), std::fflush(stdout);
    isocenter::ct::geometry geometry;
    geometry.angles = scan.angles;
    geometry.rows = static_cast<int64_t>(scan.rows), geometry.bins = static_cast<int64_t>(scan.bins);
    geometry.axis = axis, geometry.bin_pitch = set.pitch;
    geometry.first_row = static_cast<int64_t>(set.first_row), geometry.slices = static_cast<int64_t>(set.rows);
    isocenter::ct ct(context);
    ct.set_geometry(geometry);
    if (scan.flats.count > 0) {
        std::vector<T> flats(scan.flats.count * scan.rows * scan.bins), darks(scan.darks.count * scan.rows * scan.bins);
        scan.read(scan.flats, 0, scan.rows, flats.data());
        if (scan.darks.count > 0) scan.read(scan.darks, 0, scan.rows, darks.data());
        const isocenter::const_tensor dark(darks, { scan.darks.count, scan.rows, scan.bins });
        ct.set_flat_field({ flats, { scan.flats.count, scan.rows, scan.bins } }, scan.darks.count > 0 ? dark : nullptr);
        isocenter::ct::options options;
        options.input = ISOC_CT_INPUT_COUNTS; // also those that a file has as floats
        ct.set_options(options);
    }

    const hsize_t slices = set.rows ? set.rows : scan.rows - set.first_row;
    volume_file volume(set.output, slices, scan.bins, scan.bins);

    // Both run on this thread, so HDF5 need not be thread-safe; what they throw comes out of reconstruct_stream. The GPUs, or the other
    // processors, compute meanwhile.
    const auto read = [&](const isocenter::slab<T> &slab) {
        scan.read(scan.views, set.first_row + static_cast<hsize_t>(slab.first), static_cast<hsize_t>(slab.count), slab.data);
        return isocenter::next::proceed;
    };
    const auto write = [&](const isocenter::slab<const float> &slab) {
        volume.write(static_cast<hsize_t>(slab.first), static_cast<hsize_t>(slab.count), slab.data);
        return isocenter::next::proceed;
    };
    const auto begin = std::chrono::steady_clock::now();
    ct.reconstruct_stream<T>(read, write);
    volume.finish();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("%llu slices of %llu x %llu from %lld views, %lld at a time, axis at bin %.2f: %.2f s with reading and writing\n",
                static_cast<unsigned long long>(slices), static_cast<unsigned long long>(scan.bins),
                static_cast<unsigned long long>(scan.bins), static_cast<long long>(scan.views.count),
                static_cast<long long>(ct.get_info().slab_slices), axis, seconds.count());
}

} // namespace

int main(int argc, char **argv) try {
    h5::begin(); // one line of our own in place of HDF5's stack
    const settings set = parse(argc, argv);
    const scan_file scan(set.input);
    scan.check_output(set.output);
    if (set.first_row + set.rows > scan.rows || set.first_row >= scan.rows)
        throw std::runtime_error("--rows: the scan has " + std::to_string(scan.rows));
    if (scan.flats.count == 0) std::puts("no flat fields: values are taken as line integrals");
    const std::size_t bytes = scan.flats.count > 0 ? scan.unsigned_bytes() : 0;
    if (bytes == 1) reconstruct<uint8_t>(set, scan);
    else if (bytes == 2) reconstruct<uint16_t>(set, scan);
    else reconstruct<float>(set, scan);
    return EXIT_SUCCESS;
} catch (const std::exception &failure) { // isocenter::error is one of them
    std::fprintf(stderr, "error: %s\n", failure.what());
    return EXIT_FAILURE;
}
