//! Results of reviews, cached, with concurrent reviews of the same key merged.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::cached::{CacheKey, CacheValue};
use super::error::{ReviewError, within_limit};
use super::limit::{QueuedRequest, ReviewLimit, ReviewPermit};
use super::store::{Lookup, Store};

/// Reviews at once of keys without a positive result. Bounds the reviews that a flood of invalid tokens causes.
const REVIEWS_OF_UNKNOWN: usize = 48;
/// Reviews at once of keys whose last result was positive.
const REVIEWS_OF_KNOWN: usize = 16;

/// Caches the results of reviews, each for its own time.
///
/// * Concurrent requests with the same key share one review. The review completes even if all of them are cancelled: a
///   client that disconnects cancels no request to the API server, and finds the result when it retries.
/// * Positive results that are in use are refreshed before they expire, and keys whose last result was positive have a
///   queue of their own: a flood of invalid tokens neither displaces nor delays clients with a valid one.
/// * The queues are fair between client addresses, see [`ReviewLimit`].
///
/// Bounded in memory, see [`Store`].
pub(crate) struct ReviewCache<K, V>(Arc<Shared<K, V>>);

struct Shared<K, V> {
    state: Mutex<State<K, V>>,
    unknown: Arc<ReviewLimit>,
    known: Arc<ReviewLimit>,
}

struct State<K, V> {
    store: Store<K, V>,
    in_flight: HashMap<K, InFlight<V>>,
}

/// Receives the result of a review. The sender is dropped without one if the review panics.
type InFlight<V> = watch::Receiver<Option<Result<V, ReviewError>>>;

impl<K: CacheKey, V: CacheValue> ReviewCache<K, V> {
    pub(crate) fn new() -> Self {
        let state = State { store: Store::new(), in_flight: HashMap::new() };
        let (unknown, known) = (ReviewLimit::new(REVIEWS_OF_UNKNOWN), ReviewLimit::new(REVIEWS_OF_KNOWN));
        Self(Arc::new(Shared { state: Mutex::new(state), unknown, known }))
    }

    /// Returns the cached result for `key`, or that of `review`, which also returns its lifetime. `from` is the address
    /// of the client that sent the request.
    ///
    /// Takes 10 s at most.
    ///
    /// # Errors
    ///
    /// Those of the review, shared by the requests that wait for it and not cached; [`ReviewError::Busy`] at once if too
    /// many requests wait; [`ReviewError::Timeout`].
    pub(crate) async fn get<R, F>(&self, key: K, from: IpAddr, review: R) -> Result<V, ReviewError>
    where
        R: FnOnce() -> F,
        F: Future<Output = Result<(V, Duration), ReviewError>> + Send + 'static,
    {
        let lookup = self.0.state.lock().store.look_up(&key);
        let limit = match lookup {
            Lookup::Fresh(value) => return Ok(value),
            Lookup::RefreshDue(value) => {
                let permit = self.0.known.enqueue(from).ok().and_then(QueuedRequest::try_permit);
                if let Some(permit) = permit {
                    self.start(key, permit, review);
                }
                return Ok(value);
            }
            Lookup::ExpiredPositive => &self.0.known,
            Lookup::Missing => &self.0.unknown,
        };
        let request = limit.enqueue(from)?;
        within_limit(async {
            let in_flight = self.0.state.lock().in_flight(&key);
            if let Some(in_flight) = in_flight {
                let result = wait_for(in_flight).await;
                drop(request);
                return result;
            }
            let permit = request.permit().await?;
            let lookup = self.0.state.lock().store.look_up(&key);
            match lookup {
                Lookup::Fresh(value) | Lookup::RefreshDue(value) => Ok(value),
                Lookup::ExpiredPositive | Lookup::Missing => wait_for(self.start(key, permit, review)).await,
            }
        })
        .await
    }

    /// Starts a review in a task of its own, unless one is in flight.
    fn start<R, F>(&self, key: K, permit: ReviewPermit, review: R) -> InFlight<V>
    where
        R: FnOnce() -> F,
        F: Future<Output = Result<(V, Duration), ReviewError>> + Send + 'static,
    {
        let mut state = self.0.state.lock();
        if let Some(in_flight) = state.in_flight(&key) {
            return in_flight;
        }
        let (sender, in_flight) = watch::channel(None);
        state.in_flight.insert(key.clone(), in_flight.clone());
        drop(state);
        let (shared, review) = (Arc::clone(&self.0), within_limit(review()));
        tokio::spawn(async move {
            let result = review.await;
            shared.state.lock().complete(key, &result);
            sender.send_replace(Some(result.map(|(value, _)| value)));
            drop(permit);
        });
        in_flight
    }
}

async fn wait_for<V: CacheValue>(mut in_flight: InFlight<V>) -> Result<V, ReviewError> {
    let result = in_flight.wait_for(Option::is_some).await.ok().and_then(|result| result.clone());
    result.unwrap_or_else(|| Err(ReviewError::Invalid("the review was aborted".to_owned())))
}

impl<K: CacheKey, V: CacheValue> State<K, V> {
    fn in_flight(&self, key: &K) -> Option<InFlight<V>> {
        // The sender of an aborted review is gone.
        self.in_flight.get(key).filter(|in_flight| in_flight.has_changed().is_ok()).cloned()
    }

    fn complete(&mut self, key: K, result: &Result<(V, Duration), ReviewError>) {
        self.in_flight.remove(&key);
        match result {
            Ok((value, ttl)) => self.store.insert(key, value.clone(), *ttl),
            // The API server decided, and its decision was not positive.
            Err(ReviewError::Invalid(_)) => self.store.remove(&key),
            Err(_) => (),
        }
    }
}

#[cfg(test)]
mod tests;
