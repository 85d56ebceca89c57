//! What may make values wrong: told when it is found, and kept for the report.

use crate::{talk, words};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
pub struct Doubts(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    told: Vec<String>,
    /// Texts of the library without numbers.
    kinds: HashSet<String>,
}

impl Doubts {
    pub fn tell(&self, text: String) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !heard.told.contains(&text) {
            talk::warning(&text);
            heard.told.push(text);
        }
    }

    /// A warning of the library: that of one part of the events, or of one image of several, is told once.
    pub fn of_library(&self, message: &str) {
        let text = words::of(message);
        let kind = text.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
        let is_new = self.0.lock().unwrap_or_else(PoisonError::into_inner).kinds.insert(kind);
        if is_new {
            self.tell(text);
        }
    }

    /// All of them.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).told.clone()
    }
}
