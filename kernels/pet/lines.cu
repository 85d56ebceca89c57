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

// Mirrors `Arguments` in crates/pet/src/gpu/lines.rs. Images are there twice, the second one a voxel later: of two voxels one above the other the first is at an even place in one of them, so that both are read
// or added to at once.
struct Lines {
    const float *list;
    const float *image;
    float *sum, *values;
    double2 *tally;
    long long count;
    // Along x, y, z, and to the second one, which is even.
    int strides[3], second;
    float last[3];
    // Where the Gaussian ends, in sigmas, and 1 over what is left of it.
    float cut, whole;
    float least;
};
static_assert(sizeof(Lines) == 88);

__device__ inline float half_normal(float u) { return 0.5f * erff(0.70710678f * u); }

// Two voxels' sum with weights.
__device__ inline float read_pair(const float *image, int second, int at, float a, float b) {
    const float2 v = __ldg(reinterpret_cast<const float2 *>(image + at + (at & 1 ? second + 1 : 0)));
    return a * v.x + b * v.y;
}

__device__ inline void add_pair(float *sum, int second, int at, float a, float b) {
    float *to = sum + at + (at & 1 ? second + 1 : 0);
#if __CUDA_ARCH__ >= 900
    atomicAdd(reinterpret_cast<float2 *>(to), make_float2(a, b));
#else
    atomicAdd(to, a);
    atomicAdd(to + 1, b);
#endif
}

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
    // Planes that a warp takes at a time: with time of flight the last lane has a border alone.
    int planes;

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
        planes = line.sigmas > 0 ? 31 : 32;
    }

    // Of this lane's plane among those from `first` on, where it has one.
    __device__ inline Taps taps(const Lines &p, int first) const {
        const int plane = first + threadIdx.x % 32;
        float weight = line.length;
        if (line.sigmas > 0) {
            const float below = half_normal(fminf(fmaxf((plane - 0.5f - line.event) * line.sigmas, -p.cut), p.cut));
            weight = (__shfl_down_sync(~0u, below, 1) - below) * p.whole;
        }
        const float a = fminf(fmaxf(fmaf((float)plane, line.slope[0], line.place[0]), 0.f), last[0]);
        const float b = fminf(fmaxf(fmaf((float)plane, line.slope[1], line.place[1]), 0.f), last[1]);
        const int i = (int)a, j = (int)b;
        const float fa = a - i, fb = b - j, low = weight * (1 - fa), high = weight * fa;
        return {base + plane * ahead + i * apart[0] + j * apart[1], {low * (1 - fb), low * fb, high * (1 - fb), high * fb}};
    }

    __device__ inline bool has(int first) const { return threadIdx.x % 32 < planes && first + (int)(threadIdx.x % 32) < count; }

    __device__ inline float read(const Lines &p, const Taps &t) const {
        const int other = t.at + apart[0];
        if (apart[1] == 1) return read_pair(p.image, p.second, t.at, t.weights[0], t.weights[1]) + read_pair(p.image, p.second, other, t.weights[2], t.weights[3]);
        const float *at = p.image + t.at;
        return t.weights[0] * __ldg(at) + t.weights[1] * __ldg(at + apart[1]) + t.weights[2] * __ldg(at + apart[0]) + t.weights[3] * __ldg(at + apart[0] + apart[1]);
    }

    __device__ inline void add(const Lines &p, const Taps &t, float value) const {
        if (apart[1] == 1) {
            add_pair(p.sum, p.second, t.at, t.weights[0] * value, t.weights[1] * value);
            add_pair(p.sum, p.second, t.at + apart[0], t.weights[2] * value, t.weights[3] * value);
            return;
        }
        float *at = p.sum + t.at;
        atomicAdd(at, t.weights[0] * value);
        atomicAdd(at + apart[1], t.weights[1] * value);
        atomicAdd(at + apart[0], t.weights[2] * value);
        atomicAdd(at + apart[0] + apart[1], t.weights[3] * value);
    }

    // The sum along the line, in all lanes; `begin` is what the first planes have.
    __device__ inline float gather(const Lines &p, const Taps &begin) const {
        float sum = has(0) ? read(p, begin) : 0;
        for (int first = planes; first < count; first += planes) {
            const Taps t = taps(p, first);
            if (has(first)) sum += read(p, t);
        }
        for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
        return sum;
    }

    __device__ inline void scatter(const Lines &p, const Taps &begin, float value) const {
        if (has(0)) add(p, begin, value);
        for (int first = planes; first < count; first += planes) {
            const Taps t = taps(p, first);
            if (has(first)) add(p, t, value);
        }
    }
};

