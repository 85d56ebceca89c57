// Priors: sums over the 26 neighbours of each voxel.
constexpr int THREADS = 256;
enum Potential { RELATIVE_DIFFERENCE, QUADRATIC };
// Sums whose inverse would leave the range of f32 are none.
#define MIN_SUM 1e-30f

// Mirrors `Arguments` in crates/pet/src/gpu/prior.rs. Volumes are [y][x][z].
struct Prior {
    const float *image;
    // NULL: 1, and none.
    const float *weights, *anatomy;
    float *gradient, *curvature;
    // A block's sum each.
    double *sums;
    int nx, ny, nz, column;
    // Of neighbours dx, dy, dz away, at |dx| + 2 |dy| + 4 |dz|.
    float coupling[8];
    int potential;
    // gamma, or 1 / edge.
    float sharpness;
    float epsilon;
    // Of squared differences of the anatomical image, for powers of 2.
    float dissimilarity;
};
static_assert(sizeof(Prior) == 112);

// First and second derivative by the first of two neighbours; the second one may be a bound.
template <int POTENTIAL> __device__ inline float2 slopes(const Prior &p, float own, float other) {
    const float d = own - other;
    if (POTENTIAL == QUADRATIC) {
        const float inverse = rsqrtf(fmaf(d * p.sharpness, d * p.sharpness, 1.f));
        return {d * inverse, inverse};
    }
    const float edge = p.sharpness * fabsf(d), sum = own + other + edge + p.epsilon;
    const float inverse = sum > MIN_SUM ? __fdividef(1.f, sum) : 0;
    const float part = (2 * other + p.epsilon) * inverse;
    return {d * inverse * ((own + 3 * other + edge + 2 * p.epsilon) * inverse), 2 * part * part * inverse};
}

template <int POTENTIAL> __device__ inline float value(const Prior &p, float own, float other) {
    const float d = own - other;
    if (POTENTIAL == QUADRATIC) return d * (d / (1 + sqrtf(fmaf(d * p.sharpness, d * p.sharpness, 1.f))));
    const float sum = own + other + p.sharpness * fabsf(d) + p.epsilon;
    return sum > MIN_SUM ? d * (d / sum) : 0;
}

// Calls with the weight of each pair of voxel i and a neighbour, and both values.
template <class F> __device__ inline void each_pair(const Prior &p, int x, int y, int z, long long i, F f) {
    const float own = p.image[i], weight = p.weights ? p.weights[i] : 1, tissue = p.anatomy ? p.anatomy[i] : 0;
#pragma unroll
    for (int k = 0; k < 27; k++) {
        const int dx = k / 3 % 3 - 1, dy = k / 9 - 1, dz = k % 3 - 1;
        if (k == 13 || (unsigned)(x + dx) >= p.nx || (unsigned)(y + dy) >= p.ny || (unsigned)(z + dz) >= p.nz) continue;
        const long long at = i + ((long long)dy * p.nx + dx) * p.column + dz;
        float w = p.coupling[(dx & 1) + 2 * (dy & 1) + 4 * (dz & 1)];
        if (p.weights) w *= weight * p.weights[at];
        if (p.anatomy) {
            const float d = tissue - p.anatomy[at];
            w *= exp2f(-p.dissimilarity * d * d);
        }
        f(w, own, p.image[at]);
    }
}

template <class F> __device__ inline void each_voxel(const Prior &p, F f) {
    const long long voxels = (long long)p.ny * p.nx * p.nz;
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < voxels; i += gridDim.x * (long long)THREADS) {
        const long long cell = i / p.nz;
        const int z = (int)(i - cell * p.nz), y = (int)(cell / p.nx), x = (int)(cell - (long long)y * p.nx);
        f(x, y, z, cell * p.column + z);
    }
}

template <int POTENTIAL> __device__ inline void all_slopes(const Prior &p) {
    each_voxel(p, [&](int x, int y, int z, long long i) {
        float2 sum = {0, 0};
        each_pair(p, x, y, z, i, [&](float w, float own, float other) {
            const float2 s = slopes<POTENTIAL>(p, own, other);
            sum.x += w * s.x;
            sum.y += w * s.y;
        });
        p.gradient[i] = sum.x;
        p.curvature[i] = sum.y;
    });
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) prior_slopes(const __grid_constant__ Prior p) {
    if (p.potential == QUADRATIC)
        all_slopes<QUADRATIC>(p);
    else
        all_slopes<RELATIVE_DIFFERENCE>(p);
}

template <int POTENTIAL> __device__ inline double all_values(const Prior &p) {
    double sum = 0;
    each_voxel(p, [&](int x, int y, int z, long long i) {
        float own_sum = 0;
        each_pair(p, x, y, z, i, [&](float w, float own, float other) { own_sum += w * value<POTENTIAL>(p, own, other); });
        sum += own_sum;
    });
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) prior_value(const __grid_constant__ Prior p) {
    __shared__ double warps[THREADS / 32];
    double sum = p.potential == QUADRATIC ? all_values<QUADRATIC>(p) : all_values<RELATIVE_DIFFERENCE>(p);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int w = 0; w < THREADS / 32; w++) sum += warps[w];
        // Each pair came from both its ends.
        p.sums[blockIdx.x] = 0.5 * sum;
    }
}
