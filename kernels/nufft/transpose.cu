// Images one after the other, or side by side: what is fastest changes.
#include "../common/complex.cuh"

namespace {

// Mirrors `Arguments` in crates/nufft/src/gpu/transpose.rs.
struct Transpose {
    // [image][element], with a stride between images.
    Complex<float> *apart;
    // [element][image], `pitch` images.
    Complex<float> *together;
    long long stride, elements;
    // Those there are; behind them, up to `pitch`, are zeros.
    int images, pitch;
    // Elements of a block.
    int some, unused;
};
static_assert(sizeof(Transpose) == 48);

constexpr int THREADS = 256;

// Where element `i` of image `image` is in shared memory: neighbours of either way are in different banks.
__device__ inline int place(const Transpose &p, int image, int i) { return image * (p.some + 1) + i; }

} // namespace

extern "C" __global__ void __launch_bounds__(THREADS) transpose_together(const __grid_constant__ Transpose p) {
    extern __shared__ Complex<float> shared[];
    const long long first = (long long)blockIdx.x * p.some;
    const int count = (int)min((long long)p.some, p.elements - first);
    for (int k = threadIdx.x; k < p.images * p.some; k += THREADS) {
        const int image = k / p.some, i = k % p.some;
        if (i < count) shared[place(p, image, i)] = load_constant(p.apart + image * p.stride + first + i);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < count * p.pitch; k += THREADS) {
        const int i = k / p.pitch, image = k % p.pitch;
        p.together[first * p.pitch + k] = image < p.images ? shared[place(p, image, i)] : Complex<float>{0, 0};
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) transpose_apart(const __grid_constant__ Transpose p) {
    extern __shared__ Complex<float> shared[];
    const long long first = (long long)blockIdx.x * p.some;
    const int count = (int)min((long long)p.some, p.elements - first);
    for (int k = threadIdx.x; k < count * p.pitch; k += THREADS) {
        const int i = k / p.pitch, image = k % p.pitch;
        const Complex<float> value = load_constant(p.together + first * p.pitch + k);
        if (image < p.images) shared[place(p, image, i)] = value;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < p.images * p.some; k += THREADS) {
        const int image = k / p.some, i = k % p.some;
        if (i < count) p.apart[image * p.stride + first + i] = shared[place(p, image, i)];
    }
}
