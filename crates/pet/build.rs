//! Compiles the CUDA kernels of `kernels/pet`.

fn main() {
    isocenter_nvcc::compile("pet");
}
