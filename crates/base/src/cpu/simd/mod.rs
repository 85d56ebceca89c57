//! Kernels that are written once and compiled for every instruction-set level.
//!
//! A kernel is one `#[inline(always)]` generic function; `dispatch` compiles it once for each level, with the level's instructions
//! enabled around all of it, and picks one when called. Call it inside the parallel task, not around it. Crates of portable vectors
//! lack the table lookups, or have no vectors for processors without AVX2.

#[cfg(target_arch = "aarch64")]
mod arm;
mod portable;
mod real;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use real::Real;
pub use vector::{Lookup, Vector};

use super::level::{Instructions, Level};

/// A kernel: generic over the vector, called through [`dispatch`].
pub trait Kernel<T: Real> {
    /// # Safety
    /// The processor has the instructions of `V`.
    unsafe fn run<V: Vector<Element = T>>(self);
}

/// Runs the kernel with the instructions of `level`.
pub fn dispatch<T: Real, K: Kernel<T>>(level: Level, kernel: K) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<T: Real, K: Kernel<T>>(kernel: K) {
            // SAFETY: the instructions are enabled here.
            unsafe { kernel.run::<T::Avx2>() }
        }
        #[target_feature(enable = "avx512f,avx2,fma")]
        unsafe fn avx512<T: Real, K: Kernel<T>>(kernel: K) {
            // SAFETY: the instructions are enabled here.
            unsafe { kernel.run::<T::Avx512>() }
        }
        match level.instructions() {
            // SAFETY: levels are of this processor.
            Instructions::Avx512 => return unsafe { avx512(kernel) },
            // SAFETY: levels are of this processor.
            Instructions::Avx2 => return unsafe { avx2(kernel) },
            Instructions::Baseline => {}
        }
    }
    #[cfg(target_arch = "aarch64")]
    if level.instructions() == Instructions::Neon {
        // SAFETY: every processor of the target has NEON.
        return unsafe { kernel.run::<T::Neon>() };
    }
    let _ = level;
    // SAFETY: the portable vector needs nothing.
    unsafe { kernel.run::<T::Portable>() }
}

/// Code without vectors of its own, which the compiler vectorises, with the same results whatever the instructions.
pub trait Plain {
    type Output;

    /// Must be `#[inline(always)]`, and so must all that it calls.
    fn run(self) -> Self::Output;
}

/// Runs plain code with AVX-512 where the level has it, for loops over many 32-bit and 64-bit numbers that it was measured on; otherwise as [`vectorised`].
pub fn widest<P: Plain>(level: Level, code: P) -> P::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx2,fma")]
        fn avx512<P: Plain>(code: P) -> P::Output {
            code.run()
        }
        if level.instructions() >= Instructions::Avx512 {
            // SAFETY: levels are of this processor.
            return unsafe { avx512(code) };
        }
    }
    vectorised(level, code)
}

/// Runs plain code with AVX2 where the level has it.
pub fn vectorised<P: Plain>(level: Level, code: P) -> P::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn avx2<P: Plain>(code: P) -> P::Output {
            code.run()
        }
        if level.instructions() >= Instructions::Avx2 {
            // SAFETY: levels are of this processor.
            return unsafe { avx2(code) };
        }
    }
    let _ = level;
    code.run()
}
