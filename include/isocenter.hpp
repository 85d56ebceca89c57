/* Isocenter: image reconstruction for scanners. C++17 over isocenter.h, header only.
 *
 *     #include <isocenter.hpp>
 *
 *     isocenter::context context;                          // all GPUs, or the processor
 *     isocenter::ct ct(context);
 *     isocenter::ct::geometry geometry;                    // isoc_ct_geometry, with lists in place of its pointers
 *     geometry.angles = radians, geometry.rows = rows, geometry.bins = bins;
 *     ct.set_geometry(geometry);
 *     ct.reconstruct({ projections, { views, rows, bins } }, { volume, { rows, bins, bins } });
 *
 * `projections` and `volume` are what holds the caller's elements: a std::vector, std::span, host_array, or a pointer. They are
 * used in place, never copied; see tensor. Whatever fails throws isocenter::error. Handles clean up after themselves.
 *
 * isocenter.h is the manual of what is computed: each method here is the C function of its name, isoc_ct_reconstruct for
 * ct::reconstruct, and takes the C header's constants (ISOC_CT_FILTER_HANN) and structs. Structs with pointers have the same fields here,
 * with a list for each pointer and its count, so that lengths are known, and what a list was made from may go. Where a C function takes
 * a pointer that may be NULL for a tensor, nullptr is accepted here.
 *
 * Threads: what isocenter.h says of handles holds for these objects (any thread may call, calls on one plan wait for each other),
 * except that an object must not be moved, assigned to or destroyed while another thread uses it.
 *
 * Without exceptions (-fno-exceptions, or ISOCENTER_NO_EXCEPTIONS defined before the first inclusion) what returns T here returns
 * isocenter::result<T>, and handles come from create() alone:
 *
 *     auto made = isocenter::ct::create(context);
 *     if (!made) return report(made.status(), made.message());
 *     isocenter::ct ct = std::move(*made);
 *
 * This file writes outcome<T> for T with exceptions, result<T> without. Both modes may meet in one program. RTTI is not needed.
 *
 * Licence: MIT or Apache-2.0.
 */
#ifndef ISOCENTER_HPP
#define ISOCENTER_HPP

// MSVC says C++98 in __cplusplus unless it is told otherwise.
#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "isocenter.hpp needs C++17: -std=c++17, or in CMake target_compile_features(yours PRIVATE cxx_std_17)"
#endif

#include <isocenter.h>

#include <array>
#include <complex>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(ISOCENTER_NO_EXCEPTIONS) || !defined(__cpp_exceptions)
#define ISOCENTER_EXCEPTIONS 0
#else
#define ISOCENTER_EXCEPTIONS 1
#endif

// A constructor that is deleted says why where the compiler can.
#if __cplusplus > 202302L && defined(__cpp_deleted_function)
#define ISOCENTER_DELETED(why) delete("isocenter: " why)
#else
#define ISOCENTER_DELETED(why) delete
#endif

#if defined(__clang__) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define ISOCENTER_LIFETIMEBOUND [[clang::lifetimebound]]
#endif
#endif
#ifndef ISOCENTER_LIFETIMEBOUND
#define ISOCENTER_LIFETIMEBOUND
#endif

// What is thrown in one shared library is caught in another one; compilers compare formats with arguments. MSVC needs neither word.
#if defined(__GNUC__)
#define ISOCENTER_VISIBLE __attribute__((visibility("default")))
#define ISOCENTER_PRINTF(words, values) __attribute__((format(printf, words, values)))
#else
#define ISOCENTER_VISIBLE
#define ISOCENTER_PRINTF(words, values)
#endif

