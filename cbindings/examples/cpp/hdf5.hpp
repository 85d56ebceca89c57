// What the example needs of HDF5, with errors as exceptions and identifiers that close themselves.
#ifndef HDF5_HPP
#define HDF5_HPP

#include <hdf5.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace h5 {

// Before anything else of HDF5: failures are exceptions, not stacks on stderr. Files are closed by those who open them: at the exit of a program
// HDF5 1.10 tries again what a full disk kept it from closing, and crashes.
inline void begin() {
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

// Throws where HDF5 returned a negative number.
template <class T> T check(T result, const std::string &what) {
    if (result < 0) throw std::runtime_error(what);
    return result;
}

// An identifier: a file, data set, data space, type or property list.
class id {
public:
    id(hid_t value, const std::string &what) : value_(check(value, what)) {}
    id(id &&other) noexcept : value_(std::exchange(other.value_, -1)) {}
    id &operator=(id &&other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~id() {
        if (value_ >= 0) H5Idec_ref(value_);
    }
    operator hid_t() const { return value_; }

    // Closes it, and tells whether that went well.
    void close(const std::string &what) { check(H5Idec_ref(std::exchange(value_, -1)), what); }

private:
    hid_t value_;
};

template <class T> hid_t memory_type();
template <> inline hid_t memory_type<float>() { return H5T_NATIVE_FLOAT; }
template <> inline hid_t memory_type<double>() { return H5T_NATIVE_DOUBLE; }
template <> inline hid_t memory_type<uint16_t>() { return H5T_NATIVE_UINT16; }
template <> inline hid_t memory_type<uint8_t>() { return H5T_NATIVE_UINT8; }

inline bool exists(hid_t file, const std::string &path) {
    // H5Lexists looks at the last link only: those before it must be there.
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
        if (H5Lexists(file, path.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    return H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0;
}

inline id open_set(hid_t file, const std::string &path) {
    return { H5Dopen2(file, path.c_str(), H5P_DEFAULT), "no data set " + path };
}

// The file that a file or data set is in.
inline std::string file_name(const id &of) {
    const ssize_t size = check(H5Fget_name(of, nullptr, 0), "a file without a name");
    std::string name(static_cast<std::size_t>(size) + 1, '\0');
    check(H5Fget_name(of, name.data(), name.size()), "a file without a name");
    name.pop_back();
    return name;
}

// Sizes of a data set of `ndim` dimensions.
inline std::vector<hsize_t> sizes(const id &set, int ndim, const std::string &path) {
    const id space(H5Dget_space(set), "no data space: " + path);
    if (H5Sget_simple_extent_ndims(space) != ndim)
        throw std::runtime_error(path + " must have " + std::to_string(ndim) + " dimensions");
    std::vector<hsize_t> all(static_cast<std::size_t>(ndim));
    check(H5Sget_simple_extent_dims(space, all.data(), nullptr), "no sizes: " + path);
    return all;
}

// A whole data set of one dimension.
inline std::vector<double> numbers(hid_t file, const std::string &path) {
    const id set = open_set(file, path);
    std::vector<double> values(static_cast<std::size_t>(sizes(set, 1, path)[0]));
    check(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "cannot read " + path);
    return values;
}

} // namespace h5

#endif
