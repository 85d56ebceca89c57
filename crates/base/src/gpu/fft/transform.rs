//! Lines of any length.

use super::line::Line;
use super::long::LongLine;
use super::pass::{Side, Steps};
use crate::error::Result;
use crate::gpu::{Device, Precision};
use std::sync::Arc;

/// Lines of one length, ready to be transformed in as few steps as it takes.
#[derive(Debug)]
pub enum Transform {
    Short(Box<Line>),
    Long(Box<LongLine>),
}

impl Transform {
    pub fn new(device: &Arc<Device>, length: usize, precision: Precision) -> Result<Self> {
        if length <= Line::longest(device, precision) {
            Line::new(device, length, precision).map(|line| Self::Short(Box::new(line)))
        } else {
            LongLine::new(device, length, precision).map(|line| Self::Long(Box::new(line)))
        }
    }

    /// How often lines of a length go through shared memory or past it, and between steps to global memory and back; None for a
    /// length that is none. For GPUs whose blocks take the longest lines.
    pub fn passes(length: usize) -> Option<usize> {
        Line::passes(length).or_else(|| LongLine::passes(length))
    }

    /// For a pass; scratch memory for all positions of its lines is used by long ones.
    pub fn steps(&self, scratch: Side) -> Steps<'_> {
        match self {
            Self::Short(line) => Steps::One(line),
            Self::Long(line) => Steps::Two(line, scratch),
        }
    }
}