namespace isocenter {
// Code of different modes has different names for the linker.
#if ISOCENTER_EXCEPTIONS
inline namespace throwing {
#elif defined(__cpp_exceptions)
inline namespace returning {
#else
inline namespace never_throwing {
#endif

// The library's version, such as "0.1.0".
inline const char *version() noexcept { return isoc_version(); }

// What the library was built from, and the CPU level that it will use.
inline const char *build_info() noexcept { return isoc_build_info(); }

// ISOC_ABI_VERSION of the library that is running.
inline uint32_t abi_version() noexcept { return isoc_abi_version(); }

// A short phrase for a status, or "unknown status".
inline const char *status_string(isoc_status status) noexcept { return isoc_status_string(status); }

// What a callback wants.
enum class next : int32_t {
    // Go on.
    proceed = 0,
    // End the call: ISOC_STATUS_CANCELLED from progress, ISOC_STATUS_CALLBACK from a reader or writer.
    stop = 1,
};

// A std::function that says what is missing where it is made from something else: what it calls must return a `next`.
template <class... A> class callback : public std::function<next(A...)> {
    using function = std::function<next(A...)>;

public:
    callback(std::nullptr_t = nullptr) noexcept {}

    template <class F, std::enable_if_t<!std::is_same_v<std::decay_t<F>, callback> && !std::is_same_v<std::decay_t<F>, std::nullptr_t>, int> = 0>
    callback(F &&called) {
        using D = std::decay_t<F>;
        if constexpr (!std::is_invocable_v<D &, A...>) {
            static_assert(std::is_invocable_v<D &, A...>, "isocenter: a callback takes other arguments; see progress_function, "
                                                          "or reconstruct_stream for those of read and write");
        } else if constexpr (!std::is_same_v<std::decay_t<std::invoke_result_t<D &, A...>>, next>) {
            static_assert(std::is_same_v<std::decay_t<std::invoke_result_t<D &, A...>>, next>,
                          "isocenter: a callback must return: return isocenter::next::proceed; or isocenter::next::stop");
        } else {
            static_cast<function &>(*this) = std::forward<F>(called);
        }
    }
};

// Told some twenty times a second how far a call is, 0 to 1, and at what; called last with 1 and "done". On the thread of the call.
// It must not call the plan that it reports on (ISOC_STATUS_BUSY). An exception stops the call, and leaves it.
using progress_function = callback<double /* fraction */, const char * /* stage */>;

// Gets log messages: level 1 is a warning, 2 a decision that the library took, 3 what iterations have come to. Otherwise as progress_function. Where a context has none,
// warnings go to stderr.
using log_function = std::function<void(int level, const char *message)>;

// The bits of an f16 (IEEE 754 binary16), which C++17 has no type for.
struct half {
    uint16_t bits;
};

// The element type of a tensor by the C++ type. Specialise it for types of your own with the same layout, such as CUDA's float2:
//     template <> struct isocenter::dtype_of<float2> { static constexpr isoc_dtype value = ISOC_C64; };
template <class T> struct dtype_of {
    static_assert(sizeof(T) == 0, "isocenter: elements are float, double, std::complex of these, half, uint8_t, uint16_t or uint32_t");
};
template <> struct dtype_of<half> { static constexpr isoc_dtype value = ISOC_F16; };
template <> struct dtype_of<float> { static constexpr isoc_dtype value = ISOC_F32; };
template <> struct dtype_of<double> { static constexpr isoc_dtype value = ISOC_F64; };
template <> struct dtype_of<std::complex<float>> { static constexpr isoc_dtype value = ISOC_C64; };
template <> struct dtype_of<std::complex<double>> { static constexpr isoc_dtype value = ISOC_C128; };
template <> struct dtype_of<uint32_t> { static constexpr isoc_dtype value = ISOC_U32; };
template <> struct dtype_of<uint16_t> { static constexpr isoc_dtype value = ISOC_U16; };
template <> struct dtype_of<uint8_t> { static constexpr isoc_dtype value = ISOC_U8; };

// Sizes, or strides, slowest dimension first: { views, rows, bins }, of any integer types.
class shape {
public:
    static constexpr int most = 8;

    template <class... N, std::enable_if_t<(sizeof...(N) > 0) && (std::is_convertible_v<N, int64_t> && ...)
                                               && !(std::is_floating_point_v<N> || ...), int> = 0>
    constexpr shape(N... sizes) noexcept : count_(sizeof...(N)), sizes_{ static_cast<int64_t>(sizes)... } {
        static_assert(sizeof...(N) <= most, "isocenter: at most 8 dimensions");
    }

    constexpr int ndim() const noexcept { return count_; }
    constexpr const int64_t *data() const noexcept { return sizes_; }
    constexpr int64_t operator[](int dimension) const noexcept { return sizes_[dimension]; }

private:
    int count_;
    int64_t sizes_[most];
};

namespace detail {

template <class D, class = void> struct is_container : std::false_type {};
template <class D>
struct is_container<D, std::void_t<decltype(std::data(std::declval<D &>())), decltype(std::size(std::declval<D &>()))>>
    : std::true_type {};

template <class D> constexpr bool is_pointer_to_data = std::is_pointer_v<std::remove_cv_t<std::remove_reference_t<D>>>;

// Whether D&& is a temporary container with elements of its own: such a container has constant elements where it is constant itself, and
// what a view has besides is trivial to destroy.
template <class D, class = void> struct is_owning_temporary : std::false_type {};
template <class D>
struct is_owning_temporary<D, std::void_t<decltype(std::data(std::declval<D &>())), decltype(std::data(std::declval<const D &>()))>>
    : std::bool_constant<!std::is_reference_v<D> && std::is_const_v<std::remove_reference_t<decltype(*std::data(std::declval<const D &>()))>>
                         && (std::is_const_v<D> || !std::is_const_v<std::remove_reference_t<decltype(*std::data(std::declval<D &>()))>>)
                         && (!std::is_trivially_destructible_v<D> || std::is_aggregate_v<D>)> {};

} // namespace detail

// Elements one after the other, as std::span: from a vector, array, std::span, list in braces (for the call that it is in), or pointer
// and count.
template <class T> class span {
public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    template <class D, std::enable_if_t<detail::is_container<D>::value
                                            && !std::is_same_v<std::remove_cv_t<std::remove_reference_t<D>>, span>, int> = 0>
    constexpr span(D &&container) noexcept : span(std::data(container), std::size(container)) {}

    template <class U = T, std::enable_if_t<std::is_const_v<U>, int> = 0>
    constexpr span(std::initializer_list<std::remove_cv_t<U>> list) noexcept : span(std::data(list), list.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr int64_t count() const noexcept { return static_cast<int64_t>(size_); }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t k) const noexcept { return data_[k]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// A short list in a struct, of angles, say, which the library copies too. It owns its values. From a vector (moved if it may be),
// array, std::span, list in braces, pointer and count, or, with OfNumber, one number; reals may be of another type of real or integer.
template <class T, bool OfNumber = true> class list {
    template <class E> static constexpr bool converts =
        std::is_same_v<std::remove_cv_t<E>, T>
        || (std::is_floating_point_v<T> && std::is_arithmetic_v<E> && !std::is_same_v<std::remove_cv_t<E>, char>);
    template <class D> using element = std::remove_reference_t<decltype(*std::data(std::declval<const D &>()))>;

public:
    list() noexcept = default;
    list(std::initializer_list<T> values) : values_(values) {}
    list(std::vector<T> values) noexcept : values_(std::move(values)) {}
    list(const T *data, std::size_t count) : values_(data, data + (data ? count : 0)) {}

    template <class D, std::enable_if_t<detail::is_container<const D>::value && !std::is_same_v<D, list>
                                            && !std::is_same_v<D, std::vector<T>> && converts<element<D>>, int> = 0>
    list(const D &container) {
        values_.reserve(std::size(container));
        for (std::size_t k = 0; k < std::size(container); k++) values_.push_back(static_cast<T>(std::data(container)[k]));
    }

    template <class N, std::enable_if_t<OfNumber && std::is_arithmetic_v<N> && !std::is_same_v<N, bool> && converts<N>, int> = 0>
    list(N value) : values_(1, static_cast<T>(value)) {}
    template <class N, std::enable_if_t<!OfNumber && std::is_arithmetic_v<N>, int> = 0>
    list(N number) = ISOCENTER_DELETED("a list of values, not their number"); // a list of values, not their number

    T *data() noexcept { return values_.data(); }
    const T *data() const noexcept { return values_.data(); }
    std::size_t size() const noexcept { return values_.size(); }
    bool empty() const noexcept { return values_.empty(); }
    T *begin() noexcept { return data(); }
    const T *begin() const noexcept { return data(); }
    T *end() noexcept { return data() + size(); }
    const T *end() const noexcept { return data() + size(); }
    T &operator[](std::size_t k) noexcept { return values_[k]; }
    const T &operator[](std::size_t k) const noexcept { return values_[k]; }

    // As C has it: NULL where there are no values.
    const T *pointer() const noexcept { return empty() ? nullptr : data(); }
    int64_t count() const noexcept { return static_cast<int64_t>(size()); }

private:
    std::vector<T> values_;
};

namespace detail {

// A failure that this header finds before it calls the library.
struct complaint {
    isoc_status status = ISOC_STATUS_OK;
    char words[320] = "";

    ISOCENTER_PRINTF(3, 4) void set(isoc_status wrong, const char *format, ...) noexcept {
        status = wrong;
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(words, sizeof words, format, arguments);
        va_end(arguments);
    }
};

template <class C> class lowered_struct;

} // namespace detail

// A view of the caller's array, as isoc_tensor: pointer, shape, and where they differ from the usual, strides and device. Elements
// are used in place. Made from a container, whose size is then checked against what the shape reaches:
//
//     { projections, { views, rows, bins } }                    // contiguous, last dimension fastest, in host memory
//     tensor(raw.data(), { views, rows, bins }).strided({ bins, views * bins, 1 })
//     tensor(device_pointer, { rows, bins, bins }).on_gpu(0)
//     weights                                                   // a container alone has one dimension
//     tensor(dl_tensor)                                         // an isoc_tensor, or DLPack's DLTensor cast to it, as it is
//     nullptr                                                   // none, where isocenter.h says that the pointer may be NULL
//
// Methods take const_tensor for what they read, and tensor for what they write: from elements that are not const. A temporary container
// that owns its elements will do for what is read, in the call that it is made in: const_tensor does not keep it. As a tensor, whose
// result nobody would see, it does not compile.
template <bool Writable> class basic_tensor {
    template <class T> static constexpr bool fits = !Writable || !std::is_const_v<T>;
    template <class D>
    static constexpr bool holds_data = detail::is_pointer_to_data<D> || detail::is_container<std::remove_reference_t<D>>::value;
    template <class D> static constexpr bool goes = detail::is_owning_temporary<D>::value; // at the end of the statement, as a temporary

public:
    using pointer = std::conditional_t<Writable, void *, const void *>;

    // No array.
    constexpr basic_tensor(std::nullptr_t = nullptr) noexcept {}

    // Elements of a type that dtype_of knows, behind a pointer or in a container.
    template <class D, std::enable_if_t<holds_data<D> && !goes<D>, int> = 0>
    basic_tensor(D &&elements, const shape &sizes) noexcept : sizes_(sizes) {
        if constexpr (detail::is_pointer_to_data<D>) {
            take(elements);
        } else {
            take(std::data(elements));
            available_ = static_cast<uint64_t>(std::size(elements));
        }
    }

    // All elements of a container, one dimension.
    template <class D, std::enable_if_t<detail::is_container<std::remove_reference_t<D>>::value && !goes<D>, int> = 0>
    basic_tensor(D &&elements) noexcept : basic_tensor(elements, shape(std::size(elements))) {}

    // Of a temporary container: to be read in this very call.
    template <class D, std::enable_if_t<goes<D> && !Writable, int> = 0>
    basic_tensor(D &&elements ISOCENTER_LIFETIMEBOUND, const shape &sizes) noexcept : basic_tensor(elements, sizes) {}
    template <class D, std::enable_if_t<goes<D> && !Writable, int> = 0>
    basic_tensor(D &&elements ISOCENTER_LIFETIMEBOUND) noexcept : basic_tensor(elements) {}

    // A result that is written to a temporary container is lost.
    template <class D, std::enable_if_t<goes<D> && Writable, int> = 0>
    basic_tensor(D &&temporary, const shape &sizes) = ISOCENTER_DELETED("the result would be lost"); // the result would be lost
    template <class D, std::enable_if_t<goes<D> && Writable, int> = 0>
    basic_tensor(D &&temporary) = ISOCENTER_DELETED("the result would be lost"); // the result would be lost

    // Elements of a type that only the program knows.
    basic_tensor(pointer data, isoc_dtype dtype, const shape &sizes) noexcept : sizes_(sizes) { set(data, dtype); }

    // A C tensor; what it points to must live for as long as this does.
    basic_tensor(const isoc_tensor &tensor) noexcept : tensor_(tensor), kind_(kind::from_c) {}

    template <bool Other, std::enable_if_t<Other && !Writable, int> = 0>
    basic_tensor(const basic_tensor<Other> &tensor) noexcept
        : tensor_(tensor.tensor_), sizes_(tensor.sizes_), strides_(tensor.strides_), available_(tensor.available_),
          kind_(static_cast<kind>(tensor.kind_)), is_strided_(tensor.is_strided_) {}

    // The same with distances between neighbours along each dimension, in elements.
    basic_tensor strided(const shape &strides) const noexcept {
        basic_tensor copy = *this;
        copy.strides_ = strides, copy.is_strided_ = true;
        return copy;
    }

    // The same with its first element so many bytes from the pointer: where strides are negative, say.
    basic_tensor offset_bytes(uint64_t bytes) const noexcept {
        basic_tensor copy = *this;
        copy.tensor_.byte_offset = bytes;
        return copy;
    }

    // The same in memory of an NVIDIA GPU, as the driver counts them.
    basic_tensor on_gpu(int32_t gpu) const noexcept { return on({ ISOC_DEVICE_CUDA, gpu }); }

    // The same on a device.
    basic_tensor on(isoc_device device) const noexcept {
        basic_tensor copy = *this;
        copy.tensor_.device = device;
        return copy;
    }

    // Whether there is an array.
    explicit operator bool() const noexcept { return kind_ != kind::none; }

    // As the C library takes it. It points into this object, so not of a temporary one.
    isoc_tensor c_tensor() const && = delete;
    isoc_tensor c_tensor() const & noexcept {
        isoc_tensor c = tensor_;
        if (kind_ != kind::from_c) {
            c.ndim = sizes_.ndim(), c.shape = sizes_.data(), c.strides = is_strided_ ? strides_.data() : nullptr;
        } else if (is_strided_) {
            c.strides = strides_.data();
        }
        return c;
    }

    // Whether the array can be handed to the library; `name` is that of the call's parameter.
    bool check(const char *name, detail::complaint &found) const noexcept {
        if (kind_ == kind::none) return true;
        const isoc_tensor c = c_tensor();
        if (is_strided_ && strides_.ndim() != c.ndim) {
            found.set(ISOC_STATUS_TENSOR_STRIDES, "%s has %d strides for %d dimensions", name, strides_.ndim(), c.ndim);
            return false;
        }
        const uint64_t needed = available_ == unknown ? 0 : reach(c);
        if (needed <= available_) return true;
        char text[200] = "";
        int used = 0;
        for (int d = 0; d < c.ndim && used < static_cast<int>(sizeof text); d++)
            used += std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used), d ? ", %lld" : "%lld",
                                  static_cast<long long>(c.shape[d]));
        const auto held = static_cast<unsigned long long>(available_);
        const char *const by = c.strides || c.byte_offset > 0 ? " with its strides and offset" : "";
        if (needed == unknown)
            found.set(ISOC_STATUS_TENSOR_SHAPE, "%s holds %llu elements; its shape (%s)%s needs more than can be counted", name, held, text, by);
        else
            found.set(ISOC_STATUS_TENSOR_SHAPE, "%s holds %llu elements; its shape (%s)%s needs %llu", name, held, text, by,
                      static_cast<unsigned long long>(needed));
        return false;
    }

private:
    template <bool> friend class basic_tensor;
    enum class kind { none, own, from_c };
    static constexpr uint64_t unknown = UINT64_MAX;

    template <class T> void take(T *data) noexcept {
        static_assert(fits<T>, "isocenter: this array is written to, so its elements must not be const");
        constexpr isoc_dtype dtype = dtype_of<std::remove_cv_t<T>>::value;
        static_assert(dtype.bits == 8 * sizeof(T) && dtype.lanes == 1, "isocenter: dtype_of says another size than the type has");
        set(data, dtype);
    }

    void set(const void *data, isoc_dtype dtype) noexcept {
        tensor_.data = const_cast<void *>(data), tensor_.dtype = dtype, tensor_.device = ISOC_HOST;
        kind_ = kind::own;
    }

    // As many elements as there must be behind the pointer, or `unknown` if no 64 bits hold it. What is wrong in other ways is the
    // library's to say.
    uint64_t reach(const isoc_tensor &c) const noexcept {
        uint64_t step = 1, last = c.byte_offset / (c.dtype.bits / 8u);
        for (int d = c.ndim - 1; d >= 0; d--) {
            if (c.shape[d] <= 0) return 0;
            const uint64_t more = static_cast<uint64_t>(c.shape[d]) - 1;
            const int64_t stride = c.strides ? c.strides[d] : 0;
            if (c.strides) step = stride > 0 ? static_cast<uint64_t>(stride) : 0;
            if (more > 0 && step > (unknown - 1 - last) / more) return unknown;
            last += step * more;
            if (!c.strides) step = step > unknown / (more + 1) ? unknown : step * (more + 1);
        }
        return last + 1;
    }

    isoc_tensor tensor_{};
    shape sizes_ = { 0 }, strides_ = { 0 };
    uint64_t available_ = unknown;
    kind kind_ = kind::none;
    bool is_strided_ = false;
};

using tensor = basic_tensor<true>;
using const_tensor = basic_tensor<false>;

// Slices first to first + count of the volume, contiguous in host memory: projections to fill, of detector rows geometry.first_row +
// first on, (views, count, bins) or (count, views, bins), or finished slices, (count, ny, nx).
template <class T> struct slab {
    int64_t first, count;
    T *data;
    std::array<int64_t, 3> shape;

    std::size_t size() const noexcept { return static_cast<std::size_t>(shape[0] * shape[1] * shape[2]); }
    T *begin() const noexcept { return data; }
    T *end() const noexcept { return data + size(); }
};

// Samples first to first + count of a trajectory, of all coils, to fill: (coils, count), contiguous in host memory.
template <class T> struct shots {
    int64_t first, count, coils;
    T *data;

    std::size_t size() const noexcept { return static_cast<std::size_t>(coils * count); }
    T *coil(int64_t c) const noexcept { return data + c * count; }
    T *begin() const noexcept { return data; }
    T *end() const noexcept { return data + size(); }
};

// Most bytes of working memory that a call uses: of the host, and of the GPU that it computes on (0 on the processor).
struct memory_bytes {
    uint64_t host, gpu;
};

#if ISOCENTER_EXCEPTIONS

// A call of the library failed. what() has its words: which argument, the value seen, the value allowed.
class ISOCENTER_VISIBLE error : public std::runtime_error {
public:
    error(isoc_status status, const char *message)
        : std::runtime_error(*message ? message : isoc_status_string(status)), status_(status) {}

    // ISOC_STATUS_..., see isocenter.h.
    isoc_status status() const noexcept { return status_; }

private:
    isoc_status status_;
};

// ISOC_STATUS_CANCELLED: progress asked for it.
class ISOCENTER_VISIBLE cancelled : public error {
public:
    using error::error;
};

// What a call returns.
template <class T> using outcome = T;

#else

// What every result has: a status, and the library's words if it failed.
class [[nodiscard]] result_status {
public:
    result_status() noexcept = default;
    result_status(isoc_status status, const char *message) noexcept : status_(status) {
        const std::size_t size = std::strlen(message) + 1;
        message_.reset(new (std::nothrow) char[size]);
        if (message_) std::memcpy(message_.get(), message, size);
    }

    // Whether the call succeeded.
    explicit operator bool() const noexcept { return status_ == ISOC_STATUS_OK; }

    // ISOC_STATUS_..., see isocenter.h.
    isoc_status status() const noexcept { return status_; }

    // Which argument, the value seen, the value allowed; empty after success.
    const char *message() const noexcept { return message_ ? message_.get() : *this ? "" : isoc_status_string(status_); }

private:
    isoc_status status_ = ISOC_STATUS_OK;
    std::unique_ptr<char[]> message_;
};

// What a call returns: a T if it succeeded.
template <class T> class [[nodiscard]] result : public result_status {
public:
    result(result_status &&failure) noexcept : result_status(std::move(failure)) {}
    result(T &&value) : value_(std::move(value)) {}

    // There is no value where the call failed: to ask for it says so on stderr, and ends the program.
    T &operator*() & noexcept { return there(), *value_; }
    const T &operator*() const & noexcept { return there(), *value_; }
    T &&operator*() && noexcept { return there(), std::move(*value_); }
    T *operator->() noexcept { return there(), &*value_; }
    const T *operator->() const noexcept { return there(), &*value_; }

private:
    void there() const noexcept {
        if (value_) return;
        std::fprintf(stderr, "isocenter: the value of a call that failed was asked for: %s: %s\n", isoc_status_string(status()),
                     message());
        std::terminate();
    }

    std::optional<T> value_;
};
template <> class [[nodiscard]] result<void> : public result_status {
public:
    result() noexcept = default;
    result(result_status &&failure) noexcept : result_status(std::move(failure)) {}
};

// What a call returns.
template <class T> using outcome = result<T>;

#endif

namespace detail {

// Holds an exception from a callback until the library has returned to the call that it came from. Calls may nest: a callback may use
// other plans. Visible, as errors are, so that a program's shared libraries have one of them, however they were compiled.
class ISOCENTER_VISIBLE frame {
public:
    frame() noexcept : outer_(current()) { current() = this; }
    ~frame() { current() = outer_; }
    frame(const frame &) = delete;
    frame &operator=(const frame &) = delete;

    // Runs a callback on behalf of C. No exception gets out, and after the first one nothing more is run.
    template <class F> static int32_t run(F &&callback) noexcept {
#if defined(__cpp_exceptions)
        frame *const here = current();
        if (here && here->stopped_) return static_cast<int32_t>(next::stop);
        try {
            return static_cast<int32_t>(callback());
        } catch (...) {
            if (here) here->stopped_ = true, here->thrown_ = std::current_exception();
            return static_cast<int32_t>(next::stop);
        }
#else
        return static_cast<int32_t>(callback());
#endif
    }

#if ISOCENTER_EXCEPTIONS
    void finish(isoc_status status, const char *message) {
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
        if (status == ISOC_STATUS_CANCELLED) throw cancelled(status, message);
        if (status != ISOC_STATUS_OK) throw error(status, message);
    }
#else
    result<void> finish(isoc_status status, const char *message) const {
        if (status == ISOC_STATUS_OK) return {};
        return result_status(status, message);
    }
#endif

private:
    static frame *&current() noexcept {
        static thread_local frame *innermost = nullptr;
        return innermost;
    }

    frame *outer_;
#if defined(__cpp_exceptions)
    bool stopped_ = false;
    std::exception_ptr thrown_;
#endif
};

// A C tensor for the length of a call, or NULL.
class lowered {
public:
    template <bool Writable> explicit lowered(const basic_tensor<Writable> &t) noexcept : tensor_(t.c_tensor()), there_(t) {}
    operator const isoc_tensor *() const noexcept { return there_ ? &tensor_ : nullptr; }

private:
    isoc_tensor tensor_;
    bool there_;
};

// An array of a call by the name of its parameter, for messages. Arrays without one do not compile.
template <bool Writable> struct named_array {
    const char *name;
    const basic_tensor<Writable> &tensor;
};

template <class A> const A &lower(const A &argument) noexcept { return argument; }
template <bool Writable> lowered lower(const basic_tensor<Writable> &) = delete;
template <bool Writable> lowered lower(const named_array<Writable> &array) noexcept { return lowered(array.tensor); }

template <class A> bool check(const A &, complaint &) noexcept { return true; }
template <bool Writable> bool check(const named_array<Writable> &array, complaint &found) noexcept {
    return array.tensor.check(array.name, found);
}

// A struct with lists, as C takes it for the length of a call.
template <class C> class lowered_struct {
public:
    template <class S> explicit lowered_struct(const S &from) noexcept {
        c_.struct_size = sizeof(C);
        from.lower(c_, complaint_);
    }
    operator const C *() const noexcept { return &c_; }
    const complaint &found() const noexcept { return complaint_; }

private:
    C c_{};
    complaint complaint_;
};
template <class C> bool check(const lowered_struct<C> &s, complaint &found) noexcept {
    if (s.found().status != ISOC_STATUS_OK) found = s.found();
    return found.status == ISOC_STATUS_OK;
}

// How many groups of `each` values a list of the caller's holds.
class groups {
public:
    groups(std::size_t size, std::size_t each, const char *name, const char *of) noexcept : count_(static_cast<int64_t>(size / each)) {
        if (size % each != 0)
            complaint_.set(ISOC_STATUS_OUT_OF_RANGE, "%s has %llu values; it must have %llu for each %s", name,
                           static_cast<unsigned long long>(size), static_cast<unsigned long long>(each), of);
    }
    operator int64_t() const noexcept { return count_; }
    const complaint &found() const noexcept { return complaint_; }

private:
    int64_t count_;
    complaint complaint_;
};
inline bool check(const groups &g, complaint &found) noexcept {
    if (g.found().status != ISOC_STATUS_OK) found = g.found();
    return found.status == ISOC_STATUS_OK;
}

// A list of the caller's that has to be as long as another.
class as_many {
public:
    as_many(span<const int64_t> values, std::size_t expected, const char *name, const char *as) noexcept : data_(values.data()) {
        if (values.size() != expected)
            complaint_.set(ISOC_STATUS_OUT_OF_RANGE, "%s has %llu values; it must have %llu, as %s", name,
                           static_cast<unsigned long long>(values.size()), static_cast<unsigned long long>(expected), as);
    }
    operator const int64_t *() const noexcept { return data_; }
    const complaint &found() const noexcept { return complaint_; }

private:
    const int64_t *data_;
    complaint complaint_;
};
inline bool check(const as_many &list, complaint &found) noexcept {
    if (list.found().status != ISOC_STATUS_OK) found = list.found();
    return found.status == ISOC_STATUS_OK;
}

// A list of events as C takes it for the length of a call, in which it stays where it is.
class lowered_list {
public:
    template <class S>
    explicit lowered_list(const S &list) noexcept
        : crystals_(list.crystals), first_(list.first_positions), second_(list.second_positions), times_(list.times), tof_fwhm_(list.tof_fwhm) {
        c_.struct_size = sizeof c_, c_.first_event = list.first_event;
        c_.crystals = crystals_, c_.first_positions = first_, c_.second_positions = second_, c_.times = times_, c_.tof_fwhm = tof_fwhm_;
        fits_ = list.crystals.check("list.crystals", complaint_) && list.first_positions.check("list.first_positions", complaint_) &&
                list.second_positions.check("list.second_positions", complaint_) && list.times.check("list.times", complaint_) &&
                list.tof_fwhm.check("list.tof_fwhm", complaint_);
    }
    lowered_list(const lowered_list &) = delete;
    lowered_list &operator=(const lowered_list &) = delete;
    operator const isoc_pet_list *() const noexcept { return &c_; }
    bool fits() const noexcept { return fits_; }
    const complaint &found() const noexcept { return complaint_; }

private:
    lowered crystals_, first_, second_, times_, tof_fwhm_;
    isoc_pet_list c_{};
    complaint complaint_;
    bool fits_ = false;
};
inline bool check(const lowered_list &list, complaint &found) noexcept {
    if (!list.fits()) found = list.found();
    return list.fits();
}

// A copy of a caller's struct with its size filled in.
template <class C> class filled {
public:
    explicit filled(const C &c) noexcept : c_(c) {
        if (c_.struct_size == 0) c_.struct_size = sizeof(C);
    }
    operator const C *() const noexcept { return &c_; }

private:
    C c_;
};

// Calls a function of the library; tensors become C tensors, exceptions of callbacks come out here.
template <class... P, class... A> outcome<void> call(isoc_status (*function)(P...), const A &...arguments) {
    frame here;
    complaint found;
    if (!(check(arguments, found) && ...)) return here.finish(found.status, found.words);
    const isoc_status status = function(lower(arguments)...);
    return here.finish(status, status == ISOC_STATUS_OK ? "" : isoc_last_error());
}

// The same for a function that leaves something in `value`.
template <class T, class F, class... A> outcome<T> get(T &value, F function, const A &...arguments) {
#if ISOCENTER_EXCEPTIONS
    call(function, arguments...);
#else
    if (result<void> done = call(function, arguments...); !done) return result<T>(std::move(done));
#endif
    return std::move(value);
}

// A C struct that begins as its defaults: zeros, with its size filled in.
template <class C> struct sized : C {
    sized() noexcept : C{} { this->struct_size = sizeof(C); }
    sized(const C &c) noexcept : C(c) {
        if (this->struct_size == 0) this->struct_size = sizeof(C);
    }
};

struct callbacks {
    progress_function progress;
    log_function log;
};

// A handle as an argument of a call. It keeps the callbacks for as long as the call takes, since one of them may destroy the object
// that the call is made with, and that may have been the last one to own them.
template <class C> struct handle_in_use {
    C *raw;
    std::shared_ptr<const callbacks> callbacks_kept;
    operator C *() const noexcept { return raw; }
};

// Owns a C handle. Moved, never copied; what was moved from is empty, and calls on it are ISOC_STATUS_NULL_POINTER.
template <class C, isoc_status (*Destroy)(C *)> class handle {
public:
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;

    // The C handle, still owned here. A callback's exception that a C call meets is dropped, after it stopped the call.
    C *get() const noexcept { return raw_; }

    // Whether it owns a handle.
    explicit operator bool() const noexcept { return raw_ != nullptr; }

protected:
    handle(C *raw, std::shared_ptr<const callbacks> calls) noexcept : raw_(raw), callbacks_(std::move(calls)) {}
    handle(handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)), callbacks_(std::move(other.callbacks_)) {}
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            Destroy(raw_);
            raw_ = std::exchange(other.raw_, nullptr), callbacks_ = std::move(other.callbacks_);
        }
        return *this;
    }
    ~handle() { Destroy(raw_); }

    // How methods pass arrays on.
    template <bool Writable> static named_array<Writable> named(const char *parameter, const basic_tensor<Writable> &t) noexcept {
        return { parameter, t };
    }

    // How methods pass the handle on.
    handle_in_use<C> self() const noexcept { return { raw_, callbacks_ }; }

    // Plans call their context's callbacks, whether it is still there or not.
    const std::shared_ptr<const callbacks> &shared() const noexcept { return callbacks_; }

    template <class Plan, class Handle>
    static outcome<Plan> make(Plan (*wrap)(C *, const Handle &), isoc_status (*create)(const isoc_context *, C **),
                              const Handle &context) {
        C *raw = nullptr;
#if ISOCENTER_EXCEPTIONS
        call(create, context.get(), &raw);
#else
        if (result<void> done = call(create, context.get(), &raw); !done) return result<Plan>(std::move(done));
#endif
        return wrap(raw, context);
    }

private:
    C *raw_;
    std::shared_ptr<const callbacks> callbacks_;
};

} // namespace detail

// Threads, memory cap, callbacks: what plans share. Plans may outlive it.
class context : public detail::handle<isoc_context, isoc_context_destroy> {
public:
    // isoc_context_options. Callbacks run on the thread whose call they are about: several at a time, in the same function object, where
    // several threads make calls with plans of the context. So what they share has to be atomic, or locked.
    struct options {
        uint32_t device = ISOC_CONTEXT_DEVICE_AUTO;
        uint32_t threads = 0;
        uint32_t nan_policy = ISOC_NAN_POLICY_ERROR;
        uint64_t memory_cap = 0;
        list<int32_t> gpus = {}; // none: all
        uint64_t gpu_memory_cap = 0;
        progress_function on_progress = {};
        log_function on_log = {}; // none: warnings go to stderr
    };

#if ISOCENTER_EXCEPTIONS
    context() : context(options()) {}
    explicit context(const options &wanted) : context(create(wanted)) {}
#endif
    static outcome<context> create() { return create(options()); }
    static outcome<context> create(const options &wanted) {
        isoc_context_options c{};
        c.struct_size = sizeof c;
        c.device = wanted.device, c.threads = wanted.threads, c.nan_policy = wanted.nan_policy, c.memory_cap = wanted.memory_cap;
        c.gpus = wanted.gpus.pointer(), c.gpu_count = wanted.gpus.count(), c.gpu_memory_cap = wanted.gpu_memory_cap;
        std::shared_ptr<const detail::callbacks> calls;
        if (wanted.on_progress || wanted.on_log) {
            calls = std::make_shared<const detail::callbacks>(detail::callbacks{ wanted.on_progress, wanted.on_log });
            void *const user = const_cast<detail::callbacks *>(calls.get());
            if (wanted.on_progress) c.progress = report, c.progress_user = user;
            if (wanted.on_log) c.log = log, c.log_user = user;
        }
        isoc_context *raw = nullptr;
#if ISOCENTER_EXCEPTIONS
        detail::call(isoc_context_create, &c, &raw);
#else
        if (result<void> done = detail::call(isoc_context_create, &c, &raw); !done) return result<context>(std::move(done));
#endif
        return context(raw, std::move(calls));
    }

