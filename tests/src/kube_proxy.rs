//! kube-proxy with a real API server, in a network namespace: its rules are those of one machine.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::process::{self, Environment, Process};
use crate::{binaries, ports};

/// The name of its node. Without such a node, or one without addresses, it starts half a minute later.
pub const NODE: &str = "judge";

/// True in a network namespace of its own. Elsewhere this runs the test of this name there, and returns false when it has passed.
///
/// # Panics
/// If the test fails, or there is no namespace.
pub fn is_inside(test: &str) -> bool {
    const INSIDE: &str = "TESTS_INSIDE_NAMESPACE";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    // What is missing is fetched here, where there is a network.
    binaries::servers();
    binaries::tool("kube-proxy");
    let is_root = std::fs::metadata("/proc/self").expect("the owner of this process").uid() == 0;
    let user: &[&str] = if is_root { &[] } else { &["--map-root-user"] };
    let mut command = process::dies_with_us(Path::new("unshare"));
    command.args(user).args(["--net", "sh", "-ec", "ip link set lo up; exec \"$@\"", "inside"]);
    command.arg(std::env::current_exe().expect("the path of this test")).args([
        "--exact",
        test,
        "--nocapture",
    ]);
    command.env(INSIDE, "1").env("PATH", path("nft"));
    let mut child = process::spawn(command).expect("running unshare");
    let status = child.wait().expect("waiting for a child");
    assert!(status.success(), "{test} in a network namespace (unshare --net, ip): {status}");
    false
}

/// `PATH` with the folder of a tool.
fn path(tool: &str) -> String {
    let tool = binaries::tool(tool);
    let folder = tool.parent().expect("the folder of a tool").display();
    format!("{folder}:{}", std::env::var("PATH").unwrap_or_default())
}

/// The mode and the tool that kube-proxy runs in it.
pub const NFTABLES: (&str, &str) = ("nftables", "nft");

/// kube-proxy with its defaults, but those that change the whole machine.
pub fn start(folder: &Path, kubeconfig: &Path, (mode, tool): (&str, &str)) -> Process {
    let environment =
        Environment { variables: vec![("PATH".to_owned(), path(tool))], ..Environment::default() };
    let [health, metrics] = ports::free();
    let args = [
        format!("--proxy-mode={mode}"),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--hostname-override={NODE}"),
        format!("--healthz-bind-address=127.0.0.1:{health}"),
        format!("--metrics-bind-address=127.0.0.1:{metrics}"),
        "--conntrack-max-per-core=0".to_owned(),
        "--conntrack-min=0".to_owned(),
        "--conntrack-tcp-timeout-established=0".to_owned(),
        "--conntrack-tcp-timeout-close-wait=0".to_owned(),
    ];
    Process::start_in("kube-proxy", &binaries::tool("kube-proxy"), folder, args, &environment)
}
