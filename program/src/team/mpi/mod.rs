//! Processes that MPI has started.

mod share;
mod window;

use super::{Shared, Team};
use crate::{status, talk};
use anyhow::{Context, Error, Result, anyhow};
use mpi::Threading;
use mpi::collective::{CommunicatorCollectives, Root};
use mpi::environment::Universe;
use mpi::request::{Request, Scope, StaticScope, scope};
use mpi::topology::{Communicator, SimpleCommunicator};
use rayon::prelude::*;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use window::Window;

/// Between two looks at something that takes as long as it does; how long another process waits for this one to answer, at most.
const PAUSE: Duration = Duration::from_millis(1);

/// One call of MPI at a time: many builds of it allow no more.
static CALLS: Mutex<()> = Mutex::new(());

fn one_call() -> MutexGuard<'static, ()> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Ranks {
    rank: usize,
    size: usize,
    neighbours: [usize; 2],
    threads: usize,
    counter: Arc<Window>,
    /// All of them, in the order in which they were made.
    windows: Mutex<Vec<Arc<Window>>>,
    ended: Arc<AtomicBool>,
}

/// Does the work of a process; an error of one ends all of them.
pub fn with(work: impl FnOnce(&dyn Team) -> Result<()>) -> Result<()> {
    let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized).context("MPI does not start")?;
    // A panic ends this process without a farewell, so that the launcher ends the others.
    let universe = ManuallyDrop::new(universe);
    if threading < Threading::Serialized {
        end_all(&anyhow!("this build of MPI allows no calls from several threads"));
    }
    let ranks = Ranks::join(&universe.world());
    match work(&ranks).and_then(|()| ranks.meet()) {
        Ok(()) => ranks.part(universe),
        Err(error) => end_all(&error),
    }
    Ok(())
}

/// Ends all processes because of an error of this one.
fn end_all(error: &Error) -> ! {
    let world = SimpleCommunicator::world();
    talk::failed(error, &format!("process {} of {}: ", world.rank(), world.size()));
    let _one = one_call();
    world.abort(status::of(error) as i32)
}

/// Until what was asked for is done. In between other threads make their calls.
fn wait<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>) {
    loop {
        let tested = {
            let _one = one_call();
            request.test()
        };
        request = match tested {
            Ok(_) => return,
            Err(request) => request,
        };
        std::thread::sleep(PAUSE);
    }
}

impl Ranks {
    fn join(world: &SimpleCommunicator) -> Self {
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        let near = world.split_shared(world.rank());
        let neighbours = [near.rank() as usize, near.size() as usize];
        let threads = share::threads(&near);
        // The leader has the number.
        let counter = Arc::new(Window::new(if rank == 0 { size_of::<i64>() } else { 0 }));
        let (windows, ended) = (Mutex::new(vec![counter.clone()]), Arc::default());
        let ranks = Self { rank, size, neighbours, threads, counter, windows, ended };
        ranks.answer();
        ranks
    }

    /// Lets MPI answer other processes while this one computes: not every network does so by itself.
    fn answer(&self) {
        let ended = self.ended.clone();
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                {
                    let _one = one_call();
                    if !ended.load(Ordering::Relaxed) {
                        window::answer();
                    }
                }
                std::thread::sleep(PAUSE);
            }
        });
    }

    fn windows(&self) -> MutexGuard<'_, Vec<Arc<Window>>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends MPI, when nobody needs this process any more.
    fn part(self, universe: ManuallyDrop<Universe>) {
        let _one = one_call();
        self.ended.store(true, Ordering::Relaxed);
        self.windows().iter().for_each(|window| window.free());
        drop(ManuallyDrop::into_inner(universe));
    }
}

impl Team for Ranks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn neighbours(&self) -> [usize; 2] {
        self.neighbours
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn told(&self, said: Vec<u8>) -> Result<Vec<u8>> {
        let (world, mut said) = (SimpleCommunicator::world(), said);
        let leader = world.process_at_rank(0);
        let mut length = said.len() as u64;
        scope(|scope| {
            let request = {
                let _one = one_call();
                leader.immediate_broadcast_into(scope, &mut length)
            };
            wait(request);
        });
        said.resize(length as usize, 0);
        // The address of nothing is one that MPI takes for a sign.
        if said.is_empty() {
            return Ok(said);
        }
        scope(|scope| {
            let request = {
                let _one = one_call();
                leader.immediate_broadcast_into(scope, &mut said[..])
            };
            wait(request);
        });
        Ok(said)
    }

    fn next(&self) -> Result<usize> {
        let _one = one_call();
        Ok(self.counter.add_one(0) as usize)
    }

    fn gathered(&self, own: f64) -> Result<Vec<f64>> {
        let (own, mut all) = ([own], vec![0.0; self.size]);
        scope(|scope| {
            let request = {
                let _one = one_call();
                SimpleCommunicator::world().immediate_all_gather_into(scope, &own[..], &mut all[..])
            };
            wait(request);
        });
        Ok(all)
    }

    fn meet(&self) -> Result<()> {
        let synchronise = || self.windows().iter().for_each(|window| window.synchronise());
        let request: Request<'static, (), StaticScope> = {
            let _one = one_call();
            synchronise();
            SimpleCommunicator::world().immediate_barrier()
        };
        wait(request);
        let _one = one_call();
        synchronise();
        Ok(())
    }

    fn shared(&self, bytes: usize) -> Result<Box<dyn Shared>> {
        let _one = one_call();
        let window = Arc::new(Window::new(bytes));
        self.windows().push(window.clone());
        Ok(Box::new(Held { window, rank: self.rank }))
    }
}

/// What processes share.
struct Held {
    window: Arc<Window>,
    rank: usize,
}

/// Bytes of a call, which MPI counts with 31 bits.
const PART: usize = 1 << 30;

impl Shared for Held {
    fn own(&mut self) -> &mut [u8] {
        // SAFETY: of this process, which fills it before the processes meet and reads it afterwards; others only read it then.
        unsafe { self.window.own() }
    }

    fn read(&self, rank: usize, at: u64, step: u64, piece: usize, to: &mut [u8]) -> Result<()> {
        if rank == self.rank {
            // SAFETY: nobody writes to it any more.
            let own: &[u8] = unsafe { self.window.own() };
            let from = own[at as usize..].par_chunks(step as usize);
            to.par_chunks_exact_mut(piece).zip(from).for_each(|(to, from)| to.copy_from_slice(&from[..piece]));
            return Ok(());
        }
        let _one = one_call();
        if step == piece as u64 {
            self.window.read(rank, at, PART as u64, PART, to);
        } else {
            self.window.read(rank, at, step, piece, to);
        }
        Ok(())
    }
}
