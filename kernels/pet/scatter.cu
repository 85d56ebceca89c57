// Scatter of all pairs of detectors by the time of flight, on a coarse lattice, and times factors. The
// processor's arithmetic, and the formula, are in crates/pet/src/scatter.
#include "../common/block_sum.cuh"

// Means over cells, [z][y][x], with zeros about them. Mirrors `Volume` in crates/pet/src/gpu/scatter.rs.
struct Grid {
    const float *values;
    int count[3], unused;
    float lowest[3], per_mm[3];
};

// Mirror those of the same name in crates/pet/src/scatter.
struct Place {
    float at[3], weight;
};
struct alignas(16) Ray {
    float along[3], length, attenuation, open;
    unsigned first, end;
};

// A direction of a view; `longer`: the length of a mm across the axis.
struct Line {
    float sin, cos, tangent, longer, weight;
    int unused[3];
};

// A pair of detectors, and what its places' parts are multiplied by.
struct Pair {
    int first, second;
    float scale;
    int unused;
};

// Mirrors `Arguments` in crates/pet/src/gpu/scatter.rs.
struct Scatter {
    Grid activity, attenuation;
    // x, y, z, 0
    const float4 *nodes;
    const Place *places;
    // Of a scattering's cosine from -1 to 1: the part a steradian that is measured, and the ratio of attenuations.
    const float2 *table;
    // [node][place], and [node][place][step].
    Ray *rays;
    float *ways;
    const Pair *pairs;
    const float *blur;
    // [node][other node][time]
    float *values;
    const Line *lines;
    // [z][y][x], as it is and as it is told between points.
    float *blurred, *points;
    int node_count, place_count, steps, about;
    int table_last, blur_count, around, rings;
    int line_count, points_x, points_y, points_z;
    float step, radius, lowest_ring, per_ring;
    float points_lowest[3], points_apart[3];
    // mm within the detectors' edge over which a line's end leaves them; what a line weighs that ends beyond.
    float edge, beyond;
};
static_assert(sizeof(Grid) == 48 && sizeof(Ray) == 32 && sizeof(Line) == 32 && sizeof(Pair) == 16 && sizeof(Scatter) == 280);

// As in crates/pet/src/scatter/rays.rs.
constexpr int SAMPLES = 2;
constexpr float PI = 3.14159265358979f;

__device__ inline float at(const Grid &g, float x, float y, float z) {
    const float u = (x - g.lowest[0]) * g.per_mm[0], v = (y - g.lowest[1]) * g.per_mm[1], w = (z - g.lowest[2]) * g.per_mm[2];
    const int nx = g.count[0], ny = g.count[1], nz = g.count[2];
    if (!(u >= 0 && v >= 0 && w >= 0 && u < nx - 1 && v < ny - 1 && w < nz - 1)) return 0;
    const int i = (int)u, j = (int)v, k = (int)w;
    const float f = u - i, g1 = v - j, h = w - k;
    const float *p = g.values + ((size_t)k * ny + j) * nx + i;
    const size_t plane = (size_t)nx * ny;
    const float a = p[0] + f * (p[1] - p[0]), b = p[nx] + f * (p[nx + 1] - p[nx]);
    const float c = p[plane] + f * (p[plane + 1] - p[plane]), d = p[plane + nx] + f * (p[plane + nx + 1] - p[plane + nx]);
    const float low = a + g1 * (b - a), high = c + g1 * (d - c);
    return low + h * (high - low);
}

// A thread for a way from a place to a detector.
extern "C" __global__ void __launch_bounds__(256) scatter_rays(const __grid_constant__ Scatter p) {
    const long long count = (long long)p.node_count * p.place_count;
    for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < count; k += (long long)gridDim.x * blockDim.x) {
        const float4 end = p.nodes[k / p.place_count];
        const Place place = p.places[k % p.place_count];
        const float x = end.x - place.at[0], y = end.y - place.at[1], z = end.z - place.at[2];
        const float length = sqrtf(x * x + y * y + z * z), u = x / length, v = y / length, w = z / length;
        const float sample = p.step / SAMPLES;
        float attenuation = 0;
        unsigned first = p.steps, last = 0;
        float *way = p.ways + k * p.steps;
        for (int s = 0; s < p.steps; s++) {
            float sum = 0;
            for (int q = 0; q < SAMPLES; q++) {
                const float t = (s * SAMPLES + q) * sample + 0.5f * sample;
                if (t > length) break;
                const float a = place.at[0] + t * u, b = place.at[1] + t * v, c = place.at[2] + t * w;
                attenuation += at(p.attenuation, a, b, c);
                sum += at(p.activity, a, b, c);
            }
            sum *= sample;
            way[s] = sum;
            if (sum > 0) first = min(first, (unsigned)s), last = s + 1;
        }
        // Activity is on the lattice; what attenuates may be beyond it.
        for (float t = (p.steps * SAMPLES + 0.5f) * sample; t < length; t += sample)
            attenuation += at(p.attenuation, place.at[0] + t * u, place.at[1] + t * v, place.at[2] + t * w);
        const float cosine = fmaxf((u * end.x + v * end.y) / p.radius, 0.0f);
        p.rays[k] = { { u, v, w }, length, attenuation * sample, cosine / (length * length), min(first, last), last };
    }
}

