//! What can be wrong with a view.

/// What is wrong with a view. All but [`ViewFault::Doubtful`] are certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewFault {
    /// No light: counts at the dark level.
    Black,
    /// Most values at the largest that the detector has.
    Saturated,
    /// The same values as in the view before, where noise makes any two frames differ.
    Frozen,
    /// Most values are NaN or Inf.
    NotFinite,
    /// Far darker or brighter than views beside it by angle, all of a sudden.
    Doubtful,
}

impl ViewFault {
    /// Whether the view is certainly no measurement of the object.
    pub fn certain(self) -> bool {
        self != Self::Doubtful
    }

    /// The fault in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Black => "black",
            Self::Saturated => "saturated",
            Self::Frozen => "frozen",
            Self::NotFinite => "not finite",
            Self::Doubtful => "doubtful",
        }
    }
}
