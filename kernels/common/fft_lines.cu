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
    // What loaded elements are multiplied by, the conjugate of what stored ones are: of the array's layout, with batches
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
    // Non-zero: batches are summed by each block, and added to what is there if it is 2.
    int sum;
};

// A batch's lines of a block.
struct FftPlace {
    // Of the block's first line.
    long long in, out, in_map, out_map;
    // Lines that are there.
    int room;
    bool add;
};

template <class T> struct FftLoad {
    const FftTask &task;
    const FftPlace &place;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        const FftWindow &w = task.from;
        const long long base = line * task.in_strides[0];
        const Complex<T> *in = static_cast<const Complex<T> *>(task.in) + place.in + base;
        const Complex<T> *map = static_cast<const Complex<T> *>(task.in_map) + place.in_map + base;
        const T sign = task.backward ? T(-1) : T(1);
        int index[R];
#pragma unroll
        for (int r = 0; r < R; r++) {
            int p = position + r * stride;
            index[r] = line < place.room ? window_index(w, task.line.length, p) : -1;
            v[r] = index[r] < 0 ? Complex<T>{0, 0} : in[(long long)(w.whole ? p : index[r]) * w.stride];
        }
        if (task.in_map) {
#pragma unroll
            for (int r = 0; r < R; r++)
                if (index[r] >= 0) v[r] = v[r] * map[(long long)(w.whole ? position + r * stride : index[r]) * w.stride];
        }
        if (task.in_factors) {
#pragma unroll
            for (int r = 0; r < R; r++)
                if (index[r] >= 0) v[r] = v[r] * __ldg(static_cast<const T *>(task.in_factors) + index[r]);
        }
#pragma unroll
        for (int r = 0; r < R; r++) v[r].y *= sign;
    }
};

template <class T> struct FftStore {
    const FftTask &task;
    const FftPlace &place;

    template <int R> __device__ inline void run(Complex<T> *v, int line, int position, int stride) const {
        if (line >= place.room) return;
        const FftWindow &w = task.to;
        const long long base = line * task.out_strides[0];
        Complex<T> *out = static_cast<Complex<T> *>(task.out) + place.out + base;
        const Complex<T> *map = static_cast<const Complex<T> *>(task.out_map) + place.out_map + base;
        const T scale = T(task.scale), imaginary = task.backward ? -scale : scale;
#pragma unroll
        for (int r = 0; r < R; r++) {
            int p = position + r * stride, index = window_index(w, task.line.length, p);
            if (index < 0) continue;
            long long to = (long long)(w.whole ? p : index) * w.stride;
            Complex<T> value = {v[r].x * scale, v[r].y * imaginary};
            if (task.out_factors) value = value * __ldg(static_cast<const T *>(task.out_factors) + index);
            if (task.out_map) value = value * conj(map[to]);
            if (place.add) value = value + out[to];
            out[to] = value;
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
        fft_pass<R>(task.line, k, lines, shared, FftLoad<T>{task, place}, FftStore<T>{task, place});
    }
};

template <bool ALONG, class T> __device__ inline void fft_lines(const FftTask &task) {
    extern __shared__ char bytes[];
    Complex<T> *shared = reinterpret_cast<Complex<T> *>(bytes);
    const FftLines<ALONG> lines = {task.width, task.log_width, task.line.length};
    unsigned rows = blockIdx.x / task.chunks, chunk = blockIdx.x - rows * task.chunks;
    unsigned first = rows / task.outer, outer = rows - first * task.outer;
    const int inner = chunk * task.width, last = task.sum ? task.batches : first + 1;
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

FFT_LINES(fft_lines_along_f32, true, float, 384, 2)
FFT_LINES(fft_lines_across_f32, false, float, 384, 2)
FFT_LINES(fft_lines_along_f64, true, double, 256, 2)
FFT_LINES(fft_lines_across_f64, false, double, 256, 2)
