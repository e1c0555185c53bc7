//! A limit on concurrent reviews that is fair to the addresses that cause them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::error::ReviewError;
use crate::peer_group::peer_group;

/// Requests that may wait or run a review at once. Each keeps its header in memory, so this also bounds memory.
const MAX_REQUESTS: usize = 512;
/// Of these, the places that only the first request of a group may take: as many as there are connections by default
/// ([`Limits::connections`](crate::Limits::connections)), and so groups.
const FIRST_REQUESTS: usize = 256;
/// Concurrent reviews of one peer group. A new group waits behind at most this number of reviews of each other group.
const MAX_REVIEWS_PER_GROUP: usize = 4;

/// Two queues in a row: one for each peer group, and a common one that the first requests of each group join.
///
/// Each peer group gets at most as many requests as are left free of the common places: a single group gets half of them,
/// the next one a quarter, and so on. The other places are for groups without a request, so that one of them is refused only
/// if at least [`FIRST_REQUESTS`] other groups have requests.
pub(super) struct ReviewLimit {
    permits: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    requests: usize,
    groups: HashMap<IpAddr, Group>,
}

struct Group {
    requests: usize,
    permits: Arc<Semaphore>,
}

/// A request in the queue. Leaves it on drop.
pub(super) struct QueuedRequest {
    limit: Arc<ReviewLimit>,
    group: IpAddr,
    group_permits: Arc<Semaphore>,
}

/// Permission to run a review until dropped. Its request stays counted meanwhile.
pub(super) struct ReviewPermit {
    _request: QueuedRequest,
    _of_group: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl ReviewLimit {
    pub(super) fn new(concurrent_reviews: usize) -> Arc<Self> {
        Arc::new(Self { permits: Arc::new(Semaphore::new(concurrent_reviews)), waiting: Mutex::default() })
    }

    /// Enqueues a request from this address.
    ///
    /// # Errors
    ///
    /// [`ReviewError::Busy`] at once if its peer group has its share of requests in the queue.
    pub(super) fn enqueue(self: &Arc<Self>, from: IpAddr) -> Result<QueuedRequest, ReviewError> {
        let group = peer_group(from);
        let mut waiting = self.waiting.lock();
        let held = waiting.groups.get(&group).map_or(0, |group| group.requests);
        let places = if held == 0 { MAX_REQUESTS } else { MAX_REQUESTS - FIRST_REQUESTS };
        if held >= places.saturating_sub(waiting.requests) {
            return Err(ReviewError::Busy);
        }
        waiting.requests += 1;
        let state = waiting.groups.entry(group).or_insert_with(Group::new);
        state.requests += 1;
        let group_permits = Arc::clone(&state.permits);
        Ok(QueuedRequest { limit: Arc::clone(self), group, group_permits })
    }
}

impl Group {
    fn new() -> Self {
        Self { requests: 0, permits: Arc::new(Semaphore::new(MAX_REVIEWS_PER_GROUP)) }
    }
}

impl QueuedRequest {
    /// Waits for the permission to run a review.
    pub(super) async fn permit(self) -> Result<ReviewPermit, ReviewError> {
        let closed = |error: AcquireError| ReviewError::Invalid(error.to_string());
        let of_group = Arc::clone(&self.group_permits).acquire_owned().await.map_err(closed)?;
        let of_all = Arc::clone(&self.limit.permits).acquire_owned().await.map_err(closed)?;
        Ok(ReviewPermit { _request: self, _of_group: of_group, _of_all: of_all })
    }

