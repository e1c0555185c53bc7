//! The end of a program, common to the demo and the benchmark.

use std::fmt;
use std::future::Future;
use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Runs `work` to its end, or until a signal: `work` is then dropped, which ends all its processes and deletes its
/// files. A panic, with which the harness reports a failure, is printed as one message.
pub async fn run(name: &'static str, work: impl Future<Output = ExitCode>) -> ExitCode {
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str().unwrap_or("failed");
        eprintln!("{name}: {text}");
    }));
    // From here on the signals are handled here, also while `work` does not yield.
    let signals = Asked::ALL.map(|asked| (asked, asked.signal()));
    tokio::select! {
        biased;
        asked = any(signals) => {
            eprintln!("\n{name}: {asked}: what was started has ended, and its files are gone");
            ExitCode::from(128 + asked.number())
        }
        code = work => code,
    }
}

async fn any(signals: [(Asked, Signal); 3]) -> Asked {
    let futures = signals.map(|(asked, mut signal)| {
        Box::pin(async move {
            signal.recv().await;
            asked
        })
    });
    futures::future::select_all(futures).await.0
}

/// A signal that asks a program to end.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Interrupt,
    Terminate,
    HangUp,
}

impl Asked {
    const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::HangUp];

    fn signal(self) -> Signal {
        let kind = SignalKind::from_raw(self.number().into());
        signal(kind).expect("a signal that can be handled")
    }

    fn number(self) -> u8 {
        match self {
            Self::HangUp => 1,
            Self::Interrupt => 2,
            Self::Terminate => 15,
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HangUp => "hang-up",
            Self::Interrupt => "interrupted",
            Self::Terminate => "asked to end",
        })
    }
}
