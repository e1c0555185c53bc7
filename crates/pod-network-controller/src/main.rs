//! The program.

use std::process::ExitCode;

use pod_network_controller::program;

#[tokio::main]
async fn main() -> ExitCode {
    program::main(|networks| networks).await
}
