//! Bad views of frames on a GPU: those that the processor finds in the same frames, in either order, whatever their type and strides.

use super::common::views::{Given, Scan, ordered};
use super::memory::OnGpu;
use super::{cpu, gpu};
use isocenter::array::{Array, DType};
use isocenter::ct::{Ct, Geometry, Order, ViewFault};
use rand::SeedableRng;
use rand::rngs::SmallRng;

#[test]
fn views_on_a_gpu() {
    let Some(gpu) = gpu() else { return };
    let mut seen = [false; 5];
    for number in 2000..2012u64 {
        let (mut scan, mut rng) = (Scan::random(number, true), SmallRng::seed_from_u64(number));
        for (view, fault) in [
            (5, ViewFault::Frozen),
            (12, ViewFault::Black),
            (20, ViewFault::Saturated),
            (28, ViewFault::NotFinite),
            (33, ViewFault::Black),
        ] {
            scan.plant(fault, view, &mut rng);
        }
        for order in [Order::Frames, Order::Sinograms] {
            let g = Geometry { order, ..scan.geometry.clone() };
            let expected = scan.found(&mut Ct::new(cpu()), order);
            let mut ct = Ct::new(gpu.clone());
            assert_eq!(scan.found(&mut ct, order), expected, "{}, from the host", scan.about);
            scan.set_up(&mut ct, &g);
            let (values, shape) = (ordered(&scan.frames, &g), g.projection_shape());
            // Every other row of a larger array, with gaps between bins.
            let [a, b, c] = shape;
            let strides = [2 * b * 3 * c, 2 * 3 * c, 3].map(|step| step as isize);
            let mut spread = vec![7.0f32; 6 * a * b * c];
            for (k, v) in values.iter().enumerate() {
                let (i, j, bin) = (k / (b * c), k / c % b, k % c);
                spread[i * 6 * b * c + j * 6 * c + 3 * bin] = *v;
            }
            let found = |strides: [isize; 3], values: &[f32]| {
                let find = |address: u64, dtype: DType| {
                    // SAFETY: the device holds the elements until the call has returned.
                    let from = unsafe { Array::from_raw(address as *const u8, dtype, shape, strides, Some(0)) };
                    ct.find_bad_views(from).expect("views")
                };
                match scan.given {
                    Given::U8 => {
                        let there = OnGpu::new(&values.iter().map(|v| *v as u8).collect::<Vec<_>>());
                        find(there.address, DType::U8)
                    }
                    Given::U16 => {
                        let there = OnGpu::new(&values.iter().map(|v| *v as u16).collect::<Vec<_>>());
                        find(there.address, DType::U16)
                    }
                    _ => {
                        let there = OnGpu::new(values);
                        find(there.address, DType::F32)
                    }
                }
            };
            let contiguous = [b * c, c, 1].map(|step| step as isize);
            assert_eq!(found(contiguous, &values), expected, "{}, {order:?}", scan.about);
            assert_eq!(found(strides, &spread), expected, "{}, {order:?}, with gaps", scan.about);
            for fault in expected.into_iter().flatten() {
                seen[fault as usize] = true;
            }
        }
    }
    assert!(seen[..4].iter().all(|seen| *seen), "{seen:?}");
}