    context(context &&) noexcept = default;
    context &operator=(context &&) noexcept = default;

    using coil_options = detail::sized<isoc_coil_options>;

    // The matrix (coils, coils) that whitens noise (coils, samples), complex: isoc_coil_whitening.
    outcome<void> coil_whitening(const const_tensor &noise, const tensor &matrix) const {
        return detail::call(isoc_coil_whitening, self(), named("noise", noise), named("matrix", matrix));
    }

    // Virtual coils, matrix (kept, coils), of data (coils, samples); the part of the energy that they keep.
    outcome<double> coil_compression(const const_tensor &data, const tensor &matrix) const {
        double energy = 0;
        return detail::get(energy, isoc_coil_compression, self(), named("data", data), named("matrix", matrix), &energy);
    }

    // The same for each position along the readout: matrix (readout, kept, coils) of data (coils, lines, readout).
    outcome<double> coil_geometric_compression(const const_tensor &data, const tensor &matrix) const {
        double energy = 0;
        return detail::get(energy, isoc_coil_geometric_compression, self(), named("data", data), named("matrix", matrix), &energy);
    }

    // out (rows, samples) = matrix (rows, coils) data (coils, samples).
    outcome<void> coil_apply(const const_tensor &matrix, const const_tensor &data, const tensor &out) const {
        return detail::call(isoc_coil_apply, self(), named("matrix", matrix), named("data", data), named("out", out));
    }

    // The same by matrices (readout, rows, coils): out (rows, lines, readout), data (coils, lines, readout).
    outcome<void> coil_apply_geometric(const const_tensor &matrix, const const_tensor &data, const tensor &out) const {
        return detail::call(isoc_coil_apply_geometric, self(), named("matrix", matrix), named("data", data), named("out", out));
    }

    // Coil sensitivities, complex (coils, nz, ny, nx), with (sets) in front or not, from calibration data (coils, nz, ny, nx), frequency 0
    // at floor(n / 2), planes without nz; eigenvalues: real, maps without coils, or none.
    outcome<void> coil_maps(const const_tensor &calibration, const tensor &maps, const isoc_coil_options &wanted = coil_options(),
                            const tensor &eigenvalues = nullptr) const {
        return detail::call(isoc_coil_maps, self(), detail::filled<isoc_coil_options>(wanted), named("calibration", calibration),
                            named("maps", maps), named("eigenvalues", eigenvalues));
    }

private:
    friend class ct;
    friend class mri;
    friend class pet;
    using handle::handle;

    static int32_t report(void *user, double fraction, const char *stage) {
        return detail::frame::run([=] { return static_cast<const detail::callbacks *>(user)->progress(fraction, stage); });
    }
    static void log(void *user, int32_t level, const char *message) {
        detail::frame::run([=] {
            static_cast<const detail::callbacks *>(user)->log(level, message);
            return next::proceed;
        });
    }
};

// Host memory for arrays, uninitialised, aligned to 64 bytes or more, and page-locked where the context computes on GPUs: copies then
// run at the full speed of the bus. It may outlive the context.
template <class T> class host_array {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>, "isocenter: host_array holds plain numbers");

public:
    static outcome<host_array> create(const context &owner, std::size_t count) {
        const uint64_t bytes = count > UINT64_MAX / sizeof(T) ? UINT64_MAX : uint64_t{ count } * sizeof(T);
        void *raw = nullptr;
#if ISOCENTER_EXCEPTIONS
        detail::call(isoc_host_alloc, owner.get(), bytes, &raw);
#else
        if (result<void> done = detail::call(isoc_host_alloc, owner.get(), bytes, &raw); !done)
            return result<host_array>(std::move(done));
#endif
        return host_array(static_cast<T *>(raw), count);
    }

#if ISOCENTER_EXCEPTIONS
    host_array(const context &owner, std::size_t count) : host_array(create(owner, count)) {}
#endif
    host_array(host_array &&other) noexcept = default;
    host_array &operator=(host_array &&other) noexcept = default;

    T *data() noexcept { return data_.get(); }
    const T *data() const noexcept { return data_.get(); }
    std::size_t size() const noexcept { return data_ ? size_ : 0; }
    T *begin() noexcept { return data(); }
    const T *begin() const noexcept { return data(); }
    T *end() noexcept { return data() + size(); }
    const T *end() const noexcept { return data() + size(); }
    T &operator[](std::size_t k) noexcept { return data()[k]; }
    const T &operator[](std::size_t k) const noexcept { return data()[k]; }

private:
    struct free {
        void operator()(T *data) const noexcept { isoc_host_free(data); }
    };
    host_array(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    std::unique_ptr<T, free> data_;
    std::size_t size_;
};

// A plan for parallel-beam CT: see isoc_ct. Lengths are in the unit of geometry.bin_pitch, angles in radians.
class ct : public detail::handle<isoc_ct, isoc_ct_destroy> {
public:
    using info = detail::sized<isoc_ct_info>;
    using ellipse = isoc_ct_ellipse;
    using axis_options = detail::sized<isoc_ct_axis_options>;
    using axis = detail::sized<isoc_ct_axis>;
    using flat_fit_options = detail::sized<isoc_ct_flat_fit_options>;
    using flat_fit = detail::sized<isoc_ct_flat_fit>;