// Places whose parts a block computes before it adds them, one a thread, and times that it adds them for, two a thread.
constexpr int CHUNK = 128, MOST = 2 * CHUNK;

// What a place adds towards one end of a line: an activity's first step at a time, between the steps that there are.
struct Part {
    float less, more;
    int low, first, end;
};

__device__ inline Part part(float time, float weight, const Ray &ray) {
    const float low = floorf(time), f = time - low;
    return { weight * (1 - f), weight * f, (int)low, (int)ray.first, weight > 0 ? (int)ray.end : 0 };
}

// What it adds to time `t`.
__device__ inline float added(const Part &q, const float *way, int t) {
    const int k = t - q.low;
    float sum = 0;
    if (k >= q.first && k < q.end) sum += q.less * way[k];
    if (k > q.first && k <= q.end) sum += q.more * way[k - 1];
    return sum;
}

// A block for a pair of detectors.
extern "C" __global__ void __launch_bounds__(CHUNK) scatter_pairs(const __grid_constant__ Scatter p) {
    __shared__ Part parts[2][CHUNK];
    __shared__ float whole[MOST];
    const Pair pair = p.pairs[blockIdx.x];
    const Ray *first = p.rays + (size_t)pair.first * p.place_count, *second = p.rays + (size_t)pair.second * p.place_count;
    const float *ahead = p.ways + (size_t)pair.first * p.place_count * p.steps;
    const float *behind = p.ways + (size_t)pair.second * p.place_count * p.steps;
    const float middle = (float)(p.about / 2), per_step = 0.5f / p.step;
    float sums[2] = { 0, 0 };
    for (int from = 0; from < p.place_count; from += CHUNK) {
        const int n = min(CHUNK, p.place_count - from);
        if ((int)threadIdx.x < n) {
            const int k = from + threadIdx.x;
            const Ray a = first[k], b = second[k];
            const float cosine = -(a.along[0] * b.along[0] + a.along[1] * b.along[1] + a.along[2] * b.along[2]);
            const float place = (fminf(fmaxf(cosine, -1.0f), 1.0f) + 1) * (0.5f * p.table_last);
            const int i = min((int)place, p.table_last - 1);
            const float f = place - i;
            const float2 low = p.table[i], high = p.table[i + 1];
            const float turned = low.x + f * (high.x - low.x), ratio = low.y + f * (high.y - low.y);
            const float open = p.places[k].weight * turned * a.open * b.open;
            const float shift = (b.length - a.length) * per_step;
            parts[0][threadIdx.x] = part(middle + 0.5f + shift, open * expf(-a.attenuation - ratio * b.attenuation), a);
            parts[1][threadIdx.x] = part(middle + 0.5f - shift, open * expf(-b.attenuation - ratio * a.attenuation), b);
        }
        __syncthreads();
        for (int s = 0; s < 2; s++) {
            const int t = threadIdx.x + s * CHUNK;
            if (t >= p.about) break;
            float sum = 0;
            for (int k = 0; k < n; k++) {
                sum += added(parts[0][k], ahead + (size_t)(from + k) * p.steps, t);
                sum += added(parts[1][k], behind + (size_t)(from + k) * p.steps, p.about - 1 - t);
            }
            sums[s] += sum;
        }
        __syncthreads();
    }
    for (int s = 0; s < 2; s++) whole[threadIdx.x + s * CHUNK] = sums[s];
    __syncthreads();
    float *there = p.values + ((size_t)pair.first * p.node_count + pair.second) * p.about;
    float *back = p.values + ((size_t)pair.second * p.node_count + pair.first) * p.about;
    for (int t = threadIdx.x; t < p.about; t += CHUNK) {
        float sum = p.blur[0] * whole[t];
        for (int d = 1; d < p.blur_count; d++)
            sum += p.blur[d] * ((t >= d ? whole[t - d] : 0) + (t + d < p.about ? whole[t + d] : 0));
        there[t] = back[p.about - 1 - t] = pair.scale * sum;
    }
}

