//! Q with a field at every level and for any number of threads.

use super::*;
use crate::cpu::engine::CpuEngine;
use crate::engine::{Engine, Scan};
use crate::reach::Unit;
use crate::segments::Field;
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Method};
use isocenter_base::context::{Compute, Context, ContextOptions};
use isocenter_base::cpu::level::Level;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

const GRID: [usize; 3] = [5, 6, 7];
const TOLERANCE: f64 = 1e-6;

/// F^H W F of an image, by Q and by a pair of transforms.
fn products(level: Level, threads: usize) -> [Vec<Complex<f64>>; 2] {
    let mut rng = StdRng::seed_from_u64(5);
    let (voxels, samples) = (GRID.iter().product(), 400);
    let mut uniform =
        |count: usize, size: f64| -> Vec<f64> { (0..count).map(|_| size * rng.random_range(-1.0..1.0)).collect() };
    let k = Trajectory::new(&uniform(3 * samples, 0.5), Unit::CyclesPerVoxel, GRID, 3).expect("a trajectory");
    let (hertz, decay) = (uniform(voxels, 150.0), uniform(voxels, 20.0).iter().map(|d| d + 20.0).collect());
    let seconds = uniform(samples, 0.01).iter().map(|t| t + 0.01).collect();
    let image: Vec<_> = uniform(2 * voxels, 1.0).chunks(2).map(|v| Complex::new(v[0], v[1])).collect();
    let mut scan = Scan::new(GRID, 1, Arc::new(k));
    let field = Some(Arc::new(Field::new(hertz, Some(decay), seconds)));
    scan.effects = Effects { field, ..Effects::default() };
    let options = ContextOptions { compute: Compute::Cpu, threads, level: Some(level), ..ContextOptions::default() };
    let context = Context::new(options).expect("a context");
    let fourier = Fourier { method: Method::Fast, tolerance: TOLERANCE, upsampling: None, hardware_sines: false };
    let both = CpuEngine::<f64>::new(level, scan).run(&context, |e, job| {
        let image = e.upload(&image)?;
        let (mut by_q, mut by_pair) = (Buffer::zeroed(voxels)?, Buffer::zeroed(voxels)?);
        let mut between = Buffer::zeroed(samples)?;
        e.prepare_q(&fourier, job)?;
        e.apply_q(&image, &mut by_q, job)?;
        e.prepare(&fourier)?;
        e.forward(&image, &mut between, &mut |_| Ok(()))?;
        e.adjoint(&between, &mut by_pair, &mut |_| Ok(()))?;
        Ok([e.download(&by_q)?, e.download(&by_pair)?])
    });
    both.expect("products")
}

#[test]
fn with_a_field_q_is_a_pair_of_transforms_at_every_level() {
    for level in Level::available() {
        let [by_q, by_pair] = products(level, 1);
        let size = |v: &[Complex<f64>]| v.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        let difference: Vec<_> = by_q.iter().zip(&by_pair).map(|(a, b)| a - b).collect();
        // Q is off by one tolerance, a pair by two.
        let e = size(&difference) / size(&by_pair);
        assert!(e <= 3.0 * TOLERANCE, "{level:?}: {e:.1e}");
        for threads in [2, 3] {
            assert!(products(level, threads)[0] == by_q, "{level:?}, {threads} threads");
        }
    }
}
