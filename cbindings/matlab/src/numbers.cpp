#include "gateway.hpp"

#include <cmath>
#include <limits>

bool is_text(const mxArray *value) { return mxIsChar(value) || mxIsClass(value, "string"); }

std::string text_of(const mxArray *value, const char *name) {
    mxArray *converted = nullptr;
    if (!is_text(value)) fail("invalidArgument", "%s must be text, not of class %s", name, mxGetClassName(value));
    if (!mxIsChar(value)) { // MATLAB's string class, which the C interface cannot read
        mxArray *in = const_cast<mxArray *>(value);
        mexCallMATLAB(1, &converted, 1, &in, "char");
        value = converted;
    }
    if (mxGetM(value) > 1) fail("invalidArgument", "%s must be one text, not %zu", name, mxGetM(value));
    char *text = mxArrayToString(value);
    const std::string out = text ? text : "";
    mxFree(text);
    if (converted) mxDestroyArray(converted);
    return out;
}

template <class T> static std::vector<double> convert(const mxArray *value) {
    const T *data = static_cast<const T *>(mxGetData(value));
    return std::vector<double>(data, data + mxGetNumberOfElements(value));
}

std::vector<double> reals_of(const mxArray *value, const char *name) {
    if (!mxIsNumeric(value) && !mxIsLogical(value))
        fail("invalidArgument", "%s must be numeric, not of class %s", name, mxGetClassName(value));
    if (mxIsComplex(value)) fail("invalidArgument", "%s must be real, not complex", name);
    if (mxIsSparse(value)) fail("invalidArgument", "%s must be full, not sparse: write full(...)", name);
    switch (mxGetClassID(value)) {
        case mxDOUBLE_CLASS: return convert<double>(value);
        case mxSINGLE_CLASS: return convert<float>(value);
        case mxINT8_CLASS: return convert<int8_t>(value);
        case mxUINT8_CLASS: return convert<uint8_t>(value);
        case mxINT16_CLASS: return convert<int16_t>(value);
        case mxUINT16_CLASS: return convert<uint16_t>(value);
        case mxINT32_CLASS: return convert<int32_t>(value);
        case mxUINT32_CLASS: return convert<uint32_t>(value);
        case mxINT64_CLASS: return convert<int64_t>(value);
        case mxUINT64_CLASS: return convert<uint64_t>(value);
        case mxLOGICAL_CLASS: return convert<mxLogical>(value);
        default: fail("invalidArgument", "%s must be numeric, not of class %s", name, mxGetClassName(value));
    }
}

static int64_t integer(double value, const char *name) {
    // 2^53: beyond it a double does not tell neighbours apart.
    if (!(std::fabs(value) <= 9007199254740992.0) || value != std::floor(value))
        fail("invalidArgument", "%s must be a whole number, not %.17g", name, value);
    return static_cast<int64_t>(value);
}

double real_of(const mxArray *value, const char *name) {
    const std::vector<double> values = reals_of(value, name);
    if (values.size() != 1) fail("invalidArgument", "%s must be one number, not %zu", name, values.size());
    return values[0];
}

int64_t integer_of(const mxArray *value, const char *name) { return integer(real_of(value, name), name); }

std::vector<int64_t> integers_of(const mxArray *value, const char *name) {
    std::vector<int64_t> out;
    for (double v : reals_of(value, name)) out.push_back(integer(v, name));
    return out;
}

mxArray *number(double value) { return mxCreateDoubleScalar(value); }

mxArray *row(const std::vector<double> &values) {
    mxArray *out = mxCreateDoubleMatrix(1, values.size(), mxREAL);
    std::copy(values.begin(), values.end(), static_cast<double *>(mxGetData(out)));
    return out;
}

int word_of(const mxArray *value, const char *name, words list) {
    std::string known;
    const std::string text = is_text(value) ? text_of(value, name) : std::string();
    for (int k = 0; list[k]; k++) {
        if (!*list[k]) continue; // values that have no name
        if (is_text(value) && text == list[k]) return k;
        known += (known.empty() ? "'" : ", '") + std::string(list[k]) + "'";
    }
    if (!is_text(value)) fail("invalidArgument", "%s must be one of %s, not of class %s", name, known.c_str(), mxGetClassName(value));
    fail("invalidArgument", "%s is '%s'; it must be one of %s", name, text.c_str(), known.c_str());
}
