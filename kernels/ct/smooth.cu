// Steps of rows that are smaller along the smooth components of each view's row.
#include "iterative.cuh"

// Mirrors `Approach` in crates/ct/src/gpu/iterative/smooth.rs: rows go `relaxed` times step / (1 + step) of the way to `by`, with `parts` of the step along
// the components, which are orthonormal; without steps all stays but the components, of which a part is left.
struct Approach {
    float *rows;
    // Or null, for zeros.
    const float *by;
    // Component after component, of a row's bins.
    const float *table, *parts;
    // Of each slice, or null.
    const double *steps, *relaxed;
    // Rows of a block, whose differences are in shared memory where there is room.
    int views, bins, count, rows_of_block, staged;
};
static_assert(sizeof(Approach) == 72);

constexpr int ROWS = 4;

__device__ inline float way(float step) { return step / (1 + step); }

// A warp for each component of a few rows, which so share what is read of the table.
extern "C" __global__ void __launch_bounds__(THREADS) ct_smooth_approach(const __grid_constant__ Approach p) {
    extern __shared__ float own[];
    float *stage = own + p.rows_of_block * p.count;
    long long slice = blockIdx.y, view = (long long)blockIdx.x * p.rows_of_block;
    int rows = min((long long)p.rows_of_block, p.views - view), lane = threadIdx.x % 32;
    long long first = (slice * p.views + view) * p.bins;
    float *to = p.rows + first;
    const float *by = p.by ? p.by + first : nullptr;
    float step = p.steps ? (float)p.steps[slice] : 0, relaxed = p.steps ? (float)p.relaxed[slice] : 1;
    auto difference = [&](int i) { return (by ? by[i] : 0) - to[i]; };
    auto apart = [&](int i) { return p.staged ? stage[i] : difference(i); };
    if (p.staged) {
        for (int i = threadIdx.x; i < rows * p.bins; i += THREADS) stage[i] = difference(i);
        __syncthreads();
    }
    for (int j = threadIdx.x / 32; j < p.count; j += THREADS / 32) {
        float sum[ROWS] = {};
        for (int bin = lane; bin < p.bins; bin += 32) {
            float t = p.table[(long long)j * p.bins + bin];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (r < rows) sum[r] += t * apart(r * p.bins + bin);
        }
        float part = p.parts[j], less = p.steps ? relaxed * (way(step) - way(part * step)) : part - 1;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            for (int far = 16; far; far /= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], far);
            if (r < rows && lane == 0) own[r * p.count + j] = less * sum[r];
        }
    }
    __syncthreads();
    float whole = relaxed * way(step);
    for (int bin = threadIdx.x; bin < p.bins; bin += THREADS) {
        float go[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) go[r] = r < rows ? whole * apart(r * p.bins + bin) : 0;
        for (int j = 0; j < p.count; j++) {
            float t = p.table[(long long)j * p.bins + bin];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (r < rows) go[r] -= own[r * p.count + j] * t;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (r < rows) to[r * p.bins + bin] += go[r];
    }
}
