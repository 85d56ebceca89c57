// Singular values of blocks of images, and thresholds on them: a block's matrix Y = U S V^H of samples by items, the items its images or its
// voxels, whichever are fewer, becomes U f(S) V^H = Y V f(S) / S V^H, with V and S^2 from Y^H Y by Jacobi's method, in f64: singular values
// are roots. Pairs of a round are disjoint (a round-robin tournament), so that a block's threads rotate them all at once.
#include "../common/complex.cuh"
#include "../common/sums.cuh"

// Samples that are in shared memory at a time.
const int STAGE = 16;
// Rounds of all pairs; convergence is quadratic at the end, after some eight for 64 items.
const int SWEEPS = 24;

// Mirrors `Arguments` in crates/mri/src/gpu/low_rank.rs.
struct LowRank {
    // [image][z][y][x]
    void *images;
    long long voxels;
    // Below 0: values are told, and images stay.
    double threshold;
    // Along z, y, x: of the grid, of a block, where the first begins (at most 0), how many there are.
    int grid[3], edge[3], begin[3], counts[3];
    int count;
    // Items of the largest block.
    int most;
    Sums sums;
};
static_assert(sizeof(LowRank) == 104);

// A block's voxels.
struct Block {
    const LowRank &p;
    int first[3], size[3];
    bool by_images;

    __device__ inline Block(const LowRank &p, int k) : p(p) {
        int at[3] = {k / (p.counts[1] * p.counts[2]), k / p.counts[2] % p.counts[1], k % p.counts[2]};
#pragma unroll
        for (int a = 0; a < 3; a++) {
            int begin = p.begin[a] + at[a] * p.edge[a];
            first[a] = max(begin, 0);
            size[a] = min(begin + p.edge[a], p.grid[a]) - first[a];
        }
        by_images = p.count <= voxels();
    }
    __device__ inline int voxels() const { return size[0] * size[1] * size[2]; }
    __device__ inline int items() const { return by_images ? p.count : voxels(); }
    __device__ inline int samples() const { return by_images ? voxels() : p.count; }
    __device__ inline long long place(int item, int sample) const {
        const int image = by_images ? item : sample, voxel = by_images ? sample : item;
        const int row = voxel / size[2], x = voxel - row * size[2], z = row / size[1], y = row - z * size[1];
        return image * p.voxels + ((long long)(first[0] + z) * p.grid[1] + first[1] + y) * p.grid[2] + first[2] + x;
    }
};

template <class T> struct Room {
    Complex<double> *gram, *vectors, *sine;
    double *cosine, *factor;
    Complex<T> *stage;

    __device__ inline Room(char *bytes, int most) {
        gram = reinterpret_cast<Complex<double> *>(bytes);
        vectors = gram + most * most;
        sine = vectors + most * most;
        cosine = reinterpret_cast<double *>(sine + (most + 1) / 2);
        factor = cosine + (most + 1) / 2;
        // Even, so that what follows is aligned.
        stage = reinterpret_cast<Complex<T> *>(factor + most + (most + (most + 1) / 2) % 2);
    }
};

// Samples from `first` on: [sample][item].
template <class T> __device__ inline int load(const Block &block, const Complex<T> *images, int first, Complex<T> *stage) {
    const int items = block.items(), some = min(STAGE, block.samples() - first);
    for (int i = threadIdx.x; i < some * items; i += THREADS) {
        // Neighbours in memory are voxels.
        const int item = block.by_images ? i / some : i % items, sample = block.by_images ? i - item * some : i / items;
        stage[sample * items + item] = images[block.place(item, first + sample)];
    }
    __syncthreads();
    return some;
}

