// Rows on their way in and out: raw data to line integrals, and filtered rows to what the back projectors read.
#pragma once
#include <cuda_fp16.h>

enum RowType { ROW_F32 = 0, ROW_U16 = 1, ROW_U8 = 2 };

// The caller's rows. Mirrors `RawRows` in crates/ct/src/gpu/format.rs.
struct RawRows {
    // Element (view, slice, bin) is at view * view_stride + slice * slice_stride + bin * bin_stride, in elements.
    const void *data;
    long long view_stride, slice_stride, bin_stride;
    // Flat field of the slab's detector rows, [slice][bin], or NULL: integral = -ln(max((raw - dark) * gain, minimum)); a gain
    // of 0 marks a pixel that cannot be corrected and reads 0.
    const float *dark, *gain;
    float minimum;
    int type, views, slices, bins;
    // Without a flat field: non-zero if values are transmissions, integral = -ln(max(value, minimum)).
    int transmission;
};
static_assert(sizeof(RawRows) == 72);

__device__ inline float raw_value(const RawRows &r, int view, int slice, int bin) {
    long long at = view * r.view_stride + slice * r.slice_stride + bin * r.bin_stride;
    if (r.type == ROW_U16) return static_cast<const unsigned short *>(r.data)[at];
    if (r.type == ROW_U8) return static_cast<const unsigned char *>(r.data)[at];
    return static_cast<const float *>(r.data)[at];
}

__device__ inline bool finite(float v) { return (__float_as_uint(v) & 0x7f800000u) != 0x7f800000u; }

// Flat field and logarithm.
__device__ inline float corrected(float v, float dark, float gain, float minimum) {
    return -logf(fmaxf((v - dark) * gain, minimum));
}

// The line integral; false where there is none (NaN, Inf, no usable flat field), and the integral is then 0.
__device__ inline bool integral(const RawRows &r, int view, int slice, int bin, float &value) {
    float v = raw_value(r, view, slice, bin);
    bool good = finite(v);
    if (r.gain) {
        long long pixel = slice * (long long)r.bins + bin;
        float gain = r.gain[pixel];
        good &= gain != 0.f;
        v = corrected(v, r.dark[pixel], gain, r.minimum);
    } else if (r.transmission) {
        v = corrected(v, 0.f, 1.f, r.minimum);
    }
    value = good ? v : 0.f;
    return good;
}

// Rows that a back projector reads. Mirrors `PackedRows` in crates/ct/src/gpu/format.rs.
struct PackedRows {
    // [group][view][pitch][lanes] of f32 or f16; with `split`, a group of high parts is followed by one of low parts.
    void *data;
    // What each view and each slice is multiplied by.
    const float *view_scale, *slice_scale;
    int views, pitch, lanes, half, split;
    // Samples a bin (1 or 4), and samples before bin 0.
    int oversampling, zero;
};
static_assert(sizeof(PackedRows) == 56);

// Slices `slice` (even) and `slice` + 1 of a view.
struct PairOfRows {
    char *data;
    // From sample to sample; to the low parts (`split`), or from slice to slice where there is one lane.
    int bytes;
    long long second;
    bool half, split, apart;

    __device__ inline PairOfRows(const PackedRows &p, int slice, int view) {
        // Lanes are a power of two.
        int size = p.half ? 2 : 4, group = slice >> (__ffs(p.lanes) - 1), parts = p.split ? 2 : 1;
        bytes = p.lanes * size;
        second = (long long)p.views * p.pitch * bytes;
        long long row = group * parts * second + (long long)view * p.pitch * bytes;
        data = static_cast<char *>(p.data) + row + (slice - group * p.lanes) * size;
        half = p.half, split = p.split, apart = p.lanes == 1;
    }

    __device__ inline char *at(int sample) const { return data + (long long)sample * bytes; }

    __device__ inline void store(int sample, float a, float b) const {
        char *to = at(sample);
        if (half) {
            __half2 high = __floats2half2_rn(a, b);
            *reinterpret_cast<__half2 *>(to) = high;
            __half2 low = __floats2half2_rn(a - __low2float(high), b - __high2float(high));
            if (split) *reinterpret_cast<__half2 *>(to + second) = low;
        } else if (apart) {
            *reinterpret_cast<float *>(to) = a;
            *reinterpret_cast<float *>(to + second) = b;
        } else {
            *reinterpret_cast<float2 *>(to) = {a, b};
        }
    }
};
