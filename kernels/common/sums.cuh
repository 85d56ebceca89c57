// Sums over all threads of a launch, and maxima, in a fixed order: the same bits in every run.
#pragma once
#include "block_sum.cuh"

// Mirrors `SumsArguments` in crates/base/src/gpu/sums.rs.
struct Sums {
    // A block's share each.
    double *parts;
    // Blocks that are done.
    unsigned *done;
    // Memory of the host.
    double *result;
};
static_assert(sizeof(Sums) == 24);

__device__ inline double block_highest(double v) {
    __shared__ double warps[THREADS / 32];
    for (int step = 16; step; step /= 2) v = fmax(v, __shfl_xor_sync(~0u, v, step));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[0];
    for (int w = 1; w < THREADS / 32; w++) v = fmax(v, warps[w]);
    __syncthreads();
    return v;
}

// Of N numbers a thread, the last `MAXIMA` of which are maxima of numbers that are not negative.
template <int N, int MAXIMA = 0> __device__ inline void finish(const Sums &p, const double (&mine)[N]) {
    __shared__ bool last;
#pragma unroll
    for (int k = 0; k < N; k++) {
        double v = k < N - MAXIMA ? block_sum(mine[k]) : block_highest(mine[k]);
        if (threadIdx.x == 0) p.parts[(long long)N * blockIdx.x + k] = v;
    }
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(p.done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
#pragma unroll
    for (int k = 0; k < N; k++) {
        double v = 0;
        for (int b = threadIdx.x; b < gridDim.x; b += THREADS) {
            double part = __ldcg(p.parts + (long long)N * b + k);
            v = k < N - MAXIMA ? v + part : fmax(v, part);
        }
        v = k < N - MAXIMA ? block_sum(v) : block_highest(v);
        if (threadIdx.x == 0) p.result[k] = v;
    }
    if (threadIdx.x == 0) *p.done = 0;
}