template <class F> __device__ inline void each_line(const Lines &p, F f) {
    const long long warps = gridDim.x * (long long)(THREADS / 32);
    for (long long k = blockIdx.x * (long long)(THREADS / 32) + threadIdx.x / 32; k < p.count; k += warps) f(k);
}

extern "C" __global__ void __launch_bounds__(THREADS) lines_forward(const __grid_constant__ Lines p) {
    each_line(p, [&](long long k) {
        const Trace trace(p, k);
        const float sum = trace.gather(p, trace.taps(p, 0));
        if (threadIdx.x % 32 == 0) p.values[k] = sum;
    });
}

extern "C" __global__ void __launch_bounds__(THREADS) lines_adjoint(const __grid_constant__ Lines p) {
    each_line(p, [&](long long k) {
        const Trace trace(p, k);
        trace.scatter(p, trace.taps(p, 0), p.values[k]);
    });
}

// Adds lines over what is expected of them.
extern "C" __global__ void __launch_bounds__(THREADS) lines_ratios(const __grid_constant__ Lines p) {
    double log_likelihood = 0;
    long long skipped = 0;
    each_line(p, [&](long long k) {
        const Trace trace(p, k);
        // Events that do not count.
        if (trace.count == 0) return;
        const Taps begin = trace.taps(p, 0);
        const float expected = trace.gather(p, begin) + trace.line.besides;
        if (!(expected >= p.least && isfinite(expected))) {
            skipped++;
            return;
        }
        log_likelihood += logf(expected);
        trace.scatter(p, begin, 1 / expected);
    });
    const bool first = threadIdx.x % 32 == 0;
    const double sum = block_sum(first ? log_likelihood : 0), all = block_sum(first ? (double)skipped : 0);
    if (threadIdx.x == 0) {
        p.tally[blockIdx.x].x += sum;
        p.tally[blockIdx.x].y += all;
    }
}

// Mirrors `Order` in crates/pet/src/gpu/lines.rs: lines that cross the same planes along z one after the other.
struct Order {
    const float *from;
    float *to;
    unsigned *keys, *values;
    long long count;
    // Of the voxels from zeros to zeros, for keys of 8 bits.
    float scale;
    int unused;
};
static_assert(sizeof(Order) == 48);

extern "C" __global__ void __launch_bounds__(THREADS) lines_keys(const __grid_constant__ Order p) {
    each(p.count, [&](long long i) {
        Line line;
        memcpy(&line, p.from + i * WORDS, sizeof line);
        const int axis = line.planes & 3, count = line.planes >> 15;
        const float plane = line.sigmas > 0 ? fminf(fmaxf(line.event, 0.f), (float)count) : 0.5f * count;
        const float z = axis == 2 ? (line.planes >> 2 & 0x1fff) + plane : line.place[1] + plane * line.slope[1];
        p.keys[i] = (unsigned)fminf(fmaxf(z * p.scale, 0.f), 255.f);
        p.values[i] = (unsigned)i;
    });
}

extern "C" __global__ void __launch_bounds__(THREADS) lines_order(const __grid_constant__ Order p) {
    each(p.count * WORDS, [&](long long i) {
        const long long k = i / WORDS;
        p.to[i] = p.from[(long long)p.values[k] * WORDS + (i - k * WORDS)];
    });
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
    int column, axis, reach, second;
    float scale;
    int unused;
};
static_assert(sizeof(Images) == 88);

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

// The second image beside the first.
extern "C" __global__ void __launch_bounds__(THREADS) lines_double(const __grid_constant__ Images p) {
    each_voxel(p, [&](long long, long long i, int, int, int) { p.to[i + p.second + 1] = p.to[i]; });
}

// Both in the first.
extern "C" __global__ void __launch_bounds__(THREADS) lines_join(const __grid_constant__ Images p) {
    each_voxel(p, [&](long long, long long i, int, int, int) { p.to[i] += p.to[i + p.second + 1]; });
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

// The volume, and of each voxel between others along z a 24th of both neighbours in its place: see `Factors::write_sum`.
extern "C" __global__ void __launch_bounds__(THREADS) lines_between(const __grid_constant__ Images p) {
    each_voxel(p, [&](long long v, long long, int, int, int z) {
        const float own = p.volume[v];
        p.to[v] = z > 0 && z < p.sides[2] - 1 ? own + (p.volume[v - 1] + p.volume[v + 1] - 2 * own) * (1.f / 24) : own;
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
