// Fourier transforms inside a block: radix 16 in registers, decimation in frequency forward (natural order in, digit-reversed
// out) and in time backward (digit-reversed in, natural out), so that nothing is ever reordered.
#pragma once

namespace fft {

__device__ inline float2 add(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline float2 sub(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ inline float2 mul(float2 a, float2 b) { return {fmaf(a.x, b.x, -a.y * b.y), fmaf(a.x, b.y, a.y * b.x)}; }

// Multiplies by exp(-i angle) forward, exp(+i angle) backward, where w = exp(-i angle).
template <bool BACK> __device__ inline float2 turn(float2 a, float2 w) { return mul(a, {w.x, BACK ? -w.y : w.y}); }

// -i forward, +i backward.
template <bool BACK> __device__ inline float2 quarter(float2 a) { return BACK ? float2{-a.y, a.x} : float2{a.y, -a.x}; }

template <bool BACK> __device__ inline void dft2(float2 &a, float2 &b) {
    float2 s = add(a, b), d = sub(a, b);
    a = s, b = d;
}

template <bool BACK> __device__ inline void dft4(float2 &a, float2 &b, float2 &c, float2 &d) {
    dft2<BACK>(a, c);
    dft2<BACK>(b, d);
    d = quarter<BACK>(d);
    float2 x0 = add(a, b), x1 = add(c, d), x2 = sub(a, b), x3 = sub(c, d);
    a = x0, b = x1, c = x2, d = x3;
}

template <bool BACK> __device__ inline void dft8(float2 *v) {
    const float h = 0.70710678118654752f;
    dft4<BACK>(v[0], v[2], v[4], v[6]);
    dft4<BACK>(v[1], v[3], v[5], v[7]);
    v[3] = turn<BACK>(v[3], {h, -h});
    v[5] = quarter<BACK>(v[5]);
    v[7] = turn<BACK>(v[7], {-h, -h});
    float2 x[8];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = add(v[2 * k], v[2 * k + 1]), x[k + 4] = sub(v[2 * k], v[2 * k + 1]);
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] = x[k];
}

template <bool BACK> __device__ inline void dft16(float2 *v) {
    // exp(-2 pi i k / 16) for k = 1, 2, 3
    const float c1 = 0.92387953251128674f, s1 = 0.38268343236508977f, h = 0.70710678118654752f;
    const float2 w[10] = {{1, 0}, {c1, -s1}, {h, -h}, {s1, -c1}, {0, -1}, {-s1, -c1}, {-h, -h}, {-c1, -s1}, {-1, 0}, {-c1, s1}};
#pragma unroll
    for (int j = 0; j < 4; j++) dft4<BACK>(v[j], v[j + 4], v[j + 8], v[j + 12]);
#pragma unroll
    for (int k = 1; k < 4; k++)
#pragma unroll
        for (int j = 1; j < 4; j++) v[4 * k + j] = turn<BACK>(v[4 * k + j], w[j * k]);
    float2 x[16];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        dft4<BACK>(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
#pragma unroll
        for (int j = 0; j < 4; j++) x[k + 4 * j] = v[4 * k + j];
    }
#pragma unroll
    for (int k = 0; k < 16; k++) v[k] = x[k];
}

template <bool BACK, int RADIX> __device__ inline void dft(float2 *v) {
    if (RADIX == 2) dft2<BACK>(v[0], v[1]);
    if (RADIX == 4) dft4<BACK>(v[0], v[1], v[2], v[3]);
    if (RADIX == 8) dft8<BACK>(v);
    if (RADIX == 16) dft16<BACK>(v);
}

// Multiplies v[j] by w^j.
template <bool BACK> __device__ inline void twiddle(float2 *v, float2 w) {
    float2 w2 = mul(w, w), w3 = mul(w2, w), w4 = mul(w2, w2), w8 = mul(w4, w4), w12 = mul(w8, w4);
    const float2 low[4] = {{1, 0}, w, w2, w3}, high[4] = {{1, 0}, w4, w8, w12};
#pragma unroll
    for (int j = 1; j < 16; j++) v[j] = turn<BACK>(v[j], j < 4 ? low[j] : j % 4 ? mul(high[j / 4], low[j % 4]) : high[j / 4]);
}

// Where element i of a shared line lies: a gap after every 16 keeps all strides free of bank conflicts.
__device__ inline int place(int i) { return i + (i >> 4); }

// A line of 2^LOG elements, transformed by 2^LOG / 16 threads; thread t holds elements t + j * 2^LOG / 16 before a forward
// and after a backward transform, and 16 t + j in between, in digit-reversed order.
template <int LOG> struct Line {
    static constexpr int N = 1 << LOG, THREADS = N / 16, PASSES = (LOG + 3) / 4;
    static constexpr int LAST = 1 << (LOG - 4 * (PASSES - 1));  // radix of the last pass
    static constexpr int FLOAT2S = N + N / 16;

    // `roots`: exp(-2 pi i k / N).
    static __device__ inline void forward(float2 (&v)[16], float2 *shared, const float2 *roots, int t) {
#pragma unroll
        for (int pass = 0; pass < PASSES - 1; pass++) {
            const int stride = N >> (4 * (pass + 1)), r = t % stride;
            dft16<false>(v);
            twiddle<false>(v, __ldg(roots + (r << (4 * pass))));
            exchange(v, shared, t, stride, pass + 1 < PASSES - 1 ? stride / 16 : 1);
        }
#pragma unroll
        for (int g = 0; g < 16; g += LAST) dft<false, LAST>(v + g);
    }

    static __device__ inline void backward(float2 (&v)[16], float2 *shared, const float2 *roots, int t) {
#pragma unroll
        for (int g = 0; g < 16; g += LAST) dft<true, LAST>(v + g);
#pragma unroll
        for (int pass = PASSES - 2; pass >= 0; pass--) {
            const int stride = N >> (4 * (pass + 1)), r = t % stride;
            exchange(v, shared, t, pass + 1 < PASSES - 1 ? stride / 16 : 1, stride);
            twiddle<true>(v, __ldg(roots + (r << (4 * pass))));
            dft16<true>(v);
        }
    }

    // From the elements of one pass to those of another, given by their strides.
    static __device__ inline void exchange(float2 (&v)[16], float2 *shared, int t, int from, int to) {
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; j++) shared[place(element(t, from, j))] = v[j];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; j++) v[j] = shared[place(element(t, to, j))];
    }

    static __device__ inline int element(int t, int stride, int j) { return (t / stride) * stride * 16 + t % stride + j * stride; }
};

}  // namespace fft
