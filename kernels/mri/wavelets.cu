// Wavelet transforms along one axis, and thresholds of coefficients.
#include "../common/complex.cuh"
#include "../common/sums.cuh"
#include "rows.cuh"

// Mirrors `Pass` in crates/mri/src/gpu/wavelets.rs: lines of the part of an image that begins at its first voxel. Of n elements of a line even
// ones are split; the last of an odd number passes.
struct Pass {
    const void *from;
    void *to;
    // Of averages and of details, along the axis.
    double filters[2][8];
    // Between neighbours of a line, between rows, between planes.
    long long stride, row, plane;
    // Of a line; what is shared out, z, y, x, the axis in halves.
    int n, size[3], axis, shift;
};
static_assert(sizeof(Pass) == 192);

template <class T, int TAPS, class F> __device__ inline void lines(const Pass &p, F f) {
    T h[TAPS], g[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        h[k] = (T)p.filters[0][k];
        g[k] = (T)p.filters[1][k];
    }
    each_of_rows(p.size[0] * p.size[1], p.size[2], [&](int row, int x) {
        int z = row / p.size[1], y = row - z * p.size[1];
        int i = p.axis == 0 ? z : p.axis == 1 ? y : x;
        long long first = (p.axis == 0 ? 0 : z * p.plane) + (p.axis == 1 ? 0 : y * p.row) + (p.axis == 2 ? 0 : x);
        f(static_cast<const Complex<T> *>(p.from) + first, static_cast<Complex<T> *>(p.to) + first, i, h, g);
    });
}

template <class T, int TAPS> __device__ inline void split(const Pass &p) {
    const int half = p.n / 2, even = 2 * half, averages = p.n - half;
    auto shifted = [&](int at) {
        at += p.shift;
        return (at < p.n ? at : at - p.n) * p.stride;
    };
    lines<T, TAPS>(p, [&](const Complex<T> *from, Complex<T> *to, int i, const T *h, const T *g) {
        if (i == half) {
            to[i * p.stride] = from[shifted(p.n - 1)];
            return;
        }
        Complex<T> average = {0, 0}, detail = {0, 0};
#pragma unroll
        for (int k = 0; k < TAPS; k++) {
            int at = 2 * i + k;
            Complex<T> v = from[shifted(at < even ? at : at - even)];
            average = average + v * h[k];
            detail = detail + v * g[k];
        }
        to[i * p.stride] = average;
        to[(averages + i) * p.stride] = detail;
    });
}

template <class T, int TAPS> __device__ inline void join(const Pass &p) {
    const int half = p.n / 2, averages = p.n - half;
    auto shifted = [&](int at) {
        at += p.shift;
        return (at < p.n ? at : at - p.n) * p.stride;
    };
    lines<T, TAPS>(p, [&](const Complex<T> *from, Complex<T> *to, int q, const T *h, const T *g) {
        if (q == half) {
            to[shifted(p.n - 1)] = from[q * p.stride];
            return;
        }
        Complex<T> left = {0, 0}, right = {0, 0};
#pragma unroll
        for (int s = 0; s < TAPS / 2; s++) {
            int i = q - s;
            if (i < 0) i += half;
            Complex<T> average = from[i * p.stride], detail = from[(averages + i) * p.stride];
            left = left + average * h[2 * s] + detail * g[2 * s];
            right = right + average * h[2 * s + 1] + detail * g[2 * s + 1];
        }
        to[shifted(2 * q)] = left;
        to[shifted(2 * q + 1)] = right;
    });
}

// Mirrors `Copied`: the part of this size.
struct Copied {
    const void *from;
    void *to;
    long long row, plane;
    int size[3];
};
static_assert(sizeof(Copied) == 48);

template <class T> __device__ inline void copied(const Copied &p) {
    each_of_rows(p.size[0] * p.size[1], p.size[2], [&](int row, int x) {
        int z = row / p.size[1], y = row - z * p.size[1];
        long long at = z * p.plane + y * p.row + x;
        static_cast<Complex<T> *>(p.to)[at] = static_cast<const Complex<T> *>(p.from)[at];
    });
}

// Mirrors `Coefficients`: lengths of those at one place over all images, `count` apart: smaller by the threshold, down to 0, unless that is
// negative; their sum, and the largest.
struct Coefficients {
    void *values;
    double threshold;
    long long count, images;
    Sums sums;
};
static_assert(sizeof(Coefficients) == 56);

template <class T> __device__ inline void soften(const Coefficients &p) {
    const T threshold = (T)p.threshold;
    double seen[2] = {};
    each(p.count, [&](long long i) {
        Complex<T> *at = static_cast<Complex<T> *>(p.values) + i, v = *at;
        T square = v.x * v.x + v.y * v.y;
        for (long long k = 1; k < p.images; k++) {
            Complex<T> other = at[k * p.count];
            square += other.x * other.x + other.y * other.y;
        }
        T size = sqrt(square);
        if (threshold >= 0) {
            T left = size > threshold ? size - threshold : (T)0, factor = left > 0 ? left / size : (T)0;
            *at = v * factor;
            for (long long k = 1; k < p.images; k++) at[k * p.count] = at[k * p.count] * factor;
            size = left;
        }
        seen[0] += size;
        seen[1] = fmax(seen[1], (double)size);
    });
    finish<2, 1>(p.sums, seen);
}

#define KERNEL(name, call, Parameter) \
    extern "C" __global__ void __launch_bounds__(THREADS) name(const __grid_constant__ Parameter p) { call(p); }

KERNEL(wavelets_split_8_f32, (split<float, 8>), Pass)
KERNEL(wavelets_split_8_f64, (split<double, 8>), Pass)
KERNEL(wavelets_split_2_f32, (split<float, 2>), Pass)
KERNEL(wavelets_split_2_f64, (split<double, 2>), Pass)
KERNEL(wavelets_join_8_f32, (join<float, 8>), Pass)
KERNEL(wavelets_join_8_f64, (join<double, 8>), Pass)
KERNEL(wavelets_join_2_f32, (join<float, 2>), Pass)
KERNEL(wavelets_join_2_f64, (join<double, 2>), Pass)
KERNEL(wavelets_copied_f32, copied<float>, Copied)
KERNEL(wavelets_copied_f64, copied<double>, Copied)
KERNEL(wavelets_soften_f32, soften<float>, Coefficients)
KERNEL(wavelets_soften_f64, soften<double>, Coefficients)
