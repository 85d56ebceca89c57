// The ends of band-limited sums: between rows and what their frequencies are in an image's Fourier plane, and the transform along x between
// that plane and complex images, which are pairs of slices. Neighbours in memory are images, so lines are transformed side by side.
#pragma once
#include "../common/fft_lines.cuh"
#include <cfloat>

// Mirrors `SpectraArguments` in crates/ct/src/gpu/band_limited_ends.rs.
struct Spectra {
    FftLine line;
    // [view][frequency][image], frequencies from -length / 2 to length / 2 of a row's.
    Complex<float> *values;
    // Of each view: the bin at the image's middle over the length, times 2^64, modulo that.
    const unsigned long long *phases;
    // Of each view: the last frequency, which has half of its weight on either side; null: length / 2.
    const int *last;
    // Packed: [image][view][pitch], pairs of slices.
    const Complex<float> *rows;
    long long pitch;
    // Not packed: bin k of a view and a slice is at view * view_stride + slice * slice_stride + k.
    float *projections;
    long long view_stride, slice_stride;
    float scale;
    int views, bins, slices, images, stride, width, log_width, chunks, unused;
};
static_assert(sizeof(Spectra) == 272);

// Mirrors `SlicesArguments` there.
struct Slices {
    FftLine line;
    // The part of a line that the image has.
    FftWindow window;
    // [y][x][image]
    Complex<float> *plane;
    const float *factors;
    float *volume;
    // Slices to be written have columns one after the other.
    long long slice_stride, row_stride, column_stride;
    int slices, images, width, log_width, chunks, unused;
};
static_assert(sizeof(Slices) == 256);

// exp(2 pi i turn / 2^64).
__device__ inline Complex<float> turned(unsigned long long turn) {
    Complex<float> z;
    sincospif((int)(turn >> 32) * (1.f / 2147483648.f), &z.y, &z.x);
    return z;
}

// What frequencies count for.
struct Weights {
    int last;

    __device__ inline Weights(const Spectra &p, int view, int length) : last(p.last ? p.last[view] : length / 2) {}
    __device__ inline float of(int f) const { return abs(f) < last ? 1 : abs(f) == last ? 0.5f : 0; }
};

// Phases of the frequencies of a pass, made by a block once: of r strides, and of as many less a whole length.
__device__ inline void phases_of(const Spectra &p, int view, int length, int radix, int stride, Complex<float> *turns) {
    if (threadIdx.x < 2 * radix) {
        const int back = threadIdx.x / radix, r = threadIdx.x - back * radix;
        turns[threadIdx.x] = turned((r * stride - back * length) * p.phases[view]);
    }
    __syncthreads();
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
    int view, image, length;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        if (image + line >= p.stride) return;
        const int last = length / 2;
        const unsigned long long phase = p.phases[view];
        Complex<float> *to = p.values + ((long long)view * (length + 1) + last) * p.stride + image + line;
        // The first of them, and what the others are turned by on top of that, each computed once for a block.
        const Complex<float> first = turned(position * phase) * p.scale;
        const Weights weights(p, view, length);
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = position + r * stride, f = k <= last ? k : k - length;
            const Complex<float> z = v[r] * (first * turns[f == k ? r : R + r]);
            to[(long long)f * p.stride] = z * weights.of(f);
            // The highest frequency stands at both ends.
            if (k == last) to[-(long long)last * p.stride] = v[r] * (first * turns[R + r]) * weights.of(last);
        }
    }

    // r strides further, and also a whole length back.
    const Complex<float> *turns;
};

// A transform backward is the conjugate's forward.
struct LoadSpectra {
    const Spectra &p;
    int view, image, length;
    const Complex<float> *turns;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const bool there = image + line < p.stride;
        const int last = length / 2;
        const unsigned long long phase = p.phases[view];
        const Complex<float> *from = p.values + ((long long)view * (length + 1) + last) * p.stride + image + line;
        const Complex<float> first = turned(position * phase) * p.scale;
        const Weights weights(p, view, length);
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = position + r * stride, f = k <= last ? k : k - length;
            v[r] = {0, 0};
            if (!there) continue;
            v[r] = conj(load_constant(from + (long long)f * p.stride)) * (first * turns[f == k ? r : R + r]) * weights.of(f);
            if (k == last) {
                const Complex<float> other = conj(load_constant(from - (long long)last * p.stride)) * (first * turns[R + r]);
                v[r] = v[r] + other * weights.of(last);
            }
        }
    }
};

struct StoreRows {
    const Spectra &p;
    float *view;
    int slice;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const int first = slice + 2 * line;
        if (first >= p.slices) return;
        float *even = view + first * p.slice_stride, *odd = even + p.slice_stride;
        const bool two = first + 1 < p.slices;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = position + r * stride;
            if (k < p.bins) {
                even[k] = v[r].x;
                if (two) odd[k] = -v[r].y;
            }
        }
    }
};

struct LoadSlices {
    const Slices &p;
    const float *row;
    int slice, length;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const int first = slice + 2 * line;
        const float *even = row + first * p.slice_stride, *odd = even + p.slice_stride;
        const bool one = first < p.slices, two = first + 1 < p.slices;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const unsigned x = p.window.element(length, position + r * stride);
            const bool inside = x < (unsigned)p.window.count;
            const float factor = inside ? __ldg(p.factors + x) : 0;
            v[r] = {finite(inside && one ? even[x * p.column_stride] : 0) * factor,
                finite(inside && two ? odd[x * p.column_stride] : 0) * factor};
        }
    }

    // NaN and Inf count as 0.
    static __device__ inline float finite(float value) { return fabsf(value) <= FLT_MAX ? value : 0; }
};

struct StoreColumns {
    Complex<float> *out;
    int images, room;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        if (line >= room) return;
        Complex<float> *to = out + (long long)position * images + line;
        const long long step = (long long)stride * images;
#pragma unroll
        for (int r = 0; r < R; r++) to[r * step] = v[r];
    }
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
    int slice, length;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const int first = slice + 2 * line;
        if (first >= p.slices) return;
        float *even = row + first * p.slice_stride, *odd = even + p.slice_stride;
        const bool two = first + 1 < p.slices;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const unsigned x = p.window.element(length, position + r * stride);
            if (x < (unsigned)p.window.count) {
                const float factor = __ldg(p.factors + x);
                even[x] = v[r].x * factor;
                if (two) odd[x] = -v[r].y * factor;
            }
        }
    }
};
