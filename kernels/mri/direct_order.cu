// Numbers of places' cells along a space-filling curve: places sorted by them are neighbours in space when they are neighbours in the
// list.
#include <cuda_runtime.h>

// Mirrors `KeyArguments` in crates/mri/src/gpu/direct_order.rs.
struct DirectKeys {
    const int4 *places;
    // A place's cell, and its index.
    unsigned *keys, *order;
    long long count;
};
static_assert(sizeof(DirectKeys) == 32);

namespace {

// Bits 0, 3, 6... of a number of up to 5 bits.
__device__ inline unsigned spread(unsigned v) {
    return (v & 1) | (v & 2) << 2 | (v & 4) << 4 | (v & 8) << 6 | (v & 16) << 8;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) direct_order_keys(const __grid_constant__ DirectKeys p) {
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= p.count) return;
    // Coordinates fill 32 bits; a cell is a 32nd of that, along each axis.
    int4 v = p.places[i];
    unsigned x = (unsigned)(v.x >> 27) + 16, y = (unsigned)(v.y >> 27) + 16, z = (unsigned)(v.z >> 27) + 16;
    p.keys[i] = spread(x) | spread(y) << 1 | spread(z) << 2;
    p.order[i] = (unsigned)i;
}
