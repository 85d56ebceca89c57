// Stacks: samples between the caller's order and that of their planes, and the phase that kz's offset gives images.
#include "../common/complex.cuh"

constexpr int THREADS = 256;

// Mirrors `Order` in crates/mri/src/gpu/stack_kernels.rs: image `first + blockIdx.y` is of plane image / coils and coil image % coils; its
// sample i is number order[plane * count + i] of the caller's [coil][stride], and planes' samples are [image - first][count].
struct Order {
    const unsigned *order;
    void *samples, *planes;
    long long stride;
    int count, coils, first;
};
static_assert(sizeof(Order) == 48);

template <bool GATHER, class T> __device__ inline void reorder(const Order &p) {
    const int image = p.first + blockIdx.y, plane = image / p.coils, coil = image - plane * p.coils;
    const unsigned *order = p.order + (long long)plane * p.count;
    Complex<T> *samples = static_cast<Complex<T> *>(p.samples) + coil * p.stride;
    Complex<T> *own = static_cast<Complex<T> *>(p.planes) + (long long)blockIdx.y * p.count;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < p.count; i += gridDim.x * THREADS) {
        if (GATHER)
            own[i] = samples[order[i]];
        else
            samples[order[i]] = own[i];
    }
}

// Mirrors `Turn`: to [image][z][pixel] = from times turns [z], or times their conjugates; `rows` are images times planes. It may be in place.
struct Turn {
    const void *turns, *from;
    void *to;
    long long rows;
    int planes, pixels, conjugate;
};
static_assert(sizeof(Turn) == 48);

template <class T> __device__ inline void turn(const Turn &p) {
    for (long long row = blockIdx.y; row < p.rows; row += gridDim.y) {
        Complex<T> by = static_cast<const Complex<T> *>(p.turns)[row % p.planes];
        if (p.conjugate) by = conj(by);
        const Complex<T> *from = static_cast<const Complex<T> *>(p.from) + row * p.pixels;
        Complex<T> *to = static_cast<Complex<T> *>(p.to) + row * p.pixels;
        for (int i = blockIdx.x * THREADS + threadIdx.x; i < p.pixels; i += gridDim.x * THREADS) to[i] = from[i] * by;
    }
}

#define STACK(name, call, Parameter, type) \
    extern "C" __global__ void __launch_bounds__(THREADS) name(const __grid_constant__ Parameter p) { call<type>(p); }

template <class T> __device__ inline void gather(const Order &p) { reorder<true, T>(p); }
template <class T> __device__ inline void scatter(const Order &p) { reorder<false, T>(p); }

STACK(stack_gather_f32, gather, Order, float)
STACK(stack_gather_f64, gather, Order, double)
STACK(stack_scatter_f32, scatter, Order, float)
STACK(stack_scatter_f64, scatter, Order, double)
STACK(stack_turn_f32, turn, Turn, float)
STACK(stack_turn_f64, turn, Turn, double)
