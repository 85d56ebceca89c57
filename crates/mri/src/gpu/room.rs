//! What sums of several terms work in: samples of all terms, and images as a coil sees them.

use super::place::Place;
use super::workspace::check_available;
use isocenter_base::error::Result;
use isocenter_base::gpu::Lent;
use isocenter_base::gpu::fft::Images;

pub(super) struct Room<'p> {
    pub(super) values: Lent,
    image: Option<Lent>,
    /// What is left.
    pub(super) place: Place<'p>,
}

impl<'p> Room<'p> {
    /// So many bytes of samples, and, where there are maps, of images.
    pub(super) fn new(place: &Place<'p>, values: u64, images: &Images, image: u64) -> Result<Self> {
        let image = if images.maps.is_some() { image } else { 0 };
        check_available(place.available, values + image)?;
        let pool = &place.queue.pool;
        Ok(Self {
            values: pool.take(values as usize)?,
            image: if image > 0 { Some(pool.take(image as usize)?) } else { None },
            place: Place { queue: place.queue, available: place.available - values - image },
        })
    }

    /// A coil's images: its own, `behind` the first, or those which are made of the ones that all see.
    pub(super) fn image(&self, images: &Images, behind: u64) -> u64 {
        self.image.as_ref().map_or(images.address + behind, |image| image.address())
    }
}