template <class T> __device__ inline void make_gram(const Block &block, const Complex<T> *images, const Room<T> &room) {
    const int m = block.items();
    for (int i = threadIdx.x; i < m * m; i += THREADS) {
        room.gram[i] = {0, 0};
        room.vectors[i] = {i / m == i % m ? 1.0 : 0.0, 0};
    }
    for (int first = 0; first < block.samples(); first += STAGE) {
        __syncthreads();
        const int some = load(block, images, first, room.stage);
        for (int i = threadIdx.x; i < m * m; i += THREADS) {
            const int a = i / m, b = i - a * m;
            if (a > b) continue;
            Complex<double> sum = room.gram[i];
            for (int s = 0; s < some; s++) {
                const Complex<T> u = room.stage[s * m + a], v = room.stage[s * m + b];
                sum.x += (double)u.x * v.x + (double)u.y * v.y;
                sum.y += (double)u.x * v.y - (double)u.y * v.x;
            }
            room.gram[i] = sum;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < m * m; i += THREADS) {
        const int a = i / m, b = i - a * m;
        if (a > b) room.gram[i] = conj(room.gram[b * m + a]);
    }
    __syncthreads();
}

// The pair of a place in a round; false if one of them is none.
__device__ inline bool pair_of(int m, int round, int i, int &a, int &b) {
    const int others = (m + 1) / 2 * 2 - 1;
    a = i == 0 ? others : (round + i) % others;
    b = (round + others - i) % others;
    if (a > b) {
        const int c = a;
        a = b, b = c;
    }
    return b < m;
}

// G = V diag V^H, by rotations of pairs.
template <class T> __device__ inline void diagonalise(int m, const Room<T> &room) {
    __shared__ int rotated;
    __shared__ double smallest;
    if (threadIdx.x == 0) {
        double trace = 0;
        for (int i = 0; i < m; i++) trace += room.gram[i * m + i].x;
        smallest = 1e-15 * trace;
    }
    const int pairs = (m + 1) / 2;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        __syncthreads();
        if (threadIdx.x == 0) rotated = 0;
        __syncthreads();
        for (int round = 0; round < 2 * pairs - 1; round++) {
            int a, b;
            for (int i = threadIdx.x; i < pairs; i += THREADS) {
                double c = 1;
                Complex<double> s = {0, 0};
                if (pair_of(m, round, i, a, b)) {
                    const Complex<double> g = room.gram[a * m + b];
                    const double size = hypot(g.x, g.y);
                    if (size > smallest) {
                        const double tau = (room.gram[b * m + b].x - room.gram[a * m + a].x) / (2 * size);
                        const double t = copysign(1.0, tau) / (fabs(tau) + sqrt(1 + tau * tau));
                        c = rsqrt(1 + t * t);
                        // s exp(-i phase of g)
                        s = {t * c * g.x / size, -t * c * g.y / size};
                        rotated = 1;
                    }
                }
                room.cosine[i] = c;
                room.sine[i] = s;
            }
            __syncthreads();
            // Columns: p' = c p - s q, q' = conj(s) p + c q, up to q's phase, which is free.
            for (int i = threadIdx.x; i < pairs * m; i += THREADS) {
                const int k = i / m, row = i - k * m;
                if (!pair_of(m, round, k, a, b)) continue;
                const double c = room.cosine[k];
                const Complex<double> s = room.sine[k];
                Complex<double> *const both[2] = {room.gram, room.vectors};
#pragma unroll
                for (int which = 0; which < 2; which++) {
                    Complex<double> &p = both[which][row * m + a], &q = both[which][row * m + b];
                    const Complex<double> u = p, v = q;
                    p = u * c - s * v;
                    q = conj(s) * u + v * c;
                }
            }
            __syncthreads();
            for (int i = threadIdx.x; i < pairs * m; i += THREADS) {
                const int k = i / m, column = i - k * m;
                if (!pair_of(m, round, k, a, b)) continue;
                const double c = room.cosine[k];
                const Complex<double> s = room.sine[k];
                Complex<double> &p = room.gram[a * m + column], &q = room.gram[b * m + column];
                const Complex<double> u = p, v = q;
                p = u * c - conj(s) * v;
                q = s * u + v * c;
            }
            __syncthreads();
        }
        if (!rotated) break;
    }
    __syncthreads();
}

template <class T> __device__ inline void low_rank(const LowRank &p) {
    extern __shared__ __align__(16) char bytes[];
    const Room<T> room(bytes, p.most);
    Complex<T> *images = static_cast<Complex<T> *>(p.images);
    // Sum of what is left, and the largest there was.
    double mine[2] = {0, 0};
    const int blocks = p.counts[0] * p.counts[1] * p.counts[2];
    for (int k = blockIdx.x; k < blocks; k += gridDim.x) {
        const Block block(p, k);
        const int m = block.items();
        make_gram(block, images, room);
        diagonalise(m, room);
        for (int i = threadIdx.x; i < m; i += THREADS) {
            const double value = sqrt(fmax(room.gram[i * m + i].x, 0.0)), left = fmax(value - fmax(p.threshold, 0.0), 0.0);
            mine[0] += left;
            mine[1] = fmax(mine[1], value);
            room.factor[i] = left > 0 ? left / value : 0;
        }
        __syncthreads();
        if (p.threshold < 0) continue;
        // P = V f V^H takes the place of the Gram matrix.
        for (int i = threadIdx.x; i < m * m; i += THREADS) {
            const int a = i / m, b = i - a * m;
            Complex<double> sum = {0, 0};
            for (int v = 0; v < m; v++) sum = sum + room.vectors[a * m + v] * conj(room.vectors[b * m + v]) * room.factor[v];
            room.gram[i] = sum;
        }
        for (int first = 0; first < block.samples(); first += STAGE) {
            __syncthreads();
            const int some = load(block, images, first, room.stage);
            for (int i = threadIdx.x; i < some * m; i += THREADS) {
                const int item = block.by_images ? i / some : i % m, sample = block.by_images ? i - item * some : i / m;
                Complex<double> sum = {0, 0};
                for (int a = 0; a < m; a++) {
                    const Complex<T> v = room.stage[sample * m + a];
                    sum = sum + Complex<double>{(double)v.x, (double)v.y} * room.gram[a * m + item];
                }
                images[block.place(item, first + sample)] = {(T)sum.x, (T)sum.y};
            }
        }
        __syncthreads();
    }
    finish<2, 1>(p.sums, mine);
}

extern "C" __global__ void __launch_bounds__(THREADS) low_rank_f32(const __grid_constant__ LowRank p) { low_rank<float>(p); }
extern "C" __global__ void __launch_bounds__(THREADS) low_rank_f64(const __grid_constant__ LowRank p) { low_rank<double>(p); }
