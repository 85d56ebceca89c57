//! Factors on a GPU: the processor's, but for rounding.

use super::*;
use crate::factors::cases::{histos, layered, map, small};
use crate::factors::{Accidentals, Acquisition, AttenuationMap, Sampling};
use crate::lattice::Lattice;
use crate::views::Views;
use isocenter_base::array::DType;
use isocenter_base::context::{Compute, ContextOptions};
use isocenter_base::gpu::DeviceMemory;

fn context(compute: Compute) -> Context {
    Context::new(ContextOptions { compute, ..ContextOptions::default() }).expect("a context")
}

/// Sums of some hundred products, in another order of multiplications: 1e-5 of the largest. A line that meets a crystal's edge within rounding may meet its neighbour
/// instead, whose efficiency differs by all of it: of these there are next to none.
#[test]
fn factors_are_the_processor_s() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let (with, without) = (context(Compute::Gpus(vec![0])), context(Compute::Cpu));
    let (values, shape, voxel) = map();
    let attenuation = AttenuationMap { values: &values, shape, voxel, centre: [1.0, 2.0, -3.0] };
    let list = Views::grid(9, 2, 0.2).expect("views").list().to_vec();
    let listed = Views::new(list, 0.2).expect("views");
    for (views, lattice, map, directions, (scanner, given), has_efficiencies) in [
        (Views::grid(6, 3, 0.25).expect("views"), [8, 14, 16], Some(&attenuation), 64, small(), true),
        (Views::grid(3, 1, 0.1).expect("views"), [33, 9, 20], None, 7, small(), true),
        (listed, [5, 6, 7], Some(&attenuation), 30, small(), true),
        (Views::grid(6, 3, 0.25).expect("views"), [8, 14, 16], Some(&attenuation), 40, layered(), true),
        (Views::grid(6, 3, 0.25).expect("views"), [8, 14, 16], None, 40, layered(), false),
    ] {
        let efficiencies = has_efficiencies.then_some(&given[..]);
        let lattice = Lattice::new(lattice, [6.0, 7.0, 5.0]).expect("lattice");
        let sampling = Sampling::new(&views, &lattice, directions).expect("directions");
        let acquisition = Acquisition { duration: 60.0, ..Acquisition::default() };
        let factors = Factors::new((sampling, &lattice), (&scanner, efficiencies), map, &acquisition).expect("factors");
        let count = views.list().len();
        let mut expected = vec![0f32; count * lattice.voxels()];
        factors.write(&without, &histos(&mut expected, count, &lattice)).expect("factors");
        let largest = expected.iter().copied().fold(0.0, f32::max);
        let check = |found: &[f32]| {
            let off = found.iter().zip(&expected).filter(|(a, b)| (*a - *b).abs() > 1e-5 * largest).count();
            assert!(largest > 0.0 && off * 10_000 < expected.len(), "{off} of {}", expected.len());
        };
        let mut found = vec![f32::NAN; expected.len()];
        write(&with, &device, &factors, &mut histos(&mut found, count, &lattice), 0).expect("factors");
        check(&found);
        // On the GPU, x slowest.
        let memory = DeviceMemory::from_slice(&device, &vec![f32::NAN; expected.len()]).expect("memory");
        let [nz, ny, nx] = lattice.shape();
        let strides = [nz * ny * nx, 1, nz, nz * ny].map(|n| n as isize);
        let at = std::ptr::without_provenance_mut::<u8>(memory.address() as usize);
        // SAFETY: as many numbers, which stay for as long as the memory.
        let mut to = unsafe { ArrayMut::from_raw(at, DType::F32, [count, nz, ny, nx], strides, Some(device.index())) };
        write(&with, &device, &factors, &mut to, 0).expect("factors");
        let mut turned = vec![0f32; expected.len()];
        let queue = Queue::new(&device).expect("a queue");
        let _current = device.enter().expect("current");
        queue.fetch(memory.address(), &mut turned).expect("values");
        for (k, v) in found.iter_mut().enumerate() {
            let (x, y, z, view) = (k % nx, k / nx % ny, k / (nx * ny) % nz, k / (nx * ny * nz));
            *v = turned[((view * nx + x) * ny + y) * nz + z];
        }
        check(&found);
    }
}

/// As factors; the window cuts some of them off.
#[test]
fn random_coincidences_are_the_processor_s() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let (with, without) = (context(Compute::Gpus(vec![0])), context(Compute::Cpu));
    let views = Views::grid(6, 3, 0.25).expect("views");
    let lattice = Lattice::new([8, 14, 16], [6.0, 7.0, 5.0]).expect("lattice");
    for (window, (scanner, singles)) in
        [(200.0, small()), (f64::INFINITY, small()), (200.0, layered()), (f64::INFINITY, layered())]
    {
        let of = Accidentals { duration: 1e9, window };
        let sampling = Sampling::new(&views, &lattice, 40).expect("directions");
        let factors = Factors::accidentals((sampling, &lattice), (&scanner, &singles), &of).expect("factors");
        let mut expected = vec![0f32; 18 * lattice.voxels()];
        factors.write(&without, &histos(&mut expected, 18, &lattice)).expect("randoms");
        let mut found = vec![f32::NAN; expected.len()];
        write(&with, &device, &factors, &mut histos(&mut found, 18, &lattice), 0).expect("randoms");
        let largest = expected.iter().copied().fold(0.0, f32::max);
        let off = found.iter().zip(&expected).filter(|(a, b)| (*a - *b).abs() > 2e-5 * largest).count();
        assert!(largest > 0.0 && off * 1000 < expected.len(), "{off} of {}", expected.len());
        assert_eq!(window < 1e3, expected.contains(&0.0));
    }
}
