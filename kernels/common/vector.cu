// Arithmetic of vectors of complex numbers, as solvers need it.
#include "complex.cuh"
#include "block_sum.cuh"

// Mirrors `Combine` in src/gpu/vector.rs: y = a x + b y.
struct Combine {
    const void *x;
    void *y;
    double a, b;
    long long count;
};
static_assert(sizeof(Combine) == 40);

template <class T> __device__ inline void combine(const Combine &p) {
    const Complex<T> *x = static_cast<const Complex<T> *>(p.x);
    Complex<T> *y = static_cast<Complex<T> *>(p.y);
    const T a = (T)p.a, b = (T)p.b;
    each(p.count, [&](long long i) {
        Complex<T> v = x[i], w = y[i];
        y[i] = v * a + w * b;
    });
}

// Mirrors `Dot`: the real part of an inner product; for `step` x = x + a d and r = r - a p besides, and r is what is multiplied
// with itself. Parts are the same in every run, and so is their order.
struct Dot {
    const void *direction, *product;
    void *x, *residual;
    double a;
    long long count;
    // A block's share each.
    double *parts;
    // Blocks that are done.
    unsigned *done;
    // Memory of the host.
    double *result;
};
static_assert(sizeof(Dot) == 72);

__device__ inline void finish(const Dot &p, double sum) {
    __shared__ bool last;
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        p.parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(p.done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    sum = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) sum += __ldcg(p.parts + b);
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *p.result = sum;
        *p.done = 0;
    }
}

template <class T> __device__ inline void dot(const Dot &p) {
    const Complex<T> *a = static_cast<const Complex<T> *>(p.direction), *b = static_cast<const Complex<T> *>(p.product);
    double sum = 0;
    each(p.count, [&](long long i) {
        Complex<T> v = a[i], w = b[i];
        sum += (double)v.x * w.x + (double)v.y * w.y;
    });
    finish(p, sum);
}

template <class T> __device__ inline void step(const Dot &p) {
    const Complex<T> *d = static_cast<const Complex<T> *>(p.direction), *q = static_cast<const Complex<T> *>(p.product);
    Complex<T> *x = static_cast<Complex<T> *>(p.x), *r = static_cast<Complex<T> *>(p.residual);
    const T a = (T)p.a;
    double sum = 0;
    each(p.count, [&](long long i) {
        x[i] = x[i] + d[i] * a;
        Complex<T> v = r[i] - q[i] * a;
        r[i] = v;
        sum += (double)v.x * v.x + (double)v.y * v.y;
    });
    finish(p, sum);
}

// Mirrors `Fill`.
struct Fill {
    void *to;
    double value;
    long long count;
};
static_assert(sizeof(Fill) == 24);

template <class T> __device__ inline void fill(const Fill &p) {
    each(p.count, [&](long long i) { static_cast<Complex<T> *>(p.to)[i] = {(T)p.value, 0}; });
}

#define VECTOR(name, call, Parameter) \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f32(const __grid_constant__ Parameter p) { call<float>(p); } \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f64(const __grid_constant__ Parameter p) { call<double>(p); }

VECTOR(vector_combine, combine, Combine)
VECTOR(vector_dot, dot, Dot)
VECTOR(vector_step, step, Dot)
VECTOR(vector_fill, fill, Fill)
