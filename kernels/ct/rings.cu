// One offset of each bin and slice, which all views share.
#include "iterative.cuh"

// Mirrors `Spread` in crates/ct/src/gpu/iterative/rings.rs: rows += factor roots offsets, in all views; roots null where they are 1.
struct Spread {
    float *rows;
    const float *roots, *offsets;
    long long samples;
    float factor;
    int bins;
};
static_assert(sizeof(Spread) == 40);

extern "C" __global__ void __launch_bounds__(THREADS) ct_rings_spread(const __grid_constant__ Spread p) {
    long long first = blockIdx.y * p.samples;
    const float *offsets = p.offsets + (long long)blockIdx.y * p.bins;
    each(p.samples, [&](long long i) {
        float root = p.roots ? p.roots[first + i] : 1;
        p.rows[first + i] += p.factor * root * offsets[i % p.bins];
    });
}

// Mirrors `Gather`: offsets = the sum over views of roots rows.
struct Gather {
    const float *rows, *roots;
    float *offsets;
    int views, bins;
};
static_assert(sizeof(Gather) == 32);

extern "C" __global__ void __launch_bounds__(THREADS) ct_rings_gather(const __grid_constant__ Gather p) {
    long long first = (long long)blockIdx.y * p.views * p.bins;
    for (int bin = blockIdx.x * THREADS + threadIdx.x; bin < p.bins; bin += gridDim.x * THREADS) {
        double sum = 0;
#pragma unroll 8
        for (int view = 0; view < p.views; view++) {
            long long i = first + (long long)view * p.bins + bin;
            sum += p.roots ? p.roots[i] * p.rows[i] : p.rows[i];
        }
        p.offsets[(long long)blockIdx.y * p.bins + bin] = (float)sum;
    }
}

// Mirrors `OffsetsStep`: see `space::Shift`.
struct Shift {
    float *offsets, *gradient, *ahead;
    const double *steps, *relaxed;
    float part, weight;
    int bins;
};
static_assert(sizeof(Shift) == 56);

extern "C" __global__ void __launch_bounds__(THREADS) ct_rings_shift(const __grid_constant__ Shift p) {
    float step = p.part * (float)p.steps[blockIdx.y], relaxed = (float)p.relaxed[blockIdx.y];
    long long first = (long long)blockIdx.y * p.bins;
    each(p.bins, [&](long long i) {
        float r = p.offsets[first + i], moved = r + step * p.gradient[first + i];
        float next = copysignf(fmaxf(fabsf(moved) - step * p.weight, 0), moved);
        p.gradient[first + i] = next;
        p.ahead[first + i] = 2 * next - r;
        p.offsets[first + i] = r + relaxed * (next - r);
    });
}

// Mirrors `LimitSums`: see `space::Limit`. One block for a slice.
struct Limit {
    const float *offsets;
    float *sums;
    const float *mass;
    double *penalty, *duality;
    float weight;
    int views, bins;
};
static_assert(sizeof(Limit) == 56);

extern "C" __global__ void __launch_bounds__(THREADS) ct_rings_limit(const __grid_constant__ Limit p) {
    long long first = (long long)blockIdx.y * p.bins;
    double penalty = 0, duality = 0;
    for (int bin = threadIdx.x; bin < p.bins; bin += THREADS) {
        float s = p.sums[first + bin], r = p.offsets[first + bin], mass = p.mass ? p.mass[first + bin] : p.views;
        float kept = fminf(fmaxf(s, -p.weight), p.weight);
        double own = (double)p.weight * fabsf(r);
        penalty += own;
        duality += own - (double)kept * r;
        p.sums[first + bin] = mass > 0 ? (s - kept) / mass : 0;
    }
    penalty = block_sum(penalty);
    duality = block_sum(duality);
    if (threadIdx.x) return;
    p.penalty[blockIdx.y] += penalty;
    p.duality[blockIdx.y] += duality;
}
