// Stripes that stand out from noise, and nothing else: what crates/ct/src/rows/stripes/significant.rs says, one block a slice for all that is one
// number a bin.
#include "rows.cuh"
#include "stripes.cuh"

using namespace stripes;

namespace {

// As in significant.rs and fit.rs.
constexpr double SIGNIFICANT = 5, FLOOR = 1e-4, LIMIT = 6, ROUGHER = 0.25, DRIFTS = 1, CUTOFF = 4, MIN_WEIGHT = 1e-9, STEP = 0.7;
constexpr double ROUNDING = 1e-6, STRUCTURE = 8, BY_NOISE = 4, BESIDE = 1.0 / 3, ALIKE = 0.5;
constexpr int NEIGHBOURHOOD = 51, NARROW = 10, NARROWER = 5, WIDE = 25, REACH = 4, DRIFTING = 4, CROWD = 6, RUN = 64, ITERATIONS = 6;
constexpr int PIECES = 8, WIDTHS = 4, TILE = 256;

// Solves for a parabola by its normal equations.
__device__ inline double3 solved(const double *s, const double *t) {
    if (s[0] <= 0) return {0, 0, 0};
    const double minimum = 1e-12 * s[0];
    const double l10 = s[1] / s[0], l20 = s[2] / s[0];
    const double d1 = fmax(s[2] - l10 * s[1], minimum);
    const double e = s[3] - l20 * s[1], l21 = e / d1;
    const double d2 = fmax(s[4] - l20 * s[2] - l21 * e, minimum);
    const double y1 = t[1] - l10 * t[0], y2 = t[2] - l20 * t[0] - l21 * y1;
    const double c2 = y2 / d2, c1 = y1 / d1 - l21 * c2;
    return {t[0] / s[0] - l10 * c1 - l20 * c2, c1, c2};
}

// First view of a piece of the scan.
__device__ inline int first_of(const Lists &l, int piece) { return (int)((long long)piece * l.views / l.pieces); }

// Means and noise, from sums of runs.
__device__ void block_statistics(const Lists &l, const double *runs) {
    const int n = l.bins;
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        const double *sums = runs + k;
        double sum = 0, squares = 0;
        for (int piece = 0; piece < l.pieces; piece++) {
            double of_piece = 0, squares_of_piece = 0;
            for (int run = 0; run < l.runs / l.pieces; run++, sums += 2 * n) of_piece += sums[0], squares_of_piece += sums[n];
            sum += of_piece, squares += squares_of_piece;
            if (l.pieces == 1) continue;
            const int first = first_of(l, piece), end = first_of(l, piece + 1);
            l.piece_mean[piece * n + k] = of_piece / (end - first);
            l.piece_noise[piece * n + k] = sqrt(squares_of_piece / (6.0 * max(end - max(first, 2), 1)));
        }
        l.mean[k] = sum / l.views;
        l.noise[k] = sqrt(squares / (6.0 * max(l.views - 2, 1)));
        l.offset[k] = 0;
    }
    __syncthreads();
}

// Weight of a bin so far away, of a window with as many as `half` on either side.
__device__ inline double tricube(int away, int half) {
    const double distance = double(away) / (half + 1), cube = 1 - distance * distance * distance;
    return cube * cube * cube;
}

