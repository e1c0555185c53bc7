//! Answers that are believed for a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// Answers in each of the two generations.
const GENERATION: usize = 4096;

/// Remembers answers by question, each for its own time. Questions asked while the answer is on its way share it.
///
/// Bounded: when the young generation is full, it becomes the old one, and what was old is forgotten. Keys come from
/// strangers, so they are hashed with a random key (`std`'s hasher).
pub(crate) struct ReviewCache<K, V> {
    generations: Mutex<Generations<K, V>>,
}

struct Generations<K, V> {
    young: HashMap<K, Arc<Slot<V>>>,
    old: HashMap<K, Arc<Slot<V>>>,
}

/// An answer, and until when it counts; nothing while it is on its way.
type Slot<V> = OnceCell<(V, Instant)>;

impl<K: Eq + Hash + Clone, V: Clone> ReviewCache<K, V> {
    pub(crate) fn new() -> Self {
        Self { generations: Mutex::new(Generations { young: HashMap::new(), old: HashMap::new() }) }
    }

    /// The answer to `key`, if it is remembered.
    pub(crate) fn known(&self, key: &K) -> Option<V> {
        let generations = self.generations.lock();
        let (answer, until) = generations.find(key)?.get()?;
        (*until > Instant::now()).then(|| answer.clone())
    }

    /// The answer to `key`, from memory or from `review`, remembered for as long as `ttl` says. Errors are not
    /// remembered, and are not shared: who waited then asks for itself.
    pub(crate) async fn get_or_review<E, F>(
        &self,
        key: K,
        ttl: impl Fn(&V) -> Duration,
        review: impl FnOnce() -> F,
    ) -> Result<V, E>
    where
        F: Future<Output = Result<V, E>>,
    {
        let slot = self.generations.lock().slot(key, Instant::now());
        let answer = slot.get_or_try_init(|| async {
            let answer = review().await?;
            let now = Instant::now();
            let until = now.checked_add(ttl(&answer)).unwrap_or(now);
            Ok((answer, until))
        });
        answer.await.map(|(answer, _)| answer.clone())
    }
}

impl<K: Eq + Hash + Clone, V> Generations<K, V> {
    fn find(&self, key: &K) -> Option<&Arc<Slot<V>>> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// The slot that holds the answer, or will.
    fn slot(&mut self, key: K, now: Instant) -> Arc<Slot<V>> {
        let current = |slot: &&Arc<Slot<V>>| slot.get().is_none_or(|(_, until)| *until > now);
        if let Some(slot) = self.find(&key).filter(current) {
            return Arc::clone(slot);
        }
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        let slot = Arc::default();
        self.young.insert(key, Arc::clone(&slot));
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    const TTL: Duration = Duration::from_secs(10);

    struct Asked {
        cache: ReviewCache<u32, u32>,
        times: Cell<u32>,
        ttl: Duration,
    }

    impl Asked {
        fn new(ttl: Duration) -> Self {
            Self { cache: ReviewCache::new(), times: Cell::new(0), ttl }
        }

        async fn ask(&self, key: u32) -> u32 {
            let review = || async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                self.times.set(self.times.get() + 1);
                Ok::<_, Infallible>(key)
            };
            self.cache.get_or_review(key, |_| self.ttl, review).await.unwrap()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_for_its_time() {
        let asked = Asked::new(TTL);
        assert_eq!(asked.cache.known(&1), None);
        assert_eq!(asked.ask(1).await, 1);
        tokio::time::advance(Duration::from_millis(9_999)).await;
        assert_eq!(asked.cache.known(&1), Some(1));
        asked.ask(1).await;
        assert_eq!(asked.times.get(), 1);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(asked.cache.known(&1), None);
        asked.ask(1).await;
        assert_eq!(asked.times.get(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn questions_at_the_same_time_share_an_answer_even_without_memory() {
        let asked = Asked::new(Duration::ZERO);
        tokio::join!(asked.ask(1), asked.ask(1), asked.ask(2));
        assert_eq!(asked.times.get(), 2);
        asked.ask(1).await;
        assert_eq!(asked.times.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_is_not_remembered() {
        let cache = ReviewCache::<u32, u32>::new();
        let failed = cache.get_or_review(1, |_| TTL, || async { Err("away") }).await;
        assert_eq!(failed, Err("away"));
        assert_eq!(cache.get_or_review(1, |_| TTL, || async { Ok::<_, ()>(7) }).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_dropped_leaves_its_turn_to_the_next() {
        let asked = Asked::new(TTL);
        assert!(tokio::time::timeout(Duration::from_millis(500), asked.ask(1)).await.is_err());
        assert_eq!((asked.ask(1).await, asked.times.get()), (1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let cache = ReviewCache::<usize, usize>::new();
        for key in 0..3 * GENERATION {
            let answer = cache.get_or_review(key, |_| TTL, || async { Ok::<_, Infallible>(key) }).await;
            assert_eq!(answer, Ok(key));
        }
        let generations = cache.generations.lock();
        assert_eq!((generations.young.len(), generations.old.len()), (GENERATION, GENERATION));
        assert!(generations.young.contains_key(&(3 * GENERATION - 1)));
    }
}
