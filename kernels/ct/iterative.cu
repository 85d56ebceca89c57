// Elementwise steps of iterative methods, slice by slice, with sums in an order that depends on nothing but the number of elements.
#include "iterative.cuh"

// Mirrors `Change` in crates/ct/src/gpu/iterative/change.rs. Element e of slice s is at s * stride + first + e of both vectors.
struct Change {
    float *y;
    const float *x;
    // What all slices have at element e, or NULL for ones.
    const float *shared;
    // Of each slice: its factor is step * over / under, 0 where that is no number or the slice has ended; `under` NULL: ones, both: `step`.
    const double *over, *under;
    const int *ended;
    // Of each block; and of each slice, which is added to; NULL where nothing is summed.
    double *parts, *sums;
    unsigned *done;
    long long stride, first, count;
    double weight;
    float step, lower, upper;
    int aligned;
};
static_assert(sizeof(Change) == 120);

__device__ inline float bounded(const Change &p, float v) { return fminf(fmaxf(v, p.lower), p.upper); }

// Changes give what is added to their slice's sum, in f64: squares of finite numbers may leave f32.
// y = s (x - y); the sum of s (x - y)^2.
struct Residual {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float s, float) {
        float apart = x - y;
        y = s * apart;
        return (double)y * apart;
    }
};
// y = x / y; the sum of the Kullback-Leibler divergence, x ln(x / y) - x + y.
struct Ratio {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float s, float) {
        float expected = y;
        bool counts = expected > 0 && s != 0;
        y = counts ? x / expected : 0;
        // No image that has nothing where something is measured is a possible one.
        if (!counts) return x > 0 && s != 0 ? INFINITY : 0;
        return x > 0 ? x * logf(y) - x + expected : expected;
    }
};
// y = x / y - 1; the sum of the Kullback-Leibler divergence; 0 where s is.
struct Slope {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float s, float) {
        float expected = y, ratio = x / expected;
        y = s == 0 ? 0 : expected > 0 ? ratio - 1 : -1;
        if (s == 0) return 0;
        if (expected <= 0) return x > 0 ? INFINITY : 0;
        return x > 0 ? x * logf(ratio) - x + expected : expected;
    }
};
// y = -y; the sum of -x ln(1 - y), where s is not 0.
struct Conjugate {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float s, float) {
        float q = y;
        y = s == 0 ? 0 : -q;
        return s == 0 || x <= 0 ? 0 : -(double)x * logf(1 - q);
    }
};
// y = f y - x
struct Beyond {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float, float f) {
        y = f * y - x;
        return 0;
    }
};
// y = (1 + y - sqrt((1 - y)^2 + 4 f x)) / 2, 0 where s is: the next dual of Poisson's law.
struct Counted {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float s, float f) {
        float a = 1 - y, root = sqrtf(a * a + 4 * f * x);
        // Without a difference of numbers that are nearly alike.
        float left = a >= 0 ? 0.5f * (a + root) : 2 * f * x / (root - a);
        y = s == 0 ? 0 : 1 - left;
        return 0;
    }
};
// y = y - f (x + y)
struct Oppose {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float, float f) {
        y -= f * (x + y);
        return 0;
    }
};
// y = y + f x; the sum of y^2.
struct Add {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float, float f) {
        y += f * x;
        return (double)y * y;
    }
};
// The sum of (x - y)^2.
struct Distance {
    static constexpr bool READS_X = true, WRITES = false;
    static __device__ inline double apply(const Change &, float &y, float x, float, float) { return (double)(x - y) * (x - y); }
};
// The sum of x - y.
struct Difference {
    static constexpr bool READS_X = true, WRITES = false;
    static __device__ inline double apply(const Change &, float &y, float x, float, float) { return x - y; }
};
// y = y x
struct Times {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float, float) {
        y *= x;
        return 0;
    }
};
// y = exp(-x / 2), 1 at most: the root of a ray's weight.
struct Transmission {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float, float) {
        y = expf(-0.5f * fmaxf(x, 0));
        return 0;
    }
};
// The sum of x y.
struct Inner {
    static constexpr bool READS_X = true, WRITES = false;
    static __device__ inline double apply(const Change &, float &y, float x, float, float) { return (double)x * y; }
};
// y = y + f (x - y), to the bit where f is 1.
struct Blend {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float, float f) {
        y = f == 1 ? x : y + f * (x - y);
        return 0;
    }
};
// y = x + f y, whatever y is where f is 0.
struct Turn {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float, float f) {
        y = f == 0 ? x : x + f * y;
        return 0;
    }
};
// y = s (y + f x); the sum of y^2.
struct Descend {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float x, float s, float f) {
        y = s * (y + f * x);
        return (double)y * y;
    }
};
// y = y + f s x within bounds, where s is not 0.
struct Relax {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &p, float &y, float x, float s, float f) {
        float moved = bounded(p, y + f * s * x);
        y = s == 0 ? y : moved;
        return 0;
    }
};
// y = y s x within bounds, where s is not 0.
struct Multiply {
    static constexpr bool READS_X = true, WRITES = true;
    static __device__ inline double apply(const Change &p, float &y, float x, float s, float) {
        float moved = bounded(p, y * s * x);
        y = s == 0 ? y : moved;
        return 0;
    }
};
// The sum of y^2.
struct Square {
    static constexpr bool READS_X = false, WRITES = false;
    static __device__ inline double apply(const Change &, float &y, float, float, float) { return (double)y * y; }
};
// y = 1 where it is not 0.
struct Sign {
    static constexpr bool READS_X = false, WRITES = true;
    static __device__ inline double apply(const Change &, float &y, float, float, float) {
        y = y != 0;
        return 0;
    }
};
// y = s / y, 0 where y is below `lower`.
struct Inverse {
    static constexpr bool READS_X = false, WRITES = true;
    static __device__ inline double apply(const Change &p, float &y, float, float s, float) {
        y = y >= p.lower ? s / y : 0;
        return 0;
    }
};

