//! What this program says it is.

/// The name in logs and user agents.
pub(crate) const NAME: &str = "endpoint-controller-manager";
/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The Kubernetes release whose behaviour it reproduces.
pub(crate) const KUBERNETES: &str = "v1.36.3";

/// The line that `--version` prints.
pub(crate) fn line() -> String {
    format!("{NAME} v{VERSION} (behaves as Kubernetes {KUBERNETES})")
}

/// The user agent of one client, in Kubernetes' form `program/version (os/arch) kubernetes/commit/part`.
pub(crate) fn user_agent(part: &str) -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{NAME}/v{VERSION} ({}/{arch}) kubernetes/{KUBERNETES}/{part}", std::env::consts::OS)
}
