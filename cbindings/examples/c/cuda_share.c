/* Shares device memory and a stream with CUDA code of the caller's. Counts go to the GPU, a kernel of ours turns them into line
 * integrals, the library reconstructs them where they are, and the volume stays on the GPU: nothing waits for anything in between.
 *   cc cuda_share.c $(pkg-config --cflags --libs isocenter) -I$CUDA_HOME/include -lcuda -lm
 * This is the driver API; with the runtime's, cudaMalloc, cudaStream_t and <<<>>> take these places. */
#include <isocenter.h>

#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* values[i] = -ln(values[i] / flat): what nvcc makes of three lines of CUDA C++. */
static const char kernel_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry line_integrals(.param .u64 values, .param .f32 flat, .param .u32 count) {\n"
    "    .reg .pred %outside;\n    .reg .f32 %f<4>;\n    .reg .b32 %r<6>;\n    .reg .b64 %a<4>;\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n    mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "    ld.param.u32 %r5, [count];\n    setp.ge.u32 %outside, %r4, %r5;\n    @%outside bra end;\n"
    "    ld.param.u64 %a1, [values];\n    cvta.to.global.u64 %a1, %a1;\n    mul.wide.u32 %a2, %r4, 4;\n    add.u64 %a3, %a1, %a2;\n"
    "    ld.param.f32 %f1, [flat];\n    ld.global.f32 %f2, [%a3];\n    div.rn.f32 %f3, %f2, %f1;\n    lg2.approx.f32 %f3, %f3;\n"
    "    mul.f32 %f3, %f3, 0fBF317218;\n    st.global.f32 [%a3], %f3;\n"
    "end:\n    ret;\n}\n";

/* Leaves main through `end` when a call fails. */
#define CUDA(call) \
    do { \
        CUresult result = (call); \
        const char *words = "unknown error"; \
        if (result != CUDA_SUCCESS) { \
            cuGetErrorString(result, &words); \
            fprintf(stderr, "error: %s: %s\n", #call, words); \
            goto end; \
        } \
    } while (0)
#define TRY(call) \
    do { \
        isoc_status status = (call); \
        if (status != ISOC_STATUS_OK) { \
            fprintf(stderr, "error: %s: %s\n", isoc_status_string(status), isoc_last_error()); \
            goto end; \
        } \
    } while (0)

enum { VIEWS = 720, ROWS = 16, BINS = 1024 };
static const size_t P_BYTES = (size_t)VIEWS * ROWS * BINS * sizeof(float), V_BYTES = (size_t)ROWS * BINS * BINS * sizeof(float);
static const float FLAT = 50000.0f;

int main(void) {
    int failed = 1;
    static double angles[VIEWS];
    static float middle[BINS];
    CUdevice gpu = 0;
    CUcontext cuda = NULL;
    CUstream stream = NULL;
    CUmodule module = NULL;
    CUfunction line_integrals = NULL;
    CUdeviceptr p_gpu = 0, v_gpu = 0;
    isoc_context *ctx = NULL;
    isoc_ct *ct = NULL;
    void *host = NULL;

    /* The caller's side: the primary context, as the runtime API uses it, and a stream. */
    CUDA(cuInit(0));
    CUDA(cuDeviceGet(&gpu, 0));
    CUDA(cuDevicePrimaryCtxRetain(&cuda, gpu));
    CUDA(cuCtxSetCurrent(cuda));
    CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUDA(cuModuleLoadData(&module, kernel_ptx));
    CUDA(cuModuleGetFunction(&line_integrals, module, "line_integrals"));
    CUDA(cuMemAlloc(&p_gpu, P_BYTES));
    CUDA(cuMemAlloc(&v_gpu, V_BYTES));

    /* The library on the same GPU. */
    const int32_t gpus[] = { 0 };
    isoc_context_options options = { .struct_size = sizeof options, .device = ISOC_CONTEXT_DEVICE_GPU, .gpus = gpus, .gpu_count = 1 };
    isoc_ct_geometry geometry = { .struct_size = sizeof geometry, .views = VIEWS, .rows = ROWS, .bins = BINS, .angles = angles };
    for (int k = 0; k < VIEWS; k++) angles[k] = 3.14159265358979 * k / VIEWS;
    TRY(isoc_context_create(&options, &ctx));
    TRY(isoc_ct_create(ctx, &ct));
    TRY(isoc_ct_set_geometry(ct, &geometry));

    /* A detector's counts behind a disk, in page-locked memory: copies from it run beside other work. */
    const int64_t p_shape[] = { VIEWS, ROWS, BINS }, v_shape[] = { ROWS, BINS, BINS };
    const isoc_ct_ellipse disk = { 0.005, 0.0, 0.0, 400.0, 400.0, 0.0 };
    TRY(isoc_host_alloc(ctx, P_BYTES, &host));
    float *counts = host;
    const isoc_tensor lines = { counts, ISOC_HOST, 3, ISOC_F32, p_shape, NULL, 0 };
    TRY(isoc_ct_phantom_projections(ct, &disk, 1, &lines));
    for (size_t k = 0; k < P_BYTES / sizeof(float); k++) counts[k] = FLAT * expf(-counts[k]);

    /* One stream orders it all: copy, our kernel, reconstruction. */
    unsigned count = (unsigned)(P_BYTES / sizeof(float));
    float flat = FLAT;
    void *arguments[] = { &p_gpu, &flat, &count };
    CUDA(cuMemcpyHtoDAsync(p_gpu, counts, P_BYTES, stream));
    CUDA(cuLaunchKernel(line_integrals, (count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
    const isoc_tensor p = { (void *)p_gpu, { ISOC_DEVICE_CUDA, 0 }, 3, ISOC_F32, p_shape, NULL, 0 };
    const isoc_tensor v = { (void *)v_gpu, { ISOC_DEVICE_CUDA, 0 }, 3, ISOC_F32, v_shape, NULL, 0 };
    TRY(isoc_ct_set_stream(ct, stream));
    TRY(isoc_ct_reconstruct(ct, &p, &v));

    /* The volume is there, for whatever comes next on the GPU; here a row of the middle slice comes back. */
    const size_t row = ((size_t)(ROWS / 2) * BINS + BINS / 2) * BINS * sizeof(float);
    CUDA(cuMemcpyDtoHAsync(middle, v_gpu + row, sizeof middle, stream));
    CUDA(cuStreamSynchronize(stream));
    printf("attenuation in the disk: %.5f (%g is right), outside: %.5f\n", (double)middle[BINS / 2], disk.value, (double)middle[40]);
    failed = fabs((double)middle[BINS / 2] / disk.value - 1) > 0.01;
end:
    isoc_ct_destroy(ct);
    isoc_host_free(host);
    isoc_context_destroy(ctx);
    if (v_gpu) cuMemFree(v_gpu);
    if (p_gpu) cuMemFree(p_gpu);
    if (module) cuModuleUnload(module);
    if (stream) cuStreamDestroy(stream);
    if (cuda) cuDevicePrimaryCtxRelease(gpu);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
