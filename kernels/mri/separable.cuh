// What both directions of the separable sums share.
//
// exp(2 pi i k.r) on a grid is the product of a factor for each axis, so sums over samples (or voxels) are matrix products. The
// first axis is folded: its positions are -u and u, u = 0, 1, 2... (odd sizes) or 1/2, 3/2... (even sizes, the half voxel goes to
// the other factors), and one pair of real factors, cos and sin, serves both. The other two axes make columns: column (i, j)
// lies at i + W (j mod period) on the second axis and at j / period on the third.
#pragma once
#include "../common/complex.cuh"
#include <cuda_fp16.h>

// Mirrors `Grid` in crates/mri/src/gpu/separable.rs.
struct Grid {
    // Voxels along the folded axis, then along the two of the columns.
    int n[3];
    // Which component of a point belongs to each axis.
    int component[3];
    // Components of a point.
    int dims;
    // Columns: i < firsts, j < seconds; some lie outside the grid.
    int firsts, seconds, period;
    // Blocks of folded positions.
    int blocks;
};
static_assert(sizeof(Grid) == 44);

// exp(2 pi i phase), the phase in cycles.
template <typename T> __device__ inline Complex<T> cycle(double phase);
template <> __device__ inline Complex<float> cycle<float>(double phase) {
    Complex<float> c;
    sincospif(2 * (float)(phase - rint(phase)), &c.y, &c.x);
    return c;
}
template <> __device__ inline Complex<double> cycle<double>(double phase) {
    Complex<double> c;
    sincospi(2 * (phase - rint(phase)), &c.y, &c.x);
    return c;
}

// Phases of the three factors, in cycles; `point` in cycles per voxel.
__device__ inline double folded_position(const Grid &g, int index) { return g.n[0] % 2 ? index : index + 0.5; }

__device__ inline double folded_phase(const Grid &g, const double *point, int index) {
    return point[g.component[0]] * folded_position(g, index);
}

__device__ inline double first_phase(const Grid &g, const double *point, int i) {
    double half = g.n[0] % 2 ? 0 : 0.5;
    return fma(point[g.component[1]], (double)(i - g.n[1] / 2), -half * point[g.component[0]]);
}

__device__ inline double second_phase(const Grid &g, const double *point, int j, int width) {
    double along = point[g.component[1]] * (width * (j % g.period));
    return fma(point[g.component[2]], (double)(j / g.period - g.n[2] / 2), along);
}

// Index of the voxel at the folded positions u and -u.
__device__ inline int above(const Grid &g, int index) { return g.n[0] / 2 + index; }
__device__ inline int below(const Grid &g, int index) { return (g.n[0] - 1) / 2 - index; }
__device__ inline int folded_count(const Grid &g) { return (g.n[0] + 1) / 2; }

__device__ inline void copy16(void *shared, const void *global) {
    unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

__device__ inline void copies_issued() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING groups are on their way.
template <int PENDING> __device__ inline void copies_arrived() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

__device__ inline unsigned bits(__half2 v) { return *reinterpret_cast<unsigned *>(&v); }

// Two values as sums of a high and a low f16 part: 22 bits each.
__device__ inline void split(float a, float b, unsigned &high, unsigned &low) {
    __half2 h = __floats2half2_rn(a, b);
    high = bits(h);
    low = bits(__floats2half2_rn(a - __low2float(h), b - __high2float(h)));
}

__device__ inline void load_matrices(unsigned (&b)[4], const void *shared) {
    unsigned address = (unsigned)__cvta_generic_to_shared(shared);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(address)
                 : "memory");
}

// c += a b, 16x16 times 16x8.
__device__ inline void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same for N pairs of neighbouring tiles of 8 columns and M halves of rows, with f16 parts: three of the four products, the
// small ones first. Products that follow each other go to different sums.
template <int N, int M>
__device__ inline void multiply_add(float (*c)[M][2][4], const unsigned (&high)[M][4], const unsigned (&low)[M][4],
                                    const unsigned (&b_high)[N][4], const unsigned (&b_low)[N][4]) {
#pragma unroll
    for (int product = 0; product < 3; product++)
#pragma unroll
        for (int n = 0; n < 2 * N; n++)
#pragma unroll
            for (int m = 0; m < M; m++) {
                const unsigned(&b)[4] = product == 1 ? b_low[n / 2] : b_high[n / 2];
                multiply_add(c[n / 2][m][n % 2], product == 0 ? low[m] : high[m], b[n % 2 * 2], b[n % 2 * 2 + 1]);
            }
}

// c += a b, 16x8 times 8x8 in f64.
__device__ inline void multiply_add(double (&c)[4], const double (&a)[4], double b0, double b1) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#else
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int m = 0; m < 2; m++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+d"(c[2 * m]), "+d"(c[2 * m + 1])
                         : "d"(a[2 * k + m]), "d"(k ? b1 : b0));
#endif
}

// Sums of partial results, in their order.
template <typename T>
__device__ inline Complex<T> sum_partials(const Complex<T> *partials, long long stride, int count) {
    Complex<T> sum = partials[0];
    for (int s = 1; s < count; s++) sum.x += partials[s * stride].x, sum.y += partials[s * stride].y;
    return sum;
}
