// Total variation's steps on images slice after slice: differences to the next pixel of a row and of a column, and to the next slice, 0 at
// the last.
#include "iterative.cuh"

// No longer than the weight.
__device__ inline float3 limited(float x, float y, float z, float weight) {
    // The length in units of the weight: squares of large numbers leave f32.
    float inverse = 1 / weight, u = x * inverse, v = y * inverse, w = z * inverse, length = sqrtf(u * u + v * v + w * w);
    float factor = length > 1 ? 1 / length : 1;
    return {factor * x, factor * y, factor * z};
}

// Mirrors `PrimalStep` in crates/ct/src/gpu/iterative/variation.rs: see `Space::primal`.
struct Primal {
    float *x, *gradient, *ahead;
    // Along z, or null.
    const float *fx, *fy, *fz;
    // What the images are added to, or null.
    const float *base, *mask;
    const double *steps, *relaxed;
    // Differences to the next slice count so much.
    float lower, upper, scale;
    int nx, ny;
};
static_assert(sizeof(Primal) == 104);

extern "C" __global__ void __launch_bounds__(THREADS) ct_variation_primal(const __grid_constant__ Primal p) {
    long long slice = blockIdx.y, pixels = (long long)p.nx * p.ny, first = slice * pixels;
    float step = (float)p.steps[slice], relaxed = (float)p.relaxed[slice];
    each(pixels, [&](long long i) {
        int column = i % p.nx;
        const float *fx = p.fx + first + i, *fy = p.fy + first + i;
        float flow = fx[0] + fy[0] - (column > 0 ? fx[-1] : 0) - (i >= p.nx ? fy[-p.nx] : 0);
        if (p.fz) {
            const float *fz = p.fz + first + i;
            flow += p.scale * (fz[0] - (slice > 0 ? fz[-pixels] : 0));
        }
        float x = p.x[first + i];
        float base = p.base ? p.base[first + i] : 0;
        float next = fminf(fmaxf(x + step * (p.gradient[first + i] + flow), p.lower - base), p.upper - base);
        bool inside = !p.mask || p.mask[i] != 0;
        p.gradient[first + i] = inside ? next : 0;
        p.ahead[first + i] = inside ? 2 * next - x : 0;
        p.x[first + i] = inside ? x + relaxed * (next - x) : 0;
    });
}

// Mirrors `DualStep`: see `Space::dual`.
struct Dual {
    const float *ahead;
    // What it is added to, or null.
    const float *base;
    // Along z, or null.
    float *fx, *fy, *fz;
    const double *steps, *relaxed;
    float weight, huber, scale;
    int nx, ny;
};
static_assert(sizeof(Dual) == 80);

extern "C" __global__ void __launch_bounds__(THREADS) ct_variation_dual(const __grid_constant__ Dual p) {
    long long slice = blockIdx.y, pixels = (long long)p.nx * p.ny, first = slice * pixels;
    float step = (float)p.steps[slice], relaxed = (float)p.relaxed[slice];
    float shrink = 1 / (1 + step * p.huber / p.weight);
    each(pixels, [&](long long i) {
        int column = i % p.nx;
        bool right = column + 1 < p.nx, below = i + p.nx < pixels, after = p.fz && slice + 1 < gridDim.y;
        float dx = 0, dy = 0, dz = 0;
        // Those of the base on their own: next to a difference of it, one of what is added is not rounded away.
        auto differ = [&](const float *x) {
            x += first + i;
            dx += right ? x[1] - x[0] : 0;
            dy += below ? x[p.nx] - x[0] : 0;
            dz += after ? x[pixels] - x[0] : 0;
        };
        if (p.base) differ(p.base);
        differ(p.ahead);
        dz *= p.scale;
        float fx = p.fx[first + i], fy = p.fy[first + i], fz = p.fz ? p.fz[first + i] : 0;
        float3 f = limited((fx + step * dx) * shrink, (fy + step * dy) * shrink, (fz + step * dz) * shrink, p.weight);
        p.fx[first + i] = fx + relaxed * (f.x - fx);
        p.fy[first + i] = fy + relaxed * (f.y - fy);
        if (p.fz) p.fz[first + i] = fz + relaxed * (f.z - fz);
    });
}

