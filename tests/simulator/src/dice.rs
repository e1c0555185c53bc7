//! Random numbers for what happens in a history.
//!
//! A number depends on the seed, on what it is for, and on the count of earlier numbers for the same: a fault that does not
//! happen changes nothing but its consequences.

use std::collections::BTreeMap;

use random_operations::rng::Rng;

/// Random numbers by what they are for.
#[derive(Debug)]
pub struct Dice {
    seed: u64,
    rolled: BTreeMap<String, u64>,
}

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self { seed, rolled: BTreeMap::new() }
    }

    /// The numbers of the next one of its kind.
    pub fn roll(&mut self, what: String) -> Rng {
        let hash = fnv(self.seed, what.as_bytes());
        let count = self.rolled.entry(what).or_default();
        *count += 1;
        Rng::new(fnv(hash, &count.to_le_bytes()))
    }
}

/// FNV-1a over bytes, from a hash.
pub fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    let start = hash ^ 0xcbf2_9ce4_8422_2325;
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