    // isoc_ct_geometry.
    struct geometry {
        uint32_t order = ISOC_CT_ORDER_FRAMES;
        int64_t views = 0; // 0: as many as there are angles; or their number, which is then checked
        int64_t bins = 0;
        int64_t rows = 0;
        list<double, false> angles = {}; // radians, one a view: their number alone does not compile
        list<double> axis = {};   // a fractional bin: one, or one a view; none: (bins - 1) / 2
        double bin_pitch = 0;
        double pixel_size = 0;
        int64_t nx = 0;
        int64_t ny = 0;
        double x_offset = 0;
        double y_offset = 0;
        int64_t first_row = 0;
        int64_t slices = 0;

        // Cuts the slice down to a region of interest: columns column_begin to column_end and rows row_begin to row_end of the slice that
        // this geometry describes, counted from 0, ends not included: volume[:, row_begin:row_end, column_begin:column_end] of the full
        // one, in NumPy's words, whose order is the other way round: columns come first here, as x before y. Call it last: it
        // changes nx, ny, x_offset and y_offset, and a second region counts from the first one's corner.
        outcome<void> region(int64_t column_begin, int64_t column_end, int64_t row_begin, int64_t row_end) {
            isoc_ct_geometry c{};
            c.struct_size = sizeof c;
            c.bins = bins, c.nx = nx, c.ny = ny, c.x_offset = x_offset, c.y_offset = y_offset;
#if ISOCENTER_EXCEPTIONS
            detail::call(isoc_ct_region, &c, column_begin, column_end, row_begin, row_end);
            take_region(c);
#else
            result<void> done = detail::call(isoc_ct_region, &c, column_begin, column_end, row_begin, row_end);
            if (done) take_region(c);
            return done;
#endif
        }

    private:
        template <class> friend class detail::lowered_struct;
        void lower(isoc_ct_geometry &c, detail::complaint &found) const noexcept {
            const auto given = static_cast<unsigned long long>(angles.size());
            if (angles.empty())
                found.set(ISOC_STATUS_OUT_OF_RANGE, "geometry.angles is empty; it must have an angle for each view");
            else if (views != 0 && views != angles.count())
                found.set(ISOC_STATUS_OUT_OF_RANGE, "geometry.angles has %llu values; it must have one for each of views (%lld)", given,
                          static_cast<long long>(views));
            else if (axis.size() > 1 && axis.size() != angles.size())
                found.set(ISOC_STATUS_OUT_OF_RANGE, "geometry.axis has %llu values; it must have 1, or one for each view (%llu)",
                          static_cast<unsigned long long>(axis.size()), given);
            c.order = order, c.views = angles.count(), c.bins = bins, c.rows = rows;
            c.angles = angles.pointer(), c.axis = axis.pointer(), c.axis_count = axis.count();
            c.bin_pitch = bin_pitch, c.pixel_size = pixel_size, c.nx = nx, c.ny = ny;
            c.x_offset = x_offset, c.y_offset = y_offset, c.first_row = first_row, c.slices = slices;
        }

        void take_region(const isoc_ct_geometry &c) noexcept { nx = c.nx, ny = c.ny, x_offset = c.x_offset, y_offset = c.y_offset; }
    };

    // isoc_ct_options.
    struct options {
        uint32_t filter = ISOC_CT_FILTER_RAM_LAK;
        uint32_t interpolation = ISOC_CT_INTERPOLATION_LINEAR;
        uint32_t padding = ISOC_CT_PADDING_ZERO;
        uint32_t weighted_backprojection = 0;
        uint32_t kernel = ISOC_CT_KERNEL_AUTO;
        double cutoff = 0;
        double butterworth_order = 0;
        list<float> response = {}; // of ISOC_CT_FILTER_CUSTOM: at frequencies from 0 to Nyquist, in cycles a bin
        double minimum_transmission = 0;
        uint32_t precision = ISOC_CT_PRECISION_SINGLE;
        uint32_t input = ISOC_CT_INPUT_AUTO;
        double tolerance = 0; // of ISOC_CT_INTERPOLATION_BAND_LIMITED and ISOC_CT_PROJECTOR_BAND_LIMITED; 0: 1e-4
        uint32_t projector = ISOC_CT_PROJECTOR_JOSEPH;
        uint32_t algorithm = ISOC_CT_ALGORITHM_FBP; // of reconstruct; see set_iterative for all others

    private:
        template <class> friend class detail::lowered_struct;
        void lower(isoc_ct_options &c, detail::complaint &found) const noexcept {
            if (filter == ISOC_CT_FILTER_CUSTOM && response.size() < 2)
                found.set(ISOC_STATUS_OUT_OF_RANGE, "options.response has %llu values; it must have 2 or more with ISOC_CT_FILTER_CUSTOM",
                          static_cast<unsigned long long>(response.size()));
            c.filter = filter, c.interpolation = interpolation, c.padding = padding, c.kernel = kernel, c.precision = precision;
            c.weighted_backprojection = weighted_backprojection, c.cutoff = cutoff, c.butterworth_order = butterworth_order;
            c.response = response.pointer(), c.response_count = response.count();
            c.minimum_transmission = minimum_transmission, c.input = input, c.tolerance = tolerance;
            c.projector = projector, c.algorithm = algorithm;
        }
    };

    // isoc_ct_flat_field_options: how flats and darks make the flat field.
    struct flat_field_options {
        uint32_t combine = ISOC_CT_COMBINE_MEAN;
        list<int64_t> group_frames = {};   // frames of each group of flats
        list<double> group_positions = {}; // views taken before each
        list<double> group_monitor = {};   // what the beam's monitor said of each; none: 1
        list<double> monitor = {};         // and in each view
        double bad_pixels = 0;             // above 0: finds and replaces them
        const isoc_ct_outliers *outliers = nullptr; // removed from each frame; an isocenter::ct::outliers
        int64_t eigenflats = 0;            // above 0: maximum number of components for fit_flat_field

    private:
        template <class> friend class detail::lowered_struct;
        void lower(isoc_ct_flat_field_options &c, detail::complaint &found) const noexcept {
            const auto number = [](const auto &values) { return static_cast<unsigned long long>(values.size()); };
            if (group_positions.size() != group_frames.size())
                found.set(ISOC_STATUS_OUT_OF_RANGE, "options.group_positions has %llu values, options.group_frames %llu; a group has one of each",
                          number(group_positions), number(group_frames));
            else if (!group_monitor.empty() && group_monitor.size() != group_frames.size())
                found.set(ISOC_STATUS_OUT_OF_RANGE, "options.group_monitor has %llu values, options.group_frames %llu; a group has one of each",
                          number(group_monitor), number(group_frames));
            c.combine = combine, c.group_frames = group_frames.pointer(), c.group_positions = group_positions.pointer();
            c.group_monitor = group_monitor.pointer(), c.group_count = group_frames.count();
            c.monitor = monitor.pointer(), c.monitor_count = monitor.count(), c.bad_pixels = bad_pixels, c.outliers = outliers;
            c.eigenflats = eigenflats;
        }
    };

    // isoc_ct_distortion: where in a measured frame the pixels of an undistorted one are read.
    struct distortion {
        list<double> radial = {};      // b0, b1, ... of its radial polynomial, for pixels; none: 1
        double x_centre = 0;           // bin of the centre of that
        double y_centre = 0;           // its row
        list<double> perspective = {}; // p0 to p7; none: no perspective
        double tilt = 0;               // bins by which the axis moves from a detector row to the next
        list<double> x_shifts = {};    // bins by which each view lies aside; none: 0
        list<double> y_shifts = {};    // the same in rows

    private:
        template <class> friend class detail::lowered_struct;
        void lower(isoc_ct_distortion &c, detail::complaint &found) const noexcept {
            const auto number = [](const auto &values) { return static_cast<unsigned long long>(values.size()); };
            if (!perspective.empty() && perspective.size() != 8)
                found.set(ISOC_STATUS_OUT_OF_RANGE, "distortion.perspective has %llu values; it must have 8, or none", number(perspective));
            else if (!x_shifts.empty() && !y_shifts.empty() && x_shifts.size() != y_shifts.size())
                found.set(ISOC_STATUS_OUT_OF_RANGE, "distortion.x_shifts has %llu values, distortion.y_shifts %llu; a view has one of each",
                          number(x_shifts), number(y_shifts));
            c.radial = radial.pointer(), c.radial_count = radial.count(), c.x_centre = x_centre, c.y_centre = y_centre;
            c.perspective = perspective.pointer(), c.tilt = tilt;
            c.x_shifts = x_shifts.pointer(), c.y_shifts = y_shifts.pointer();
            c.shift_count = x_shifts.empty() ? y_shifts.count() : x_shifts.count();
        }
    };

    // isoc_ct_output: how reconstruct and reconstruct_stream store the volume. All zero but struct_size, which is filled in: f32 as they are.
    using output = detail::sized<isoc_ct_output>;
    using output_info = detail::sized<isoc_ct_output_info>;

    static outcome<ct> create(const context &owner) { return make(wrap, isoc_ct_create, owner); }
#if ISOCENTER_EXCEPTIONS
    explicit ct(const context &owner) : ct(create(owner)) {}
#endif
    ct(ct &&) noexcept = default;
    ct &operator=(ct &&) noexcept = default;

    // Sets scan and volume. Forgets weights of your own; the flat field stays while rows and bins do.
    // C++20: set_geometry({ .bins = 256, .angles = angles }).
    outcome<void> set_geometry(const geometry &scan) {
        return detail::call(isoc_ct_set_geometry, self(), detail::lowered_struct<isoc_ct_geometry>(scan));
    }

    // Sets options, or the defaults.
    outcome<void> set_options() { return set_options(options()); }
    outcome<void> set_options(const options &wanted) {
        return detail::call(isoc_ct_set_options, self(), detail::lowered_struct<isoc_ct_options>(wanted));
    }

    using outliers = detail::sized<isoc_ct_outliers>;

    // How `filter` and `reconstruct` remove outliers (zingers) from raw frames; nullptr leaves them.
    outcome<void> set_outliers(const isoc_ct_outliers &wanted = outliers()) {
        return detail::call(isoc_ct_set_outliers, self(), detail::filled<isoc_ct_outliers>(wanted));
    }
    outcome<void> set_outliers(std::nullptr_t) { return detail::call(isoc_ct_set_outliers, self(), nullptr); }

    using phase = detail::sized<isoc_ct_phase>;

    // How `filter` and `reconstruct` retrieve phase from transmissions; nullptr leaves them. What describes the scan has no defaults.
    outcome<void> set_phase(const isoc_ct_phase &wanted) {
        return detail::call(isoc_ct_set_phase, self(), detail::filled<isoc_ct_phase>(wanted));
    }
    outcome<void> set_phase(std::nullptr_t) { return detail::call(isoc_ct_set_phase, self(), nullptr); }

    // Takes the detector's distortion, a tilt and shifts of views out of frames in `filter` and `reconstruct`; nullptr leaves them.
    outcome<void> set_distortion(const distortion &wanted) {
        return detail::call(isoc_ct_set_distortion, self(), detail::lowered_struct<isoc_ct_distortion>(wanted));
    }
    outcome<void> set_distortion(std::nullptr_t) { return detail::call(isoc_ct_set_distortion, self(), nullptr); }

    using stripes = detail::sized<isoc_ct_stripes>;

    // How `filter` and `reconstruct` remove stripes, by default what stands out from noise; nullptr leaves them.
    outcome<void> set_stripes(const isoc_ct_stripes &wanted = stripes()) {
        return detail::call(isoc_ct_set_stripes, self(), detail::filled<isoc_ct_stripes>(wanted));
    }
    outcome<void> set_stripes(std::nullptr_t) { return detail::call(isoc_ct_set_stripes, self(), nullptr); }

    using half_acquisition = detail::sized<isoc_ct_half_acquisition>;

    // Takes scans for half acquisitions in `reconstruct`: a full turn about an axis near an edge of the detector. nullptr turns it off.
    outcome<void> set_half_acquisition(const isoc_ct_half_acquisition &wanted = half_acquisition()) {
        return detail::call(isoc_ct_set_half_acquisition, self(), detail::filled<isoc_ct_half_acquisition>(wanted));
    }
    outcome<void> set_half_acquisition(std::nullptr_t) {
        return detail::call(isoc_ct_set_half_acquisition, self(), nullptr);
    }

    // isoc_ct_iterative: how iterative algorithms go on. 30 iterations, and all else zero: the defaults.
    struct iterative : detail::sized<isoc_ct_iterative> {
        iterative() { iterations = 30; }
    };
    using iteration = isoc_ct_iteration;

    // Sets how iterative algorithms go on, or the defaults; options.algorithm says which it is.
    outcome<void> set_iterative() { return detail::call(isoc_ct_set_iterative, self(), nullptr); }
    outcome<void> set_iterative(const isoc_ct_iterative &wanted) {
        return detail::call(isoc_ct_set_iterative, self(), detail::filled<isoc_ct_iterative>(wanted));
    }

    // Writes what each iteration of the last reconstruction saw; returns how many there are. An empty span asks for that alone; one that is
    // too small is an error.
    outcome<int64_t> history(span<iteration> iterations) {
        int64_t found = 0;
        return detail::get(found, isoc_ct_history, self(), iterations.data(), iterations.count(), &found);
    }

    // Sets how the volume is stored: 8 or 16 bits over a window, circular mask, histogram; or f32 as they are. Volumes must have that type.
    outcome<void> set_output() { return set_output(output()); }
    outcome<void> set_output(const output &wanted) { return detail::call(isoc_ct_set_output, self(), detail::filled<isoc_ct_output>(wanted)); }

    // What the last reconstruction stored: value = offset + slope * stored, window, numbers of clipped values.
    outcome<output_info> get_output() {
        output_info found;
        return detail::get(found, isoc_ct_get_output, self(), static_cast<isoc_ct_output_info *>(&found));
    }

