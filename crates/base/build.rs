//! Compiles the CUDA kernels of `kernels/common`.

fn main() {
    isocenter_nvcc::compile("common");
}
