// The adjoint as its formula says, sines and cosines of every pair: image(r) = sum over m of d_m exp(2 pi i k_m . r), n voxels a
// side. `k` holds all kx, all ky, all kz in cycles per voxel; complex numbers are pairs.
#include <math.h>
#include <stdint.h>

void plain_adjoint(int64_t n, int64_t samples, const float *k, const float *d, float *image) {
    const float *kx = k, *ky = k + samples, *kz = k + 2 * samples;
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int64_t z = 0; z < n; z++) {
        for (int64_t y = 0; y < n; y++) {
            for (int64_t x = 0; x < n; x++) {
                const float rx = (float)(x - n / 2), ry = (float)(y - n / 2), rz = (float)(z - n / 2);
                float re = 0, im = 0;
                for (int64_t m = 0; m < samples; m++) {
                    const float phase = 6.2831853f * (kx[m] * rx + ky[m] * ry + kz[m] * rz);
                    const float c = cosf(phase), s = sinf(phase);
                    re += d[2 * m] * c - d[2 * m + 1] * s;
                    im += d[2 * m] * s + d[2 * m + 1] * c;
                }
                float *voxel = image + 2 * ((z * n + y) * n + x);
                voxel[0] = re;
                voxel[1] = im;
            }
        }
    }
}
