// Names and values from MATLAB into the library's structs, and back, by tables.
#include "gateway.hpp"

#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>

template <class T> static T *kept(const std::vector<double> &values) {
    T *out = static_cast<T *>(mxMalloc((values.size() + 1) * sizeof(T)));
    for (size_t k = 0; k < values.size(); k++) out[k] = static_cast<T>(values[k]);
    return out;
}

template <class T> static void put(void *out, size_t at, T value) { memcpy(static_cast<char *>(out) + at, &value, sizeof value); }
template <class T> static T get(const void *from, size_t at) {
    T value;
    memcpy(&value, static_cast<const char *>(from) + at, sizeof value);
    return value;
}

template <class T> static T bounded(const setting &s, const mxArray *value) {
    const int64_t v = integer_of(value, s.name);
    const bool negative = v < 0;
    if (negative || static_cast<uint64_t>(v) > std::numeric_limits<T>::max())
        fail("invalidArgument", "%s is %lld; it must be at %s %llu", s.name, static_cast<long long>(v), negative ? "least" : "most",
             negative ? s.not_zero ? 1ULL : 0ULL : static_cast<unsigned long long>(std::numeric_limits<T>::max()));
    return static_cast<T>(v);
}

static void list(const setting &s, const mxArray *value, void *out) {
    std::vector<double> values = reals_of(value, s.name);
    const auto number = static_cast<int64_t>(values.size());
    if (s.kind == field::pairs) {
        if (mxGetM(value) != 2 || mxGetNumberOfDimensions(value) != 2)
            fail("invalidArgument", "%s is %s; it must be 2 x n, distances and widths%s", s.name, times(size_of(value)).c_str(),
                 mxGetN(value) == 2 ? ": transpose it" : "");
        put<const double *>(out, s.at, kept<double>(values));
        put(out, s.number_at, static_cast<uint32_t>(number / 2));
        return;
    }
    if (s.kind == field::places)
        for (double &v : values) v -= 1;
    if (s.kind == field::int32s)
        for (double v : values)
            if (v != std::floor(v) || std::fabs(v) > 2147483647.0) fail("invalidArgument", "%s must hold whole numbers, not %g", s.name, v);
    if (s.kind == field::singles) put<const float *>(out, s.at, kept<float>(values));
    else if (s.kind == field::int32s) put<const int32_t *>(out, s.at, kept<int32_t>(values));
    else put<const double *>(out, s.at, kept<double>(values));
    put(out, s.number_at, number);
}

static void set(const setting &s, const mxArray *value, const char *invalid, void *out) {
    if (s.not_zero && mxIsNumeric(value) && mxGetNumberOfElements(value) == 1 && mxGetScalar(value) == 0)
        fail(invalid, "%s must not be 0; leave it out, or say [], for the default", s.name);
    switch (s.kind) {
        case field::real: put(out, s.at, real_of(value, s.name)); break;
        case field::count: put(out, s.at, integer_of(value, s.name)); break;
        case field::count32: put(out, s.at, bounded<uint32_t>(s, value)); break;
        case field::count64: put(out, s.at, static_cast<uint64_t>(bounded<int64_t>(s, value))); break;
        case field::first: {
            const int64_t v = integer_of(value, s.name);
            if (v < 1) fail(invalid, "%s is %lld; it counts from 1", s.name, static_cast<long long>(v));
            put(out, s.at, v - 1);
            break;
        }
        case field::logical:
            if (is_text(value)) fail(invalid, "%s must be true or false, not text", s.name);
            put(out, s.at, static_cast<uint32_t>(real_of(value, s.name) != 0));
            break;
        case field::word: put(out, s.at, static_cast<uint32_t>(word_of(value, s.name, s.list))); break;
        case field::reals:
        case field::places:
        case field::singles:
        case field::int32s:
        case field::pairs: list(s, value, out); break;
        case field::records: {
            int64_t found = 0;
            put<const void *>(out, s.at, records_read(*s.record, value, invalid, &found));
            put(out, s.number_at, found);
            break;
        }
        case field::any: put(out, s.at, value); break;
    }
}

static void set_by_name(const record &r, const std::string &name, const mxArray *value, const char *invalid, void *out) {
    std::string known;
    for (const setting &s : r.settings) {
        known += (known.empty() ? "" : ", ") + std::string(s.name);
        if (name != s.name) continue;
        if (value && !mxIsEmpty(value)) with_kind(invalid, [&] { set(s, value, invalid, out); });
        return;
    }
    fail("unknownOption", "there is no '%s' in the %s; it has %s", name.c_str(), r.name, known.c_str());
}