// Mirrors `BoundSums`: see `space::Bound`.
struct Bound {
    const float *x;
    // What x is added to, or null.
    const float *base, *back;
    // Along z, or null.
    const float *fx, *fy, *fz, *mask, *pixels;
    // Five for each block of a slice.
    double *parts;
    double *variation, *duality, *bounds, *mass, *lowest;
    unsigned *done;
    float weight, huber, lower, upper, scale;
    int nx, ny;
};
static_assert(sizeof(Bound) == 152);

extern "C" __global__ void __launch_bounds__(THREADS) ct_variation_bound(const __grid_constant__ Bound p) {
    long long slice = blockIdx.y, pixels = (long long)p.nx * p.ny, first = slice * pixels;
    double sums[4] = {}, least = 0, weight = p.weight, huber = p.huber;
    each(pixels, [&](long long i) {
        int column = i % p.nx;
        const float *fx = p.fx + first + i, *fy = p.fy + first + i;
        auto whole = [&](long long by) {
            return (p.base ? (double)p.base[first + i + by] : 0) + p.x[first + i + by];
        };
        double x = whole(0), dx = column + 1 < p.nx ? whole(1) - x : 0, dy = i + p.nx < pixels ? whole(p.nx) - x : 0;
        const float *fz = p.fz ? p.fz + first + i : nullptr;
        double dz = fz && slice + 1 < gridDim.y ? (double)p.scale * (whole(pixels) - x) : 0;
        auto field = [&](long long by) { return limited(fx[by], fy[by], fz ? fz[by] : 0, p.weight); };
        float3 f = field(0);
        double length = sqrt(dx * dx + dy * dy + dz * dz);
        double variation = weight * (length < huber ? length * length / (2 * huber) : length - 0.5 * huber);
        sums[0] += variation;
        double square = (double)f.x * f.x + (double)f.y * f.y + (double)f.z * f.z;
        sums[1] += variation + 0.5 * huber / weight * square - dx * f.x - dy * f.y - dz * f.z;
        if (p.mask && p.mask[i] == 0) return;
        double left = column > 0 ? field(-1).x : 0;
        double up = i >= p.nx ? field(-p.nx).y : 0;
        double before = fz && slice > 0 ? field(-pixels).z : 0;
        double v = left - f.x + up - f.y + p.scale * (before - f.z) - p.back[first + i], over = x - p.lower;
        sums[2] += isinf(p.upper) ? v * over : fmax(v * over, v * (x - p.upper));
        double inverse = p.pixels[i];
        if (inverse > 0) {
            sums[3] += over / inverse;
            least = fmin(least, v * inverse);
        } else if (v < 0) {
            // No ray sees it: nothing that moves rays helps.
            least = -INFINITY;
        }
    });
    double *parts = p.parts + 5 * ((long long)blockIdx.y * gridDim.x + blockIdx.x);
    for (int k = 0; k < 4; k++) sums[k] = block_sum(sums[k]);
    least = block_least(least);
    if (threadIdx.x == 0) {
        for (int k = 0; k < 4; k++) parts[k] = sums[k];
        parts[4] = least;
    }
    if (!comes_last(p.done)) return;
    double total[4] = {};
    least = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) {
        const double *part = p.parts + 5 * ((long long)blockIdx.y * gridDim.x + b);
        for (int k = 0; k < 4; k++) total[k] += __ldcg(part + k);
        least = fmin(least, __ldcg(part + 4));
    }
    for (int k = 0; k < 4; k++) total[k] = block_sum(total[k]);
    least = block_least(least);
    if (threadIdx.x) return;
    p.variation[slice] += total[0];
    p.duality[slice] += total[1];
    p.bounds[slice] += total[2];
    p.mass[slice] += total[3];
    p.lowest[slice] = fmin(p.lowest[slice], least);
}

// Mirrors `PolishStep` in crates/ct/src/gpu/iterative/variation.rs: see `Space::polish`.
struct Polish {
    const float *back, *mask;
    float *fx, *fy;
    float weight, step;
    int nx, ny, parity, sweeps;
};
static_assert(sizeof(Polish) == 56);

