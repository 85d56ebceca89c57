// Fourier transforms along one axis of a grid, of lines that a block takes.
#include "fft_task.cuh"

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
            out + map, task.inner - inner, task.sum == 2 || (task.sum && batch), task.line.length};
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
