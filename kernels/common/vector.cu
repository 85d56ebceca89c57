// Arithmetic of vectors of complex numbers, as solvers need it.
#include "complex.cuh"
#include "sums.cuh"

// Mirrors `Combine` in crates/base/src/gpu/vector.rs: y = a x + b y.
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
// with itself.
struct Dot {
    const void *direction, *product;
    void *x, *residual;
    double a;
    long long count;
    Sums sums;
};
static_assert(sizeof(Dot) == 72);

template <class T> __device__ inline void dot(const Dot &p) {
    const Complex<T> *a = static_cast<const Complex<T> *>(p.direction), *b = static_cast<const Complex<T> *>(p.product);
    double sum[1] = {};
    each(p.count, [&](long long i) {
        Complex<T> v = a[i], w = b[i];
        sum[0] += (double)v.x * w.x + (double)v.y * w.y;
    });
    finish(p.sums, sum);
}

template <class T> __device__ inline void step(const Dot &p) {
    const Complex<T> *d = static_cast<const Complex<T> *>(p.direction), *q = static_cast<const Complex<T> *>(p.product);
    Complex<T> *x = static_cast<Complex<T> *>(p.x), *r = static_cast<Complex<T> *>(p.residual);
    const T a = (T)p.a;
    double sum[1] = {};
    each(p.count, [&](long long i) {
        x[i] = x[i] + d[i] * a;
        Complex<T> v = r[i] - q[i] * a;
        r[i] = v;
        sum[0] += (double)v.x * v.x + (double)v.y * v.y;
    });
    finish(p.sums, sum);
}

// Mirrors `Descent`: out = y - step (N y - right), where y = x + momentum (x - before), and N y the same of nx and nbefore.
struct Descent {
    const void *x, *nx, *before, *nbefore, *right;
    void *out;
    double step, momentum;
    long long count;
};
static_assert(sizeof(Descent) == 72);

template <class T> __device__ inline Complex<T> ahead(const void *now, const void *before, T momentum, long long i) {
    Complex<T> v = static_cast<const Complex<T> *>(now)[i];
    return v + (v - static_cast<const Complex<T> *>(before)[i]) * momentum;
}

template <class T> __device__ inline void descend(const Descent &p) {
    const T step = (T)p.step, momentum = (T)p.momentum;
    each(p.count, [&](long long i) {
        Complex<T> y = ahead<T>(p.x, p.before, momentum, i), ny = ahead<T>(p.nx, p.nbefore, momentum, i);
        static_cast<Complex<T> *>(p.out)[i] = y - (ny - static_cast<const Complex<T> *>(p.right)[i]) * step;
    });
}

// Mirrors `Surveyed`: see `Survey` in crates/solve/src/vectors.rs.
struct Surveyed {
    const void *x, *nx, *before, *nbefore, *right, *next, *nnext;
    double momentum;
    long long count;
    Sums sums;
};
static_assert(sizeof(Surveyed) == 96);

template <class T> __device__ inline double product(Complex<T> a, Complex<T> b) { return (double)a.x * b.x + (double)a.y * b.y; }

template <class T> __device__ inline void survey(const Surveyed &p) {
    const T momentum = (T)p.momentum;
    double sums[6] = {};
    each(p.count, [&](long long i) {
        Complex<T> y = ahead<T>(p.x, p.before, momentum, i), ny = ahead<T>(p.nx, p.nbefore, momentum, i);
        Complex<T> next = static_cast<const Complex<T> *>(p.next)[i], nnext = static_cast<const Complex<T> *>(p.nnext)[i];
        Complex<T> moved = next - y;
        sums[0] += product(moved, moved);
        sums[1] += product(moved, nnext - ny);
        sums[2] -= product(moved, next - static_cast<const Complex<T> *>(p.x)[i]);
        sums[3] += product(next, next);
        sums[4] += product(next, nnext);
        sums[5] += product(next, static_cast<const Complex<T> *>(p.right)[i]);
    });
    finish(p.sums, sums);
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
VECTOR(vector_descend, descend, Descent)
VECTOR(vector_survey, survey, Surveyed)
