// The phase filter between transforms (crates/ct/src/gpu/phase.rs): frames of transmissions into a grid of complex numbers, two views as real and
// imaginary part, pairs of views side by side; its product with the filter; and back to line integrals.
#include <cuda_runtime.h>

namespace {

constexpr int TILE = 32, ROWS = 8;

// Mirrors `Place` in crates/ct/src/gpu/phase.rs.
struct Place {
    // Transmissions, [row][view][bin], and line integrals, [slice][view][bin].
    const float *frames;
    float *sinograms;
    // [y][x][pair]
    float2 *grid;
    // For frequencies from 0 on, [y][x].
    const float *response;
    int views, bins, rows, slices;
    // Of the grid; pairs of views from `first` on, and how many are there.
    int ny, nx, pairs, first, used;
    // The grid's row of the first row that is there, and of the first slice.
    int above, reach;
    int linear;
    float minimum;
    int unused;
};
static_assert(sizeof(Place) == 88);

} // namespace

// Bins along threadIdx.x when frames are read, pairs when the grid is written: by way of a tile.
extern "C" __global__ void __launch_bounds__(TILE *ROWS) phase_fill(const __grid_constant__ Place p) {
    __shared__ float2 tile[TILE][TILE + 1];
    const int y = blockIdx.z, row = max(0, min(y - p.above, p.rows - 1));
    const int x0 = blockIdx.x * TILE, pair0 = blockIdx.y * TILE;
    const int x = x0 + threadIdx.x;
    // Each end of a row has half of what lies between.
    const int bin = x < p.bins ? x : x - p.bins < p.nx - 1 - x ? p.bins - 1 : 0;
    for (int k = threadIdx.y; k < TILE; k += ROWS) {
        const int view = 2 * (p.first + pair0 + k);
        float2 v = {0, 0};
        if (x < p.nx && pair0 + k < p.used) {
            const float *from = p.frames + ((long long)row * p.views + view) * p.bins + bin;
            v.x = *from;
            if (view + 1 < p.views) v.y = from[p.bins];
            if (p.linear) v = {1 - v.x, 1 - v.y};
        }
        tile[k][threadIdx.x] = v;
    }
    __syncthreads();
    const int pair = pair0 + threadIdx.x;
    for (int k = threadIdx.y; k < TILE; k += ROWS)
        if (x0 + k < p.nx && pair < p.pairs) p.grid[((long long)y * p.nx + x0 + k) * p.pairs + pair] = tile[threadIdx.x][k];
}

extern "C" __global__ void __launch_bounds__(256) phase_multiply(const __grid_constant__ Place p) {
    const long long all = (long long)p.ny * p.nx * p.pairs;
    for (long long k = blockIdx.x * 256ll + threadIdx.x; k < all; k += gridDim.x * 256ll) {
        const long long place = k / p.pairs;
        const int y = place / p.nx, x = place - (long long)y * p.nx;
        const float by = __ldg(p.response + (long long)min(y, p.ny - y) * (p.nx / 2 + 1) + min(x, p.nx - x));
        const float2 v = p.grid[k];
        p.grid[k] = {v.x * by, v.y * by};
    }
}

// The other way round, for the rows of slices.
extern "C" __global__ void __launch_bounds__(TILE *ROWS) phase_store(const __grid_constant__ Place p) {
    __shared__ float2 tile[TILE][TILE + 1];
    const int slice = blockIdx.z, y = slice + p.reach;
    const int x0 = blockIdx.x * TILE, pair0 = blockIdx.y * TILE;
    const int pair = pair0 + threadIdx.x;
    for (int k = threadIdx.y; k < TILE; k += ROWS)
        if (x0 + k < p.bins && pair < p.pairs) tile[k][threadIdx.x] = p.grid[((long long)y * p.nx + x0 + k) * p.pairs + pair];
    __syncthreads();
    const int x = x0 + threadIdx.x;
    for (int k = threadIdx.y; k < TILE; k += ROWS) {
        const int view = 2 * (p.first + pair0 + k);
        if (x >= p.bins || pair0 + k >= p.used) continue;
        float2 v = tile[threadIdx.x][k];
        if (!p.linear) v = {-logf(fmaxf(v.x, p.minimum)), -logf(fmaxf(v.y, p.minimum))};
        float *to = p.sinograms + ((long long)slice * p.views + view) * p.bins + x;
        *to = v.x;
        if (view + 1 < p.views) to[p.bins] = v.y;
    }
}
