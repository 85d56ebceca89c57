// Fourier transforms of lines of 2^n elements in the registers of a block's threads, 16 each, to be changed there and transformed
// back: fft_lines.cuh is for lines of other lengths, in f64 as well, between global memory and global memory. Radix 16, natural
// order to digit-reversed order forward and back again backward, so that nothing is ever reordered. Both take the twiddle factors in
// front of each butterfly (a + w b, a - w b), where they cost little: six fused multiply-adds a butterfly.
#pragma once
#include "complex.cuh"

namespace fft {

typedef Complex<float> Number;

// a, b = a + w b, a - w b
__device__ inline void butterfly(Number &a, Number &b, Number w) {
    Number s = {fmaf(w.x, b.x, fmaf(-w.y, b.y, a.x)), fmaf(w.x, b.y, fmaf(w.y, b.x, a.y))};
    b = {fmaf(2, a.x, -s.x), fmaf(2, a.y, -s.y)};
    a = s;
}

// The same where w is 1.
__device__ inline void butterfly(Number &a, Number &b) {
    Number s = {a.x + b.x, a.y + b.y};
    b = {a.x - b.x, a.y - b.y};
    a = s;
}

// -i forward, +i backward.
template <bool BACK> __device__ inline Number quarter(Number a) { return BACK ? Number{-a.y, a.x} : Number{a.y, -a.x}; }

// exp(-2 pi i k / 16) forward, exp(+2 pi i k / 16) backward, k = 0 to 3.
template <bool BACK> __device__ inline Number sixteenth(int k) {
    const float c[4] = {1, 0.92387953251128674f, 0.70710678118654752f, 0.38268343236508977f};
    const float s[4] = {0, 0.38268343236508977f, 0.70710678118654752f, 0.92387953251128674f};
    return {c[k], BACK ? s[k] : -s[k]};
}

// v[k] = sum over j of v[j] w^j exp(-+ 2 pi i j k / 2^LOG); without `TWIDDLED` w is 1, with `HALF` the upper half of v is 0.
template <bool BACK, int LOG, bool TWIDDLED, bool HALF = false> __device__ inline void dft(Number *v, Number w = {1, 0}) {
    const int R = 1 << LOG;
    Number x[R], powers[LOG + 1];
    powers[LOG] = w;
#pragma unroll
    for (int l = LOG; l > 1; l--) powers[l - 1] = powers[l] * powers[l];
#pragma unroll
    for (int i = 0; i < R; i++) {
        int reversed = 0;
#pragma unroll
        for (int b = 0; b < LOG; b++) reversed |= (i >> b & 1) << (LOG - 1 - b);
        x[i] = v[reversed];
    }
#pragma unroll
    for (int l = 1; l <= LOG; l++) {
        const int n = 1 << l;
#pragma unroll
        for (int k = 0; k < n / 2; k++) {
            // exp(-+ 2 pi i k / n) is a sixteenth's power, the second quarter of which are the first, turned.
            const int q = 16 / n * k & 3;
            const bool turned = 16 / n * k >= 4;
            Number f = powers[l];
            if (q) f = TWIDDLED ? f * sixteenth<BACK>(q) : sixteenth<BACK>(q);
            if (turned) f = quarter<BACK>(f);
#pragma unroll
            for (int at = k; at < R; at += n) {
                Number &a = x[at], &b = x[at + n / 2];
                if (HALF && l == 1) {
                    b = a;
                } else if (TWIDDLED || q) {
                    butterfly(a, b, f);
                } else {
                    if (turned) b = quarter<BACK>(b);
                    butterfly(a, b);
                }
            }
        }
    }
#pragma unroll
    for (int k = 0; k < R; k++) v[k] = x[k];
}

// The lowest `count` digits of base 16, in reverse.
__device__ inline int reverse(int digits, int count) {
    int r = 0;
    for (int i = 0; i < count; i++) r = r << 4 | (digits >> 4 * i & 15);
    return r;
}

// A line of 2^LOG elements, transformed by 2^LOG / 16 threads; thread t holds elements t + j * 2^LOG / 16 before a forward
// and after a backward transform, and 16 t + j in between, in digit-reversed order. A thread writes where it has read, so
// that there is one barrier an exchange and none between a backward transform and the next forward one.
template <int LOG> struct Line {
    static constexpr int N = 1 << LOG, THREADS = N / 16, PASSES = (LOG + 3) / 4;
    static constexpr int LAST = LOG - 4 * (PASSES - 1);  // log2 of the last pass's radix
    static constexpr int NUMBERS = N + N / 16;

    // The first pass of a forward transform; with `HALF`, v[8] to v[15] are taken as 0.
    template <bool HALF> static __device__ inline void first(Number (&v)[16]) { dft<false, 4, false, HALF>(v); }

    // The other passes. `roots`: exp(-2 pi i k / N).
    static __device__ inline void forward(Number (&v)[16], Number *shared, const Number *roots, int t) {
#pragma unroll
        for (int pass = 1; pass < PASSES - 1; pass++) {
            const int stride = N >> (4 * (pass + 1));
            Number w = load_constant(roots + (reverse(t / stride, pass) << (LOG - 4 * (pass + 1))));
            exchange(v, shared, t, 16 * stride, stride);
            dft<false, 4, true>(v, w);
        }
        Number w = load_constant(roots + reverse(t << (4 - LAST), PASSES - 1));
        exchange(v, shared, t, 1 << LAST, 1);
#pragma unroll
        for (int g = 0; g < 16 >> LAST; g++) dft<false, LAST, true>(v + (g << LAST), g ? w * group(g) : w);
    }

    static __device__ inline void backward(Number (&v)[16], Number *shared, const Number *roots, int t) {
#pragma unroll
        for (int g = 0; g < 16; g += 1 << LAST) dft<true, LAST, false>(v + g);
#pragma unroll
        for (int pass = PASSES - 2; pass >= 0; pass--) {
            const int stride = N >> (4 * (pass + 1));
            Number w = load_constant(roots + ((t % stride) << (4 * pass)));
            exchange(v, shared, t, pass + 1 < PASSES - 1 ? stride / 16 : 1, stride);
            dft<true, 4, true>(v, conj(w));
        }
    }

    // exp(-2 pi i g / (16 * 2^LAST)): from the first of a thread's last-pass groups to the others.
    static __device__ inline Number group(int g) {
        // Cosines of 2 pi k / 64.
        const float c[17] = {1, 0.99518472667219693f, 0.98078528040323043f, 0.95694033573220882f, 0.92387953251128674f,
            0.88192126434835505f, 0.83146961230254524f, 0.77301045336273699f, 0.70710678118654752f, 0.63439328416364549f,
            0.55557023301960218f, 0.47139673682599764f, 0.38268343236508977f, 0.29028467725446233f, 0.19509032201612825f,
            0.09801714032956060f, 0};
        if (LAST == 3) return {0.99879545620517241f, -0.04906767432741802f};
        const int k = LAST == 2 ? g : 2 * g;
        return {c[k], -c[16 - k]};
    }

    // From the elements of one pass to those of another, given by their strides.
    static __device__ inline void exchange(Number (&v)[16], Number *shared, int t, int from, int to) {
        Number *write = shared + base(t, from), *read = shared + base(t, to);
#pragma unroll
        for (int j = 0; j < 16; j++) write[offset(from, j)] = v[j];
        // The elements of so many threads, next to each other, change places.
        if (max(from, to) <= 32) __syncwarp();
        else __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; j++) v[j] = read[offset(to, j)];
    }

    // Where a pass's elements lie: a gap after every 16 keeps all strides free of bank conflicts.
    static __device__ inline int base(int t, int stride) {
        int first = (t / stride) * stride * 16 + t % stride;
        return first + (first >> 4);
    }
    static __device__ inline constexpr int offset(int stride, int j) { return j * stride + (j * stride >> 4); }
};

}  // namespace fft
