//! Work on each frame of a series, on this engine and on those of other GPUs.

use super::call::Call;
use super::engine::{Engine, Vector};
use super::frames::Frames;
use super::parts::Part;
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::append;
use isocenter_base::error::{Error, Result, fail};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What frames are made of, and where they go.
pub(super) struct Flow<'a, E: Engine> {
    pub(super) source: (&'a Vector<E>, Part),
    /// Images to begin with.
    pub(super) start: Option<&'a Vector<E>>,
    pub(super) result: (&'a mut Vector<E>, Part),
}

impl Frames {
    /// Works on each frame, with its part of the source, images to begin with and what belongs to its samples; gives what the work gives besides,
    /// frame by frame.
    pub(super) fn share<E: Engine, R: Send>(
        &self,
        e: &mut E,
        call: &Call,
        context: &Arc<Context>,
        flow: Flow<E>,
        work: impl Fn(&mut E, Vector<E>, Option<&Vector<E>>, &mut E::Side) -> Result<(Vector<E>, R)> + Sync,
    ) -> Result<Vec<R>> {
        let Flow { source, start, result } = flow;
        let crew = e.take_crew(context, self.count())?;
        if crew.is_empty() {
            let mut found = Vec::new();
            for frame in 0..self.count() {
                let mut side = self.side(e, frame)?;
                let part = source.1.gather(e, source.0, (self, frame))?;
                let start = start.map(|start| Part::Images.gather(e, start, (self, frame))).transpose()?;
                let (made, besides) = work(e, part, start.as_ref(), &mut side)?;
                result.1.scatter(e, &made, result.0, (self, frame))?;
                append(&mut found, besides)?;
            }
            return Ok(found);
        }
        let lent = (|| {
            let start = start.map(|start| e.lend(start)).transpose()?;
            Ok((e.lend(source.0)?, start, e.lend(result.0)?))
        })();
        let (from, start, to) = match lent {
            Ok(lent) => lent,
            Err(error) => {
                e.keep_crew(crew);
                return Err(error);
            }
        };
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None::<Error>));
        let found = Mutex::new(Vec::new());
        let some = |e: &mut E| -> Result<()> {
            loop {
                let frame = next.fetch_add(1, Ordering::Relaxed);
                if frame >= self.count() {
                    return Ok(());
                }
                call.job.check()?;
                let mut side = self.side(e, frame)?;
                let pieces = source.1.pieces(e, (self, frame))?;
                let part = e.fetch(&from, &pieces)?;
                let images = Part::Images.pieces(e, (self, frame))?;
                let start = start.as_ref().map(|start| e.fetch(start, &images)).transpose()?;
                let (made, besides) = work(e, part, start.as_ref(), &mut side)?;
                let pieces = result.1.pieces(e, (self, frame))?;
                e.deliver(&made, &to, &pieces)?;
                append(&mut found.lock().unwrap_or_else(PoisonError::into_inner), (frame, besides))?;
            }
        };
        let tried = |result: Result<()>| {
            if let Err(error) = result {
                // Nobody begins another one.
                next.store(self.count(), Ordering::Relaxed);
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        };
        let crew = std::thread::scope(|scope| {
            let at_work: Vec<_> = crew
                .into_iter()
                .map(|mut member| {
                    let (some, tried) = (&some, &tried);
                    scope.spawn(move || {
                        call.job.elsewhere(|| tried(member.within(context, some)));
                        member
                    })
                })
                .collect();
            tried(some(e));
            at_work.into_iter().map(|m| m.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
        });
        e.keep_crew(crew);
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by_key(|(frame, _)| *frame);
        if found.len() != self.count() {
            fail!(Internal, "{} of {} frames were worked on", found.len(), self.count());
        }
        Ok(found.into_iter().map(|(_, besides)| besides).collect())
    }
}