    // Writes its histogram, and returns how many bins there are; an empty span asks for that alone.
    outcome<int64_t> get_histogram(span<int64_t> counts) {
        int64_t found = 0;
        return detail::get(found, isoc_ct_get_histogram, self(), counts.data(), counts.count(), &found);
    }

    // For counts: integers, and f32 where options.input says so (ISOC_CT_INPUT_COUNTS). It stays while rows and bins do. `flats` and
    // `darks`: (frames, rows, bins) or (rows, bins), f32, u16 or u8; averaged and copied. No darks are zeros; no flats forget it.
    outcome<void> set_flat_field(const const_tensor &flats, const const_tensor &darks = nullptr) {
        return detail::call(isoc_ct_set_flat_field, self(), named("flats", flats), named("darks", darks), nullptr);
    }
    // The same with flats of several places in the scan, medians, a monitor, bad pixels, outliers.
    outcome<void> set_flat_field(const const_tensor &flats, const const_tensor &darks, const flat_field_options &wanted) {
        const auto lowered = detail::lowered_struct<isoc_ct_flat_field_options>(wanted);
        return detail::call(isoc_ct_set_flat_field, self(), named("flats", flats), named("darks", darks), lowered);
    }

    // Fits the flat field's eigenflats to the views first_view, first_view + 1, ..., of which `projections` are the whole frames; all views
    // of a scan need it, in one call or several. `explained` gets the part of the flats' variance of as many components as it has room for,
    // `weights` those of each view, one view after the other, as many as `explained` has, if given.
    outcome<flat_fit> fit_flat_field(const const_tensor &projections, int64_t first_view = 0, const flat_fit_options &wanted = {},
                                     span<double> explained = {}, span<double> weights = {}) {
        flat_fit found;
        found.explained = explained.size() > 0 ? explained.data() : nullptr, found.component_count = explained.count();
        found.weights = weights.size() > 0 ? weights.data() : nullptr, found.weight_count = weights.count();
        return detail::get(found, isoc_ct_fit_flat_field, self(), named("projections", projections), first_view,
                           static_cast<const isoc_ct_flat_fit_options *>(&wanted), static_cast<isoc_ct_flat_fit *>(&found));
    }

    // Work on tensors on a GPU begins when what is in this cudaStream_t now has been done; nullptr: the default stream.
    outcome<void> set_stream(void *stream) { return detail::call(isoc_ct_set_stream, self(), stream); }

    // Measures the GPU's back projectors for this geometry and keeps to the fastest; of band-limited interpolation the log gets the rate.
    outcome<void> tune() { return detail::call(isoc_ct_tune, self()); }

    // What the plan found in the geometry and decided.
    outcome<info> get_info() {
        info found;
        return detail::get(found, isoc_ct_get_info, self(), static_cast<isoc_ct_info *>(&found));
    }

    // Bytes of working memory that reconstruct will allocate, of the host or of each GPU.
    outcome<uint64_t> memory() {
        uint64_t bytes = 0;
        return detail::get(bytes, isoc_ct_memory, self(), &bytes);
    }

    // Writes the angular weight of each view, in radians, and returns how many there are; an empty span asks for that alone.
    outcome<int64_t> get_angular_weights(span<double> weights) {
        int64_t found = 0;
        return detail::get(found, isoc_ct_get_angular_weights, self(), weights.data(), weights.count(), &found);
    }

    // Takes weights of your own, one a view, in radians, until the next set_geometry.
    outcome<void> set_angular_weights(span<const double> weights) {
        // No list means the plan's own weights: an empty vector, whose data() may be NULL, must not.
        static constexpr double none = 0;
        return detail::call(isoc_ct_set_angular_weights, self(), weights.data() ? weights.data() : &none, weights.count());
    }

    // Goes back to the weights that the plan works out.
    outcome<void> set_angular_weights() {
        static constexpr const double *own = nullptr;
        return detail::call(isoc_ct_set_angular_weights, self(), own, int64_t{ 0 });
    }

    // Takes weights of rays, (views, bins), f32 or f64 in host memory, for iterative.weighting "given", until the next set_geometry.
    outcome<void> set_ray_weights(const const_tensor &weights) {
        return detail::call(isoc_ct_set_ray_weights, self(), named("weights", weights));
    }

    // Forgets them.
    outcome<void> set_ray_weights() {
        static constexpr const isoc_tensor *none = nullptr;
        return detail::call(isoc_ct_set_ray_weights, self(), none);
    }

    // Filtered back projection. `projections`: (views, rows, bins), or (rows, views, bins) by geometry.order; f32 line integrals, or
    // counts and others by options.input. `volume`: (slices, ny, nx), f32, attenuation a length unit, or of the type of set_output. One row
    // or slice may be left out.
    outcome<void> reconstruct(const const_tensor &projections, const tensor &volume) {
        return detail::call(isoc_ct_reconstruct, self(), named("projections", projections), named("volume", volume));
    }

    // The rotation axis of the scan that reconstruct would take, for geometry.axis. `curve` gets the score over the range, if given.
    outcome<axis> find_axis(const const_tensor &projections, const axis_options &wanted = {}, span<double> curve = {}) {
        axis found;
        found.curve = curve.data(), found.curve_count = curve.count();
        return detail::get(found, isoc_ct_find_axis, self(), named("projections", projections),
                           static_cast<const isoc_ct_axis_options *>(&wanted), static_cast<isoc_ct_axis *>(&found));
    }

    // Says of each view what is wrong with it, an isoc_ct_view_fault, ISOC_CT_VIEW_FAULT_NONE where nothing is: one a view.
    outcome<void> find_bad_views(const const_tensor &projections, span<uint32_t> faults) {
        return detail::call(isoc_ct_find_bad_views, self(), named("projections", projections), faults.data(), faults.count());
    }

    // The weight of total variation (iterative.regularisation) that these projections ask for by their noise and by what some slices leave of them, in the
    // length unit; `noise` gets the standard deviation of a line integral's, if given.
    outcome<double> suggest_regularisation(const const_tensor &projections, double *noise = nullptr) {
        double weight = 0;
        return detail::get(weight, isoc_ct_suggest_regularisation, self(), named("projections", projections), &weight, noise);
    }

    // The ramp filter alone: projections -> f32 of the same shape.
    outcome<void> filter(const const_tensor &projections, const tensor &filtered) {
        return detail::call(isoc_ct_filter, self(), named("projections", projections), named("filtered", filtered));
    }

    // The sum over views alone, weighted if the options say so: f32 projections -> f32 volume.
    outcome<void> backproject(const const_tensor &projections, const tensor &volume) {
        return detail::call(isoc_ct_backproject, self(), named("projections", projections), named("volume", volume));
    }

    // Line integrals of a volume: f32 (slices, ny, nx) -> f32 projections.
    outcome<void> forward(const const_tensor &volume, const tensor &projections) {
        return detail::call(isoc_ct_forward, self(), named("volume", volume), named("projections", projections));
    }

    // The exact transpose of forward: f32 projections -> f32 volume.
    outcome<void> adjoint(const const_tensor &projections, const tensor &volume) {
        return detail::call(isoc_ct_adjoint, self(), named("projections", projections), named("volume", volume));
    }

    // Filtered back projection of data that do not fit memory: `read` fills the projections of some slices at a time, in order, `write`
    // gets the finished slices, in order. With set_outliers, set_distortion or set_phase `read` is asked for the rows beside a slab, too:
    // parts overlap, or each begins where the last one ended, and `first` may be below 0. Both are called on this thread, and must not use the plan. T is the type of the
    // projections: float, with a flat field also uint16_t or uint8_t. Both return next::proceed, or next::stop, which ends the call with
    // ISOC_STATUS_CALLBACK; an exception in either ends the call, and leaves it. V is the type of the volume, another than float where
    // set_output says so: uint8_t, uint16_t or half. Where it is another the call ends before `write` gets anything, with
    // ISOC_STATUS_TENSOR_DTYPE, or without exceptions ISOC_STATUS_CALLBACK.
    template <class T, class V = float>
    outcome<void> reconstruct_stream(const callback<const slab<T> &> &read, const callback<const slab<const std::enable_if_t<true, V>> &> &write) {
        using job = std::pair<decltype(&read), decltype(&write)>;
        job both(&read, &write);
        const isoc_ct_read_fn on_read = [](void *user, int64_t first, int64_t count, const isoc_tensor *t) {
            return detail::frame::run([=] { return (*static_cast<job *>(user)->first)(slab_of<T>(first, count, *t)); });
        };
        const isoc_ct_write_fn on_write = [](void *user, int64_t first, int64_t count, const isoc_tensor *t) {
            return detail::frame::run([=] {
                if (!holds<V>(*t)) return refuse();
                return (*static_cast<job *>(user)->second)(slab_of<const V>(first, count, *t));
            });
        };
        return detail::call(isoc_ct_reconstruct_stream, self(), dtype_of<T>::value, read ? on_read : nullptr,
                            write ? on_write : nullptr, static_cast<void *>(&both));
    }

    // The ellipses of a Shepp-Logan phantom that fills a circle. `kind`: ISOC_CT_SHEPP_LOGAN_KIND_...
    static outcome<std::array<ellipse, ISOC_CT_SHEPP_LOGAN_ELLIPSES>> shepp_logan(uint32_t kind, double radius) {
        std::array<ellipse, ISOC_CT_SHEPP_LOGAN_ELLIPSES> all{};
        return detail::get(all, isoc_ct_shepp_logan, kind, radius, all.data(), static_cast<int64_t>(all.size()), static_cast<int64_t *>(nullptr));
    }

    // A phantom's exact mean over each pixel: f32 (slices, ny, nx).
    outcome<void> phantom_volume(span<const ellipse> ellipses, const tensor &volume) {
        return detail::call(isoc_ct_phantom_volume, self(), ellipses.data(), ellipses.count(), named("volume", volume));
    }

    // A phantom's exact line integrals: f32 projections.
    outcome<void> phantom_projections(span<const ellipse> ellipses, const tensor &projections) {
        return detail::call(isoc_ct_phantom_projections, self(), ellipses.data(), ellipses.count(), named("projections", projections));
    }

private:
    using handle::handle;
    static ct wrap(isoc_ct *raw, const context &owner) { return ct(raw, owner.shared()); }

    template <class T> static bool holds(const isoc_tensor &t) noexcept {
        return t.dtype.code == dtype_of<T>::value.code && t.dtype.bits == dtype_of<T>::value.bits;
    }

    // What `write` would misread.
    static next refuse() {
#if ISOCENTER_EXCEPTIONS
        throw error(ISOC_STATUS_TENSOR_DTYPE, "write takes slices of another type than set_output says");
#else
        return next::stop;
#endif
    }

    template <class T> static slab<T> slab_of(int64_t first, int64_t count, const isoc_tensor &t) noexcept {
        return { first, count, static_cast<T *>(t.data), { t.shape[0], t.shape[1], t.shape[2] } };
    }
};

// A plan for non-Cartesian MRI: see isoc_mri. Voxel j of N is at position j - floor(N / 2). An image is complex (nz, ny, nx), samples are
// complex (coils, samples); complex64 or complex128 either. Sizes of 1 may be left out.
class mri : public detail::handle<isoc_mri, isoc_mri_destroy> {
public:
    using geometry = detail::sized<isoc_mri_geometry>;
    using options = detail::sized<isoc_mri_options>;
    using info = detail::sized<isoc_mri_info>;
    using ellipsoid = isoc_mri_ellipsoid;
    using maps_options = detail::sized<isoc_mri_maps_options>;
    using delay_options = detail::sized<isoc_mri_delay_options>;
    using delays = detail::sized<isoc_mri_delays>;

    // Quality of an image: see compare.
    struct quality {
        double psnr, percent_error;
    };

    static outcome<mri> create(const context &owner) { return make(wrap, isoc_mri_create, owner); }
#if ISOCENTER_EXCEPTIONS
    explicit mri(const context &owner) : mri(create(owner)) {}
#endif
    mri(mri &&) noexcept = default;
    mri &operator=(mri &&) noexcept = default;

    // Sets image and trajectory, (samples, 2) or (samples, 3), x first, f32 or f64, on the host or on the GPU; copied. Forgets all
    // that was set for another: weights, maps, field, positions, the penalty's weights and matrix, Q.
    outcome<void> set_geometry(const isoc_mri_geometry &scan, const const_tensor &trajectory) {
        return detail::call(isoc_mri_set_geometry, self(), detail::filled<isoc_mri_geometry>(scan), named("trajectory", trajectory));
    }

    // Sets options, or the defaults. Another method, tolerance or upsampling forgets Q.
    outcome<void> set_options(const isoc_mri_options &wanted = options()) {
        return detail::call(isoc_mri_set_options, self(), detail::filled<isoc_mri_options>(wanted));
    }

    // As ct::set_stream.
    outcome<void> set_stream(void *stream) { return detail::call(isoc_mri_set_stream, self(), stream); }

    // Sets density weights: real (samples), not negative; copied. nullptr: 1. Forgets Q.
    outcome<void> set_weights(const const_tensor &weights) { return detail::call(isoc_mri_set_weights, self(), named("weights", weights)); }

    // Finds density weights and sets them. `density`: ISOC_MRI_DENSITY_..., which says what `parameter` is.
    outcome<void> compute_weights(uint32_t density, int64_t parameter = 0) {
        return detail::call(isoc_mri_compute_weights, self(), density, parameter);
    }

    // Writes the density weights: real (samples).
    outcome<void> get_weights(const tensor &weights) { return detail::call(isoc_mri_get_weights, self(), named("weights", weights)); }

    // Sets coil sensitivities: complex (coils, nz, ny, nx), or of several sets (sets, coils, nz, ny, nx), with an image for each; copied. nullptr: none, an image for
    // each coil.
    outcome<void> set_maps(const const_tensor &maps) { return detail::call(isoc_mri_set_maps, self(), named("maps", maps)); }

    // Sets off-resonance, `field` real (nz, ny, nx) in Hz, and decay, real (nz, ny, nx), R2* in 1/s, at `times`, real (samples) in seconds;
    // copied. Field or decay may be nullptr; nullptr for field and times: neither.
    outcome<void> set_field(const const_tensor &field, const const_tensor &times, const const_tensor &decay = nullptr) {
        return detail::call(isoc_mri_set_field, self(), named("field", field), named("times", times), named("decay", decay));
    }

