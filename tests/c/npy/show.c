/* Reads each .npy file of the command line as the demos do, and prints a line about it. */
#include "npy.h"

#include <stdio.h>

int main(int argc, char **argv) {
    for (int k = 1; k < argc; k++) {
        npy array;
        if (npy_read(&array, argv[k]) == 0) {
            const isoc_tensor t = npy_tensor(&array);
            printf("%d.%d", t.dtype.code, t.dtype.bits);
            int64_t last = 0;
            for (int32_t d = 0; d < t.ndim; d++) {
                printf(" %lld/%lld", (long long)t.shape[d], (long long)t.strides[d]);
                last += (t.shape[d] - 1) * t.strides[d];
            }
            /* The last part of the last element. */
            if (t.dtype.bits == (t.dtype.code == ISOC_DTYPE_COMPLEX ? 128 : 64)) {
                const int parts = t.dtype.bits / 64;
                printf(" %g\n", ((const double *)t.data)[parts * last + parts - 1]);
            } else {
                const int parts = t.dtype.bits / 32;
                printf(" %g\n", (double)((const float *)t.data)[parts * last + parts - 1]);
            }
        } else {
            puts("refused");
        }
        fflush(stdout);
        npy_free(&array);
    }
    return 0;
}
