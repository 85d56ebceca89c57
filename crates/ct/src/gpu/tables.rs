//! Tables that one call needs on one GPU besides its slabs.

use super::adjoint;
use super::by_angle::DeviceOrder;
use super::case::{sampling, view_lines};
use super::distortion::DeviceDistortion;
use super::filter::DeviceFilter;
use super::forward::DeviceForward;
use super::frames::{DeviceFlat, flat_rows};
use super::half_acquisition::DeviceHalves;
use super::iterative::Prepared;
use super::kept_filter::KeptFilter;
use super::phase::DevicePhase;
use super::projector::Projector;
use crate::options::Pair;
use crate::rows::filter::Padding;
use crate::task::{Operator, Task};
use isocenter_base::cpu::buffer::{collected, filled};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory};
use std::sync::Arc;

/// On the device.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) lines: DeviceMemory,
    pub(super) view_scale: DeviceMemory,
    pub(super) filter: Option<Arc<DeviceFilter>>,
    /// Of the rows of all slices.
    pub(super) flat: Option<DeviceFlat>,
    pub(super) distortion: Option<DeviceDistortion>,
    pub(super) by_angle: Option<DeviceOrder>,
    /// For slabs as large as they are at first.
    pub(super) phase: Option<DevicePhase>,
    /// Packed values are at most this times the largest value.
    pub(super) bound: f32,
    /// Of Joseph's pair: the adjoint's, and the forward projection.
    pub(super) tents: Option<DeviceMemory>,
    pub(super) forward: Option<DeviceForward>,
    pub(super) halves: Option<DeviceHalves>,
    pub(super) iterations: Option<Prepared>,
}

impl Tables {
    pub(super) fn new(
        device: &Arc<Device>,
        task: &Task,
        filter: &mut KeptFilter,
        (projector, lanes, side, slab): (Option<Projector>, usize, usize, usize),
    ) -> Result<Self> {
        let g = task.geometry;
        let lines = match projector {
            Some(p) => view_lines(g, &p.format(sampling(task)), g.bins)?,
            None => Vec::new(),
        };
        let scales: Vec<f32> = match task.rows.weights {
            Some(weights) => collected(weights.iter().map(|&w| w as f32)),
            None => filled(g.views(), 1.0),
        }?;
        let heaviest = scales.iter().fold(0.0f32, |a, w| a.max(w.abs()));
        let uploaded = match task.rows.filter {
            Some(of) => filter.get(device, of, g)?,
            None => None,
        };
        let (filter, gain) = uploaded.map_or((None, 1.0), |(f, gain)| (Some(f), gain));
        let detector = task.detector;
        let phase = task.rows.stages.and_then(|stages| stages.phase.as_ref());
        let distortion = task.rows.stages.and_then(|stages| stages.distortion.as_ref());
        let flat = task.rows.correction.flat();
        let flat = flat.map(|flat| DeviceFlat::new(device, flat, flat_rows(task), detector.bins)).transpose()?;
        Ok(Self {
            lines: DeviceMemory::from_slice(device, &lines)?,
            view_scale: DeviceMemory::from_slice(device, &scales)?,
            filter,
            flat,
            distortion: distortion.map(|distortion| DeviceDistortion::new(device, distortion)).transpose()?,
            by_angle: task.rows.by_angle.map(|by_angle| DeviceOrder::new(device, by_angle)).transpose()?,
            phase: phase.map(|phase| DevicePhase::new(device, phase, detector, slab)).transpose()?,
            bound: gain as f32 * heaviest,
            tents: match (task.operator, task.pair) {
                (Operator::Adjoint, Pair::Joseph) => Some(DeviceMemory::from_slice(device, &adjoint::tents(g)?)?),
                _ => None,
            },
            forward: match (task.operator, task.pair) {
                (Operator::Forward, Pair::Joseph) => Some(DeviceForward::new(device, g, lanes)?),
                _ => None,
            },
            iterations: match task.iteration {
                Some(iteration) => Some(Prepared::new(device, g, iteration, (slab, side))?),
                None => None,
            },
            halves: match task.rows.halves {
                Some(halves) => {
                    Some(DeviceHalves::new(device, halves, matches!(task.rows.filter, Some((_, Padding::Edge))))?)
                }
                None => None,
            },
        })
    }
}
