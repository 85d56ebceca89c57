// MATLAB arrays as the library's tensors: where they lie, without a copy. The exceptions are complex arrays where MATLAB keeps the
// parts apart (mex -R2017b), and real arrays given for complex ones: these are copied once.
#include "gateway.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <numeric>

// MATLAB's MX_HAS_INTERLEAVED_COMPLEX is a comparison without parentheses, which ! would take apart.
#if MX_HAS_INTERLEAVED_COMPLEX
#define SEPARATE_COMPLEX 0
#else
#define SEPARATE_COMPLEX 1
#endif

static unsigned type_of(const mxArray *value) {
    const unsigned parts = mxIsComplex(value) ? unsigned{ is_complex } : 0;
    switch (mxGetClassID(value)) {
        case mxSINGLE_CLASS: return is_single | parts;
        case mxDOUBLE_CLASS: return is_double | parts;
        case mxUINT8_CLASS: return is_uint8 | parts;
        case mxUINT16_CLASS: return is_uint16 | parts;
        case mxUINT32_CLASS: return is_uint32 | parts;
        default: return 0;
    }
}

static isoc_dtype dtype_of(unsigned type) {
    const auto doubled = static_cast<uint8_t>(type & is_complex ? 2 : 1);
    const auto code = static_cast<uint8_t>(type & is_complex ? ISOC_DTYPE_COMPLEX : type & (is_single | is_double) ? ISOC_DTYPE_FLOAT : ISOC_DTYPE_UINT);
    const int bits = type & is_double ? 64 : type & (is_single | is_uint32) ? 32 : type & is_uint16 ? 16 : 8;
    return { code, static_cast<uint8_t>(bits * doubled), 1 };
}

static const char *class_of(unsigned type) {
    return type & is_single ? "single" : type & is_double ? "double" : type & is_uint8 ? "uint8" : type & is_uint16 ? "uint16" : "uint32";
}

static std::string classes(unsigned types) {
    std::string out;
    for (unsigned type = is_single; type < is_complex; type <<= 1)
        if (types & type) out += (out.empty() ? "" : " or ") + std::string(class_of(type));
    return out;
}

// A name as code has it. Some arrays have none.
static std::string written(const char *name) { return strchr(name, ' ') ? "..." : name; }

static void check_type(const mxArray *value, const char *name, unsigned types) {
    const char *class_name = mxGetClassName(value);
    if (!strcmp(class_name, "gpuArray")) fail("arrayType", "%s is a gpuArray; write gather(%s)", name, name);
    if (mxIsSparse(value)) fail("arrayType", "%s is sparse; write full(%s)", name, name);
    if (!(type_of(value) & types & ~is_complex)) {
        std::string hint;
        if (mxIsNumeric(value) && types & is_single) {
            // Integers are counts. A class that is signed or wider would be cut off at the ends of what is taken.
            const mxClassID id = mxGetClassID(value);
            const bool whole = !mxIsDouble(value) && !mxIsSingle(value);
            const bool fits = types & is_uint32 && (id == mxUINT8_CLASS || id == mxUINT16_CLASS);
            hint = std::string(": write ") + (fits ? "uint32" : "single") + "(" + written(name) + ")";
            if (whole && types & is_uint16) hint += ", with ct.setOptions('Input', 'counts') if these are counts";
        } else if ((mxIsNumeric(value) || mxIsLogical(value)) && types & is_uint32) {
            hint = std::string(": write uint32(") + written(name) + ")";
        }
        fail("arrayType", "%s is of class %s; it must be %s%s", name, class_name, classes(types).c_str(), hint.c_str());
    }
    if (mxIsComplex(value) && !(types & is_complex)) fail("arrayType", "%s is complex; it must be real", name);
}

std::string times(const std::vector<int64_t> &size) {
    std::string out;
    for (size_t k = 0; k < size.size(); k++) out += (k ? " x " : "") + std::to_string(size[k]);
    return size.size() == 1 ? out + " x 1" : out;
}

std::vector<int64_t> size_of(const mxArray *value) {
    const mwSize *dimensions = mxGetDimensions(value);
    return std::vector<int64_t>(dimensions, dimensions + mxGetNumberOfDimensions(value));
}

static int64_t product(const std::vector<int64_t> &size) { return std::accumulate(size.begin(), size.end(), int64_t{ 1 }, std::multiplies<>()); }

