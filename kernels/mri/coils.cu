// Density weights of samples, and images of coils: times their sensitivities, and combined to one.
#include "../common/complex.cuh"
#include "../common/each.cuh"

// Mirrors `Weigh` in crates/mri/src/gpu/coils.rs: samples [coil][count] times weights [count], in place.
struct Weigh {
    const void *weights;
    void *samples;
    long long count, coils;
};
static_assert(sizeof(Weigh) == 32);

template <class T> __device__ inline void weigh(const Weigh &p) {
    each(p.count, [&](long long i) {
        T w = static_cast<const T *>(p.weights)[i];
        for (long long c = 0; c < p.coils; c++) {
            Complex<T> *v = static_cast<Complex<T> *>(p.samples) + c * p.count + i;
            *v = *v * w;
        }
    });
}

// Mirrors `Coils`: coils [coil][voxel] = maps times image, or image = sum over coils of conj(maps) times coils, added to what
// is there if `add`. Maps are `map_stride` numbers apart.
struct Coils {
    const void *maps;
    void *image, *coils;
    long long voxels, count, map_stride;
    int add;
};
static_assert(sizeof(Coils) == 56);

template <class T> __device__ inline void multiply(const Coils &p) {
    const Complex<T> *maps = static_cast<const Complex<T> *>(p.maps);
    Complex<T> *coils = static_cast<Complex<T> *>(p.coils);
    each(p.voxels, [&](long long i) {
        Complex<T> v = static_cast<const Complex<T> *>(p.image)[i];
        for (long long c = 0; c < p.count; c++) {
            Complex<T> product = maps[c * p.map_stride + i] * v, &to = coils[c * p.voxels + i];
            to = p.add ? to + product : product;
        }
    });
}

template <class T> __device__ inline void combine(const Coils &p) {
    const Complex<T> *maps = static_cast<const Complex<T> *>(p.maps), *coils = static_cast<const Complex<T> *>(p.coils);
    Complex<T> *image = static_cast<Complex<T> *>(p.image);
    each(p.voxels, [&](long long i) {
        Complex<T> sum = p.add ? image[i] : Complex<T>{0, 0};
        for (long long c = 0; c < p.count; c++)
            sum = sum + conj(maps[c * p.map_stride + i]) * coils[c * p.voxels + i];
        image[i] = sum;
    });
}

#define COILS(name, call, Parameter) \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f32(const __grid_constant__ Parameter p) { call<float>(p); } \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f64(const __grid_constant__ Parameter p) { call<double>(p); }

COILS(coils_weigh, weigh, Weigh)
COILS(coils_multiply, multiply, Coils)
COILS(coils_combine, combine, Coils)
