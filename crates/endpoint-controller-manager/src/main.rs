//! The program `endpoint-controller-manager`.

use std::process::ExitCode;

fn main() -> ExitCode {
    endpoint_controller_manager::main()
}
