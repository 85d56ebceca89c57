// Sorts 32-bit keys and the values that go with them, 8 bits of the keys a pass. Stable, so the order is always the same: a pass
// is `radix_count`, sums of its counts (scan.cu), and `radix_scatter`.
#include <cuda_runtime.h>

// Mirrors `Arguments` in crates/base/src/gpu/radix_sort.rs.
struct Radix {
    const unsigned *keys, *values;
    unsigned *keys_out, *values_out;
    // [digit][block]: how many keys of a block have this digit; then, how many come before them.
    unsigned *counts;
    int count, shift;
};
static_assert(sizeof(Radix) == 48);

// Keys of a block, a warp's one after the other; as in crates/base/src/gpu/radix_sort.rs.
constexpr int THREADS = 256, ITEMS = 16, WARPS = THREADS / 32, KEYS = THREADS * ITEMS, DIGITS = 256;

extern "C" __global__ void __launch_bounds__(THREADS) radix_count(const __grid_constant__ Radix p) {
    __shared__ unsigned counts[DIGITS];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) {
        long long at = blockIdx.x * (long long)KEYS + i * THREADS + threadIdx.x;
        if (at < p.count) atomicAdd(&counts[p.keys[at] >> p.shift & DIGITS - 1], 1);
    }
    __syncthreads();
    p.counts[threadIdx.x * (long long)gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(THREADS) radix_scatter(const __grid_constant__ Radix p) {
    // How many keys with a digit a warp has met; then, where its first one goes.
    __shared__ unsigned counts[WARPS][DIGITS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int w = 0; w < WARPS; w++) counts[w][threadIdx.x] = 0;
    __syncthreads();
    unsigned key[ITEMS], rank[ITEMS];
    const long long first = blockIdx.x * (long long)KEYS + warp * (ITEMS * 32) + lane;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        long long at = first + i * 32;
        bool valid = at < p.count;
        key[i] = valid ? p.keys[at] : 0;
        unsigned digit = valid ? key[i] >> p.shift & DIGITS - 1 : DIGITS;
        unsigned same = __match_any_sync(~0u, digit);
        unsigned before = valid ? counts[warp][digit] : 0;
        rank[i] = before + __popc(same & (1u << lane) - 1);
        __syncwarp();
        if (valid && same >> lane == 1) counts[warp][digit] = before + __popc(same);
        __syncwarp();
    }
    __syncthreads();
    unsigned to = p.counts[threadIdx.x * (long long)gridDim.x + blockIdx.x];
    for (int w = 0; w < WARPS; w++) {
        unsigned n = counts[w][threadIdx.x];
        counts[w][threadIdx.x] = to;
        to += n;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        long long at = first + i * 32;
        if (at >= p.count) break;
        unsigned place = counts[warp][key[i] >> p.shift & DIGITS - 1] + rank[i];
        p.keys_out[place] = key[i];
        p.values_out[place] = p.values[at];
    }
}
