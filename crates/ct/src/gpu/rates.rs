//! How fast each back projector is: as measured on an H200, and as presumed on other GPUs until `tune` measures them.

use super::projector::Projector;
use crate::options::{Kernel, Precision};
use isocenter_base::gpu::Device;

/// A projector and where it belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) projector: Projector,
    pub(super) kernel: Kernel,
    pub(super) precision: Precision,
    /// Whether the automatic choice may take it: texture units have 8 bits for a weight, too few for either precision.
    pub(super) exact: bool,
    /// Giga-updates a second, linear, on full blocks of slices.
    pub(super) rate: f64,
}

const fn candidate(projector: Projector, kernel: Kernel, precision: Precision, exact: bool, rate: f64) -> Candidate {
    Candidate { projector, kernel, precision, exact, rate }
}

/// All projectors, with their rates on an H200 (benches/results).
const MEASURED: [Candidate; 19] = {
    use Precision::{Half, Single};
    use Projector as P;
    [
        candidate(P::Texture { standard: true, lanes: 1 }, Kernel::TextureStandard, Single, false, 1013.0),
        candidate(P::Texture { standard: false, lanes: 1 }, Kernel::Texture, Single, false, 1018.0),
        candidate(P::Texture { standard: false, lanes: 2 }, Kernel::Texture, Single, false, 2021.0),
        candidate(P::Texture { standard: false, lanes: 4 }, Kernel::Texture, Half, false, 4030.0),
        candidate(P::Alu { half: false, lanes: 1 }, Kernel::Alu, Single, true, 3549.0),
        candidate(P::Alu { half: false, lanes: 2 }, Kernel::Alu, Single, true, 5030.0),
        candidate(P::Alu { half: false, lanes: 4 }, Kernel::Alu, Single, true, 6046.0),
        candidate(P::Alu { half: true, lanes: 2 }, Kernel::Alu, Half, true, 4744.0),
        candidate(P::Alu { half: true, lanes: 4 }, Kernel::Alu, Half, true, 6128.0),
        candidate(P::Alu { half: true, lanes: 8 }, Kernel::Alu, Half, true, 6119.0),
        candidate(P::Hybrid { exact: true, lanes: 1 }, Kernel::Hybrid, Single, false, 3657.0),
        candidate(P::Hybrid { exact: false, lanes: 1 }, Kernel::Hybrid, Half, false, 4081.0),
        candidate(P::Hybrid { exact: false, lanes: 2 }, Kernel::Hybrid, Half, false, 4891.0),
        candidate(P::Hybrid { exact: false, lanes: 4 }, Kernel::Hybrid, Half, false, 6834.0),
        candidate(P::Direct { lanes: 1 }, Kernel::Alu, Single, true, 676.0),
        candidate(P::Direct { lanes: 2 }, Kernel::Alu, Single, true, 1329.0),
        candidate(P::Direct { lanes: 4 }, Kernel::Alu, Single, true, 2017.0),
        candidate(P::Tensor { split: false }, Kernel::Tensor, Half, true, 18566.0),
        candidate(P::Tensor { split: true }, Kernel::Tensor, Single, true, 5361.0),
    ]
};

/// Billions of cycles a second of an H200's multiprocessors together: 132 at 1.755 GHz.
const CYCLES: f64 = 231.7;

/// Results a cycle of one multiprocessor.
pub(super) struct Multiprocessor {
    /// Additions, multiplications or both in f32.
    single: f64,
    double: f64,
    /// Multiplications of f16 on tensor cores with sums in f32, by the instruction that the kernels use, `mma.sync`.
    tensor: f64,
}

impl Multiprocessor {
    pub(super) fn of(device: &Device) -> Self {
        Self::new(device.capability(), device.singles_per_double(), device.name())
    }

