// Smooth coils from their coefficients, axis by axis, products of images, and coils of length 1.
#include "../common/complex.cuh"
#include "../common/each.cuh"

// Mirrors `Along` in crates/mri/src/gpu/joint.rs: out [..][after][length] = sum over j of factors(i, j) from [..][before][length], where
// a factor lies at i * step_out + j * step_in.
struct Along {
    const void *table, *from;
    void *out;
    long long before, after, length, step_out, step_in, count;
};
static_assert(sizeof(Along) == 72);

template <class T> __device__ inline void along(const Along &p) {
    each(p.count, [&](long long at) {
        const long long row = at / p.length, i = row % p.after;
        const T *factor = static_cast<const T *>(p.table) + i * p.step_out;
        const Complex<T> *v = static_cast<const Complex<T> *>(p.from) + row / p.after * p.before * p.length + at % p.length;
        Complex<T> sum{0, 0};
        for (long long j = 0; j < p.before; j++) {
            const Complex<T> value = load_constant(v + j * p.length);
            const T f = __ldg(factor + j * p.step_in);
            sum = {fma(f, value.x, sum.x), fma(f, value.y, sum.y)};
        }
        static_cast<Complex<T> *>(p.out)[at] = sum;
    });
}

// Mirrors `Product`: out = a b, or conj(a) b, added to what is there if `add`.
struct Product {
    const void *a, *b;
    void *out;
    long long count;
    int conjugate, add;
};
static_assert(sizeof(Product) == 40);

template <class T> __device__ inline void product(const Product &p) {
    each(p.count, [&](long long i) {
        const Complex<T> a = static_cast<const Complex<T> *>(p.a)[i], b = static_cast<const Complex<T> *>(p.b)[i];
        Complex<T> *out = static_cast<Complex<T> *>(p.out) + i;
        const Complex<T> v = (p.conjugate ? conj(a) : a) * b;
        *out = p.add ? *out + v : v;
    });
}

// Mirrors `Lengths`: coils [coil][voxel] over their length at each voxel, or over `least` where that is more, and the image times it.
struct Lengths {
    void *coils, *image;
    double least;
    long long voxels, count;
};
static_assert(sizeof(Lengths) == 40);

template <class T> __device__ inline void normalise(const Lengths &p) {
    each(p.voxels, [&](long long i) {
        Complex<T> *first = static_cast<Complex<T> *>(p.coils) + i, *image = static_cast<Complex<T> *>(p.image) + i;
        T square = 0;
        for (long long c = 0; c < p.count; c++) {
            const Complex<T> v = first[c * p.voxels];
            square += v.x * v.x + v.y * v.y;
        }
        const T root = sqrt(square), least = (T)p.least, length = root > least ? root : least;
        for (long long c = 0; c < p.count; c++) {
            Complex<T> *v = first + c * p.voxels;
            *v = {v->x / length, v->y / length};
        }
        *image = *image * length;
    });
}

#define JOINT(name, call, Parameter) \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f32(const __grid_constant__ Parameter p) { call<float>(p); } \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f64(const __grid_constant__ Parameter p) { call<double>(p); }

JOINT(joint_along, along, Along)
JOINT(joint_product, product, Product)
JOINT(joint_normalise, normalise, Lengths)
