//! Compiles the CUDA kernels of `kernels/nufft`.

fn main() {
    isocenter_nvcc::compile("nufft");
}
