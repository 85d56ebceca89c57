// Stripes: lists of one number a bin, which one block a slice works on, and the columns that neighbours replace.
#pragma once

namespace stripes {

constexpr int LIST_THREADS = 512;
// Median absolute deviation to standard deviation, of a normal distribution.
constexpr double NORMAL = 1.4826;

// Mirrors `Lists` in crates/ct/src/gpu/stripes.rs. All are [slice][bin], but for `count`.
struct Lists {
    // Line integrals, [slice][view][bin].
    float *sinograms;
    // Sums over views, [slice][run][..][bin].
    double *sums;
    // Numbers that tests work with.
    double *mean, *noise, *offset, *value, *local, *ratio;
    // Means and noise of pieces of the scan, [slice][piece][bin], where there are several.
    double *piece_mean, *piece_noise;
    // What structure can make of offsets: by the bins beside, by narrow parabolas and by wide ones, [slice][4][bin].
    double *structure;
    // `sorted` has room for a power of two.
    double *sorted;
    double *parabolas;
    // What each column is: by two columns' values and the weight of the second; itself twice where it is good.
    int2 *from;
    double *weight;
    // Bad columns, marked and listed.
    unsigned char *bad, *found;
    int *listed, *count;
    int views, bins, slices, runs;
    // Power of two.
    int padded, pieces;
    // What offsets weigh against steps of the means.
    double alpha;
};
static_assert(sizeof(Lists) == 184);

// The lists of one slice.
__device__ inline Lists of_slice(Lists l, int slice) {
    const long long at = (long long)slice * l.bins;
    l.sinograms += at * l.views;
    l.mean += at, l.noise += at, l.offset += at, l.value += at, l.local += at, l.ratio += at;
    l.piece_mean += at * l.pieces, l.piece_noise += at * l.pieces, l.structure += 4 * at;
    l.sorted += (long long)slice * l.padded;
    l.parabolas += 3 * at;
    l.from += at, l.weight += at, l.bad += at, l.found += at, l.listed += at;
    l.count += slice;
    return l;
}

// The place of 0..n that a window sees at k: beyond an end values go on in mirror image, the end repeated.
__device__ inline int mirrored(int k, int n) {
    if (k >= 0 && k < n) return k;
    k %= 2 * n;
    if (k < 0) k += 2 * n;
    return k < n ? k : 2 * n - 1 - k;
}

// An integer that rises with the value.
__device__ inline unsigned long long ordered(double v) {
    long long bits = __double_as_longlong(v);
    return bits < 0 ? ~(unsigned long long)bits : (unsigned long long)bits | 1ull << 63;
}

__device__ inline double of_ordered(unsigned long long key) {
    return __longlong_as_double(key >> 63 ? (long long)(key & ~(1ull << 63)) : (long long)~key);
}

// Value of a rank (0-based) among n, by their digits from the top; every thread of the block gets it.
__device__ inline double block_select(const double *values, int n, int rank) {
    __shared__ int histogram[256];
    __shared__ int digit, below, alike;
    __shared__ double only;
    unsigned long long prefix = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        for (int i = threadIdx.x; i < 256; i += blockDim.x) histogram[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            unsigned long long key = ordered(values[i]);
            if (shift == 56 || key >> (shift + 8) == prefix) atomicAdd(&histogram[key >> shift & 255], 1);
        }
        __syncthreads();
        if (threadIdx.x < 32) {
            int sum = 0, first = threadIdx.x * 8;
            for (int i = 0; i < 8; i++) sum += histogram[first + i];
            int upto = sum;
            for (int step = 1; step < 32; step *= 2) {
                int other = __shfl_up_sync(~0u, upto, step);
                if (threadIdx.x >= step) upto += other;
            }
            int before = upto - sum;
            if (before <= rank && rank < upto) {
                int i = first;
                while (before + histogram[i] <= rank) before += histogram[i++];
                digit = i, below = before, alike = histogram[i];
            }
        }
        __syncthreads();
        rank -= below;
        prefix = prefix << 8 | (unsigned)digit;
        if (alike == 1) {
            // No other value has these digits.
            for (int i = threadIdx.x; i < n; i += blockDim.x)
                if (ordered(values[i]) >> shift == prefix) only = values[i];
            __syncthreads();
            return only;
        }
        __syncthreads();
    }
    return of_ordered(prefix);
}