// Local parabolas through a number a bin, into `value`, robust after the first iteration: see fit.rs.
__device__ void block_fit(const Lists &l, const double *values, int half, int iterations) {
    // How far bins are away, in half windows, and what they weigh.
    __shared__ double2 places[WIDE + 1];
    const int n = l.bins;
    double sharpness = 0;
    double3 *parabolas = reinterpret_cast<double3 *>(l.parabolas);
    for (int away = threadIdx.x; away <= half; away += blockDim.x) places[away] = {double(away) / half, tricube(away, half)};
    for (int k = threadIdx.x; k < n; k += blockDim.x) parabolas[k] = {0, 0, 0};
    __syncthreads();
    for (int iteration = 0; iteration < iterations; iteration++) {
        for (int k = threadIdx.x; k < n; k += blockDim.x) {
            const double3 c = parabolas[k];
            double s[5] = {}, t[3] = {};
            auto add = [&](double v, double x, double tricube) {
                const double residual = (v - (c.x + x * (c.y + x * c.z))) * sharpness;
                const double near = fmax(1 - residual * residual, 0.0);
                const double w = tricube * (near * near + MIN_WEIGHT);
                const double wx = w * x, wxx = wx * x, wv = w * v;
                s[0] += w, s[1] += wx, s[2] += wxx, s[3] += wxx * x, s[4] += wxx * x * x;
                t[0] += wv, t[1] += wv * x, t[2] += wv * x * x;
            };
            for (int away = 1; away <= half; away++) {
                const double2 place = places[away];
                if (k >= away) add(values[k - away], -place.x, place.y);
                if (k + away < n) add(values[k + away], place.x, place.y);
            }
            const double3 parabola = solved(s, t);
            parabolas[k] = parabola;
            l.value[k] = parabola.x;
            l.sorted[k] = fabs(values[k] - parabola.x);
        }
        __syncthreads();
        if (iteration + 1 == iterations) break;
        sharpness = 1 / (CUTOFF * NORMAL * fmax(block_median(l.sorted, n), 2.2250738585072014e-308));
    }
}

// What parabolas with fixed weights are at a bin near an end, of each piece.
__device__ inline void fit_near_end(const double *means, int n, int k, int half, double (&fitted)[PIECES]) {
    double s[5] = {}, t[PIECES][3] = {};
    for (int i = max(-half, -k); i <= min(half, n - 1 - k); i++) {
        if (i == 0) continue;
        const double x = double(i) / half, w = tricube(abs(i), half), wx = w * x, wxx = wx * x;
        s[0] += w, s[1] += wx, s[2] += wxx, s[3] += wxx * x, s[4] += wxx * x * x;
#pragma unroll
        for (int piece = 0; piece < PIECES; piece++) {
            const double v = means[piece * n + k + i];
            t[piece][0] += w * v, t[piece][1] += wx * v, t[piece][2] += wxx * v;
        }
    }
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) fitted[piece] = solved(s, t[piece]).x;
}

// The same where a window has all of its bins: a sum of these, since what is odd of the window cancels.
__device__ inline void fit_inside(const double *means, int n, int half, const double *weights, double (&fitted)[PIECES]) {
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) fitted[piece] = 0;
    for (int away = 1; away <= half; away++) {
        const double weight = weights[away];
#pragma unroll
        for (int piece = 0; piece < PIECES; piece++) fitted[piece] += weight * (means[piece * n - away] + means[piece * n + away]);
    }
}

// What a bin so far away weighs in it.
__device__ inline double weight_inside(int away, int half) {
    double s0 = 0, s2 = 0, s4 = 0;
    auto squared = [&](int away) { return double(away) * away / (double(half) * half); };
    for (int i = 1; i <= half; i++) {
        const double t = 2 * tricube(i, half), xx = squared(i);
        s0 += t, s2 += t * xx, s4 += t * xx * xx;
    }
    return tricube(away, half) * (s4 - s2 * squared(away)) / (s0 * s4 - s2 * s2);
}

__device__ void block_replace(const Lists &l) {
    block_replacements(l);
    const int count = *l.count;
    // Good columns replace, bad ones are replaced.
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int k = l.listed[i];
        const int2 from = l.from[k];
        l.mean[k] = l.mean[from.x] + l.weight[k] * (l.mean[from.y] - l.mean[from.x]);
        l.noise[k] = l.noise[from.x] + l.weight[k] * (l.noise[from.y] - l.noise[from.x]);
        for (int piece = 0; piece < l.pieces; piece++) {
            double *mean = l.piece_mean + piece * l.bins, *noise = l.piece_noise + piece * l.bins;
            mean[k] = mean[from.x] + l.weight[k] * (mean[from.y] - mean[from.x]);
            noise[k] = noise[from.x] + l.weight[k] * (noise[from.y] - noise[from.x]);
        }
    }
    __syncthreads();
}

