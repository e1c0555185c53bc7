//! Faults planted in single tests by `hack/lib/prove-failures`, which shows that such a failure names its cause and no other test
//! fails.

/// The API server does not become ready.
pub(crate) const SLOW_SERVER: &str = "slow-server";
/// Another program listens on the API server's port before it does.
pub(crate) const LOST_PORT: &str = "lost-port";
/// The log lines of all programs arrive later than any wait lasts.
pub(crate) const LATE_LINE: &str = "late-line";

/// True if any fault is planted for the test that this process runs.
pub(crate) fn is_any() -> bool {
    [SLOW_SERVER, LOST_PORT, LATE_LINE].into_iter().any(is_planted)
}

/// True if `TESTS_PLANT` names this fault for the test that this process runs: `slow-server=TEST`, several with commas.
/// `slow-server-alongside=TEST` plants it only while other tests run alongside.
pub(crate) fn is_planted(fault: &str) -> bool {
    let Ok(planted) = std::env::var("TESTS_PLANT") else { return false };
    let is_alone = std::env::var_os("TESTS_ALONE").is_some();
    planted.split(',').filter_map(|planted| planted.split_once('=')).any(|(name, test)| {
        let applies = name == fault || name.strip_suffix("-alongside") == Some(fault) && !is_alone;
        applies && std::env::args().any(|argument| argument == test)
    })
}
