// Kernels whose blocks take their places while the kernel in front of them in the stream still runs.
#pragma once

// Begins a kernel that `Function::launch_overlapped` launches, before it reads or writes anything: lets the next one's blocks come, and waits until all
// that was in front has ended and its results are there.
__device__ inline void overlap() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
