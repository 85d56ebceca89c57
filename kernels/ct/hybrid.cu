// Hybrid back projectors by name: hybrid_<interpolation>_<sample>x<slices a fetch>. Some blocks fetch through the texture unit
// while the others of the multiprocessor use its arithmetic units; each does 64x64 pixels. Grid: one dimension,
// ceil(nx / 64) * ceil(ny / 64) * groups; blocks of 256 threads.
//
// Texels and cached bins come to the registers the same way, so the two rates do not add up: a fetch takes from the ALU blocks
// what 1.5 cycles of a multiprocessor are worth, for each word of a thread. On an H200 that leaves a gain in linear f32x1 (8
// percent, 1 tile of 5) and linear f16x4 (11 percent, 3 of 7), in launches of some thousand tiles. The others gain nothing
// there, and are for GPUs with another balance.
#include "alu.cuh"
#include "texture.cuh"

// Mirrors `HybridArguments` in crates/ct/src/gpu/hybrid.rs.
//
// `a` as for alu.cu, a tile being 64x64; dynamic shared memory too, but at least 4096 bytes. Best is a `stage` of 16, of 8 for
// f16x4, halved until the blocks of the launch bounds share a multiprocessor: the texture unit's cache is what is left.
// `textures` as for texture.cu, with its limits; in hybrid_exact the filter does not matter.
//
// Of each `parts` tiles, `texture_parts` (0 to `parts`; parts from 1 to 64) go to texture blocks. Which ones depends on the
// tile alone, so results are the same bits on every run. At most 2^24 tiles.
struct HybridBackproject {
    AluBackproject a;
    const cudaTextureObject_t *textures;
    // Tiles taken by texture blocks, by ALU blocks, then blocks started on each multiprocessor: 1026 words, zeroed
    // before each launch, for one launch at a time.
    unsigned *counters;
    int texture_parts, parts;
};
static_assert(sizeof(HybridBackproject) == 104);

constexpr int hybrid_multiprocessors = 1024;

struct HybridTile {
    bool texture;
    int x, y, group;
};

// `share` of each `parts` numbers, spread evenly, from 0 on; and the n-th number that is or is not one of them.
__device__ __forceinline__ bool hybrid_turn(unsigned n, unsigned share, unsigned parts) {
    return n % parts * share % parts < share;
}
__device__ __forceinline__ unsigned hybrid_find(unsigned n, bool texture, unsigned share, unsigned parts) {
    if (texture) return (n * parts + share - 1) / share;
    return share == 0 ? n : n + n * share / (parts - share) + 1;
}

// The kinds of block take turns on each multiprocessor, so that each always has both; a block then takes the next tile of its
// kind, or of the other when there is none left. (Left to the order of blocks alone, some multiprocessors get one kind only,
// and a quarter of the speed is lost.)
template <class Tile> __device__ __forceinline__ HybridTile hybrid_take(const HybridBackproject &p) {
    const unsigned across = (p.a.b.nx + Tile::columns - 1) / Tile::columns, down = (p.a.b.ny + Tile::rows - 1) / Tile::rows;
    __shared__ unsigned taken;
    if (threadIdx.x == 0) {
        const unsigned share = p.texture_parts, parts = p.parts, tiles = gridDim.x;
        const unsigned textures = share == 0 ? 0 : (unsigned)((unsigned long long)(tiles - 1) * share / parts) + 1;
        unsigned multiprocessor;
        asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
        bool texture = hybrid_turn(atomicAdd(p.counters + 2 + multiprocessor % hybrid_multiprocessors, 1), share, parts);
        unsigned n = atomicAdd(p.counters + !texture, 1);
        if (n >= (texture ? textures : tiles - textures)) {
            texture = !texture;
            n = atomicAdd(p.counters + !texture, 1);
        }
        taken = hybrid_find(n, texture, share, parts) * 2 + texture;
    }
    __syncthreads();
    const unsigned tile = taken / 2;
    return {(taken & 1) != 0, (int)(tile % across), (int)(tile / across % down), (int)(tile / across / down)};
}

enum class HybridFetch { linear, nearest, exact };