    /// Takes the permission if it is available without waiting.
    pub(super) fn try_permit(self) -> Option<ReviewPermit> {
        let of_group = Arc::clone(&self.group_permits).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.limit.permits).try_acquire_owned().ok()?;
        Some(ReviewPermit { _request: self, _of_group: of_group, _of_all: of_all })
    }
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        let mut waiting = self.limit.waiting.lock();
        waiting.requests -= 1;
        if let Some(group) = waiting.groups.get_mut(&self.group) {
            group.requests -= 1;
            if group.requests == 0 {
                waiting.groups.remove(&self.group);
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

    /// Returns the permits that are available to these requests at once; the other requests leave the queue.
    fn permits(requests: impl IntoIterator<Item = QueuedRequest>) -> Vec<ReviewPermit> {
        let permits = requests.into_iter().filter_map(|request| request.permit().now_or_never());
        permits.map(Result::unwrap).collect()
    }

    #[test]
    fn one_address_cannot_fill_the_queue() {
        let limit = ReviewLimit::new(1);
        let enqueue_all = |from| {
            let mut requests = Vec::new();
            while let Ok(request) = limit.enqueue(from) {
                requests.push(request);
            }
            requests
        };
        let first = enqueue_all(address(1));
        assert_eq!(first.len(), 128);
        let others: Vec<usize> =
            (2..=11).map(|last| std::mem::ManuallyDrop::new(enqueue_all(address(last))).len()).collect();
        assert_eq!(others, [64, 32, 16, 8, 4, 2, 1, 1, 1, 1]);
        drop(first);
        assert_eq!(enqueue_all(address(12)).len(), 63);
        assert!(limit.enqueue("2001:db8::1".parse().unwrap()).is_ok());
    }

    #[test]
    fn of_as_many_groups_as_connections_each_has_a_place() {
        let limit = ReviewLimit::new(1);
        let requests: Vec<QueuedRequest> = (0..=u8::MAX)
            .flat_map(|last| std::iter::repeat_n(address(last), 300))
            .filter_map(|from| limit.enqueue(from).ok())
            .collect();
        assert_eq!(limit.waiting.lock().groups.len(), 256);
        assert!(requests.len() <= MAX_REQUESTS);
    }

    #[test]
    fn a_new_address_waits_for_few_reviews_of_each_other_address() {
        let limit = ReviewLimit::new(2 * MAX_REVIEWS_PER_GROUP + 1);
        let enqueue = |last, count: usize| {
            let requests = std::iter::repeat_with(|| limit.enqueue(address(last)).unwrap());
            requests.take(count).collect::<Vec<_>>()
        };
        let held = (permits(enqueue(1, 100)), permits(enqueue(2, 100)));
        assert_eq!((held.0.len(), held.1.len()), (MAX_REVIEWS_PER_GROUP, MAX_REVIEWS_PER_GROUP));
        assert_eq!(permits(enqueue(3, 1)).len(), 1);
    }

    #[test]
    fn a_dropped_permit_returns_its_request_too() {
        let limit = ReviewLimit::new(MAX_REVIEWS_PER_GROUP);
        let enqueue = || limit.enqueue(address(1)).unwrap();
        let held = permits((0..MAX_REVIEWS_PER_GROUP).map(|_| enqueue()));
        assert_eq!(held.len(), MAX_REVIEWS_PER_GROUP);
        assert!(enqueue().try_permit().is_none());
        drop(held);
        assert!(enqueue().try_permit().is_some());
        assert!(limit.waiting.lock().groups.is_empty() && limit.waiting.lock().requests == 0);
    }

    proptest! {
        /// However many requests of other addresses come and go, an address without one can enqueue one.
        #[test]
        fn a_new_address_can_always_enqueue(
            clients in proptest::collection::vec((0..=200_u8, proptest::bool::weighted(0.2)), 0..3000)
        ) {
            let limit = ReviewLimit::new(1);
            let mut requests = Vec::new();
            for (last, ends) in clients {
                if ends && !requests.is_empty() {
                    drop(requests.swap_remove(usize::from(last) % requests.len()));
                }
                requests.extend(limit.enqueue(address(last)).ok());
                prop_assert!(requests.len() <= MAX_REQUESTS);
                prop_assert!(limit.enqueue(address(255)).is_ok());
            }
        }
    }
}
