// A parallel-beam scan in an HDF5 file, read in blocks of detector rows. Two layouts:
//   NXtomo          X/instrument/detector/data (frames, rows, bins), image_key (frames): 0 a projection, 1 a flat field, 2 a dark field,
//                   others skipped; X/sample/rotation_angle (frames), degrees unless its attribute `units` says radians
//   Data Exchange   /exchange/data (views, rows, bins), data_white and data_dark (frames, rows, bins), theta (views), degrees
#ifndef SCAN_FILE_HPP
#define SCAN_FILE_HPP

#include "hdf5.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <sys/stat.h>
#include <vector>

// What a volume's name ends in while it is not whole.
constexpr const char *volume_part = ".part";

class scan_file {
public:
    // Some frames of a data set, as runs of neighbours.
    struct frames {
        std::string path;
        std::vector<std::pair<hsize_t, hsize_t>> runs; // first, count
        hsize_t count = 0;

        void add(hsize_t frame) {
            if (runs.empty() || runs.back().first + runs.back().second != frame) runs.emplace_back(frame, 0);
            runs.back().second++, count++;
        }
    };

    explicit scan_file(const std::string &path)
        : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path + ": missing, or not HDF5") {
        std::string key;
        H5Lvisit(file_, H5_INDEX_NAME, H5_ITER_NATIVE, find_key, &key);
        if (!key.empty()) read_nxtomo(key.substr(0, key.size() - std::strlen(key_path)));
        else if (h5::exists(file_, "/exchange/data")) read_data_exchange();
        else throw std::runtime_error(path + " is neither NXtomo nor Data Exchange");
        if (views.count == 0) throw std::runtime_error(path + ": no projections");
        if (angles.size() != views.count) throw std::runtime_error(path + ": one angle a projection is needed");
    }

    frames views, flats, darks;
    std::vector<double> angles; // radians, one a view
    hsize_t rows = 0, bins = 0;

    // Bytes of an unsigned integer that the frames are made of; 0 for any other type.
    std::size_t unsigned_bytes() const {
        const h5::id set = h5::open_set(file_, views.path), type(H5Dget_type(set), "no type: " + views.path);
        return H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE ? H5Tget_size(type) : 0;
    }

    // Refuses a path for the volume that is, by whatever name, a file that the scan is read from: it would be lost.
    void check_output(const std::string &path) const {
        const auto refuse = [&](const std::string &source) {
            for (const std::string &written : { path, path + volume_part })
                if (same_file(source, written))
                    throw std::runtime_error(path + ": the scan is read from " + (written == path ? "this file" : written) +
                                             "; the volume needs another name");
        };
        refuse(h5::file_name(file_));
        for (const frames *which : { &views, &flats, &darks }) // links may lead to other files
            if (which->count > 0) refuse(h5::file_name(h5::open_set(file_, which->path)));
    }

    // Reads rows first to first + count of all these frames, (frames, count, bins).
    template <class T> void read(const frames &which, hsize_t first, hsize_t count, T *out) const {
        const h5::id set = h5::open_set(file_, which.path), space(H5Dget_space(set), "no data space: " + which.path);
        H5Sselect_none(space);
        for (const auto &[frame, number] : which.runs) {
            const hsize_t start[] = { frame, first, 0 }, size[] = { number, count, bins };
            h5::check(H5Sselect_hyperslab(space, H5S_SELECT_OR, start, nullptr, size, nullptr), "no such rows: " + which.path);
        }
        const hsize_t sizes[] = { which.count, count, bins };
        const h5::id memory(H5Screate_simple(3, sizes, nullptr), "no data space in memory");
        h5::check(H5Dread(set, h5::memory_type<T>(), memory, space, H5P_DEFAULT, out), "cannot read " + which.path);
    }

    // Reads them all.
    std::vector<float> read(const frames &which) const {
        std::vector<float> values(which.count * rows * bins);
        if (which.count > 0) read(which, 0, rows, values.data());
        return values;
    }

