// Total variation: differences K of neighbours and fields of duals. (K x)(a, i) = w(a, i) (x(i + 1 along a) - x(i)), 0 at a line's last
// voxel, along the axes that have more than one.
#include "../common/complex.cuh"
#include "../common/sums.cuh"
#include "rows.cuh"

// Mirrors `Axes` in crates/mri/src/gpu/variation.rs.
struct Axes {
    // Squared, [axis][voxel], x first; null for ones.
    const void *weights;
    long long voxels;
    // Along x, y, z.
    int sizes[3];
    // That share a length, `voxels` apart; their fields are `apart`.
    int images;
    long long apart;
};
static_assert(sizeof(Axes) == 40);

template <class T> struct Neighbours {
    const Axes &p;
    const T *weights;
    long long i, step[3];
    int at[3];

    __device__ inline Neighbours(const Axes &p, int row, int x) : p(p), weights(static_cast<const T *>(p.weights)) {
        at[0] = x;
        at[2] = row / p.sizes[1];
        at[1] = row - at[2] * p.sizes[1];
        step[0] = 1;
        step[1] = p.sizes[0];
        step[2] = (long long)p.sizes[0] * p.sizes[1];
        i = row * (long long)p.sizes[0] + x;
    }
    __device__ inline bool behind(int axis) const { return at[axis] + 1 < p.sizes[axis]; }
    __device__ inline bool before(int axis) const { return at[axis] > 0; }
    __device__ inline T weight(int axis, long long voxel) const {
        return weights ? sqrt(weights[axis * p.voxels + voxel]) : (T)1;
    }
    __device__ inline Complex<T> difference(int axis, const Complex<T> *x) const {
        return behind(axis) ? (x[i + step[axis]] - x[i]) * weight(axis, i) : Complex<T>{0, 0};
    }
};

// Mirrors `Back`: out = image - scale K^H q; q of the axes one after the other, null for axes of one voxel.
struct Back {
    Axes axes;
    const void *image;
    void *out;
    const void *q[3];
    double scale;
};
static_assert(sizeof(Back) == 88);

template <class T> __device__ inline void back(const Back &p) {
    const T scale = (T)p.scale;
    each_of_rows(p.axes.sizes[1] * p.axes.sizes[2], p.axes.sizes[0], [&](int row, int x) {
        Neighbours<T> at(p.axes, row, x);
        for (int image = 0; image < p.axes.images; image++) {
            Complex<T> flow = {0, 0};
#pragma unroll
            for (int a = 0; a < 3; a++) {
                const Complex<T> *q = static_cast<const Complex<T> *>(p.q[a]) + image * p.axes.apart;
                if (at.behind(a)) flow = flow + q[at.i] * at.weight(a, at.i);
                long long left = at.i - at.step[a];
                if (at.before(a)) flow = flow - q[left] * at.weight(a, left);
            }
            const long long i = at.i + image * p.axes.voxels;
            static_cast<Complex<T> *>(p.out)[i] = static_cast<const Complex<T> *>(p.image)[i] + flow * scale;
        }
    });
}

// Mirrors `Rise`: p = (keep q + step K x), no longer than 1 over axes and images; q = p + momentum (p - what p was).
struct Rise {
    Axes axes;
    const void *x;
    void *p[3], *q[3];
    double keep, step, momentum;
};
static_assert(sizeof(Rise) == 120);

// What a voxel's field of an image moves to, and its square.
template <class T> __device__ inline T moved_to(const Rise &r, const Neighbours<T> &at, int image, Complex<T> (&moved)[3]) {
    const T keep = (T)r.keep, step = (T)r.step;
    const Complex<T> *x = static_cast<const Complex<T> *>(r.x) + image * r.axes.voxels;
    T square = 0;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        moved[a] = {0, 0};
        if (!at.behind(a)) continue;
        const Complex<T> *q = static_cast<const Complex<T> *>(r.q[a]) + image * r.axes.apart;
        moved[a] = q[at.i] * keep + at.difference(a, x) * step;
        square += moved[a].x * moved[a].x + moved[a].y * moved[a].y;
    }
    return square;
}

template <class T> __device__ inline void rise(const Rise &r) {
    const T momentum = (T)r.momentum;
    each_of_rows(r.axes.sizes[1] * r.axes.sizes[2], r.axes.sizes[0], [&](int row, int x) {
        Neighbours<T> at(r.axes, row, x);
        Complex<T> moved[3];
        T square = moved_to(r, at, 0, moved);
        for (int image = 1; image < r.axes.images; image++) square += moved_to(r, at, image, moved);
        const T factor = square > 1 ? 1 / sqrt(square) : (T)1;
        for (int image = 0; image < r.axes.images; image++) {
            // One image's is still there.
            if (r.axes.images > 1) moved_to(r, at, image, moved);
#pragma unroll
            for (int a = 0; a < 3; a++) {
                if (!at.behind(a)) continue;
                const long long i = at.i + image * r.axes.apart;
                Complex<T> *p = static_cast<Complex<T> *>(r.p[a]) + i, next = moved[a] * factor;
                static_cast<Complex<T> *>(r.q[a])[i] = next + (next - *p) * momentum;
                *p = next;
            }
        }
    });
}

// Mirrors `Length`: the sum over voxels of h(|K x|) of axes and images, the square over 2 huber up to huber, and growing by 1 from there.
struct Length {
    Axes axes;
    const void *x;
    double huber;
    Sums sums;
};
static_assert(sizeof(Length) == 80);

template <class T> __device__ inline void length(const Length &p) {
    double sum[1] = {};
    each_of_rows(p.axes.sizes[1] * p.axes.sizes[2], p.axes.sizes[0], [&](int row, int x) {
        Neighbours<T> at(p.axes, row, x);
        double square = 0;
        for (int image = 0; image < p.axes.images; image++) {
            const Complex<T> *of = static_cast<const Complex<T> *>(p.x) + image * p.axes.voxels;
#pragma unroll
            for (int a = 0; a < 3; a++) {
                Complex<T> d = at.difference(a, of);
                square += (double)d.x * d.x + (double)d.y * d.y;
            }
        }
        const double l = sqrt(square);
        sum[0] += l < p.huber ? square / (2 * p.huber) : l - p.huber / 2;
    });
    finish(p.sums, sum);
}

#define VARIATION(name, call, Parameter) \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f32(const __grid_constant__ Parameter p) { call<float>(p); } \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f64(const __grid_constant__ Parameter p) { call<double>(p); }

VARIATION(variation_back, back, Back)
VARIATION(variation_rise, rise, Rise)
VARIATION(variation_length, length, Length)
