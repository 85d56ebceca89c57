//! Sums over subsets of views, however they are launched and whoever takes part.

use super::engine::GpuEngine;
use super::tests::{METHODS, Small, array, array_mut, context};
use crate::cases::variant;
use crate::engine::{Engine, Method, Ratio, Scan, Tally};
use crate::response::Radial;
use crate::values::Sign;
use isocenter_base::context::{Compute, Context, ContextOptions, NanPolicy};
use isocenter_base::gpu::Device;
use std::sync::Arc;

/// The second has fewer views than there are GPUs in some of the tests.
fn subsets() -> [Vec<usize>; 2] {
    [vec![0, 3, 6, 2], vec![1, 4, 5]]
}

/// What a round gave: the sum of each subset, and what was seen.
type Round = (Vec<Vec<f32>>, Tally);

/// Some rounds over the subsets, from an image that each changes.
fn rounds(context: &Arc<Context>, e: &mut GpuEngine, small: &Small, of: Ratio, by_view: bool) -> Vec<Round> {
    let shape = small.lattice.shape();
    let views: Vec<usize> = (0..small.views.len()).collect();
    e.run(context, |e, job| {
        e.prepare(context, &views, 4, job)?;
        let data = e.load(context, &small.histos(true), &subsets(), job)?;
        let image = array(&small.image, shape);
        let mut image = e.read(&image, "image", NanPolicy::Error, Sign::NonNegative)?;
        let (mut ratio, mut sum) = (e.zeros()?, e.zeros()?);
        e.tally()?;
        let mut all = Vec::new();
        for _ in 0..4 {
            let mut sums = Vec::new();
            for views in subsets() {
                // What was there stays.
                e.fill(&mut sum, 0.25)?;
                let volumes = (&image, &mut ratio, &mut sum);
                let mut told = 0.0;
                let progress = &mut |more| {
                    told += more;
                    Ok(())
                };
                match by_view {
                    true => e.add_ratios_by_view(&views, &data, of, volumes, progress)?,
                    false => e.add_ratios(&views, &data, of, volumes, progress)?,
                }
                assert_eq!(told, views.len() as f64);
                let mut seen = vec![0.0; small.lattice.voxels()];
                e.write(&sum, &mut array_mut(&mut seen, shape))?;
                sums.push(seen);
                // At once, whoever may still read it.
                let (by, mut over) =
                    (e.read(&array(&small.image, shape), "by", NanPolicy::Error, Sign::Any)?, e.zeros()?);
                e.fill(&mut over, 0.8)?;
                e.scale(&mut image, &by, &over)?;
            }
            all.push((sums, e.tally()?));
        }
        Ok(all)
    })
    .expect("computes")
}

fn cases() -> impl Iterator<Item = (Small, Method, Ratio)> {
    let of = |radial: &Radial| Small::new(radial.clone());
    let all = [Radial::Constant(5.8), variant()].into_iter().flat_map(|radial| METHODS.map(|m| (radial.clone(), m)));
    all.flat_map(move |(radial, m)| [Ratio::Quotient, Ratio::Discrepancy].map(|ratio| (of(&radial), m, ratio)))
}

#[test]
fn sums_are_the_same_however_they_are_launched() {
    let Some(context) = context(ContextOptions::default()) else { return };
    for (small, method, of) in cases() {
        let mut e = small.engine(&context, method);
        let first = rounds(&context, &mut e, &small, of, true);
        assert!(first.iter().flat_map(|(sums, _)| sums).flatten().any(|v| *v > 0.5));
        for by_view in [false, false, true] {
            assert!(first == rounds(&context, &mut e, &small, of, by_view), "{method:?} {of:?}");
        }
    }
}

#[test]
fn other_gpus_take_some_of_the_views() {
    let Some(context) = context(ContextOptions::default()) else { return };
    // Two that there are, and one that takes all parts.
    let two = Context::new(ContextOptions { compute: Compute::Gpus(vec![0, 1]), ..ContextOptions::default() });
    let several: Vec<(Arc<Context>, Vec<Arc<Device>>)> = [1, 2, 5]
        .map(|others| (context.clone(), vec![context.gpus()[0].clone(); others + 1]))
        .into_iter()
        .chain(two.map(|two| (two.gpus().to_vec(), two)).map(|(gpus, two)| (Arc::new(two), gpus)))
        .collect();
    for (small, method, of) in cases() {
        let alone = rounds(&context, &mut small.engine(&context, method), &small, of, true);
        for (context, devices) in &several {
            let scan = Scan { method, ..small.scan() };
            let mut e = GpuEngine::new(context, devices, scan).expect("memory");
            e.share_always();
            // The second time with what is there.
            for _ in 0..2 {
                let found = rounds(context, &mut e, &small, of, false);
                assert_eq!(e.helpers(), devices.len().min(3) - 1);
                for ((sums, tally), (wanted, seen)) in found.iter().zip(&alone) {
                    for (sum, wanted) in sums.iter().zip(wanted) {
                        let size = wanted.iter().fold(0.0f32, |m, v| m.max(v.abs()));
                        let error = sum.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / size;
                        // Four terms in another order: each addition rounds by 6e-8 of what is at most the size of all.
                        assert!(error < 5e-7, "{method:?} {of:?} {}: {error:e}", devices.len());
                    }
                    // Sums of the same numbers in f64, in another order.
                    assert!((tally.log_likelihood - seen.log_likelihood).abs() < 1e-9 * seen.log_likelihood.abs());
                    assert_eq!(tally.skipped, seen.skipped);
                }
            }
        }
    }
}