// texture_accumulate with weights in f32 instead of the filter's 8 bits: one gather fetches a bin and the next (and the same of
// the next view, unused).
template <class Tile>
__device__ __forceinline__ void hybrid_gather(const Backproject &b, cudaTextureObject_t texture, TextureLine *lines,
                                              int x0, int y0, float (&sums)[Tile::pixels]) {
    const int part = threadIdx.x / Tile::set;
    const int2 pixel = Tile::pixel(threadIdx.x % Tile::set);
    const float x = pixel.x - Tile::width / 2, y = pixel.y - Tile::height / 2;
    for (int begin = 0; begin < b.views; begin += Tile::views) {
        const int count = min(Tile::views, b.views - begin);
        __syncthreads();
        if (threadIdx.x < count) {
            const LocalLine line = local_line(b.lines[begin + threadIdx.x], x0 + Tile::width / 2, y0 + Tile::height / 2);
            const float reach = fabsf(line.dx) * (Tile::width / 2) + fabsf(line.dy) * (Tile::height / 2) + 2;
            const bool meets = line.bin >= -reach && line.bin <= b.bins + reach;
            // The middle between a bin and the next has a whole coordinate, so all that is added here is exact.
            lines[threadIdx.x] = meets ? TextureLine{line.fraction, line.dx, line.dy, line.bin + 1 - alu_round}
                                       : TextureLine{0, 0, 0, -2 - alu_round};
        }
        __syncthreads();
        float row = begin + part + 1;
#pragma unroll 1
        for (int view = part; view < count; view += Tile::split, row += Tile::split) {
            const TextureLine line = lines[view];
            const float h = fmaf(x, line.dx, fmaf(y, line.dy, line.fraction));
#pragma unroll
            for (int k = 0; k < Tile::pixels; k++) {
                const float local = fmaf((float)(k * Tile::rows), line.dy, h), rounded = __fadd_rd(local, alu_round);
                const float4 four = tex2Dgather<float4>(texture, rounded + line.whole, row, 0);
                sums[k] += fmaf(local - (rounded - alu_round), four.z - four.w, four.w);
            }
        }
    }
}

// A tile in several squares.
template <class Tile, class Square, HybridFetch FETCH, class Texel>
__device__ __forceinline__ void hybrid_texture(const HybridBackproject &p, char *shared, HybridTile tile) {
    static_assert(Tile::threads == Square::threads, "one kernel has one number of threads");
    static_assert(Tile::columns % Square::width == 0 && Tile::rows % Square::height == 0, "squares fill the tile");
    TextureLine *lines = (TextureLine *)shared;
    const cudaTextureObject_t texture = p.textures[tile.group];
#pragma unroll 1
    for (int k = 0; k < Tile::columns / Square::width * (Tile::rows / Square::height); k++) {
        const int x0 = tile.x * Tile::columns + k % (Tile::columns / Square::width) * Square::width;
        const int y0 = tile.y * Tile::rows + k / (Tile::columns / Square::width) * Square::height;
        if (x0 >= p.a.b.nx || y0 >= p.a.b.ny) continue;
        Texel sums[Square::pixels] = {};
        if constexpr (FETCH == HybridFetch::exact)
            hybrid_gather<Square>(p.a.b, texture, lines, x0, y0, sums);
        else
            texture_accumulate<Square, FETCH == HybridFetch::nearest>(p.a.b, texture, lines, x0, y0, sums);
        texture_store<Square>(p.a.b, (float *)shared, x0, y0, tile.group, sums);
    }
}

#define HYBRID_KERNEL(NAME, BLOCKS, SQUARE, FETCH, TEXEL, BODY, TILE, ...)                                                     \
    extern "C" __global__ __launch_bounds__(TILE::threads, BLOCKS) void NAME(const __grid_constant__ HybridBackproject p) {    \
        extern __shared__ __align__(16) char hybrid_shared[];                                                                  \
        const HybridTile tile = hybrid_take<TILE>(p);                                                                          \
        if (tile.texture)                                                                                                      \
            hybrid_texture<TILE, SQUARE, HybridFetch::FETCH, TEXEL>(p, hybrid_shared, tile);                                   \
        else                                                                                                                   \
            BODY<TILE, __VA_ARGS__>(p.a, hybrid_shared, tile.x, tile.y, tile.group);                                           \
    }

using HybridPoints = AluTile<64, 64, 8, 1, 16, 1>;
using HybridStrips = AluTile<64, 64, 32, 4, 4, 1>;
// Threads, pixels across, sets of threads, pixels of a thread. Where sums are few, the whole tile at once needs fewest texels.
using HybridWhole = TextureTile<256, 64, 1, 16, true>;
using HybridSquare = TextureTile<256, 16, 4, 4, true>;

HYBRID_KERNEL(hybrid_linear_f32x1, 4, HybridWhole, linear, float, alu_points, HybridPoints, AluLines)
HYBRID_KERNEL(hybrid_exact_f32x1, 4, HybridWhole, exact, float, alu_points, HybridPoints, AluLines)
HYBRID_KERNEL(hybrid_linear_f32x2, 3, HybridSquare, linear, float2, alu_strips, HybridStrips, AluStrip<float, 2>)
HYBRID_KERNEL(hybrid_linear_f16x4, 2, HybridSquare, linear, float4, alu_strips, HybridStrips, AluStrip<__half, 4>)
HYBRID_KERNEL(hybrid_nearest_f32x1, 4, HybridWhole, nearest, float, alu_points, HybridPoints, AluNearest<float, 1>)
HYBRID_KERNEL(hybrid_nearest_f32x2, 3, HybridSquare, nearest, float2, alu_points, HybridPoints, AluNearest<float, 2>)
HYBRID_KERNEL(hybrid_nearest_f16x4, 2, HybridSquare, nearest, float4, alu_points, HybridPoints, AluNearest<__half, 4>)
