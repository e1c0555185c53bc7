//! The wall clock and randomness: everything that is not a function of the requests.

use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;

/// Supplies the time and random numbers. Uids, suffixes of generated names, cluster IPs, node ports and timestamps depend
/// on nothing else, so a seeded environment makes a server deterministic.
pub trait Environment: Send + Sync + 'static {
    /// The time that is written to objects.
    fn now(&self) -> Timestamp;

    /// The next random number, uniform over all values.
    fn random(&self) -> u64;
}

/// The clock of the system, and numbers from a seed (`SplitMix64`).
#[derive(Debug)]
pub struct SystemEnvironment {
    state: AtomicU64,
}

impl SystemEnvironment {
    /// Numbers that follow from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }
}

impl Default for SystemEnvironment {
    /// Numbers that differ from process to process and from server to server.
    fn default() -> Self {
        let hasher = std::collections::hash_map::RandomState::new();
        Self::seeded(std::hash::BuildHasher::hash_one(&hasher, 0))
    }
}

impl Environment for SystemEnvironment {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn random(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
