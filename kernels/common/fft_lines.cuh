// Fourier transforms of many lines of a grid, of a length that is a product of small factors, by a block for a few lines.
//
// A line goes through a few passes of butterflies, each in registers, in place in shared memory in between: the first pass reads
// the line from global memory and the last one writes it there (decimation in frequency, factors behind each butterfly). Between
// passes elements are in mixed-radix digit-reversed order, so that the last pass's butterflies meet wanted frequencies that are
// 1 / radix of the line apart, and nothing is ever reordered. Lines either lie along the fastest axis (`ALONG`) or across it; in
// the latter case a block takes neighbours, so that global memory is read and written in whole sectors.
#pragma once
#include "dft.cuh"

// Mirrors `DevicePass` in crates/base/src/gpu/fft/line.rs.
struct FftPass {
    // Of a butterfly; its elements are `stride` apart; `count` butterflies make a line.
    int radix, stride, count;
    // roots[j * step] = exp(-2 pi i j / (radix * stride)).
    int step;
    // To divide by: see `divide`.
    unsigned by_stride, by_count;
};
static_assert(sizeof(FftPass) == 24);

// Mirrors `DeviceLine` in crates/base/src/gpu/fft/line.rs.
struct FftLine {
    // exp(-2 pi i k / length), k < length
    const void *roots;
    // The place (in units of the last pass's radix) where the last pass finds frequencies q, q + count, ...
    const unsigned short *order;
    int length, passes;
    FftPass pass[6];
};
static_assert(sizeof(FftLine) == 168);

// n / d for n, d < 2^16, by a number that is 2^32 / d, rounded up (0 for d = 1).
__device__ inline int divide(int n, unsigned by) { return by ? __umulhi(n, by) : n; }

// The part of a line that an array holds: `count` positions from `start` on, cyclically.
// Mirrors `DeviceWindow` in crates/base/src/gpu/fft/line.rs.
struct FftWindow {
    // Elements from one to the next, in the array.
    int stride;
    int start, count;
    // Non-zero: the array has room for all positions; zero: it begins with the one at `start`.
    int whole;

    // Which of the window's elements position p is; `count` or more for none.
    __device__ inline unsigned element(int length, int p) const {
        unsigned t = p - start;
        return min(t, t + length);
    }
};
static_assert(sizeof(FftWindow) == 16);

// The lines of a block in shared memory, and which of them a butterfly belongs to.
template <bool ALONG> struct FftLines {
    // Lines of a block; across: a power of 2, given by its logarithm too.
    int width, log_width, length;

    __device__ inline int butterflies(const FftPass &pass) const { return pass.count * width; }
    __device__ inline void butterfly(int b, const FftPass &pass, int &line, int &q) const {
        if (ALONG) {
            line = divide(b, pass.by_count);
            q = b - line * pass.count;
        } else {
            line = b & (width - 1);
            q = b >> log_width;
        }
    }

    // Calls f(r, place of element r of a butterfly in shared memory). Along, gaps keep most strides free of bank conflicts;
    // across, neighbours are.
    template <int R, class T, class F> __device__ inline void each(int line, int position, int stride, const F &f) const {
        const int SHIFT = sizeof(T) == 4 ? 4 : 3, GAP = 1 << SHIFT;
        const int first = ALONG ? line * length + position : (position << log_width) + line;
        const int step = ALONG ? stride : stride << log_width;
        // The gaps between elements are the same everywhere, or there are none.
        if (!ALONG || step % GAP == 0 || (R == GAP && step == 1 && length % GAP == 0)) {
            const int start = ALONG ? first + (first >> SHIFT) : first, apart = ALONG ? step + step / GAP : step;
#pragma unroll
            for (int r = 0; r < R; r++) f(r, start + r * apart);
        } else {
#pragma unroll
            for (int r = 0; r < R; r++) f(r, first + r * step + ((first + r * step) >> SHIFT));
        }
    }
};

// Lines across of several images, each image's as `FftLines` has them, one image behind the other.
struct FftSeveral {
    // Lines of an image; a power of 2, given by its logarithm too.
    int width, log_width, length, images;

