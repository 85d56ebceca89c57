// Between the caller's arrays [view][z][y][x] of any strides and volumes [y][x][z], and arithmetic of volumes.
constexpr int THREADS = 256;

// Mirrors `Copy` in crates/pet/src/gpu/array.rs.
struct Copy {
    // 32-bit floats, or unsigned integers.
    void *array;
    float *volume;
    // z, y, x
    long long sizes[3], strides[3];
    int column;
    int is_integer;
    // What is not finite becomes 0 if `replace`, else it is an error; what is below `least` becomes 0.
    int replace;
    float least;
    // Index of the first voxel in the numbering of `found`.
    long long first;
    // All bits of the index of the first error flipped (0: there is none), how many values are not finite, how many are below `least`, and the bits of the size of the lowest of these.
    unsigned long long *found;
};
static_assert(sizeof(Copy) == 96);

// Voxels of a tile along x and along z.
constexpr int SIDE = 32, ROWS = THREADS / SIDE;

// Between both by tiles: arrays are read or written along x, in which most callers' are in order, volumes along z. `array(index, place)` is called with voxels'
// places in the array, `volume(place)` with those in the volume; each with the tile's value.
template <bool READ, class Array, class Volume> __device__ inline void by_tiles(const Copy &p, const Array &array, const Volume &volume) {
    __shared__ float tile[SIDE][SIDE + 1];
    const int along = threadIdx.x % SIDE, across = threadIdx.x / SIDE;
    const long long nz = p.sizes[0], ny = p.sizes[1], nx = p.sizes[2];
    const long long over_x = (nx + SIDE - 1) / SIDE, over_z = (nz + SIDE - 1) / SIDE;
    for (long long t = blockIdx.x; t < ny * over_x * over_z; t += gridDim.x) {
        const long long row = t / over_x, y = row / over_z;
        const long long x0 = (t - row * over_x) * SIDE, z0 = (row - y * over_z) * SIDE;
        auto of_array = [&]() {
#pragma unroll
            for (int k = 0; k < SIDE; k += ROWS) {
                const long long x = x0 + along, z = z0 + across + k;
                if (x < nx && z < nz) {
                    array((z * ny + y) * nx + x, z * p.strides[0] + y * p.strides[1] + x * p.strides[2], tile[across + k][along]);
                }
            }
        };
        auto of_volume = [&]() {
#pragma unroll
            for (int k = 0; k < SIDE; k += ROWS) {
                const long long x = x0 + across + k, z = z0 + along;
                if (x < nx && z < nz) volume((y * nx + x) * p.column + z, tile[along][across + k]);
            }
        };
        if (READ) of_array();
        else of_volume();
        __syncthreads();
        if (READ) of_volume();
        else of_array();
        // The next tile's values come then.
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) array_read(const __grid_constant__ Copy p) {
    auto look = [&](long long i, long long from, float &value) {
        const float v = p.is_integer ? (float)static_cast<const unsigned *>(p.array)[from] : static_cast<const float *>(p.array)[from];
        const bool finite = isfinite(v);
        if (!finite) atomicAdd(p.found + 1, 1ull);
        // Those below may be rounding: the first that is not finite is an error, however many of these there are before it.
        if (!finite && !p.replace) atomicMax(p.found, ~(unsigned long long)(p.first + i));
        const bool below = finite && v < p.least;
        if (below) {
            atomicAdd(p.found + 2, 1ull);
            atomicMax(p.found + 3, (unsigned long long)__float_as_uint(-v));
            atomicMax(p.found + 4, ~(unsigned long long)(p.first + i));
        }
        value = finite && !below ? v : 0;
    };
    by_tiles<true>(p, look, [&](long long to, float value) { p.volume[to] = value; });
}

extern "C" __global__ void __launch_bounds__(THREADS) array_write(const __grid_constant__ Copy p) {
    auto put = [&](long long, long long to, float value) { static_cast<float *>(p.array)[to] = value; };
    by_tiles<false>(p, put, [&](long long from, float &value) { value = p.volume[from]; });
}

// Mirrors `Volumes`: floats of whole columns, of which the first nz are voxels.
struct Volumes {
    float *to;
    const float *by, *over;
    long long count;
    int column, nz;
    float value;
};
static_assert(sizeof(Volumes) == 48);

template <class F> __device__ inline void each(const Volumes &p, F f) {
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < p.count; i += gridDim.x * (long long)THREADS)
        f(i, i % p.column < p.nz);
}

extern "C" __global__ void __launch_bounds__(THREADS) array_fill(const __grid_constant__ Volumes p) {
    each(p, [&](long long i, bool inside) { p.to[i] = inside ? p.value : 0; });
}

