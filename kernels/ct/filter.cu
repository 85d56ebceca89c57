// Rows made ready for back projection in one pass: corrected, filtered, weighted, converted and interleaved.
#include "../common/fft_registers.cuh"
#include "rows.cuh"

using fft::Number;

// Mirrors `Arguments` in crates/ct/src/gpu/filter.rs.
struct Filter {
    RawRows raw;
    PackedRows packed;
    // exp(-2 pi i k / N), `middle`: of its own length; response over N, 1 / N included, in the order of `respond`.
    const Number *roots;
    const float *response;
    // Sums of the impulse response from n + 1 bins on, at n, where a row's edge values go on beyond its ends; null where zeros do.
    const float *tails;
    // Lines that do not fit into shared memory: [line][N], from line `first` on; line = pair of slices * views + view.
    Number *scratch;
    long long first;
    // Pairs of slices that a block takes and stores side by side: 1, or 2 where lanes are 4 or 8 and there is one sample a bin.
    int width;
    // Long lines: log2 of N, and the pass (0 first).
    int log, pass;
};
static_assert(sizeof(Filter) == 184);

// A row's bins t, t + STEP, ... as they are, 0 from `bins` on.
template <class T, int STEP> __device__ inline void load_raw(const RawRows &r, int view, int slice, int t, float (&v)[8]) {
    const T *row = static_cast<const T *>(r.data) + view * r.view_stride + slice * r.slice_stride + t * r.bin_stride;
    int room = r.bins - t;
    T raw[8];
    if (r.bin_stride == 1) {
#pragma unroll
        for (int j = 0; j < 8; j++) raw[j] = j * STEP < room ? row[j * STEP] : T(0);
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++, row += STEP * r.bin_stride) raw[j] = j * STEP < room ? *row : T(0);
    }
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = raw[j];
}

// Line integrals of what `load_raw` has loaded.
template <int STEP> __device__ inline void correct(const RawRows &r, int slice, int t, float (&v)[8]) {
    if (!r.gain) {
        if (r.transmission) {
            int room = r.bins - t;
#pragma unroll
            for (int j = 0; j < 8; j++) v[j] = finite(v[j]) && j * STEP < room ? corrected(v[j], 0.f, 1.f, r.minimum) : 0.f;
            return;
        }
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = finite(v[j]) ? v[j] : 0.f;
        return;
    }
    long long pixel = slice * (long long)r.bins + t;
    const float *gains = r.gain + pixel, *darks = r.dark + pixel;
    int room = r.bins - t;
    float gain[8], dark[8];
#pragma unroll
    for (int j = 0; j < 8; j++) {
        gain[j] = j * STEP < room ? __ldg(gains + j * STEP) : 0.f;
        dark[j] = j * STEP < room ? __ldg(darks + j * STEP) : 0.f;
    }
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = finite(v[j]) && gain[j] != 0.f ? corrected(v[j], dark[j], gain[j], r.minimum) : 0.f;
}

// Bins t, t + STEP, ... of slices `slice` and `slice` + 1.
template <int STEP> __device__ inline void load_rows(const RawRows &r, int view, int slice, int t, Number *v) {
    float x[8], y[8] = {};
    bool both = slice + 1 < r.slices;
    if (r.type == ROW_U16) {
        load_raw<unsigned short, STEP>(r, view, slice, t, x);
        if (both) load_raw<unsigned short, STEP>(r, view, slice + 1, t, y);
    } else if (r.type == ROW_U8) {
        load_raw<unsigned char, STEP>(r, view, slice, t, x);
        if (both) load_raw<unsigned char, STEP>(r, view, slice + 1, t, y);
    } else {
        load_raw<float, STEP>(r, view, slice, t, x);
        if (both) load_raw<float, STEP>(r, view, slice + 1, t, y);
    }
    correct<STEP>(r, slice, t, x);
    if (both) correct<STEP>(r, slice + 1, t, y);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = {x[j], y[j]};
}

// One bin of two slices.
__device__ inline Number load_pair(const RawRows &r, int view, int slice, int bin) {
    Number v = {0, 0};
    if (slice < r.slices) integral(r, view, slice, bin, v.x);
    if (slice + 1 < r.slices) integral(r, view, slice + 1, bin, v.y);
    return v;
}

// What the edge values beyond the row's ends `first` and `last` give bin k.
__device__ inline Number beyond(const Filter &p, Number first, Number last, int k) {
    float before = __ldg(p.tails + k), after = __ldg(p.tails + (p.raw.bins - 1 - k));
    return {fmaf(first.x, before, last.x * after), fmaf(first.y, before, last.y * after)};
}

