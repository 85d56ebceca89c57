// Discrete Fourier transforms of 2 to 16 elements in a thread's registers, in single or double precision, forward:
// exp(-2 pi i j k / R): the butterflies of which fft_lines.cuh makes lines. Backward transforms are conj(forward(conj)).
#pragma once
#include "complex.cuh"

// cos and sin of 2 pi k / R.
template <int R> struct Circle {
    double c[R], s[R];

    __host__ __device__ constexpr Circle() : c(), s() {
        for (int k = 0; k < R; k++) {
            // The angle in eighths of a turn and what is left of it, within an eighth of either side.
            int quarters = (4 * k + R / 2) / R;
            double rest = 6.283185307179586476925 * (4 * k - quarters * R) / (4.0 * R);
            double cosine = 0, sine = 0, term = 1;
            for (int n = 0; n < 24; n += 2) {
                cosine += n % 4 ? -term : term;
                term *= rest / (n + 1);
                sine += n % 4 ? -term : term;
                term *= rest / (n + 2);
            }
            const double turned_c[4] = {cosine, -sine, -cosine, sine}, turned_s[4] = {sine, cosine, -sine, -cosine};
            c[k] = turned_c[quarters % 4];
            s[k] = turned_s[quarters % 4];
        }
    }
};

// v[k] = sum over j of v[j] exp(-2 pi i j k / R).
template <int R, class T> struct Dft;

template <class T> struct Dft<2, T> {
    static __device__ inline void run(Complex<T> *v) {
        Complex<T> a = v[0], b = v[1];
        v[0] = a + b;
        v[1] = a - b;
    }
};

template <class T> struct Dft<4, T> {
    static __device__ inline void run(Complex<T> *v) {
        Complex<T> a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = v[1] - v[3];
        v[0] = a + c;
        v[1] = {b.x + d.y, b.y - d.x};
        v[2] = a - c;
        v[3] = {b.x - d.y, b.y + d.x};
    }
};

// Odd primes: elements j and R - j together.
template <int R, class T> struct OddDft {
    static __device__ inline void run(Complex<T> *v) {
        constexpr Circle<R> w;
        const int H = R / 2;
        Complex<T> sum[H], difference[H], first = v[0];
#pragma unroll
        for (int j = 1; j <= H; j++) {
            sum[j - 1] = v[j] + v[R - j];
            difference[j - 1] = v[j] - v[R - j];
            v[0] = v[0] + sum[j - 1];
        }
#pragma unroll
        for (int k = 1; k <= H; k++) {
            Complex<T> even = first, odd = {0, 0};
#pragma unroll
            for (int j = 1; j <= H; j++) {
                T c = T(w.c[j * k % R]), s = T(w.s[j * k % R]);
                even = {fma(c, sum[j - 1].x, even.x), fma(c, sum[j - 1].y, even.y)};
                odd = {fma(s, difference[j - 1].x, odd.x), fma(s, difference[j - 1].y, odd.y)};
            }
            v[k] = {even.x + odd.y, even.y - odd.x};
            v[R - k] = {even.x - odd.y, even.y + odd.x};
        }
    }
};
template <class T> struct Dft<3, T> : OddDft<3, T> {};
template <class T> struct Dft<5, T> : OddDft<5, T> {};
template <class T> struct Dft<7, T> : OddDft<7, T> {};

// A * B elements: B transforms of A, factors, A transforms of B.
template <int A, int B, class T> struct ProductDft {
    static __device__ inline void run(Complex<T> *v) {
        constexpr int R = A * B;
        constexpr Circle<R> w;
        Complex<T> x[R];
#pragma unroll
        for (int b = 0; b < B; b++) {
            Complex<T> part[A];
#pragma unroll
            for (int a = 0; a < A; a++) part[a] = v[B * a + b];
            Dft<A, T>::run(part);
#pragma unroll
            for (int a = 0; a < A; a++) x[B * a + b] = turned(part[a], w, a * b);
        }
#pragma unroll
        for (int a = 0; a < A; a++) {
            Dft<B, T>::run(x + B * a);
#pragma unroll
            for (int b = 0; b < B; b++) v[a + A * b] = x[B * a + b];
        }
    }

    // v exp(-2 pi i k / R), where k is a constant once loops are unrolled.
    static __device__ inline Complex<T> turned(Complex<T> v, const Circle<A * B> &w, int k) {
        if (k == 0) return v;
        if (4 * k == A * B) return {v.y, -v.x};
        if (2 * k == A * B) return {-v.x, -v.y};
        if (8 * k == A * B) return Complex<T>{v.x + v.y, v.y - v.x} * T(w.c[k]);
        if (8 * k == 3 * A * B) return Complex<T>{v.y - v.x, -v.x - v.y} * T(w.s[k]);
        return v * Complex<T>{T(w.c[k]), T(-w.s[k])};
    }
};
template <class T> struct Dft<6, T> : ProductDft<2, 3, T> {};
template <class T> struct Dft<8, T> : ProductDft<2, 4, T> {};
template <class T> struct Dft<9, T> : ProductDft<3, 3, T> {};
template <class T> struct Dft<10, T> : ProductDft<2, 5, T> {};
template <class T> struct Dft<12, T> : ProductDft<3, 4, T> {};
template <class T> struct Dft<16, T> : ProductDft<4, 4, T> {};

// v[k] *= w^k
template <int R, class T> __device__ inline void twiddle(Complex<T> *v, Complex<T> w) {
    Complex<T> power[R];
    power[1] = w;
    v[1] = v[1] * w;
#pragma unroll
    for (int k = 2; k < R; k++) {
        power[k] = power[k / 2] * power[k - k / 2];
        v[k] = v[k] * power[k];
    }
}