    /// f32: CUDA C++ Programming Guide, throughput of native arithmetic instructions. f64: as the driver says. Tensor cores:
    /// peaks of the architectures' white papers over multiprocessors and clock; boards for games are slowed to half with f32
    /// sums; `wgmma` and what came after it, which alone reach the peaks of 9.0 and 10.0, are not used.
    pub(super) fn new(capability: (i32, i32), singles_per_double: usize, name: &str) -> Self {
        let single = if capability == (8, 0) { 64.0 } else { 128.0 };
        let tensor = match capability {
            (8, 0) | (9 | 10, _) => 1024.0,
            _ if name.contains("GeForce") => 256.0,
            _ => 512.0,
        };
        Self { single, double: single / singles_per_double as f64, tensor }
    }

    /// Updates a cycle at most, by the innermost loops' instructions (`cuobjdump -sass`): f32 additions and multiplications,
    /// those of f64 with comparisons and conversions, products on tensor cores.
    fn limit(&self, projector: Projector) -> f64 {
        match projector {
            Projector::Alu { lanes: 1, .. } | Projector::Hybrid { lanes: 1, .. } => self.single / 4.1,
            Projector::Alu { lanes: 2, .. } | Projector::Hybrid { lanes: 2, .. } => self.single / 3.4,
            Projector::Alu { .. } | Projector::Hybrid { .. } => self.single / 2.7,
            // A position serves all slices.
            Projector::Direct { lanes } => self.double * lanes as f64 / 8.0,
            // 8 bins a pixel; three products of parts for f32 grade.
            Projector::Tensor { split: false } => self.tensor / 8.0,
            Projector::Tensor { split: true } => self.tensor / 24.0,
            // Every architecture's texture units filter four pixels a cycle.
            Projector::Texture { .. } | Projector::Adjoint { .. } => f64::INFINITY,
        }
    }
}

/// Rates of a GPU that nobody measured, for as many cycles a second as an H200 has, since only ratios count: those of an
/// H200, or less where one of a multiprocessor's own limits is lower. This presumes that all else is alike: issue of four
/// warps' instructions and 128 bytes of shared memory a cycle, which is so from 8.0 on, and that caches keep up.
pub(super) fn presumed(multiprocessor: &Multiprocessor) -> Vec<Candidate> {
    let presume = |c: &Candidate| Candidate { rate: c.rate.min(CYCLES * multiprocessor.limit(c.projector)), ..*c };
    MEASURED.iter().map(presume).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(rates: &[Candidate], projector: Projector) -> f64 {
        rates.iter().find(|c| c.projector == projector).expect("a candidate").rate
    }

    #[test]
    fn an_h200_meets_none_of_its_limits() {
        for (c, measured) in presumed(&Multiprocessor::new((9, 0), 2, "NVIDIA H200")).iter().zip(&MEASURED) {
            assert_eq!(c.rate.to_bits(), measured.rate.to_bits(), "{:?}", c.projector);
        }
    }

    #[test]
    fn limits_of_other_architectures_bind() {
        let a100 = presumed(&Multiprocessor::new((8, 0), 2, "NVIDIA A100-SXM4-80GB"));
        let l40s = presumed(&Multiprocessor::new((8, 9), 64, "NVIDIA L40S"));
        let gaming = presumed(&Multiprocessor::new((8, 6), 64, "NVIDIA GeForce RTX 3090"));
        // 64 results a cycle, 2.7 to an update.
        let strip = Projector::Alu { half: false, lanes: 4 };
        assert!((rate(&a100, strip) - CYCLES * 64.0 / 2.7).abs() < 1e-6);
        assert!((rate(&l40s, strip) - 6046.0).abs() < 1e-6);
        // 2 results a cycle, 8 to four updates.
        let direct = Projector::Direct { lanes: 4 };
        assert!((rate(&l40s, direct) - CYCLES).abs() < 1e-6);
        assert!((rate(&a100, direct) - 2017.0).abs() < 1e-6);
        let tensor = Projector::Tensor { split: false };
        assert!((rate(&l40s, tensor) - CYCLES * 64.0).abs() < 1e-6);
        assert!((rate(&gaming, tensor) - CYCLES * 32.0).abs() < 1e-6);
    }
}