static std::vector<int64_t> without_ones(std::vector<int64_t> size) {
    size.erase(std::remove(size.begin(), size.end(), 1), size.end());
    return size;
}

using order = std::vector<size_t>;

static bool is_kept(const order &o) { return std::is_sorted(o.begin(), o.end()); }

// How far an order is from the one that is there: most in a full reversal.
static size_t turns(const order &o) {
    size_t out = 0;
    for (auto at = o.begin(); at != o.end(); ++at) out += static_cast<size_t>(std::count_if(at, o.end(), [&](size_t l) { return l < *at; }));
    return out;
}

// The orders of dimensions in which `from` fits `to`, where 0 stands for any size, from the least turned one to the most turned. Of
// those that differ in the place of ones, the most turned.
static std::vector<order> fitting(const std::vector<int64_t> &from, const std::vector<int64_t> &to) {
    const std::vector<int64_t> wanted = without_ones(to);
    std::vector<order> out;
    order o(from.size());
    std::iota(o.begin(), o.end(), size_t{ 0 });
    const auto same = [&](const order &a, const order &b) {
        order left, right;
        std::copy_if(a.begin(), a.end(), std::back_inserter(left), [&](size_t k) { return from[k] != 1; });
        std::copy_if(b.begin(), b.end(), std::back_inserter(right), [&](size_t k) { return from[k] != 1; });
        return left == right;
    };
    do {
        std::vector<int64_t> turned;
        for (size_t k : o)
            if (from[k] != 1) turned.push_back(from[k]);
        if (turned.size() != wanted.size()) return {};
        if (!std::equal(turned.begin(), turned.end(), wanted.begin(), [](int64_t n, int64_t m) { return m == 0 || n == m; })) continue;
        const auto before = std::find_if(out.begin(), out.end(), [&](const order &other) { return same(o, other); });
        if (before == out.end()) out.push_back(o);
        else if (!is_kept(*before) && turns(o) > turns(*before)) *before = o;
    } while (std::next_permutation(o.begin(), o.end()));
    std::stable_sort(out.begin(), out.end(), [](const order &a, const order &b) { return turns(a) < turns(b); });
    return out;
}

static std::string permuted(const std::string &name, const order &o) {
    if (is_kept(o)) return name;
    if (o.size() == 2) return name + ".'";
    std::string out = "permute(" + name + ", [";
    for (size_t k = 0; k < o.size(); k++) out += (k ? " " : "") + std::to_string(o[k] + 1);
    return out + "])";
}

// What to write where several orders fit: dimensions of one size have changed places in C's order, and have not in MATLAB's.
static std::string turning(const std::string &name, const std::vector<order> &fits) {
    if (is_kept(fits.front())) return "";
    if (fits.size() == 1) return "write " + permuted(name, fits[0]);
    return "from Python or C order, write " + permuted(name, fits.back()) + " (" + permuted(name, fits.front()) + " fits too)";
}

static std::string reshaping(const std::string &name, const std::vector<int64_t> &size) {
    std::string out = "reshape(" + name;
    for (int64_t n : size) out += ", " + std::to_string(n);
    return out + (size.size() == 1 ? ", 1)" : ")");
}

// Elements in the order in which they lie, or in C's, where the sizes at the ends say which it is.
static std::string regrouping(const std::vector<int64_t> &size, const std::string &name, const std::vector<int64_t> &wanted) {
    const std::vector<int64_t> from = without_ones(size), to = without_ones(wanted);
    const std::string kept = "if its elements lie in that order, write " + reshaping(name, wanted);
    if (from.size() < 2 || to.empty()) return kept;
    order reversed(size.size());
    std::iota(reversed.rbegin(), reversed.rend(), size_t{ 0 });
    std::string turned = "reshape(" + permuted(name, reversed) + ", []";
    for (size_t k = 1; k < wanted.size(); k++) turned += ", " + std::to_string(wanted[k]);
    turned += wanted.size() == 1 ? ", 1)" : ")";
    const bool keeps = from.front() == to.front() || from.back() == to.back(), turns = from.back() == to.front() || from.front() == to.back();
    if (turns && !keeps) return "from Python or C order, write " + turned;
    return keeps && !turns ? kept : kept + "; from Python or C order, " + turned;
}

std::string transposing(const mxArray *value, size_t rows, const char *name) {
    return mxGetNumberOfDimensions(value) == 2 && mxGetN(value) == rows ? ": write " + std::string(name) + ".'" : "";
}

