// What the data hold, looked at once before they are used: the largest value of each slice, and values that are not numbers.
#include "rows.cuh"

// Mirrors `Range` in crates/ct/src/gpu/rows.rs.
struct Range {
    RawRows raw;
    // Largest |value| of each slice as the bits of a float, which sort as floats do; starts as 0.
    unsigned *largest;
    // Least index view * view_weight + slice * slice_weight + bin of a value that is NaN or Inf (starts as ~0), and the number
    // of values that are replaced by 0.
    unsigned long long *first, *replaced;
    long long view_weight, slice_weight, offset;
};
static_assert(sizeof(Range) == 120);

// Four elements in one load.
template <class T> struct Four;
template <> struct Four<float> { using Type = float4; };
template <> struct Four<unsigned short> { using Type = ushort4; };
template <> struct Four<unsigned char> { using Type = uchar4; };

// What a thread finds. Logarithms keep the order, so those of the smallest and the largest value suffice.
struct Found {
    float low = 3.402823466e38f, high = -3.402823466e38f;
    unsigned replaced = 0;
    unsigned long long first = ~0ull;
};

// WIDE: rows are aligned, and bins next to each other.
template <class T, bool WIDE> __device__ inline void look(const Range &p, int slice, Found &found) {
    // Elements of a load, and views on their way at a time.
    const int W = WIDE ? 4 : 1, VIEWS = 4;
    const RawRows &raw = p.raw;
    const bool flat = raw.gain;
    // A value that does not count becomes NaN, which neither minimum nor maximum takes.
    const float nan = __uint_as_float(0x7fffffffu);
    int columns = (raw.bins + W - 1) / W;
    // Rows shorter than the block: several at a time.
    int across = min(columns, (int)blockDim.x), rows = blockDim.x / across, row = threadIdx.x / across, step = gridDim.x * rows;
    if (row >= rows) return;
    for (int column = threadIdx.x - row * across; column < columns; column += across) {
        int bin = column * W, count = min(W, raw.bins - bin);
        const T *at = static_cast<const T *>(raw.data) + slice * raw.slice_stride + bin * raw.bin_stride;
        float dark[W], gain[W];
#pragma unroll
        for (int i = 0; i < W; i++) {
            dark[i] = 0, gain[i] = 1;
            if (i >= count) {
                dark[i] = nan;
            } else if (flat) {
                long long pixel = slice * (long long)raw.bins + bin + i;
                dark[i] = raw.dark[pixel], gain[i] = raw.gain[pixel];
                if (gain[i] == 0.f) {
                    dark[i] = nan;
                    int start = blockIdx.x * rows + row;
                    if (start < raw.views) found.replaced += (raw.views - 1 - start) / step + 1;
                }
            }
        }
        for (int view = blockIdx.x * rows + row; view < raw.views; view += VIEWS * step) {
            T v[VIEWS][W];
#pragma unroll
            for (int u = 0; u < VIEWS; u++) {
                // Beyond the last view: once more the first of these.
                long long there = view + u * (long long)step;
                const T *from = at + (there < raw.views ? there : view) * raw.view_stride;
                if (WIDE && count == W) {
                    auto four = __ldg(reinterpret_cast<const typename Four<T>::Type *>(from));
                    v[u][0] = four.x, v[u][W / 4] = four.y, v[u][W / 2] = four.z, v[u][W - 1] = four.w;
                } else {
#pragma unroll
                    for (int i = 0; i < W; i++) v[u][i] = from[i < count ? i : 0];
                }
            }
#pragma unroll
            for (int u = 0; u < VIEWS; u++) {
                float x[W];
                bool numbers = true;
#pragma unroll
                for (int i = 0; i < W; i++) {
                    x[i] = v[u][i];
                    numbers &= sizeof(T) < 4 || finite(x[i]);
                }
                if (!numbers) {
#pragma unroll
                    for (int i = 0; i < W; i++) {
                        if (finite(x[i])) continue;
                        x[i] = nan;
                        if (i >= count || view + u * (long long)step >= raw.views) continue;
                        found.replaced += gain[i] != 0.f;
                        long long index = p.offset + (view + u * step) * p.view_weight + slice * p.slice_weight + bin + i;
                        found.first = min(found.first, (unsigned long long)index);
                    }
                }
#pragma unroll
                for (int i = 0; i < W; i++) {
                    if (flat || i >= count) x[i] = (x[i] - dark[i]) * gain[i];
                    found.low = fminf(found.low, x[i]), found.high = fmaxf(found.high, x[i]);
                }
            }
        }
    }
}

template <class T> __device__ inline void look(const Range &p, int slice, Found &found) {
    const RawRows &raw = p.raw;
    bool aligned = (raw.view_stride | raw.slice_stride) % 4 == 0 && reinterpret_cast<size_t>(raw.data) % (4 * sizeof(T)) == 0;
    bool wide = raw.bin_stride == 1 && aligned;
    if (wide) look<T, true>(p, slice, found);
    else look<T, false>(p, slice, found);
}

extern "C" __global__ void __launch_bounds__(256) ct_range(const __grid_constant__ Range p) {
    const RawRows &raw = p.raw;
    int slice = blockIdx.y;
    Found found;
    if (raw.type == ROW_U16) look<unsigned short>(p, slice, found);
    else if (raw.type == ROW_U8) look<unsigned char>(p, slice, found);
    else look<float>(p, slice, found);
    unsigned most = 0;
    if (found.low <= found.high) {
        float a = found.low, b = found.high;
        if (raw.gain || raw.transmission) a = logf(fmaxf(a, raw.minimum)), b = logf(fmaxf(b, raw.minimum));
        most = max(__float_as_uint(a) & 0x7fffffffu, __float_as_uint(b) & 0x7fffffffu);
    }
    most = __reduce_max_sync(~0u, most);
    unsigned replaced = __reduce_add_sync(~0u, found.replaced);
    if (threadIdx.x % 32 == 0) {
        atomicMax(p.largest + slice, most);
        if (replaced) atomicAdd(p.replaced, (unsigned long long)replaced);
    }
    if (found.first != ~0ull) atomicMin(p.first, found.first);
}

// What the host learns of a slab. Mirrors `Findings` in crates/ct/src/gpu/rows.rs.
struct Findings {
    unsigned long long first, replaced, outliers;
};
static_assert(sizeof(Findings) == 24);

// Before and after a look at the data. Kernels do what copies could do too, because the copy engines are busy with volumes that
// leave: a few bytes would wait behind them, and the stream with them. Mirrors `Report` in crates/ct/src/gpu/rows.rs.
struct Report {
    unsigned *largest;
    Findings *findings;
    // In page-locked memory of the host.
    Findings *host;
    int padded;
};
static_assert(sizeof(Report) == 32);

extern "C" __global__ void ct_begin(const __grid_constant__ Report p) {
    for (int i = threadIdx.x; i < p.padded; i += blockDim.x) p.largest[i] = 0;
    if (threadIdx.x == 0) *p.findings = {~0ull, 0, 0};
}

extern "C" __global__ void ct_report(const __grid_constant__ Report p) {
    *p.host = *p.findings;
}

// Mirrors `Scale` in crates/ct/src/gpu/rows.rs.
struct Scale {
    const unsigned *largest;
    // By what the packed rows of each slice are multiplied, and the sums over them.
    float *up, *down;
    // Packed values are at most this times the largest value.
    float bound;
    // Data are f16: powers of two that bring the bound to 2^13 or just below; else 1.
    int half, slices, padded;
};
static_assert(sizeof(Scale) == 40);

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