extern "C" __global__ void __launch_bounds__(THREADS) ct_variation_limit(const __grid_constant__ Polish p) {
    long long pixels = (long long)p.nx * p.ny, first = blockIdx.y * pixels;
    each(pixels, [&](long long i) {
        float3 f = limited(p.fx[first + i], p.fy[first + i], 0, p.weight);
        p.fx[first + i] = f.x, p.fy[first + i] = f.y;
    });
}

constexpr int TILE = 32, COLOURS = 3;

// A tile of a parity, whose neighbours stay: its fields with those around it, and `back` with what is below and to the right, in shared memory.
extern "C" __global__ void __launch_bounds__(THREADS) ct_variation_polish(const __grid_constant__ Polish p) {
    __shared__ float fx[TILE + 2][TILE + 2], fy[TILE + 2][TILE + 2], back[TILE + 1][TILE + 1];
    int across = ((p.nx + TILE - 1) / TILE + 1 - p.parity % 2) / 2;
    int y = (2 * (blockIdx.x / across) + p.parity / 2) * TILE, x = (2 * (blockIdx.x % across) + p.parity % 2) * TILE;
    long long first = blockIdx.y * (long long)p.nx * p.ny;
    for (int k = threadIdx.x; k < (TILE + 2) * (TILE + 2); k += THREADS) {
        int i = k / (TILE + 2), j = k % (TILE + 2), row = y + i - 1, column = x + j - 1;
        bool is_there = row >= 0 && row < p.ny && column >= 0 && column < p.nx;
        long long at = (long long)row * p.nx + column;
        fx[i][j] = is_there ? p.fx[first + at] : 0;
        fy[i][j] = is_there ? p.fy[first + at] : 0;
        // Never below 0 outside.
        if (i && j) back[i - 1][j - 1] = is_there && !(p.mask && p.mask[at] == 0) ? p.back[first + at] : -INFINITY;
    }
    __syncthreads();
    auto below = [&](int i, int j) { return fminf(fx[i][j - 1] - fx[i][j] + (fy[i - 1][j] - fy[i][j]) - back[i - 1][j - 1], 0); };
    int rows = min(TILE, p.ny - y), columns = min(TILE, p.nx - x);
    for (int turn = 0; turn < COLOURS * p.sweeps; turn++) {
        for (int k = threadIdx.x; k < TILE * ((TILE + COLOURS - 1) / COLOURS); k += THREADS) {
            int i = k % TILE, j = k / TILE * COLOURS + (COLOURS + turn % COLOURS - (x + 2 * (y + i)) % COLOURS) % COLOURS;
            if (i >= rows || j >= columns) continue;
            float here = below(i + 1, j + 1);
            float right = x + j + 1 < p.nx ? below(i + 1, j + 2) : here, down = y + i + 1 < p.ny ? below(i + 2, j + 1) : here;
            float3 f = limited(fx[i + 1][j + 1] - p.step * (right - here), fy[i + 1][j + 1] - p.step * (down - here), 0, p.weight);
            fx[i + 1][j + 1] = f.x, fy[i + 1][j + 1] = f.y;
        }
        __syncthreads();
    }
    for (int k = threadIdx.x; k < TILE * TILE; k += THREADS) {
        int i = k / TILE, j = k % TILE;
        if (i >= rows || j >= columns) continue;
        long long at = first + (long long)(y + i) * p.nx + x + j;
        p.fx[at] = fx[i + 1][j + 1], p.fy[at] = fy[i + 1][j + 1];
    }
}

// Mirrors `Moved`: the square of how far a part of a vector has come, which is then the part that the next call sees.
struct Moved {
    const float *now;
    float *before;
    double *parts, *sums;
    unsigned *done;
    // Of slices in `now`; elements of a slice in `before`, each of which stands for `every` of `now`.
    long long stride, count;
    int every;
};
static_assert(sizeof(Moved) == 64);

extern "C" __global__ void __launch_bounds__(THREADS) ct_variation_moved(const __grid_constant__ Moved p) {
    long long slice = blockIdx.y;
    double sum = 0;
    each(p.count, [&](long long i) {
        float now = p.now[slice * p.stride + i * p.every], before = p.before[slice * p.count + i];
        sum += (double)(now - before) * (now - before);
        p.before[slice * p.count + i] = now;
    });
    add_up(p.parts, p.sums, p.done, 1, sum);
}
