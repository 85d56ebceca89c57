// The sum of what a block's threads have, in a fixed order.
#pragma once
#include "each.cuh"

__device__ inline double block_sum(double v) {
    __shared__ double warps[THREADS / 32];
    for (int step = 16; step; step /= 2) v += __shfl_xor_sync(~0u, v, step);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < THREADS / 32; w++) v += warps[w];
    __syncthreads();
    return v;
}
