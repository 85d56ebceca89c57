// Accelerated projected gradient's steps on images slice after slice.
#include "iterative.cuh"

// Mirrors `HastenStep` in crates/ct/src/gpu/iterative/fista.rs: see `space::Hasten`.
struct Hasten {
    float *x;
    // What both images are added to.
    const float *base;
    float *ahead;
    // A^T (b - A x); or what is taken from `back` for it, where that is not NULL.
    const float *gradient, *back;
    const float *mask;
    const double *steps, *ahead_parts;
    double *parts, *turned;
    unsigned *done;
    float weight, lower, upper;
    int pixels;
};
static_assert(sizeof(Hasten) == 104);

extern "C" __global__ void __launch_bounds__(THREADS) ct_fista_hasten(const __grid_constant__ Hasten p) {
    long long slice = blockIdx.y, first = slice * p.pixels;
    float step = (float)p.steps[slice], part = (float)p.ahead_parts[slice];
    double turned = 0;
    // A step of 0 is that of a slice that has ended.
    if (step > 0) {
        each(p.pixels, [&](long long i) {
            if (p.mask && p.mask[i] == 0) return;
            float x = p.x[first + i], base = p.base[first + i], ahead = p.ahead[first + i], descent = p.gradient[first + i];
            if (p.back) descent = p.back[first + i] - descent;
            descent -= p.weight * (base + ahead);
            float next = fminf(fmaxf(ahead + step * descent, p.lower - base), p.upper - base), moved = next - x;
            turned += (double)(ahead - next) * moved;
            p.x[first + i] = next;
            p.ahead[first + i] = next + part * moved;
        });
    }
    add_up(p.parts, p.turned, p.done, 1, turned);
}

// Mirrors `ExcessSums`: see `space::Excess`.
struct Excess {
    // The image is the sum of both.
    const float *x, *base;
    const float *gradient, *mask;
    // Two for each block of a slice.
    double *parts;
    double *excess, *length;
    unsigned *done;
    float weight, lower, upper;
    int pixels;
};
static_assert(sizeof(Excess) == 80);

extern "C" __global__ void __launch_bounds__(THREADS) ct_fista_excess(const __grid_constant__ Excess p) {
    long long slice = blockIdx.y, first = slice * p.pixels;
    double sums[2] = {}, weight = p.weight, lower = p.lower, upper = p.upper;
    each(p.pixels, [&](long long i) {
        if (p.mask && p.mask[i] == 0) return;
        double x = (double)p.base[first + i] + p.x[first + i], v = weight * x - p.gradient[first + i];
        // The best within the bounds; a step to infinity is one of 0 where nothing pulls.
        double best = weight > 0 ? fmin(fmax(x - v / weight, lower), upper) : v == 0 ? x : v > 0 ? lower : upper;
        // 0 times a step to infinity is no number.
        sums[0] += v * (x - best) - (weight > 0 ? 0.5 * weight * (x - best) * (x - best) : 0);
        sums[1] += x * x;
    });
    double *parts = p.parts + 2 * ((long long)blockIdx.y * gridDim.x + blockIdx.x);
    for (int k = 0; k < 2; k++) {
        sums[k] = block_sum(sums[k]);
        if (threadIdx.x == 0) parts[k] = sums[k];
    }
    if (!comes_last(p.done)) return;
    double total[2] = {};
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) {
        for (int k = 0; k < 2; k++) total[k] += __ldcg(p.parts + 2 * ((long long)blockIdx.y * gridDim.x + b) + k);
    }
    for (int k = 0; k < 2; k++) total[k] = block_sum(total[k]);
    if (threadIdx.x) return;
    p.excess[slice] += total[0];
    p.length[slice] += total[1];
}

// Mirrors `Quicken`: see `Space::quicken`.
struct Quicken {
    double *momentum, *turned, *part;
    int slices;
};
static_assert(sizeof(Quicken) == 32);

extern "C" __global__ void __launch_bounds__(THREADS) ct_fista_quicken(const __grid_constant__ Quicken p) {
    each(p.slices, [&](long long s) {
        double now = p.turned[s] > 0 ? 1 : p.momentum[s], next = 0.5 * (1 + sqrt(1 + 4 * now * now));
        p.momentum[s] = next;
        p.part[s] = (now - 1) / next;
        p.turned[s] = 0;
    });
}
