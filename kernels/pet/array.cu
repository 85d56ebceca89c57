// Between the caller's arrays [view][z][y][x] of any strides and volumes [y][x][z], and arithmetic of volumes.
constexpr int THREADS = 256;

// Mirrors `Copy` in src/pet/gpu/array.rs.
struct Copy {
    // 32-bit floats, or unsigned integers.
    void *array;
    float *volume;
    // z, y, x
    long long sizes[3], strides[3];
    int column;
    int is_integer;
    // What is not finite becomes 0 if `replace`, else it is an error, as is what is below `least`.
    int replace;
    float least;
    // Index of the first voxel in the numbering of `found`.
    long long first;
    // All bits of the index of the first error flipped (0: there is none), and how many values are not finite.
    unsigned long long *found;
};
static_assert(sizeof(Copy) == 96);

// Along x, so that most callers' arrays are read in order.
template <class F> __device__ inline void each_voxel(const Copy &p, F f) {
    const long long count = p.sizes[0] * p.sizes[1] * p.sizes[2];
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < count; i += gridDim.x * (long long)THREADS) {
        const long long row = i / p.sizes[2], x = i - row * p.sizes[2], z = row / p.sizes[1], y = row - z * p.sizes[1];
        f(i, z * p.strides[0] + y * p.strides[1] + x * p.strides[2], (y * p.sizes[2] + x) * p.column + z);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) array_read(const __grid_constant__ Copy p) {
    each_voxel(p, [&](long long i, long long from, long long to) {
        float v = p.is_integer ? (float)static_cast<const unsigned *>(p.array)[from] : static_cast<const float *>(p.array)[from];
        const bool finite = isfinite(v);
        if (!finite) atomicAdd(p.found + 1, 1ull);
        if (finite ? v < p.least : !p.replace) atomicMax(p.found, ~(unsigned long long)(p.first + i));
        p.volume[to] = finite ? v : 0;
    });
}

extern "C" __global__ void __launch_bounds__(THREADS) array_write(const __grid_constant__ Copy p) {
    each_voxel(p, [&](long long, long long to, long long from) { static_cast<float *>(p.array)[to] = p.volume[from]; });
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

// Mirrors `Ascent` in src/pet/gpu/array.rs.
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
};
static_assert(sizeof(Ascent) == 88);

// image = max(image + step (image + floor) g / (S + 2 image h), 0), g = times (gradient - stored) + total - slope, where some view sees the voxel.
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
        p.image[i] = seen > 0 ? fmaxf(old + p.step * (old + p.floor) * gradient / curvature, 0.f) : 0;
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
