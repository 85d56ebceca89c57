// What the files of isocenter_mex share.
//
// isocenter_mex(command, plan, arguments...) calls one function of the C library. Arrays are described to it as they lie in memory:
// MATLAB's first dimension is the C library's last, so sizes are those of the C header in reverse.
//
// Errors are C++ exceptions up to mexFunction, which raises MATLAB's. Memory for parameters is MATLAB's own (mxMalloc): it is freed
// when the call ends, however it ends.
#pragma once

#include <isocenter.h>
#include <mex.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

struct plan;

// One call from MATLAB.
struct call {
    std::string command; // "ct.reconstruct"
    std::string method;  // "CT.reconstruct": as MATLAB's users know it
    std::string area;    // "ct": part of error identifiers
    ::plan *plan = nullptr;
    int count = 0;
    const mxArray **arguments = nullptr; // after command and plan
    int wanted = 0;
    mxArray **results = nullptr;

    const mxArray *argument(int at, const char *name) const;
    const mxArray *optional(int at) const; // NULL if it is not there, or []
    void takes(std::initializer_list<const char *> names) const; // these at most
    void result(int at, mxArray *value); // dropped if nobody wants it
};

// errors.cpp: isocenter:AREA:KIND. Messages name methods, arguments and options as MATLAB's users write them.
struct failure {
    std::string kind, text;
};
// "set_geometry" is "setGeometry", and in capitals, "SetGeometry".
std::string camel(const std::string &snake, bool capitals);
// A message of the library in MATLAB's words.
std::string in_matlab(const std::string &message);
#if defined(__GNUC__) && !defined(_WIN32) // MSVC has no such check, and MinGW's is for formats of Microsoft's own
__attribute__((format(printf, 2, 3)))
#endif
[[noreturn]] void fail(const char *kind, const char *format, ...);
// Throws the library's error unless the status is OK. `invalid` is the kind of faulty parameters, such as "invalidGeometry".
void check(isoc_status status, const char *invalid = "invalidArgument");
// Runs conversions that call every fault invalidArgument: in settings it is of the kind `invalid`.
template <class F> auto with_kind(const char *invalid, F body) {
    try {
        return body();
    } catch (const failure &f) {
        throw failure{ f.kind == "invalidArgument" ? invalid : f.kind, f.text };
    }
}

#if defined(ISOCENTER_OCTAVE)
// raise.cpp
void octave_raise(const char *identifier, const char *text);
void octave_warn(const char *identifier, const char *text);
#endif

// report.cpp: progress, Ctrl-C, warnings, and MATLAB functions called from the library's callbacks.
enum class progress_mode { none, console, function };
struct reporter; // shared by a context and its plans, the last of which frees it
reporter *reporter_new(progress_mode mode, const mxArray *function, bool log);
reporter *reporter_share(reporter *r);
void reporter_release(reporter *r);
int32_t report_progress(void *r, double fraction, const char *stage);
void report_log(void *r, int32_t level, const char *message);
// Calls a function handle from within a callback of the library; `out` is NULL if it returns nothing. Inputs are freed. Nothing is
// thrown: an error is kept for report_finish.
bool call_function(mxArray *function, const std::vector<mxArray *> &inputs, mxArray **out);
// Keeps an error of our own in the same way.
void keep_failure(const failure &f);
// The body of a callback of the library: 0, or 1 after an error, which is kept.
template <class F> int32_t guarded(F body) {
    try {
        return body();
    } catch (const failure &f) {
        keep_failure(f);
    } catch (...) {
        keep_failure({ "outOfMemory", "no memory for a part of a stream" });
    }
    return 1;
}
// A function handle, or an error.
mxArray *function_of(const mxArray *value, const char *name);
// What a part's function is called with: its first element, from 1, and their number.
std::vector<mxArray *> part_of(int64_t first, int64_t count);
// Brackets a call from MATLAB; `finish` raises what a function raised within, and shows warnings.
void report_begin(const call &c);
bool report_interrupted(); // Ctrl-C stopped the call
void report_finish();

// plans.cpp: contexts and plans by number.
enum class kind { context, ct, mri, pet };
struct ct_sizes {
    int64_t bins, rows, views, nx, ny, slices;
    bool sinograms;
};
struct mri_sizes {
    int64_t nx, ny, nz, samples, coils, axes;
    int64_t sets; // of maps; 0 without
    int64_t series; // images of what is one image without frames and basis
    bool is_double;
    isoc_mri_options options;
};
struct pet_sizes {
    int64_t nx, ny, nz, views;
    int64_t crystals; // of the scanner
    bool has_bins; // of time
    isoc_pet_options options;
};
struct plan {
    uint64_t id;
    ::kind kind;
    void *handle;
    ::reporter *reporter;
    const char *device; // that the context was asked for
    bool configured; // has a geometry
    ct_sizes ct_size;
    uint32_t ct_output; // an isoc_ct_output_type: what reconstruct stores
    uint32_t ct_algorithm; // an isoc_ct_algorithm
    isoc_ct_iterative ct_iterative; // as it was set; all zero before
    mri_sizes mri_size;
    pet_sizes pet_size;

    isoc_ct *ct() const { return static_cast<isoc_ct *>(handle); }
    isoc_mri *mri() const { return static_cast<isoc_mri *>(handle); }
    isoc_pet *pet() const { return static_cast<isoc_pet *>(handle); }
    isoc_context *context() const { return static_cast<isoc_context *>(handle); }
};
plan *plan_find(const mxArray *id, kind wanted);
plan *plan_keep(kind made_kind, void *made, reporter *r, const char *device);
mxArray *plan_number(const plan *p);
// The context of the number; 0 is one that all share, with default options.
plan *plan_context(const mxArray *id);
void plan_destroy(plan *p);
void plans_clear();

