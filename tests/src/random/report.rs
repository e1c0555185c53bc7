//! The result of a run in figures.

use std::fmt;
use std::time::Duration;

use crate::parity::Writes;

/// The result of a run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub(super) determined: [Writes; 2],
    pub(super) undetermined: [Writes; 2],
    /// Comparisons that had to wait.
    pub(super) late: usize,
    /// Of the groups with several slices, those with equal fills, and all.
    pub(super) packed: (usize, usize),
    pub(super) final_groups: usize,
    pub(super) elapsed: Duration,
}

impl Report {
    /// All writes of upstream, and of ours.
    pub fn writes(&self) -> [usize; 2] {
        [0, 1].map(|side| self.determined[side].total() + self.undetermined[side].total())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { determined, undetermined, late, packed, final_groups, elapsed } = self;
        writeln!(f, "  determined writes:   upstream {}   ours {}", determined[0], determined[1])?;
        if undetermined != &[Writes::default(); 2] {
            writeln!(f, "  undetermined writes: upstream {}   ours {}", undetermined[0], undetermined[1])?;
            writeln!(f, "  groups of several slices: {} of {} had equal fills", packed.0, packed.1)?;
        }
        write!(
            f,
            "  {final_groups} groups of slices in the end; taken over without a write both ways; {late} comparisons waited; {} s",
            elapsed.as_secs()
        )
    }
}
