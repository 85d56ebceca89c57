// Parts of a Toeplitz product's middle: a block's lines, forward and backward along the last axis, in shared memory.
#pragma once
#include "../common/fft_lines.cuh"

// Mirrors `Arguments` in crates/nufft/src/gpu/toeplitz.rs.
struct Toeplitz {
    FftLine line;
    // Along the lines; the first `window.count` positions are there, and are replaced.
    FftWindow window;
    // Element (batch, outer, inner) of the lines begins at inner + outer * outer_stride + batch * batch_stride.
    void *grid;
    long long outer_stride, batch_stride;
    // Frequency k of line (batch, outer, inner) is at inner + outer * spectrum_outer + batch * spectrum_batch + k * spectrum_stride; of
    // a matrix, at inner * spectrum_batch + outer * spectrum_outer + k * spectrum_stride.
    const void *spectrum;
    long long spectrum_outer, spectrum_batch;
    int spectrum_stride;
    int inner, outer, batches;
    // Lines of a block (2^log_width), and blocks of an outer index.
    int width, log_width, chunks;
    // Of a matrix of products between images: where its imaginary parts begin; 0 for none.
    int imaginary;
};
static_assert(sizeof(Toeplitz) == 264);

template <class T> struct ToeplitzLine {
    const Toeplitz &p;
    Complex<T> *grid;
    // Lines that are there.
    int room;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
#pragma unroll
        for (int r = 0; r < R; r++) {
            int at = position + r * stride;
            bool there = line < room && at < p.window.count;
            v[r] = there ? grid[line + (long long)at * p.window.stride] : Complex<T>{0, 0};
        }
    }
    template <int R> __device__ inline void store(const Complex<T> *v, int line, int position, int stride) const {
        if (line >= room) return;
#pragma unroll
        for (int r = 0; r < R; r++) {
            int at = position + r * stride;
            if (at < p.window.count) grid[line + (long long)at * p.window.stride] = conj(v[r]);
        }
    }
};

template <class T, class Lines, class Global> struct ToeplitzForward {
    const Toeplitz &p;
    const Global &global;
    const Lines &lines;
    Complex<T> *shared;
    int k;

    // The last pass is another function's.
    struct None {
        template <int R> __device__ inline void run(Complex<T> *, int, int, int) const {}
    };
    template <int R> __device__ inline void run() const {
        fft_pass<R>(p.line, k, lines, shared, global, None{});
    }
};

// Decimation in time: the passes in reverse, factors in front.
template <class T, class Lines, class Global> struct ToeplitzBackward {
    const Toeplitz &p;
    const Global &global;
    const Lines &lines;
    Complex<T> *shared;
    int k;

    template <int R> __device__ inline void run() const {
        const FftPass pass = p.line.pass[k];
        const int all = lines.butterflies(pass);
#pragma unroll 1
        for (int b = threadIdx.x; b < all; b += blockDim.x) {
            int line, q;
            lines.butterfly(b, pass, line, q);
            int block = k ? divide(q, pass.by_stride) : 0, j = q - block * pass.stride;
            int position = block * pass.stride * R + j;
            Complex<T> v[R];
            lines.template each<R, T>(line, position, pass.stride, [&](int r, int at) { v[r] = shared[at]; });
            twiddle<R>(v, static_cast<const Complex<T> *>(p.line.roots)[j * pass.step]);
            Dft<R, T>::run(v);
            if (k == 0) global.template store<R>(v, line, position, pass.stride);
            else lines.template each<R, T>(line, position, pass.stride, [&](int r, int at) { shared[at] = v[r]; });
        }
    }
};
