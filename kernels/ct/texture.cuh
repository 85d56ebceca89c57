// Back projection through the texture unit: one fetch interpolates every lane of a group at once.
#pragma once
#include "backproject.cuh"

// Mirrors `TextureArguments` in crates/ct/src/gpu/texture.rs.
//
// textures[group] shows that group's rows [view][pitch] as a 2-D pitch-linear texture of `lanes` channels, f32 or f16, read as
// elements, with unnormalised coordinates and border addressing (so a ray outside the detector reads 0), and a linear or a
// point filter: the filter does the interpolation, and must be the one in the kernel's name. Width is `pitch` (or `bins`)
// texels, height is `views`.
//
// What the launcher must keep to:
// - at most 131072 texels wide and 65000 views high, the limits of pitch-linear textures. Positions are f32, right to half of
//   their last place: 1e-3 texel up to 32768 texels, 4e-3 at 131072 (the filter itself has steps of 1/256). The nearest
//   kernels choose the bin before that, so width costs them nothing;
// - |dx| + |dy| up to 1500 texels a pixel for positions good to 1e-3 texel; beyond, the error grows in proportion;
// - a group's rows begin at a multiple of 512 bytes: where a texel has 4 bytes, an odd number of views needs a pitch that is a
//   multiple of 128;
// - oversampled data: the nearest kernels, with `lines` and `bins` times the samples a bin.
struct TextureBackproject {
    Backproject b;
    const cudaTextureObject_t *textures;
};
static_assert(sizeof(TextureBackproject) == 80);

// A view's line as the inner loop reads it, relative to the middle of the tile. Small numbers are added up first; `whole`, the
// bin plus the 0.5 between bins and texture coordinates, comes last, so that only that addition rounds noticeably.
struct __align__(16) TextureLine {
    float fraction, dx, dy, whole;
};

__device__ inline void texture_add(float &sum, float texel) { sum += texel; }
__device__ inline void texture_add(float2 &sum, float2 texel) {
    sum.x += texel.x;
    sum.y += texel.y;
}
__device__ inline void texture_add(float4 &sum, float4 texel) {
    sum.x += texel.x;
    sum.y += texel.y;
    sum.z += texel.z;
    sum.w += texel.w;
}

__device__ inline float texture_lane(float sum, int) { return sum; }
__device__ inline float texture_lane(float2 sum, int lane) { return lane ? sum.y : sum.x; }
__device__ inline float texture_lane(float4 sum, int lane) {
    return lane == 0 ? sum.x : lane == 1 ? sum.y : lane == 2 ? sum.z : sum.w;
}

// How a block's threads cover its pixels. `SPLIT` sets of threads take every SPLIT-th view of the same pixels. Each set covers
// WIDTH x ROWS pixels at once, and steps down PIXELS times. In `SQUARES` the threads follow a Z-order curve in squares of 4x4
// pixels, so that the fetches of each 4 (and 16) threads fall on neighbouring bins whatever the angle; otherwise they run
// along rows.
template <int THREADS, int WIDTH, int SPLIT, int PIXELS, bool SQUARES> struct TextureTile {
    static constexpr int threads = THREADS, width = WIDTH, split = SPLIT, pixels = PIXELS;
    static constexpr int set = THREADS / SPLIT, rows = set / WIDTH, height = rows * PIXELS;
    static_assert(set % 32 == 0 && set % WIDTH == 0, "a set is whole warps and whole rows");
    static_assert(!SQUARES || (WIDTH % 4 == 0 && rows % 4 == 0), "squares are 4x4");
    static_assert(PIXELS % SPLIT == 0, "each set adds up as many pixels");
    // Views whose lines are in shared memory at a time; the same memory then serves the addition over sets.
    static constexpr int views = THREADS;
    static constexpr int shared_bytes = THREADS * (SPLIT > 1 && PIXELS > 4 ? PIXELS * 4 : (int)sizeof(TextureLine));

    // Pixel 0 of a thread of a set; pixel k lies `rows` * k below.
    __device__ static int2 pixel(int thread) {
        if (!SQUARES) return {thread % WIDTH, thread / WIDTH};
        int square = thread / 16;
        int x = (thread & 1) | (thread >> 1 & 2), y = (thread >> 1 & 1) | (thread >> 2 & 2);
        return {square % (WIDTH / 4) * 4 + x, square / (WIDTH / 4) * 4 + y};
    }
};

