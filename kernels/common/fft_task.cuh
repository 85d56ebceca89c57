// Transforms along one axis of a grid, of windows of it: what is known to be zero is not read, what is not wanted is not written, and
// pointwise factors go along.
#pragma once
#include "fft_lines.cuh"

// Mirrors `Arguments` in crates/base/src/gpu/fft/pass.rs.
struct FftTask {
    FftLine line;
    FftWindow from, to;
    // Element (batch, outer, inner) of the lines is at a window's element + inner * strides[0] + outer * strides[1] +
    // batch * strides[2]. Across, inner strides are 1.
    const void *in;
    void *out;
    long long in_strides[3], out_strides[3];
    // Real factors, one for each element of a window; null for none.
    const void *in_factors, *out_factors;
    // Along: what loaded elements are multiplied by, the conjugate of what stored ones are: of the array's layout, with batches
    // `map_stride` apart; null for none.
    const void *in_map, *out_map;
    long long map_stride;
    // After all factors, for stored elements.
    double scale;
    int inner, outer, batches;
    // Lines of a block (across: 2^log_width), and blocks of an outer index.
    int width, log_width, chunks;
    // Non-zero: exp(+2 pi i ...).
    int backward;
    // Along, non-zero: batches are summed by each block, and added to what is there if it is 2.
    int sum;
};
static_assert(sizeof(FftTask) == 344);

// A batch's lines of a block.
struct FftPlace {
    // Of the block's first line.
    long long in, out, in_map, out_map;
    // Lines that are there.
    int room;
    bool add;
    // Positions after which windows begin again.
    int length;
};

// `Offset` holds the distance of elements of a butterfly in the array.
template <bool ALONG, class T, class Offset = int> struct FftLoad {
    const FftTask &task;
    const FftPlace &place;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        const FftWindow w = task.from;
        const int length = place.length;
        const long long base = line * task.in_strides[0];
        const Complex<T> *in = static_cast<const Complex<T> *>(task.in) + place.in + base;
        const unsigned count = line < place.room ? w.count : 0;
        if (w.whole && w.count == length) {
            const Complex<T> *from = in + (long long)position * w.stride;
            const Offset step = (Offset)stride * w.stride;
#pragma unroll
            for (int r = 0; r < R; r++) v[r] = count ? from[(long long)r * step] : Complex<T>{0, 0};
        } else {
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned p = position + r * stride, t = w.element(length, p);
                v[r] = t < count ? in[(long long)(int)(w.whole ? p : t) * w.stride] : Complex<T>{0, 0};
            }
        }
        if (ALONG && task.in_map) {
            const Complex<T> *map = static_cast<const Complex<T> *>(task.in_map) + place.in_map + base;
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned p = position + r * stride, t = w.element(length, p);
                if (t < count) v[r] = v[r] * map[(long long)(int)(w.whole ? p : t) * w.stride];
            }
        }
        if (task.in_factors) {
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned t = w.element(length, position + r * stride);
                if (t < count) v[r] = v[r] * __ldg(static_cast<const T *>(task.in_factors) + t);
            }
        }
        if (task.backward) {
#pragma unroll
            for (int r = 0; r < R; r++) v[r] = conj(v[r]);
        }
    }
};

template <bool ALONG, class T, class Offset = int> struct FftStore {
    const FftTask &task;
    const FftPlace &place;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        if (line >= place.room) return;
        const FftWindow w = task.to;
        const int length = place.length;
        const long long base = line * task.out_strides[0];
        Complex<T> *out = static_cast<Complex<T> *>(task.out) + place.out + base;
        const unsigned count = w.count;
        const T scale = T(task.scale), imaginary = task.backward ? -scale : scale;
#pragma unroll
        for (int r = 0; r < R; r++) v[r] = {v[r].x * scale, v[r].y * imaginary};
        if (task.out_factors) {
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned t = w.element(length, position + r * stride);
                if (t < count) v[r] = v[r] * __ldg(static_cast<const T *>(task.out_factors) + t);
            }
        }
        if (ALONG && task.out_map) {
            const Complex<T> *map = static_cast<const Complex<T> *>(task.out_map) + place.out_map + base;
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned p = position + r * stride, t = w.element(length, p);
                if (t < count) v[r] = v[r] * conj(map[(long long)(int)(w.whole ? p : t) * w.stride]);
            }
        }
        if (ALONG && place.add) {
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned p = position + r * stride, t = w.element(length, p);
                if (t < count) v[r] = v[r] + out[(long long)(int)(w.whole ? p : t) * w.stride];
            }
        }
        if (w.whole && w.count == length) {
            Complex<T> *to = out + (long long)position * w.stride;
            const Offset step = (Offset)stride * w.stride;
#pragma unroll
            for (int r = 0; r < R; r++) to[(long long)r * step] = v[r];
        } else {
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned p = position + r * stride, t = w.element(length, p);
                if (t < count) out[(long long)(int)(w.whole ? p : t) * w.stride] = v[r];
            }
        }
    }
};
