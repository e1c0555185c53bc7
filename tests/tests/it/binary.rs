//! The program from outside: its messages when it cannot start, its exit, and its work while its output is blocked.

use std::collections::BTreeSet;
use std::time::Duration;

use tests::binaries;
use tests::cluster::Cluster;
use tests::manager::{Manager, ManagerOptions};
use tests::process;
use tests::scenario::{Pod, World};
use tests::wait::{self, LIMIT};

/// Runs the program with arguments that keep it from starting, and returns the one line that it prints besides and after
/// its log.
fn refusal(args: &[&str]) -> String {
    let output = process::output(&binaries::endpoint_controller_manager(), args, LIMIT);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
    assert!(!text.contains("panicked"), "{args:?}: {text}");
    let printed: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !is_log(line)).collect();
    assert_eq!(printed.len(), 1, "{args:?} must print one line besides its log, printed: {text}");
    assert_eq!(
        printed.last().copied(),
        text.lines().last(),
        "{args:?} must print it at the end, printed: {text}"
    );
    printed.concat()
}

/// True if a line has the head of a log line: its severity and the date, `I1231 `.
fn is_log(line: &str) -> bool {
    let (severity, rest) = line.split_at_checked(1).unwrap_or(("", line));
    "IWEF".contains(severity) && rest.split(' ').next().is_some_and(|date| date.parse::<u16>().is_ok())
}

/// The output of a program with `--help`.
fn help(program: &std::path::Path) -> String {
    let output = process::output(program, &["--help"], LIMIT);
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Flags that a help text lists.
fn listed_flags(help: &str) -> BTreeSet<&str> {
    let names =
        help.lines().filter_map(|line| line.trim_start().trim_start_matches("-v, ").strip_prefix("--"));
    names.map(|rest| rest.split([' ', '[']).next().unwrap()).collect()
}

/// Feature gates of a help text with their stages and defaults.
fn listed_gates(help: &str) -> BTreeSet<&str> {
    help.lines().map(str::trim).filter(|line| line.starts_with("kube:")).collect()
}

#[test]
fn it_knows_the_flags_and_feature_gates_of_kube_controller_manager() {
    let upstream = help(&binaries::servers().kube_controller_manager());
    let ours = help(&binaries::endpoint_controller_manager());
    let (flags, gates) = (listed_flags(&upstream), listed_gates(&upstream));
    assert!(flags.len() > 140 && gates.len() > 100, "{} flags, {} gates", flags.len(), gates.len());
    let our_flags = listed_flags(&ours);
    let added: Vec<_> = our_flags.difference(&flags).copied().collect();
    assert_eq!(flags.difference(&our_flags).copied().collect::<Vec<_>>(), [""; 0]);
    assert_eq!(
        added,
        [
            "config",
            "disable-compression",
            "disruption-confirmation-period",
            "disruption-lost-nodes-percent",
            "disruption-max-duration",
            "disruption-scope",
            "enable-pod-field-selector",
            "kube-api-qps-ceiling",
            "takeover-max-writes",
            "user-agent-name"
        ]
    );
    let our_gates = listed_gates(&ours);
    let added: Vec<_> = our_gates.difference(&gates).copied().collect();
    assert_eq!(gates.difference(&our_gates).copied().collect::<Vec<_>>(), [""; 0]);
    assert_eq!(
        added,
        [
            "kube:EndpointControllerNameWellKnownLabel=true|false (ALPHA - default=false)",
            "kube:EndpointSliceCoalescing=true|false (ALPHA - default=false)",
            "kube:EndpointSliceTerminatingCondition=true|false (GA - default=true)",
            "kube:EndpointsKeepReadyOnDisruption=true|false (ALPHA - default=false)",
            "kube:TolerateUnreadyEndpointsAnnotation=true|false (ALPHA - default=false)"
        ]
    );
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken.kubeconfig");
    std::fs::write(&file, "clusters: [what").unwrap();
    for path in ["/no/such/file", file.to_str().unwrap()] {
        let line = refusal(&[&format!("--kubeconfig={path}"), "--secure-port=0"]);
        assert!(line.contains(path), "{line}");
    }
}

#[test]
fn an_unreachable_api_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    // Port 1 is reserved, so on a loopback address no server listens there.
    let config = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "c", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}"#;
    std::fs::write(&file, config).unwrap();
    let flag = format!("--kubeconfig={}", file.display());
    let line = refusal(&[&flag, "--leader-elect=false", "--secure-port=0"]);
    assert!(line.contains("127.0.0.1:1"), "{line}");
}

