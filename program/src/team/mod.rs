//! The processes of a run: one, or those that MPI has started.

mod alone;
#[cfg(feature = "mpi")]
mod mpi;

pub use alone::Alone;

use anyhow::{Result, bail};

/// The processes of a run. The first of them leads.
pub trait Team: Send + Sync {
    /// Which of them this one is.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Which of those on its machine this one is, and how many they are.
    fn neighbours(&self) -> [usize; 2];

    /// Threads for this process, so that those on one machine share it; 0: as many as there are processors.
    fn threads(&self) -> usize;

    /// What the leader says, at every process: all of them call this.
    fn told(&self, said: Vec<u8>) -> Result<Vec<u8>>;

    /// The next of the numbers from 0 on: each goes to one process.
    fn next(&self) -> Result<usize>;

    /// A number of every process: all of them call this.
    fn gathered(&self, own: f64) -> Result<Vec<f64>>;

    /// Whether all processes say so: all of them call this.
    fn all(&self, so: bool) -> Result<bool> {
        Ok(self.gathered(f64::from(u8::from(so)))?.iter().all(|&said| said == 1.0))
    }

    /// Returns when all of them have called it.
    fn meet(&self) -> Result<()>;

    /// Memory of this process that all others may read: all of them call this, each with a size of its own.
    fn shared(&self, bytes: usize) -> Result<Box<dyn Shared>>;
}

/// Memory of every process of a team, which each of them may read.
pub trait Shared: Send + Sync {
    /// What this process has.
    fn own(&mut self) -> &mut [u8];

    /// Pieces of so many bytes of a process, the first from a byte on, others a step apart. What is read must have been written before the
    /// processes last met.
    fn read(&self, rank: usize, at: u64, step: u64, piece: usize, to: &mut [u8]) -> Result<()>;
}

/// Names of the variables by which launchers tell a process which one it is: PMIx (OpenMPI, SLURM), PMI (MPICH, Intel MPI, SLURM).
#[cfg(feature = "mpi")]
const LAUNCHED: [&str; 2] = ["PMIX_RANK", "PMI_RANK"];

/// Does the work of a process of a run; an error of one ends all of them.
pub fn with(work: impl FnOnce(&dyn Team) -> Result<()>) -> Result<()> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    #[cfg(feature = "mpi")]
    if LAUNCHED.iter().any(|name| std::env::var_os(name).is_some()) {
        return mpi::with(work);
    }
    let sizes = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
    if sizes.iter().any(|name| number(name).is_some_and(|size| size > 1)) {
        bail!(
            "started as several processes, which do not find each other: {}; `repeat --part` shares a run without MPI",
            if cfg!(feature = "mpi") {
                "srun --mpi=pmix starts them for MPI"
            } else {
                "`make program-mpi` builds one for MPI"
            }
        );
    }
    work(&Alone::default())
}