// The upper one of an even number.
__device__ inline double block_median(const double *values, int n) { return block_select(values, n, n / 2); }

// Sum over the block in one order.
__device__ inline double block_sum(double v) {
    __shared__ double parts[LIST_THREADS / 32];
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    double sum = 0;
    for (int i = 0; i < LIST_THREADS / 32; i++) sum += parts[i];
    __syncthreads();
    return sum;
}

// Medians over a window of bins, by counting ranks.
__device__ inline void block_medians(const double *values, int bins, int window, double *medians) {
    for (int k = threadIdx.x; k < bins; k += blockDim.x) {
        const int first = k - window / 2;
        double median = values[k];
        for (int i = 0; i < window; i++) {
            const double candidate = values[mirrored(first + i, bins)];
            int smaller = 0;
            for (int j = 0; j < window; j++) {
                const double other = values[mirrored(first + j, bins)];
                smaller += other < candidate || other == candidate && j < i;
            }
            if (smaller == window / 2) {
                median = candidate;
                break;
            }
        }
        medians[k] = median;
    }
    __syncthreads();
}

// Sorts 2^m values.
__device__ inline void block_sort(double *values, int n) {
    for (int size = 2; size <= n; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
                const int i = 2 * t - (t & step - 1), j = i + step;
                const bool rising = !(i & size);
                const double a = values[i], b = values[j];
                if (a > b == rising) values[i] = b, values[j] = a;
            }
            __syncthreads();
        }
    }
}

// Marks values that stand out from the median around; see `stand_out` in crates/ct/src/rows/stripes/columns.rs.
__device__ inline void block_stand_out(const Lists &l, const double *values, int window, double limit, double floor, bool both,
                                       unsigned char *bad) {
    const int n = l.bins;
    block_medians(values, n, window, l.local);
    double sum = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) sum += values[k];
    const double mean = block_sum(sum) / n;
    if (mean <= 0) {
        for (int k = threadIdx.x; k < n; k += blockDim.x) bad[k] = 0;
        __syncthreads();
        return;
    }
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        const double around = l.local[k] > 0 ? l.local[k] : mean;
        l.ratio[k] = log(fmax(values[k] / around, 1e-6));
    }
    __syncthreads();
    const double middle = block_median(l.ratio, n);
    for (int k = threadIdx.x; k < n; k += blockDim.x) l.sorted[k] = fabs(l.ratio[k] - middle);
    __syncthreads();
    const double enough = fmax(limit * NORMAL * block_median(l.sorted, n), floor);
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        const double away = l.ratio[k] - middle;
        bad[k] = away > enough || both && -away > enough;
    }
    __syncthreads();
}

// Finds what replaces bad columns, and lists them; see `replacements` in crates/ct/src/rows/stripes/columns.rs.
__device__ inline void block_replacements(const Lists &l) {
    const int n = l.bins;
    double marked = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x) marked += l.bad[k];
    const int count = (int)block_sum(marked);
    const bool trusted = 3 * count < n;
    if (threadIdx.x == 0) *l.count = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
        int below = k, above = k;
        if (trusted && l.bad[k]) {
            while (below >= 0 && l.bad[below]) below--;
            while (above < n && l.bad[above]) above++;
            if (below < 0) below = above;
            if (above >= n) above = below;
            l.listed[atomicAdd(l.count, 1)] = k;
        }
        l.from[k] = {below, above};
        l.weight[k] = above > below ? double(k - below) / (above - below) : 0.0;
    }
    __syncthreads();
}

} // namespace stripes