template <class C> __device__ inline void change(const Change &p) {
    long long slice = blockIdx.y;
    float *y = p.y + slice * p.stride + p.first;
    const float *x = p.x + slice * p.stride + p.first;
    float factor = p.step;
    if (p.over) {
        double over = p.over[slice], under = p.under ? p.under[slice] : 1;
        factor = !p.ended[slice] && under > 0 ? (float)(p.step * over / under) : 0;
    }
    double sum = 0;
    if (p.aligned) {
        for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < p.count / 4; i += gridDim.x * (long long)THREADS) {
            float4 v = ((float4 *)y)[i], w = C::READS_X ? ((const float4 *)x)[i] : float4{};
            float4 s = p.shared ? ((const float4 *)p.shared)[i] : float4{1, 1, 1, 1};
            double four = C::apply(p, v.x, w.x, s.x, factor) + C::apply(p, v.y, w.y, s.y, factor);
            four += C::apply(p, v.z, w.z, s.z, factor) + C::apply(p, v.w, w.w, s.w, factor);
            sum += four;
            if (C::WRITES) ((float4 *)y)[i] = v;
        }
    } else {
        each(p.count, [&](long long i) {
            float v = y[i];
            sum += C::apply(p, v, C::READS_X ? x[i] : 0, p.shared ? p.shared[i] : 1, factor);
            if (C::WRITES) y[i] = v;
        });
    }
    if (p.sums) add_up(p.parts, p.sums, p.done, p.weight, sum);
}

#define CHANGE(name, Kind) \
    extern "C" __global__ void __launch_bounds__(THREADS) ct_iterative_##name(const __grid_constant__ Change p) { change<Kind>(p); }

CHANGE(residual, Residual)
CHANGE(ratio, Ratio)
CHANGE(add, Add)
CHANGE(distance, Distance)
CHANGE(difference, Difference)
CHANGE(blend, Blend)
CHANGE(turn, Turn)
CHANGE(descend, Descend)
CHANGE(relax, Relax)
CHANGE(multiply, Multiply)
CHANGE(square, Square)
CHANGE(inner, Inner)
CHANGE(slope, Slope)
CHANGE(beyond, Beyond)
CHANGE(conjugate, Conjugate)
CHANGE(counted, Counted)
CHANGE(oppose, Oppose)
CHANGE(times, Times)
CHANGE(transmission, Transmission)
CHANGE(inverse, Inverse)
CHANGE(sign, Sign)

// Mirrors `Load`: row `order[v]` of each slice's line integrals becomes row v of the data.
struct Load {
    const float *from;
    float *to;
    const int *order;
    // The index of the first value below 0 that is not allowed, and how many became 0; NULL where all are allowed.
    unsigned long long *found;
    long long slice_stride;
    int views, bins, slices, replace;
};
static_assert(sizeof(Load) == 56);

