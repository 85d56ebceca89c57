// Rows made ready for back projection in one pass: corrected, filtered, weighted, converted and interleaved.
#include "../common/fft.cuh"
#include "rows.cuh"

// Mirrors `Filter` in src/ct/gpu/filter.rs.
struct Filter {
    RawRows raw;
    PackedRows packed;
    // exp(-2 pi i k / N); response over N in digit-reversed order, 1 / N included.
    const float2 *roots;
    const float *response;
    // Beyond a row's ends: 0, or (non-zero) the edge values.
    int edge;
};

// Writes a view of two slices, whose bin k both are `value(k)`.
template <class Value> __device__ inline void store_view(const PackedRows &p, int bins, int slice, int view, int t, int threads, Value value) {
    float w = p.view_scale[view], a = w * p.slice_scale[slice], b = w * p.slice_scale[slice + 1];
    for (int s = t; s < p.pitch; s += threads) {
        float2 v = {0, 0};
        if (p.oversampling == 1) {
            if (s < bins) v = value(s);
        } else {
            int at = s - p.zero, bin = at >> 2;
            float part = (at & 3) * 0.25f;
            float2 l = bin >= 0 && bin < bins ? value(bin) : v, r = bin + 1 >= 0 && bin + 1 < bins ? value(bin + 1) : v;
            v = {fmaf(r.x - l.x, part, l.x), fmaf(r.y - l.y, part, l.y)};
        }
        store_pair(p, slice, view, s, v.x * a, v.y * b);
    }
}

// Two slices of a view are the real and the imaginary part of one line: the response is real and even, so they stay apart.
template <int LOG, int LINES> __device__ inline void filter(const Filter &p) {
    using Line = fft::Line<LOG>;
    extern __shared__ float2 lines[];
    float2 *line = lines + threadIdx.y * Line::FLOAT2S;
    const RawRows &raw = p.raw;
    int t = threadIdx.x, slice = 2 * blockIdx.y;
    // The block's last lines may have no view: they go along, for the barriers, and store nothing.
    int view = blockIdx.x * LINES + threadIdx.y, read = min(view, raw.views - 1);
    bool first = slice < raw.slices, second = slice + 1 < raw.slices;
    auto load = [&](int bin) {
        float2 v = {0, 0};
        if (first) integral(raw, read, slice, bin, v.x);
        if (second) integral(raw, read, slice + 1, bin, v.y);
        return v;
    };
    float2 v[16];
    int half = raw.bins + (Line::N - raw.bins) / 2;
#pragma unroll
    for (int j = 0; j < 16; j++) {
        int k = t + j * Line::THREADS;
        v[j] = {0, 0};
        if (k < raw.bins) v[j] = load(k);
        else if (p.edge) v[j] = load(k < half ? raw.bins - 1 : 0);
    }
    Line::forward(v, line, p.roots, t);
    const float4 *response = reinterpret_cast<const float4 *>(p.response) + 4 * t;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float4 h = __ldg(response + j);
        v[4 * j] = {v[4 * j].x * h.x, v[4 * j].y * h.x};
        v[4 * j + 1] = {v[4 * j + 1].x * h.y, v[4 * j + 1].y * h.y};
        v[4 * j + 2] = {v[4 * j + 2].x * h.z, v[4 * j + 2].y * h.z};
        v[4 * j + 3] = {v[4 * j + 3].x * h.w, v[4 * j + 3].y * h.w};
    }
    Line::backward(v, line, p.roots, t);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; j++) line[t + j * Line::THREADS] = v[j];
    __syncthreads();
    if (view < raw.views) store_view(p.packed, raw.bins, slice, view, t, Line::THREADS, [&](int k) { return line[k]; });
}

#define FILTER(LOG, LINES) \
    extern "C" __global__ void __launch_bounds__((1 << LOG) / 16 * LINES) ct_filter_##LOG(const __grid_constant__ Filter p) { filter<LOG, LINES>(p); }

// Enough lines a block to have 64 threads or more.
FILTER(6, 16)
FILTER(7, 8)
FILTER(8, 8)
FILTER(9, 4)
FILTER(10, 2)
FILTER(11, 1)
FILTER(12, 1)
FILTER(13, 1)
FILTER(14, 1)

// Rows taken as they are.
extern "C" __global__ void ct_pack(const __grid_constant__ Filter p) {
    const RawRows &raw = p.raw;
    int slice = 2 * blockIdx.y, view = blockIdx.x;
    bool first = slice < raw.slices, second = slice + 1 < raw.slices;
    store_view(p.packed, raw.bins, slice, view, threadIdx.x, blockDim.x, [&](int bin) {
        float2 v = {0, 0};
        if (first) integral(raw, view, slice, bin, v.x);
        if (second) integral(raw, view, slice + 1, bin, v.y);
        return v;
    });
}
