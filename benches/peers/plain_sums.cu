// The adjoint as its formula says, one voxel a thread: image(r) = sum over m of d_m exp(2 pi i k_m . r), n voxels a side. `k` holds
// all kx, all ky, all kz in cycles per voxel. HARDWARE: sines of the special function units.
extern "C" __global__ void plain_adjoint(long long n, long long samples, const float *k, const float2 *d, float2 *image) {
    __shared__ float tile[5][256];
    const long long voxel = (long long)blockIdx.x * 256 + threadIdx.x;
    const float rx = (float)(voxel % n - n / 2), ry = (float)(voxel / n % n - n / 2), rz = (float)(voxel / (n * n) - n / 2);
    float re = 0, im = 0;
    for (long long first = 0; first < samples; first += 256) {
        const long long m = first + threadIdx.x;
        __syncthreads();
        for (int axis = 0; axis < 3; axis++) tile[axis][threadIdx.x] = m < samples ? 6.2831853f * k[axis * samples + m] : 0;
        const float2 value = m < samples ? d[m] : make_float2(0, 0);
        tile[3][threadIdx.x] = value.x;
        tile[4][threadIdx.x] = value.y;
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 256; j++) {
            const float phase = tile[0][j] * rx + tile[1][j] * ry + tile[2][j] * rz;
            float s, c;
#ifdef HARDWARE
            s = __sinf(phase), c = __cosf(phase);
#else
            sincosf(phase, &s, &c);
#endif
            re += tile[3][j] * c - tile[4][j] * s;
            im += tile[3][j] * s + tile[4][j] * c;
        }
    }
    if (voxel < n * n * n) image[voxel] = make_float2(re, im);
}
