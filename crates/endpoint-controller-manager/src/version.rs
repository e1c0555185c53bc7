//! Name and version of this program, and the Kubernetes release that it behaves as.

/// The release `1.<minor>` that this program behaves as, the newest that it supports.
macro_rules! newest_minor {
    () => {
        37
    };
}

/// The newest patch release of it, with which this program is compared.
macro_rules! newest_patch {
    () => {
        2
    };
}

/// The release before it.
macro_rules! previous_minor {
    () => {
        36
    };
}

/// The oldest release that is supported, and whose gates are known.
macro_rules! oldest_minor {
    () => {
        34
    };
}

/// The Kubernetes release whose behaviour it reproduces.
pub const KUBERNETES: &str = concat!("v1.", newest_minor!(), ".", newest_patch!());

/// The releases whose gates are known are those that upstream can emulate: its own and the three before.
const _: () = assert!(newest_minor!() - previous_minor!() == 1 && newest_minor!() - oldest_minor!() == 3);

/// The name in logs, events and user agents, and of the Lease.
pub const NAME: &str = "endpoint-controller-manager";
/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that this program was built from; empty if the sources did not tell (`build/commit.rs`).
pub(crate) const COMMIT: &str = env!("ECM_COMMIT");
/// `clean`, `dirty` or `archive`; empty if the commit is unknown.
pub(crate) const TREE_STATE: &str = env!("ECM_TREE_STATE");

/// The line that `--version` of a program prints.
pub fn line(program: &str) -> String {
    format!("{program} v{VERSION} ({}behaves as Kubernetes {KUBERNETES})", commit(COMMIT, TREE_STATE))
}

/// The part of it about the commit, in git's short form.
fn commit(hash: &str, tree_state: &str) -> String {
    let changed = if tree_state == "dirty" { " with changes" } else { "" };
    hash.get(..12).map_or_else(String::new, |hash| format!("commit {hash}{changed}, "))
}

/// The output of `--version=raw`: the same in the form of Go's `version.Info`.
pub fn raw() -> String {
    let mut numbers = VERSION.split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let platform = platform();
    format!(
        "version.Info{{Major:{major:?}, Minor:{minor:?}, GitVersion:\"v{VERSION}\", GitCommit:{COMMIT:?}, \
         GitTreeState:{TREE_STATE:?}, Platform:{platform:?}}}"
    )
}

/// The user agent of one client, in Kubernetes' form `program/version (os/arch) kubernetes/commit/part`.
pub fn user_agent(program: &str, part: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::commit;

    #[test]
    fn the_line_has_the_commit_if_it_is_known() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(commit(hash, "clean"), "commit 0123456789ab, ");
        assert_eq!(commit(hash, "dirty"), "commit 0123456789ab with changes, ");
        assert_eq!(commit("", ""), "");
    }
}
