// Sums of all elements before each, in place.
#include <cuda_runtime.h>

// Mirrors `Arguments` in crates/base/src/gpu/scan.rs: in place, each element becomes the sum of those before it.
struct Scan {
    unsigned *data, *sums;
    long long count;
};
static_assert(sizeof(Scan) == 24);

// Elements of a block, as in crates/base/src/gpu/scan.rs.
constexpr int THREADS = 256, ITEMS = 16, WARPS = THREADS / 32, ELEMENTS = THREADS * ITEMS;

// The sum of a block's values up to this thread's.
__device__ inline unsigned running_sum(unsigned v, unsigned &total) {
    __shared__ unsigned of_warp[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int apart = 1; apart < 32; apart *= 2) {
        unsigned other = __shfl_up_sync(~0u, v, apart);
        if (lane >= apart) v += other;
    }
    __syncthreads();
    if (lane == 31) of_warp[warp] = v;
    __syncthreads();
    total = 0;
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) v += of_warp[w];
        total += of_warp[w];
    }
    return v;
}

// A block scans ELEMENTS elements, ITEMS a thread; `scan_sums` leaves their sum, `scan_top` (one block) scans the sums, and
// `scan_apply` finishes.
extern "C" __global__ void __launch_bounds__(THREADS) scan_sums(const __grid_constant__ Scan p) {
    unsigned sum = 0, total;
    for (int i = 0; i < ITEMS; i++) {
        long long at = blockIdx.x * (long long)ELEMENTS + i * THREADS + threadIdx.x;
        if (at < p.count) sum += p.data[at];
    }
    running_sum(sum, total);
    if (threadIdx.x == 0) p.sums[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS) scan_top(const __grid_constant__ Scan p) {
    unsigned carried = 0;
    const long long blocks = (p.count + ELEMENTS - 1) / ELEMENTS;
    for (long long start = 0; start < blocks; start += THREADS) {
        long long at = start + threadIdx.x;
        unsigned v = at < blocks ? p.sums[at] : 0, total;
        unsigned sum = running_sum(v, total);
        if (at < blocks) p.sums[at] = carried + sum - v;
        carried += total;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) scan_apply(const __grid_constant__ Scan p) {
    const long long first = blockIdx.x * (long long)ELEMENTS + threadIdx.x * ITEMS;
    unsigned v[ITEMS], sum = 0, total;
    for (int i = 0; i < ITEMS; i++) sum += v[i] = first + i < p.count ? p.data[first + i] : 0;
    unsigned before = p.sums[blockIdx.x] + running_sum(sum, total) - sum;
    for (int i = 0; i < ITEMS; i++) {
        if (first + i < p.count) p.data[first + i] = before;
        before += v[i];
    }
}
