// Munch, Trtik, Marone, Stampanoni 2009, as crates/ct/src/rows/stripes/wavelet has it: amplitudes are sums over views, bands of them along bins are
// what is kept of these, and what they make in each view is taken off.
#include <cuda_pipeline.h>

namespace {

// Warps that a block has at most, rows of products that each has, and bins of a block: a warp's lanes have each fourth of them one.
constexpr int WARPS = 8, ROWS = 12, LANES = 32, BINS = 4 * LANES;
// Terms that are loaded at a time, and loads after which sums are put by, so that they stay exact.
constexpr int TERMS = 16, RUN = 8;
constexpr int MAX_LEVELS = 16, MAX_TAPS = 40;

// Mirrors `Arguments` in crates/ct/src/gpu/stripes_wavelet.rs.
struct Arguments {
    // [slice][view][bin]
    float *sinograms;
    // [view][mode] and [mode][view].
    const float *down, *up;
    // Low pass on the way down and up, high pass: `taps` each.
    const float *filters;
    // [slice][mode][bin]
    float *amplitudes;
    // Two bands of a line each, [slice][mode][2][longest], where shared memory is too small.
    float *bands;
    int views, bins, modes, taps, longest;
    // Bins of padding on either side; whether bands are in shared memory.
    int pad, shared;
    // Bins of a line after each level, the padded line first.
    int lens[MAX_LEVELS + 1];
    // The mode after a level's last, from level 1 on.
    int ends[MAX_LEVELS];
};
static_assert(sizeof(Arguments) == 208);

// A tile of the sum over k of a[k][i] b[k][n]: rows ROWS a warp, bins BINS a block. `store` takes each sum, its row and its bin.
template <class Store>
__device__ void products(const float *a, int rows, const float *b, int bins, int terms, Store store) {
    __shared__ __align__(16) float factors[2][TERMS][WARPS * ROWS];
    __shared__ __align__(16) float values[2][TERMS][BINS];
    const int warps = blockDim.x / LANES, warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const int width = warps * ROWS, row = blockIdx.x * width, bin = blockIdx.y * BINS;
    const auto load = [&](int first, int half) {
        for (int k = warp; k < TERMS; k += warps) {
            const float *factor = a + (long long)(first + k) * rows + row, *value = b + (long long)(first + k) * bins + bin;
            for (int r = lane; r < width; r += LANES) {
                const bool inside = first + k < terms && row + r < rows;
                __pipeline_memcpy_async(&factors[half][k][r], inside ? factor + r : a, 4, inside ? 0 : 4);
            }
#pragma unroll
            for (int n = lane; n < BINS; n += LANES) {
                const bool inside = first + k < terms && bin + n < bins;
                __pipeline_memcpy_async(&values[half][k][n], inside ? value + n : b, 4, inside ? 0 : 4);
            }
        }
        __pipeline_commit();
    };
    float total[ROWS][4] = {}, sum[ROWS][4] = {};
    const int loads = (terms + TERMS - 1) / TERMS;
    load(0, 0);
    for (int l = 0; l < loads; l++) {
        const int half = l % 2;
        __pipeline_wait_prior(0);
        __syncthreads();
        if (l + 1 < loads) load((l + 1) * TERMS, !half);
#pragma unroll
        for (int k = 0; k < TERMS; k++) {
            float factor[ROWS], value[4];
#pragma unroll
            for (int i = 0; i < ROWS; i += 4)
                *(float4 *)(factor + i) = *(const float4 *)&factors[half][k][warp * ROWS + i];
#pragma unroll
            for (int n = 0; n < 4; n++) value[n] = values[half][k][n * LANES + lane];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int n = 0; n < 4; n++) sum[i][n] = fmaf(factor[i], value[n], sum[i][n]);
        }
        if (l % RUN == RUN - 1 || l + 1 == loads) {
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int n = 0; n < 4; n++) total[i][n] += sum[i][n], sum[i][n] = 0;
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        const int r = row + warp * ROWS + i;
#pragma unroll
        for (int n = 0; n < 4; n++) {
            const int at = bin + n * LANES + lane;
            if (r < rows && at < bins) store(total[i][n], r, at);
        }
    }
}

