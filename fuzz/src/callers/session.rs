//! What sessions of all modalities have in common.

use super::caller::Caller;
use super::memory::Bounds;
use isocenter::error::Status;
use std::sync::OnceLock;

/// Most steps that bytes choose.
const MOST: usize = 24;

/// A plan, and the calls of its modality.
pub(crate) trait Plan<'d>: 'd {
    /// In an order in which all succeed.
    const STEPS: &'d [fn(&mut Self)];

    fn new(caller: Caller<'d>) -> Self;
    fn caller(&mut self) -> &mut Caller<'d>;
    fn destroy(&self) -> Status;
}

/// Steps as the bytes say, then all of them in order, as a careful caller takes them. Gives a digest of what these wrote, if their
/// context let them.
pub(crate) fn run<'d, P: Plan<'d>>(bytes: &'d [u8], bounds: Bounds) -> Option<u64> {
    let mut plan = P::new(Caller::new(bytes, bounds)?);
    for _ in 0..MOST {
        if plan.caller().input.is_empty() {
            break;
        }
        let step = plan.caller().input.below(P::STEPS.len());
        P::STEPS[step](&mut plan);
    }
    plan.caller().settle();
    for step in P::STEPS {
        step(&mut plan);
    }
    assert_eq!(plan.destroy(), Status::Ok);
    assert_eq!(plan.destroy(), Status::InvalidHandle);
    let caller = plan.caller();
    caller.usual.then_some(caller.digest)
}

/// What the careful caller's steps write where nothing went before.
pub(crate) struct Alone(OnceLock<u64>);

impl Alone {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// A session: whatever the bytes made it do first, the careful caller's results are the same.
    pub(crate) fn session(&self, run: fn(&[u8], Bounds) -> Option<u64>, bytes: &[u8], bounds: Bounds) {
        let alone = *self.0.get_or_init(|| run(&[], bounds).expect("a careful caller's session"));
        if let Some(found) = run(bytes, bounds) {
            assert_eq!(found, alone, "other results from the same calls");
        }
    }
}
