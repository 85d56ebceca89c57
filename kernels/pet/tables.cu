// Weights of all identifiers in the order in which projections take them.

#include "weights.cuh"

// Mirrors `Expand` in crates/pet/src/gpu/gather.rs.
struct Expand {
    const WeightColumn *columns;
    // [column of data][tap][column of sums]: offsets, or -1.
    const int *offsets;
    // [identifier][offset]
    const float *values;
    float *weights;
    long long count;
    int kernel, identifiers;
};
static_assert(sizeof(Expand) == 48);

template <bool OF_DATA> __device__ inline void expand(const Expand &p) {
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < p.count * p.identifiers; i += gridDim.x * 256ll) {
        const long long k = i / p.identifiers;
        const int a = (int)(i - k * p.identifiers);
        const WeightColumn column = p.columns[k];
        const int lying = together(column.taps);
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 4; c++) {
                const int at = p.offsets[k * 16 + 4 * r + c];
                const float *kernel = p.values + (long long)a * p.kernel;
                const float v = at < 0 ? 0 : kernel[OF_DATA ? p.kernel - 1 - at : at];
                const long long place = 4ll * a * lying + (OF_DATA ? 4 * r + c : c * lying + r);
                if (r < lying) p.weights[4ll * column.first + place] = v;
            }
    }
}

extern "C" __global__ void __launch_bounds__(256) tables_of_sum(const __grid_constant__ Expand p) { expand<false>(p); }

// Kernels taken from their other end.
extern "C" __global__ void __launch_bounds__(256) tables_of_data(const __grid_constant__ Expand p) { expand<true>(p); }