// The place of 0..n that a filter sees at k: beyond an end values go on in mirror image, the end repeated.
__device__ int mirrored(int k, int n) {
    if (k >= 0 && k < n) return k;
    k %= 2 * n;
    if (k < 0) k += 2 * n;
    return k < n ? k : 2 * n - 1 - k;
}

} // namespace

// Amplitudes: a block has some modes and bins of a slice.
extern "C" __global__ void __launch_bounds__(WARPS *LANES) wavelet_sum(const __grid_constant__ Arguments p) {
    const float *sinogram = p.sinograms + (long long)blockIdx.z * p.views * p.bins;
    float *amplitudes = p.amplitudes + (long long)blockIdx.z * p.modes * p.bins;
    const auto store = [&](float sum, int mode, int bin) { amplitudes[(long long)mode * p.bins + bin] = sum; };
    products(p.down, p.modes, sinogram, p.bins, p.views, store);
}

// What amplitudes make in each view, taken off: a block has some views and bins of a slice.
extern "C" __global__ void __launch_bounds__(WARPS *LANES) wavelet_subtract(const __grid_constant__ Arguments p) {
    float *sinogram = p.sinograms + (long long)blockIdx.z * p.views * p.bins;
    const float *amplitudes = p.amplitudes + (long long)blockIdx.z * p.modes * p.bins;
    const auto store = [&](float sum, int view, int bin) {
        float &value = sinogram[(long long)view * p.bins + bin];
        const float left = value - sum;
        // Sums of values next to the largest that there are may not be finite.
        if (isfinite(left)) value = left;
    };
    products(p.up, p.views, amplitudes, p.bins, p.modes, store);
}

// Bands of amplitudes that are high along bins, and what they are among the bins: a line a block.
extern "C" __global__ void wavelet_bins(const __grid_constant__ Arguments p) {
    extern __shared__ float room[];
    __shared__ float filters[3][MAX_TAPS];
    const int mode = blockIdx.x, slice = blockIdx.y, taps = p.taps;
    const long long line = (long long)slice * p.modes + mode;
    float *amplitudes = p.amplitudes + line * p.bins;
    float *a = p.shared ? room : p.bands + 2 * line * p.longest, *b = a + p.longest;
    int level = 1;
    while (mode >= p.ends[level - 1]) level++;
    for (int i = threadIdx.x; i < 3 * taps; i += blockDim.x) filters[i / taps][i % taps] = p.filters[i];
    for (int i = threadIdx.x; i < p.lens[0]; i += blockDim.x) a[i] = amplitudes[min(max(i - p.pad, 0), p.bins - 1)];
    __syncthreads();
    for (int step = 0; step < level; step++) {
        const float *filter = filters[step + 1 == level ? 2 : 0];
        const int from = p.lens[step];
        for (int k = threadIdx.x; k < p.lens[step + 1]; k += blockDim.x) {
            const int first = 2 * k + 2 - taps;
            float sum = 0;
            for (int j = 0; j < taps; j++) sum = fmaf(filter[j], a[mirrored(first + j, from)], sum);
            b[k] = sum;
        }
        __syncthreads();
        float *other = a;
        a = b, b = other;
    }
    for (int step = level - 1; step >= 0; step--) {
        const float *filter = filters[step + 1 == level ? 2 : 1];
        const int from = p.lens[step + 1];
        for (int i = threadIdx.x; i < p.lens[step]; i += blockDim.x) {
            float sum = 0;
            // Every other tap, from the first k whose taps reach i.
            for (int k = i / 2, j = i + taps - 2 - 2 * k; j >= 0 && k < from; k++, j -= 2) sum = fmaf(filter[j], a[k], sum);
            b[i] = sum;
        }
        __syncthreads();
        float *other = a;
        a = b, b = other;
    }
    for (int i = threadIdx.x; i < p.bins; i += blockDim.x) amplitudes[i] = a[i + p.pad];
}
