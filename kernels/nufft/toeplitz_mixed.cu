// The same for a Hermitian matrix of Toeplitz products between images: forward along the last axis, the matrix of spectra at each frequency,
// backward. A block has the same lines of all images, one image's behind the other's in shared memory.
#include "toeplitz.cuh"

// The last pass forward, to shared memory.
template <class T> struct MixedLast {
    const Toeplitz &p;
    const ToeplitzLine<T> &global;
    const FftLines<false> &lines;
    Complex<T> *shared;

    template <int R> __device__ inline void run() const {
        const FftPass pass = p.line.pass[p.line.passes - 1];
        const int all = pass.count * p.width;
#pragma unroll 1
        for (int b = threadIdx.x; b < all; b += blockDim.x) {
            int line, q;
            lines.butterfly(b, pass, line, q);
            int position = __ldg(p.line.order + q) * R;
            Complex<T> v[R];
            if (p.line.passes == 1) global.template run<R>(v, line, 0, 1);
            else lines.template each<R, T>(line, position, 1, [&](int r, int at) { v[r] = shared[at]; });
            Dft<R, T>::run(v);
            lines.template each<R, T>(line, position, 1, [&](int r, int at) { shared[at] = v[r]; });
        }
    }
};

// The first pass backward, from there; conjugates go in.
template <class T> struct MixedFirst {
    const Toeplitz &p;
    const ToeplitzLine<T> &global;
    const FftLines<false> &lines;
    Complex<T> *shared;

    template <int R> __device__ inline void run() const {
        const FftPass pass = p.line.pass[p.line.passes - 1];
        const int all = pass.count * p.width;
#pragma unroll 1
        for (int b = threadIdx.x; b < all; b += blockDim.x) {
            int line, q;
            lines.butterfly(b, pass, line, q);
            int position = __ldg(p.line.order + q) * R;
            Complex<T> v[R];
            lines.template each<R, T>(line, position, 1, [&](int r, int at) { v[r] = shared[at]; });
            Dft<R, T>::run(v);
            if (p.line.passes == 1) global.template store<R>(v, line, 0, 1);
            else lines.template each<R, T>(line, position, 1, [&](int r, int at) { shared[at] = v[r]; });
        }
    }
};

// Replaces the images' values at each frequency by the conjugates of the matrix times them: spectra are the real parts of the pairs
// (k, l), k at most l, row after row, `spectrum_batch` apart, then the imaginary parts of those with k below l.
template <class T, int MOST> __device__ inline void mix(const Toeplitz &p, Complex<T> *shared, int region, int room, long long spectrum) {
    const FftPass pass = p.line.pass[p.line.passes - 1];
    const int all = p.line.length * p.width, images = p.batches;
#pragma unroll 1
    for (int b = threadIdx.x; b < all; b += blockDim.x) {
        const int line = b & (p.width - 1);
        if (line >= room) continue;
        // Of all butterflies element 0 first, so that neighbours in the warp read neighbours of a spectrum.
        const int element = b >> p.log_width, r = divide(element, pass.by_count), q = element - r * pass.count;
        Complex<T> *at = shared + ((__ldg(p.line.order + q) * pass.radix + r) << p.log_width) + line;
        const T *real = static_cast<const T *>(p.spectrum) + spectrum + line + (long long)element * p.spectrum_stride;
        const T *imaginary = real + (long long)(images * (images + 1) / 2) * p.spectrum_batch;
        Complex<T> v[MOST], sum[MOST];
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            v[k] = k < images ? at[k * region] : Complex<T>{0, 0};
            sum[k] = {0, 0};
        }
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            if (k >= images) break;
            sum[k] = sum[k] + v[k] * __ldg(real);
            real += p.spectrum_batch;
#pragma unroll
            for (int l = k + 1; l < MOST; l++) {
                if (l >= images) break;
                const T a = __ldg(real);
                real += p.spectrum_batch;
                sum[k] = sum[k] + v[l] * a;
                sum[l] = sum[l] + v[k] * a;
                if (p.complex) {
                    const T i = __ldg(imaginary);
                    imaginary += p.spectrum_batch;
                    sum[k] = sum[k] + Complex<T>{-v[l].y, v[l].x} * i;
                    sum[l] = sum[l] + Complex<T>{v[k].y, -v[k].x} * i;
                }
            }
        }
#pragma unroll
        for (int k = 0; k < MOST; k++)
            if (k < images) at[k * region] = conj(sum[k]);
    }
}

template <class T, int MOST> __device__ inline void toeplitz_mixed(const Toeplitz &p) {
    extern __shared__ char bytes[];
    Complex<T> *shared = reinterpret_cast<Complex<T> *>(bytes);
    const FftLines<false> lines = {p.width, p.log_width, p.line.length};
    const int region = p.width * p.line.length, last = p.line.passes - 1;
    unsigned outer = blockIdx.x / p.chunks, inner = (blockIdx.x - outer * p.chunks) * p.width;
    Complex<T> *grid = static_cast<Complex<T> *>(p.grid) + inner + outer * p.outer_stride;
    const long long spectrum = inner + outer * p.spectrum_outer;
    const int room = p.inner - inner;
#pragma unroll 1
    for (int k = 0; k <= last; k++) {
#pragma unroll 1
        for (int image = 0; image < p.batches; image++) {
            const ToeplitzLine<T> global = {p, grid + image * p.batch_stride, room};
            Complex<T> *part = shared + image * region;
            if (k < last) with_radix(p.line.pass[k].radix, ToeplitzForward<T>{p, global, lines, part, k});
            else with_radix(p.line.pass[k].radix, MixedLast<T>{p, global, lines, part});
        }
        __syncthreads();
    }
    mix<T, MOST>(p, shared, region, room, spectrum);
#pragma unroll 1
    for (int k = last; k >= 0; k--) {
        __syncthreads();
#pragma unroll 1
        for (int image = 0; image < p.batches; image++) {
            const ToeplitzLine<T> global = {p, grid + image * p.batch_stride, room};
            Complex<T> *part = shared + image * region;
            if (k == last) with_radix(p.line.pass[k].radix, MixedFirst<T>{p, global, lines, part});
            else with_radix(p.line.pass[k].radix, ToeplitzBackward<T>{p, global, lines, part, k});
        }
    }
}

#define TOEPLITZ_MIXED(name, type, most) \
    extern "C" __global__ void __launch_bounds__(256, 1) name(const __grid_constant__ Toeplitz p) { toeplitz_mixed<type, most>(p); }

TOEPLITZ_MIXED(toeplitz_mixed_8_f32, float, 8)
TOEPLITZ_MIXED(toeplitz_mixed_16_f32, float, 16)
TOEPLITZ_MIXED(toeplitz_mixed_8_f64, double, 8)
TOEPLITZ_MIXED(toeplitz_mixed_16_f64, double, 16)
