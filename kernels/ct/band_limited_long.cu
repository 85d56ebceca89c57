// The ends of band-limited sums, of lines longer than a block takes: two kernels each, one for each step of the lines, through scratch
// memory. A block takes lines of neighbouring images, and of neighbouring `others` where there are few images.
#include "../common/fft_long.cuh"
#include "band_limited.cuh"

namespace {

// Scratch memory of a step: element k of the step's line `other` of an image is at image + other * strides[0] + k * strides[1], and
// strides[2] further from one view or row to the next. Mirrors `DeviceScratch` in crates/ct/src/gpu/band_limited_ends.rs.
struct Scratch {
    FftStep step;
    Complex<float> *first;
    long long strides[3];
};
static_assert(sizeof(Scratch) == 48);

// Mirrors `LongSpectraArguments` there.
struct LongSpectra {
    Spectra s;
    Scratch scratch;
    // Views from here on, which are those of the scratch memory.
    int first_view, unused;
};
static_assert(sizeof(LongSpectra) == 328);

// Mirrors `LongSlicesArguments` there.
struct LongSlices {
    Slices s;
    Scratch scratch;
};
static_assert(sizeof(LongSlices) == 304);

// A block's lines, of view or row `row`.
template <class Arguments> struct Block {
    const Arguments &s;
    FftStepLines lines;
    FftScratch<float> scratch;

    __device__ inline Block(const Arguments &s, const Scratch &scratch, int images, int row)
        : s(s), lines(s.line, scratch.step, images, blockIdx.x % s.chunks * s.width),
          scratch{scratch.first + row * scratch.strides[2], scratch.strides[0], scratch.strides[1]} {}

    template <class Load> __device__ inline void first(const Load &load) const {
        fft_first_step(lines, s.width, s.log_width, load, scratch);
    }
    template <class Store> __device__ inline void second(const Store &store) const {
        fft_second_step(lines, s.width, s.log_width, scratch, store);
    }
};

} // namespace

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_rows_to_spectra_first(const __grid_constant__ LongSpectra p) {
    const int row = blockIdx.x / p.s.chunks, view = p.first_view + row;
    Block(p.s, p.scratch, p.s.stride, row).first(LoadRows{p.s, view, 0});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_rows_to_spectra_second(const __grid_constant__ LongSpectra p) {
    const int row = blockIdx.x / p.s.chunks, view = p.first_view + row, length = p.scratch.step.length;
    __shared__ Complex<float> turns[2 * 16];
    const FftPass &last = p.s.line.pass[p.s.line.passes - 1];
    phases_of(p.s, view, length, last.radix, last.count * p.scratch.step.others, turns);
    Block(p.s, p.scratch, p.s.stride, row).second(StoreSpectra{p.s, view, 0, length, turns});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_spectra_to_rows_first(const __grid_constant__ LongSpectra p) {
    const int row = blockIdx.x / p.s.chunks, view = p.first_view + row, length = p.scratch.step.length;
    __shared__ Complex<float> turns[2 * 16];
    phases_of(p.s, view, length, p.s.line.pass[0].radix, p.s.line.pass[0].stride * p.scratch.step.others, turns);
    Block(p.s, p.scratch, p.s.stride, row).first(LoadSpectra{p.s, view, 0, length, turns});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_spectra_to_rows_second(const __grid_constant__ LongSpectra p) {
    const int row = blockIdx.x / p.s.chunks, view = p.first_view + row;
    Block(p.s, p.scratch, p.s.stride, row).second(StoreRows{p.s, p.s.projections + view * p.s.view_stride, 0});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_plane_to_slices_first(const __grid_constant__ LongSlices p) {
    const int y = blockIdx.x / p.s.chunks;
    const Complex<float> *in = p.s.plane + (long long)y * p.scratch.step.length * p.s.images;
    Block(p.s, p.scratch, p.s.images, y).first(LoadColumns{p.s, in, p.s.images});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_plane_to_slices_second(const __grid_constant__ LongSlices p) {
    const int y = blockIdx.x / p.s.chunks;
    Block(p.s, p.scratch, p.s.images, y).second(StoreSlices{p.s, p.s.volume + y * p.s.row_stride, 0, p.scratch.step.length});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_slices_to_plane_first(const __grid_constant__ LongSlices p) {
    const int y = blockIdx.x / p.s.chunks;
    Block(p.s, p.scratch, p.s.images, y).first(LoadSlices{p.s, p.s.volume + y * p.s.row_stride, 0, p.scratch.step.length});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_slices_to_plane_second(const __grid_constant__ LongSlices p) {
    const int y = blockIdx.x / p.s.chunks;
    Complex<float> *out = p.s.plane + (long long)y * p.scratch.step.length * p.s.images;
    Block(p.s, p.scratch, p.s.images, y).second(StoreColumns{out, p.s.images, p.s.images});
}
