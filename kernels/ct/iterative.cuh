// Sums over a slice's elements, in an order that depends on nothing but their number.
#pragma once
#include "../common/block_sum.cuh"

__device__ inline double block_least(double v) {
    __shared__ double warps[THREADS / 32];
    for (int step = 16; step; step /= 2) v = fmin(v, __shfl_xor_sync(~0u, v, step));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[0];
    for (int w = 1; w < THREADS / 32; w++) v = fmin(v, warps[w]);
    __syncthreads();
    return v;
}

// Whether this block is the last of its slice to come here.
__device__ inline bool comes_last(unsigned *done) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(done + blockIdx.y, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return false;
    __threadfence();
    if (threadIdx.x == 0) done[blockIdx.y] = 0;
    return true;
}

// Adds the blocks' sums to the slice's, by the block that comes last. `parts` has as many places as a slice has blocks.
__device__ inline void add_up(double *parts, double *sums, unsigned *done, double weight, double sum) {
    sum = block_sum(sum);
    parts += (long long)blockIdx.y * gridDim.x;
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
    if (!comes_last(done)) return;
    sum = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) sum += __ldcg(parts + b);
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.y] += weight * sum;
}
