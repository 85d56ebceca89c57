// Scans with a known answer for the examples that read HDF5, a look at the volume that they wrote, and what they have to refuse.
//   scan_files write FOLDER               FOLDER/nxtomo.h5 and FOLDER/exchange.h5: a disk in each row, of attenuation 0.01 (row + 1); then
//                                         whether they, and links to them, are refused as names of a volume, and words as numbers
//   scan_files check VOLUME FIRST COUNT   whether the volume has that of rows FIRST to FIRST + COUNT
//   scan_files same VOLUME VOLUME         whether two volumes are equal
//   scan_files part VOLUME PART C0 C1 R0 R1   whether one has columns C0 to C1, rows R0 to R1 of the other, to rounding
#include "check.hpp"

#include "arguments.hpp" // of the examples
#include "scan_file.hpp"

#include <isocenter.hpp>

#include <algorithm>
#include <unistd.h>

namespace {

constexpr int views = 120, rows = 6, bins = 64, frames = views + 5;
using image = std::vector<uint16_t>;

template <class T> void put(hid_t file, const char *path, const std::vector<T> &values, std::vector<hsize_t> sizes) {
    const h5::id links(H5Pcreate(H5P_LINK_CREATE), "links"),
        space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), "space");
    H5Pset_create_intermediate_group(links, 1);
    const h5::id set(H5Dcreate2(file, path, h5::memory_type<T>(), space, links, H5P_DEFAULT, H5P_DEFAULT), path);
    h5::check(H5Dwrite(set, h5::memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path);
}