/// Starts the program with a stderr that is full and has no reader; stdout is the same, as in a container whose logs
/// have stopped being collected.
fn start_unread(args: &[&str]) -> (std::process::Child, std::io::PipeReader) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // The capacity of a pipe on Linux: another byte would block.
    std::io::Write::write_all(&mut writer, &vec![b'.'; 65536]).unwrap();
    let mut command = std::process::Command::new(binaries::endpoint_controller_manager());
    command.args(args).stdin(std::process::Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    (command.spawn().unwrap(), reader)
}

/// The exit code; none if the program had to be killed.
fn ends(mut child: std::process::Child) -> Option<i32> {
    let start = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() && start.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap().code()
}

#[test]
fn it_exits_while_its_output_is_blocked() {
    let (refused, _unread) = start_unread(&["--kubeconfig=/no/such/file", "--secure-port=0", "-v=9"]);
    assert_eq!(ends(refused), Some(1));

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let master = format!("--master=http://{}", silent.local_addr().unwrap());
    let (waiting, _unread) = start_unread(&[&master, "--secure-port=0", "-v=9"]);
    // It listens for signals before it connects.
    let _connection = silent.accept().unwrap();
    let kill = std::process::Command::new("kill").args(["-TERM", &waiting.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert_eq!(ends(waiting), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_serves_and_exits_on_a_signal() {
    let mut cluster = Cluster::embedded().await;
    let options = ManagerOptions::default();
    for signal in ["TERM", "INT"] {
        let manager = Manager::ours(&cluster, &options).await;
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(manager.get(path).await.0, 200, "{path}");
        }
        let status = manager.stop_with(signal).await;
        assert_eq!(status.code(), Some(0), "after SIG{signal}");
    }
    let manager = Manager::ours(&cluster, &options).await;
    cluster.stop_apiserver();
    assert_eq!(manager.stop().await.code(), Some(0), "while the API server is away");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_follow_their_feature_gates() {
    let cluster = Cluster::embedded().await;
    for (flag, flagz, statusz) in [
        ("--feature-gates=ComponentFlagz=true", 200, 200),
        ("--feature-gates=ComponentFlagz=false", 404, 200),
        ("--feature-gates=ComponentStatusz=false", 200, 404),
        ("--emulated-version=1.35", 404, 404),
    ] {
        let flags = ["--authorization-always-allow-paths=/flagz,/statusz", flag].map(str::to_owned).to_vec();
        let manager = Manager::ours(&cluster, &ManagerOptions { flags, ..ManagerOptions::default() }).await;
        let status = [manager.get("/flagz").await.0, manager.get("/statusz").await.0];
        assert_eq!(status, [flagz, statusz], "{flag}");
        manager.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_continues_after_an_api_server_outage() {
    let mut cluster = Cluster::embedded().await;
    let world = World::prepare(cluster.client(), ManagerOptions::default().controllers).await;
    let mut manager = Manager::ours(&cluster, &ManagerOptions::default()).await;
    let spec = serde_json::json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
    world.pod(Pod::new("web-0", "web", 0)).await;
    world.service("web", serde_json::json!({}), spec).await;
    world.expect("web", "IPv4", 1, 1).await;
    cluster.stop_apiserver();
    // A request on a connection that is about to be cut would fail.
    let client = world.client();
    wait::until("refused connections", LIMIT, async || match client.apiserver_version().await {
        Err(error) if format!("{error:?}").contains("ConnectionRefused") => Ok(()),
        answer => Err(format!("{answer:?}")),
    })
    .await;
    cluster.start_apiserver().await;
    world.pod(Pod::new("web-1", "web", 1)).await;
    world.ready("web-0", false).await;
    world.expect("web", "IPv4", 2, 1).await;
    world.sync().await;
    manager.process().alive().unwrap();
}
