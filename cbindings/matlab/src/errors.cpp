#include "gateway.hpp"

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>

void fail(const char *kind, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    throw failure{ kind, text };
}

std::string camel(const std::string &snake, bool capitals) {
    std::string out;
    for (size_t k = 0; k < snake.size(); k++) {
        if (snake[k] == '_') continue;
        const bool first = k ? snake[k - 1] == '_' : capitals;
        out += first ? static_cast<char>(toupper(static_cast<unsigned char>(snake[k]))) : snake[k];
    }
    return out;
}

// Each match of the pattern in `text` as `put` says it.
template <class F> static std::string replaced(const std::string &text, const char *pattern, F put) {
    std::string out;
    auto from = text.cbegin();
    const std::regex wanted(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at) {
        out.append(from, (*at)[0].first);
        out += put(*at);
        from = (*at)[0].second;
    }
    return out.append(from, text.cend());
}

// name[2, 0, 7] is name(8, 1, 3) in MATLAB, which counts from 1 with the fastest dimension first. One index of a list of points is that
// of a column.
static std::string element(const std::smatch &found) {
    static const std::regex columns("trajectory|positions|first_positions|second_positions|offsets|values|centres|Views");
    std::vector<long long> index;
    const std::string indices = found.str(2);
    for (const char *at = indices.c_str(); *at; at += strspn(at, ", ")) {
        char *end;
        index.push_back(strtoll(at, &end, 10));
        at = end;
    }
    // Dimensions that the array leaves out are 0, and the first of those that are.
    const std::string name = array_name(found.str(1));
    for (size_t most = array_dimensions(name); most && index.size() > most;) {
        const auto zero = std::find(index.begin(), index.end(), 0);
        if (zero == index.end()) break;
        index.erase(zero);
    }
    std::string out = name + "(";
    if (index.size() == 1 && std::regex_match(name, columns)) out += ":, ";
    for (size_t k = index.size(); k-- > 0;) out += std::to_string(index[k] + 1) + (k ? ", " : "");
    return out + ")";
}

static std::string option(const std::string &field) {
    static const std::regex sides("n([xyz])"), axes("(voxel|map_voxel|map_centre)_([xyz])");
    const auto number = [](const std::string &axis) { return "(" + std::to_string(axis[0] - 'x' + 1) + ")"; };
    std::smatch found;
    if (std::regex_match(field, found, sides)) return "Size" + number(found.str(1));
    if (std::regex_match(field, found, axes)) return camel(found.str(1), true) + number(found.str(2));
    return camel(field, true);
}

static std::string element_type(const std::smatch &found) {
    const std::string kind = found.str(1), bits = found.str(2);
    if (kind == "U") return "uint" + bits;
    if (kind == "I") return "int" + bits;
    return kind == "F" ? (bits == "32" ? "single" : "double") : bits == "64" ? "complex single" : "complex double";
}

static std::string unit(const std::smatch &found) {
    const auto word = [](const std::smatch &name) { return "'" + replaced(name.str(), " ", [](const std::smatch &) { return "_"; }) + "'"; };
    return replaced(found.str(), "cycles per field of view|(cycles|radians) per voxel", word);
}

static std::string one_more(const std::string &number) {
    char text[64];
    snprintf(text, sizeof text, "%.15g", strtod(number.c_str(), nullptr) + 1);
    return text;
}

