//! Faults planted in single tests by `hack/test --prove`, which shows that such a failure names its cause and no other test
//! fails.

/// True if any fault is planted for the test that this process runs.
pub(crate) fn is_any() -> bool {
    [Fault::SlowServer, Fault::LostPort, Fault::LateLine].into_iter().any(Fault::is_planted)
}

/// A fault of the machine, or of what tests use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The API server does not become ready.
    SlowServer,
    /// Another program listens on the API server's port before it does.
    LostPort,
    /// The log lines of all programs arrive later than any wait lasts.
    LateLine,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::SlowServer => "slow-server",
            Self::LostPort => "lost-port",
            Self::LateLine => "late-line",
        }
    }

    /// True if `TESTS_PLANT` names this fault for the test that this process runs: `slow-server=TEST`, several with commas.
    /// `slow-server-beside=TEST` plants it only while other tests run beside.
    pub(crate) fn is_planted(self) -> bool {
        let Ok(planted) = std::env::var("TESTS_PLANT") else { return false };
        let is_alone = std::env::var_os("TESTS_ALONE").is_some();
        planted.split(',').filter_map(|fault| fault.split_once('=')).any(|(fault, test)| {
            let applies = fault == self.name()
                || fault.strip_suffix("-beside").is_some_and(|fault| fault == self.name() && !is_alone);
            applies && std::env::args().any(|argument| argument == test)
        })
    }
}