void write(const std::string &folder) {
    std::vector<double> radians, degrees;
    for (int k = 0; k < views; k++) radians.push_back(3.14159265358979 * k / views), degrees.push_back(180.0 * k / views);
    std::vector<float> lines(views * bins);
    isocenter::context context;
    isocenter::ct plan(context);
    isocenter::ct::geometry g;
    g.views = views, g.bins = bins, g.angles = radians;
    plan.set_geometry(g);
    plan.phantom_projections({ { 0.01, 0, 0, 20, 20, 0 } }, { lines, { views, bins } });

    // Every pixel has its own gain, over a dark count of 100.
    image dark(rows * bins, 100), flat, data;
    for (int k = 0; k < rows * bins; k++) flat.push_back(static_cast<uint16_t>(40000 + 37 * (k % 101)));
    for (int view = 0; view < views; view++)
        for (int k = 0; k < rows * bins; k++) {
            const double attenuation = double{ lines[static_cast<std::size_t>(view * bins + k % bins)] } * (k / bins + 1);
            data.push_back(
                static_cast<uint16_t>(std::lround(100 + (flat[static_cast<std::size_t>(k)] - 100) * std::exp(-attenuation))));
        }

    const h5::id exchange(H5Fcreate((folder + "/exchange.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), folder);
    put(exchange, "/exchange/data", data, { views, rows, bins });
    put(exchange, "/exchange/data_white", flat, { 1, rows, bins });
    put(exchange, "/exchange/data_dark", dark, { 1, rows, bins });
    put(exchange, "/exchange/theta", degrees, { views });

    // Two darks and a flat before the scan, an image that is not valid within it, a flat after it.
    const image bad(rows * bins, 7);
    image stack;
    std::vector<double> key, turns;
    const auto add = [&](double kind, double turn, const uint16_t *frame) {
        key.push_back(kind), turns.push_back(turn);
        stack.insert(stack.end(), frame, frame + rows * bins);
    };
    add(2, 0, dark.data()), add(2, 0, dark.data()), add(1, 0, flat.data());
    for (int k = 0; k < views; k++) {
        if (k == views / 3) add(3, 1e6, bad.data());
        add(0, degrees[static_cast<std::size_t>(k)], &data[static_cast<std::size_t>(k * rows * bins)]);
    }
    add(1, 180, flat.data());
    const h5::id nxtomo(H5Fcreate((folder + "/nxtomo.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), folder);
    put(nxtomo, "/entry0000/instrument/detector/data", stack, { frames, rows, bins });
    put(nxtomo, "/entry0000/instrument/detector/image_key", key, { frames });
    put(nxtomo, "/entry0000/sample/rotation_angle", turns, { frames });
}

// Whether `call` throws, with these words.
template <class F> void expect_refused(const char *what, const std::string &words, F &&call) {
    std::string said = "no exception";
    try {
        call();
    } catch (const std::exception &e) {
        said = e.what();
    }
    expect(what, has(said.c_str(), words.c_str()), said);
}

// A scan must not be replaced by its volume, by whatever name either goes.
void refused_outputs(const std::string &folder) {
    const std::string nxtomo = folder + "/nxtomo.h5", exchange = folder + "/exchange.h5", link = folder + "/link.h5",
                      hard = folder + "/hard.h5", linking = folder + "/linking.h5", part = folder + "/whole.h5.part";
    for (const std::string &path : { link, hard, linking, part }) unlink(path.c_str());
    expect("links", symlink("nxtomo.h5", link.c_str()) == 0 && ::link(nxtomo.c_str(), hard.c_str()) == 0 &&
                        symlink("nxtomo.h5", part.c_str()) == 0);
    const scan_file scan(nxtomo);
    for (const std::string &output : { nxtomo, folder + "/../" + folder.substr(folder.rfind('/') + 1) + "/nxtomo.h5", link, hard })
        expect_refused("a volume over its scan", output + ": the scan is read from this file", [&] { scan.check_output(output); });
    expect_refused("a volume whose part is the scan", "the scan is read from " + part, [&] { scan.check_output(folder + "/whole.h5"); });
    for (const std::string &output : { exchange, folder + "/none.h5", folder + "/none/none.h5" })
        scan.check_output(output);
    scan_file(link).check_output(exchange);
    expect_refused("a volume over a scan that is read by a link", "the scan is read from", [&] { scan_file(link).check_output(nxtomo); });

    // A file whose data are in another one.
    {
        const h5::id file(H5Fcreate(linking.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), linking);
        h5::check(H5Lcreate_external("exchange.h5", "/exchange", file, "/exchange", H5P_DEFAULT, H5P_DEFAULT), linking);
    }
    const scan_file linked(linking);
    for (const std::string &output : { linking, exchange })
        expect_refused("a volume over linked data", "the scan is read from", [&] { linked.check_output(output); });
    linked.check_output(nxtomo);
    for (const std::string &path : { link, hard, linking, part }) unlink(path.c_str());
}

void refused_numbers() {
    expect("whole numbers", whole_number("N", "-12") == -12 && whole_number("N", "1", 1) == 1);
    for (const char *word : { "", "a", "1.5", "1 ", " 1", "0x10", "1e3", "99999999999999999999" })
        expect_refused("no whole number", std::string("N is '") + word + "'; it must be a whole number", [&] { whole_number("N", word); });
    expect_refused("a number that is too small", "N is 0; it must be 1 or more", [] { whole_number("N", "0", 1); });
    expect("numbers", number_from_zero("N", "0.5") == 0.5 && number_from_zero("N", "0") == 0 && number_from_zero("N", "1e3") == 1000);
    for (const char *word : { "", "a", "1.5x", "-1", "nan", "inf", "1e999" })
        expect_refused("no number", std::string("N is '") + word + "'; it must be a number of 0 or more", [&] { number_from_zero("N", word); });
}

std::vector<float> volume(const std::string &path, std::vector<hsize_t> &sizes) {
    const h5::id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path), set = h5::open_set(file, "/exchange/data");
    sizes = h5::sizes(set, 3, path);
    std::vector<float> values(sizes[0] * sizes[1] * sizes[2]);
    h5::check(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path);
    return values;
}

void check(const std::string &path, int first, int count) {
    std::vector<hsize_t> sizes;
    const std::vector<float> values = volume(path, sizes);
    if (!expect("slices", sizes[0] == static_cast<hsize_t>(count), std::to_string(sizes[0]))) return;
    for (int slice = 0; slice < count; slice++) {
        const double value = double{ values[static_cast<std::size_t>((slice * bins + bins / 2) * bins + bins / 2)] };
        const double truth = 0.01 * (first + slice + 1);
        expect_near("the disk in a slice", value / truth, 1, 0.01);
    }
}

void part(const std::string &whole, const std::string &some, const hsize_t (&columns)[2], const hsize_t (&rows_seen)[2]) {
    std::vector<hsize_t> a, b;
    const std::vector<float> all = volume(whole, a), seen = volume(some, b);
    const hsize_t nx = columns[1] - columns[0], ny = rows_seen[1] - rows_seen[0];
    if (!expect("the region's size", b[0] == a[0] && b[1] == ny && b[2] == nx)) return;
    double most = 0, off = 0;
    for (const float value : all) most = std::max(most, std::fabs(double{ value }));
    for (hsize_t k = 0; k < seen.size(); k++) {
        const hsize_t z = k / (ny * nx), i = k / nx % ny + rows_seen[0], j = k % nx + columns[0];
        off = std::max(off, std::fabs(double{ seen[k] } - double{ all[(z * a[1] + i) * a[2] + j] }));
    }
    // As in tests/c/region.c, where pixels lie at up to 96 bins; at some 640 positions round in steps eight times as large.
    expect("the region's values", off <= 8e-5 * most, std::to_string(off / most));
}

} // namespace

int main(int argc, char **argv) try {
    const std::string what = argc > 2 ? argv[1] : "";
    if (what == "write") {
        write(argv[2]);
        refused_outputs(argv[2]), refused_numbers();
    } else if (what == "check" && argc == 5) {
        check(argv[2], std::stoi(argv[3]), std::stoi(argv[4]));
    } else if (what == "same" && argc == 4) {
        std::vector<hsize_t> a, b;
        expect("equal volumes", volume(argv[2], a) == volume(argv[3], b) && a == b);
    } else if (what == "part" && argc == 8) {
        part(argv[2], argv[3], { std::stoul(argv[4]), std::stoul(argv[5]) }, { std::stoul(argv[6]), std::stoul(argv[7]) });
    } else {
        std::puts("see the top of the source");
        return 2;
    }
    return finish();
} catch (const std::exception &e) {
    std::printf("%s\n", e.what());
    return 1;
}
