// Sorts places by cell, along a space-filling curve, so that neighbours in the list are neighbours in space: a stable radix sort
// of their indices, 8 bits of the cell's number at a time. A warp takes a tile of places.
#include <cuda_runtime.h>

// Mirrors `OrderArguments` in src/mri/gpu/direct_order.rs.
struct DirectOrder {
    const int4 *places;
    // The order so far, NULL for that of the list; and the next.
    const unsigned *from;
    unsigned *to;
    // [DIGITS][tiles]: places of a tile with a digit, then where the first of them goes.
    unsigned *counts;
    long long count;
    int tiles;
    // Of the lowest bit of the digit.
    int shift;
};
static_assert(sizeof(DirectOrder) == 48);

namespace {

constexpr int TILE = 1024, DIGITS = 256, WARPS = 4, SCAN = 1024;

// Bits 0, 3, 6... of a number of up to 5 bits.
__device__ inline unsigned spread(unsigned v) {
    return (v & 1) | (v & 2) << 2 | (v & 4) << 4 | (v & 8) << 6 | (v & 16) << 8;
}

// Coordinates fill 32 bits; a cell is a 32nd of that, along each axis.
__device__ inline unsigned digit(const DirectOrder &p, unsigned index) {
    int4 v = p.places[index];
    unsigned x = (unsigned)(v.x >> 27) + 16, y = (unsigned)(v.y >> 27) + 16, z = (unsigned)(v.z >> 27) + 16;
    return (spread(x) | spread(y) << 1 | spread(z) << 2) >> p.shift & (DIGITS - 1);
}

// Goes through a warp's tile; `take(position, lane's lanes of the same digit)` is called by whole warps.
template <typename F> __device__ inline void each(const DirectOrder &p, int tile, int lane, F take) {
    for (int step = 0; step < TILE; step += 32) {
        long long at = tile * (long long)TILE + step + lane;
        bool inside = at < p.count;
        unsigned index = 0, d = DIGITS;
        if (inside) {
            index = p.from ? p.from[at] : (unsigned)at;
            d = digit(p, index);
        }
        take(index, d, __match_any_sync(~0u, d));
        __syncwarp();
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32 * WARPS) direct_order_count(const __grid_constant__ DirectOrder p) {
    __shared__ unsigned counters[WARPS][DIGITS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, tile = blockIdx.x * WARPS + warp;
    if (tile >= p.tiles) return;
    unsigned *counter = counters[warp];
    for (int d = lane; d < DIGITS; d += 32) counter[d] = 0;
    __syncwarp();
    each(p, tile, lane, [&](unsigned, unsigned d, unsigned same) {
        if (d < DIGITS && __ffs(same) - 1 == lane) counter[d] += __popc(same);
    });
    for (int d = lane; d < DIGITS; d += 32) p.counts[d * (long long)p.tiles + tile] = counter[d];
}

// One block: counts become sums of all counts before them.
extern "C" __global__ void __launch_bounds__(SCAN) direct_order_scan(const __grid_constant__ DirectOrder p) {
    __shared__ unsigned warps[SCAN / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned before = 0;
    long long length = DIGITS * (long long)p.tiles;
    for (long long start = 0; start < length; start += SCAN) {
        long long at = start + threadIdx.x;
        unsigned own = at < length ? p.counts[at] : 0, sum = own;
        for (int step = 1; step < 32; step *= 2) {
            unsigned other = __shfl_up_sync(~0u, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) warps[warp] = sum;
        __syncthreads();
        unsigned lower = 0, all = 0;
        for (int w = 0; w < SCAN / 32; w++) {
            if (w < warp) lower += warps[w];
            all += warps[w];
        }
        if (at < length) p.counts[at] = before + lower + sum - own;
        before += all;
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) direct_order_move(const __grid_constant__ DirectOrder p) {
    __shared__ unsigned counters[WARPS][DIGITS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, tile = blockIdx.x * WARPS + warp;
    if (tile >= p.tiles) return;
    unsigned *counter = counters[warp];
    for (int d = lane; d < DIGITS; d += 32) counter[d] = p.counts[d * (long long)p.tiles + tile];
    __syncwarp();
    each(p, tile, lane, [&](unsigned index, unsigned d, unsigned same) {
        if (d < DIGITS) p.to[counter[d] + __popc(same & ((1u << lane) - 1))] = index;
        __syncwarp();
        if (d < DIGITS && __ffs(same) - 1 == lane) counter[d] += __popc(same);
    });
}
