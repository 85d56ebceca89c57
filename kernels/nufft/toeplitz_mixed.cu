// The same for a Hermitian matrix of Toeplitz products between images: forward along the last axis, the matrix of spectra at each frequency,
// backward. A block has the same lines of all images, one image's behind the other's in shared memory.
#include "toeplitz.cuh"

// Lines of all images.
template <class T> struct MixedLines {
    const Toeplitz &p;
    const FftSeveral &lines;
    Complex<T> *grid;
    // Lines that are there.
    int room;

    __device__ inline ToeplitzLine<T> of(int line) const { return {p, grid + lines.image(line) * p.batch_stride, room}; }
    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        of(line).template run<R>(v, lines.within(line), position, stride);
    }
    template <int R> __device__ inline void store(const Complex<T> *v, int line, int position, int stride) const {
        of(line).template store<R>(v, lines.within(line), position, stride);
    }
};

// The last pass forward, to shared memory, or the first one backward, from there; conjugates go in.
template <class T, bool FORWARD> struct MixedTurn {
    const Toeplitz &p;
    const MixedLines<T> &global;
    const FftSeveral &lines;
    Complex<T> *shared;

    template <int R> __device__ inline void run() const {
        const FftPass pass = p.line.pass[p.line.passes - 1];
        const int all = lines.butterflies(pass);
        const bool alone = p.line.passes == 1;
#pragma unroll 1
        for (int b = threadIdx.x; b < all; b += blockDim.x) {
            int line, q;
            lines.butterfly(b, pass, line, q);
            const int position = __ldg(p.line.order + q) * R;
            Complex<T> v[R];
            if (FORWARD && alone) global.template run<R>(v, line, 0, 1);
            else lines.template each<R, T>(line, position, 1, [&](int r, int at) { v[r] = shared[at]; });
            Dft<R, T>::run(v);
            if (!FORWARD && alone) global.template store<R>(v, line, 0, 1);
            else lines.template each<R, T>(line, position, 1, [&](int r, int at) { shared[at] = v[r]; });
        }
    }
};

// Numbers first to first + count - 1 of some that begin at a multiple of 16 bytes, in as many accesses as they touch such; the first of
// them is to[first % W]. Both are known when loops are unrolled.
template <class T, int W, int ROOM> __device__ inline void read_sixteens(const T *from, int first, int count, T (&to)[ROOM]) {
#pragma unroll
    for (int j = 0; j < ROOM / W; j++) {
        if (j > (first % W + count - 1) / W) break;
        const int4 bytes = __ldg(reinterpret_cast<const int4 *>(from) + first / W + j);
        const T *numbers = reinterpret_cast<const T *>(&bytes);
#pragma unroll
        for (int i = 0; i < W; i++) to[j * W + i] = numbers[i];
    }
}

