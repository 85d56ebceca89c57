//! Volumes and arrays in host memory, page-locked and ordinary.

use super::*;
use isocenter_base::context::{Compute, ContextOptions};
use isocenter_base::gpu::Pinned;

#[test]
fn host_arrays_are_the_same_wherever_they_lie() {
    // Several parts of a staged copy.
    const SHAPE: [usize; 3] = [70, 80, 81];
    const COUNT: usize = SHAPE[0] * SHAPE[1] * SHAPE[2];
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let context =
        Context::new(ContextOptions { compute: Compute::Cpu, ..ContextOptions::default() }).expect("a context");
    let _current = device.enter().expect("a GPU");
    let queue = Queue::new(&device).expect("a queue");
    let place = Place::new(SHAPE).expect("a volume");
    let copies = Copies { context: &context, queue: &queue, place, stream: 0 };
    let volume = queue.pool.take(place.bytes()).expect("memory");
    let pinned = || Pinned::new(&device, 4 * COUNT).expect("memory");
    let (pinned_in, pinned_out) = (pinned(), pinned());
    let (mut ordinary_in, mut ordinary_out) = (vec![0f32; 2 * COUNT], vec![0f32; 2 * COUNT]);
    let strides = |gap: usize| [SHAPE[1] * SHAPE[2] * gap, SHAPE[2] * gap, gap].map(|s| s as isize);
    for dtype in [DType::F32, DType::U32] {
        for (source, gap_in) in
            [(pinned_in.data().cast(), 1), (ordinary_in.as_mut_ptr(), 1), (ordinary_in.as_mut_ptr(), 2)]
        {
            for k in 0..COUNT {
                let bits = if dtype == DType::U32 { k as u32 } else { (k as f32).to_bits() };
                // SAFETY: room for as many elements with a gap; floats may have any bits.
                unsafe { source.add(k * gap_in).write(f32::from_bits(bits)) };
            }
            // SAFETY: as above.
            let from = unsafe { Array::from_raw(source.cast(), dtype, SHAPE, strides(gap_in), None) };
            let check = Check::new(&queue, NanPolicy::Error, Sign::NonNegative).expect("a check");
            // SAFETY: the array stays until the stream has passed the copy; the GPU is current.
            unsafe { copies.read(&from, volume.address(), &check, 0).expect("a copy") };
            assert_eq!(check.resolve(&queue, &from, "x", || Ok(1.0)).expect("numbers"), [0; 2]);
            for (target, gap_out) in
                [(pinned_out.data().cast::<f32>(), 1), (ordinary_out.as_mut_ptr(), 1), (ordinary_out.as_mut_ptr(), 2)]
            {
                // SAFETY: as above.
                unsafe {
                    (0..COUNT).for_each(|k| target.add(k * gap_out).write(-1.0));
                    let mut to = ArrayMut::from_raw(target.cast(), DType::F32, SHAPE, strides(gap_out), None);
                    copies.write(volume.address(), &mut to).expect("a copy");
                    queue.stream.synchronize().expect("a copy");
                    let wrong = (0..COUNT).find(|k| target.add(k * gap_out).read() != *k as f32);
                    assert_eq!(wrong, None, "{dtype:?}, gaps {gap_in} and {gap_out}");
                }
            }
        }
    }
}