std::string in_matlab(const std::string &message) {
    const auto as = [](const char *text) { return [text](const std::smatch &) { return text; }; };
    std::string text = replaced(message, R"(\bisoc_(ct|mri|pet)_(get_)?([a-z]\w*))", [](const std::smatch &m) { return camel(m.str(3), false); });
    text = replaced(text, R"(\biterative\.start is 1 \(volume\); it must be 0 \(uniform\) where)", as("initial is given; there must be none where"));
    text = replaced(text, R"(\b(lower is \S+ and|lower must be below|0 or more,) upper\b)", [](const std::smatch &m) { return m.str(1) + " Upper"; });
    text = replaced(text, R"(\bof view (\d+), row (\d+), bin (\d+) is\b)", [](const std::smatch &m) {
        return "of view " + one_more(m.str(1)) + ", row " + one_more(m.str(2)) + ", bin " + one_more(m.str(3)) + " is";
    });
    text = replaced(text, R"(\bcall (isoc_ct_set_half_acquisition|setHalfAcquisition) with NULL)", as("write setHalfAcquisition([])"));
    text = replaced(text, R"(\bparameter, the samples of a spoke,)", as("READOUT, the samples of a spoke,"));
    text = replaced(text, R"(\bsetPrior takes the one that is set away)", as("setPrior([]) takes away the one that is set"));
    text = replaced(text, R"(\bit must be 0 where prior\.potential is 0 \(relative_difference\))", as("it has no place where Potential is 'relative_difference'"));
    text = replaced(text, R"(\bit must be 0 where prior\.potential is 1 \(quadratic\))", as("it has no place where Potential is 'quadratic'"));
    // Sizes of a lattice, x first.
    text = replaced(text, R"(\bin its (\d+) x (\d+) x (\d+) voxels\b)", [](const std::smatch &m) {
        return "in its " + m.str(3) + " x " + m.str(2) + " x " + m.str(1) + " voxels";
    });
    text = replaced(text, R"(\bgeometry\.views\b)", as("the number of Angles"));
    text = replaced(text, R"(\bdistortion\.shift_count is (\d+); it must be the number of views, )", [](const std::smatch &m) {
        return "XShifts and YShifts are of " + m.str(1) + " views; there must be one value a view, ";
    });
    text = replaced(text, R"(\b((distortion|geometry|options|output|response|scan)\.)?([a-z]+)_count is (-?\d+); it must be )", [](const std::smatch &m) {
        return (m.str(3) == "body" ? "Bodies" : camel(m.str(3), true)) + " has " + m.str(4) + (m.str(4) == "1" ? " value" : " values") + "; it must have ";
    });
    text = replaced(text, R"(\b(blocks|distortion|geometry|iterative|list|options|outliers|output|phase|prior|response|scan|scanner)\.([a-z]\w*))", [](const std::smatch &m) { return option(m.str(2)); });
    text = replaced(text, R"(\bmemory_cap is|gpu_memory_cap is)", [](const std::smatch &m) {
        return m.str()[0] == 'g' ? "the context's GpuMemoryCap is" : "the context's MemoryCap is";
    });
    // Bins count from 1, and so does the axis.
    text = replaced(text, R"(\baxis is (-?[\d.]+), and the detector's bins are 0 to (\d+))", [](const std::smatch &m) {
        return "axis is " + one_more(m.str(1)) + ", and the detector's bins are 1 to " + one_more(m.str(2));
    });
    text = replaced(text, R"(\(bins - 1\) / 2 = ([\d.]+))", [](const std::smatch &m) { return "(Bins + 1) / 2 = " + one_more(m.str(1)); });
    // Names that no struct stands before: words of several parts, and the first of all.
    const auto own = [](const std::smatch &m) {
        const std::string found = setting_of(m.str());
        return found.empty() ? m.str() : found;
    };
    text = replaced(text, R"(^[a-z]\w*|\b[a-z]+(_[a-z]+)+\b|\b[a-z]\w*(?=\[| is | must be ))", own);
    text = replaced(text, R"(\]\.([a-z]\w*))", [](const std::smatch &m) { return "]." + camel(m.str(1), true); });
    text = replaced(text, R"(([A-Za-z_]\w*)\[(\d+(, \d+)*)\])", element);
    text = replaced(text, R"(^views\((\d+)\))", [](const std::smatch &m) { return "view " + m.str(1); });
    text = replaced(text, R"(\b\d+ \(([a-z]\w*)\))", [](const std::smatch &m) { return "'" + m.str(1) + "'"; });
    text = replaced(text, R"(\b\d+ \(([a-z]\w*), (with [^()]*)\))", [](const std::smatch &m) { return "'" + m.str(1) + "' (" + m.str(2) + ")"; });
    // Where 0 is the library's word for the default, MATLAB's is [], and 0 is an error.
    text = replaced(text, R"(\b([A-Z]\w*)( is \S+( \w+)?; it must )(be 0 to|be 0 or(?= \d)|be at least 0(?![.\d])|not be negative))", [](const std::smatch &m) {
        if (!is_not_zero(m.str(1))) return m.str();
        return m.str(1) + m.str(2) + (m.str(4) == "be 0 to" ? "be 1 to" : m.str(4) == "be 0 or" ? "be" : "be above 0");
    });
    text = replaced(text, R"(\b([A-Z]\w*) is 0, and the (plan|scanner) has no )", [](const std::smatch &m) {
        return is_not_zero(m.str(1)) ? m.str(1) + " is missing, and the " + m.str(2) + " has no " : m.str();
    });
    text = replaced(text, R"(\bor 0 for\b)", as("or [] for"));
    text = replaced(text, R"(\(0 takes\b)", as("([] takes"));
    text = replaced(text, R"(\bbeyond max_tilt\b)", as("beyond MaxTilt"));
    text = replaced(text, R"(\bthe progress callback returned non-zero\b)", as("the function of Progress returned true"));
    text = replaced(text, R"(\b([FCUI])(8|16|32|64|128)\b)", element_type);
    text = replaced(text, "would fit .*", unit);
    text = replaced(text, "set the NaN policy to replace", as("make the plan with isocenter.Context('NanPolicy', 'replace')"));
    text = replaced(text, R"(\bNULL\b)", as("[]"));
    text = replaced(text, R"(\b(\w+) or \w+_count\b)", [](const std::smatch &m) { return m.str(1); });
    return replaced(text, R"(\bthe same handle\b)", as("the same object"));
}

