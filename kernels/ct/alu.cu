// ALU back projectors by name: <interpolation>_<sample>x<lanes>_<side of the tile>; grid (ceil(nx / side), ceil(ny / side),
// groups), block Tile::threads. Large tiles do most work per bin copied; small ones, whose sets of threads share the views,
// fill a GPU with a small slice.
#include "alu.cuh"

#define ALU_KERNEL(NAME, BODY, TILE, BLOCKS, ...)                                                                              \
    extern "C" __global__ __launch_bounds__(TILE::threads, BLOCKS) void NAME(const __grid_constant__ AluBackproject p) {       \
        extern __shared__ __align__(16) char alu_shared[];                                                                     \
        BODY<TILE, __VA_ARGS__>(p, alu_shared, blockIdx.x, blockIdx.y, blockIdx.z);                                            \
    }

// Sizes, pixels across a warp, pixels of a patch, patches of a thread, sets of threads.
using AluPoints64 = AluTile<64, 64, 8, 1, 16, 1>;
using AluPoints64Wide = AluTile<64, 64, 8, 1, 8, 1>;
using AluPoints32 = AluTile<32, 32, 8, 1, 8, 4>;
using AluLines32 = AluTile<32, 32, 16, 1, 16, 8>;
using AluPoints16 = AluTile<16, 16, 8, 1, 4, 8>;
using AluStrips64 = AluTile<64, 64, 32, 4, 4, 1>;
using AluStrips64Wide = AluTile<64, 64, 32, 4, 2, 1>;
using AluStrips32 = AluTile<32, 32, 32, 4, 4, 4>;
using AluStrips32Wide = AluTile<32, 32, 32, 4, 2, 4>;

ALU_KERNEL(alu_linear_f32x1_64, alu_points, AluPoints64, 4, AluLines)
ALU_KERNEL(alu_linear_f32x1_32, alu_points, AluLines32, 2, AluLines)
ALU_KERNEL(alu_linear_f32x1_16, alu_points, AluPoints16, 2, AluLines)
ALU_KERNEL(alu_linear_f32x2_64, alu_strips, AluStrips64, 3, AluStrip<float, 2>)
ALU_KERNEL(alu_linear_f32x2_32, alu_strips, AluStrips32, 3, AluStrip<float, 2>)
ALU_KERNEL(alu_linear_f32x4_64, alu_strips, AluStrips64, 2, AluStrip<float, 4>)
ALU_KERNEL(alu_linear_f32x4_32, alu_strips, AluStrips32, 2, AluStrip<float, 4>)
ALU_KERNEL(alu_linear_f16x2_64, alu_strips, AluStrips64, 3, AluStrip<__half, 2>)
ALU_KERNEL(alu_linear_f16x2_32, alu_strips, AluStrips32, 3, AluStrip<__half, 2>)
ALU_KERNEL(alu_linear_f16x4_64, alu_strips, AluStrips64, 2, AluStrip<__half, 4>)
ALU_KERNEL(alu_linear_f16x4_32, alu_strips, AluStrips32, 2, AluStrip<__half, 4>)
ALU_KERNEL(alu_linear_f16x8_64, alu_strips, AluStrips64Wide, 1, AluStrip<__half, 8>)
ALU_KERNEL(alu_linear_f16x8_32, alu_strips, AluStrips32Wide, 1, AluStrip<__half, 8>)

ALU_KERNEL(alu_nearest_f32x1_64, alu_points, AluPoints64, 4, AluNearest<float, 1>)
ALU_KERNEL(alu_nearest_f32x1_32, alu_points, AluLines32, 2, AluNearest<float, 1>)
ALU_KERNEL(alu_nearest_f32x1_16, alu_points, AluPoints16, 2, AluNearest<float, 1>)
ALU_KERNEL(alu_nearest_f32x2_64, alu_points, AluPoints64, 3, AluNearest<float, 2>)
ALU_KERNEL(alu_nearest_f32x2_32, alu_points, AluPoints32, 2, AluNearest<float, 2>)
ALU_KERNEL(alu_nearest_f32x4_64, alu_points, AluPoints64, 2, AluNearest<float, 4>)
ALU_KERNEL(alu_nearest_f32x4_32, alu_points, AluPoints32, 2, AluNearest<float, 4>)
ALU_KERNEL(alu_nearest_f16x2_64, alu_points, AluPoints64, 3, AluNearest<__half, 2>)
ALU_KERNEL(alu_nearest_f16x2_32, alu_points, AluPoints32, 2, AluNearest<__half, 2>)
ALU_KERNEL(alu_nearest_f16x4_64, alu_points, AluPoints64, 2, AluNearest<__half, 4>)
ALU_KERNEL(alu_nearest_f16x4_32, alu_points, AluPoints32, 2, AluNearest<__half, 4>)
ALU_KERNEL(alu_nearest_f16x8_64, alu_points, AluPoints64Wide, 1, AluNearest<__half, 8>)
ALU_KERNEL(alu_nearest_f16x8_32, alu_points, AluPoints32, 1, AluNearest<__half, 8>)
