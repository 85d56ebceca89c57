// Rows of an image shared out over a launch's warps: neighbouring lanes have neighbouring voxels, and no voxel asks for a division.
#pragma once
#include "../common/each.cuh"

// f(row, voxel of the row)
template <class F> __device__ inline void each_of_rows(int rows, int length, F f) {
    const int warp = (blockIdx.x * THREADS + threadIdx.x) / 32, warps = gridDim.x * (THREADS / 32);
    for (int row = warp; row < rows; row += warps)
        for (int x = threadIdx.x % 32; x < length; x += 32) f(row, x);
}
