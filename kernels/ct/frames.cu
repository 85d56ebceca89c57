// Line integrals of raw frames: what crates/ct/src/rows/outliers says of a value's neighbours, the flat field of each view, the logarithm, and
// bad pixels.
#include "rows.cuh"

namespace {

constexpr int TILE = 256;
// As in crates/ct/src/rows/outliers/mod.rs.
constexpr float NORMAL = 1.4826f, FLOOR = 0.005f;
// As in crates/ct/src/rows/flat_field/mod.rs.
constexpr float LOWEST_BEAM = 0.05f;
enum Unit { NOISE = 0, MEDIAN = 1, COUNT = 2 };
enum Side { BRIGHT = 0, DARK = 1, BOTH = 2 };

// Mirrors `Mixture` in crates/ct/src/rows/flat_field/beams.rs.
struct Mixture {
    int planes[2];
    float weights[2];
};
static_assert(sizeof(Mixture) == 16);

// Mirrors `Frames` in crates/ct/src/gpu/frames.rs.
struct Frames {
    // Rows that become those of `sinograms`; others beside them are in memory before and after.
    RawRows raw;
    // [slice][view][bin]
    float *sinograms;
    // flat - dark, [group][slice][bin] from the slab's first slice on, and what each view takes of them; or NULL.
    const float *planes;
    const Mixture *mixtures;
    long long plane_stride;
    // Behind the groups' planes those of `component_count` components, and what each view takes of them: [view][component].
    const float *components, *component_weights;
    // Their number.
    unsigned long long *outliers;
    int above, below;
    // Views of a block.
    int views;
    int unit, side;
    float threshold;
    // Slices whose outliers are counted: others only stand beside these.
    int first_counted, counted;
    // Non-zero: transmissions, or values that are line integrals as they are.
    int transmissions, component_count;
};
static_assert(sizeof(Frames) == 168);

__device__ inline void order(float &a, float &b) {
    const float low = fminf(a, b);
    b = fmaxf(a, b), a = low;
}

// Median of an odd number of values, out of order afterwards: of half of them and one more, the smallest and the largest cannot be it;
// another takes their place, until three are left.
template <int N> __device__ inline float median(float (&v)[N]) {
    constexpr int END = N / 2 + 2;
    int first = 0;
#pragma unroll 64
    for (int round = 0; round < N - END + 1; round++) {
        const int n = END - round;
#pragma unroll 64
        for (int i = 0; i < n / 2; i++) order(v[first + i], v[END - 1 - i]);
#pragma unroll 64
        for (int i = 1; i < (n + 1) / 2; i++) order(v[first], v[first + i]);
#pragma unroll 64
        for (int i = n / 2; i < n - 1; i++) order(v[first + i], v[END - 1]);
        first = round + 1;
        if (END + round < N) v[END - 1] = v[END + round];
    }
    return v[first];
}

// What `raw_value` gives, or the largest number for what is none.
__device__ inline float neighbour(const RawRows &r, int view, int slice, int bin) {
    const float v = raw_value(r, view, slice, bin);
    return finite(v) ? v : __int_as_float(0x7f800000);
}

// The value in the middle, without what makes it an outlier. `v` are N values, the middle one at `centre`, of which any N / 2 + 1 first ones
// bound the median.
template <int N> __device__ inline float without_outlier(const Frames &p, const float (&v)[N], float value, bool &found) {
    float low = v[0], high = v[0];
#pragma unroll
    for (int k = 1; k < N / 2 + 1; k++) low = fminf(low, v[k]), high = fmaxf(high, v[k]);
    const float part = p.unit == NOISE ? 0.999f * FLOOR * p.threshold : p.unit == MEDIAN ? 0.999f * p.threshold : 0.f;
    const float beside = p.unit == COUNT ? 0.999f * p.threshold : 0.f;
    const bool bright = p.side != DARK, dark = p.side != BRIGHT;
    const bool above = !(low >= 0 && value - low <= part * low + beside);
    const bool below = !(high >= 0 && part <= 1 && high - value <= part * high + beside);
    found = false;
    if (!(bright && above || dark && below)) return value;
    float w[N];
#pragma unroll
    for (int k = 0; k < N; k++) w[k] = v[k];
    const float middle = median<N>(w);
    // Distance from the median where that may be far.
    const float distance = value > middle ? (bright ? value - middle : 0.f) : (dark ? middle - value : 0.f);
    bool far;
    if (p.unit == NOISE) {
        // That more than half of the values are much nearer is that their median distance is.
        const float noise = p.threshold * NORMAL;
        int near = 0;
#pragma unroll
        for (int k = 0; k < N; k++) near += noise * fabsf(v[k] - middle) < distance;
        far = near > N / 2 && distance > p.threshold * (FLOOR * fabsf(middle));
    } else {
        far = distance > (p.unit == MEDIAN ? p.threshold * fabsf(middle) : p.threshold);
    }
    found = finite(value) && far;
    return found ? middle : value;
}

// What components add to the beam of a view.
__device__ inline float components(const Frames &p, int view, long long pixel) {
    const float *plane = p.components + pixel, *weights = p.component_weights + view * (long long)p.component_count;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < p.component_count; k++, plane += p.plane_stride) sum += weights[k] * *plane;
    return sum;
}

