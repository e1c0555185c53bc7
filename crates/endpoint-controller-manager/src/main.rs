//! The program `endpoint-controller-manager`.

use std::process::ExitCode;

/// docs/decisions/allocator.md compares it with others.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    endpoint_controller_manager::main()
}
