// Weights of all identifiers in the order in which projections take them.

// Mirrors `Expand` in src/pet/gpu/gather.rs.
struct Expand {
    // Of each column of data: where its segment's weights begin, in 16 bytes; its place in the segment; taps.
    const int4 *columns;
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
        const int4 column = p.columns[k];
        const int taps = column.z;
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 4; c++) {
                const int at = p.offsets[k * 16 + 4 * r + c];
                const float *kernel = p.values + (long long)a * p.kernel;
                const float v = at < 0 ? 0 : kernel[OF_DATA ? p.kernel - 1 - at : at];
                // By sum 1, 2 or 4 taps lie together.
                const int together = taps == 3 ? 4 : taps;
                const long long place = OF_DATA ? (((long long)column.y * p.identifiers + a) * taps + r) * 4 + c
                                                : (((long long)column.y * 4 + c) * p.identifiers + a) * together + r;
                if (r < (OF_DATA ? taps : together)) p.weights[4ll * column.x + place] = v;
            }
    }
}

extern "C" __global__ void __launch_bounds__(256) tables_of_sum(const __grid_constant__ Expand p) { expand<false>(p); }

// Kernels taken from their other end.
extern "C" __global__ void __launch_bounds__(256) tables_of_data(const __grid_constant__ Expand p) { expand<true>(p); }