// What a pair of slices is multiplied by: one that is not there by 0, since rounding leaves something of the other in it.
__device__ inline float2 scales(const Filter &p, int slice, int view) {
    float w = p.packed.view_scale[view];
    return {w * p.packed.slice_scale[slice], slice + 1 < p.raw.slices ? w * p.packed.slice_scale[slice + 1] : 0.f};
}

// Writes a view of two slices, whose bin k both are `value(k)`.
template <class Value>
__device__ inline void store_view(const Filter &f, int slice, int view, int t, int threads, Value value) {
    const PackedRows &p = f.packed;
    int bins = f.raw.bins;
    float2 scale = scales(f, slice, view);
    const PairOfRows to(p, slice, view);
#pragma unroll 1
    for (int s = t; s < p.pitch; s += threads) {
        Number v = {0, 0};
        if (p.oversampling == 1) {
            if (s < bins) v = value(s);
        } else {
            int at = s - p.zero, bin = at >> 2;
            float part = (at & 3) * 0.25f;
            Number l = bin >= 0 && bin < bins ? value(bin) : v, r = bin + 1 >= 0 && bin + 1 < bins ? value(bin + 1) : v;
            v = {fmaf(r.x - l.x, part, l.x), fmaf(r.y - l.y, part, l.y)};
        }
        to.store(s, v.x * scale.x, v.y * scale.y);
    }
}

// Two words side by side.
template <class Word> struct Two;
template <> struct Two<unsigned> { using Type = uint2; };
template <> struct Two<uint2> { using Type = uint4; };

__device__ inline uint2 side_by_side(unsigned a, unsigned b) { return {a, b}; }
__device__ inline uint4 side_by_side(uint2 a, uint2 b) { return {a.x, a.y, b.x, b.y}; }

// Puts a thread's samples of one of `width` pairs aside, in its own part of shared memory, or writes all.
template <int STEP, class Word>
__device__ inline void put(const Word (&word)[8], Word *stash, int i, int width, char *to, long long bytes, int room) {
    if (i + 1 < width) {
#pragma unroll
        for (int j = 0; j < 8; j++) stash[j * STEP] = word[j];
    } else if (width == 1) {
#pragma unroll
        for (int j = 0; j < 8; j++, to += bytes)
            if (j * STEP < room) *reinterpret_cast<Word *>(to) = word[j];
    } else {
#pragma unroll
        for (int j = 0; j < 8; j++, to += bytes)
            if (j * STEP < room) *reinterpret_cast<typename Two<Word>::Type *>(to) = side_by_side(stash[j * STEP], word[j]);
    }
}

// Words that a thread puts aside, of 4 bytes.
__device__ inline int stash_words(const Filter &p) { return p.width == 1 ? 0 : p.packed.half && !p.packed.split ? 8 : 16; }

// The pair of slices `first` + 2 i, as a line: their bins t, t + STEP, ..., one sample a bin. `stash`: [word][STEP threads].
template <int STEP>
__device__ inline void store_pairs(const Filter &p, Number *v, float *stash, int i, int first, int view, int t, int thread) {
    const PackedRows &q = p.packed;
    int slice = first + 2 * i;
    float2 scale = scales(p, slice, view);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = t + j * STEP < p.raw.bins ? Number{v[j].x * scale.x, v[j].y * scale.y} : Number{0, 0};
    const PairOfRows rows(q, first, view);
    char *to = rows.at(t);
    // Samples from this thread's first one to the end of the row.
    int room = q.pitch - t;
    if (q.half) {
        unsigned high[8], low[8];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            __half2 h = __floats2half2_rn(v[j].x, v[j].y);
            __half2 l = __floats2half2_rn(v[j].x - __low2float(h), v[j].y - __high2float(h));
            high[j] = reinterpret_cast<unsigned &>(h);
            low[j] = reinterpret_cast<unsigned &>(l);
        }
        unsigned *words = reinterpret_cast<unsigned *>(stash) + thread;
        put<STEP>(high, words, i, p.width, to, STEP * rows.bytes, room);
        if (q.split) put<STEP>(low, words + 8 * STEP, i, p.width, to + rows.second, STEP * rows.bytes, room);
    } else if (q.lanes > 1) {
        uint2 word[8];
#pragma unroll
        for (int j = 0; j < 8; j++) word[j] = {__float_as_uint(v[j].x), __float_as_uint(v[j].y)};
        put<STEP>(word, reinterpret_cast<uint2 *>(stash) + thread, i, p.width, to, STEP * rows.bytes, room);
    } else {
        float *x = reinterpret_cast<float *>(to), *y = reinterpret_cast<float *>(to + rows.second);
#pragma unroll
        for (int j = 0; j < 8; j++)
            if (j * STEP < room) x[j * STEP] = v[j].x, y[j * STEP] = v[j].y;
    }
}

