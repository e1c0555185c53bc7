//! A command of `kubectl-endpoints` that ends by itself.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::wait::LIMIT;
use crate::{binaries, process};

/// The end of a command, and what it printed.
#[derive(Debug)]
pub struct Ended {
    /// None if a signal ended it.
    pub code: Option<i32>,
    /// The result.
    pub stdout: String,
    /// Messages.
    pub stderr: String,
}

impl Ended {
    /// The result of a command with `-o json`.
    ///
    /// # Panics
    /// If it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stderr))
    }
}

/// Runs a command.
///
/// # Panics
/// If it does not end in time.
pub fn run(words: &[&str]) -> Ended {
    let Output { status, stdout, stderr } = process::output(&binaries::kubectl_endpoints(), words, LIMIT);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Runs a command about the cluster of a kubeconfig.
///
/// # Panics
/// If it does not end in time.
pub fn about(kubeconfig: &Path, words: &[&str]) -> Ended {
    run(&[words, &[&format!("--kubeconfig={}", kubeconfig.display())]].concat())
}
