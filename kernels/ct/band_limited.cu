// The ends of band-limited back projection: packed rows to what their frequencies add to an image's Fourier plane, and the transform's
// last pass, whose complex images are pairs of slices. Neighbours in memory are images, so lines are transformed side by side.
#include "../common/fft_lines.cuh"

namespace {

// Mirrors `SpectraArguments` in src/ct/gpu/band_limited.rs.
struct Spectra {
    FftLine line;
    // [image][view][pitch], pairs of slices.
    const Complex<float> *rows;
    // [view][frequency][image], frequencies from -length / 2 to length / 2.
    Complex<float> *values;
    // Of each view: the bin at the image's middle over the length, times 2^64, modulo that.
    const unsigned long long *phases;
    long long pitch;
    float scale;
    int views, bins, images, stride, width, log_width, chunks;
};
static_assert(sizeof(Spectra) == 232);

// Mirrors `SlicesArguments` there.
struct Slices {
    FftLine line;
    // The part of a line that the image has.
    FftWindow to;
    // [y][x][image]
    const Complex<float> *in;
    const float *factors;
    float *volume;
    long long slice_stride, row_stride;
    int slices, images, width, log_width, chunks, unused;
};
static_assert(sizeof(Slices) == 248);

// exp(2 pi i turn / 2^64).
__device__ inline Complex<float> turned(unsigned long long turn) {
    Complex<float> z;
    sincospif((int)(turn >> 32) * (1.f / 2147483648.f), &z.y, &z.x);
    return z;
}

struct LoadRows {
    const Spectra &p;
    int view, image;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const bool there = image + line < p.images;
        const Complex<float> *row = p.rows + ((long long)(image + line) * p.views + view) * p.pitch;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = position + r * stride;
            v[r] = there && k < p.bins ? load_constant(row + k) : Complex<float>{0, 0};
        }
    }
};

struct StoreSpectra {
    const Spectra &p;
    int view, image;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        if (image + line >= p.stride) return;
        const int length = p.line.length, last = length / 2;
        const unsigned long long phase = p.phases[view];
        Complex<float> *to = p.values + ((long long)view * (length + 1) + last) * p.stride + image + line;
        // The first of them, and what the others are turned by on top of that, each computed once for a block.
        const Complex<float> first = turned(position * phase) * p.scale;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = position + r * stride, f = k <= last ? k : k - length;
            const Complex<float> z = v[r] * (first * turns[f == k ? r : R + r]);
            if (k == last) {
                // The highest frequency stands at both ends, half of it each.
                to[(long long)last * p.stride] = z * 0.5f;
                to[-(long long)last * p.stride] = v[r] * (first * turns[R + r]) * 0.5f;
            } else {
                to[(long long)f * p.stride] = z;
            }
        }
    }

    // r strides further, and also a whole length back.
    const Complex<float> *turns;
};

struct LoadColumns {
    const Slices &p;
    const Complex<float> *in;
    int room;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const Complex<float> *from = in + (long long)position * p.images + line;
        const long long step = (long long)stride * p.images;
        // A transform backward is the conjugate's forward.
#pragma unroll
        for (int r = 0; r < R; r++) v[r] = line < room ? conj(load_constant(from + r * step)) : Complex<float>{0, 0};
    }
};

struct StoreSlices {
    const Slices &p;
    float *row;
    int slice;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const int first = slice + 2 * line;
        if (first >= p.slices) return;
        float *even = row + first * p.slice_stride, *odd = even + p.slice_stride;
        const bool two = first + 1 < p.slices;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const unsigned x = p.to.element(p.line.length, position + r * stride);
            if (x < (unsigned)p.to.count) {
                const float factor = __ldg(p.factors + x);
                even[x] = v[r].x * factor;
                if (two) odd[x] = -v[r].y * factor;
            }
        }
    }
};

template <class Load, class Store>
__device__ inline void transform(const FftLine &line, int width, int log_width, const Load &load, const Store &store) {
    fft_transform<float>(line, FftLines<false>{width, log_width, line.length}, load, store);
}

} // namespace

// A block takes `width` images of a view.
extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_spectra(const __grid_constant__ Spectra p) {
    const int view = blockIdx.x / p.chunks, image = blockIdx.x % p.chunks * p.width;
    __shared__ Complex<float> turns[2 * 16];
    const FftPass &last = p.line.pass[p.line.passes - 1];
    if (threadIdx.x < 2 * last.radix) {
        const int back = threadIdx.x / last.radix, r = threadIdx.x - back * last.radix;
        turns[threadIdx.x] = turned((r * last.count - back * p.line.length) * p.phases[view]);
    }
    __syncthreads();
    transform(p.line, p.width, p.log_width, LoadRows{p, view, image}, StoreSpectra{p, view, image, turns});
}

// A block takes `width` images of a row of the slices.
extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_slices(const __grid_constant__ Slices p) {
    const int y = blockIdx.x / p.chunks, image = blockIdx.x % p.chunks * p.width;
    const Complex<float> *in = p.in + (long long)y * p.line.length * p.images + image;
    transform(p.line, p.width, p.log_width, LoadColumns{p, in, p.images - image},
        StoreSlices{p, p.volume + y * p.row_stride, 2 * image});
}