extern "C" __global__ void __launch_bounds__(THREADS) ct_iterative_load(const __grid_constant__ Load p) {
    long long slice = blockIdx.y, rows = (long long)p.views * p.bins;
    each(rows, [&](long long i) {
        int view = i / p.bins, bin = i - (long long)view * p.bins;
        long long at = p.order[view] * (long long)p.bins + bin;
        float v = p.from[slice * p.slice_stride + at];
        if (p.found && v < 0) {
            if (p.replace) atomicAdd(p.found + 1, 1ull), v = 0;
            else atomicMin(p.found, (unsigned long long)(slice * rows + at));
        }
        p.to[slice * rows + i] = v;
    });
}

// Mirrors `Begin`: where iterations begin.
struct Begin {
    // Of the caller's volume, or NULL for `value`.
    const float *from;
    float *to;
    const float *mask;
    unsigned long long *found;
    long long slice_stride, row_stride, column_stride;
    float value, lower, upper;
    int nx, ny, replace;
};
static_assert(sizeof(Begin) == 80);

extern "C" __global__ void __launch_bounds__(THREADS) ct_iterative_begin(const __grid_constant__ Begin p) {
    long long slice = blockIdx.y, pixels = (long long)p.nx * p.ny;
    each(pixels, [&](long long i) {
        long long row = i / p.nx, column = i - row * p.nx;
        float v = p.value;
        if (p.from) {
            v = p.from[slice * p.slice_stride + row * p.row_stride + column * p.column_stride];
            if (!isfinite(v)) {
                if (p.replace) atomicAdd(p.found + 1, 1ull);
                else atomicMin(p.found, (unsigned long long)(slice * pixels + i));
                v = 0;
            }
        }
        v = fminf(fmaxf(v, p.lower), p.upper);
        p.to[slice * pixels + i] = p.mask && p.mask[i] == 0 ? 0 : v;
    });
}

// Mirrors `Store`: finished slices into an array whose columns are next to each other.
struct Store {
    const float *from;
    float *to;
    long long slice_stride, row_stride;
    int nx, ny;
};
static_assert(sizeof(Store) == 40);

extern "C" __global__ void __launch_bounds__(THREADS) ct_iterative_store(const __grid_constant__ Store p) {
    long long slice = blockIdx.y, pixels = (long long)p.nx * p.ny;
    each(pixels, [&](long long i) {
        long long row = i / p.nx, column = i - row * p.nx;
        p.to[slice * p.slice_stride + row * p.row_stride + column] = p.from[slice * pixels + i];
    });
}

// Mirrors `Mark`: ends slices whose sum is at most `part` of another; and tells the host what an iteration found.
struct Mark {
    const double *sums, *of;
    int *ended;
    // Page-locked: the objective and the slices that run, or NULL.
    double *objective;
    long long *slices_left;
    double part, factor;
    int slices;
};
static_assert(sizeof(Mark) == 64);

extern "C" __global__ void __launch_bounds__(THREADS) ct_iterative_end(const __grid_constant__ Mark p) {
    each(p.slices, [&](long long s) { p.ended[s] |= p.sums[s] <= p.part * p.of[s]; });
}

extern "C" __global__ void __launch_bounds__(THREADS) ct_iterative_record(const __grid_constant__ Mark p) {
    double sum = 0, left = 0;
    each(p.slices, [&](long long s) { sum += p.sums[s], left += !p.ended[s]; });
    sum = block_sum(sum);
    left = block_sum(left);
    if (threadIdx.x) return;
    *p.objective = p.factor * sum;
    *p.slices_left = (long long)left;
}

// Mirrors `Lessen`: the sums of slices that go on become less by over^2 / under.
struct Lessen {
    double *sums;
    const double *over, *under;
    const int *ended;
    int slices;
};
static_assert(sizeof(Lessen) == 40);

extern "C" __global__ void __launch_bounds__(THREADS) ct_iterative_lessen(const __grid_constant__ Lessen p) {
    each(p.slices, [&](long long s) {
        if (!p.ended[s] && p.under[s] > 0) p.sums[s] -= p.over[s] * p.over[s] / p.under[s];
    });
}
