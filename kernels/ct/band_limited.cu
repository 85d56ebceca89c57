// The ends of band-limited sums, of lines that a block takes.
#include "band_limited.cuh"

namespace {

template <class Load, class Store>
__device__ inline void transform(const FftLine &line, int width, int log_width, const Load &load, const Store &store) {
    fft_transform<float>(line, FftLines<false>{width, log_width, line.length}, load, store);
}

} // namespace

// A block takes `width` images of a view.
extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_rows_to_spectra(const __grid_constant__ Spectra p) {
    const int view = blockIdx.x / p.chunks, image = blockIdx.x % p.chunks * p.width, length = p.line.length;
    __shared__ Complex<float> turns[2 * 16];
    const FftPass &last = p.line.pass[p.line.passes - 1];
    phases_of(p, view, length, last.radix, last.count, turns);
    transform(p.line, p.width, p.log_width, LoadRows{p, view, image}, StoreSpectra{p, view, image, length, turns});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_spectra_to_rows(const __grid_constant__ Spectra p) {
    const int view = blockIdx.x / p.chunks, image = blockIdx.x % p.chunks * p.width, length = p.line.length;
    __shared__ Complex<float> turns[2 * 16];
    phases_of(p, view, length, p.line.pass[0].radix, p.line.pass[0].stride, turns);
    transform(p.line, p.width, p.log_width, LoadSpectra{p, view, image, length, turns},
        StoreRows{p, p.projections + view * p.view_stride, 2 * image});
}

// A block takes `width` images of a row of the slices.
extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_plane_to_slices(const __grid_constant__ Slices p) {
    const int y = blockIdx.x / p.chunks, image = blockIdx.x % p.chunks * p.width, length = p.line.length;
    const Complex<float> *in = p.plane + (long long)y * length * p.images + image;
    transform(p.line, p.width, p.log_width, LoadColumns{p, in, p.images - image},
        StoreSlices{p, p.volume + y * p.row_stride, 2 * image, length});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_band_limited_slices_to_plane(const __grid_constant__ Slices p) {
    const int y = blockIdx.x / p.chunks, image = blockIdx.x % p.chunks * p.width, length = p.line.length;
    Complex<float> *out = p.plane + (long long)y * length * p.images + image;
    transform(p.line, p.width, p.log_width, LoadSlices{p, p.volume + y * p.row_stride, 2 * image, length},
        StoreColumns{out, p.images, p.images - image});
}