private:
    static bool same_file(const std::string &a, const std::string &b) {
        struct stat one, other;
        return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    }

    static constexpr const char *key_path = "instrument/detector/image_key";

    static herr_t find_key(hid_t, const char *name, const H5L_info_t *, void *found) {
        const std::size_t size = std::strlen(name), end = std::strlen(key_path);
        if (size < end || std::strcmp(name + size - end, key_path) != 0) return 0;
        *static_cast<std::string *>(found) = name;
        return 1;
    }

    void read_nxtomo(const std::string &entry) {
        views.path = flats.path = darks.path = entry + "instrument/detector/data";
        const std::vector<hsize_t> sizes = set_sizes(views.path);
        const std::vector<double> key = h5::numbers(file_, entry + key_path),
                                  turns = h5::numbers(file_, entry + "sample/rotation_angle");
        if (key.size() != sizes[0] || turns.size() != sizes[0])
            throw std::runtime_error(entry + ": image_key and rotation_angle need one value a frame");
        const double unit = in_radians(entry + "sample/rotation_angle") ? 1 : degree;
        for (std::size_t frame = 0; frame < key.size(); frame++) {
            if (key[frame] == 1) flats.add(frame);
            if (key[frame] == 2) darks.add(frame);
            if (key[frame] != 0) continue;
            views.add(frame);
            angles.push_back(turns[frame] * unit);
        }
    }

    void read_data_exchange() {
        const auto all = [&](const char *path) {
            frames found;
            if (!h5::exists(file_, path)) return found;
            found.path = path, found.count = set_sizes(path)[0];
            found.runs.emplace_back(0, found.count);
            return found;
        };
        views = all("/exchange/data"), flats = all("/exchange/data_white"), darks = all("/exchange/data_dark");
        angles = h5::numbers(file_, "/exchange/theta");
        for (double &angle : angles) angle *= degree;
    }

    // Sizes of frames, which must be the same in all data sets.
    std::vector<hsize_t> set_sizes(const std::string &path) {
        const std::vector<hsize_t> found = h5::sizes(h5::open_set(file_, path), 3, path);
        if (rows != 0 && (found[1] != rows || found[2] != bins))
            throw std::runtime_error(path + " has other rows and bins than the projections");
        rows = found[1], bins = found[2];
        return found;
    }

    bool in_radians(const std::string &path) const {
        const h5::id set = h5::open_set(file_, path);
        if (H5Aexists(set, "units") <= 0) return false;
        const h5::id units(H5Aopen(set, "units", H5P_DEFAULT), "no units: " + path), type(H5Aget_type(units), "no type: " + path);
        std::string text(H5Tget_size(type) + 1, '\0');
        if (H5Tis_variable_str(type) > 0) {
            char *words = nullptr;
            h5::check(H5Aread(units, type, &words), "cannot read the units of " + path);
            text = words ? words : "";
            H5free_memory(words);
        } else {
            h5::check(H5Aread(units, type, text.data()), "cannot read the units of " + path);
        }
        return text.compare(0, 3, "rad") == 0;
    }

    static constexpr double degree = 3.14159265358979323846 / 180;
    h5::id file_;
};

// A volume, f32 (slices, ny, nx), as /exchange/data of a new HDF5 file, written some slices at a time. Until finish() it is PATH.part, which
// goes where something fails before: PATH itself is whole, or what it was.
class volume_file {
public:
    volume_file(const std::string &path, hsize_t slices, hsize_t ny, hsize_t nx)
        : path_(path), sizes_{ slices, ny, nx }, file_(part_.create(path)),
          group_(H5Gcreate2(file_, "exchange", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path + " cannot be written"),
          space_(H5Screate_simple(3, sizes_, nullptr), "no data space"),
          set_(H5Dcreate2(group_, "data", H5T_IEEE_F32LE, space_, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path + " cannot be written") {}

    void write(hsize_t first, hsize_t count, const float *slices) {
        const hsize_t start[] = { first, 0, 0 }, size[] = { count, sizes_[1], sizes_[2] };
        const h5::id memory(H5Screate_simple(3, size, nullptr), "no data space in memory");
        h5::check(H5Sselect_hyperslab(space_, H5S_SELECT_SET, start, nullptr, size, nullptr), "no such slices");
        h5::check(H5Dwrite(set_, H5T_NATIVE_FLOAT, memory, space_, H5P_DEFAULT, slices), path_ + " cannot be written");
    }

    // A full disk may show only here.
    void finish() {
        const std::string what = path_ + " cannot be written";
        h5::check(H5Fflush(file_, H5F_SCOPE_GLOBAL), what);
        for (h5::id *open : { &set_, &space_, &group_, &file_ }) open->close(what);
        part_.rename(path_);
    }

private:
    // The file while it is not whole; removed after HDF5 has closed it.
    class part {
    public:
        part() = default;
        part(const part &) = delete;
        part &operator=(const part &) = delete;
        ~part() {
            if (!name_.empty()) std::remove(name_.c_str());
        }

        h5::id create(const std::string &path) {
            const std::string name = path + volume_part;
            h5::id file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), name + " cannot be created");
            name_ = name;
            return file;
        }
        void rename(const std::string &path) {
            if (std::rename(name_.c_str(), path.c_str()) != 0) throw std::runtime_error(path + " cannot be written");
            name_.clear();
        }

    private:
        std::string name_;
    };

    std::string path_;
    hsize_t sizes_[3];
    part part_;
    h5::id file_, group_, space_, set_;
};

#endif