// Zeros from sample `from` on.
template <int STEP> __device__ inline void store_zeros(const PackedRows &q, int slice, int view, int from) {
#pragma unroll 1
    for (int s = from; s < q.pitch; s += STEP) PairOfRows(q, slice, view).store(s, 0, 0);
}

// Which slices and views a block takes: the blocks that complete each other's memory segments follow each other.
struct Share {
    int slice, views;

    __device__ inline Share(const Filter &p) {
        int group = max(p.packed.lanes, 2), parts = group / (2 * p.width);
        slice = blockIdx.y * group + (blockIdx.x & (parts - 1)) * 2 * p.width;
        views = blockIdx.x >> (__ffs(parts) - 1);
    }
};

// Response of a transform of 16 * THREADS places: [q][t][c] is that of place 16 t + 4 q + c.
template <int THREADS> __device__ inline void respond(Number (&v)[16], const float *response, int t) {
    const float4 *h4 = reinterpret_cast<const float4 *>(response) + t;
#pragma unroll
    for (int q = 0; q < 4; q++) {
        float4 h = __ldg(h4 + q * THREADS);
        Number *x = v + 4 * q;
        x[0] = {x[0].x * h.x, x[0].y * h.x};
        x[1] = {x[1].x * h.y, x[1].y * h.y};
        x[2] = {x[2].x * h.z, x[2].y * h.z};
        x[3] = {x[3].x * h.w, x[3].y * h.w};
    }
}

// Two slices of a view are the real and the imaginary part of one line: the response is real and even, so they stay apart.
// Rows are at most half as long as transforms, so the upper halves are padding going in and not wanted coming out.
template <int LOG, int LINES> __device__ inline void filter(const Filter &p) {
    using Line = fft::Line<LOG>;
    const int T = Line::THREADS;
    extern __shared__ Number lines[];
    Number *line = lines + threadIdx.y * Line::NUMBERS;
    const RawRows &raw = p.raw;
    int t = threadIdx.x;
    const Share share(p);
    // The block's last lines may have no view: they go along, for the barriers, and store nothing.
    int first = share.slice, view = share.views * LINES + threadIdx.y, read = min(view, raw.views - 1);
    float *stash = reinterpret_cast<float *>(lines + LINES * Line::NUMBERS) + threadIdx.y * stash_words(p) * T;
    for (int i = 0; i < p.width; i++) {
        // Nothing that follows from it is worth a register for the whole loop.
        asm volatile("" : "+r"(t));
        int slice = first + 2 * i;
        Number v[16];
        if (slice < raw.slices) {
            load_rows<T>(raw, read, slice, t, v);
            Line::template first<true>(v);
            Line::forward(v, line, p.roots, t);
            respond<T>(v, p.response, t);
            Line::backward(v, line, p.roots, t);
            if (p.tails) {
                Number first = load_pair(raw, read, slice, 0), last = load_pair(raw, read, slice, raw.bins - 1);
#pragma unroll
                for (int j = 0; j < 8; j++)
                    if (t + j * T < raw.bins) v[j] = v[j] + beyond(p, first, last, t + j * T);
            }
        } else {
#pragma unroll
            for (int j = 0; j < 8; j++) v[j] = {0, 0};
        }
        if (p.packed.oversampling == 1) {
            if (view < raw.views) {
                store_pairs<T>(p, v, stash, i, first, view, t, t);
                store_zeros<T>(p.packed, slice, view, t + 8 * T);
            }
        } else {
            Number *at = line + Line::base(t, T);
#pragma unroll
            for (int j = 0; j < 8; j++) at[Line::offset(T, j)] = v[j];
            __syncthreads();
            if (view < raw.views) store_view(p, slice, view, t, T, [&](int k) { return line[k + (k >> 4)]; });
            __syncthreads();
        }
    }
}

// BLOCKS of a multiprocessor: as many as leave a thread 80 registers, or 64 where lines are long.
#define FILTER(LOG, LINES, BLOCKS) \
    extern "C" __global__ void __launch_bounds__((1 << LOG) / 16 * LINES, BLOCKS) \
    ct_filter_##LOG(const __grid_constant__ Filter p) { filter<LOG, LINES>(p); }

// Enough lines a block to have 64 threads or more.
FILTER(6, 16, 12)
FILTER(7, 8, 12)
FILTER(8, 8, 6)
FILTER(9, 4, 6)
FILTER(10, 2, 6)
FILTER(11, 1, 6)
FILTER(12, 1, 4)
FILTER(13, 1, 2)
FILTER(14, 1, 1)

// Lines that do not fit into shared memory: passes of radix 16 over scratch, forward until the rest does (`middle`), and back.

__device__ inline Number *scratch_line(const Filter &p) { return p.scratch + ((long long)blockIdx.y << p.log); }

