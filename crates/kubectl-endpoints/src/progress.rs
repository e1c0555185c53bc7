//! Lines about the progress on stderr, once it takes longer than two seconds.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cli_runtime::printing::note;

/// The time without output at first, and between two lines.
const PERIOD: Duration = Duration::from_secs(2);
/// The periods after which a line that has not changed is printed again, with the time.
const AGAIN: u64 = 5;

type Report = Box<dyn Fn() -> String + Send>;

/// A thread that prints what goes on, until this is dropped. It is not a task, so that it prints also while a long computation
/// keeps the runtime busy.
pub(crate) struct Progress {
    report: Arc<Mutex<Report>>,
    /// Ends the thread when it is dropped.
    _end: Sender<()>,
}

impl Progress {
    /// Begins with a first step.
    pub(crate) fn start(step: &'static str) -> Self {
        let report: Arc<Mutex<Report>> = Arc::new(Mutex::new(Box::new(|| step.to_owned())));
        let (end, ended) = mpsc::channel();
        let shared = Arc::clone(&report);
        let print = move || {
            let (mut last, mut said) = (String::new(), 0);
            for period in 1_u64.. {
                if ended.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let line = shared.lock().unwrap_or_else(PoisonError::into_inner)();
                if !line.is_empty() && (line != last || period >= said + AGAIN) {
                    note(&format!("{line} ({} s)", period * PERIOD.as_secs()));
                    (last, said) = (line, period);
                }
            }
        };
        // Without a thread there is no progress, and nothing else is missing.
        let _ = thread::Builder::new().name("progress".to_owned()).spawn(print);
        Self { report, _end: end }
    }

    /// Goes on to another step, which `report` describes whenever a line is due; nothing is printed for an empty line.
    pub(crate) fn step(&self, report: impl Fn() -> String + Send + 'static) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(report);
    }
}