    // Sets where voxels are: real (nz, ny, nx, axes), x first, in voxels; copied. nullptr: on the grid.
    outcome<void> set_positions(const const_tensor &positions) {
        return detail::call(isoc_mri_set_positions, self(), named("positions", positions));
    }

    // Sets the weights of ISOC_MRI_PENALTY_DIFFERENCES: real (axes, nz, ny, nx), x first; copied. nullptr: 1.
    outcome<void> set_difference_weights(const const_tensor &weights) {
        return detail::call(isoc_mri_set_difference_weights, self(), named("weights", weights));
    }

    // Sets R of ISOC_MRI_PENALTY_MATRIX as compressed sparse rows: row i has the entries row_starts[i] to row_starts[i + 1] of `columns` and
    // `values`, real or complex; copied. One more row_starts than rows, as many columns as values.
    outcome<void> set_matrix(span<const int64_t> row_starts, span<const int64_t> columns, const const_tensor &values) {
        return detail::call(isoc_mri_set_matrix, self(), row_starts.count() - 1, row_starts.data(), columns.data(), columns.count(),
                            named("values", values));
    }

    // Makes the scan a series of frames with images of their own, (frames, nz, ny, nx): frame f has counts[f] samples from first[f] on; frames
    // may overlap. No frames make it one scan again.
    outcome<void> set_frames(span<const int64_t> first, span<const int64_t> counts) {
        return detail::call(isoc_mri_set_frames, self(), first.count(), first.data(), detail::as_many(counts, first.size(), "counts", "first"));
    }

    // The same with windows of `length` samples, `step` apart.
    outcome<void> set_windows(int64_t length, int64_t step) { return detail::call(isoc_mri_set_windows, self(), length, step); }

    // Images that change while samples are taken: sample m is the sum over images k of basis(times[m], k) times that of image k. `basis` is real or
    // complex (times, images), nullptr forgets it; `times` has the row of each sample, and is empty where rows are samples.
    outcome<void> set_basis(const const_tensor &basis, span<const int64_t> times = {}) {
        return detail::call(isoc_mri_set_basis, self(), named("basis", basis), times.count() ? times.data() : nullptr);
    }

    // Samples of shots, between which the object's phase changes: sample m sees the image times phases[shots[m]]. `phases` is complex (shots, nz, ny, nx); `shots`
    // has the shot of each sample. Empty and nullptr forget them.
    outcome<void> set_shots(span<const int64_t> shots, const const_tensor &phases) {
        return detail::call(isoc_mri_set_shots, self(), shots.count() ? shots.data() : nullptr, named("phases", phases));
    }

    // What the plan found and decided.
    outcome<info> get_info() {
        info found;
        return detail::get(found, isoc_mri_get_info, self(), static_cast<isoc_mri_info *>(&found));
    }

    // Most bytes of working memory that reconstruct uses.
    outcome<uint64_t> memory() {
        uint64_t bytes = 0;
        return detail::get(bytes, isoc_mri_memory, self(), &bytes);
    }

    // samples = F image.
    outcome<void> forward(const const_tensor &image, const tensor &samples) {
        return detail::call(isoc_mri_forward, self(), named("image", image), named("samples", samples));
    }

    // image = F^H samples, unscaled.
    outcome<void> adjoint(const const_tensor &samples, const tensor &image) {
        return detail::call(isoc_mri_adjoint, self(), named("samples", samples), named("image", image));
    }

    // image = F^H W samples.
    outcome<void> gridding(const const_tensor &samples, const tensor &image) {
        return detail::call(isoc_mri_gridding, self(), named("samples", samples), named("image", image));
    }

    // out = (F^H W F + lambda R^H R) image.
    outcome<void> normal(const const_tensor &image, const tensor &out) {
        return detail::call(isoc_mri_normal, self(), named("image", image), named("out", out));
    }

    // The same as reconstruct and gridding of samples that do not fit memory: `read` fills those of some shots at a time, in order, `at_once` of them
    // (0: 2^24 values, or an eighth of the memory cap); with frames those of each frame. It is called on this thread, must not use the plan, and
    // returns next::proceed, or next::stop, which ends the call with ISOC_STATUS_CALLBACK; an exception ends the call, and leaves it.
    // T is std::complex<float> or std::complex<double>.
    template <class T> outcome<void> reconstruct_stream(const callback<const shots<T> &> &read, const tensor &image, int64_t at_once = 0) {
        return stream<T>(isoc_mri_reconstruct_stream, read, image, at_once);
    }
    template <class T> outcome<void> gridding_stream(const callback<const shots<T> &> &read, const tensor &image, int64_t at_once = 0) {
        return stream<T>(isoc_mri_gridding_stream, read, image, at_once);
    }

    // What they need with as much at a time, for memory_cap and gpu_memory_cap of the context.
    template <class T> outcome<memory_bytes> stream_memory(int64_t at_once = 0) {
        memory_bytes found{};
        return detail::get(found, isoc_mri_stream_memory, self(), dtype_of<T>::value, at_once, &found.host, &found.gpu);
    }

    // Finds coil sensitivities, (coils, nz, ny, nx), for set_maps, and the image, (nz, ny, nx), together, from samples alone. The plan has no maps, and gets none.
    outcome<void> find_maps(const const_tensor &samples, const tensor &maps, const tensor &image, const isoc_mri_maps_options &wanted = maps_options()) {
        return detail::call(isoc_mri_find_maps, self(), detail::filled<isoc_mri_maps_options>(wanted), named("samples", samples), named("maps", maps),
                            named("image", image));
    }

    // The same without the image.
    outcome<void> find_maps(const const_tensor &samples, const tensor &maps, const isoc_mri_maps_options &wanted = maps_options()) {
        return detail::call(isoc_mri_find_maps, self(), detail::filled<isoc_mri_maps_options>(wanted), named("samples", samples), named("maps", maps), nullptr);
    }

    // Most bytes of working memory that find_maps will take: of the host, or of the GPU that it computes on.
    outcome<uint64_t> maps_memory(const isoc_mri_maps_options &wanted = maps_options()) {
        uint64_t bytes = 0;
        return detail::get(bytes, isoc_mri_maps_memory, self(), detail::filled<isoc_mri_maps_options>(wanted), &bytes);
    }

    // Delays between gradients and samples, in samples, from a scan itself. `wanted.readout` has to be set.
    outcome<delays> find_delays(const const_tensor &samples, const isoc_mri_delay_options &wanted) {
        delays found;
        return detail::get(found, isoc_mri_find_delays, self(), named("samples", samples), detail::filled<isoc_mri_delay_options>(wanted),
                           static_cast<isoc_mri_delays *>(&found));
    }

    // Writes the trajectory as it is with delays, real (samples, axes), for set_geometry.
    outcome<void> delayed_trajectory(const isoc_mri_delay_options &wanted, const isoc_mri_delays &late, const tensor &trajectory) {
        return detail::call(isoc_mri_delayed_trajectory, self(), detail::filled<isoc_mri_delay_options>(wanted),
                            detail::filled<isoc_mri_delays>(late), named("trajectory", trajectory));
    }

    // The image that minimises |F image - samples|^2 / 2 in the weights' norm + lambda times the penalty. `image` is also read with options.warm_start.
    outcome<void> reconstruct(const const_tensor &samples, const tensor &image) {
        return detail::call(isoc_mri_reconstruct, self(), named("samples", samples), named("image", image));
    }

    // Writes the relative residuals of image `image` in the last reconstruct, before the first iteration and after each; returns how many
    // there are. An empty span asks for that alone; one that is too small is an error.
    outcome<int64_t> history(int64_t image, span<double> residuals) {
        int64_t found = 0;
        return detail::get(found, isoc_mri_history, self(), image, residuals.data(), residuals.count(), &found);
    }

    // The same of what penalties `wavelets`, `variation` and `low_rank` made less; there are none with other penalties.
    outcome<int64_t> objective(int64_t image, span<double> objectives) {
        int64_t found = 0;
        return detail::get(found, isoc_mri_objective, self(), image, objectives.data(), objectives.count(), &found);
    }

    // How far each of these is above the minimum at most; only of wavelets and blocks that stay where they are.
    outcome<int64_t> gap(int64_t image, span<double> gaps) {
        int64_t found = 0;
        return detail::get(found, isoc_mri_gap, self(), image, gaps.data(), gaps.count(), &found);
    }

    // Makes Q unless it is there; reconstruct does so by itself.
    outcome<void> compute_q() { return detail::call(isoc_mri_compute_q, self()); }

    // Copies Q out: real (q_nz, q_ny, q_nx) of get_info. Not with a field.
    outcome<void> export_q(const tensor &q) { return detail::call(isoc_mri_export_q, self(), named("q", q)); }

    // Takes a Q of a plan with the same grid, trajectory and weights.
    outcome<void> import_q(const const_tensor &q) { return detail::call(isoc_mri_import_q, self(), named("q", q)); }

    // The ellipsoids of a Shepp-Logan head, 2 half_xy voxels wide and high, 2 half_z deep (0: a plane). `kind`: ISOC_MRI_SHEPP_LOGAN_KIND_...
    static outcome<std::array<ellipsoid, ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS>> shepp_logan(uint32_t kind, double half_xy, double half_z = 0) {
        std::array<ellipsoid, ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS> all{};
        return detail::get(all, isoc_mri_shepp_logan, kind, half_xy, half_z, all.data(), static_cast<int64_t>(all.size()), static_cast<int64_t *>(nullptr));
    }

    // What one coil without a profile measures of a phantom, exactly: complex (samples).
    outcome<void> phantom_samples(span<const ellipsoid> ellipsoids, const tensor &samples) {
        return detail::call(isoc_mri_phantom_samples, self(), ellipsoids.data(), ellipsoids.count(), named("samples", samples));
    }

    // A phantom's mean over each voxel: complex (nz, ny, nx).
    outcome<void> phantom_image(span<const ellipsoid> ellipsoids, const tensor &image) {
        return detail::call(isoc_mri_phantom_image, self(), ellipsoids.data(), ellipsoids.count(), named("image", image));
    }

    // Compares an image with the true one, both complex (nz, ny, nx): peak signal-to-noise ratio in dB, error in percent.
    outcome<quality> compare(const const_tensor &image, const const_tensor &truth) {
        quality found{};
        return detail::get(found, isoc_mri_compare, self(), named("image", image), named("truth", truth), &found.psnr, &found.percent_error);
    }

private:
    using handle::handle;
    static mri wrap(isoc_mri *raw, const context &owner) { return mri(raw, owner.shared()); }

    template <class T, class F> outcome<void> stream(F function, const callback<const shots<T> &> &read, const tensor &image, int64_t at_once) {
        using called = std::remove_reference_t<decltype(read)>;
        const isoc_mri_read_fn on_read = [](void *user, int64_t first, int64_t count, const isoc_tensor *t) {
            return detail::frame::run([=] {
                return (**static_cast<called **>(user))(shots<T>{ first, count, t->shape[0], static_cast<T *>(t->data) });
            });
        };
        called *one = &read;
        return detail::call(function, self(), dtype_of<T>::value, at_once, read ? on_read : nullptr, static_cast<void *>(&one),
                            named("image", image));
    }
};

// A plan for DIRECT time-of-flight PET: see isoc_pet. Millimetres, picoseconds, radians. An image is f32 (nz, ny, nx), histo-images are
// f32 or u32 (views, nz, ny, nx); a dimension of one view may be left out.
class pet : public detail::handle<isoc_pet, isoc_pet_destroy> {
public:
    using geometry = detail::sized<isoc_pet_geometry>;
    using options = detail::sized<isoc_pet_options>;
    using info = detail::sized<isoc_pet_info>;
    using table_sizes = detail::sized<isoc_pet_table_sizes>;
    using tables = detail::sized<isoc_pet_tables>;
    using dropped = detail::sized<isoc_pet_dropped>;
    using tally = detail::sized<isoc_pet_tally>;
    using blocks = detail::sized<isoc_pet_blocks>;
    using lost = detail::sized<isoc_pet_lost>;
    using factor_options = detail::sized<isoc_pet_factor_options>;
    using scatter_options = detail::sized<isoc_pet_scatter_options>;
    using scatter_found = detail::sized<isoc_pet_scatter_found>;
    using prior = detail::sized<isoc_pet_prior>;
    using iteration = isoc_pet_iteration;
    using body = isoc_pet_body;

    // isoc_pet_response.
    struct response {
        uint32_t profile = ISOC_PET_PROFILE_SYMMETRIC;
        uint32_t cut = ISOC_PET_CUT_BOX;
        double tof_fwhm = 0;
        double radial_fwhm = 0;
        double axial_fwhm = 0;
        list<double> radial_table = {}; // pairs: { distance, width, distance, width, ... }; none: radial_fwhm holds everywhere
        double step = 0;
        double cut_width = 0;
        double ratio = 0;
        double shift = 0;
        double share = 0;

    private:
        template <class> friend class detail::lowered_struct;
        void lower(isoc_pet_response &c, detail::complaint &found) const noexcept {
            c.radial_table_count = entries(radial_table, "response", found), c.radial_table = radial_table.pointer();
            c.profile = profile, c.cut = cut, c.step = step, c.cut_width = cut_width;
            c.tof_fwhm = tof_fwhm, c.radial_fwhm = radial_fwhm, c.axial_fwhm = axial_fwhm;
            c.ratio = ratio, c.shift = shift, c.share = share;
        }
    };

    // isoc_pet_scan.
    struct scan {
        list<body> bodies = {};
        double diameter = 0;
        double axial_length = 0;
        double tof_fwhm = 0;
        double radial_fwhm = 0;
        double axial_fwhm = 0;
        list<double> radial_table = {}; // as in response
        double randoms = 0;
        double random_window = 0;
        double scatter = 0;
        double scatter_sigma = 0;
        uint64_t seed = 0;
        double energy_resolution = 0; // above 0: photons scatter, and `scatter` must be 0
        double energy_lower = 0;
        double energy_upper = 0;
        const isoc_tensor *attenuation = nullptr; // in place of the bodies', and where it is
        double map_voxel_x = 0;
        double map_voxel_y = 0;
        double map_voxel_z = 0;
        double map_centre_x = 0;
        double map_centre_y = 0;
        double map_centre_z = 0;

