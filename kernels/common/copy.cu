// Copies between layouts, and data to time kernels with.
#include <cuda_fp16.h>

// Mirrors `Scatter` in crates/base/src/gpu/memory.rs: contiguous elements (a, b, c), c fastest, to any strides (in elements).
struct Scatter {
    const float *from;
    float *to;
    long long sizes[3], strides[3];
};
static_assert(sizeof(Scatter) == 64);

extern "C" __global__ void __launch_bounds__(256) copy_scatter(const __grid_constant__ Scatter p) {
    long long n = p.sizes[0] * p.sizes[1] * p.sizes[2];
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
        long long c = i % p.sizes[2], b = i / p.sizes[2] % p.sizes[1], a = i / p.sizes[2] / p.sizes[1];
        p.to[a * p.strides[0] + b * p.strides[1] + c * p.strides[2]] = p.from[i];
    }
}

// Mirrors `Noise` in crates/ct/src/gpu/measure.rs: uniform numbers between -1 and 1, a hash of their place.
struct Noise {
    void *to;
    long long count;
    int half;
};
static_assert(sizeof(Noise) == 24);

extern "C" __global__ void __launch_bounds__(256) fill_noise(const __grid_constant__ Noise p) {
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < p.count; i += gridDim.x * 256ll) {
        unsigned h = (unsigned)i * 2654435761u ^ (unsigned)(i >> 32);
        h = (h ^ h >> 16) * 0x7feb352du;
        h = (h ^ h >> 15) * 0x846ca68bu;
        float v = (int)(h ^ h >> 16) * (1.f / 2147483648.f);
        if (p.half) static_cast<__half *>(p.to)[i] = __float2half_rn(v);
        else static_cast<float *>(p.to)[i] = v;
    }
}
