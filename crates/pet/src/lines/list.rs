//! Lists of events as lines.

use super::trace::Timing;
use crate::dropped::Dropped;
use crate::events::{BLOCK, Block, EventArrays, Events, NO_SET, NOT_MEASURED, Source};
use crate::response::{FWHM_PER_SIGMA, HALF_LIGHT, Response};
use crate::scanner::{CrystalArrays, CrystalEvents, Scanner};
use isocenter_base::array::Array;
use isocenter_base::array::value::{Value, not_finite};
use isocenter_base::error::{Result, fail};

/// A list of events, f32 or f64 where they are no numbers of crystals, all in host memory.
#[derive(Clone, Copy, Debug)]
pub enum Ends<'a> {
    /// Where photons were detected; times of `EventArrays` that are not there are 0.
    Positions(EventArrays<'a>),
    /// Crystals of the plan's scanner.
    Crystals(CrystalArrays<'a>),
}

/// What a call has of events.
#[derive(Clone, Copy, Debug)]
pub struct ListArrays<'a> {
    pub ends: Ends<'a>,
    /// Whether there are times; without them an event is anywhere along its line.
    pub timed: bool,
    /// Full width at half maximum of each one's time difference, ps; None: the response's.
    pub tof_fwhm: Option<Array<'a, 1>>,
}

/// Times of events that have none.
pub fn no_times(events: usize) -> Array<'static, 1> {
    Array::repeated(&0.0f32, events)
}

#[derive(Clone, Copy, Debug)]
enum Given<'a> {
    Positions(Events<'a>),
    Crystals(CrystalEvents<'a>),
}

impl Source for Given<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Positions(events) => events.len(),
            Self::Crystals(events) => events.len(),
        }
    }

    fn is_single(&self) -> bool {
        match self {
            Self::Positions(events) => events.is_single(),
            Self::Crystals(events) => events.is_single(),
        }
    }

    fn read<P: Value>(&self, from: usize, block: &mut Block<P>) -> usize {
        match self {
            Self::Positions(events) => events.read(from, block),
            Self::Crystals(events) => events.read(from, block),
        }
    }
}

/// A list that is read block by block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<'a> {
    given: Given<'a>,
    tof_fwhm: Option<Array<'a, 1>>,
    /// Of all that have no width of their own; None without time of flight.
    timing: Option<Timing>,
    /// mm^2 by which the image is blurred along a line already.
    blurred: f64,
    /// Sine of the largest tilt that counts.
    sine: f64,
}

/// An event that counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Its number in the list.
    pub(crate) number: usize,
    /// Both ends, mm, and t2 - t1, ps.
    pub(crate) event: [f64; 7],
    pub(crate) timing: Option<Timing>,
}

/// sigma^2, of which the image's blur has a part already, a quarter at most of it where it is as narrow.
fn along(fwhm: f64, blurred: f64) -> f64 {
    let square = (fwhm * HALF_LIGHT / FWHM_PER_SIGMA).powi(2);
    (square - blurred).max(0.25 * square).sqrt()
}

impl<'a> List<'a> {
    /// Lines of any tilt where `sine` is 1.
    pub(super) fn new(
        arrays: &ListArrays<'a>,
        scanner: Option<&'a Scanner>,
        response: Option<&Response>,
        sine: f64,
    ) -> Result<Self> {
        let given = match &arrays.ends {
            Ends::Positions(events) => Given::Positions(Events::new(events)?),
            Ends::Crystals(events) => match scanner {
                Some(scanner) => Given::Crystals(CrystalEvents::new(scanner, events, 1)?),
                None => fail!(NotConfigured, "the plan has no scanner yet; isoc_pet_set_scanner comes first"),
            },
        };
        let events = given.len();
        if let Some(widths) = &arrays.tof_fwhm {
            if !arrays.timed {
                fail!(OutOfRange, "list.tof_fwhm is of times, and list.times is NULL");
            }
            if widths.shape() != [events] {
                fail!(TensorShape, "list.tof_fwhm has shape {:?}; there are {events} events", widths.shape());
            }
            let mut room = [0.0f64; BLOCK];
            for from in (0..events).step_by(BLOCK) {
                let row = &mut room[..BLOCK.min(events - from)];
                widths.read_row([from], row);
                if let Some(k) = row.iter().position(|v| !v.is_finite()) {
                    return not_finite("list.tof_fwhm", &[from + k], row[k]);
                }
                if let Some(k) = row.iter().position(|v| *v <= 0.0) {
                    fail!(OutOfRange, "list.tof_fwhm[{}] is {} ps; it must be above 0", from + k, row[k]);
                }
            }
        }
        let blurred = response.map_or(0.0, |r| (r.radial.largest() / FWHM_PER_SIGMA).powi(2));
        let timing = match (arrays.timed, response) {
            (false, _) => None,
            (true, Some(r)) if r.tof_fwhm_ps == 0.0 && arrays.tof_fwhm.is_none() => fail!(
                NotConfigured,
                "events have times, and response.tof_fwhm is 0: set how exact they are, or leave list.times out"
            ),
            (true, Some(r)) => Some(Timing { sigma: along(r.tof_fwhm_ps, blurred), cut: r.cut.k }),
            (true, None) if arrays.tof_fwhm.is_some() => Some(Timing { sigma: 0.0, cut: crate::Cut::default().k }),
            (true, None) => fail!(
                NotConfigured,
                "events have times, and the plan has no response that tells how exact they are; isoc_pet_set_response comes first"
            ),
        };
        Ok(Self { given, tof_fwhm: arrays.tof_fwhm, timing, blurred, sine })
    }

    pub(crate) fn len(&self) -> usize {
        self.given.len()
    }

    /// Its events as they were given.
    pub(super) fn source(&self) -> impl Source {
        self.given
    }

    /// How exact times are that have no width of their own; None without times.
    pub(super) fn timing(&self) -> Option<Timing> {
        self.timing
    }

    /// Calls with each of at most a block of events from `from` on that counts, and says what became of the others.
    pub(super) fn read(
        &self,
        from: usize,
        most: usize,
        block: &mut Block<f64>,
        mut call: impl FnMut(&Line),
    ) -> Dropped {
        let n = self.given.read(from, block).min(most);
        let mut widths = [0.0f64; BLOCK];
        if let Some(given) = &self.tof_fwhm {
            given.read_row([from], &mut widths[..n]);
        }
        let mut dropped = Dropped::default();
        for (i, width) in widths[..n].iter().enumerate() {
            let event = block.event(i);
            let [x1, y1, z1, x2, y2, z2, _] = event;
            let apart = [x2 - x1, y2 - y1, z2 - z1];
            let square: f64 = apart.iter().map(|d| d * d).sum();
            if block.set[i] == NO_SET {
                dropped.unknown += 1;
            } else if block.set[i] == NOT_MEASURED {
                dropped.not_measured += 1;
            } else if event.iter().any(|v| !v.is_finite()) {
                dropped.not_finite += 1;
            } else if square == 0.0 {
                dropped.equal_positions += 1;
            } else if apart[2].abs() > self.sine * square.sqrt() {
                dropped.outside_tilts += 1;
            } else {
                let timing = self.timing.map(|t| match *width {
                    0.0 => t,
                    width => Timing { sigma: along(width, self.blurred), ..t },
                });
                call(&Line { number: from + i, event, timing });
            }
        }
        dropped
    }
}
