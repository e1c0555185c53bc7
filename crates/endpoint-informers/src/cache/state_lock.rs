//! The lock of the cache's state. A thread that reads may read again, and a writer waits only for threads that came before it.

use parking_lot::{RecursiveRwLock, RecursiveRwLockReadGuard, RecursiveRwLockWriteGuard, RwLock};

use crate::state::State;

pub(super) type WriteGuard<'a> = RecursiveRwLockWriteGuard<'a, State>;

/// The state, and a turnstile before it.
///
/// A `RwLock` admits no reader while a writer waits: a thread that reads, and reads again, would wait for a writer that waits for
/// it. A `RecursiveRwLock` admits every reader, so that a writer may wait for ever. Here a writer closes the turnstile while it
/// waits, and a thread that has passed it does not pass it again.
///
/// Cost: that of a second lock, which is held no longer than it takes to acquire the first.
#[derive(Default)]
pub(super) struct StateLock {
    turnstile: RwLock<()>,
    state: RecursiveRwLock<State>,
}

impl StateLock {
    pub(super) fn new(state: State) -> Self {
        Self { turnstile: RwLock::new(()), state: RecursiveRwLock::new(state) }
    }

    /// Locks the state for reading; `is_nested` if this thread has locked it already.
    pub(super) fn read(&self, is_nested: bool) -> RecursiveRwLockReadGuard<'_, State> {
        let _passing = (!is_nested).then(|| self.turnstile.read());
        self.state.read()
    }

    /// Locks the state for writing. A thread that has locked it already would wait for itself.
    pub(super) fn write(&self) -> WriteGuard<'_> {
        let _passing = self.turnstile.write();
        self.state.write()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use endpointslice::Node;

    use super::*;
    use crate::cache::{Cache, Handler, ListPhase};
    use crate::kinds::CachedSlice;

    /// The time after which threads count as deadlocked; a passing test never reaches it.
    const LIMIT: Duration = Duration::from_secs(60);

    /// The number of lists of nodes that have begun: what [`begin`] writes.
    fn lists(cache: &Cache) -> u32 {
        cache.read(|state| state.nodes.generation())
    }

    fn begin(cache: &Arc<Cache>) -> JoinHandle<()> {
        let cache = Arc::clone(cache);
        thread::spawn(move || cache.begin_list::<Node>())
    }

    /// Runs `test` on another thread, so that a deadlock fails the test.
    fn finishes(test: impl FnOnce() + Send + 'static) {
        let (done, finished) = mpsc::channel();
        let running = thread::spawn(move || {
            test();
            // Nobody waits for it after the limit.
            let _ = done.send(());
        });
        let outcome = finished.recv_timeout(LIMIT);
        assert_ne!(outcome, Err(mpsc::RecvTimeoutError::Timeout), "a deadlock");
        running.join().unwrap();
    }

    #[test]
    fn a_writer_waits_for_nested_reads_and_later_readers_for_the_writer() {
        finishes(|| {
            let cache = Arc::new(Cache::default());
            let (writer, later) = cache.read(|_| {
                let writer = begin(&cache);
                while !cache.state.turnstile.is_locked_exclusive() {
                    thread::yield_now();
                }
                let reader = Arc::clone(&cache);
                let later = thread::spawn(move || lists(&reader));
                for _ in 0..1000 {
                    assert_eq!(lists(&cache), 0, "of the same moment");
                    thread::yield_now();
                }
                (writer, later)
            });
            writer.join().unwrap();
            assert_eq!(later.join().unwrap(), 1, "read before the writer");
        });
    }

    /// Reads the cache when a list of slices begins, while another thread waits to write.
    struct Reader(Arc<Cache>);

    impl Handler for Reader {
        fn slices_listed(&self, _: ListPhase, _: &State) {
            let writer = begin(&self.0);
            while !self.0.state.turnstile.is_locked_exclusive() {
                thread::yield_now();
            }
            for _ in 0..1000 {
                assert_eq!(lists(&self.0), 0);
                thread::yield_now();
            }
            // It ends later.
            drop(writer);
        }
    }

    #[test]
    fn a_handler_may_read_the_cache() {
        finishes(|| {
            let cache = Arc::new(Cache::default());
            cache.attach(Arc::new(Reader(Arc::clone(&cache))), |_| assert_eq!(lists(&cache), 0));
            cache.begin_list::<CachedSlice>();
        });
    }
}