    private:
        template <class> friend class detail::lowered_struct;
        void lower(isoc_pet_scan &c, detail::complaint &found) const noexcept {
            c.radial_table_count = entries(radial_table, "scan", found), c.radial_table = radial_table.pointer();
            c.bodies = bodies.pointer(), c.body_count = bodies.count();
            c.diameter = diameter, c.axial_length = axial_length;
            c.tof_fwhm = tof_fwhm, c.radial_fwhm = radial_fwhm, c.axial_fwhm = axial_fwhm;
            c.randoms = randoms, c.random_window = random_window, c.scatter = scatter, c.scatter_sigma = scatter_sigma;
            c.seed = seed, c.energy_resolution = energy_resolution, c.energy_lower = energy_lower, c.energy_upper = energy_upper;
            c.attenuation = attenuation, c.map_voxel_x = map_voxel_x, c.map_voxel_y = map_voxel_y, c.map_voxel_z = map_voxel_z;
            c.map_centre_x = map_centre_x, c.map_centre_y = map_centre_y, c.map_centre_z = map_centre_z;
        }
    };

    // isoc_pet_scanner.
    struct scanner {
        double crystal_width = 0;
        double crystal_height = 0;
        list<double> time_edges = {}; // one more than there are bins; none: events have time differences in ps
        const isoc_tensor *crystal_sizes = nullptr; // real (crystals, 2): width and height of each, in place of the two above

    private:
        template <class> friend class detail::lowered_struct;
        void lower(isoc_pet_scanner &c, detail::complaint &found) const noexcept {
            const auto size = static_cast<unsigned long long>(time_edges.size());
            if (size == 1 || size > UINT32_MAX)
                found.set(ISOC_STATUS_OUT_OF_RANGE, "scanner.time_edges has %llu values; it must have one more than there are bins", size);
            c.time_bins = static_cast<uint32_t>(size ? size - 1 : 0), c.time_edges = size ? time_edges.pointer() : nullptr;
            c.crystal_width = crystal_width, c.crystal_height = crystal_height, c.crystal_sizes = crystal_sizes;
        }
    };

    // isoc_pet_list: either crystals, or both positions, in host memory and used in place, so not of temporary containers.
    struct event_list {
        const_tensor crystals = nullptr;         // u8, u16 or u32 (events, 2), from 0
        const_tensor times = nullptr;            // real (events) of t2 - t1 in ps, or of crystals u8, u16 or u32 time bins; nullptr: no time of flight
        const_tensor first_positions = nullptr;  // real (events, 3) of x, y, z in mm
        const_tensor second_positions = nullptr;
        const_tensor tof_fwhm = nullptr;         // real (events), ps; nullptr: response's
        uint64_t first_event = 0;                // of crystals: the number of the list's first event in the scan
    };

    static outcome<pet> create(const context &owner) { return make(wrap, isoc_pet_create, owner); }
#if ISOCENTER_EXCEPTIONS
    explicit pet(const context &owner) : pet(create(owner)) {}
#endif
    pet(pet &&) noexcept = default;
    pet &operator=(pet &&) noexcept = default;

    // Sets lattice and views: a grid of azimuths x tilts, or a list, real (views, 2) of azimuth and tilt. Forgets tables, order, prior and
    // regions, keeps the response.
    outcome<void> set_geometry(const isoc_pet_geometry &lattice, const const_tensor &views = nullptr) {
        return detail::call(isoc_pet_set_geometry, self(), detail::filled<isoc_pet_geometry>(lattice), named("views", views));
    }

    // Writes the views' directions: azimuth and tilt of each, so two numbers a view; returns how many views there are. An empty span asks
    // for that alone; one that is too small is an error.
    outcome<int64_t> get_views(span<double> directions) {
        int64_t found = 0;
        return detail::get(found, isoc_pet_get_views, self(), directions.data(), detail::groups(directions.size(), 2, "directions", "view"),
                           &found);
    }

    // Sets the response of all views that have no tables of their own; copied.
    outcome<void> set_response(const response &widths) {
        return detail::call(isoc_pet_set_response, self(), detail::lowered_struct<isoc_pet_response>(widths));
    }

    // Sets the caller's own kernels of a view; copied. `map`: (ny, nx); `offsets`: (n, 3), x, y, z; `values`: (kernels, n).
    outcome<void> set_tables(int64_t view, span<const uint32_t> map, span<const int32_t> offsets, span<const float> values) {
        return detail::call(isoc_pet_set_tables, self(), view, map.data(), map.count(), offsets.data(),
                            detail::groups(offsets.size(), 3, "offsets", "offset"), values.data(), values.count());
    }

    // How large a view's tables are.
    outcome<table_sizes> get_table_sizes(int64_t view) {
        table_sizes sizes;
        return detail::get(sizes, isoc_pet_get_table_sizes, self(), view, static_cast<isoc_pet_table_sizes *>(&sizes));
    }

    // Writes a view's tables as set_tables takes them, and the mass that the cut left of each kernel; returns the numbers that there are of
    // each. An empty span leaves its table out; where one is too small (get_table_sizes tells the sizes) nothing is written.
    outcome<tables> get_tables(int64_t view, span<uint32_t> map, span<int32_t> offsets, span<float> values, span<double> mass = {}) {
        tables to;
        to.map = map.data(), to.map_capacity = map.count(), to.offsets = offsets.data(), to.offset_capacity = offsets.count() / 3;
        to.values = values.data(), to.value_capacity = values.count(), to.mass = mass.data(), to.mass_capacity = mass.count();
        return detail::get(to, isoc_pet_get_tables, self(), view, static_cast<isoc_pet_tables *>(&to));
    }

    // Sets options, or the defaults.
    outcome<void> set_options(const isoc_pet_options &wanted = options()) {
        return detail::call(isoc_pet_set_options, self(), detail::filled<isoc_pet_options>(wanted));
    }

    // Sets the order of views in a pass, each at most once; the others are not used.
    outcome<void> set_order(span<const int64_t> order) { return detail::call(isoc_pet_set_order, self(), order.data(), order.count()); }

    // Sets the prior of ISOC_PET_ALGORITHM_BSREM and SVRG; nullptr takes it away. `weights`: f32 (nz, ny, nx), not negative, or nullptr for 1;
    // `anatomy`: f32 (nz, ny, nx) of a CT or MR image on the lattice, or nullptr; copied.
    outcome<void> set_prior(const isoc_pet_prior &wanted, const const_tensor &weights = nullptr, const const_tensor &anatomy = nullptr) {
        return detail::call(isoc_pet_set_prior, self(), detail::filled<isoc_pet_prior>(wanted), named("weights", weights),
                            named("anatomy", anatomy));
    }
    outcome<void> set_prior(std::nullptr_t) { return detail::call(isoc_pet_set_prior, self(), nullptr, nullptr, nullptr); }

    // What the prior takes off the log-likelihood of an image, f32 (nz, ny, nx), not negative. `gradient` gets its gradient, f32, if given.
    outcome<double> prior_gradient(const const_tensor &image, const tensor &gradient = nullptr) {
        double value = 0;
        return detail::get(value, isoc_pet_prior_gradient, self(), named("image", image), named("gradient", gradient), &value);
    }

    // Sets the regions of options.stop_region_change: u8, u16 or u32 (nz, ny, nx), labels from 1 to 65535, 0 for none; copied. nullptr takes
    // them away.
    outcome<void> set_regions(const const_tensor &regions) { return detail::call(isoc_pet_set_regions, self(), named("regions", regions)); }

    // As ct::set_stream.
    outcome<void> set_stream(void *stream) { return detail::call(isoc_pet_set_stream, self(), stream); }

    // What the plan found and decided.
    outcome<info> get_info() {
        info found;
        return detail::get(found, isoc_pet_get_info, self(), static_cast<isoc_pet_info *>(&found));
    }

    // Most bytes of working memory that reconstruct uses. Makes the kernels.
    outcome<uint64_t> memory() {
        uint64_t bytes = 0;
        return detail::get(bytes, isoc_pet_memory, self(), &bytes);
    }

    // Histo-images = H image, f32, of all views.
    outcome<void> forward(const const_tensor &image, const tensor &histo_images) {
        return detail::call(isoc_pet_forward, self(), all_views, int64_t{ 0 }, named("image", image), named("histo_images", histo_images));
    }

    // Histo-images = H image, f32 (view_count, nz, ny, nx), of the views that are named, in their order.
    outcome<void> forward(span<const int64_t> views, const const_tensor &image, const tensor &histo_images) {
        return detail::call(isoc_pet_forward, self(), listed(views), views.count(), named("image", image),
                            named("histo_images", histo_images));
    }

    // Image = sum of H' histo-images over all views: the exact transpose of forward.
    outcome<void> adjoint(const const_tensor &histo_images, const tensor &image) {
        return detail::call(isoc_pet_adjoint, self(), all_views, int64_t{ 0 }, named("histo_images", histo_images), named("image", image));
    }

    // Image = sum of H' histo-images, (view_count, nz, ny, nx), over the views that are named.
    outcome<void> adjoint(span<const int64_t> views, const const_tensor &histo_images, const tensor &image) {
        return detail::call(isoc_pet_adjoint, self(), listed(views), views.count(), named("histo_images", histo_images),
                            named("image", image));
    }

    // Image = sum of H' A over all views. `factors`: f32 histo-images, or nullptr for 1.
    outcome<void> sensitivity(const const_tensor &factors, const tensor &image) {
        return detail::call(isoc_pet_sensitivity, self(), named("factors", factors), named("image", image));
    }

    // Reconstructs from measured histo-images, f32 or u32, with `factors` (attenuation x normalisation; nullptr: 1) and `additive` (scatter
    // + randoms; nullptr: 0), f32 histo-images. `image` is also read with options.warm_start.
    outcome<void> reconstruct(const const_tensor &measured, const const_tensor &factors, const const_tensor &additive,
                              const tensor &image) {
        return detail::call(isoc_pet_reconstruct, self(), named("measured", measured), named("factors", factors),
                            named("additive", additive), named("image", image));
    }

    // Writes what each pass of the last reconstruction saw; returns how many there are. An empty span asks for that alone; one that is too
    // small is an error.
    outcome<int64_t> history(span<iteration> passes) {
        int64_t found = 0;
        return detail::get(found, isoc_pet_history, self(), passes.data(), passes.count(), &found);
    }

    // Adds list-mode events to histo-images, u32 or f32, which begin as zeros, in host memory or on the plan's GPU, which then counts; there the events
    // may be, too. Positions: real (events, 3) of x, y, z in mm; time differences t2 - t1: real (events) in ps. Returns what was left out.
    outcome<dropped> deposit(const const_tensor &first_positions, const const_tensor &second_positions,
                             const const_tensor &time_differences, const tensor &histo_images) {
        dropped events;
        return detail::get(events, isoc_pet_deposit, self(), named("first_positions", first_positions),
                           named("second_positions", second_positions), named("time_differences", time_differences),
                           named("histo_images", histo_images), static_cast<isoc_pet_dropped *>(&events));
    }

    // Writes the crystals of a scanner of blocks: x, y, z in mm of each face's centre, and of the direction that it looks in, so three numbers
    // a crystal each; returns how many crystals there are. An empty span leaves its list out, and two ask for the number alone; one that is
    // too small is an error.
    static outcome<int64_t> block_crystals(const isoc_pet_blocks &rings, span<double> positions, span<double> normals = {}) {
        // The capacity is of both lists.
        const bool second = positions.size() == 0 || (normals.size() != 0 && normals.size() < positions.size());
        const span<double> &least = second ? normals : positions;
        int64_t found = 0;
        return detail::get(found, isoc_pet_block_crystals, detail::filled<isoc_pet_blocks>(rings), positions.size() ? positions.data() : nullptr,
                           normals.size() ? normals.data() : nullptr,
                           detail::groups(least.size(), 3, second ? "normals" : "positions", "crystal"), &found);
    }

    // Sets the scanner that events of deposit_crystals are of; copied. `positions`: real (crystals, 3) of x, y, z in mm; `normals`: the same of
    // directions that faces look in, or nullptr: to the z axis. It holds whatever the geometry.
    outcome<void> set_scanner(const scanner &detectors, const const_tensor &positions, const const_tensor &normals = nullptr) {
        return detail::call(isoc_pet_set_scanner, self(), detail::lowered_struct<isoc_pet_scanner>(detectors), named("positions", positions),
                            named("normals", normals));
    }

    // Sets which pairs of the scanner's crystals are measured, and what is measured of each besides what its crystals detect; copied. `modules`: u8, u16 or u32 (crystals), from
    // 0; `groups`: the same (modules, modules), 0 where two are not in coincidence, else a group from 1; `efficiencies`: real (groups) or (groups, elements, elements), nullptr for
    // 1. All nullptr: all pairs are measured.
    outcome<void> set_pairs(const const_tensor &modules, const const_tensor &groups, const const_tensor &efficiencies = nullptr) {
        return detail::call(isoc_pet_set_pairs, self(), named("modules", modules), named("groups", groups), named("efficiencies", efficiencies));
    }

    // Adds list-mode events that name crystals to histo-images, (labels, views, nz, ny, nx), as deposit does. `crystals`: u8, u16 or u32
    // (events, 2), from 0; `times`: u8, u16 or u32 time bins, or real t2 - t1 in ps; `labels`: u8, u16 or u32 (events), nullptr for 0
    // everywhere. `first_event` is the number of the list's first event in the scan. Returns what was left out.
    outcome<dropped> deposit_crystals(const const_tensor &crystals, const const_tensor &times, const const_tensor &labels,
                                      const tensor &histo_images, uint64_t first_event = 0) {
        dropped events;
        return detail::get(events, isoc_pet_deposit_crystals, self(), named("crystals", crystals), named("times", times),
                           named("labels", labels), first_event, named("histo_images", histo_images),
                           static_cast<isoc_pet_dropped *>(&events));
    }

