//! Signals to the running program.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use embedded_apiserver::ApiServer;
use tokio::net::TcpListener;

/// A process, which is killed when a test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn send(&self, signal: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

/// It would let through what no operator has seen, or end the process without a release of the Lease.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_no_takeover_waits_for_is_ignored() {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let master = format!("--master=http://{}", socket.local_addr().unwrap());
    tokio::spawn(async move { ApiServer::new().serve(socket, None, std::future::pending()).await });
    tokio::task::spawn_blocking(move || ignores_approvals(&master)).await.unwrap();
}

fn ignores_approvals(master: &str) {
    for flag in ["--takeover-max-writes=-1", "--takeover-max-writes=0"] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_endpoint-controller-manager"));
        program.args([master, flag, "--leader-elect=false", "--secure-port=0"]);
        // The image has no authorities of a system, and a server without TLS needs none.
        program.env("SSL_CERT_FILE", "/dev/null").env_remove("SSL_CERT_DIR");
        let mut child = program.stderr(Stdio::piped()).spawn().expect("starting the program");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut program = Running(child);
        assert!(lines.any(|line| line.contains("Caches are synced")));
        program.send("-USR2");
        assert!(lines.any(|line| line.contains("Ignored SIGUSR2")), "{flag}");
        program.send("-TERM");
        // Also what nothing reads any more.
        lines.for_each(drop);
        assert_eq!(program.0.wait().unwrap().code(), Some(0), "{flag}");
    }
}
