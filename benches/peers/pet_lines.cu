// Lists along lines on a GPU, beside the CUDA kernels of parallelproj, whose arrays are on the GPU, at the best of four block sizes; of ours a pass of MLEM, which projects forward and back.
// nvcc -O3 -arch=sm_90 -rdc=true -std=c++17 -I include -I PARALLELPROJ/cuda/include pet_lines.cu PARALLELPROJ/cuda/src/projector_kernels.cu -l isocenter
#include "projector_kernels.h"
#include "isocenter.h"
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <random>
#include <algorithm>
#include <chrono>
#include <functional>
#define CU(x) do { cudaError_t e = (x); if (e) { printf("%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)
#define IS(x) do { isoc_status s = (x); if (s) { printf("%s: %d %s\n", #x, (int)s, isoc_last_error()); exit(1); } } while (0)
template <class T> T *up(const std::vector<T> &v) { T *d; CU(cudaMalloc(&d, v.size() * sizeof(T))); CU(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return d; }
static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
static double gpu(std::function<void()> f, int k = 3) {
    double best = 1e9;
    for (int i = 0; i < k; i++) { CU(cudaDeviceSynchronize()); double t = now(); f(); CU(cudaDeviceSynchronize()); CU(cudaGetLastError()); best = std::min(best, now() - t); }
    return best;
}
struct T { int64_t shape[3], strides[3]; isoc_tensor t; };
static isoc_tensor *tensor(T &h, float *data, std::vector<int64_t> shape) {
    int64_t s = 1; int n = shape.size();
    for (int i = n - 1; i >= 0; i--) { h.shape[i] = shape[i]; h.strides[i] = s; s *= shape[i]; }
    h.t = isoc_tensor{}; h.t.data = data; h.t.device = {ISOC_DEVICE_HOST, 0}; h.t.ndim = n; h.t.dtype = {2, 32, 1}; h.t.shape = h.shape; h.t.strides = h.strides; h.t.byte_offset = 0;
    return &h.t;
}
int main(int argc, char **argv) {
    for (int which = 0; which < 2; which++) {
        const long long N = which ? 8000000 : 10000000; const int n = which ? 200 : 100, nz = n / 2; const float vox = which ? 2 : 4;
        std::mt19937 g(1); std::uniform_real_distribution<float> u(0, 1); std::normal_distribution<float> nd;
        std::vector<float> p1(3 * N), p2(3 * N), times(N), img((size_t)n * n * nz);
        std::vector<short> bins(N);
        const float R = 390, sig = 300 * 0.149896229f / 2.3548f;
        for (long long k = 0; k < N; k++) {
            float a = 6.2831853f * u(g), r = 120 * sqrtf(u(g)), th = 6.2831853f * u(g), ex = r * cosf(th), ey = r * sinf(th), ez = 160 * u(g) - 80, s = .4f * u(g) - .2f, tan = s / sqrtf(1 - s * s), cx = cosf(a), cy = sinf(a);
            float b = ex * cx + ey * cy, d = sqrtf(b * b - (ex * ex + ey * ey - R * R)), t1 = -b + d, t2 = -b - d;
            float e1[3] = {ex + t1 * cx, ey + t1 * cy, ez + t1 * tan}, e2[3] = {ex + t2 * cx, ey + t2 * cy, ez + t2 * tan};
            for (int i = 0; i < 3; i++) p1[3 * k + i] = e1[i], p2[3 * k + i] = e2[i];
            float off = (-t2 - t1) / 2 / sqrtf(1 - s * s) + sig * nd(g);   // towards p1 from the middle
            times[k] = off / 0.149896229f; bins[k] = (short)lrintf(-off / 10);
        }
        for (auto &v : img) v = .5f + u(g);
        std::vector<int> dim{n, n, nz}; std::vector<float> vs{vox, vox, vox}, org{-(n - 1) * vox / 2, -(n - 1) * vox / 2, -(nz - 1) * vox / 2}, sg{sig}, zero{0};
        float *d1 = up(p1), *d2 = up(p2), *di = up(img), *db = up(img), *dvs = up(vs), *dorg = up(org), *dsg = up(sg), *dz = up(zero), *dp = up(times); int *dd = up(dim); short *dbin = up(bins);
        double pp[4] = {1e9, 1e9, 1e9, 1e9};
        for (int tpb : {32, 64, 128, 256}) {
            unsigned blocks = (N + tpb - 1) / tpb;
            pp[0] = std::min(pp[0], gpu([&] { joseph3d_fwd_cuda_kernel<<<blocks, tpb>>>(d1, d2, di, dorg, dvs, dp, N, dd); }));
            pp[1] = std::min(pp[1], gpu([&] { joseph3d_back_cuda_kernel<<<blocks, tpb>>>(d1, d2, db, dorg, dvs, dp, N, dd); }));
            pp[2] = std::min(pp[2], gpu([&] { joseph3d_fwd_tof_lm_cuda_kernel<<<blocks, tpb>>>(d1, d2, di, dorg, dvs, dp, N, dd, 10.f, dsg, dz, 3.f, dbin, 0, 0); }));
            pp[3] = std::min(pp[3], gpu([&] { joseph3d_back_tof_lm_cuda_kernel<<<blocks, tpb>>>(d1, d2, db, dorg, dvs, dp, N, dd, 10.f, dsg, dz, 3.f, dbin, 0, 0); }));
        }
        cudaFree(d1); cudaFree(d2); cudaFree(db); cudaFree(dp); cudaFree(dbin);
        isoc_context_options co{}; co.struct_size = sizeof co; co.device = ISOC_CONTEXT_DEVICE_GPU;
        isoc_context *ctx; IS(isoc_context_create(&co, &ctx)); isoc_pet *pet; IS(isoc_pet_create(ctx, &pet));
        isoc_pet_geometry ge{}; ge.struct_size = sizeof ge; ge.nx = ge.ny = n; ge.nz = nz; ge.voxel_x = vox; ge.voxel_y = vox; ge.voxel_z = vox; ge.azimuths = 4; ge.tilts = 1; ge.max_tilt = 1; IS(isoc_pet_set_geometry(pet, &ge, nullptr));
        T a, b, c, d, e, f; std::vector<float> wid(N, 300), val(N), im2(img.size()), ones(img.size(), 1);
        for (int timed = 0; timed < 2; timed++) {
            isoc_pet_list l{}; l.struct_size = sizeof l; l.first_positions = tensor(a, p1.data(), {N, 3}); l.second_positions = tensor(b, p2.data(), {N, 3});
            if (timed) { l.times = tensor(c, times.data(), {N}); l.tof_fwhm = tensor(d, wid.data(), {N}); }
            double fw = 1e9, t[2] = {1e9, 1e9};
            for (int k = 0; k < 3; k++) { double s = now(); IS(isoc_pet_forward_lines(pet, &l, tensor(e, img.data(), {nz, n, n}), tensor(f, val.data(), {N}), nullptr)); fw = std::min(fw, now() - s); }
            for (int k = 0; k < 3; k++) for (int i = 0; i < 2; i++) {
                isoc_pet_options o{}; o.struct_size = sizeof o; o.algorithm = ISOC_PET_ALGORITHM_MLEM; o.iterations = i ? 11 : 1; IS(isoc_pet_set_options(pet, &o));
                double s = now(); IS(isoc_pet_reconstruct_lines(pet, &l, nullptr, nullptr, tensor(e, ones.data(), {nz, n, n}), tensor(f, im2.data(), {nz, n, n}), nullptr)); t[i] = std::min(t[i], now() - s);
            }
            double pass = (t[1] - t[0]) / 10, peer = pp[2 * timed] + pp[2 * timed + 1];
            printf("%d^2 x %d, %lld M events, %s: parallelproj forward %.1f ms, back %.1f ms (%.0f M/s both); ours a pass of MLEM %.1f ms (%.0f M/s), ratio %.2f; load and first pass %.0f ms, forward_lines from host memory %.0f ms\n", n, nz, N / 1000000, timed ? "TOF" : "non-TOF", 1e3 * pp[2 * timed], 1e3 * pp[2 * timed + 1], N / peer / 1e6, 1e3 * pass, N / pass / 1e6, peer / pass, 1e3 * t[0], 1e3 * fw);
        }
        isoc_pet_destroy(pet); isoc_context_destroy(ctx); cudaFree(di);
    }
}
