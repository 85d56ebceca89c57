// Between the caller's arrays, of any strides and precision, and contiguous complex ones.
#include "../common/complex.cuh"

// Mirrors `Arguments` in crates/mri/src/gpu/array.rs.
struct Copy {
    void *array, *packed;
    // Of the array, slowest dimension first; strides in elements. Dimensions that follow each other without a gap are one.
    long long sizes[4], strides[4], count;
    // Dimensions in use, the last ones.
    int rank;
    int is_double, is_complex;
    // Reading: what is not finite becomes 0.
    int replace;
    // All bits of the index of the first element that is not finite flipped (0: there is none), and how many there are.
    unsigned long long *found;
    // Values of all arrays of a call that are not finite and not replaced: then nothing is written.
    unsigned long long *guard;
};
static_assert(sizeof(Copy) == 120);

__device__ inline long long element(const Copy &p, long long i) {
    if (p.rank == 1) return i * p.strides[3];
    long long at = 0;
    for (int d = 3; d > 4 - p.rank; d--) {
        long long next = i / p.sizes[d];
        at += (i - next * p.sizes[d]) * p.strides[d];
        i = next;
    }
    return at + i * p.strides[4 - p.rank];
}

template <class T, class S> __device__ inline Complex<T> load(const Copy &p, long long at) {
    const S *from = static_cast<const S *>(p.array);
    if (!p.is_complex) return {(T)from[at], 0};
    // Aligned to a real number only.
    return {(T)from[2 * at], (T)from[2 * at + 1]};
}

template <class T, class S> __device__ inline void store(const Copy &p, long long at, Complex<T> v) {
    S *to = static_cast<S *>(p.array);
    if (!p.is_complex) {
        to[at] = (S)v.x;
        return;
    }
    to[2 * at] = (S)v.x;
    to[2 * at + 1] = (S)v.y;
}

template <class T> __device__ inline void read(const Copy &p) {
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < p.count; i += gridDim.x * 256ll) {
        long long at = element(p, i);
        Complex<T> v = p.is_double ? load<T, double>(p, at) : load<T, float>(p, at);
        if (!isfinite(v.x) || !isfinite(v.y)) {
            atomicMax(p.found, ~(unsigned long long)i);
            atomicAdd(p.found + 1, 1ull);
            if (p.replace) v = {0, 0};
            else atomicAdd(p.guard, 1ull);
        }
        static_cast<Complex<T> *>(p.packed)[i] = v;
    }
}

template <class T> __device__ inline void write(const Copy &p) {
    if (*p.guard) return;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < p.count; i += gridDim.x * 256ll) {
        long long at = element(p, i);
        Complex<T> v = static_cast<const Complex<T> *>(p.packed)[i];
        if (p.is_double) store<T, double>(p, at, v);
        else store<T, float>(p, at, v);
    }
}

#define ARRAY(name, call) \
    extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ Copy p) { call(p); }

ARRAY(array_read_f32, read<float>)
ARRAY(array_read_f64, read<double>)
ARRAY(array_write_f32, write<float>)
ARRAY(array_write_f64, write<double>)
