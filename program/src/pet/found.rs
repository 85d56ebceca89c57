//! What was made, and its numbers.

use super::counts::listed;
use super::isotopes::Isotope;
use super::position::Position;
use isocenter::pet::Iteration;
use isocenter::pet::dropped::Dropped;
use serde_json::{Value, json};

pub const UNIT: &str = "Bq/ml";

/// Numbers of a frame.
#[derive(Clone, Debug)]
pub struct Found {
    /// Of its first block, s from the start of the scan; of all its blocks together, s.
    pub start: f64,
    pub duration: f64,
    /// Of the frame in the file.
    pub prompts: u64,
    pub delays: u64,
    /// Prompts in histo-images.
    pub counted: u64,
    /// The others, by cause.
    pub dropped: Dropped,
    /// Counts that are expected in histo-images.
    pub randoms: f64,
    pub scatter: f64,
    /// By what single scatter was multiplied, the standard deviation of that, and the counts beside all that attenuates that tell so; 1, 0 and 0 where it was not.
    pub scale: f64,
    pub scale_error: f64,
    pub tails: f64,
    /// Mean over the body: counts of a voxel a Bq/ml.
    pub sensitivity: f64,
    /// Of the prior; 0 without.
    pub strength: f64,
    /// What the image was multiplied by for the counts that the prior takes: it explains those of the body's places, or along lines all events, best.
    pub restored: f64,
    /// Of each pass; empty of a frame without counts.
    pub history: Vec<Iteration>,
    /// What brings activity of the frame's time to the time that the image is told at; 1 of a frame without events.
    pub decay: f64,
    /// Of the image over the body, Bq/ml.
    pub mean: f64,
    /// The part of the time in which the scanner was ready, the mean of all pairs of crystals.
    pub alive: f64,
}

impl Found {
    /// For programs.
    pub fn event(&self, name: &str) -> Value {
        let dropped: serde_json::Map<_, _> =
            listed(&self.dropped).into_iter().map(|(cause, n)| (cause.replace(' ', "_"), n.into())).collect();
        let passes = self
            .history
            .iter()
            .map(|one| json!({"log_likelihood": one.log_likelihood, "penalty": one.penalty, "change": one.change}));
        json!({
            "name": name, "start": self.start, "duration": self.duration, "prompts": self.prompts, "delays": self.delays, "counted": self.counted, "dropped": dropped,
            "randoms": self.randoms, "scatter": self.scatter, "scatter_scale": self.scale, "scatter_scale_error": self.scale_error, "tails": self.tails, "sensitivity": self.sensitivity,
            "strength": self.strength, "restored": self.restored, "decay": self.decay, "mean": self.mean, "alive": self.alive, "passes": passes.collect::<Vec<_>>(),
        })
    }
}

/// What was made.
pub struct Quantified {
    /// `[frame][z][y][x]`
    pub image: Vec<f32>,
    /// What images are called: "frame 0", "gate 1".
    pub names: Vec<String>,
    /// Whether there are several by what was asked for; an image of all is one.
    pub is_series: bool,
    pub shape: [usize; 3],
    pub voxel: f64,
    /// x, y, z of the image's middle in the file's frame, mm: the scanner's, or the reference of its gantry alignment.
    pub centre: [f64; 3],
    pub found: Vec<Found>,
    pub isotope: Isotope,
    /// What was given and chosen, in words.
    pub settings: Vec<(&'static str, String)>,
    pub position: Position,
    pub scanner: String,
    /// From the time that the activity is told at to the start of the scan, s.
    pub delay: f64,
    /// keV; 0 where it is not known.
    pub energy_window: [f64; 2],
    pub by_time_of_flight: bool,
}
