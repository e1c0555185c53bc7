//! `endpoint-controller-manager`: the endpoint controllers of kube-controller-manager in a process of their own.
//!
//! The program is [`main`]. [`process`] runs the same process inside another program, on its own connections and clock,
//! for deterministic simulations. The other modules are for the operator's tool, which reads the same flags and runs the
//! same controllers.

// What is printed goes through `printing`, which escapes control characters.
#![deny(clippy::print_stdout, clippy::print_stderr)]

// First, for its macros.
#[macro_use]
pub mod version;

mod api_clients;
mod commands;
pub mod config;
pub mod connection;
pub mod controller_set;
pub mod controllers;
mod disruption;
pub mod gates;
pub mod leader_election;
pub mod logging;
mod manager;
mod metrics;
pub mod options;
pub mod process;
mod runtimes;
mod server;
mod shadow;
pub mod signals;
mod takeover;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use commands::PROGRAM;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let words = cli_runtime::long_form(std::env::args_os().collect());
    if let Some(code) = PROGRAM.run(&words) {
        return code;
    }
    let with_subcommands = |command: clap::Command| {
        let command = command.help_template(cli_runtime::COMMANDS_FIRST).before_help(PROGRAM.summary());
        // Written to a pipe, each gate has a line, as in kube-controller-manager's.
        if cli_runtime::style::is_terminal() { command } else { command.term_width(0) }
    };
    match options::parse_extended(words.into_iter().skip(1), Vec::new(), with_subcommands) {
        Ok((_, config)) => manager::main(config),
        Err(usage) => usage.report(),
    }
}