// The largest mean, of whatever sign.
__device__ double block_largest_mean(const Lists &l) {
    for (int k = threadIdx.x; k < l.bins; k += blockDim.x) l.ratio[k] = fabs(l.mean[k]);
    __syncthreads();
    return block_select(l.ratio, l.bins, l.bins - 1);
}

// The first piece whose noise is known: it takes three views.
__device__ inline int first_noisy(const Lists &l) { return l.views / l.pieces <= 2; }

// Of columns that are rough on the whole, leaves those that are so among their neighbours in every piece.
__device__ void block_confirm_rough(const Lists &l) {
    const int n = l.bins;
    const double floor = ROUNDING * block_largest_mean(l);
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        if (!l.bad[k]) continue;
        bool rougher = true, smoother = true;
        for (int piece = first_noisy(l); piece < l.pieces; piece++) {
            const double *noise = l.piece_noise + piece * n;
            double around[2 * REACH + 1];
            for (int j = 0; j < 2 * REACH + 1; j++) {
                const double v = fmax(noise[mirrored(k + j - REACH, n)], floor);
                int at = j;
                for (; at > 0 && around[at - 1] > v; at--) around[at] = around[at - 1];
                around[at] = v;
            }
            const double away = log(fmax(noise[k], floor) / around[REACH]);
            rougher &= away > 0.5 * ROUGHER, smoother &= -away > 0.5 * ROUGHER;
        }
        l.bad[k] = rougher || smoother;
    }
    __syncthreads();
}

// What the bins on either side say of one.
__device__ inline double between(const double *mean, int k, int n) { return 0.5 * (mean[mirrored(k - 1, n)] + mean[mirrored(k + 1, n)]); }

// What structure can make of what is left, by the pieces: for each bin and width by itself.
__device__ void block_structure(const Lists &l) {
    __shared__ double weights[WIDTHS][WIDE + 1];
    const int n = l.bins;
    auto half_of = [&](int width) { return min(width == 1 ? NARROW : width == 2 ? NARROWER : WIDE, (n - 1) / 2); };
    for (int i = threadIdx.x; i < WIDTHS * (WIDE + 1); i += blockDim.x) {
        const int width = i / (WIDE + 1), away = i % (WIDE + 1);
        weights[width][away] = away <= half_of(width) ? weight_inside(away, half_of(width)) : 0;
    }
    __syncthreads();
    for (int item = threadIdx.x; item < WIDTHS * n; item += blockDim.x) {
        const int width = item / n, k = item % n, half = half_of(width);
        double fitted[PIECES];
        if (width == 0) {
#pragma unroll
            for (int piece = 0; piece < PIECES; piece++) fitted[piece] = between(l.piece_mean + piece * n, k, n);
        } else if (k >= half && k + half < n) {
            fit_inside(l.piece_mean + k, n, half, weights[width], fitted);
        } else {
            fit_near_end(l.piece_mean, n, k, half, fitted);
        }
        double sum = 0, squares = 0, quietest = INFINITY;
        const int first = first_noisy(l);
#pragma unroll
        for (int piece = 0; piece < PIECES; piece++) {
            const double off = l.piece_mean[piece * n + k] - fitted[piece];
            sum += off, squares += off * off;
            if (piece >= first) quietest = fmin(quietest, l.piece_noise[piece * n + k]);
        }
        const double variance = (squares - sum * sum / PIECES) / (PIECES * (PIECES - 1.0));
        l.structure[item] = STRUCTURE * sqrt(fmax(variance - BY_NOISE * quietest * quietest / l.views, 0.0));
    }
    __syncthreads();
}

// What parabolas of a width leave of the means, into `value`.
__device__ void block_leave(const Lists &l, int half) {
    block_fit(l, l.mean, min(half, (l.bins - 1) / 2), ITERATIONS);
    for (int k = threadIdx.x; k < l.bins; k += blockDim.x) l.value[k] = l.mean[k] - l.value[k];
    __syncthreads();
}

__device__ inline double smallest(const Lists &l, int k, double floor) {
    return fmax(SIGNIFICANT / sqrt((double)l.views) * l.noise[k], floor);
}

