//! Turns to ask the API server, shared fairly among the addresses that cause the questions.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::connections::holder;
use crate::review::ReviewError;

/// Requests that may wait, or have their turn, at once. Each holds on to its header, so this also bounds memory.
const PLACES: usize = 512;
/// Turns at once of one address. A newcomer has these of each other address before itself, and no more.
const TURNS_OF_ONE: usize = 4;

/// Two queues, one behind the other: each address has a lane, and the first of all lanes take their turns in order.
///
/// An address gets no more places than are left free, so that there always are some for another: one alone gets half of
/// them, two a third each, and so on.
pub(crate) struct Lanes {
    turns: Arc<Semaphore>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    places: usize,
    by_holder: HashMap<IpAddr, Lane>,
}

struct Lane {
    places: usize,
    turns: Arc<Semaphore>,
}

/// A place in a lane; given back on drop.
pub(crate) struct Place {
    lanes: Arc<Lanes>,
    holder: IpAddr,
    lane: Arc<Semaphore>,
}

/// The right to ask, until it is dropped. Its place stays taken that long.
pub(crate) struct Turn {
    _place: Place,
    _of_lane: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Lanes {
    pub(crate) fn new(turns: usize) -> Arc<Self> {
        Arc::new(Self { turns: Arc::new(Semaphore::new(turns)), taken: Mutex::default() })
    }

    /// Takes a place for a request from this address. Fails at once if it has its share already.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr) -> Result<Place, ReviewError> {
        let holder = holder(from);
        let mut taken = self.taken.lock();
        let held = taken.by_holder.get(&holder).map_or(0, |lane| lane.places);
        if held >= PLACES.saturating_sub(taken.places) {
            return Err(ReviewError::Busy);
        }
        taken.places += 1;
        let lane = taken.by_holder.entry(holder).or_insert_with(Lane::new);
        lane.places += 1;
        let lane = Arc::clone(&lane.turns);
        Ok(Place { lanes: Arc::clone(self), holder, lane })
    }
}

impl Lane {
    fn new() -> Self {
        Self { places: 0, turns: Arc::new(Semaphore::new(TURNS_OF_ONE)) }
    }
}

impl Place {
    /// Waits for the turn of this place.
    pub(crate) async fn turn(self) -> Result<Turn, ReviewError> {
        let closed = |error: AcquireError| ReviewError::Answer(error.to_string());
        let of_lane = Arc::clone(&self.lane).acquire_owned().await.map_err(closed)?;
        let of_all = Arc::clone(&self.lanes.turns).acquire_owned().await.map_err(closed)?;
        Ok(Turn { _place: self, _of_lane: of_lane, _of_all: of_all })
    }

    /// Takes the turn if it has come already.
    pub(crate) fn turn_now(self) -> Option<Turn> {
        let of_lane = Arc::clone(&self.lane).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.lanes.turns).try_acquire_owned().ok()?;
        Some(Turn { _place: self, _of_lane: of_lane, _of_all: of_all })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.lanes.taken.lock();
        taken.places -= 1;
        if let Some(lane) = taken.by_holder.get_mut(&self.holder) {
            lane.places -= 1;
            if lane.places == 0 {
                taken.by_holder.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use proptest::prelude::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// The turns that come to these places at once; the other places stay where they are.
    fn turns(places: impl IntoIterator<Item = Place>) -> Vec<Turn> {
        places.into_iter().filter_map(|place| place.turn().now_or_never()).map(Result::unwrap).collect()
    }

    #[test]
    fn an_address_never_takes_the_last_place() {
        let lanes = Lanes::new(1);
        let take_all = |from| {
            let mut places = Vec::new();
            while let Ok(place) = lanes.enter(from) {
                places.push(place);
            }
            places
        };
        let first = take_all(address(1));
        assert_eq!(first.len(), PLACES / 2);
        let others: Vec<usize> =
            (2..=7).map(|last| std::mem::ManuallyDrop::new(take_all(address(last))).len()).collect();
        assert_eq!(others, [128, 64, 32, 16, 8, 4]);
        drop(first);
        assert_eq!(take_all(address(8)).len(), (PLACES - 252) / 2);
        assert!(lanes.enter("2001:db8::1".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_newcomer_waits_for_few_of_each_address() {
        let lanes = Lanes::new(2 * TURNS_OF_ONE + 1);
        let enter = |last, count: usize| {
            let places = std::iter::repeat_with(|| lanes.enter(address(last)).unwrap());
            places.take(count).collect::<Vec<_>>()
        };
        let held = (turns(enter(1, 100)), turns(enter(2, 100)));
        assert_eq!((held.0.len(), held.1.len()), (TURNS_OF_ONE, TURNS_OF_ONE));
        assert_eq!(turns(enter(3, 1)).len(), 1);
    }

    #[test]
    fn a_turn_is_given_back_with_its_place() {
        let lanes = Lanes::new(TURNS_OF_ONE);
        let enter = || lanes.enter(address(1)).unwrap();
        let held = turns((0..TURNS_OF_ONE).map(|_| enter()));
        assert_eq!(held.len(), TURNS_OF_ONE);
        assert!(enter().turn_now().is_none());
        drop(held);
        assert!(enter().turn_now().is_some());
        assert!(lanes.taken.lock().by_holder.is_empty() && lanes.taken.lock().places == 0);
    }

    proptest! {
        /// However many requests wait, an address without one gets a place.
        #[test]
        fn there_is_always_a_place_for_a_newcomer(crowd in proptest::collection::vec(1..=6_u8, 0..2000)) {
            let lanes = Lanes::new(1);
            let places: Vec<Place> = crowd.into_iter().filter_map(|last| lanes.enter(address(last)).ok()).collect();
            prop_assert!(places.len() < PLACES);
            prop_assert!(lanes.enter(address(200)).is_ok());
        }
    }
}
