//! Compiles the CUDA kernels of `kernels/ct`.

fn main() {
    isocenter_nvcc::compile("ct");
}