// Stripes of a few bins: what narrow parabolas of both widths leave, where it is no structure.
__device__ void block_narrow(const Lists &l, double floor) {
    block_leave(l, NARROW);
    for (int k = threadIdx.x; k < l.bins; k += blockDim.x) l.local[k] = l.value[k];
    block_leave(l, NARROWER);
    for (int k = threadIdx.x; k < l.bins; k += blockDim.x) {
        const double a = l.local[k], b = l.value[k];
        const double by = a * b <= 0 ? 0 : copysign(fmin(fabs(a), fabs(b)), a);
        const double step = l.mean[k] - between(l.mean, k, l.bins);
        const bool narrow = fabs(a) > l.structure[l.bins + k] && fabs(b) > l.structure[2 * l.bins + k];
        const bool steps = step * by > 0 && fabs(step) > fmax(l.structure[k], BESIDE * fabs(by));
        l.local[k] = fabs(by) > smallest(l, k, floor) && (narrow || steps) ? by : 0;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < l.bins; k += blockDim.x) l.offset[k] += l.local[k], l.mean[k] -= l.local[k];
    __syncthreads();
}

// Wide stripes: what a wide parabola leaves of neighbouring bins, where it begins and ends with a step.
__device__ void block_wide(const Lists &l, double floor) {
    const int n = l.bins;
    block_leave(l, WIDE);
    const double *left = l.value;
    const double *structure = l.structure + 3 * n;
    auto significant = [&](int k) { return fabs(left[k]) > fmax(smallest(l, k, floor), structure[k]); };
    auto together = [&](int k) { return significant(k) && significant(k + 1) && (left[k] > 0) == (left[k + 1] > 0); };
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        if (!significant(k) || k > 0 && together(k - 1)) continue;
        // The first of a run.
        int end = k + 1;
        while (end < n && together(end - 1)) end++;
        double largest = 0;
        for (int i = k; i < end; i++) largest = fmax(largest, fabs(left[i]));
        auto rise = [&](int i) { return l.mean[i] - l.mean[i - 1]; };
        auto step = [&](int i) {
            return i < 2 || i + 2 > n || fabs(rise(i) - 0.5 * (rise(i - 1) + rise(i + 1))) >= STEP * largest;
        };
        // Marked here, and applied when all means have been looked at.
        const bool found = step(k) && step(end);
        for (int i = k; i < end; i++) l.found[i] = found;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        if (significant(k) && l.found[k]) l.offset[k] += left[k], l.mean[k] -= left[k];
    __syncthreads();
}

__device__ void block_offsets(const Lists &l) {
    const double floor = FLOOR * block_largest_mean(l);
    for (int pass = 0; pass < 2; pass++) block_wide(l, floor), block_narrow(l, floor);
}

// A corrected value of a view.
__device__ inline float corrected(const Lists &l, const float *view, int k) {
    const int2 from = l.from[k];
    const float a = view[from.x] - (float)l.offset[from.x];
    if (from.x == from.y) return a;
    const float b = view[from.y] - (float)l.offset[from.y];
    return (float)(a + l.weight[k] * ((double)b - a));
}

__device__ inline void order(float &a, float &b) {
    const float low = fminf(a, b);
    b = fmaxf(a, b), a = low;
}

__device__ inline float middle(float a, float b, float c) { return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c)); }

__device__ inline float median_of_nine(const float *v) {
    float a[9];
    for (int i = 0; i < 9; i++) a[i] = v[i];
    for (int i = 0; i < 9; i += 3) order(a[i], a[i + 1]), order(a[i + 1], a[i + 2]), order(a[i], a[i + 1]);
    const float lowest = fmaxf(fmaxf(a[0], a[3]), a[6]), highest = fminf(fminf(a[2], a[5]), a[8]);
    return middle(lowest, middle(a[1], a[4], a[7]), highest);
}

// Mirrors `Arguments` in crates/ct/src/gpu/by_angle.rs.
struct Moves {
    float *sinograms;
    // [to, from]; HELD is the value that a thread holds.
    const uint2 *moves;
    int count, views, bins, unused;
};
static_assert(sizeof(Moves) == 32);
constexpr unsigned HELD = ~0u;

