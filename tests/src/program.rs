//! The end of a program, common to the demo and the benchmark.

use std::future::Future;
use std::process::ExitCode;

use futures::future::select_all;
use tokio::signal::unix::{SignalKind, signal};

/// The signals that ask a program to end, with what it says then.
const SIGNALS: [(SignalKind, &str); 3] = [
    (SignalKind::interrupt(), "interrupted"),
    (SignalKind::terminate(), "asked to end"),
    (SignalKind::hangup(), "hang-up"),
];

/// Runs `work` to its end, or until a signal: `work` is then dropped, which ends all its processes and deletes its
/// files. A panic, with which the harness reports a failure, is printed as one message.
pub async fn run(name: &'static str, work: impl Future<Output = ExitCode>) -> ExitCode {
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str().unwrap_or("failed");
        eprintln!("{name}: {text}");
    }));
    // From here on the signals are handled here, also while `work` does not yield.
    let signals = SIGNALS.map(|(kind, what)| {
        let mut signal = signal(kind).expect("a signal that can be handled");
        Box::pin(async move {
            signal.recv().await;
            (kind, what)
        })
    });
    tokio::select! {
        biased;
        ((kind, what), ..) = select_all(signals) => {
            eprintln!("\n{name}: {what}: what was started has ended, and its files are gone");
            ExitCode::from(u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX))
        }
        code = work => code,
    }
}
