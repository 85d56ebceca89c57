//! How a scan's time is cut: into frames, gates, and places of a patient who moves.

mod frames;
mod gates;
mod motion;

use super::options::ActivityOptions;
use super::petsird::{Events, Rigid, Span};
use super::told::general;
use anyhow::{Result, ensure};
use motion::Place;
use std::collections::BTreeMap;

/// Spans of time, the parts that they belong to, and the images that these belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Ascending, s; none of all of the scan.
    pub spans: Vec<Span>,
    /// The part of each span.
    of: Vec<usize>,
    pub parts: Vec<Part>,
    /// What each image is called.
    pub names: Vec<String>,
    /// Whether images are several by what was asked for, and of gates.
    pub is_series: bool,
    is_gated: bool,
    pub doubts: Vec<String>,
}

/// What is reconstructed at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub name: String,
    pub image: usize,
    /// From where the patient is to the reference; None of one who does not move.
    pub transform: Option<Rigid>,
}

impl Cut {
    pub fn new(given: &ActivityOptions) -> Result<Self> {
        let single = given.single_frames();
        let frames = match &given.frames {
            Some(text) => frames::read(text)?,
            None => single,
        };
        check(&frames, |k| {
            let [start, end] = frames[k].map(|v| general(v, 6));
            format!("--frame {start} {end}")
        })?;
        let (spans, of, names, doubts) = match &given.gates {
            Some(path) => {
                let gates::Gates { spans, of, names, doubts } = gates::read(path, given.gate_count)?;
                (spans, of, names, doubts)
            }
            None if frames.is_empty() => (Vec::new(), vec![0], vec!["the scan".to_string()], Vec::new()),
            None => {
                let names = (0..frames.len()).map(|k| format!("frame {k}")).collect();
                (frames.clone(), (0..frames.len()).collect(), names, Vec::new())
            }
        };
        let part = |(image, name): (usize, &String)| Part { name: name.clone(), image, transform: None };
        let parts = names.iter().enumerate().map(part).collect();
        let (is_series, is_gated) = (!spans.is_empty(), given.gates.is_some());
        let whole = Self { is_series, is_gated, spans, of, parts, names, doubts };
        match &given.motion {
            Some(path) => Ok(whole.by_places(&motion::read(path)?)),
            None => Ok(whole),
        }
    }

    /// Each part cut again, by where the patient is.
    fn by_places(self, places: &[Place]) -> Self {
        let all = [[f64::NEG_INFINITY, f64::INFINITY]];
        let whole = if self.spans.is_empty() { &all[..] } else { &self.spans };
        let mut edges: Vec<f64> = whole.iter().flatten().copied().chain(places.iter().map(|p| p.start)).collect();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        // A place that comes again is the same.
        let bits = |place: &Place| place.transform.map(|row| row.map(f64::to_bits));
        let first = |k: usize| places.iter().position(|other| bits(other) == bits(&places[k])).unwrap_or(k);
        let mut spans = Vec::new();
        let mut keys = Vec::new();
        for pair in edges.windows(2) {
            let inside = whole.iter().rposition(|span| span[0] <= pair[0]).filter(|k| pair[0] < whole[*k][1]);
            let Some(inside) = inside else { continue };
            // Before the first start the first place holds.
            let place = places.iter().rposition(|place| place.start <= pair[0]).unwrap_or(0);
            spans.push([pair[0], pair[1]]);
            keys.push((self.of[inside], first(place)));
        }
        let mut numbers: BTreeMap<_, _> = keys.iter().map(|key| (*key, 0)).collect();
        numbers.values_mut().enumerate().for_each(|(k, number)| *number = k);
        let part = |(image, place): &(usize, usize)| Part {
            name: format!("{}, place {place}", self.names[*image]),
            image: *image,
            transform: Some(places[*place].transform),
        };
        let parts = numbers.keys().map(part).collect();
        Self { of: keys.iter().map(|key| numbers[key]).collect(), spans, parts, ..self }
    }

    /// The part of a span; of a scan that is not cut, the only one.
    pub fn part(&self, span: usize) -> usize {
        self.of[span]
    }

    /// Whether parts are moved and averaged to images.
    pub fn is_moved(&self) -> bool {
        self.parts.iter().any(|part| part.transform.is_some())
    }