// First view of a part.
__device__ inline int first_view(int part, int parts, int views) { return (int)(((long long)part * views + parts - 1) / parts); }

} // namespace

// Sums of values and of their squared second differences along views, a run of views each.
extern "C" __global__ void __launch_bounds__(TILE) stripes_statistics(const __grid_constant__ Lists p) {
    const int bin = blockIdx.x * TILE + threadIdx.x, slice = blockIdx.z;
    if (bin >= p.bins) return;
    const Lists l = of_slice(p, slice);
    for (int run = blockIdx.y; run < p.runs; run += gridDim.y) {
        const int of_piece = p.runs / p.pieces, piece = run / of_piece;
        const int first = first_of(p, piece) + run % of_piece * RUN, end = min(first + RUN, first_of(p, piece + 1));
        double *sums = p.sums + ((long long)slice * p.runs + run) * 2 * p.bins + bin;
        sums[0] = sums[p.bins] = 0;
        // A piece may have a run less than others.
        if (first >= end) continue;
        const float *at = l.sinograms + (long long)first * p.bins + bin;
        float last = first >= 1 ? at[-p.bins] : 0, before = first >= 2 ? at[-2 * (long long)p.bins] : 0, sum = 0, squares = 0;
        for (int v = first; v < end; v++, at += p.bins) {
            const float here = *at, d = here - 2 * last + before;
            sum += here;
            if (v >= 2) squares += d * d;
            before = last, last = here;
        }
        sums[0] = sum, sums[p.bins] = squares;
    }
}

// Rough columns, and offsets of the others.
extern "C" __global__ void __launch_bounds__(LIST_THREADS) stripes_offsets(const __grid_constant__ Lists p) {
    const int slice = blockIdx.x, n = p.bins;
    const Lists l = of_slice(p, slice);
    block_statistics(l, p.sums + (long long)slice * p.runs * 2 * n);
    block_stand_out(l, l.noise, NEIGHBOURHOOD, LIMIT, ROUGHER, true, l.bad);
    block_confirm_rough(l);
    block_replace(l);
    block_structure(l);
    block_offsets(l);
}

// Offsets that make the means smooth: see regularised.rs.
extern "C" __global__ void __launch_bounds__(LIST_THREADS) stripes_regularise(const __grid_constant__ Lists p) {
    const int slice = blockIdx.x, n = p.bins;
    const Lists l = of_slice(p, slice);
    block_statistics(l, p.sums + (long long)slice * p.runs * 2 * n);
    for (int k = threadIdx.x; k < n; k += blockDim.x) l.from[k] = {k, k};
    if (threadIdx.x > 0) return;
    double *upper = l.value, here = 0, last = 0;
    for (int k = 0; k < n; k++) {
        double diagonal = p.alpha, right = 0;
        if (k + 1 < n) diagonal += 1, right += l.mean[k] - l.mean[k + 1];
        if (k > 0) diagonal += 1 + last, right += l.mean[k] - l.mean[k - 1] + here;
        last = upper[k] = -1 / diagonal;
        here = l.offset[k] = right / diagonal;
    }
    for (int k = n - 1; k > 0; k--) here = l.offset[k - 1] -= upper[k - 1] * here;
}

// Sums of differences from the median around, a part of the scan each: runs are parts here.
extern "C" __global__ void __launch_bounds__(TILE) stripes_drifts(const __grid_constant__ Lists p) {
    __shared__ float row[TILE + 2 * REACH];
    const int slice = blockIdx.z, first = blockIdx.x * TILE, bin = first + threadIdx.x;
    const Lists l = of_slice(p, slice);
    for (int part = blockIdx.y; part < p.runs; part += gridDim.y) {
        float sum = 0;
        const int end = first_view(part + 1, p.runs, p.views);
        for (int v = first_view(part, p.runs, p.views); v < end; v++) {
            const float *view = l.sinograms + (long long)v * p.bins;
            for (int i = threadIdx.x; i < TILE + 2 * REACH; i += TILE)
                row[i] = corrected(l, view, mirrored(first - REACH + i, p.bins));
            __syncthreads();
            sum += row[threadIdx.x + REACH] - median_of_nine(row + threadIdx.x);
            __syncthreads();
        }
        if (bin < p.bins) p.sums[((long long)slice * p.runs + part) * p.bins + bin] = sum;
    }
}

