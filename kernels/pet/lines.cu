// Lines through an image: see crates/pet/src/lines. An image is [y][x][z] with a voxel of zeros about it; a warp takes a line, and its lanes the planes that the line crosses.
#include "../common/block_sum.cuh"


// Mirrors `Packed` in crates/pet/src/lines/trace.rs: a line, as it crosses planes across an axis.
struct Line {
    // Along the other two axes, counted from the voxels of zeros on: where it is in the first plane, and by how much from plane to plane.
    float place[2], slope[2];
    // The event's place in planes from the first, and sigmas of a plane; 0 without time of flight.
    float event, sigmas;
    // mm from plane to plane.
    float length;
    // What is expected besides the sum along the line.
    float besides;
    // Axis, first and number of planes: 2, 13 and 13 bits.
    unsigned planes;
};
constexpr int WORDS = 9;
static_assert(sizeof(Line) == 4 * WORDS);

// Mirrors `Arguments` in crates/pet/src/gpu/lines.rs.
struct Lines {
    const float *list;
    const float *image;
    float *sum, *values;
    double2 *tally;
    long long count;
    // Along x, y, z.
    int strides[3];
    float last[3];
    // Where the Gaussian ends, in sigmas, and 1 over what is left of it.
    float cut, whole;
    float least;
    int unused;
};
static_assert(sizeof(Lines) == 88);

__device__ inline float half_normal(float u) { return 0.5f * erff(0.70710678f * u); }

// A plane's four voxels, and their weights.
struct Taps {
    int at;
    float weights[4];
};

// A line, in the registers of all lanes.
struct Trace {
    Line line;
    int count, base, ahead, apart[2];
    float last[2];

    __device__ inline Trace(const Lines &p, long long k) {
        const int lane = threadIdx.x % 32;
        const float word = lane < WORDS ? p.list[k * WORDS + lane] : 0;
        float words[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i++) words[i] = __shfl_sync(~0u, word, i);
        memcpy(&line, words, sizeof line);
        const int axis = line.planes & 3;
        count = line.planes >> 15;
        // The axis along which voxels follow one another comes last.
        const int a = axis == 0 ? 1 : axis == 1 ? 0 : 1, b = axis == 2 ? 0 : 2;
        auto of = [&](const auto *values, int i) { return i == 0 ? values[0] : i == 1 ? values[1] : values[2]; };
        ahead = of(p.strides, axis);
        apart[0] = of(p.strides, a);
        apart[1] = of(p.strides, b);
        last[0] = of(p.last, a);
        last[1] = of(p.last, b);
        base = ((line.planes >> 2 & 0x1fff) + 1) * ahead;
    }

    __device__ inline Taps taps(const Lines &p, int plane) const {
        float weight = line.length;
        if (line.sigmas > 0) {
            auto edge = [&](float at) { return half_normal(fminf(fmaxf((at - line.event) * line.sigmas, -p.cut), p.cut)); };
            weight = (edge(plane + 0.5f) - edge(plane - 0.5f)) * p.whole;
        }
        const float a = fminf(fmaxf(fmaf((float)plane, line.slope[0], line.place[0]), 0.f), last[0]);
        const float b = fminf(fmaxf(fmaf((float)plane, line.slope[1], line.place[1]), 0.f), last[1]);
        const int i = (int)a, j = (int)b;
        const float fa = a - i, fb = b - j, low = weight * (1 - fa), high = weight * fa;
        return {base + plane * ahead + i * apart[0] + j * apart[1], {low * (1 - fb), low * fb, high * (1 - fb), high * fb}};
    }

    // The sum along the line, in all lanes.
    __device__ inline float gather(const Lines &p) const {
        float sum = 0;
        for (int plane = threadIdx.x % 32; plane < count; plane += 32) {
            const Taps t = taps(p, plane);
            const float *at = p.image + t.at;
            sum += t.weights[0] * __ldg(at) + t.weights[1] * __ldg(at + apart[1]);
            sum += t.weights[2] * __ldg(at + apart[0]) + t.weights[3] * __ldg(at + apart[0] + apart[1]);
        }
        for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
        return sum;
    }

    __device__ inline void scatter(const Lines &p, float value) const {
        for (int plane = threadIdx.x % 32; plane < count; plane += 32) {
            const Taps t = taps(p, plane);
            float *at = p.sum + t.at;
            atomicAdd(at, t.weights[0] * value);
            atomicAdd(at + apart[1], t.weights[1] * value);
            atomicAdd(at + apart[0], t.weights[2] * value);
            atomicAdd(at + apart[0] + apart[1], t.weights[3] * value);
        }
    }
};

