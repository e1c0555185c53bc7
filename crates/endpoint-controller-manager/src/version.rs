//! Name and version of this program.

/// The name in logs, events and user agents, and of the Lease.
pub(crate) const NAME: &str = "endpoint-controller-manager";
/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The Kubernetes release whose behaviour it reproduces.
pub(crate) const KUBERNETES: &str = "v1.36.3";

/// The line that `--version` prints.
pub(crate) fn line() -> String {
    format!("{NAME} v{VERSION} (behaves as Kubernetes {KUBERNETES})")
}

/// The output of `--version=raw`: the same in the form of Go's `version.Info`.
pub(crate) fn raw() -> String {
    let mut numbers = VERSION.split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let platform = platform();
    format!(
        "version.Info{{Major:{major:?}, Minor:{minor:?}, GitVersion:\"v{VERSION}\", Platform:{platform:?}}}"
    )
}

/// The user agent of one client, in Kubernetes' form `program/version (os/arch) kubernetes/commit/part`.
pub(crate) fn user_agent(program: &str, part: &str) -> String {
    format!("{program}/v{VERSION} ({}) kubernetes/{KUBERNETES}/{part}", platform())
}

/// Operating system and processor by Go's names.
pub(crate) fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}