// arrays.cpp
enum type : unsigned { is_single = 1, is_double = 2, is_uint8 = 4, is_uint16 = 8, is_uint32 = 16, is_complex = 32 };
// Sizes in MATLAB's order, and what they are.
struct shape {
    std::vector<int64_t> size;
    const char *meaning;
    // For advice on arrays that do not fit: an option that counts along a dimension, the sizes with 0 there, and the option with which
    // the second and third dimension change places.
    const char *option = nullptr;
    std::vector<int64_t> counted = {};
    const char *swapped = nullptr;
    const char *cause = nullptr; // what is likely to be wrong, if not the order of dimensions
    int64_t elements() const;
};
std::string times(const std::vector<int64_t> &size); // "3 x 4"
std::vector<int64_t> size_of(const mxArray *value);
// "volume 8 x 8 x 3 (nx x ny x slices)"
std::string sized(const char *name, const shape &s);
// Advice for a matrix of so many rows, if its transpose is one.
std::string transposing(const mxArray *value, size_t rows, const char *name);
// A MATLAB array as the library sees it. It points into itself, so it stays where it is made.
class array {
public:
    array() = default;
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    // Describes an input where it lies. `types` are those that it may have; with is_complex it has to be complex.
    array(const mxArray *value, const char *name, unsigned types, const shape &expected);
    // The entries of a sparse matrix of doubles.
    array(const mxArray *sparse, int64_t entries);
    // An output of one type. `any` is for those that the library writes to the last element.
    enum class contents { any, zeros };
    array(unsigned type, const shape &size, contents before = contents::any);
    // An output that begins with the values of an input.
    array(const array &initial, const shape &size);
    // Elements of another type in the same memory, such as f16 in uint16.
    void holds(isoc_dtype dtype) { tensor_.dtype = dtype; }
    const isoc_tensor *tensor() const { return &tensor_; }
    unsigned type() const { return type_; }
    // The array for MATLAB, once the library has written it.
    mxArray *finish();

private:
    void describe(unsigned type, const shape &size);
    isoc_tensor tensor_{};
    std::vector<int64_t> sizes_;
    unsigned type_ = 0;
    int64_t elements_ = 0;
    mxArray *result_ = nullptr;
};

// How many dimensions an array of the call has in MATLAB, by its name; 0 if it is not known.
size_t array_dimensions(const std::string &name);
// What MATLAB's users call an array of the call that the library calls `name`: the same, unless it was set.
void array_rename(const std::string &name, const std::string &in_matlab);
std::string array_name(const std::string &name);
void arrays_forget();

// numbers.cpp: parameters, of any real numeric class. What does not fit is an error that says so.
bool is_text(const mxArray *value);
std::string text_of(const mxArray *value, const char *name);
double real_of(const mxArray *value, const char *name);
int64_t integer_of(const mxArray *value, const char *name);
std::vector<double> reals_of(const mxArray *value, const char *name);
std::vector<int64_t> integers_of(const mxArray *value, const char *name);
mxArray *number(double value);
mxArray *row(const std::vector<double> &values);
using words = const char *const *; // ends with NULL
// Where in the list the text is.
int word_of(const mxArray *value, const char *name, words list);

// settings.cpp: named options, and fields of structs.
enum class field {
    real,    // double
    count,   // int64_t
    count32, // uint32_t
    count64, // uint64_t
    first,   // int64_t, 1 for the first
    logical, // uint32_t
    word,    // uint32_t, an index into `list`
    reals,   // const double *, number at `number_at` (int64_t)
    places,  // the same, 1 for the first
    singles, // const float *, the same
    int32s,  // const int32_t *, the same
    pairs,   // const double *, (2, n), n at `number_at` (uint32_t)
    records, // const void *, a struct array of `record`, number at `number_at` (int64_t)
    any,     // const mxArray *; convert it within with_kind
};
struct record;
struct setting {
    const char *name;
    field kind;
    size_t at, number_at = 0;
    words list = nullptr;
    const ::record *record = nullptr;
    bool not_zero = false; // 0 is the library's word for the default; in MATLAB that is [], and 0 a mistake
};
struct record {
    const char *name; // "geometry"
    size_t size;
    std::vector<setting> settings;
};
// Reads names and values, or structs of them, from argument `first` on; fields that are not named stay as they are.
void settings_read(const record &r, const call &c, int first, const char *invalid, void *out);
void settings_read(const record &r, const mxArray *one, const char *invalid, void *out);
// The setting of this name in the C header, "bin_pitch", among those that the call has read; "" if there is none.
std::string setting_of(const std::string &snake);
// Whether one of these settings, by its name in MATLAB, must not be 0.
bool is_not_zero(const std::string &name);
void settings_forget();
// The elements of a struct array, in memory of MATLAB's.
void *records_read(const record &r, const mxArray *value, const char *invalid, int64_t *count);
mxArray *settings_write(const record &r, const void *values);
mxArray *records_write(const record &r, int64_t count, const void *values);

template <class T> T sized() {
    T t{};
    t.struct_size = sizeof t;
    return t;
}

// The command "describe" of plans: one line for disp.
void describe_as(call &c, const std::string &facts);

// What a command needs before it.
enum class needs { geometry, plan, context, nothing };
struct command {
    const char *name;
    void (*run)(call &c);
    ::needs needs = ::needs::geometry;
};
extern const std::vector<command> context_commands, coil_commands, ct_commands, mri_commands, pet_commands;
