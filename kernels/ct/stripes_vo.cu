// All of Vo, Atwood and Drakopoulos 2018, as crates/ct/src/rows/stripes/vo.rs and sorting.rs have it.
#include "stripes.cuh"
#include <cub/block/block_radix_sort.cuh>

using namespace stripes;

// Mirrors `Arguments` in crates/ct/src/gpu/stripes_vo.rs.
struct Vo {
    Lists lists;
    // [slice][bin][rank], `pitch` ranks: values in rising order, the views that they are of, and medians over bins.
    float *sorted;
    unsigned *view;
    float *medians;
    // Windows of medians where shared memory is too small: [slice][place][rank].
    float *windows;
    // Keys of sorts that are too long for a block: [slice][bin][padded views].
    unsigned long long *keys;
    double snr;
    int pitch, padded_views;
    // Bins of the window at hand, and whether it is in shared memory.
    int window, shared;
    // Ranks at either end that do not count.
    int dropped;
    // Bins that are put back together.
    int group;
};
static_assert(sizeof(Vo) == 256);

namespace {

// As in vo.rs.
constexpr int SMOOTHED = 10, ENDS = 2, RUN = 64, TILE = 256;
constexpr double FACTOR_LOW = 1e-2, FACTOR_HIGH = 1e2;

__device__ inline unsigned ordered(float v) {
    unsigned bits = __float_as_uint(v);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

__device__ inline float of_ordered(unsigned key) { return __uint_as_float(key >> 31 ? key & ~(1u << 31) : ~key); }

// Marks what stands out of sorted values, and the bins next to it: `detect` in vo.rs.
__device__ void block_detect(const Lists &l, double snr) {
    const int n = l.bins;
    for (int k = threadIdx.x; k < l.padded; k += blockDim.x) l.sorted[k] = k < n ? l.value[k] : INFINITY;
    for (int k = threadIdx.x; k < n; k += blockDim.x) l.bad[k] = 0;
    __syncthreads();
    block_sort(l.sorted, l.padded);
    const int first = n / 4, count = n - first - 1 - first;
    if (count < 2) return;
    const double centre = first + (count - 1) / 2.0;
    double sum = 0, up = 0, across = 0;
    for (int k = threadIdx.x; k < count; k += blockDim.x) sum += l.sorted[first + k];
    const double mean = block_sum(sum) / count;
    for (int k = threadIdx.x; k < count; k += blockDim.x) {
        const double x = first + k - centre;
        up += x * (l.sorted[first + k] - mean), across += x * x;
    }
    up = block_sum(up), across = block_sum(across);
    const double slope = up / across;
    const double low = mean - slope * centre, high = mean + slope * (n - 1 - centre), noise = high - low;
    if (noise < 1e-5) return;
    const double far = 0.5 * snr * noise;
    const bool above = fabs(l.sorted[n - 1] - high) / noise >= snr, below = fabs(low - l.sorted[0]) / noise >= snr;
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        const double v = l.value[k];
        if (above && v > high + far || below && v <= low - far)
            for (int i = max(k - 1, 0); i <= min(k + 1, n - 1); i++) l.bad[i] = 1;
    }
    __syncthreads();
}

} // namespace

// Sums of how far values are from the mean over views around theirs, a run of views each.
extern "C" __global__ void __launch_bounds__(TILE) vo_fluctuation(const __grid_constant__ Vo p) {
    const int bin = blockIdx.x * TILE + threadIdx.x, slice = blockIdx.z;
    if (bin >= p.lists.bins) return;
    const Lists l = of_slice(p.lists, slice);
    const float *column = l.sinograms + bin;
    auto at = [&](int v) { return (double)column[(long long)mirrored(v, l.views) * l.bins]; };
    for (int run = blockIdx.y; run < l.runs; run += gridDim.y) {
        const int first = run * RUN, end = min(first + RUN, l.views), before = SMOOTHED / 2;
        double running = 0, sum = 0;
        for (int v = first - before; v < first - before + SMOOTHED; v++) running += at(v);
        for (int v = first; v < end; v++) {
            sum += fabs(at(v) - running / SMOOTHED);
            running += at(v - before + SMOOTHED) - at(v - before);
        }
        l.sums[((long long)slice * l.runs + run) * l.bins + bin] = sum;
    }
}

// Dead and fluctuating columns, and what replaces them.
extern "C" __global__ void __launch_bounds__(LIST_THREADS) vo_dead(const __grid_constant__ Vo p) {
    const int slice = blockIdx.x, n = p.lists.bins;
    const Lists l = of_slice(p.lists, slice);
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        double sum = 0;
        for (int run = 0; run < l.runs; run++) sum += l.sums[((long long)slice * l.runs + run) * n + k];
        l.value[k] = sum, l.bad[k] = 0, l.offset[k] = 0;
    }
    __syncthreads();
    block_medians(l.value, n, p.window, l.local);
    double sum = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) sum += l.local[k];
    const double mean = block_sum(sum) / n;
    if (mean != 0) {
        for (int k = threadIdx.x; k < n; k += blockDim.x) l.value[k] /= l.local[k] == 0 ? mean : l.local[k];
        __syncthreads();
        block_detect(l, p.snr);
        for (int k = threadIdx.x; k < min(ENDS, n); k += blockDim.x) l.bad[k] = l.bad[n - 1 - k] = 0;
        __syncthreads();
    }
    block_replacements(l);
}

