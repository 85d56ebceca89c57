// What becomes of the sums of a projection.
#pragma once

enum What { STORE, ADD, QUOTIENT, DISCREPANCY, RELAX };

// Mirrors `Finish` in crates/pet/src/gpu/finish.rs. Volumes are [y][x][z], columns as long as a multiple of 4.
struct Finish {
    float *output;
    // Of the view; NULL factors are 1, NULL additive is 0.
    const float *measured, *factors, *additive;
    const float *step;
    // Of each block: sum of d ln e - e, and voxels with counts where none are expected.
    double2 *tally;
    int what;
    // Largest quotient of what Fourier transforms expect.
    float most;
};
static_assert(sizeof(Finish) == 56);

// Expected counts below are none: their quotients would leave the range of f32.
#define LEAST_EXPECTED 1e-30f

// Of one thread's few voxels.
struct Sums {
    float likelihood = 0;
    int skipped = 0;
};

__device__ inline bool compares(const Finish &p) { return p.what == QUOTIENT || p.what == DISCREPANCY; }

// Of measured counts d and expected ones a sum + b; `less` is 1 for a discrepancy, 0 for a quotient.
__device__ inline float compared(float sum, float less, float d, float a, float b, float most, Sums &sums) {
    const float e = a * fmaxf(sum, 0.f) + b;
    const bool counts = d > 0, expected = e > LEAST_EXPECTED;
    if (expected) sums.likelihood += (counts ? d * __logf(e) : 0) - e;
    sums.skipped += counts && !expected;
    const float ratio = expected ? __fdividef(d, e) : counts ? less : 0;
    // What leaves single precision is nothing where factors are 0.
    return fminf(a * fminf(ratio, 3.4028235e38f), most) - a * less;
}

__device__ inline float relaxed(float sum, float old, float step) { return fmaxf(old + step * old * sum, 0.f); }

// Adds a block's sums to its place; all threads call it.
__device__ inline void tally(const Finish &p, Sums sums) {
    __shared__ double2 warps[32];
    double2 v = {sums.likelihood, (double)sums.skipped};
    for (int step = 16; step; step /= 2) {
        v.x += __shfl_xor_sync(~0u, v.x, step);
        v.y += __shfl_xor_sync(~0u, v.y, step);
    }
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        double2 sum = p.tally[blockIdx.x];
        for (int w = 0; w < (blockDim.x + 31) / 32; w++) {
            sum.x += warps[w].x;
            sum.y += warps[w].y;
        }
        p.tally[blockIdx.x] = sum;
    }
}
