//! Three runtimes, so that no long computation delays a renewal of the Lease or the response to a probe.
//!
//! | runtime | threads | what runs there |
//! |---|---|---|
//! | control | the main thread | signals, the election, start and shutdown |
//! | server | up to 2 | the HTTPS server, whose handshakes any client can cause |
//! | work | up to 8 | list-watches, controllers, their requests and events, and the plans of the takeover gate |
//!
//! A sync of a huge Service computes for tens of milliseconds without yielding, and a completed list may hold the cache's
//! lock for as long. The work runtime may stall meanwhile; the other two do not, as they share no thread, no timer and no
//! connection with it. Plans therefore need no artificial yields. (Upstream's goroutines are preempted, and have a thread
//! per core.)
//!
//! A client belongs to the runtime in whose context it was made and is used: its connections are tasks there.

use std::io;
use std::num::NonZero;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Handle, Runtime};

/// More threads only wait for the cache's lock and for the API server.
const MAX_WORK_THREADS: usize = 8;
/// Handshakes of one client must not keep another waiting.
const MAX_SERVER_THREADS: usize = 2;

/// The runtimes of the process.
pub(crate) struct Runtimes {
    control: Runtime,
    server: Runtime,
    work: Runtime,
}

/// Handles to spawn tasks on the runtimes.
#[derive(Clone, Debug)]
pub(crate) struct Handles {
    pub(crate) control: Handle,
    pub(crate) server: Handle,
    pub(crate) work: Handle,
}

impl Runtimes {
    /// Starts the threads, as many as the process may use at once (cgroup limits included).
    pub(crate) fn start() -> io::Result<Self> {
        let cores = available_parallelism().map_or(1, NonZero::get);
        let threads = |name, most: usize| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(cores.clamp(1, most)).thread_name(name).enable_all().build()
        };
        Ok(Self {
            control: Builder::new_current_thread().enable_all().build()?,
            server: threads("server", MAX_SERVER_THREADS)?,
            work: threads("work", MAX_WORK_THREADS)?,
        })
    }

    /// Runs `main` on this thread. When it returns, all other tasks are abandoned at their next yield, without waiting.
    pub(crate) fn run<T, F: Future<Output = T>>(self, main: impl FnOnce(Handles) -> F) -> T {
        let Self { control, server, work } = self;
        let handles = Handles {
            control: control.handle().clone(),
            server: server.handle().clone(),
            work: work.handle().clone(),
        };
        let outcome = control.block_on(main(handles));
        // Writers first, the server of probes last.
        work.shutdown_background();
        control.shutdown_background();
        server.shutdown_background();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Barrier};
    use std::thread;
    use std::time::{Duration, Instant};

    use endpoint_informers::lifecycle::Lifecycle;
    use endpoint_informers::list_watch::Caches;

    use super::*;

    /// The time that a test waits for what must come; a passing test never reaches it.
    const LIMIT: Duration = Duration::from_mins(3);

    /// Keeps every thread of a runtime busy, for `LIMIT` at most; returns when all of them are. Each works on when its
    /// sender is used or dropped.
    fn block(runtime: &Handle) -> Vec<Sender<()>> {
        let threads = runtime.metrics().num_workers();
        let all_blocked = Arc::new(Barrier::new(threads + 1));
        let busy = (0..threads).map(|_| {
            let (release, released) = channel();
            let all_blocked = Arc::clone(&all_blocked);
            runtime.spawn(async move {
                all_blocked.wait();
                let _ = released.recv_timeout(LIMIT);
            });
            release
        });
        let busy = busy.collect();
        all_blocked.wait();
        busy
    }

    #[test]
    fn shutdown_does_not_wait_for_the_work_runtime() {
        let busy = Runtimes::start()
            .unwrap()
            .run(async |handles: Handles| thread::spawn(move || block(&handles.work)).join().unwrap());
        assert!(busy.iter().all(|release| release.send(()).is_ok()), "all threads are still busy");
    }

    /// While all work threads compute, the Lease is renewed and pages are served.
    #[test]
    fn the_lease_is_renewed_while_the_work_runtime_is_blocked() {
        const RENEWALS: u64 = 5;
        Runtimes::start().unwrap().run(async |handles: Handles| {
            let (leases, renewals) = crate::leader_election::tests::lease_server();
            let timing = controller_kit::election::Config::new(2 * LIMIT, LIMIT, Duration::from_millis(300));
            let election = crate::leader_election::tests::election(timing.unwrap(), leases, &handles);
            let leadership = election.leadership();
            let mut lifecycle = {
                let _work = handles.work.enter();
                Lifecycle::new(Caches::default(), []).with_election(election)
            };
            lifecycle.lead().await.unwrap();
            let work = handles.work.clone();
            let busy = tokio::task::spawn_blocking(move || block(&work)).await.unwrap();
            let (blocked, before) = (Instant::now(), renewals.load(Ordering::SeqCst));
            while renewals.load(Ordering::SeqCst) < before + RENEWALS {
                assert!(blocked.elapsed() < LIMIT, "the Lease is not renewed");
                let pong = handles.server.spawn(async { "pong" }).await;
                assert_eq!(pong.unwrap(), "pong");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!(leadership.is_held());
            assert!(busy.iter().all(|release| release.send(()).is_ok()), "all threads were busy");
            lifecycle.stop().await.unwrap();
        });
    }
}