// Element 0 of the 16 that a thread transforms, 2^shift apart; `rest`: its place among the first of a block's 16 parts.
__device__ inline int long_element(const Filter &p, int &shift, int &rest) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    shift = p.log - 4 * (p.pass + 1);
    rest = t & ((1 << shift) - 1);
    return (t >> shift << (shift + 4)) + rest;
}

extern "C" __global__ void __launch_bounds__(256) ct_filter_long_forward(const __grid_constant__ Filter p) {
    Number *line = scratch_line(p);
    int shift, rest, element = long_element(p, shift, rest);
    Number v[16];
    if (p.pass == 0) {
        const RawRows &raw = p.raw;
        long long number = p.first + blockIdx.y;
        int slice = number / raw.views * 2, view = number % raw.views;
#pragma unroll
        for (int j = 0; j < 16; j++) {
            int k = element + (j << shift);
            v[j] = k < raw.bins ? load_pair(raw, view, slice, k) : Number{0, 0};
        }
    } else {
#pragma unroll
        for (int j = 0; j < 16; j++) v[j] = line[element + (j << shift)];
    }
    fft::dft<false, 4, false>(v);
#pragma unroll
    for (int j = 0; j < 16; j++) line[element + (j << shift)] = v[j] * load_constant(p.roots + (rest * j << 4 * p.pass));
}

extern "C" __global__ void __launch_bounds__(256) ct_filter_long_backward(const __grid_constant__ Filter p) {
    Number *line = scratch_line(p);
    int shift, rest, element = long_element(p, shift, rest);
    Number v[16];
#pragma unroll
    for (int j = 0; j < 16; j++) {
        Number w = load_constant(p.roots + (rest * j << 4 * p.pass));
        v[j] = line[element + (j << shift)] * conj(w);
    }
    fft::dft<true, 4, false>(v);
#pragma unroll
    for (int j = 0; j < 16; j++) line[element + (j << shift)] = v[j];
}

// Parts of 2^LOG: there, the response, and back. `roots` are those of 2^LOG.
template <int LOG> __device__ inline void middle(const Filter &p) {
    using Line = fft::Line<LOG>;
    extern __shared__ Number lines[];
    int t = threadIdx.x;
    Number *part = scratch_line(p) + (blockIdx.x << LOG), v[16];
#pragma unroll
    for (int j = 0; j < 16; j++) v[j] = part[t + j * Line::THREADS];
    Line::template first<false>(v);
    Line::forward(v, lines, p.roots, t);
    respond<Line::THREADS>(v, p.response + (blockIdx.x << LOG), t);
    Line::backward(v, lines, p.roots, t);
#pragma unroll
    for (int j = 0; j < 16; j++) part[t + j * Line::THREADS] = v[j];
}

#define MIDDLE(LOG) \
    extern "C" __global__ void __launch_bounds__((1 << LOG) / 16) \
    ct_filter_middle_##LOG(const __grid_constant__ Filter p) { middle<LOG>(p); }

MIDDLE(10)
MIDDLE(11)
MIDDLE(12)
MIDDLE(13)

extern "C" __global__ void __launch_bounds__(256) ct_filter_long_store(const __grid_constant__ Filter p) {
    const Number *line = scratch_line(p);
    long long number = p.first + blockIdx.y;
    int slice = number / p.raw.views * 2, view = number % p.raw.views;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Number first = {0, 0}, last = {0, 0};
    if (p.tails) first = load_pair(p.raw, view, slice, 0), last = load_pair(p.raw, view, slice, p.raw.bins - 1);
    store_view(p, slice, view, t, gridDim.x * blockDim.x, [&](int k) { return p.tails ? line[k] + beyond(p, first, last, k) : line[k]; });
}

// Rows taken as they are: a block takes a view of `width` pairs of slices.
extern "C" __global__ void __launch_bounds__(256, 4) ct_pack(const __grid_constant__ Filter p) {
    extern __shared__ float stash[];
    const Share share(p);
    int t = threadIdx.x, view = share.views;
    if (p.packed.oversampling == 1) {
        for (int start = 0; start < p.packed.pitch; start += 8 * 256) {
            for (int i = 0; i < p.width; i++) {
                int bin = start + t;
                asm volatile("" : "+r"(bin));
                Number v[8] = {};
                if (share.slice + 2 * i < p.raw.slices) load_rows<256>(p.raw, view, share.slice + 2 * i, bin, v);
                store_pairs<256>(p, v, stash, i, share.slice, view, bin, t);
            }
        }
    } else {
        int slice = share.slice;
        store_view(p, slice, view, t, blockDim.x, [&](int bin) { return load_pair(p.raw, view, slice, bin); });
    }
}