std::string sized(const char *name, const shape &s) { return std::string(name) + " " + times(s.size) + " (" + s.meaning + ")"; }

// How an array would fit: with other dimensions, in a plan that counts rows or coils, or in another shape.
static std::string advice(const std::vector<int64_t> &size, const std::string &name, const shape &expected) {
    const auto fits = fitting(size, expected.size);
    if (!fits.empty()) {
        const bool swaps = expected.swapped && std::find(fits.begin(), fits.end(), order{ 0, 2, 1 }) != fits.end();
        return turning(name, fits) + (swaps ? std::string(", or make the plan with ") + expected.swapped : "");
    }
    if (expected.cause) return expected.cause;
    const int64_t count = product(size);
    if (expected.option) {
        const auto counted = std::find(expected.counted.begin(), expected.counted.end(), 0) - expected.counted.begin();
        const auto making = [&](int64_t number) { return std::string("make the plan with '") + expected.option + "', " + std::to_string(number); };
        const auto turned = fitting(size, expected.counted);
        std::vector<int64_t> whole = expected.counted;
        whole[static_cast<size_t>(counted)] = 1;
        const int64_t each = product(whole);
        // In another order of dimensions, one that has the option's number already says that the number is right.
        const bool has_number = expected.elements() > each && std::find(size.begin(), size.end(), expected.elements() / each) != size.end();
        if (!turned.empty() && (!has_number || is_kept(turned.front()))) {
            const std::string how = turning(name, turned);
            return (how.empty() ? "" : how + " and ") + making(count / each);
        }
        if (count > each && count != expected.elements() && count % each == 0 && size[0] != expected.size[0] && !has_number) {
            whole[static_cast<size_t>(counted)] = count / each;
            return regrouping(size, name, whole) + " and " + making(count / each);
        }
    }
    return count == expected.elements() ? regrouping(size, name, expected.size) : "";
}

// Dimensions of 1 may be left out or put in: they say nothing about where elements lie.
static void check_size(const mxArray *value, const char *name, const shape &expected) {
    const std::vector<int64_t> size = size_of(value);
    if (without_ones(size) == without_ones(expected.size)) return;
    const std::string hint = size.size() <= 4 && !mxIsEmpty(value) ? advice(size, written(name), expected) : "";
    fail("arrayShape", "%s is %s; it must be %s (%s)%s%s", name, times(size).c_str(), times(expected.size).c_str(), expected.meaning,
         hint.empty() ? "" : ": ", hint.c_str());
}

int64_t shape::elements() const { return product(size); }

void array::describe(unsigned type, const shape &size) {
    type_ = type;
    elements_ = size.elements();
    sizes_.assign(size.size.rbegin(), size.size.rend());
    tensor_.device = ISOC_HOST;
    tensor_.dtype = dtype_of(type);
    tensor_.ndim = static_cast<int32_t>(sizes_.size());
    tensor_.shape = sizes_.data();
}

template <class T> static T *joined(const T *real, const T *imaginary, int64_t count) {
    T *out = static_cast<T *>(mxMalloc(2 * static_cast<size_t>(count) * sizeof(T)));
    for (int64_t k = 0; k < count; k++) out[2 * k] = real[k], out[2 * k + 1] = imaginary ? imaginary[k] : T{};
    return out;
}

static void *interleaved(const mxArray *value, int64_t count) {
    const void *imaginary = nullptr;
#if SEPARATE_COMPLEX
    imaginary = mxIsComplex(value) ? mxGetImagData(value) : nullptr;
#else
    if (mxIsComplex(value)) return mxGetData(value);
#endif
    const void *real = mxGetData(value);
    if (mxIsDouble(value)) return joined(static_cast<const double *>(real), static_cast<const double *>(imaginary), count);
    return joined(static_cast<const float *>(real), static_cast<const float *>(imaginary), count);
}

// Of the arrays of the call that runs.
static std::map<std::string, size_t> dimensions;
static std::map<std::string, std::string> names;

void arrays_forget() {
    dimensions.clear();
    names.clear();
}

void array_rename(const std::string &name, const std::string &in_matlab) { names[name] = in_matlab; }

std::string array_name(const std::string &name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
}

size_t array_dimensions(const std::string &name) {
    const auto found = dimensions.find(name);
    return found == dimensions.end() ? 0 : found->second;
}