// WINDOW rows and bins of DEPTH views; 1 and 1 where there are no outliers to be removed.
template <int WINDOW, int DEPTH> __device__ inline void frames(const Frames &p) {
    constexpr int AREA = WINDOW * WINDOW, N = AREA * DEPTH, REACH = WINDOW / 2;
    const RawRows &raw = p.raw;
    // For no value: air, of transmissions.
    const float gap = p.transmissions && (raw.gain || raw.transmission) ? 1.f : 0.f;
    const int bin = blockIdx.x * TILE + threadIdx.x, slice = blockIdx.y;
    const int first = blockIdx.z * p.views, end = min(first + p.views, raw.views);
    unsigned outliers = 0;
    if (bin < raw.bins) {
        const long long pixel = slice * (long long)raw.bins + bin;
        const float dark = raw.gain ? raw.dark[pixel] : 0.f, gain = raw.gain ? raw.gain[pixel] : 1.f;
        float *out = p.sinograms + (slice * (long long)raw.views + first) * raw.bins + bin;
        // The view itself first, then the one before, then the one after.
        float v[N];
        auto load = [&](int which, int view) {
            view = max(0, min(view, raw.views - 1));
#pragma unroll
            for (int k = 0; k < AREA; k++) {
                const int row = max(-p.above, min(slice + k / WINDOW - REACH, raw.slices - 1 + p.below));
                const int column = max(0, min(bin + k % WINDOW - REACH, raw.bins - 1));
                v[which * AREA + k] = neighbour(raw, view, row, column);
            }
        };
        if (WINDOW > 1 && DEPTH > 1) load(0, first - 1), load(DEPTH - 1, first);
        for (int view = first; view < end; view++, out += raw.bins) {
            float value;
            bool good = true;
            if (WINDOW == 1) {
                value = raw_value(raw, view, slice, bin);
                good = finite(value);
            } else {
                if (DEPTH > 1) {
#pragma unroll
                    for (int k = 0; k < AREA; k++) v[AREA + k] = v[k], v[k] = v[(DEPTH - 1) * AREA + k];
                    load(DEPTH - 1, view + 1);
                } else {
                    load(0, view);
                }
                const float centre = v[AREA / 2];
                bool found;
                good = finite(centre);
                value = without_outlier<N>(p, v, centre, found);
                outliers += found && slice >= p.first_counted && slice < p.first_counted + p.counted;
            }
            if (p.planes) {
                const Mixture mixture = p.mixtures[view];
                const float *plane = p.planes + pixel;
                const float a = plane[mixture.planes[0] * p.plane_stride], b = plane[mixture.planes[1] * p.plane_stride];
                float beam = mixture.weights[0] * a + mixture.weights[1] * b;
                if (p.component_count) beam = fmaxf(LOWEST_BEAM * beam, beam + components(p, view, pixel));
                value = (value - dark) / beam;
                if (!p.transmissions) value = -logf(fmaxf(value, raw.minimum));
            } else if (p.transmissions) {
                value = (value - dark) * gain;
            } else if (raw.gain || raw.transmission) {
                value = corrected(value, dark, gain, raw.minimum);
            }
            *out = good && gain != 0.f ? value : gap;
        }
    }
    if (WINDOW > 1) {
        outliers = __reduce_add_sync(~0u, outliers);
        if (outliers && threadIdx.x % 32 == 0) atomicAdd(p.outliers, (unsigned long long)outliers);
    }
}

// A bad pixel. Mirrors `Repair` in crates/ct/src/rows/flat_field/bad_pixels.rs.
struct Repair {
    unsigned row, bin, from[2];
    float weight;
};
static_assert(sizeof(Repair) == 20);

// Mirrors `Repairs` in crates/ct/src/gpu/frames.rs.
struct Repairs {
    const Repair *list;
    float *sinograms;
    int count, first_row, views, bins;
};
static_assert(sizeof(Repairs) == 32);

} // namespace

extern "C" __global__ void __launch_bounds__(TILE) ct_frames_1_1(const __grid_constant__ Frames p) { frames<1, 1>(p); }
extern "C" __global__ void __launch_bounds__(TILE) ct_frames_3_1(const __grid_constant__ Frames p) { frames<3, 1>(p); }
extern "C" __global__ void __launch_bounds__(TILE) ct_frames_3_3(const __grid_constant__ Frames p) { frames<3, 3>(p); }
extern "C" __global__ void __launch_bounds__(TILE) ct_frames_5_1(const __grid_constant__ Frames p) { frames<5, 1>(p); }
extern "C" __global__ void __launch_bounds__(TILE) ct_frames_5_3(const __grid_constant__ Frames p) { frames<5, 3>(p); }

// Good pixels replace, bad ones are replaced.
extern "C" __global__ void __launch_bounds__(TILE) ct_repairs(const __grid_constant__ Repairs p) {
    const long long all = p.count * (long long)p.views;
    for (long long k = blockIdx.x * (long long)TILE + threadIdx.x; k < all; k += gridDim.x * (long long)TILE) {
        const Repair r = p.list[k / p.views];
        float *row = p.sinograms + ((r.row - p.first_row) * (long long)p.views + k % p.views) * p.bins;
        const float a = row[r.from[0]], b = row[r.from[1]];
        row[r.bin] = a + r.weight * (b - a);
    }
}