// Replaces the images' values at each frequency by the conjugates of the matrix times them. A frequency's numbers lie together: real
// parts of pairs (k, l), k at most l, column after column, from `imaginary` on the imaginary parts of those with k below l.
template <class T, int MOST> __device__ inline void mix(const Toeplitz &p, Complex<T> *shared, int region, int room, const T *spectrum) {
    constexpr int W = 16 / sizeof(T), ROOM = (MOST + 2 * W - 2) / W * W;
    const FftPass pass = p.line.pass[p.line.passes - 1];
    const int all = p.line.length * p.width, images = p.batches;
    const bool complex = p.imaginary;
#pragma unroll 1
    for (int b = threadIdx.x; b < all; b += blockDim.x) {
        const int line = b & (p.width - 1);
        if (line >= room) continue;
        // Of all butterflies element 0 first, so that neighbours in the warp read neighbours of a spectrum.
        const int element = b >> p.log_width, r = divide(element, pass.by_count), q = element - r * pass.count;
        Complex<T> *at = shared + ((__ldg(p.line.order + q) * pass.radix + r) << p.log_width) + line;
        const T *real = spectrum + line * p.spectrum_batch + (long long)element * p.spectrum_stride;
        const T *imaginary = real + p.imaginary;
        // Columns of the matrix; where registers suffice the one after that in use too, so that accesses overlap.
        constexpr int COLUMNS = sizeof(T) * MOST <= 64 ? 2 : 1;
        T re[COLUMNS][ROOM], im[COLUMNS][ROOM];
        const auto fetch = [&](int l) {
            if (l >= MOST || l >= images) return;
            read_sixteens<T, W>(real, l * (l + 1) / 2, l + 1, re[l % COLUMNS]);
            if (l && complex) read_sixteens<T, W>(imaginary, l * (l - 1) / 2, l, im[l % COLUMNS]);
        };
        if (COLUMNS == 2) fetch(0);
        Complex<T> v[MOST], sum[MOST];
#pragma unroll
        for (int k = 0; k < MOST; k++) {
            v[k] = k < images ? at[k * region] : Complex<T>{0, 0};
            sum[k] = {0, 0};
        }
#pragma unroll
        for (int l = 0; l < MOST; l++) {
            if (l >= images) break;
            fetch(l + COLUMNS - 1);
            const T *a = re[l % COLUMNS] + l * (l + 1) / 2 % W;
#pragma unroll
            for (int k = 0; k < l; k++) {
                sum[k] = sum[k] + v[l] * a[k];
                sum[l] = sum[l] + v[k] * a[k];
            }
            sum[l] = sum[l] + v[l] * a[l];
            if (l == 0 || !complex) continue;
            const T *i = im[l % COLUMNS] + l * (l - 1) / 2 % W;
#pragma unroll
            for (int k = 0; k < l; k++) {
                sum[k] = sum[k] + Complex<T>{-v[l].y, v[l].x} * i[k];
                sum[l] = sum[l] + Complex<T>{v[k].y, -v[k].x} * i[k];
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
    const FftSeveral lines = {p.width, p.log_width, p.line.length, p.batches};
    const int last = p.line.passes - 1;
    unsigned outer = blockIdx.x / p.chunks, inner = (blockIdx.x - outer * p.chunks) * p.width;
    Complex<T> *grid = static_cast<Complex<T> *>(p.grid) + inner + outer * p.outer_stride;
    const T *spectrum = static_cast<const T *>(p.spectrum) + inner * p.spectrum_batch + outer * p.spectrum_outer;
    const int room = p.inner - inner;
    const MixedLines<T> global = {p, lines, grid, room};
#pragma unroll 1
    for (int k = 0; k < last; k++) {
        with_radix(p.line.pass[k].radix, ToeplitzForward<T, FftSeveral, MixedLines<T>>{p, global, lines, shared, k});
        __syncthreads();
    }
    with_radix(p.line.pass[last].radix, MixedTurn<T, true>{p, global, lines, shared});
    __syncthreads();
    mix<T, MOST>(p, shared, p.width * p.line.length, room, spectrum);
    __syncthreads();
    with_radix(p.line.pass[last].radix, MixedTurn<T, false>{p, global, lines, shared});
#pragma unroll 1
    for (int k = last - 1; k >= 0; k--) {
        __syncthreads();
        with_radix(p.line.pass[k].radix, ToeplitzBackward<T, FftSeveral, MixedLines<T>>{p, global, lines, shared, k});
    }
}

#define TOEPLITZ_MIXED(name, type, most, threads) \
    extern "C" __global__ void __launch_bounds__(threads, 1) name(const __grid_constant__ Toeplitz p) { toeplitz_mixed<type, most>(p); }

TOEPLITZ_MIXED(toeplitz_mixed_8_f32, float, 8, 512)
TOEPLITZ_MIXED(toeplitz_mixed_16_f32, float, 16, 256)
TOEPLITZ_MIXED(toeplitz_mixed_8_f64, double, 8, 256)
TOEPLITZ_MIXED(toeplitz_mixed_16_f64, double, 16, 256)
