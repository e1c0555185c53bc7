//! Random numbers that never change: reports and commit messages name a trace by its seed.

/// `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is small: the tiny bias of a remainder does not matter.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    /// True with this probability.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// One of the choices, if there are any.
    pub fn any<T>(&mut self, choices: impl IntoIterator<Item = T>) -> Option<T> {
        let mut choices: Vec<T> = choices.into_iter().collect();
        if choices.is_empty() {
            return None;
        }
        let index = self.below(choices.len());
        Some(choices.swap_remove(index))
    }

    /// Some of the choices, at least one, in their order.
    pub fn some<T: Clone>(&mut self, choices: &[T], most: usize) -> Vec<T> {
        let mut indices: Vec<usize> = (0..choices.len()).collect();
        let count = 1 + self.below(most.min(choices.len()));
        for place in 0..count {
            let other = place + self.below(indices.len() - place);
            indices.swap(place, other);
        }
        indices.truncate(count);
        indices.iter().map(|index| choices[*index].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_match_the_paper() {
        let mut rng = Rng::new(1_234_567);
        assert_eq!([rng.next(), rng.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
