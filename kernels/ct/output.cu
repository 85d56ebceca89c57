// Finished slices on their way into the type that they are stored as: window, circular mask, histogram. The arithmetic is that of
// crates/ct/src/output/code.rs, each operation rounded by itself, so that the same values are stored as the same numbers.
#include "../common/each.cuh"
#include <cuda_fp16.h>

// Mirrors `Convert` in crates/ct/src/gpu/output.rs.
struct Convert {
    // Contiguous (slices, ny, nx).
    const float *volume;
    void *target;
    long long strides[3];
    // The first column inside the circle and the one after the last, for each row; NULL where everything is inside.
    const uint2 *spans;
    // Values below and above the limits, then the histogram.
    unsigned long long *counts;
    double limits[2], low, scale, floor, top, bin_scale;
    // In place of values outside the circle.
    float outside;
    int type, bins, shared_bins, ny, nx;
    long long rows;
};
static_assert(sizeof(Convert) == 144);

enum StoredType { STORED_F32, STORED_U8, STORED_U16, STORED_F16 };

__device__ inline double place(const Convert &p, float v) {
    return fmin(fmax(__dmul_rn(__dsub_rn(v, p.low), p.scale), p.floor), p.top);
}

__device__ inline int float_bin(const Convert &p, float v) {
    double b = __dmul_rn(__dsub_rn(v, p.limits[0]), p.bin_scale);
    // NaN is in the first bin.
    return b > 0 ? (b < p.bins ? (int)b : p.bins - 1) : 0;
}

template <class T> struct Store {
    static __device__ T of(const Convert &p, float v) { return static_cast<T>(__double2uint_rn(place(p, v))); }
    static __device__ int bin(const Convert &p, float, T stored) {
        return static_cast<int>((unsigned long long)stored * p.bins >> (8 * sizeof(T)));
    }
};

template <> struct Store<__half> {
    static __device__ __half of(const Convert &p, float v) { return __float2half_rn(static_cast<float>(place(p, v))); }
    static __device__ int bin(const Convert &p, float v, __half) { return float_bin(p, v); }
};

template <> struct Store<float> {
    static __device__ float of(const Convert &, float v) { return v; }
    static __device__ int bin(const Convert &p, float v, float) { return float_bin(p, v); }
};

template <class T> __device__ inline void convert(const Convert &p, unsigned *shared) {
    T outside = Store<T>::of(p, p.outside);
    unsigned below = 0, above = 0;
    for (long long row = blockIdx.x; row < p.rows; row += gridDim.x) {
        long long slice = row / p.ny;
        int y = static_cast<int>(row - slice * p.ny);
        uint2 inside = p.spans ? p.spans[y] : make_uint2(0, p.nx);
        const float *from = p.volume + row * p.nx;
        T *to = static_cast<T *>(p.target) + slice * p.strides[0] + y * p.strides[1];
#pragma unroll 4
        for (int x = threadIdx.x; x < p.nx; x += THREADS) {
            float v = from[x];
            T stored = outside;
            if (x >= inside.x && x < inside.y) {
                stored = Store<T>::of(p, v);
                below += v < p.limits[0], above += v > p.limits[1];
                if (p.bins) {
                    int bin = Store<T>::bin(p, v, stored);
                    if (p.shared_bins) atomicAdd(shared + bin, 1u);
                    else atomicAdd(p.counts + 2 + bin, 1ull);
                }
            }
            to[x * p.strides[2]] = stored;
        }
    }
    below = __reduce_add_sync(~0u, below), above = __reduce_add_sync(~0u, above);
    if (threadIdx.x % 32 == 0) {
        if (below) atomicAdd(p.counts, (unsigned long long)below);
        if (above) atomicAdd(p.counts + 1, (unsigned long long)above);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) ct_output(const __grid_constant__ Convert p) {
    // A block's own histogram, where it has room: integers, so that the order of sums does not matter.
    extern __shared__ unsigned shared[];
    for (int bin = threadIdx.x; bin < p.shared_bins; bin += THREADS) shared[bin] = 0;
    __syncthreads();
    if (p.type == STORED_U8) convert<unsigned char>(p, shared);
    else if (p.type == STORED_U16) convert<unsigned short>(p, shared);
    else if (p.type == STORED_F16) convert<__half>(p, shared);
    else convert<float>(p, shared);
    __syncthreads();
    for (int bin = threadIdx.x; bin < p.shared_bins; bin += THREADS)
        if (shared[bin]) atomicAdd(p.counts + 2 + bin, (unsigned long long)shared[bin]);
}