    // Writes what the scanner makes of events with positions, as deposit and simulate have them: `crystals`, u32 (events, 2), 2^32 - 1 for an
    // event that is lost, and `times`, u8, u16 or u32 (events) of time bins, or real (events) in ps. `efficiencies`: real (crystals), the
    // probability that a crystal detects, or nullptr: the first that a line meets does. All in host memory. Returns how many events are lost.
    outcome<lost> detect(const const_tensor &first_positions, const const_tensor &second_positions, const const_tensor &time_differences,
                         const const_tensor &efficiencies, uint64_t seed, const tensor &crystals, const tensor &times) {
        lost events;
        return detail::get(events, isoc_pet_detect, self(), named("first_positions", first_positions),
                           named("second_positions", second_positions), named("time_differences", time_differences),
                           named("efficiencies", efficiencies), seed, named("crystals", crystals), named("times", times),
                           static_cast<isoc_pet_lost *>(&events));
    }

    // Writes the factors of the scanner, as reconstruct takes them: f32 histo-images, in host memory or on the plan's GPU. `efficiencies`: real
    // (crystals), those of crystals behind each other add up, nullptr: all photons are detected; `attenuation`: real (nz, ny, nx) of any size, 1/mm at 511 keV, nullptr for none; both in host memory.
    outcome<void> factors(const isoc_pet_factor_options &wanted, const const_tensor &efficiencies, const const_tensor &attenuation,
                          const tensor &factors) {
        return detail::call(isoc_pet_factors, self(), detail::filled<isoc_pet_factor_options>(wanted), named("efficiencies", efficiencies),
                            named("attenuation", attenuation), named("factors", factors));
    }

    // What factors needs, for memory_cap and gpu_memory_cap of the context. Of the attenuation its shape alone counts: nothing is read.
    outcome<memory_bytes> factors_memory(const isoc_pet_factor_options &wanted, const const_tensor &attenuation) {
        memory_bytes found{};
        return detail::get(found, isoc_pet_factors_memory, self(), detail::filled<isoc_pet_factor_options>(wanted),
                           named("attenuation", attenuation), &found.host, &found.gpu);
    }

    // Writes the attenuation, f32 in 1/mm at 511 keV, of a CT in Hounsfield units, real of the same shape (nz, ny, nx), of a tube of so many kV.
    // Both in host memory, and may be the same.
    outcome<void> attenuation(double kilovolts, const const_tensor &hounsfield, const tensor &attenuation) {
        return detail::call(isoc_pet_attenuation, self(), kilovolts, named("hounsfield", hounsfield), named("attenuation", attenuation));
    }

    // Adds delayed coincidences to sums over crystals' fans, u32 (labels, crystals) or (crystals), which begin as zeros. `field_of_view`: diameter
    // in mm, 0 for the lattice's circle; `crystals` and `labels` as deposit_crystals has them, labels beyond the sums left out. All in host
    // memory. Returns what was left out.
    outcome<dropped> fan_sums(double field_of_view, const const_tensor &crystals, const const_tensor &labels, const tensor &sums) {
        dropped events;
        return detail::get(events, isoc_pet_fan_sums, self(), field_of_view, named("crystals", crystals), named("labels", labels),
                           named("sums", sums), static_cast<isoc_pet_dropped *>(&events));
    }

    // Writes the rates of single photons, f32 (crystals) in 1/s, of sums by fan_sums of the same field of view, real or u32 (crystals), of a
    // measurement of `duration` s; both in host memory. `window`: largest time difference in ps, 0 for that of the scanner's time bins.
    outcome<void> singles(double field_of_view, double duration, double window, const const_tensor &sums, const tensor &singles) {
        return detail::call(isoc_pet_singles, self(), field_of_view, duration, window, named("sums", sums), named("singles", singles));
    }

    // Writes which part of all photons each crystal detects, f32 (crystals), from a scan of a known source: `sums` of prompts by fan_sums of the
    // same field of view, real or u32 (crystals); `image`, the source, f32 or f64 in the unit of `wanted`, which sets the scale; `attenuation` as
    // in factors, nullptr for none; `singles`, real (crystals) in 1/s, whose randoms are taken away, nullptr: none; `window` as in singles, 0
    // without them. All in host memory.
    outcome<void> efficiencies(double field_of_view, double window, const isoc_pet_factor_options &wanted, const const_tensor &sums,
                               const const_tensor &image, const const_tensor &attenuation, const const_tensor &singles,
                               const tensor &efficiencies) {
        return detail::call(isoc_pet_efficiencies, self(), field_of_view, window, detail::filled<isoc_pet_factor_options>(wanted),
                            named("sums", sums), named("image", image), named("attenuation", attenuation), named("singles", singles),
                            named("efficiencies", efficiencies));
    }

    // Writes the randoms of crystals with these rates, real (crystals) in host memory, 1/s: f32 histo-images, in host memory or on the plan's GPU.
    // `duration` and `window` as in singles, `directions` as in factor_options.
    outcome<void> randoms(double duration, double window, uint32_t directions, const const_tensor &singles, const tensor &histo_images) {
        return detail::call(isoc_pet_randoms, self(), duration, window, directions, named("singles", singles),
                            named("histo_images", histo_images));
    }

    // What randoms needs.
    outcome<memory_bytes> randoms_memory(uint32_t directions) {
        memory_bytes found{};
        return detail::get(found, isoc_pet_randoms_memory, self(), directions, &found.host, &found.gpu);
    }

    // Writes single scatter of an image, f32 or f64 in host memory, plus `randoms` (nullptr: 0), as reconstruct takes them. `wanted.factors`: the
    // factor_options that the image was reconstructed with. `efficiencies` and `attenuation` as in factors, but there must be an attenuation;
    // `measured`: u32 or f32 histo-images whose tails scale scatter, nullptr for none. Returns what it found.
    outcome<scatter_found> scatter(const isoc_pet_scatter_options &wanted, const const_tensor &image, const const_tensor &efficiencies,
                                   const const_tensor &attenuation, const const_tensor &measured, const const_tensor &randoms,
                                   const tensor &additive) {
        scatter_found estimate;
        return detail::get(estimate, isoc_pet_scatter, self(), detail::filled<isoc_pet_scatter_options>(wanted), named("image", image),
                           named("efficiencies", efficiencies), named("attenuation", attenuation), named("measured", measured),
                           named("randoms", randoms), named("additive", additive), static_cast<isoc_pet_scatter_found *>(&estimate));
    }

    // What scatter needs, of this attenuation: where photons scatter comes from its values.
    outcome<memory_bytes> scatter_memory(const isoc_pet_scatter_options &wanted, const const_tensor &attenuation) {
        memory_bytes found{};
        return detail::get(found, isoc_pet_scatter_memory, self(), detail::filled<isoc_pet_scatter_options>(wanted),
                           named("attenuation", attenuation), &found.host, &found.gpu);
    }

    // Writes the sums of an image along the lines of a list, f32 (events) in host memory: the image blurred by the response, and interpolated by Joseph's method. Without times they are integrals
    // in mm, with times means about the events' places. Returns what has no line; that has 0.
    outcome<dropped> forward_lines(const event_list &list, const const_tensor &image, const tensor &values) {
        dropped events;
        return detail::get(events, isoc_pet_forward_lines, self(), detail::lowered_list(list), named("image", image), named("values", values),
                           static_cast<isoc_pet_dropped *>(&events));
    }

    // The transpose of forward_lines.
    outcome<dropped> adjoint_lines(const event_list &list, const const_tensor &values, const tensor &image) {
        dropped events;
        return detail::get(events, isoc_pet_adjoint_lines, self(), detail::lowered_list(list), named("values", values), named("image", image),
                           static_cast<isoc_pet_dropped *>(&events));
    }

    // Writes what is measured of each event's line, f32 (events) in host memory, as reconstruct_lines takes it. The others are as in factors; efficiencies need a list of crystals.
    outcome<dropped> line_factors(const event_list &list, const isoc_pet_factor_options &wanted, const const_tensor &efficiencies,
                                  const const_tensor &attenuation, const tensor &factors) {
        dropped events;
        return detail::get(events, isoc_pet_line_factors, self(), detail::lowered_list(list), detail::filled<isoc_pet_factor_options>(wanted),
                           named("efficiencies", efficiencies), named("attenuation", attenuation), named("factors", factors),
                           static_cast<isoc_pet_dropped *>(&events));
    }

    // Writes what is measured of each voxel by all lines within the tilts, f32 (nz, ny, nx), in host memory or on the plan's GPU: the sum over views of factors, whose
    // arguments it has, interpolated along z as lines are.
    outcome<void> line_sensitivity(const isoc_pet_factor_options &wanted, const const_tensor &efficiencies, const const_tensor &attenuation,
                                   const tensor &sensitivity) {
        return detail::call(isoc_pet_line_sensitivity, self(), detail::filled<isoc_pet_factor_options>(wanted),
                            named("efficiencies", efficiencies), named("attenuation", attenuation), named("sensitivity", sensitivity));
    }

    // Writes the density of random coincidences about each event of a list of crystals, f32 (events) in host memory. `duration`, `window` and `singles` as in randoms;
    // the window has to be finite.
    outcome<void> line_randoms(const event_list &list, double duration, double window, const const_tensor &singles, const tensor &randoms) {
        return detail::call(isoc_pet_line_randoms, self(), detail::lowered_list(list), duration, window, named("singles", singles),
                            named("randoms", randoms));
    }

    // Writes the density about each event, f32 (events), of counts that histo-images expect, f32 in host memory, such as the scatter of scatter.
    outcome<dropped> sample_lines(const event_list &list, const const_tensor &histo_images, const tensor &values) {
        dropped events;
        return detail::get(events, isoc_pet_sample_lines, self(), detail::lowered_list(list), named("histo_images", histo_images),
                           named("values", values), static_cast<isoc_pet_dropped *>(&events));
    }

    // Reconstructs the image of a list along its lines, by the algorithm of set_options, of which subsets are of events; RAMLA has none. `factors` and `additive`: f32
    // (events) in host memory, or nullptr for 1 and 0; `sensitivity`: f32 (nz, ny, nx), that of line_sensitivity. Returns what does not count.
    outcome<dropped> reconstruct_lines(const event_list &list, const const_tensor &factors, const const_tensor &additive,
                                       const const_tensor &sensitivity, const tensor &image) {
        dropped events;
        return detail::get(events, isoc_pet_reconstruct_lines, self(), detail::lowered_list(list), named("factors", factors),
                           named("additive", additive), named("sensitivity", sensitivity), named("image", image),
                           static_cast<isoc_pet_dropped *>(&events));
    }

    // Bytes of working memory that reconstruct_lines needs of so many events: of the host, or of the GPU that it computes on.
    outcome<uint64_t> lines_memory(uint64_t events) {
        uint64_t bytes = 0;
        return detail::get(bytes, isoc_pet_lines_memory, self(), events, &bytes);
    }

    // A phantom's mean over each voxel, f32 in host memory. `quantity`: ISOC_PET_QUANTITY_...
    outcome<void> phantom_image(span<const body> bodies, uint32_t quantity, const tensor &image) {
        return detail::call(isoc_pet_phantom_image, self(), bodies.data(), bodies.count(), quantity, named("image", image));
    }

    // Simulates as many events as the arrays hold, which are as those of deposit. `activity`: f32 (nz, ny, nx) in host memory in place of
    // the bodies', or nullptr. Returns what was drawn, for expect.
    outcome<tally> simulate(const scan &setup, const const_tensor &activity, const tensor &first_positions,
                            const tensor &second_positions, const tensor &time_differences) {
        tally drawn;
        return detail::get(drawn, isoc_pet_simulate, self(), detail::lowered_struct<isoc_pet_scan>(setup), named("activity", activity),
                           named("first_positions", first_positions), named("second_positions", second_positions),
                           named("time_differences", time_differences),
                           static_cast<isoc_pet_tally *>(&drawn));
    }

    // Writes what is expected of a simulated scan: `factors` and `additive` as reconstruct takes them, in host memory; nullptr leaves
    // one out.
    outcome<void> expect(const scan &setup, const const_tensor &activity, const isoc_pet_tally &drawn, const tensor &factors,
                         const tensor &additive) {
        return detail::call(isoc_pet_expect, self(), detail::lowered_struct<isoc_pet_scan>(setup), named("activity", activity),
                            detail::filled<isoc_pet_tally>(drawn), named("factors", factors), named("additive", additive));
    }

    // Mean contrast recovery over spheres of 10 mm whose activity is `ratio` times the background's; 1 is true. `centres`: x, y, z of each
    // sphere in mm. Image f32 in host memory.
    outcome<double> contrast_recovery(const const_tensor &image, span<const double> centres, double ratio) {
        double recovery = 0;
        return detail::get(recovery, isoc_pet_contrast_recovery, self(), named("image", image), centres.data(),
                           detail::groups(centres.size(), 3, "centres", "sphere"), ratio, &recovery);
    }

    // Standard deviation over mean in the central disc of 50 mm. Image f32 in host memory.
    outcome<double> noise(const const_tensor &image) {
        double deviation = 0;
        return detail::get(deviation, isoc_pet_noise, self(), named("image", image), &deviation);
    }

private:
    using handle::handle;
    static pet wrap(isoc_pet *raw, const context &owner) { return pet(raw, owner.shared()); }

    // Pairs of a radial table.
    static uint32_t entries(const list<double> &table, const char *owner, detail::complaint &found) noexcept {
        const auto size = static_cast<unsigned long long>(table.size());
        if (size % 2 != 0 || size / 2 > UINT32_MAX)
            found.set(ISOC_STATUS_OUT_OF_RANGE, "%s.radial_table has %llu values; it must have pairs of distance and width", owner, size);
        return static_cast<uint32_t>(size / 2);
    }

    static constexpr const int64_t *all_views = nullptr;

    // An empty list is an error, and no list means all: an empty vector, whose data() may be NULL, must not mean all.
    static const int64_t *listed(span<const int64_t> views) noexcept {
        static constexpr int64_t none = 0;
        return views.data() ? views.data() : &none;
    }
};

} // inline namespace of the mode
} // namespace isocenter

#endif
