// What the data hold, looked at once before they are used: the largest value of each slice, and values that are not numbers.
#include "rows.cuh"

// Mirrors `Range` in src/ct/gpu/rows.rs.
struct Range {
    RawRows raw;
    // Largest |value| of each slice as the bits of a float, which sort as floats do; starts as 0.
    unsigned *largest;
    // Least index view * view_weight + slice * slice_weight + bin of a value that is NaN or Inf (starts as ~0), and the number of
    // values that are replaced by 0.
    unsigned long long *first, *replaced;
    long long view_weight, slice_weight, offset;
};

extern "C" __global__ void __launch_bounds__(256) ct_range(const __grid_constant__ Range p) {
    const RawRows &raw = p.raw;
    int slice = blockIdx.y;
    unsigned most = 0;
    for (int view = blockIdx.x; view < raw.views; view += gridDim.x) {
        for (int bin = threadIdx.x; bin < raw.bins; bin += blockDim.x) {
            float v;
            if (!integral(raw, view, slice, bin, v)) {
                atomicAdd(p.replaced, 1ull);
                if (!finite(raw_value(raw, view, slice, bin))) {
                    atomicMin(p.first, (unsigned long long)(p.offset + view * p.view_weight + slice * p.slice_weight + bin));
                }
            }
            most = max(most, __float_as_uint(v) & 0x7fffffffu);
        }
    }
    most = __reduce_max_sync(~0u, most);
    if (threadIdx.x % 32 == 0) atomicMax(p.largest + slice, most);
}

// Mirrors `Scale` in src/ct/gpu/rows.rs.
struct Scale {
    const unsigned *largest;
    // By what the packed rows of each slice are multiplied, and the sums over them.
    float *up, *down;
    // Packed values are at most this times the largest value.
    float bound;
    // Data are f16: powers of two that bring the bound to 2^13 or just below; else 1.
    int half, slices, padded;
};

extern "C" __global__ void ct_scale(const __grid_constant__ Scale p) {
    int slice = blockIdx.x * blockDim.x + threadIdx.x;
    if (slice >= p.padded) return;
    float up = 1, down = 1;
    float most = slice < p.slices ? __uint_as_float(p.largest[slice]) * p.bound : 0.f;
    if (p.half && most > 0) {
        int exponent;
        frexpf(most, &exponent);
        // 2^126 is the largest power of two whose inverse is a normal number.
        exponent = max(-126, min(126, 13 - exponent));
        up = ldexpf(1, exponent), down = ldexpf(1, -exponent);
    }
    p.up[slice] = up;
    p.down[slice] = down;
}