    /// Whether each span is an image of its own, so that no part comes again after another.
    pub fn is_plain(&self) -> bool {
        !self.is_moved() && self.of.iter().enumerate().all(|(k, part)| k == *part) && !self.is_gated
    }

    /// Events of spans as those of parts.
    pub fn grouped(&self, mut events: Events) -> Events {
        let within = std::mem::take(&mut events.within);
        if self.is_plain() {
            events.doubts.extend(within);
            return events;
        }
        if !within.is_empty() {
            let (some, all) = (within.len(), self.of.len());
            events.doubts.push(format!(
                "{some} of {all} times of gates or places begin or end within blocks of events, whose events have no times of their own: a block is of the one in which it begins"
            ));
        }
        let mut asked = vec![[f64::INFINITY, f64::NEG_INFINITY]; self.parts.len()];
        let mut blocks = vec![Vec::new(); self.parts.len()];
        for ((part, span), own) in self.of.iter().zip(&events.asked).zip(&events.blocks) {
            let to = &mut asked[*part];
            *to = [to[0].min(span[0]), to[1].max(span[1])];
            blocks[*part].extend(own);
        }
        Events { asked, blocks, ..events }
    }
}

/// That spans ascend and do not overlap.
fn check(spans: &[Span], name: impl Fn(usize) -> String) -> Result<()> {
    for (k, span) in spans.iter().enumerate() {
        let [start, end] = span.map(|v| general(v, 6));
        ensure!(span[1] > span[0], "{}: its end must be after its start; it is from {start} to {end} s", name(k));
        if let Some(before) = k.checked_sub(1).map(|before| spans[before][1]).filter(|before| span[0] < *before) {
            anyhow::bail!(
                "{} begins before the end of the one before it, {start} s and {} s; times must ascend and not overlap",
                name(k),
                general(before, 6)
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(start: f64, shift: f64) -> Place {
        let transform = [[1.0, 0.0, 0.0, shift], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        Place { start, transform }
    }

    fn cut(spans: &[Span]) -> Cut {
        let names: Vec<String> = (0..spans.len().max(1)).map(|k| format!("frame {k}")).collect();
        let part = |(image, name): (usize, &String)| Part { name: name.clone(), image, transform: None };
        Cut {
            spans: spans.to_vec(),
            of: (0..names.len()).collect(),
            parts: names.iter().enumerate().map(part).collect(),
            names,
            is_series: !spans.is_empty(),
            is_gated: false,
            doubts: Vec::new(),
        }
    }

    /// A place that comes again is the same part; what is between frames is in none.
    #[test]
    fn frames_are_cut_by_places() {
        let places = [place(0.0, 0.0), place(10.0, 5.0), place(20.0, 0.0)];
        let made = cut(&[[0.0, 15.0], [16.0, 30.0]]).by_places(&places);
        assert_eq!(made.spans, [[0.0, 10.0], [10.0, 15.0], [16.0, 20.0], [20.0, 30.0]]);
        assert_eq!(made.of, [0, 1, 3, 2]);
        let told: Vec<_> = made.parts.iter().map(|part| (part.name.as_str(), part.image)).collect();
        assert_eq!(
            told,
            [("frame 0, place 0", 0), ("frame 0, place 1", 0), ("frame 1, place 0", 1), ("frame 1, place 1", 1)]
        );
        let made = cut(&[]).by_places(&places);
        assert_eq!(made.spans[0], [f64::NEG_INFINITY, 0.0]);
        assert_eq!((made.of, made.parts.len()), (vec![0, 0, 1, 0], 2));
    }

    #[test]
    fn blocks_of_spans_are_those_of_parts() {
        let made = cut(&[[0.0, 15.0], [15.0, 30.0]]).by_places(&[place(0.0, 0.0), place(10.0, 5.0), place(20.0, 0.0)]);
        let events = Events {
            asked: made.spans.clone(),
            seconds: [0.0, 30.0],
            blocks: made.spans.iter().map(|span| vec![*span]).collect(),
            moves: false,
            dead: None,
            singles: None,
            doubts: Vec::new(),
            within: vec!["frame 0".into()],
        };
        let found = made.grouped(events);
        assert_eq!(found.asked, [[0.0, 10.0], [10.0, 15.0], [20.0, 30.0], [15.0, 20.0]]);
        assert_eq!(found.blocks[2], [[20.0, 30.0]]);
        assert!(found.doubts[0].starts_with("1 of 4 times of gates or places"), "{:?}", found.doubts);
    }
}
