//! Counts of which no image can be made, or a doubtful one.

use super::counts::{Frame, listed};
use super::cut::Cut;
use super::found::Found;
use super::petsird::Events;
use anyhow::{Result, ensure};

pub(super) fn doubt_pairs(found: &[Found], cut: &Cut, doubt: &dyn Fn(String)) {
    for (k, of) in found.iter().enumerate().filter(|(_, of)| of.dropped.not_measured > 0) {
        let (lost, prompts) = (of.dropped.not_measured, of.prompts);
        let frame = if found.len() > 1 { format!(" of {}", cut.parts[k].name) } else { String::new() };
        doubt(format!(
            "{lost} of {prompts} prompts{frame} are of pairs of crystals that the file says are not measured: they are dropped"
        ));
    }
}

/// Sources of randoms: whether any is needed, and whether the file has single photons that they are made of.
#[derive(Clone, Copy)]
pub(super) struct Sources {
    pub(super) is_needed: bool,
    pub(super) is_recorded: bool,
}

/// What no image at all can be made of is an error; of single frames it is told.
pub(super) fn check_counts(
    found: &[Found],
    events: &Events,
    (cut, frames): (&Cut, &[Frame]),
    of_randoms: Sources,
    doubt: &dyn Fn(String),
) -> Result<()> {
    let randoms = of_randoms.is_needed && !of_randoms.is_recorded;
    let sum = |of: fn(&Found) -> u64| found.iter().map(of).sum::<u64>();
    let (prompts, delays, several) = (sum(|of| of.prompts), sum(|of| of.delays), found.len() > 1);
    let in_frames = if several { " in any frame" } else { "" };
    ensure!(prompts > 0 || delays > 0, "there are no events{in_frames}");
    ensure!(
        prompts > 0,
        "there are delays without prompts: {delays} delayed coincidences, of which alone no image can be made"
    );
    ensure!(
        !randoms || delays > 0,
        "there are prompts without delays, and without rates of single photons, of which randoms are made: give --no-randoms if there are none, or they were taken off"
    );
    let causes = || {
        listed(&found[0].dropped).into_iter().map(|(cause, n)| format!("{n} {cause}")).collect::<Vec<_>>().join(", ")
    };
    ensure!(sum(|of| of.counted) > 0, "none of {prompts} prompts are in the lattice: {}", causes());
    for (k, of) in found.iter().enumerate() {
        let name = &cut.parts[k].name;
        let frame = |with: &str| if several { format!(" {with} {name}") } else { String::new() };
        ensure!(
            of.counted == 0 || of.duration > 0.0,
            "blocks of events{} last 0 s, so that there is no activity a second",
            frame("of")
        );
        let is_image = !cut.is_moved();
        if is_image && events.blocks[k].is_empty() {
            doubt(format!("no block of events begins in {name}: its image is NaN"));
        } else if is_image && of.counted == 0 {
            let prompts = if of.prompts > 0 { "prompts in the lattice" } else { "prompts" };
            doubt(format!("there are no {prompts} in {name}: its image is 0"));
        } else if of.counted > 0 && randoms && frames[k].sums.iter().all(|n| *n == 0) {
            let frame = frame("in");
            doubt(format!(
                "there are prompts without delays in the field of view{frame}: there are taken to be no randoms"
            ));
        }
    }
    Ok(())
}
