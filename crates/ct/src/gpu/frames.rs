//! Line integrals of raw frames on a GPU: outliers, the flat field of each view, bad pixels. The structs mirror those of
//! `kernels/ct/frames.cu`.

use super::format::RawRows;
use crate::geometry::Geometry;
use crate::rows::flat_field::{FlatField, Repair};
use crate::rows::outliers::{OutlierSide, OutlierUnit, Outliers};
use crate::task::Task;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, DeviceMemory, Function, Launch, Stream, mirrored};
use std::ops::Range;
use std::sync::Arc;

/// Mirrors `Frames`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Frames {
    raw: RawRows,
    sinograms: u64,
    planes: u64,
    mixtures: u64,
    plane_stride: i64,
    components: u64,
    component_weights: u64,
    outliers: u64,
    above: i32,
    below: i32,
    views: i32,
    unit: i32,
    side: i32,
    threshold: f32,
    first_counted: i32,
    counted: i32,
    transmissions: i32,
    component_count: i32,
}
mirrored!(Frames, 168);

/// Mirrors `Repairs`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Repairs {
    list: u64,
    sinograms: u64,
    count: i32,
    first_row: i32,
    views: i32,
    bins: i32,
}
mirrored!(Repairs, 32);
mirrored!(Repair, 20);

const TILE: usize = 256;
/// Views of a block: many, so that what is not used twice is little.
const VIEWS: usize = 64;
/// Windows and depths that there are kernels for; the first is no window.
const KERNELS: [(usize, usize); 5] = [(1, 1), (3, 1), (3, 3), (5, 1), (5, 3)];

/// Kernels of `ct/frames`.
#[derive(Debug)]
pub(super) struct Kernels {
    frames: Vec<Function>,
    repairs: Function,
}

impl Kernels {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let kernel = |name: &str| device.function(&crate::images::FRAMES, name);
        let frames = KERNELS.iter().map(|(window, depth)| kernel(&format!("ct_frames_{window}_{depth}")));
        Ok(Self { frames: frames.collect::<Result<_>>()?, repairs: kernel("ct_repairs")? })
    }
}

/// The flat field of the rows that a geometry's slices need.
#[derive(Debug)]
pub(super) struct DeviceFlat {
    dark: DeviceMemory,
    gain: DeviceMemory,
    beams: Option<DeviceBeams>,
    repairs: Option<DeviceMemory>,
    rows: Range<usize>,
    bins: usize,
}

/// What varies from view to view.
#[derive(Debug)]
struct DeviceBeams {
    /// (group or component, row, bin).
    planes: DeviceMemory,
    groups: usize,
    /// What each view takes of groups and of components.
    mixtures: DeviceMemory,
    components: usize,
    weights: DeviceMemory,
}

impl DeviceFlat {
    /// Memory in bytes, of so many rows.
    pub(super) fn bytes(flat: &FlatField, rows: usize, bins: usize) -> u64 {
        let (planes, of_views) = flat.beams().map_or((0, 0), |beams| {
            (beams.count(), size_of_val(beams.mixtures()) + size_of_val(beams.component_weights()))
        });
        (4 * (2 + planes) * rows * bins + of_views) as u64
    }

    /// Of these rows of the detector.
    pub(super) fn new(device: &Arc<Device>, flat: &FlatField, rows: Range<usize>, bins: usize) -> Result<Self> {
        let part = rows.start * bins..rows.end * bins;
        let (dark, gain) = flat.rows(rows.clone());
        let repairs = flat.repairs().of_rows(rows.clone());
        let beams = flat.beams().map(|beams| {
            let components = beams.components();
            Ok(DeviceBeams {
                planes: DeviceMemory::from_slice(device, &beams.part(part.clone())?)?,
                groups: beams.count() - components,
                mixtures: DeviceMemory::from_slice(device, beams.mixtures())?,
                components,
                weights: DeviceMemory::from_slice(device, beams.component_weights())?,
            })
        });
        Ok(Self {
            rows,
            bins,
            dark: DeviceMemory::from_slice(device, dark)?,
            gain: DeviceMemory::from_slice(device, gain)?,
            beams: beams.transpose()?,
            repairs: (!repairs.is_empty()).then(|| DeviceMemory::from_slice(device, repairs)).transpose()?,
        })
    }

    /// Where a row of the detector is in planes, in bytes.
    fn at(&self, row: usize) -> u64 {
        4 * ((row - self.rows.start) * self.bins) as u64
    }

    /// Dark and gain from a row of the detector on.
    pub(super) fn of(&self, row: usize) -> [u64; 2] {
        [&self.dark, &self.gain].map(|m| m.address() + self.at(row))
    }
}

/// Rows of the detector whose flat field is on a device.
pub(super) fn flat_rows(task: &Task) -> Range<usize> {
    let reach = task.rows.stages.map_or(0, |stages| stages.measured_reach(task.detector));
    task.detector.rows_around(&(0..task.detector.slices), reach)
}

