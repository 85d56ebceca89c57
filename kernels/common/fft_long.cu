// Fourier transforms along one axis of a grid, across the fastest one, of lines longer than a block takes.
#include "fft_long.cuh"
#include "fft_task.cuh"

// Mirrors `LongArguments` in crates/base/src/gpu/fft/pass.rs.
struct FftLongTask {
    // Of the array that the first step reads and the one that the second writes; lines, chunks and widths are the step's.
    FftTask task;
    FftStep step;
    // Element k of the step's line `other` of (batch, outer, inner) is at inner + other * strides[0] + k * strides[1] +
    // outer * strides[2] + batch * strides[3].
    void *scratch;
    long long scratch_strides[4];
};
static_assert(sizeof(FftLongTask) == 400);

template <bool FIRST, class T> __device__ inline void fft_long(const FftLongTask &p) {
    const FftTask &task = p.task;
    unsigned rows = blockIdx.x / task.chunks, chunk = blockIdx.x - rows * task.chunks;
    unsigned batch = rows / task.outer, outer = rows - batch * task.outer;
    const FftPlace place = {outer * task.in_strides[1] + batch * task.in_strides[2],
        outer * task.out_strides[1] + batch * task.out_strides[2], 0, 0, task.inner, false, p.step.length};
    const FftStepLines lines(task.line, p.step, task.inner, chunk * task.width);
    const long long *strides = p.scratch_strides;
    Complex<T> *first = static_cast<Complex<T> *>(p.scratch) + outer * strides[2] + batch * strides[3];
    const FftScratch<T> scratch = {first, strides[0], strides[1]};
    // Elements of a butterfly may be more than 2^31 elements apart.
    if constexpr (FIRST)
        fft_first_step(lines, task.width, task.log_width, FftLoad<false, T, long long>{task, place}, scratch);
    else
        fft_second_step(lines, task.width, task.log_width, scratch, FftStore<false, T, long long>{task, place});
}

#define FFT_LONG(name, first, type, threads) \
    extern "C" __global__ void __launch_bounds__(threads, 2) name(const __grid_constant__ FftLongTask p) { \
        fft_long<first, type>(p); \
    }

FFT_LONG(fft_long_first_f32, true, float, 512)
FFT_LONG(fft_long_second_f32, false, float, 512)
FFT_LONG(fft_long_first_f64, true, double, 256)
FFT_LONG(fft_long_second_f64, false, double, 256)
