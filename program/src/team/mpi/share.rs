//! How processes on one machine share its processors.

use mpi::collective::CommunicatorCollectives;
use mpi::topology::{Communicator, SimpleCommunicator};

/// Sixty-fours of processors that are looked at.
const WORDS: usize = 16;

/// Threads for each of the processes on a machine, so that there is none to spare; 0 where that is not known.
pub fn threads(near: &SimpleCommunicator) -> usize {
    let own = processors();
    let mut all = vec![0; WORDS * near.size() as usize];
    near.all_gather_into(&own[..], &mut all[..]);
    let count = |words: &[u64]| words.iter().map(|word| word.count_ones() as usize).sum::<usize>();
    let mut together = [0; WORDS];
    for process in all.chunks_exact(WORDS) {
        together.iter_mut().zip(process).for_each(|(all, one)| *all |= one);
    }
    // Launchers bind processes to processors of their own, or let all of them have all.
    let (mine, wanted, there) = (count(&own), count(&all), count(&together));
    if mine == 0 { 0 } else { (mine * there / wanted).max(1) }
}

/// Those that this process may use, a bit for each.
#[cfg(target_os = "linux")]
fn processors() -> [u64; WORDS] {
    let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: room for the answer, which is a set of bits whatever the call does.
    let set = unsafe {
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
        set.assume_init()
    };
    // SAFETY: the set has as many bits.
    let has = |k: usize| k < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(k, &set) };
    std::array::from_fn(|word| (0..64).filter(|bit| has(64 * word + bit)).fold(0, |bits, bit| bits | 1 << bit))
}

#[cfg(not(target_os = "linux"))]
fn processors() -> [u64; WORDS] {
    [0; WORDS]
}
