//! A filter's tables, kept from call to call: they take longer to make than a slice to reconstruct.

use super::filter::DeviceFilter;
use crate::geometry::Geometry;
use crate::rows::filter::{Filter, Padding};
use isocenter_base::error::Result;
use isocenter_base::gpu::Device;
use std::sync::Arc;

/// Those of the last call that filtered, and what they were made for: rows of so many bins, beside the rest of the geometry.
#[derive(Debug, Default)]
pub(super) struct KeptFilter(Option<(Filter, Padding, usize, Made)>);

/// The tables and the filter's gain; None passes rows as they are.
type Made = Option<(Arc<DeviceFilter>, f64)>;

impl KeptFilter {
    pub(super) fn get(
        &mut self,
        device: &Arc<Device>,
        (filter, padding): (&Filter, Padding),
        geometry: &Geometry,
    ) -> Result<Made> {
        let bins = geometry.bins;
        if let Some((.., made)) = self.0.as_ref().filter(|(f, p, b, _)| f == filter && (*p, *b) == (padding, bins)) {
            return Ok(made.clone());
        }
        let made = DeviceFilter::new(device, filter, padding, bins, geometry.bin_pitch)?;
        let made = made.map(|(filter, gain)| (Arc::new(filter), gain));
        self.0 = Some((filter.clone(), padding, bins, made.clone()));
        Ok(made)
    }
}