// A column in rising order, with the views that its values are of; equal values in the order of views.
template <int THREADS, int ITEMS> __device__ inline void sort_column(const Vo &p) {
    using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS, unsigned>;
    static_assert(sizeof(typename Sort::TempStorage) <= 5 * THREADS * ITEMS + 36 * THREADS + 1024, "as the host counts");
    extern __shared__ __align__(16) unsigned char shared[];
    const int bin = blockIdx.x, slice = blockIdx.y, views = p.lists.views;
    const float *column = p.lists.sinograms + (long long)slice * views * p.lists.bins + bin;
    unsigned keys[ITEMS], view[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        view[i] = threadIdx.x * ITEMS + i;
        keys[i] = view[i] < views ? ordered(column[(long long)view[i] * p.lists.bins]) : ~0u;
    }
    Sort(*reinterpret_cast<typename Sort::TempStorage *>(shared)).SortBlockedToStriped(keys, view);
    const long long to = ((long long)slice * p.lists.bins + bin) * p.pitch;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int rank = i * THREADS + threadIdx.x;
        if (rank < views) p.sorted[to + rank] = of_ordered(keys[i]), p.view[to + rank] = view[i];
    }
}

#define SORT(THREADS, ITEMS, NAME) \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME(const __grid_constant__ Vo p) { sort_column<THREADS, ITEMS>(p); }
SORT(64, 4, vo_sort_256)
SORT(64, 8, vo_sort_512)
SORT(128, 8, vo_sort_1024)
SORT(256, 8, vo_sort_2048)
SORT(512, 8, vo_sort_4096)
SORT(512, 16, vo_sort_8192)
SORT(1024, 16, vo_sort_16384)

// Longer columns, through global memory.
extern "C" __global__ void __launch_bounds__(1024) vo_sort_long(const __grid_constant__ Vo p) {
    const int bin = blockIdx.x, slice = blockIdx.y, views = p.lists.views, n = p.padded_views;
    const long long column = (long long)slice * p.lists.bins + bin;
    unsigned long long *keys = p.keys + column * n;
    const float *values = p.lists.sinograms + (long long)slice * views * p.lists.bins + bin;
    for (int v = threadIdx.x; v < n; v += blockDim.x)
        keys[v] = v < views ? (unsigned long long)ordered(values[(long long)v * p.lists.bins]) << 32 | v : ~0ull;
    __syncthreads();
    for (int size = 2; size <= n; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
                const int i = 2 * t - (t & step - 1), j = i + step;
                const unsigned long long a = keys[i], b = keys[j];
                if (a > b == !(i & size)) keys[i] = b, keys[j] = a;
            }
            __syncthreads();
        }
    }
    for (int rank = threadIdx.x; rank < views; rank += blockDim.x) {
        p.sorted[column * p.pitch + rank] = of_ordered((unsigned)(keys[rank] >> 32));
        p.view[column * p.pitch + rank] = (unsigned)keys[rank];
    }
}

// Medians over a window of bins at each rank: a thread keeps the window of its rank in order.
extern "C" __global__ void vo_medians(const __grid_constant__ Vo p) {
    extern __shared__ float windows[];
    const int rank = blockIdx.x * blockDim.x + threadIdx.x, slice = blockIdx.y, bins = p.lists.bins, w = p.window;
    if (rank >= p.lists.views) return;
    const long long first = (long long)slice * bins * p.pitch + rank;
    float *window = p.shared ? windows + threadIdx.x : p.windows + (long long)slice * w * p.pitch + rank;
    const int step = p.shared ? blockDim.x : p.pitch;
    auto at = [&](int bin) { return p.sorted[first + (long long)mirrored(bin, bins) * p.pitch]; };
    // Replaces a value in the window by another.
    auto replace = [&](float leaving, float entering) {
        float below = -INFINITY, next = window[0];
        for (int i = 0; i < w; i++) {
            const float here = next;
            next = i + 1 < w ? window[(i + 1) * step] : INFINITY;
            const float without = here < leaving ? here : next;
            window[i * step] = fminf(fmaxf(below, entering), without);
            below = without;
        }
    };
    for (int i = 0; i < w; i++) window[i * step] = INFINITY;
    for (int i = 0; i < w; i++) replace(INFINITY, at(i - w / 2));
    for (int bin = 0; bin < bins; bin++) {
        p.medians[first + (long long)bin * p.pitch] = window[w / 2 * step];
        if (bin + 1 < bins) replace(at(bin - w / 2), at(bin - w / 2 + w));
    }
}

