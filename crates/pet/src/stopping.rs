//! When passes have done enough: by how much the last one changed the image, and means of regions.

use super::lattice::Lattice;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::cpu::buffer::{Buffer, copied, zeros};
use isocenter_base::error::{Result, fail};

/// Largest label of a region.
const MAX_LABEL: f32 = 65535.0;

/// Voxels by the region that they are in, of one or more.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Regions {
    /// `[z][y][x]`; 0 is none.
    labels: Vec<u16>,
    /// Voxels of each, from label 1 on.
    sizes: Vec<u32>,
}

impl Regions {
    pub(super) fn new(from: &Array<3>) -> Result<Self> {
        let layout = from.layout();
        let [nz, ny, nx] = layout.shape;
        let mut labels = zeros(layout.count())?;
        let mut row: Vec<f32> = zeros(nx)?;
        let mut sizes = Vec::new();
        for (r, to) in labels.chunks_exact_mut(nx).enumerate() {
            let at = [r / ny, r % ny, 0];
            from.read_row(at, &mut row);
            for (x, (v, to)) in row.iter().zip(to).enumerate() {
                if *v > MAX_LABEL {
                    fail!(OutOfRange, "regions{:?} is {v}; labels go to {MAX_LABEL}", [at[0], at[1], x]);
                }
                *to = *v as u16;
                let label = usize::from(*to);
                if label > sizes.len() {
                    sizes.resize(label, 0u32);
                }
                if let Some(size) = label.checked_sub(1).and_then(|k| sizes.get_mut(k)) {
                    *size += 1;
                }
            }
        }
        if sizes.is_empty() {
            fail!(OutOfRange, "regions has no label above 0 in its {nz} x {ny} x {nx} voxels");
        }
        Ok(Self { labels, sizes })
    }

    /// The mean of each, and of all.
    fn means(&self, image: &[f32]) -> Result<(Vec<f64>, f64)> {
        let mut sums: Vec<f64> = zeros(self.sizes.len() + 1)?;
        for (label, v) in self.labels.iter().zip(image) {
            sums[usize::from(*label)] += f64::from(*v);
        }
        let all = sums[1..].iter().sum::<f64>() / self.sizes.iter().map(|n| f64::from(*n)).sum::<f64>();
        // A label that no voxel has counts for nothing.
        let means = sums[1..].iter().zip(&self.sizes).map(|(sum, n)| sum / f64::from(*n).max(1.0)).collect();
        Ok((means, all))
    }
}

/// Bounds of what a pass changes; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    pub(super) image: f64,
    pub(super) regions: f64,
}

/// What a pass changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Change {
    /// |after - before| / |after|.
    pub(super) image: f64,
    /// Of a region's mean, over the mean of all regions; the largest.
    pub(super) regions: f64,
}

/// Looks at the image after each pass.
pub(super) struct Watch<'a> {
    bounds: Bounds,
    regions: Option<&'a Regions>,
    shape: [usize; 3],
    before: Vec<f32>,
    after: Buffer,
}

impl<'a> Watch<'a> {
    /// If there is something to look for.
    pub(super) fn new(bounds: Bounds, regions: Option<&'a Regions>, lattice: &Lattice) -> Result<Option<Self>> {
        if bounds == Bounds::default() {
            return Ok(None);
        }
        let shape = lattice.shape();
        let after = Buffer::zeroed(lattice.voxels())?;
        Ok(Some(Self { bounds, regions, shape, before: copied(&after)?, after }))
    }

    /// `write` copies the image; the first time it is the one that passes begin with.
    pub(super) fn look(&mut self, write: impl FnOnce(&mut ArrayMut<3>) -> Result<()>) -> Result<Change> {
        self.before.copy_from_slice(&self.after);
        write(&mut ArrayMut::new(&mut self.after, self.shape)?)?;
        let (mut change, mut size) = (0.0, 0.0);
        for (a, b) in self.after.iter().zip(&self.before) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            change += (a - b) * (a - b);
            size += a * a;
        }
        let ratio = |part: f64, of: f64| if part == 0.0 { 0.0 } else { part / of };
        let image = ratio(change, size).sqrt();
        let Some(regions) = self.regions else { return Ok(Change { image, regions: 0.0 }) };
        let ((after, all), (before, _)) = (regions.means(&self.after)?, regions.means(&self.before)?);
        let largest = after.iter().zip(&before).fold(0.0f64, |largest, (a, b)| largest.max((a - b).abs()));
        Ok(Change { image, regions: ratio(largest, all) })
    }

    /// Whether this is little enough.
    pub(super) fn is_done(&self, change: Change) -> bool {
        let Bounds { image, regions } = self.bounds;
        (image == 0.0 || change.image <= image) && (regions == 0.0 || change.regions <= regions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(bounds: Bounds, regions: Option<&Regions>) -> Watch<'_> {
        let lattice = Lattice::new([1, 2, 3], [4.0; 3]).expect("valid");
        Watch::new(bounds, regions, &lattice).expect("memory").expect("bounds")
    }

    /// By hand: the image's norm is sqrt(4 + 1 + 9 + 9) after a change of 1 in one voxel.
    #[test]
    fn changes_are_of_the_image_and_of_means() {
        let labels = [1u8, 1, 0, 3, 0, 3];
        let regions = Regions::new(&Array::of(&labels, [1, 2, 3]).expect("an array")).expect("regions");
        assert_eq!(regions.sizes, [2, 0, 2]);
        let mut watch = watch(Bounds { image: 0.3, regions: 0.1 }, Some(&regions));
        let mut look = |image: [f32; 6]| {
            watch.look(|to| {
                // SAFETY: the array is this test's alone.
                (0..2).for_each(|y| unsafe { to.write_row([0, y, 0], &image[3 * y..][..3]) });
                Ok(())
            })
        };
        look([1.0, 1.0, 0.0, 3.0, 0.0, 3.0]).expect("an image");
        let change = look([2.0, 1.0, 0.0, 3.0, 0.0, 3.0]).expect("an image");
        assert!((change.image - (1.0f64 / 23.0).sqrt()).abs() < 1e-12);
        // Means 1.5 and 3 after 1 and 3; 2.25 of all.
        assert!((change.regions - 0.5 / 2.25).abs() < 1e-12);
        assert!(watch.is_done(Change { image: 0.3, regions: 0.1 }));
        assert!(!watch.is_done(Change { image: 0.31, regions: 0.1 }));
        assert!(!watch.is_done(change));
    }

    #[test]
    fn one_bound_alone_counts() {
        let watch = watch(Bounds { image: 0.0, regions: 0.1 }, None);
        assert!(watch.is_done(Change { image: 9.0, regions: 0.1 }));
        assert!(!watch.is_done(Change { image: 0.0, regions: 0.2 }));
        let lattice = Lattice::new([1, 2, 3], [4.0; 3]).expect("valid");
        assert!(Watch::new(Bounds::default(), None, &lattice).expect("memory").is_none());
    }

    #[test]
    fn labels_are_small_and_some() {
        let none = Regions::new(&Array::of(&[0u8; 6], [1, 2, 3]).expect("an array"));
        assert!(none.expect_err("none").message.contains("no label"));
        let large = Regions::new(&Array::of(&[0, 0, 0, 65536u32, 0, 0], [1, 2, 3]).expect("an array"));
        assert!(large.expect_err("large").message.contains("[0, 1, 0]"));
    }
}
