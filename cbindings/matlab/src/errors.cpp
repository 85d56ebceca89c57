#include "gateway.hpp"

#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

void fail(const char *kind, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    throw failure{ kind, text };
}

// The library counts from 0 with the slowest dimension first: name[2, 0, 7] is name(8, 1, 3) in MATLAB.
static std::string translate(const std::string &from) {
    std::string to;
    for (size_t at = 0; at < from.size();) {
        std::vector<long long> index;
        const char *end = from.c_str() + at;
        if (*end == '[' && at > 0 && (isalnum(static_cast<unsigned char>(from[at - 1])) || from[at - 1] == '_')) {
            do {
                char *stop;
                const char *start = end + 1;
                const long long value = strtoll(start, &stop, 10);
                if (stop == start) break;
                index.push_back(value);
                end = stop;
            } while (*end == ',');
        }
        if (index.empty() || *end != ']') {
            to += from[at++];
            continue;
        }
        to += '(';
        for (size_t k = index.size(); k-- > 0;) to += std::to_string(index[k] + 1) + (k ? ", " : ")");
        at = static_cast<size_t>(end - from.c_str()) + 1;
    }
    return to;
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
    const std::string text = translate(isoc_last_error());
    throw failure{ kind_of(status, invalid), text.empty() ? isoc_status_string(status) : text };
}
