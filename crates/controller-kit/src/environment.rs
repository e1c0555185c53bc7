//! Tasks and the wall clock of a process, and the seam at which a simulation replaces both.
//!
//! Tasks of a process are spawned with [`spawn_on`] and [`spawn_in`], the time that is written to objects is [`now`], and
//! intervals are measured by [`kube_api::time`]. In a program these are the runtime and the system's clocks. A simulation that runs several processes on one runtime, on a
//! paused clock, starts each with [`within`]: all its tasks then have the same [`Environment`], which can stop them at any
//! await, together, as SIGSTOP and SIGKILL do, and has clocks of its own.
//!
//! Randomness needs no seam: it is that of the thread (`fastrand::seed`) and of hash tables, whose order reaches no output.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use jiff::Timestamp;
use kube_api::time::{Clock, with_clock};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, JoinSet};

/// The environment of a simulated process.
pub trait Environment: Clock + 'static {
    /// Pending while the process is stopped. Called before each poll of a task; wakes the context when the process may
    /// continue.
    fn poll_running(&self, context: &mut Context<'_>) -> Poll<()>;

    /// The wall clock of the process.
    fn now(&self) -> Timestamp;
}

tokio::task_local! {
    static CURRENT: Arc<dyn Environment>;
}

/// Runs a future in an environment, which all tasks that it spawns here inherit.
pub async fn within<F: Future>(environment: Arc<dyn Environment>, future: F) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        ready!(environment.poll_running(context));
        let clock: Arc<dyn Clock> = Arc::clone(&environment) as _;
        let poll = || with_clock(clock, || future.as_mut().poll(context));
        CURRENT.sync_scope(Arc::clone(&environment), poll)
    })
    .await
}

/// Spawns a task of this process on a runtime.
pub fn spawn_on<F>(runtime: &Handle, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    match current() {
        None => runtime.spawn(future),
        Some(environment) => runtime.spawn(within(environment, future)),
    }
}

/// Spawns a task of this process on a runtime, and adds it to a set.
pub fn spawn_in<F>(tasks: &mut JoinSet<F::Output>, runtime: &Handle, future: F)
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    match current() {
        None => tasks.spawn_on(future, runtime),
        Some(environment) => tasks.spawn_on(within(environment, future), runtime),
    };
}

/// The time of the wall clock, for objects. Intervals are measured by [`kube_api::time`].
pub fn now() -> Timestamp {
    current().map_or_else(Timestamp::now, |environment| environment.now())
}

fn current() -> Option<Arc<dyn Environment>> {
    CURRENT.try_with(Arc::clone).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use kube_api::time::{Instant, sleep};

    use super::*;

    #[derive(Default)]
    struct Stopped(AtomicBool);

    impl Clock for Stopped {}

    impl Environment for Stopped {
        fn poll_running(&self, context: &mut Context<'_>) -> Poll<()> {
            if self.0.load(Ordering::Relaxed) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        }

        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_of_a_stopped_process_see_the_time_jump() {
        let environment = Arc::new(Stopped::default());
        let process = within(Arc::clone(&environment) as _, async {
            let mut tasks = JoinSet::new();
            spawn_in(&mut tasks, &Handle::current(), async {
                let start = Instant::now();
                sleep(Duration::from_secs(1)).await;
                (now(), start.elapsed())
            });
            let outcome = tasks.join_next().await;
            (spawn_on(&Handle::current(), async { now() }).await, outcome)
        });
        let process = tokio::spawn(process);
        tokio::task::yield_now().await;
        environment.0.store(true, Ordering::Relaxed);
        tokio::time::advance(Duration::from_secs(60)).await;
        tokio::task::yield_now().await;
        environment.0.store(false, Ordering::Relaxed);
        let (time, outcome) = process.await.unwrap();
        assert_eq!(time.unwrap(), Timestamp::UNIX_EPOCH);
        assert_eq!(outcome.unwrap().unwrap(), (Timestamp::UNIX_EPOCH, Duration::from_secs(60)));
        assert!(now() > Timestamp::UNIX_EPOCH, "the system's clock");
    }
}
