// ASTRA's wheel is linked with libcufft.so.11 even for work on the CPU, and does not load without it. That library is some
// 200 MB of GPU code which CPU work never calls; this stands in for it. Every function fails (CUFFT_NOT_SUPPORTED).
#define FAILS(name) int name(void) { return 16; }
FAILS(cufftDestroy)
FAILS(cufftExecC2C)
FAILS(cufftExecC2R)
FAILS(cufftExecR2C)
FAILS(cufftExecZ2Z)
FAILS(cufftPlan1d)
FAILS(cufftPlanMany)
FAILS(cufftSetStream)
