// Numbers points by tile and cell, for sorting, packs them in the order found, and lists the parts that blocks take.
#include "points.cuh"

// Mirrors `LocateArguments` in crates/nufft/src/gpu/sort.rs.
template <typename Real> struct Locate {
    // Cycles per voxel, -0.5 to 0.5; the stride is in elements.
    const double *coordinates[3];
    long long stride;
    int count, dims, width;
    int size[3], tile[3], tile_count[3];
    // Starts that share a cell, and cells of a tile (1: points are sorted by tile alone), an axis.
    int cell, cells[3];
    unsigned *keys, *order;
    // All bits of the lowest index of a point that is out of range flipped; 0 if there is none.
    unsigned *bad;
    Point<Real> *points;
};
static_assert(sizeof(Locate<float>) == 128 && sizeof(Locate<double>) == 128);

// Mirrors `PartsArguments`.
struct Parts {
    const unsigned *keys;
    // Of each tile, and one more: first point; number of parts, then first part.
    int *first_point, *first_part;
    Part *parts;
    int count, tiles, cells, limit;
    int tile[3], tile_count[2];
};
static_assert(sizeof(Parts) == 72);

constexpr int THREADS = 256;

// Start of a point along an axis, on the grid, and its place relative to the point.
template <typename Real> __device__ inline int locate(double k, int size, int width, Real &u) {
    // k * size as the sum of two numbers, so that nothing is lost. The product is rounded here in every kernel: fused with the
    // difference below, a start on a grid point would be one in the keys and another in the points.
    double high = __dmul_rn(k, size), low = fma(k, (double)size, -high), half = 0.5 * width;
    double start = ceil(high - half);
    u = (Real)(2 * ((half - (high - start)) - low) - 1);
    int s = (int)start;
    while (s < 0) s += size;
    return s < size ? s : s - size;
}

__device__ inline bool inside(double k) { return k >= -0.5 && k <= 0.5; }

template <typename Real> __device__ inline void keys(const Locate<Real> &p) {
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.count) return;
    unsigned tile = 0, cells[3] = {};
    bool good = true;
    for (int a = p.dims - 1; a >= 0; a--) {
        double k = p.coordinates[a][i * p.stride];
        Real u;
        good = good && inside(k);
        int start = good ? locate(k, p.size[a], p.width, u) : 0, t = start / p.tile[a];
        tile = tile * p.tile_count[a] + t;
        if (p.cells[a] > 1) cells[a] = (start - t * p.tile[a]) / p.cell;
    }
    if (!good) atomicMax(p.bad, ~i);
    // Cells in order of y, x, z: of two in a column most planes are the same.
    p.keys[i] = ((tile * p.cells[1] + cells[1]) * p.cells[0] + cells[0]) * p.cells[2] + cells[2];
    p.order[i] = i;
}

template <typename Real> __device__ inline void points(const Locate<Real> &p) {
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.count) return;
    unsigned from = p.order[i];
    Point<Real> point = {};
    for (int a = 0; a < p.dims; a++) {
        int start = locate(p.coordinates[a][from * p.stride], p.size[a], p.width, point.u[a]) % p.tile[a];
        int home = start / p.cell * p.cell;
        point.at |= (start - home) << 5 * a | home << (15 + 5 * a);
    }
    p.points[i] = point;
}

// How many of the keys are below a limit.
__device__ inline int below(const unsigned *keys, int count, unsigned long long limit) {
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (keys[middle] < limit) low = middle + 1;
        else high = middle;
    }
    return low;
}

extern "C" __global__ void __launch_bounds__(THREADS) count_parts(const __grid_constant__ Parts p) {
    int t = blockIdx.x * THREADS + threadIdx.x;
    if (t > p.tiles) return;
    int begin = below(p.keys, p.count, (unsigned long long)t * p.cells);
    int end = t < p.tiles ? below(p.keys, p.count, (unsigned long long)(t + 1) * p.cells) : begin;
    p.first_point[t] = begin;
    p.first_part[t] = (int)(((long long)end - begin + p.limit - 1) / p.limit);
}

extern "C" __global__ void __launch_bounds__(THREADS) list_parts(const __grid_constant__ Parts p) {
    int t = blockIdx.x * THREADS + threadIdx.x;
    if (t >= p.tiles) return;
    int begin = p.first_point[t], end = p.first_point[t + 1], part = p.first_part[t], parts = p.first_part[t + 1] - part;
    int x = t % p.tile_count[0], y = t / p.tile_count[0] % p.tile_count[1], z = t / p.tile_count[0] / p.tile_count[1];
    // Equal shares.
    for (int i = 0; i < parts; i++) {
        int from = begin + (int)((long long)(end - begin) * i / parts);
        int to = begin + (int)((long long)(end - begin) * (i + 1) / parts);
        p.parts[part + i] = {from, to, {x * p.tile[0], y * p.tile[1], z * p.tile[2]}};
    }
}

#define LOCATE(REAL, NAME)                                                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS) keys_##NAME(const __grid_constant__ Locate<REAL> p) {                \
        keys<REAL>(p);                                                                                                         \
    }                                                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS) points_##NAME(const __grid_constant__ Locate<REAL> p) {              \
        points<REAL>(p);                                                                                                       \
    }
LOCATE(float, f32)
LOCATE(double, f64)