// Columns that drift, and offsets of the others.
extern "C" __global__ void __launch_bounds__(LIST_THREADS) stripes_again(const __grid_constant__ Lists p) {
    const int slice = blockIdx.x, n = p.bins;
    const Lists l = of_slice(p, slice);
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        const double *sums = p.sums + (long long)slice * p.runs * n + k;
        double total = 0, sum = 0, low = 0, high = 0;
        for (int part = 0; part < p.runs; part++) total += sums[(long long)part * n];
        const double mean = total / p.views;
        for (int part = 0; part < p.runs; part++) {
            const int count = first_view(part + 1, p.runs, p.views) - first_view(part, p.runs, p.views);
            sum += sums[(long long)part * n] - mean * count;
            low = fmin(low, sum), high = fmax(high, sum);
        }
        l.value[k] = high - low;
    }
    __syncthreads();
    block_stand_out(l, l.value, NEIGHBOURHOOD, LIMIT, DRIFTS, false, l.found);
    // What the smallest offset makes in half of the views.
    const double least = FLOOR * block_largest_mean(l) * p.views / 4;
    for (int k = threadIdx.x; k < n; k += blockDim.x) l.found[k] &= l.value[k] > least;
    __syncthreads();
    // Crowds are structure.
    int any = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        int crowd = 0;
        for (int i = max(k - CROWD, 0); i <= min(k + CROWD, n - 1); i++) crowd += l.found[i] && l.value[i] >= ALIKE * l.value[k];
        const bool alone = l.found[k] && crowd <= DRIFTING;
        any |= alone, l.bad[k] |= alone;
    }
    if (!__syncthreads_or(any)) return;
    block_replace(l);
    block_structure(l);
    block_offsets(l);
}

// Bad columns, by the good ones as they are; those are corrected next.
extern "C" __global__ void __launch_bounds__(TILE) stripes_replace(const __grid_constant__ Lists p) {
    const Lists l = of_slice(p, blockIdx.z);
    const int count = *l.count;
    for (int v = blockIdx.x * TILE + threadIdx.x; v < p.views; v += gridDim.x * TILE) {
        float *view = l.sinograms + (long long)v * p.bins;
        for (int i = 0; i < count; i++) {
            const int k = l.listed[i];
            view[k] = corrected(l, view, k);
        }
    }
}

// Good columns without their offsets.
extern "C" __global__ void __launch_bounds__(TILE) stripes_subtract(const __grid_constant__ Lists p) {
    const int bin = blockIdx.x * TILE + threadIdx.x;
    if (bin >= p.bins) return;
    const Lists l = of_slice(p, blockIdx.z);
    const float offset = (float)l.offset[bin];
    // Sums of values next to the largest that there are may not be finite.
    if (offset == 0 || !finite(offset) || l.from[bin].x != bin) return;
    for (int v = blockIdx.y; v < p.views; v += gridDim.y) l.sinograms[(long long)v * p.bins + bin] -= offset;
}

// Views in another order: a thread moves its bin of all views, in place.
extern "C" __global__ void __launch_bounds__(TILE) stripes_move_views(const __grid_constant__ Moves p) {
    const int bin = blockIdx.x * TILE + threadIdx.x;
    if (bin >= p.bins) return;
    float *column = p.sinograms + (long long)blockIdx.z * p.views * p.bins + bin, held = 0;
    for (int i = 0; i < p.count; i++) {
        const uint2 move = p.moves[i];
        const float value = move.y == HELD ? held : column[(long long)move.y * p.bins];
        if (move.x == HELD)
            held = value;
        else
            column[(long long)move.x * p.bins] = value;
    }
}
