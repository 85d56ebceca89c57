//! Instruction-set levels, chosen when a context is created.

use crate::error::{Result, fail};
use target::{ALL, NAMES};

/// Instruction sets that the kernels are compiled for; each includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Instructions {
    /// What the compiler makes of portable vectors, with what the target always has: SSE2 on x86-64, NEON on 64-bit Arm.
    Baseline,
    /// AVX2 with FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F (with AVX2 and FMA).
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON with its tables, which 64-bit Arm always has.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// A level that this processor can run: there is no other way to one than to ask for what it has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(Instructions);

impl Level {
    /// What every processor has.
    pub const BASELINE: Level = Level(Instructions::Baseline);

    /// The best level of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if avx2 && is_x86_feature_detected!("avx512f") {
                return Level(Instructions::Avx512);
            }
            if avx2 {
                return Level(Instructions::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        return Level(Instructions::Neon);
        #[cfg(not(target_arch = "aarch64"))]
        Level::BASELINE
    }

    /// All levels that this processor can run.
    pub fn available() -> impl Iterator<Item = Level> {
        ALL.into_iter().map(Level).filter(|l| *l <= Level::detect())
    }

    /// The best level, or the lower one that the environment variable `ISOC_CPU_LEVEL` names (it never raises).
    pub fn from_environment() -> Result<Self> {
        match std::env::var("ISOC_CPU_LEVEL") {
            Err(_) => Ok(Level::detect()),
            Ok(name) => match NAMES.iter().position(|n| *n == name) {
                // Names go by rising levels, and the processor's are the first of them.
                Some(rank) => Ok(Level::available().take(rank + 1).last().unwrap_or(Level::BASELINE)),
                None => fail!(UnknownValue, "ISOC_CPU_LEVEL is {name:?}; it must be one of {}", Level::names()),
            },
        }
    }

    /// Names of all levels that the library has for such processors.
    pub fn names() -> String {
        NAMES.join(", ")
    }

    /// The name that `ISOC_CPU_LEVEL` takes and `isoc_build_info` prints.
    pub fn name(self) -> &'static str {
        NAMES[self.0 as usize]
    }

    /// Floats in a vector.
    pub fn lanes(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => 16,
            _ => 8,
        }
    }

    /// The best level up to this one whose vectors have 8 lanes of f32.
    pub fn of_eight_lanes(self) -> Self {
        #[cfg(target_arch = "x86_64")]
        return self.min(Level(Instructions::Avx2));
        #[cfg(not(target_arch = "x86_64"))]
        self
    }

    pub(super) fn instructions(self) -> Instructions {
        self.0
    }
}

impl std::fmt::Debug for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(target_arch = "x86_64")]
mod target {
    use super::Instructions;

    pub(super) const ALL: [Instructions; 3] = [Instructions::Baseline, Instructions::Avx2, Instructions::Avx512];
    pub(super) const NAMES: [&str; 3] = ["baseline", "avx2", "avx512"];
}

#[cfg(target_arch = "aarch64")]
mod target {
    use super::Instructions;

    pub(super) const ALL: [Instructions; 2] = [Instructions::Baseline, Instructions::Neon];
    pub(super) const NAMES: [&str; 2] = ["baseline", "neon"];
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod target {
    use super::Instructions;

    pub(super) const ALL: [Instructions; 1] = [Instructions::Baseline];
    pub(super) const NAMES: [&str; 1] = ["baseline"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_there_is_lies_below_the_processors_best() {
        assert!(Level::available().all(|level| level <= Level::detect()));
        assert_eq!(Level::available().last(), Some(Level::detect()));
        assert_eq!(Level::available().next(), Some(Level::BASELINE));
        assert!(ALL.iter().zip(NAMES).all(|(i, name)| Level(*i).name() == name));
    }
}