// Weights of four neighbours, the place between the middle two: of the cubic through them.
__device__ inline float4 cubic(float f) {
    const float a = f + 1, b = f, c = f - 1, d = f - 2;
    return { -b * c * d / 6, a * c * d / 2, -a * b * d / 2, a * b * c / 6 };
}

// The lowest of four nodes of a ring, not yet within it, and weights.
__device__ inline int turns(const Scatter &p, float x, float y, float4 &weights) {
    const float place = atan2f(y, x) * (0.5f / PI) * p.around, low = floorf(place);
    weights = cubic(place - low);
    return (int)low - 1 + p.around;
}

__device__ inline int rings(const Scatter &p, float z, float4 &weights) {
    const float place = fminf(fmaxf((z - p.lowest_ring) * p.per_ring, 0.0f), (float)(p.rings - 1));
    const int low = min(max((int)place, 1), p.rings - 3);
    weights = cubic(place - low);
    return low - 1;
}

// Whether detectors reach to a height, 0 to 1.
__device__ inline float reach(const Scatter &p, float z) {
    const float beyond = z - p.lowest_ring, below = (p.rings - 1) / p.per_ring - beyond;
    return fminf(fmaxf(fminf(beyond, below) / p.edge, 0.0f), 1.0f);
}

__device__ inline float get(const float4 &v, int k) { return k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w; }

// A thread for a point of the coarse lattice.
extern "C" __global__ void __launch_bounds__(256) scatter_points(const __grid_constant__ Scatter p) {
    const int count = p.points_x * p.points_y * p.points_z;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
        const float x = p.points_lowest[0] + k % p.points_x * p.points_apart[0];
        const float y = p.points_lowest[1] + k / p.points_x % p.points_y * p.points_apart[1];
        const float z = p.points_lowest[2] + k / (p.points_x * p.points_y) * p.points_apart[2];
        const float rest = p.radius * p.radius - x * x - y * y;
        float total = 0, whole = 0;
        for (int l = 0; l < p.line_count && rest > 0; l++) {
            const Line line = p.lines[l];
            const float foot = -(x * line.cos + y * line.sin), half = sqrtf(foot * foot + rest);
            const float ahead = foot + half, behind = foot - half;
            float4 turn_a, turn_b, up_a, up_b;
            const int a = turns(p, x + ahead * line.cos, y + ahead * line.sin, turn_a);
            const int b = turns(p, x + behind * line.cos, y + behind * line.sin, turn_b);
            const float end_a = z + ahead * line.tangent, end_b = z + behind * line.tangent;
            const int ring_a = rings(p, end_a, up_a), ring_b = rings(p, end_b, up_b);
            const float weight = line.weight * fmaxf(reach(p, end_a) * reach(p, end_b), p.beyond);
            whole += weight;
            const float time = fminf(fmaxf(p.about / 2 - foot * line.longer / p.step, 0.0f), p.about - 1.001f);
            const int t = (int)time;
            const float f = time - t;
            float sum = 0;
            for (int i = 0; i < 4; i++)
                for (int r = 0; r < 4; r++) {
                    const size_t from = (size_t)((a + i) % p.around * p.rings + ring_a + r) * p.node_count;
                    float part = 0;
                    for (int j = 0; j < 4; j++)
                        for (int q = 0; q < 4; q++) {
                            const float *v = p.values + (from + (b + j) % p.around * p.rings + ring_b + q) * p.about + t;
                            part += get(turn_b, j) * get(up_b, q) * (v[0] + f * (v[1] - v[0]));
                        }
                    sum += get(turn_a, i) * get(up_a, r) * part;
                }
            total += 2 * PI * weight * fmaxf(sum, 0.0f);
        }
        // Only lines between detectors count.
        p.blurred[k] = whole > 0 ? total / whole : 0;
    }
}

