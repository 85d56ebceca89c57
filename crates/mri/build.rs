//! Compiles the CUDA kernels of `kernels/mri`.

fn main() {
    isocenter_nvcc::compile("mri");
}
