// A power of two that brings complex f32 data to where their f16 parts neither overflow nor go subnormal.
#include "../common/complex.cuh"

// Mirrors `ScaleArguments` in crates/mri/src/gpu/separable.rs.
struct Scale {
    // Values (complex), and real weights of them or NULL.
    const Complex<float> *values;
    const float *weights;
    long long count;
    // A maximum for each of BLOCKS blocks.
    float *peaks;
    float *scale;
};
static_assert(sizeof(Scale) == 40);

namespace {

constexpr int THREADS = 256, BLOCKS = 256;

// Over the block; every thread takes part, thread 0 has the result.
__device__ inline float block_maximum(float value) {
    __shared__ float warps[THREADS / 32];
    for (int step = 16; step; step /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    for (int w = 0; w < THREADS / 32; w++) value = fmaxf(value, warps[w]);
    return value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS) scale_peaks(const __grid_constant__ Scale p) {
    float peak = 0;
    for (long long at = blockIdx.x * (long long)THREADS + threadIdx.x; at < p.count; at += (long long)BLOCKS * THREADS) {
        Complex<float> v = p.values[at];
        float weight = p.weights ? fabsf(p.weights[at]) : 1;
        peak = fmaxf(peak, fmaxf(fabsf(v.x), fabsf(v.y)) * weight);
    }
    peak = block_maximum(peak);
    if (threadIdx.x == 0) p.peaks[blockIdx.x] = peak;
}

// The largest value comes between 2^12 and 2^13: sums of two and products with factors up to sqrt(2) stay below 2^16, and low
// parts reach down to 2^-37 of it.
extern "C" __global__ void __launch_bounds__(THREADS) scale_choose(const __grid_constant__ Scale p) {
    float peak = block_maximum(p.peaks[threadIdx.x]);
    int exponent = peak > 0 ? min(max(12 - ilogbf(peak), -100), 100) : 0;
    if (threadIdx.x == 0) *p.scale = ldexpf(1, exponent);
}
