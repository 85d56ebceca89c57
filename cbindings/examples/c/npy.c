#define _POSIX_C_SOURCE 200809L
#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "elements are used as they are in the file: little-endian"
#endif

enum { HEADER_MOST = 1 << 20 };

static int complain(const char *path, const char *what) {
    fprintf(stderr, "error: %s: %s\n", path, what);
    return -1;
}

static int complain_of_reading(const char *path, FILE *file) {
    return complain(path, ferror(file) ? strerror(errno) : "the file ends too early");
}

/* The text after 'key': in the header, which is a Python dictionary; NULL if there is no such key. */
static const char *value_of(const char *header, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (!at) return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at != ':') return NULL;
    return at + 1 + strspn(at + 1, " ");
}

static int parse_dtype(const char *text, isoc_dtype *out) {
    static const struct {
        const char *name;
        isoc_dtype dtype;
    } known[] = {
        { "'<f4'", ISOC_F32 }, { "'<f8'", ISOC_F64 }, { "'<c8'", ISOC_C64 }, { "'<c16'", ISOC_C128 }
    };
    for (size_t k = 0; text && k < sizeof known / sizeof *known; k++) {
        if (strncmp(text, known[k].name, strlen(known[k].name)) == 0) {
            *out = known[k].dtype;
            return 0;
        }
    }
    return -1;
}

/* "(4, 66592)", "(5,)" or "()". */
static int parse_shape(const char *text, npy *out) {
    if (!text || *text++ != '(') return -1;
    for (;;) {
        text += strspn(text, " ");
        if (*text == ')') return 0;
        if (out->ndim == NPY_DIMENSIONS || *text < '0' || *text > '9') return -1;
        char *end = NULL;
        errno = 0;
        out->shape[out->ndim++] = strtoll(text, &end, 10);
        if (errno) return -1;
        text = end + strspn(end, " ");
        if (*text == ',') text++;
        else if (*text != ')') return -1;
    }
}

/* Strides of a contiguous array; returns its bytes, or -1 if it is empty or they are too many for this machine. */
static int64_t lay_out(npy *array, int fortran) {
    int64_t count = 1, size = array->dtype.bits / 8, most = (int64_t)(SIZE_MAX / 2) / size;
    for (int32_t k = 0; k < array->ndim; k++) {
        int32_t d = fortran ? k : array->ndim - 1 - k;
        array->strides[d] = count;
        if (array->shape[d] < 1 || array->shape[d] > most / count) return -1;
        count *= array->shape[d];
    }
    return count * size;
}

static int parse_header(const char *path, const char *header, npy *out, int64_t *bytes) {
    const char *order = value_of(header, "fortran_order");
    if (parse_dtype(value_of(header, "descr"), &out->dtype) != 0) {
        return complain(path, "its elements must be little-endian float32, float64, complex64 or complex128");
    }
    int fortran = order && strncmp(order, "True", 4) == 0;
    if (!fortran && !(order && strncmp(order, "False", 5) == 0)) return complain(path, "its header has no fortran_order");
    if (parse_shape(value_of(header, "shape"), out) != 0) {
        return complain(path, "its header has no shape of at most 8 dimensions");
    }
    *bytes = lay_out(out, fortran);
    return *bytes < 0 ? complain(path, "its shape is empty or too large for this machine") : 0;
}

/* Magic, version, length of the header, header. To be freed. */
static char *read_header(const char *path, FILE *file) {
    unsigned char fixed[8], length[4] = { 0 };
    if (fread(fixed, 1, sizeof fixed, file) != sizeof fixed) {
        complain_of_reading(path, file);
        return NULL;
    }
    if (memcmp(fixed, "\x93NUMPY", 6) != 0) {
        complain(path, "not a NumPy .npy file");
        return NULL;
    }
    if (fixed[6] != 1 && fixed[6] != 2) {
        complain(path, "its format's version must be 1 or 2");
        return NULL;
    }
    size_t digits = fixed[6] == 1 ? 2 : 4;
    if (fread(length, 1, digits, file) != digits) {
        complain_of_reading(path, file);
        return NULL;
    }
    size_t size = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    if (size > HEADER_MOST) {
        complain(path, "its header is longer than 1 MiB");
        return NULL;
    }
    char *header = calloc(size + 1, 1);
    if (!header) {
        complain(path, "no memory for its header");
    } else if (fread(header, 1, size, file) != size) {
        complain_of_reading(path, file);
        free(header);
        header = NULL;
    }
    return header;
}

static int read_data(const char *path, FILE *file, npy *out, int64_t bytes) {
    out->data = malloc((size_t)bytes);
    if (!out->data) return complain(path, "no memory for its elements");
    if (fread(out->data, 1, (size_t)bytes, file) != (size_t)bytes) return complain_of_reading(path, file);
    return fgetc(file) == EOF ? 0 : complain(path, "there is more in the file than its shape says");
}

int npy_read(npy *out, const char *path) {
    *out = (npy){ 0 };
    FILE *file = fopen(path, "rb");
    if (!file) return complain(path, strerror(errno));
    int64_t bytes = 0;
    char *header = read_header(path, file);
    int failed = !header || parse_header(path, header, out, &bytes) || read_data(path, file, out, bytes);
    free(header);
    fclose(file);
    return failed ? -1 : 0;
}

void npy_free(npy *in) {
    free(in->data);
    *in = (npy){ 0 };
}

isoc_tensor npy_tensor(const npy *in) {
    return (isoc_tensor){ in->data, ISOC_HOST, in->ndim, in->dtype, in->shape, in->strides, 0 };
}