// A thread for a point: a twelfth of the second differences less, which straight lines between points add on average.
extern "C" __global__ void __launch_bounds__(256) scatter_sharpen(const __grid_constant__ Scatter p) {
    const int count = p.points_x * p.points_y * p.points_z, plane = p.points_x * p.points_y;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x) {
        const int x = k % p.points_x, y = k / p.points_x % p.points_y, z = k / plane;
        const float *v = p.blurred + k;
        float second = 0;
        if (x > 0 && x + 1 < p.points_x) second += v[-1] - 2 * v[0] + v[1];
        if (y > 0 && y + 1 < p.points_y) second += v[-p.points_x] - 2 * v[0] + v[p.points_x];
        if (z > 0 && z + 1 < p.points_z) second += v[-plane] - 2 * v[0] + v[plane];
        p.points[k] = fmaxf(v[0] - second * (1.0f / 12), 0.0f);
    }
}

// Mirrors `Apply` in crates/pet/src/gpu/scatter.rs. Volumes are [y][x][z], in columns of `column`.
struct Apply {
    // Factors, which become scatter.
    float *volume;
    // Of the coarse lattice, [z][y][x]: scatter for a factor of 1; 1 in tails, or NULL.
    const float *points, *tails;
    // Counts, read with tails; randoms, NULL for none: without tails they are added.
    const float *measured, *randoms;
    // Four sums of each block, which are added to: scatter, scatter in tails, counts there less randoms, counts there.
    double *sums;
    int nx, ny, nz, column;
    int points_x, points_y, points_z, unused;
    // Points a voxel.
    float per_voxel[3], scale;
};
static_assert(sizeof(Apply) == 96);

// The point below a voxel's middle, the last but one at most, and how far beyond it is.
__device__ inline int below(int voxel, float per_voxel, int points, float &f) {
    const float place = voxel * per_voxel;
    const int k = max(min((int)place, points - 2), 0);
    f = place - k;
    return k;
}

__device__ inline float told(const float *points, const Apply &p, int x, int y, int z) {
    float f, g, h;
    const int i = below(x, p.per_voxel[0], p.points_x, f), j = below(y, p.per_voxel[1], p.points_y, g);
    const int k = below(z, p.per_voxel[2], p.points_z, h);
    const int next_x = p.points_x > 1, next_y = p.points_y > 1 ? p.points_x : 0;
    const int next_z = p.points_z > 1 ? p.points_x * p.points_y : 0;
    const float *q = points + (k * p.points_y + j) * p.points_x + i;
    const float a = q[0] + f * (q[next_x] - q[0]), b = q[next_y] + f * (q[next_y + next_x] - q[next_y]);
    q += next_z;
    const float c = q[0] + f * (q[next_x] - q[0]), d = q[next_y] + f * (q[next_y + next_x] - q[next_y]);
    const float low = a + g * (b - a), high = c + g * (d - c);
    return low + h * (high - low);
}

extern "C" __global__ void __launch_bounds__(THREADS) scatter_apply(const __grid_constant__ Apply p) {
    double all = 0, in_tails = 0, more = 0, counts = 0;
    each((long long)p.nx * p.ny * p.column, [&](long long k) {
        const int z = (int)(k % p.column), x = (int)(k / p.column % p.nx), y = (int)(k / p.column / p.nx);
        if (z >= p.nz) return;
        float value = p.volume[k] * told(p.points, p, x, y, z);
        const float randoms = p.randoms ? p.randoms[k] : 0;
        all += value;
        if (!p.tails) {
            value += randoms;
        } else if (value > 0 && told(p.tails, p, x, y, z) > 0.999f) {
            in_tails += value, more += (double)p.measured[k] - randoms, counts += p.measured[k];
        }
        p.volume[k] = value;
    });
    all = block_sum(all), in_tails = block_sum(in_tails), more = block_sum(more), counts = block_sum(counts);
    if (threadIdx.x == 0) {
        double *sums = p.sums + 4 * blockIdx.x;
        sums[0] += all, sums[1] += in_tails, sums[2] += more, sums[3] += counts;
    }
}

// volume = scale volume + randoms
extern "C" __global__ void __launch_bounds__(THREADS) scatter_scale(const __grid_constant__ Apply p) {
    each((long long)p.nx * p.ny * p.column, [&](long long k) {
        p.volume[k] = p.scale * p.volume[k] + (p.randoms ? p.randoms[k] : 0);
    });
}
