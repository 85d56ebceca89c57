// Imaginary parts of images.
#include "../common/complex.cuh"
#include "../common/each.cuh"

// Mirrors `Imaginary` in crates/mri/src/gpu/imaginary.rs: those of `out` become 0, or get those of `images` times a weight in addition.
struct Imaginary {
    const void *images;
    void *out;
    double weight;
    long long count;
};
static_assert(sizeof(Imaginary) == 32);

template <class T> __device__ inline void clear(const Imaginary &p) {
    each(p.count, [&](long long i) { static_cast<T *>(p.out)[2 * i + 1] = 0; });
}

template <class T> __device__ inline void add(const Imaginary &p) {
    const T weight = (T)p.weight;
    each(p.count, [&](long long i) { static_cast<T *>(p.out)[2 * i + 1] += weight * static_cast<const T *>(p.images)[2 * i + 1]; });
}

#define IMAGINARY(name, call) \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f32(const __grid_constant__ Imaginary p) { call<float>(p); } \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f64(const __grid_constant__ Imaginary p) { call<double>(p); }

IMAGINARY(imaginary_clear, clear)
IMAGINARY(imaginary_add, add)
