/* Arrays in NumPy's .npy files (versions 1 and 2): little-endian float32, float64, complex64 and complex128, in C or Fortran
 * order. */
#ifndef NPY_H
#define NPY_H

#include <isocenter.h>

enum { NPY_DIMENSIONS = 8 };

/* Elements as they are in the file; strides, in elements, say which order that is. */
typedef struct {
    void *data;
    isoc_dtype dtype;
    int32_t ndim;
    int64_t shape[NPY_DIMENSIONS], strides[NPY_DIMENSIONS];
} npy;

/* 0, or -1 with the reason said on stderr. npy_free takes what npy_read left, either way. */
int npy_read(npy *out, const char *path);
void npy_free(npy *in);

/* The whole array. The tensor points into `in`. */
isoc_tensor npy_tensor(const npy *in);

#endif
