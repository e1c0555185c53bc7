//! The number of keys that are synced at the same time, in its two parts: those that are planned, and those whose requests
//! are under way.

/// The number of keys that are synced at the same time.
///
/// A sync reads a cache and computes, which takes a processor, and then sends requests, which takes time only. At most
/// [`planning`](Self::planning) syncs are in the first part; one that has called [`end_planning`](super::SyncContext::end_planning) makes room for another.
/// At most [`in_flight`](Self::in_flight) syncs are in either part: this bounds the plans in memory and the requests that
/// the API server gets at the same time.
///
/// ```
/// use controller_kit::worker::Concurrency;
///
/// let concurrency = Concurrency::from(5).overlapping(50);
/// assert_eq!((concurrency.planning(), concurrency.in_flight()), (5, 50));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    planning: usize,
    in_flight: usize,
}

impl From<usize> for Concurrency {
    /// This number of syncs, whatever they do.
    fn from(syncs: usize) -> Self {
        Self { planning: syncs, in_flight: syncs }
    }
}

impl Concurrency {
    /// The same, with this number of syncs altogether, if it is higher.
    #[must_use]
    pub fn overlapping(self, in_flight: usize) -> Self {
        Self { in_flight: in_flight.max(self.in_flight), ..self }
    }

    /// The most syncs that have not called [`end_planning`](super::SyncContext::end_planning).
    pub fn planning(self) -> usize {
        self.planning
    }

    /// The most syncs altogether.
    pub fn in_flight(self) -> usize {
        self.in_flight
    }
}
