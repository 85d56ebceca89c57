// The ends of a convolution of slices: two slices are the real and imaginary part of an image, whose rows are transformed along x. The
// columns in between are ../nufft/toeplitz.cu's.
#include "../common/fft_lines.cuh"

// Mirrors `Pairs` in crates/ct/src/gpu/toeplitz.rs.
struct Pairs {
    FftLine line;
    // [pair][y][kx]
    Complex<float> *plane;
    // [slice][y][x]; rows that are read, or written.
    const float *from;
    float *to;
    int ny, nx, slices;
    // Of what is written.
    float scale;
    // Rows of a block: blockIdx.y is the pair.
    int width, unused;
};
static_assert(sizeof(Pairs) == 216);

namespace {

// Where a line of a block is: its row of the first of two slices, and of the plane. Made where it is needed: registers are for butterflies.
struct PairRow {
    int row;
    long long slice, plane;

    __device__ inline PairRow(const Pairs &p, int line) : row(blockIdx.x * p.width + line) {
        slice = ((long long)(2 * blockIdx.y) * p.ny + row) * p.nx;
        plane = ((long long)blockIdx.y * p.ny + row) * p.line.length;
    }
};

// To the second slice; 0 if there is none.
__device__ inline long long to_second(const Pairs &p) {
    return 2 * blockIdx.y + 1 < p.slices ? (long long)p.ny * p.nx : 0;
}

struct LoadPairs {
    const Pairs &p;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const PairRow at(p, line);
        const float *from = p.from + at.slice + position;
        const long long second = to_second(p);
        const int count = at.row < p.ny ? p.nx - position : 0;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const bool there = r * stride < count;
            v[r] = {there ? from[r * stride] : 0, there && second ? from[second + r * stride] : 0};
        }
    }
};

struct StorePlane {
    const Pairs &p;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const PairRow at(p, line);
        if (at.row >= p.ny) return;
        Complex<float> *to = p.plane + at.plane + position;
#pragma unroll
        for (int r = 0; r < R; r++) to[r * stride] = v[r];
    }
};

// A transform backward is the conjugate's forward.
struct LoadPlane {
    const Pairs &p;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const PairRow at(p, line);
        const Complex<float> *from = p.plane + at.plane + position;
        const bool there = at.row < p.ny;
#pragma unroll
        for (int r = 0; r < R; r++) v[r] = there ? conj(from[r * stride]) : Complex<float>{0, 0};
    }
};

struct StorePairs {
    const Pairs &p;

    template <int R> __device__ inline void run(Complex<float> *v, int line, int position, int stride) const {
        const PairRow at(p, line);
        if (at.row >= p.ny) return;
        float *to = p.to + at.slice + position;
        const int count = p.nx - position;
#pragma unroll
        for (int r = 0; r < R; r++)
            if (r * stride < count) to[r * stride] = v[r].x * p.scale;
        if (2 * blockIdx.y + 1 == p.slices) return;
        to += to_second(p);
#pragma unroll
        for (int r = 0; r < R; r++)
            if (r * stride < count) to[r * stride] = -v[r].y * p.scale;
    }
};

} // namespace

extern "C" __global__ void __launch_bounds__(512, 2) ct_toeplitz_pairs_to_plane(const __grid_constant__ Pairs p) {
    fft_transform<float>(p.line, FftLines<true>{p.width, 0, p.line.length}, LoadPairs{p}, StorePlane{p});
}

extern "C" __global__ void __launch_bounds__(512, 2) ct_toeplitz_plane_to_pairs(const __grid_constant__ Pairs p) {
    fft_transform<float>(p.line, FftLines<true>{p.width, 0, p.line.length}, LoadPlane{p}, StorePairs{p});
}

// Mirrors `Spectrum` in crates/ct/src/gpu/toeplitz.rs: all of an even spectrum `[ky][kx]`, from `[kx][ky]` of kx up to gx / 2.
struct Spectrum {
    const float *half;
    float *all;
    int gy, gx;
};
static_assert(sizeof(Spectrum) == 24);

extern "C" __global__ void __launch_bounds__(256) ct_toeplitz_spectrum(const __grid_constant__ Spectrum p) {
    const long long count = (long long)p.gy * p.gx;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        const int ky = i / p.gx, kx = i - (long long)ky * p.gx;
        const bool direct = kx <= p.gx / 2;
        const long long row = direct ? kx : p.gx - kx;
        p.all[i] = p.half[row * p.gy + (direct || ky == 0 ? ky : p.gy - ky)];
    }
}
