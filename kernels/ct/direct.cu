// Back projection without a cache, positions in f64: slower than the others, and right for any geometry.
#include "backproject.cuh"

// One pixel a thread, LANES slices side by side. Grid (ceil(nx / 32) * ceil(ny / 8), groups): any size of slice.
template <int LANES, bool NEAREST> __device__ inline void direct(const Backproject &p) {
    struct alignas(4 * LANES) Lanes {
        float of[LANES];
    };
    int across = (p.nx + 31) / 32, group = blockIdx.y;
    int x = blockIdx.x % across * 32 + threadIdx.x, y = blockIdx.x / across * 8 + threadIdx.y;
    if (x >= p.nx || y >= p.ny) return;
    const Lanes *row = static_cast<const Lanes *>(p.data) + (long long)group * p.views * p.pitch;
    float sum[LANES] = {};
    auto add = [&](int bin, float weight) {
        if (bin < 0 || bin >= p.bins) return;
        Lanes value = row[bin];
#pragma unroll
        for (int i = 0; i < LANES; i++) sum[i] = fmaf(weight, value.of[i], sum[i]);
    };
    for (int v = 0; v < p.views; v++, row += p.pitch) {
        ViewLine line = p.lines[v];
        if (NEAREST) line.origin += 0.5;
        LocalLine local = local_line(line, x, y);
        if (!NEAREST) add(local.bin + 1, local.fraction);
        add(local.bin, NEAREST ? 1.f : 1.f - local.fraction);
    }
#pragma unroll
    for (int i = 0; i < LANES; i++) {
        int slice = group * LANES + i;
        if (slice < p.slices) p.volume[slice * p.slice_stride + y * p.row_stride + x] = sum[i] * p.scale[slice];
    }
}

#define DIRECT(LANES)                                                                                                          \
    extern "C" __global__ void __launch_bounds__(256) ct_direct_linear_##LANES(const __grid_constant__ Backproject p) {        \
        direct<LANES, false>(p);                                                                                               \
    }                                                                                                                          \
    extern "C" __global__ void __launch_bounds__(256) ct_direct_nearest_##LANES(const __grid_constant__ Backproject p) {       \
        direct<LANES, true>(p);                                                                                                \
    }
DIRECT(1)
DIRECT(2)
DIRECT(4)
