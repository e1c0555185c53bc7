//! Signals to the running program.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

/// A process, which is killed when a test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The kubeconfig of an API server without authentication.
fn kubeconfig(server: &str) -> String {
    json!({
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "users": [{"name": "test", "user": {}}],
    })
    .to_string()
}

/// The API server accepts connections, and never responds.
#[test]
fn a_process_that_waits_for_the_api_server_ends_at_a_signal() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("silent-server.kubeconfig");
    fs::write(&file, kubeconfig(&format!("http://{}", silent.local_addr().unwrap()))).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_pod-network-controller"));
    program.arg("--kubeconfig").arg(&file).arg("--secure-port=0");
    let mut child = program.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut program = Running(child);
    assert!(lines.any(|line| line.contains("Starting")));
    // It has sent a request.
    let _connection = silent.accept().unwrap();
    let pid = program.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(lines.any(|line| line.contains("Received a signal; shutting down signal=\"SIGTERM\"")));
    // Also what nothing reads any more.
    lines.for_each(drop);
    assert_eq!(program.0.wait().unwrap().code(), Some(0));
}