// to = to by / over, where there is something to divide by; what rounding left below 0 is 0
extern "C" __global__ void __launch_bounds__(THREADS) array_scale(const __grid_constant__ Volumes p) {
    each(p, [&](long long i, bool) {
        if (p.over[i] > 0) p.to[i] *= fmaxf(p.by[i], 0.f) / p.over[i];
    });
}

// to = 0 where `over` is 0
extern "C" __global__ void __launch_bounds__(THREADS) array_mask(const __grid_constant__ Volumes p) {
    each(p, [&](long long i, bool) {
        if (!(p.over[i] > 0)) p.to[i] = 0;
    });
}

// to = to + by
extern "C" __global__ void __launch_bounds__(THREADS) array_add(const __grid_constant__ Volumes p) {
    each(p, [&](long long i, bool) { p.to[i] += p.by[i]; });
}

// to = max(to, value by)
extern "C" __global__ void __launch_bounds__(THREADS) array_raise(const __grid_constant__ Volumes p) {
    each(p, [&](long long i, bool) { p.to[i] = fmaxf(p.to[i], p.value * p.by[i]); });
}

// Mirrors `Ascent` in crates/pet/src/gpu/array.rs.
struct Ascent {
    float *image;
    const float *gradient;
    // All or none: the subset's gradient and that of all views, of an earlier image, and that.
    const float *stored, *total, *earlier;
    // Both or none: of the prior.
    const float *slope, *curvature;
    const float *sensitivity;
    long long count;
    float times, step, floor;
    // Voxels that are more or less than the earlier ones by this factor do without what was stored.
    float near;
    // A step makes a voxel smaller or larger by this factor at most.
    float limit;
    int unused;
};
static_assert(sizeof(Ascent) == 96);

// image + step (image + floor) g / (S + 2 image h), within the limit, g = times (gradient - stored) + total - slope, where some view sees the voxel.
extern "C" __global__ void __launch_bounds__(THREADS) array_ascend(const __grid_constant__ Ascent p) {
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < p.count; i += gridDim.x * (long long)THREADS) {
        const float seen = p.sensitivity[i], old = p.image[i];
        float gradient = p.times * p.gradient[i], curvature = seen;
        if (p.stored) {
            const float now = old + p.floor, then = p.earlier[i] + p.floor;
            if (now <= p.near * then && then <= p.near * now) gradient += p.total[i] - p.times * p.stored[i];
        }
        if (p.slope) {
            gradient -= p.slope[i];
            curvature += 2 * old * p.curvature[i];
        }
        const float to = fmaxf(old + p.step * (old + p.floor) * gradient / curvature, old / p.limit);
        p.image[i] = seen > 0 ? fminf(to, p.limit * (old + p.floor)) : 0;
    }
}

// Mirrors `FactsArguments`: what values there are; a block's sum each, values are not below 0.
struct Facts {
    const float *volume;
    long long count;
    int column, nz;
    double *sums;
    // The largest value's bits; 1 if some value is 0.
    unsigned *largest, *zero;
};
static_assert(sizeof(Facts) == 48);

extern "C" __global__ void __launch_bounds__(THREADS) array_facts(const __grid_constant__ Facts p) {
    __shared__ double warps[THREADS / 32];
    double sum = 0;
    float largest = 0;
    bool zero = false;
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < p.count; i += gridDim.x * (long long)THREADS) {
        const float v = p.volume[i];
        sum += v;
        largest = fmaxf(largest, v);
        zero |= v == 0 && i % p.column < p.nz;
    }
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    largest = __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(largest)));
    zero = __any_sync(~0u, zero);
    if (threadIdx.x % 32 == 0) {
        warps[threadIdx.x / 32] = sum;
        atomicMax(p.largest, __float_as_uint(largest));
        if (zero) atomicMax(p.zero, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int w = 0; w < THREADS / 32; w++) sum += warps[w];
        p.sums[blockIdx.x] += sum;
    }
}

// Mirrors `Total`: adds the blocks' sums up, and takes them back to 0.
struct Total {
    double2 *tally, *total;
    int count;
};
static_assert(sizeof(Total) == 24);

extern "C" __global__ void __launch_bounds__(THREADS) array_total(const __grid_constant__ Total p) {
    __shared__ double2 parts[THREADS];
    double2 sum = {0, 0};
    for (int i = threadIdx.x; i < p.count; i += THREADS) {
        sum.x += p.tally[i].x;
        sum.y += p.tally[i].y;
        p.tally[i] = {0, 0};
    }
    parts[threadIdx.x] = sum;
    for (int step = THREADS / 2; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) {
            parts[threadIdx.x].x += parts[threadIdx.x + step].x;
            parts[threadIdx.x].y += parts[threadIdx.x + step].y;
        }
    }
    if (threadIdx.x == 0) *p.total = parts[0];
}