static void read_struct(const record &r, const mxArray *value, mwIndex at, const char *invalid, void *out) {
    for (int k = 0; k < mxGetNumberOfFields(value); k++)
        set_by_name(r, mxGetFieldNameByNumber(value, k), mxGetFieldByNumber(value, at, k), invalid, out);
}

// Of the call that runs.
static std::vector<const record *> seen;

void settings_forget() { seen.clear(); }

static std::string snake(const char *name) {
    std::string out;
    for (const char *c = name; *c; c++) {
        if (isupper(static_cast<unsigned char>(*c)) && c > name) out += '_';
        out += static_cast<char>(tolower(static_cast<unsigned char>(*c)));
    }
    return out;
}

std::string setting_of(const std::string &name) {
    for (const record *r : seen)
        for (const setting &s : r->settings)
            if (snake(s.name) == name) return s.name;
    return "";
}

bool is_not_zero(const std::string &name) {
    for (const record *r : seen)
        for (const setting &s : r->settings)
            if (s.name == name) return s.not_zero;
    return false;
}

void settings_read(const record &r, const mxArray *one, const char *invalid, void *out) {
    seen.push_back(&r);
    if (!mxIsStruct(one)) fail(invalid, "the %s must be a struct, not of class %s", r.name, mxGetClassName(one));
    if (mxGetNumberOfElements(one) != 1)
        fail(invalid, "the %s must be one struct, not an array of %zu", r.name, static_cast<size_t>(mxGetNumberOfElements(one)));
    read_struct(r, one, 0, invalid, out);
}

void settings_read(const record &r, const call &c, int first, const char *invalid, void *out) {
    seen.push_back(&r);
    for (int k = first; k < c.count; k++) {
        const mxArray *at = c.arguments[k];
        if (mxIsStruct(at)) {
            settings_read(r, at, invalid, out);
            continue;
        }
        if (!is_text(at))
            fail(invalid, "argument %d of the %s must be a name, such as '%s', or a struct, not of class %s", k - first + 1, r.name,
                 r.settings[0].name, mxGetClassName(at));
        const std::string name = text_of(at, "a name");
        if (k + 1 == c.count) fail(invalid, "'%s' has no value", name.c_str());
        set_by_name(r, name, c.arguments[++k], invalid, out);
    }
}

void *records_read(const record &r, const mxArray *value, const char *invalid, int64_t *count) {
    if (!mxIsStruct(value)) fail(invalid, "the %s must be a struct array, not of class %s", r.name, mxGetClassName(value));
    const size_t number = mxGetNumberOfElements(value);
    char *out = static_cast<char *>(mxCalloc(number + 1, r.size));
    for (size_t k = 0; k < number; k++) read_struct(r, value, k, invalid, out + k * r.size);
    *count = static_cast<int64_t>(number);
    return out;
}

static mxArray *value_of(const setting &s, const void *values) {
    switch (s.kind) {
        case field::count: return number(static_cast<double>(get<int64_t>(values, s.at)));
        case field::count32: return number(get<uint32_t>(values, s.at));
        case field::count64: return number(static_cast<double>(get<uint64_t>(values, s.at)));
        case field::logical: return mxCreateLogicalScalar(get<uint32_t>(values, s.at) != 0);
        case field::word: return mxCreateString(s.list[get<uint32_t>(values, s.at)]);
        default: return number(get<double>(values, s.at));
    }
}

mxArray *records_write(const record &r, int64_t count, const void *values) {
    std::vector<const char *> names;
    for (const setting &s : r.settings) names.push_back(s.name);
    mxArray *out = mxCreateStructMatrix(1, static_cast<mwSize>(count), static_cast<int>(names.size()), names.data());
    for (int64_t k = 0; k < count; k++) {
        const void *one = static_cast<const char *>(values) + static_cast<size_t>(k) * r.size;
        for (size_t n = 0; n < names.size(); n++)
            mxSetFieldByNumber(out, static_cast<mwIndex>(k), static_cast<int>(n), value_of(r.settings[n], one));
    }
    return out;
}

mxArray *settings_write(const record &r, const void *values) { return records_write(r, 1, values); }