// Identifiers are fixed, since programs compare them.
static const char *kind_of(isoc_status status, const char *invalid) {
    switch (status) {
        case ISOC_STATUS_INVALID_HANDLE: return "invalidHandle";
        case ISOC_STATUS_NOT_FINITE_DATA: return "notFiniteData";
        case ISOC_STATUS_TENSOR_NDIM:
        case ISOC_STATUS_TENSOR_SHAPE:
        case ISOC_STATUS_TENSOR_STRIDES: return "arrayShape";
        case ISOC_STATUS_TENSOR_DTYPE: return "arrayType";
        case ISOC_STATUS_TENSOR_DEVICE: return "arrayDevice";
        case ISOC_STATUS_OVERLAP: return "arrayOverlap";
        case ISOC_STATUS_TOO_FEW_VIEWS: return "tooFewViews";
        case ISOC_STATUS_EQUAL_ANGLES: return "equalAngles";
        case ISOC_STATUS_FLAT_FIELD: return "flatField";
        case ISOC_STATUS_NOT_CONFIGURED: return "notConfigured";
        case ISOC_STATUS_MEMORY_CAP: return "memoryCap";
        case ISOC_STATUS_OUT_OF_MEMORY: return "outOfMemory";
        case ISOC_STATUS_CANCELLED: return "cancelled";
        case ISOC_STATUS_BUSY: return "busy";
        case ISOC_STATUS_NO_DEVICE: return "noDevice";
        case ISOC_STATUS_DRIVER_TOO_OLD: return "driverTooOld";
        case ISOC_STATUS_NO_KERNEL_IMAGE: return "noKernelImage";
        case ISOC_STATUS_CUDA: return "cuda";
        case ISOC_STATUS_CALLBACK: return "callback";
        case ISOC_STATUS_NULL_POINTER:
        case ISOC_STATUS_STRUCT_SIZE:
        case ISOC_STATUS_UNKNOWN_VALUE:
        case ISOC_STATUS_OUT_OF_RANGE:
        case ISOC_STATUS_SIZE_OVERFLOW:
        case ISOC_STATUS_NOT_FINITE_PARAMETER: return invalid;
        default: return "internal";
    }
}

void check(isoc_status status, const char *invalid) {
    report_finish(); // what a callback raised comes before the library's word that it did
    if (status == ISOC_STATUS_OK) return;
    if (status == ISOC_STATUS_CANCELLED && report_interrupted()) throw failure{ "cancelled", "stopped by Ctrl-C" };
    const std::string text = in_matlab(isoc_last_error());
    throw failure{ kind_of(status, invalid), text.empty() ? isoc_status_string(status) : text };
}
