// Samples' positions in cycles per voxel from the caller's, and what there is to say of these.
#include <cuda_runtime.h>

// Mirrors `Arguments` in crates/mri/src/gpu/points.rs.
struct Read {
    // f32 or f64, of two or three axes; strides from sample to sample and from axis to axis, in elements.
    const void *from;
    // [axis][sample], `stride` apart.
    double *to;
    long long strides[2], stride, count;
    // Cycles per voxel of 1, and the largest value.
    double scales[3], limits[3];
    int dims, is_double;
    // Bits of the largest absolute value along x, y, z; not 0 if one is no number or beyond its limit.
    unsigned long long *found;
};
static_assert(sizeof(Read) == 112);

__device__ inline unsigned long long larger(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

extern "C" __global__ void __launch_bounds__(256) points_read(const __grid_constant__ Read p) {
    // Of numbers that are not negative the bits are in order as well; of infinities and what is no number they are above all.
    unsigned long long largest[3] = {};
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < p.count; i += gridDim.x * 256ll) {
#pragma unroll
        for (int d = 0; d < 3; d++) {
            if (d == p.dims) break;
            long long at = i * p.strides[0] + d * p.strides[1];
            double v = p.is_double ? static_cast<const double *>(p.from)[at] : static_cast<const float *>(p.from)[at];
            largest[d] = larger(largest[d], (unsigned long long)__double_as_longlong(fabs(v)));
            p.to[d * p.stride + i] = fmin(fmax(v * p.scales[d], -0.5), 0.5);
        }
    }
#pragma unroll
    for (int d = 0; d < 3; d++) {
        for (int lane = 16; lane; lane /= 2) largest[d] = larger(largest[d], __shfl_xor_sync(~0u, largest[d], lane));
        if (threadIdx.x % 32 || d >= p.dims) continue;
        atomicMax(p.found + d, largest[d]);
        if (!(__longlong_as_double((long long)largest[d]) <= p.limits[d])) atomicMax(p.found + 3, 1ull);
    }
}
