//! Instruction-set levels, chosen when a context is created.

use crate::error::{Result, fail};

/// Instruction sets that the kernels are compiled for; each includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What the target always has: SSE2 on x86-64, NEON on 64-bit Arm.
    Baseline,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F (with AVX2 and FMA).
    Avx512,
}

impl Level {
    /// The best level of this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if avx2 && is_x86_feature_detected!("avx512f") {
                return Level::Avx512;
            }
            if avx2 {
                return Level::Avx2;
            }
        }
        Level::Baseline
    }

    /// All levels that this processor can run.
    pub fn available() -> impl Iterator<Item = Level> {
        [Level::Baseline, Level::Avx2, Level::Avx512].into_iter().filter(|l| *l <= Level::detect())
    }

    /// The best level, or the lower one that the environment variable `ISOC_CPU_LEVEL` names (it never raises).
    pub fn from_environment() -> Result<Self> {
        let best = Level::detect();
        match std::env::var("ISOC_CPU_LEVEL") {
            Err(_) => Ok(best),
            Ok(name) => match Level::parse(&name) {
                Some(level) => Ok(level.min(best)),
                None => fail!(UnknownValue, "ISOC_CPU_LEVEL is {name:?}; it must be baseline, avx2 or avx512"),
            },
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Level::Baseline, Level::Avx2, Level::Avx512].into_iter().find(|l| l.name() == name)
    }

    /// The name that `ISOC_CPU_LEVEL` takes and `isoc_build_info` prints.
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}
