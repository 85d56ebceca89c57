// out = out + lambda R^H R x: weighted differences between neighbours, and sparse matrices by rows.
#include "../common/complex.cuh"

constexpr int THREADS = 256;

// Mirrors `DifferencesArguments` in crates/mri/src/gpu/penalty.rs.
struct Differences {
    const void *x;
    void *out;
    // Squared, [axis][voxel], x first, of the difference between a voxel and the next one; NULL for ones.
    const void *weights;
    double lambda;
    long long voxels;
    // Along x, y, z.
    int sizes[3];
};
static_assert(sizeof(Differences) == 56);

template <class T> __device__ inline void differences(const Differences &p) {
    const Complex<T> *x = static_cast<const Complex<T> *>(p.x);
    Complex<T> *out = static_cast<Complex<T> *>(p.out);
    const T *weights = static_cast<const T *>(p.weights);
    const T lambda = (T)p.lambda;
    const long long step[3] = {1, p.sizes[0], (long long)p.sizes[0] * p.sizes[1]};
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < p.voxels; i += gridDim.x * (long long)THREADS) {
        long long row = i / p.sizes[0], plane = row / p.sizes[1];
        const int at[3] = {(int)(i - row * p.sizes[0]), (int)(row - plane * p.sizes[1]), (int)plane};
        const Complex<T> own = x[i];
        Complex<T> sum = {0, 0};
#pragma unroll
        for (int a = 0; a < 3; a++) {
            const T *w = weights ? weights + a * p.voxels : nullptr;
            if (at[a] > 0) sum = sum + (own - x[i - step[a]]) * (w ? w[i - step[a]] : (T)1);
            if (at[a] + 1 < p.sizes[a]) sum = sum + (own - x[i + step[a]]) * (w ? w[i] : (T)1);
        }
        out[i] = out[i] + sum * lambda;
    }
}

// Mirrors `RowsArguments`: out[row] = sum of values times x at their columns; or lambda times that is added.
struct Rows {
    const unsigned long long *starts, *columns;
    const void *values, *x;
    void *out;
    double lambda;
    long long rows;
    int add;
};
static_assert(sizeof(Rows) == 64);

template <class T> __device__ inline void rows(const Rows &p) {
    const Complex<T> *values = static_cast<const Complex<T> *>(p.values), *x = static_cast<const Complex<T> *>(p.x);
    Complex<T> *out = static_cast<Complex<T> *>(p.out);
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < p.rows; i += gridDim.x * (long long)THREADS) {
        Complex<T> sum = {0, 0};
        for (unsigned long long k = p.starts[i]; k < p.starts[i + 1]; k++)
            sum = sum + values[k] * x[p.columns[k]];
        out[i] = p.add ? out[i] + sum * (T)p.lambda : sum;
    }
}

#define PENALTY(name, call, Parameter) \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f32(const __grid_constant__ Parameter p) { call<float>(p); } \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_f64(const __grid_constant__ Parameter p) { call<double>(p); }

PENALTY(penalty_differences, differences, Differences)
PENALTY(penalty_rows, rows, Rows)