/// A slab's frames.
#[derive(Clone, Copy)]
pub(super) struct Slab<'a> {
    pub(super) geometry: &'a Geometry,
    /// The first of its rows in the detector.
    pub(super) top: usize,
    /// Its rows, and how many are in memory before and after.
    pub(super) raw: RawRows,
    pub(super) beside: [usize; 2],
    pub(super) flat: Option<(&'a FlatField, &'a DeviceFlat)>,
    /// Where the number of outliers is counted, and of which of its rows.
    pub(super) counter: u64,
    pub(super) counted: [usize; 2],
    /// Transmissions are made, no line integrals.
    pub(super) transmissions: bool,
}

impl Slab<'_> {
    /// With so many more rows on either side of those that are in memory.
    pub(super) fn widened(self, [above, below]: [usize; 2]) -> Self {
        let Self { top, raw, beside, flat, counted, .. } = self;
        let size = match raw.kind {
            0 => 4,
            1 => 2,
            _ => 1,
        };
        let [dark, gain] = flat.map_or([0, 0], |(_, on_device)| on_device.of(top - above));
        let raw = RawRows {
            data: raw.data.wrapping_add_signed(-(above as i64) * raw.slice_stride * size),
            slices: raw.slices + (above + below) as i32,
            dark,
            gain,
            ..raw
        };
        let beside = [beside[0] - above, beside[1] - below];
        Self { top: top - above, raw, beside, counted: [counted[0] + above, counted[1]], ..self }
    }
}

/// Makes line integrals or transmissions of a slab's rows, (row, view, bin).
pub(super) fn run(
    kernels: &Kernels,
    slab: &Slab,
    outliers: Option<&Outliers>,
    sinograms: u64,
    stream: &Stream,
) -> Result<()> {
    let Slab { geometry: g, top, raw, beside, flat, counter, counted, transmissions } = *slab;
    let (views, bins, slices) = (g.views(), g.bins, raw.slices as usize);
    let wanted = outliers.map_or(KERNELS[0], |o| (o.window, o.depth));
    let Some(at) = KERNELS.iter().position(|kernel| *kernel == wanted) else {
        fail!(Internal, "there is no kernel for outliers in {wanted:?}");
    };
    let beams = flat.and_then(|(_, on_device)| Some((on_device.beams.as_ref()?, on_device)));
    let plane_stride = flat.map_or(0, |(_, on_device)| on_device.rows.len() * bins);
    // From the slab's first row on.
    let plane =
        |plane: usize| beams.map_or(0, |(b, on)| b.planes.address() + on.at(top) + 4 * (plane * plane_stride) as u64);
    let arguments = Frames {
        raw,
        sinograms,
        planes: plane(0),
        mixtures: beams.map_or(0, |(b, _)| b.mixtures.address()),
        plane_stride: plane_stride as i64,
        components: beams.map_or(0, |(b, _)| plane(b.groups)),
        component_weights: beams.map_or(0, |(b, _)| b.weights.address()),
        outliers: counter,
        above: beside[0] as i32,
        below: beside[1] as i32,
        views: VIEWS as i32,
        unit: match outliers.map(|o| o.unit) {
            None | Some(OutlierUnit::Noise) => 0,
            Some(OutlierUnit::Median) => 1,
            Some(OutlierUnit::Count) => 2,
        },
        side: match outliers.map(|o| o.side) {
            None | Some(OutlierSide::Bright) => 0,
            Some(OutlierSide::Dark) => 1,
            Some(OutlierSide::Both) => 2,
        },
        threshold: outliers.map_or(0.0, |o| o.threshold as f32),
        first_counted: counted[0] as i32,
        counted: counted[1] as i32,
        transmissions: transmissions.into(),
        component_count: beams.map_or(0, |(b, _)| b.components as i32),
    };
    let grid = [bins.div_ceil(TILE), slices, views.div_ceil(VIEWS)];
    // SAFETY: Frames mirrors the kernel's struct; the buffers live until the stream is waited for.
    unsafe { kernels.frames[at].launch(stream, Launch { grid, block: [TILE, 1, 1], shared: 0 }, &arguments)? };
    let Some((flat, DeviceFlat { repairs: Some(list), rows, .. })) = flat else { return Ok(()) };
    let before = size_of_val(flat.repairs().of_rows(rows.start..top));
    let count = flat.repairs().of_rows(top..top + slices).len();
    if count == 0 {
        return Ok(());
    }
    let arguments = Repairs {
        list: list.address() + before as u64,
        sinograms,
        count: count as i32,
        first_row: top as i32,
        views: views as i32,
        bins: bins as i32,
    };
    let grid = [(count * views).div_ceil(TILE).min(1 << 16), 1, 1];
    // SAFETY: as above.
    unsafe { kernels.repairs.launch(stream, Launch { grid, block: [TILE, 1, 1], shared: 0 }, &arguments) }
}
