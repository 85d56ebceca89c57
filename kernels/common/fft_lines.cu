// Fourier transforms along one axis of a grid, of windows of it: what is known to be zero is not read, what is not wanted is not
// written, and pointwise factors go along.
#include "fft_lines.cuh"

// Mirrors `Arguments` in src/gpu/fft/pass.rs.
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
};

template <bool ALONG, class T> struct FftLoad {
    const FftTask &task;
    const FftPlace &place;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        const FftWindow w = task.from;
        const int length = task.line.length;
        const long long base = line * task.in_strides[0];
        const Complex<T> *in = static_cast<const Complex<T> *>(task.in) + place.in + base;
        const unsigned count = line < place.room ? w.count : 0;
        if (w.whole && w.count == length) {
            const Complex<T> *from = in + (long long)position * w.stride;
            const int step = stride * w.stride;
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

template <bool ALONG, class T> struct FftStore {
    const FftTask &task;
    const FftPlace &place;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        if (line >= place.room) return;
        const FftWindow w = task.to;
        const int length = task.line.length;
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
            const int step = stride * w.stride;
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

template <bool ALONG, class T> struct FftTaskPass {
    const FftTask &task;
    const FftPlace &place;
    const FftLines<ALONG> &lines;
    Complex<T> *shared;
    int k;

    template <int R> __device__ inline void run() const {
        fft_pass<R>(task.line, k, lines, shared, FftLoad<ALONG, T>{task, place}, FftStore<ALONG, T>{task, place});
    }
};

template <bool ALONG, class T> __device__ inline void fft_lines(const FftTask &task) {
    extern __shared__ char bytes[];
    Complex<T> *shared = reinterpret_cast<Complex<T> *>(bytes);
    const FftLines<ALONG> lines = {task.width, task.log_width, task.line.length};
    unsigned rows = blockIdx.x / task.chunks, chunk = blockIdx.x - rows * task.chunks;
    unsigned first = rows / task.outer, outer = rows - first * task.outer;
    const int inner = chunk * task.width, last = ALONG && task.sum ? task.batches : first + 1;
#pragma unroll 1
    for (int batch = first; batch < last; batch++) {
        const long long in = inner * task.in_strides[0] + outer * task.in_strides[1];
        const long long out = inner * task.out_strides[0] + outer * task.out_strides[1], map = batch * task.map_stride;
        const FftPlace place = {in + batch * task.in_strides[2], out + (task.sum ? 0 : batch * task.out_strides[2]), in + map,
            out + map, task.inner - inner, task.sum == 2 || (task.sum && batch)};
#pragma unroll 1
        for (int k = 0; k < task.line.passes; k++) {
            if (k || batch > first) __syncthreads();
            with_radix(task.line.pass[k].radix, FftTaskPass<ALONG, T>{task, place, lines, shared, k});
        }
    }
}

#define FFT_LINES(name, along, type, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ FftTask task) { \
        fft_lines<along, type>(task); \
    }

FFT_LINES(fft_lines_along_f32, true, float, 512, 2)
FFT_LINES(fft_lines_across_f32, false, float, 512, 2)
FFT_LINES(fft_lines_along_f64, true, double, 256, 2)
FFT_LINES(fft_lines_across_f64, false, double, 256, 2)
