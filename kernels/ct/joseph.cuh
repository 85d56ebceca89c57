// What forward and adjoint share: Joseph's model ("An improved algorithm for reprojecting rays through pixel images", 1982).
// Weight of pixel (i, j) for bin k of a view: (a / m) tri((k - h) / (m a / b)), m = max(|cos|, |sin|).
#pragma once

// The same element of LANES slices; one load or store.
template <int LANES> struct alignas(4 * LANES) Lanes {
    float of[LANES];
};

template <int LANES> __device__ inline void add(Lanes<LANES> &sum, float weight, const Lanes<LANES> &value) {
#pragma unroll
    for (int lane = 0; lane < LANES; lane++) sum.of[lane] = fmaf(weight, value.of[lane], sum.of[lane]);
}
