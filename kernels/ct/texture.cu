// Texture back projectors by name: [standard_]<sample>x<slices a fetch>_<interpolation>. Blocks of 256 threads, 4096 bytes of
// static shared memory, a tile of 16x16 pixels: grid (ceil(nx / 16), ceil(ny / 16), groups).
#include "texture.cuh"

// One thread a pixel, along rows: what everybody does, kept for comparison.
using TextureStandard = TextureTile<256, 16, 1, 1, false>;
// Four sets of 64 threads, each with a quarter of the views and 4 pixels a thread.
using TextureSquares = TextureTile<256, 16, 4, 4, true>;

#define TEXTURE_KERNEL(NAME, TILE, NEAREST, TEXEL, BLOCKS)                                                                     \
    extern "C" __global__ __launch_bounds__(TILE::threads, BLOCKS) void NAME(const __grid_constant__ TextureBackproject p) {  \
        __shared__ __align__(16) char shared[TILE::shared_bytes];                                                             \
        texture_backproject<TILE, NEAREST, TEXEL>(p, shared, blockIdx.x, blockIdx.y, blockIdx.z);                             \
    }

TEXTURE_KERNEL(texture_standard_f32x1_linear, TextureStandard, false, float, 6)
TEXTURE_KERNEL(texture_standard_f32x1_nearest, TextureStandard, true, float, 6)
TEXTURE_KERNEL(texture_f32x1_linear, TextureSquares, false, float, 4)
TEXTURE_KERNEL(texture_f32x1_nearest, TextureSquares, true, float, 4)
TEXTURE_KERNEL(texture_f32x2_linear, TextureSquares, false, float2, 4)
TEXTURE_KERNEL(texture_f32x2_nearest, TextureSquares, true, float2, 4)
// The unit turns f16 into f32 as it filters.
TEXTURE_KERNEL(texture_f16x4_linear, TextureSquares, false, float4, 4)
TEXTURE_KERNEL(texture_f16x4_nearest, TextureSquares, true, float4, 4)