// The same with a window in registers: nothing in a step depends on the place before it but for one comparison.
template <int W> __device__ inline void medians_in_registers(const Vo &p) {
    const int rank = blockIdx.x * blockDim.x + threadIdx.x, slice = blockIdx.y, bins = p.lists.bins;
    if (rank >= p.lists.views) return;
    const long long first = (long long)slice * bins * p.pitch + rank;
    auto at = [&](int bin) { return p.sorted[first + (long long)mirrored(bin, bins) * p.pitch]; };
    float window[W];
    auto replace = [&](float leaving, float entering) {
        float below = -INFINITY;
#pragma unroll
        for (int i = 0; i < W; i++) {
            const float without = window[i] < leaving ? window[i] : i + 1 < W ? window[i + 1] : INFINITY;
            window[i] = fminf(fmaxf(below, entering), without);
            below = without;
        }
    };
#pragma unroll
    for (int i = 0; i < W; i++) window[i] = INFINITY;
#pragma unroll 1
    for (int i = 0; i < W; i++) replace(INFINITY, at(i - W / 2));
#pragma unroll 1
    for (int bin = 0; bin < bins; bin++) {
        p.medians[first + (long long)bin * p.pitch] = window[W / 2];
        if (bin + 1 < bins) replace(at(bin - W / 2), at(bin - W / 2 + W));
    }
}

#define MEDIANS(W) \
    extern "C" __global__ void __launch_bounds__(128) vo_medians_##W(const __grid_constant__ Vo p) { medians_in_registers<W>(p); }
MEDIANS(11)
MEDIANS(21)
MEDIANS(31)
MEDIANS(51)
MEDIANS(81)

// By what factor a column's mean is off.
extern "C" __global__ void __launch_bounds__(LIST_THREADS) vo_factors(const __grid_constant__ Vo p) {
    const int bin = blockIdx.x, slice = blockIdx.y;
    const Lists l = of_slice(p.lists, slice);
    const long long first = ((long long)slice * l.bins + bin) * p.pitch;
    double is = 0, should_be = 0;
    for (int rank = p.dropped + threadIdx.x; rank < l.views - p.dropped; rank += blockDim.x)
        is += p.sorted[first + rank], should_be += p.medians[first + rank];
    is = block_sum(is), should_be = block_sum(should_be);
    if (threadIdx.x == 0) l.value[bin] = should_be == 0 ? 1 : is / should_be;
}

// Large stripes, among the factors.
extern "C" __global__ void __launch_bounds__(LIST_THREADS) vo_large(const __grid_constant__ Vo p) {
    block_detect(of_slice(p.lists, blockIdx.x), p.snr);
}

// Large stripes become medians, others lose their factor.
extern "C" __global__ void __launch_bounds__(TILE) vo_apply(const __grid_constant__ Vo p) {
    const int bin = blockIdx.x, slice = blockIdx.y;
    const Lists l = of_slice(p.lists, slice);
    const long long first = ((long long)slice * l.bins + bin) * p.pitch;
    const double factor = l.value[bin];
    const bool scaled = factor >= FACTOR_LOW && factor < FACTOR_HIGH;
    for (int rank = threadIdx.x; rank < l.views; rank += blockDim.x) {
        if (l.bad[bin])
            p.sorted[first + rank] = p.medians[first + rank];
        else if (scaled)
            p.sorted[first + rank] = __fdiv_rn(p.sorted[first + rank], (float)factor);
    }
}

// Medians back to the views that the values of their ranks came from, some bins at a time; through shared memory if `shared`.
extern "C" __global__ void __launch_bounds__(TILE) vo_put_back(const __grid_constant__ Vo p) {
    extern __shared__ float columns[];
    const int first = blockIdx.x * p.group, slice = blockIdx.y, bins = p.lists.bins, views = p.lists.views;
    const int count = min(p.group, bins - first);
    float *sinogram = p.lists.sinograms + (long long)slice * views * bins + first;
    for (int i = 0; i < count; i++) {
        const long long from = ((long long)slice * bins + first + i) * p.pitch;
        for (int rank = threadIdx.x; rank < views; rank += TILE) {
            const unsigned v = p.view[from + rank];
            if (p.shared)
                columns[v * p.group + i] = p.medians[from + rank];
            else
                sinogram[(long long)v * bins + i] = p.medians[from + rank];
        }
    }
    if (!p.shared) return;
    __syncthreads();
    for (int k = threadIdx.x; k < views * p.group; k += TILE) {
        const int v = k / p.group, i = k % p.group;
        if (i < count) sinogram[(long long)v * bins + i] = columns[k];
    }
}
