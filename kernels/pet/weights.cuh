// Columns of data of a view's steps, as the weights of kernels that vary are stored.
#pragma once

// Mirrors `WeightColumn` in crates/pet/src/gpu/arranged.rs.
struct WeightColumn {
    // Where its weights begin, in 16 bytes; taps, 1 of kernels that factor.
    int first, taps;
    // In the order of radial distance.
    int rank;
    // Row in the group in the higher half, column in the lower one.
    int place;
};
static_assert(sizeof(WeightColumn) == 16);

// A kernel's taps in a column lie together as 1, 2 or 4.
__device__ inline int together(int taps) { return taps == 3 ? 4 : taps; }