// Adds this thread's share of the views to sums[k], for pixel(thread % set) + (0, k * rows) of the tile at (x0, y0). `lines`
// holds Tile::views entries in shared memory. Every thread of the block calls it.
template <class Tile, bool NEAREST, class Texel>
__device__ __forceinline__ void texture_accumulate(const Backproject &b, cudaTextureObject_t texture, TextureLine *lines,
                                                   int x0, int y0, Texel (&sums)[Tile::pixels]) {
    const int part = threadIdx.x / Tile::set;
    const int2 pixel = Tile::pixel(threadIdx.x % Tile::set);
    const float x = pixel.x - Tile::width / 2, y = pixel.y - Tile::height / 2;
    for (int begin = 0; begin < b.views; begin += Tile::views) {
        const int count = min(Tile::views, b.views - begin);
        __syncthreads();
        if (threadIdx.x < count) {
            LocalLine line = local_line(b.lines[begin + threadIdx.x], x0 + Tile::width / 2, y0 + Tile::height / 2);
            TextureLine entry = {line.fraction + (NEAREST ? 0.5f : 0.0f), line.dx, line.dy, line.bin + 0.5f};
            // A view that misses the detector everywhere in the tile: no coordinate ever gets large, whatever the geometry.
            float reach = fabsf(line.dx) * (Tile::width / 2) + fabsf(line.dy) * (Tile::height / 2) + 2;
            if (line.bin < -reach || line.bin > b.bins + reach) entry = {0, 0, 0, -2};
            lines[threadIdx.x] = entry;
        }
        __syncthreads();
        float row = begin + part + 0.5f;
#pragma unroll 4
        for (int view = part; view < count; view += Tile::split, row += Tile::split) {
            const TextureLine line = lines[view];
            const float h = fmaf(x, line.dx, fmaf(y, line.dy, line.fraction));
#pragma unroll
            for (int k = 0; k < Tile::pixels; k++) {
                float local = fmaf((float)(k * Tile::rows), line.dy, h);
                // Rounded here, the choice of the bin is as exact as the small number; the sum below is then exact.
                if (NEAREST) local = floorf(local);
                texture_add(sums[k], tex2D<Texel>(texture, local + line.whole, row));
            }
        }
    }
}

// Writes the tile: adds up the sets of threads in a fixed order, multiplies by each slice's scale.
template <class Tile, class Texel>
__device__ __forceinline__ void texture_store(const Backproject &b, float *shared, int x0, int y0, int group,
                                              const Texel (&sums)[Tile::pixels]) {
    constexpr int lanes = sizeof(Texel) / sizeof(float);
    const int part = threadIdx.x / Tile::set, thread = threadIdx.x % Tile::set;
    const int2 pixel = Tile::pixel(thread);
    const int x = x0 + pixel.x;
#pragma unroll
    for (int lane = 0; lane < lanes; lane++) {
        const int slice = group * lanes + lane;
        if (slice >= b.slices) return;
        const float scale = b.scale[slice];
        float *out = b.volume + slice * b.slice_stride + x;
        if (Tile::split == 1) {
#pragma unroll
            for (int k = 0; k < Tile::pixels; k++) {
                int y = y0 + pixel.y + k * Tile::rows;
                if (x < b.nx && y < b.ny) out[y * b.row_stride] = texture_lane(sums[k], lane) * scale;
            }
        } else {
            __syncthreads();
#pragma unroll
            for (int k = 0; k < Tile::pixels; k++) shared[k * Tile::threads + threadIdx.x] = texture_lane(sums[k], lane);
            __syncthreads();
#pragma unroll
            for (int k = part; k < Tile::pixels; k += Tile::split) {
                float sum = 0;
#pragma unroll
                for (int s = 0; s < Tile::split; s++) sum += shared[k * Tile::threads + s * Tile::set + thread];
                int y = y0 + pixel.y + k * Tile::rows;
                if (x < b.nx && y < b.ny) out[y * b.row_stride] = sum * scale;
            }
        }
    }
}

// One tile of one group, by a block of Tile::threads threads. `shared` has Tile::shared_bytes, aligned to 16.
template <class Tile, bool NEAREST, class Texel>
__device__ __forceinline__ void texture_backproject(const TextureBackproject &p, void *shared, int tile_x, int tile_y,
                                                    int group) {
    const int x0 = tile_x * Tile::width, y0 = tile_y * Tile::height;
    Texel sums[Tile::pixels] = {};
    texture_accumulate<Tile, NEAREST>(p.b, p.textures[group], (TextureLine *)shared, x0, y0, sums);
    texture_store<Tile>(p.b, (float *)shared, x0, y0, group, sums);
}