    __device__ inline int butterflies(const FftPass &pass) const { return images * pass.count << log_width; }
    __device__ inline void butterfly(int b, const FftPass &pass, int &line, int &q) const {
        const int image = divide(b >> log_width, pass.by_count);
        q = (b >> log_width) - image * pass.count;
        line = (image << log_width) + (b & (width - 1));
    }
    __device__ inline int image(int line) const { return line >> log_width; }
    __device__ inline int within(int line) const { return line & (width - 1); }
    template <int R, class T, class F> __device__ inline void each(int line, int position, int stride, const F &f) const {
        const int start = ((image(line) * length + position) << log_width) + within(line), apart = stride << log_width;
#pragma unroll
        for (int r = 0; r < R; r++) f(r, start + r * apart);
    }
};

// Lines across, as many as there are, whose number need not be a power of 2.
struct FftBand {
    int width;
    // To divide by the width: see `divide`.
    unsigned by_width;

    __device__ inline int butterflies(const FftPass &pass) const { return pass.count * width; }
    __device__ inline void butterfly(int b, const FftPass &, int &line, int &q) const {
        q = divide(b, by_width);
        line = b - q * width;
    }
    template <int R, class T, class F> __device__ inline void each(int line, int position, int stride, const F &f) const {
        const int start = position * width + line, apart = stride * width;
#pragma unroll
        for (int r = 0; r < R; r++) f(r, start + r * apart);
    }
};

// One pass of butterflies; `load` is called in the first pass, as load.run<R>(v, line, position, stride), and `store` in the
// last.
template <int R, class Lines, class T, class Load, class Store>
__device__ inline void fft_pass(
    const FftLine &l, int k, const Lines &lines, Complex<T> *shared, const Load &load, const Store &store) {
    const FftPass pass = l.pass[k];
    const bool first = k == 0, last = k + 1 == l.passes;
    const int all = lines.butterflies(pass);
#pragma unroll 1
    for (int b = threadIdx.x; b < all; b += blockDim.x) {
        int line, q;
        lines.butterfly(b, pass, line, q);
        int block = last ? __ldg(l.order + q) : first ? 0 : divide(q, pass.by_stride);
        int j = last ? 0 : q - block * pass.stride;
        int position = block * pass.stride * R + j;
        Complex<T> v[R];
        if (first) load.template run<R>(v, line, position, pass.stride);
        else lines.template each<R, T>(line, position, pass.stride, [&](int r, int at) { v[r] = shared[at]; });
        Dft<R, T>::run(v);
        if (last) {
            store.template run<R>(v, line, q, pass.count);
        } else {
            twiddle<R>(v, static_cast<const Complex<T> *>(l.roots)[j * pass.step]);
            lines.template each<R, T>(line, position, pass.stride, [&](int r, int at) { shared[at] = v[r]; });
        }
    }
}

// Calls `run<R>` of a pass for the radix that it has.
template <class Pass> __device__ inline void with_radix(int radix, const Pass &pass) {
    switch (radix) {
        case 2: return pass.template run<2>();
        case 3: return pass.template run<3>();
        case 4: return pass.template run<4>();
        case 5: return pass.template run<5>();
        case 6: return pass.template run<6>();
        case 7: return pass.template run<7>();
        case 8: return pass.template run<8>();
        case 9: return pass.template run<9>();
        case 10: return pass.template run<10>();
        case 12: return pass.template run<12>();
        case 16: return pass.template run<16>();
    }
}

template <class Lines, class T, class Load, class Store> struct FftPassOf {
    const FftLine &line;
    const Lines &lines;
    Complex<T> *shared;
    const Load &load;
    const Store &store;
    int k;

    template <int R> __device__ inline void run() const { fft_pass<R>(line, k, lines, shared, load, store); }
};

// All passes of a block's lines, by way of so much shared memory.
template <class T, class Lines, class Load, class Store>
__device__ inline void
fft_transform(const FftLine &line, const Lines &lines, Complex<T> *shared, const Load &load, const Store &store) {
#pragma unroll 1
    for (int k = 0; k < line.passes; k++) {
        if (k) __syncthreads();
        with_radix(line.pass[k].radix, FftPassOf<Lines, T, Load, Store>{line, lines, shared, load, store, k});
    }
}

template <class T, bool ALONG, class Load, class Store>
__device__ inline void fft_transform(const FftLine &line, const FftLines<ALONG> &lines, const Load &load, const Store &store) {
    extern __shared__ char fft_shared[];
    fft_transform(line, lines, reinterpret_cast<Complex<T> *>(fft_shared), load, store);
}