array::array(const mxArray *value, const char *name, unsigned types, const shape &expected) {
    dimensions[name] = mxGetNumberOfDimensions(value);
    if (mxIsEmpty(value)) check_size(value, name, expected); // [] is a double, which is not what is wrong with it
    check_type(value, name, types);
    check_size(value, name, expected);
    describe(type_of(value) | (types & is_complex), expected);
    tensor_.data = type_ & is_complex ? interleaved(value, elements_) : mxGetData(value);
}

array::array(const mxArray *sparse, int64_t entries) {
    describe(type_of(sparse), { { entries }, "entries" });
    tensor_.data = type_ & is_complex ? interleaved(sparse, entries) : mxGetData(sparse);
}

// As MATLAB's own arrays have them: two at least, and no 1 at the end of more.
static std::vector<int64_t> dimensions_of(std::vector<int64_t> size) {
    while (size.size() > 2 && size.back() == 1) size.pop_back();
    size.resize(std::max<size_t>(size.size(), 2), 1);
    return size;
}

#if defined(ISOCENTER_OCTAVE)
static mxArray *new_array(unsigned type, const std::vector<int64_t> &wanted, bool) {
    const std::vector<int64_t> size = dimensions_of(wanted);
    const bool interleaved = (type & is_complex) && !SEPARATE_COMPLEX;
    if ((type & is_complex) && !interleaved) {
        const std::vector<mwSize> dimensions(size.begin(), size.end());
        return mxCreateNumericArray(static_cast<int>(dimensions.size()), dimensions.data(), type & is_double ? mxDOUBLE_CLASS : mxSINGLE_CLASS,
                                    mxCOMPLEX);
    }
    mxArray *in[] = { row(std::vector<double>(size.begin(), size.end())), mxCreateString(class_of(type)), mxCreateLogicalScalar(interleaved) };
    mxArray *out = nullptr;
    mexCallMATLAB(1, &out, 3, in, "isocenter_array");
    for (mxArray *argument : in) mxDestroyArray(argument);
    if (type_of(out) != type) fail("internal", "Octave made an array of another type");
    return out;
}
#else
static mxArray *new_array(unsigned type, const std::vector<int64_t> &wanted, bool zeros) {
    const std::vector<int64_t> size = dimensions_of(wanted);
    std::vector<mwSize> dimensions(size.begin(), size.end());
    const mxClassID integers = type & is_uint8 ? mxUINT8_CLASS : type & is_uint16 ? mxUINT16_CLASS : mxUINT32_CLASS;
    const mxClassID class_id = type & is_double ? mxDOUBLE_CLASS : type & is_single ? mxSINGLE_CLASS : integers;
    const mxComplexity parts = type & is_complex ? mxCOMPLEX : mxREAL;
    return zeros ? mxCreateNumericArray(dimensions.size(), dimensions.data(), class_id, parts)
                 : mxCreateUninitNumericArray(dimensions.size(), dimensions.data(), class_id, parts);
}
#endif

array::array(unsigned type, const shape &size, contents before) {
    describe(type, size);
    result_ = new_array(type, size.size, before == contents::zeros);
    const size_t bytes = static_cast<size_t>(elements_) * tensor_.dtype.bits / 8;
    tensor_.data = SEPARATE_COMPLEX && (type & is_complex) ? mxMalloc(bytes) : mxGetData(result_);
#if defined(ISOCENTER_OCTAVE)
    if (before == contents::zeros) memset(tensor_.data, 0, bytes);
#endif
}

array::array(const array &initial, const shape &size) : array(initial.type_, size, contents::any) {
    memcpy(tensor_.data, initial.tensor_.data, static_cast<size_t>(elements_) * tensor_.dtype.bits / 8);
}

#if SEPARATE_COMPLEX
template <class T> static void split(const T *from, void *real, void *imaginary, int64_t count) {
    for (int64_t k = 0; k < count; k++) static_cast<T *>(real)[k] = from[2 * k], static_cast<T *>(imaginary)[k] = from[2 * k + 1];
}
#endif

mxArray *array::finish() {
#if SEPARATE_COMPLEX
    if (type_ & is_complex) {
        void *real = mxGetData(result_), *imaginary = mxGetImagData(result_);
        if (type_ & is_double) split(static_cast<const double *>(tensor_.data), real, imaginary, elements_);
        else split(static_cast<const float *>(tensor_.data), real, imaginary, elements_);
        mxFree(tensor_.data);
    }
#endif
    return result_;
}
