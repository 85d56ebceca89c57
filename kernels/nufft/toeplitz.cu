// The middle of a Toeplitz product: forward along the last axis, times a spectrum, backward along it, without leaving the chip.
#include "toeplitz.cuh"

// Last pass forward, spectrum, first pass backward: the butterflies are the same ones.
template <class T> struct ToeplitzMiddle {
    const Toeplitz &p;
    const ToeplitzLine<T> &global;
    const FftLines<false> &lines;
    Complex<T> *shared;
    // Of the block's first line.
    long long spectrum;

    template <int R> __device__ inline void run() const {
        const FftPass pass = p.line.pass[p.line.passes - 1];
        const int all = pass.count * p.width;
#pragma unroll 1
        for (int b = threadIdx.x; b < all; b += blockDim.x) {
            int line, q;
            lines.butterfly(b, pass, line, q);
            const bool there = line < global.room;
            const long long first = spectrum + line + (long long)q * p.spectrum_stride;
            const int step = pass.count * p.spectrum_stride;
            int position = __ldg(p.line.order + q) * R;
            Complex<T> v[R];
            if (p.line.passes == 1) global.template run<R>(v, line, 0, 1);
            else lines.template each<R, T>(line, position, 1, [&](int r, int at) { v[r] = shared[at]; });
            Dft<R, T>::run(v);
#pragma unroll
            for (int r = 0; r < R; r++)
                if (there) v[r] = v[r] * static_cast<const T *>(p.spectrum)[first + (long long)r * step];
#pragma unroll
            for (int r = 0; r < R; r++) v[r] = conj(v[r]);
            Dft<R, T>::run(v);
            if (p.line.passes == 1) global.template store<R>(v, line, 0, 1);
            else lines.template each<R, T>(line, position, 1, [&](int r, int at) { shared[at] = v[r]; });
        }
    }
};

template <class T> __device__ inline void toeplitz(const Toeplitz &p) {
    extern __shared__ char bytes[];
    Complex<T> *shared = reinterpret_cast<Complex<T> *>(bytes);
    const FftLines<false> lines = {p.width, p.log_width, p.line.length};
    // Batches first: they may share the spectrum.
    unsigned place = blockIdx.x / p.batches, batch = blockIdx.x - place * p.batches;
    unsigned outer = place / p.chunks, inner = (place - outer * p.chunks) * p.width;
    Complex<T> *grid = static_cast<Complex<T> *>(p.grid) + inner + outer * p.outer_stride + batch * p.batch_stride;
    const long long spectrum = inner + outer * p.spectrum_outer + batch * p.spectrum_batch;
    const ToeplitzLine<T> global = {p, grid, (int)(p.inner - inner)};
    const int last = p.line.passes - 1;
#pragma unroll 1
    for (int k = 0; k < last; k++) {
        with_radix(p.line.pass[k].radix, ToeplitzForward<T, FftLines<false>, ToeplitzLine<T>>{p, global, lines, shared, k});
        __syncthreads();
    }
    with_radix(p.line.pass[last].radix, ToeplitzMiddle<T>{p, global, lines, shared, spectrum});
#pragma unroll 1
    for (int k = last - 1; k >= 0; k--) {
        __syncthreads();
        with_radix(p.line.pass[k].radix, ToeplitzBackward<T, FftLines<false>, ToeplitzLine<T>>{p, global, lines, shared, k});
    }
}

// Mirrors `RealPart` in crates/nufft/src/gpu/toeplitz.rs.
struct RealPart {
    const void *from;
    void *to;
    // `to` has the numbers so many apart.
    long long count, stride;
};
static_assert(sizeof(RealPart) == 32);

template <class T> __device__ inline void real_part(const RealPart &p) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step)
        static_cast<T *>(p.to)[i * p.stride] = static_cast<const Complex<T> *>(p.from)[i].x;
}

extern "C" __global__ void __launch_bounds__(256) toeplitz_real_part_f32(const __grid_constant__ RealPart p) { real_part<float>(p); }
extern "C" __global__ void __launch_bounds__(256) toeplitz_real_part_f64(const __grid_constant__ RealPart p) { real_part<double>(p); }

#define TOEPLITZ(name, type, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Toeplitz p) { toeplitz<type>(p); }

TOEPLITZ(toeplitz_f32, float, 320, 3)
// Of columns that take most of a multiprocessor's shared memory.
TOEPLITZ(toeplitz_wide_f32, float, 512, 1)
TOEPLITZ(toeplitz_f64, double, 256, 2)