template <class F> __device__ inline void each_line(const Lines &p, F f) {
    const long long warps = gridDim.x * (long long)(THREADS / 32);
    for (long long k = blockIdx.x * (long long)(THREADS / 32) + threadIdx.x / 32; k < p.count; k += warps) f(k);
}

extern "C" __global__ void __launch_bounds__(THREADS) lines_forward(const __grid_constant__ Lines p) {
    each_line(p, [&](long long k) {
        const float sum = Trace(p, k).gather(p);
        if (threadIdx.x % 32 == 0) p.values[k] = sum;
    });
}

extern "C" __global__ void __launch_bounds__(THREADS) lines_adjoint(const __grid_constant__ Lines p) {
    each_line(p, [&](long long k) { Trace(p, k).scatter(p, p.values[k]); });
}

// Adds lines over what is expected of them.
extern "C" __global__ void __launch_bounds__(THREADS) lines_ratios(const __grid_constant__ Lines p) {
    double log_likelihood = 0;
    long long skipped = 0;
    each_line(p, [&](long long k) {
        const Trace trace(p, k);
        // Events that do not count.
        if (trace.count == 0 && trace.line.besides == 0) return;
        const float expected = trace.gather(p) + trace.line.besides;
        if (!(expected >= p.least && isfinite(expected))) {
            skipped++;
            return;
        }
        log_likelihood += logf(expected);
        trace.scatter(p, 1 / expected);
    });
    const bool first = threadIdx.x % 32 == 0;
    const double sum = block_sum(first ? log_likelihood : 0), all = block_sum(first ? (double)skipped : 0);
    if (threadIdx.x == 0) {
        p.tally[blockIdx.x].x += sum;
        p.tally[blockIdx.x].y += all;
    }
}

// Mirrors `Images` in crates/pet/src/gpu/lines.rs: between volumes [y][x][z], whose columns are longer than they are high, and images.
struct Images {
    float *volume;
    const float *from;
    float *to;
    // Of steps 0, 1, ... from the middle.
    const float *weights;
    double2 *tally;
    int sides[3], strides[3];
    int column, axis, reach;
    float scale;
};
static_assert(sizeof(Images) == 80);

// Calls with the numbers of each voxel in the volume and in the image.
template <class F> __device__ inline void each_voxel(const Images &p, F f) {
    each((long long)p.sides[0] * p.sides[1] * p.sides[2], [&](long long i) {
        const long long cell = i / p.sides[2];
        const int z = (int)(i - cell * p.sides[2]), y = (int)(cell / p.sides[0]), x = (int)(cell - (long long)y * p.sides[0]);
        f(cell * p.column + z, (long long)(y + 1) * p.strides[1] + (x + 1) * p.strides[0] + z + 1, x, y, z);
    });
}

extern "C" __global__ void __launch_bounds__(THREADS) lines_fill(const __grid_constant__ Images p) {
    each_voxel(p, [&](long long v, long long i, int, int, int) { p.to[i] = p.volume[v]; });
}

// volume = scale image, or volume + scale image with `reach` 1.
extern "C" __global__ void __launch_bounds__(THREADS) lines_take(const __grid_constant__ Images p) {
    each_voxel(p, [&](long long v, long long i, int, int, int) { p.volume[v] = (p.reach ? p.volume[v] : 0) + p.scale * p.from[i]; });
}

// Convolves along an axis.
extern "C" __global__ void __launch_bounds__(THREADS) lines_blur(const __grid_constant__ Images p) {
    const int stride = p.strides[p.axis], n = p.sides[p.axis];
    each_voxel(p, [&](long long, long long i, int x, int y, int z) {
        const int at = p.axis == 0 ? x : p.axis == 1 ? y : z;
        float sum = p.weights[0] * p.from[i];
        for (int k = 1; k <= p.reach; k++) {
            const float below = at >= k ? p.from[i - (long long)k * stride] : 0, above = at + k < n ? p.from[i + (long long)k * stride] : 0;
            sum += p.weights[k] * (below + above);
        }
        p.to[i] = sum;
    });
}

// Takes off the tally what is expected of a volume with this sensitivity, which is taken off `to` times `scale`, too.
extern "C" __global__ void __launch_bounds__(THREADS) lines_expect(const __grid_constant__ Images p) {
    double sum = 0;
    each_voxel(p, [&](long long v, long long, int, int, int) {
        sum += (double)p.volume[v] * p.from[v];
        if (p.scale != 0) p.to[v] -= p.scale * p.from[v];
    });
    sum = block_sum(sum);
    if (threadIdx.x == 0) p.tally[blockIdx.x].x -= sum;
}
