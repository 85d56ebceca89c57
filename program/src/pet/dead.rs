//! Dead times that a file tells, in what the scanner measures of each frame.
//!
//! Of a pair of crystals, in modules a and b, `f_i f_j m_ab` of the decays are measured, the mean over the frame's blocks of events, weighed by the activity that there is: see [`super::products`] and
//! docs/list-mode.md.

use super::petsird::{Alive, Events, Of, Pairs, Scanner, Span};
use super::told::general;
use crate::status::unreadable;
use anyhow::{Result, anyhow};
use std::cell::Cell;
use std::sync::Arc;

/// Fractions that differ by less of their mean are one.
const ALIKE: f64 = 1e-3;
/// Of pairs, what is told if products are off by more.
const OFF: f64 = 0.01;

/// Of a frame.
pub struct Own {
    /// With its efficiencies and pairs times what is ready of them.
    pub scanner: Arc<Scanner>,
    /// Pairs for randoms of single photons that were measured, which do not have trues' efficiencies.
    pub randoms: Option<Pairs>,
    /// What is ready of all besides that, and which part of it is of coincidences.
    pub live: f64,
    pub ready: f64,
    /// The mean of all, to tell.
    pub alive: f64,
}

pub struct Dead<'a> {
    scanner: Arc<Scanner>,
    events: &'a Events,
    /// What is given in the place of the file's dead times.
    live: Option<f64>,
    half_life: f64,
    doubt: &'a dyn Fn(String),
    off: Cell<f64>,
    is_bare: Cell<bool>,
}

impl<'a> Dead<'a> {
    pub fn new(
        scanner: Arc<Scanner>,
        events: &'a Events,
        (live, half_life): (Option<f64>, f64),
        doubt: &'a dyn Fn(String),
    ) -> Self {
        match (live, &events.dead) {
            (Some(live), Some(dead)) if dead.has_fractions => {
                doubt(format!("--live is given, {}: the file's dead times are not used", general(live, 6)));
            }
            (None, Some(dead)) => dead.doubt(&events.blocks.concat()).into_iter().for_each(doubt),
            _ => {}
        }
        Self { scanner, events, live, half_life, doubt, off: Cell::new(0.0), is_bare: Cell::new(false) }
    }

    /// Of a frame of a name, which has so many counts in these blocks.
    pub fn of(&self, name: &str, blocks: &[Span], counted: u64) -> Result<Own> {
        let (scanner, of_singles) = (&self.scanner, |pairs: &Pairs| pairs.without_values());
        let randoms = scanner.pairs.as_ref().map(of_singles);
        let Some(dead) = self.events.dead.as_ref().filter(|_| self.live.is_none()) else {
            let live = self.live.unwrap_or(1.0);
            return Ok(Own { scanner: scanner.clone(), randoms, live, ready: 1.0, alive: live });
        };
        let found = dead.of(blocks, self.half_life, scanner)?;
        let mean = found.fractions.iter().sum::<f64>() / found.fractions.len() as f64;
        let of_pairs = found.pairs.mean();
        let alive = mean * mean * of_pairs;
        if counted > 0 && alive <= 0.0 {
            return Err(unreadable(anyhow!(
                "{name} has {counted} counts, and by the file's dead times the scanner was never ready: give --live"
            )));
        }
        self.tell(name, &found);
        let (mut live, mut own, mut randoms) = (1.0, scanner.clone(), randoms);
        if alive <= 0.0 || spread(found.fractions.iter().copied()) <= ALIKE * mean {
            live = mean * mean;
        } else {
            if scanner.efficiencies.is_none() && !self.is_bare.replace(true) {
                (self.doubt)("crystals have dead times that differ, and the file has no efficiencies, which these multiply: each crystal is taken to detect every photon, even behind others".into());
            }
            let part = |k: usize| scanner.efficiencies.as_ref().map_or(1.0, |of| f64::from(of[k]));
            let values = found.fractions.iter().enumerate().map(|(k, f)| (f * part(k)) as f32).collect();
            own = Arc::new(Scanner { efficiencies: Some(values), ..(*own).clone() });
        }
        let ready = match &found.pairs {
            Of::Each(fractions) if !is_alike(fractions, scanner.pairs.as_ref()) => {
                let pairs = Pairs::times(scanner.pairs.as_ref(), scanner, fractions)?;
                own = Arc::new(Scanner { pairs: Some(pairs), ..(*own).clone() });
                randoms = Some(Pairs::times(randoms.as_ref(), scanner, fractions)?);
                1.0
            }
            _ => of_pairs,
        };
        let live = Some((live * ready).min(1.0)).filter(|live| *live > 0.0).unwrap_or(1.0);
        Ok(Own { scanner: own, randoms, live, ready, alive })
    }

    fn tell(&self, name: &str, found: &Alive) {
        let off =
            found.off.iter().zip(&found.fractions).filter(|(_, f)| **f > 0.0).map(|(off, f)| off.max(0.0) / (f * f));
        let most = off.fold(0.0, f64::max);
        if most > OFF.max(self.off.get()) {
            self.off.set(most);
            let percent = general(100.0 * most, 2);
            (self.doubt)(format!(
                "fractions of the time in which crystals are ready change against each other within {name}: of some pairs their products are off by up to {percent} %; shorter frames have less"
            ));
        }
    }
}

fn spread(values: impl Iterator<Item = f64>) -> f64 {
    let [low, high] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)]);
    high - low
}

/// Whether fractions of all pairs of modules that are measured are one.
fn is_alike(fractions: &[f32], pairs: Option<&Pairs>) -> bool {
    let chosen: Vec<f64> = match pairs {
        None => fractions.iter().map(|v| f64::from(*v)).collect(),
        Some(pairs) => pairs.measured().zip(fractions).filter(|(is, _)| *is).map(|(_, v)| f64::from(*v)).collect(),
    };
    let mean = chosen.iter().sum::<f64>() / chosen.len().max(1) as f64;
    spread(chosen.into_iter()) <= ALIKE * mean
}
