//! `endpoint-controller-manager`: the endpoint controllers of kube-controller-manager in a process of their own.
//!
//! The program is [`main`]. [`process`] runs the same process inside another program, on its own connections and clock,
//! for deterministic simulations.

mod api_clients;
mod build_metrics;
mod config;
mod configz;
mod connection;
mod controller_set;
mod controllers;
mod diagnostics;
mod differences;
mod disabled_metrics;
mod duration;
mod foreign_writes;
mod gates;
#[cfg(test)]
mod generated_docs;
mod handover;
mod health;
mod informers;
mod input;
mod leader_election;
mod logging;
mod loopback;
mod manager;
mod options;
mod printing;
pub mod process;
mod process_metrics;
mod reload;
mod running_controllers;
mod runtime_metrics;
mod runtimes;
mod secure_serving;
mod server_version;
mod service_states;
mod shadow;
mod signals;
mod simulate;
mod strconv;
mod subcommands;
mod takeover;
mod token;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = diagnostics::plugin(&words).or_else(|| subcommands::main(&words)) {
        return code;
    }
    let with_subcommands = |command: clap::Command| command.after_help(subcommands::summary());
    match options::parse_extended(words.into_iter(), Vec::new(), with_subcommands) {
        Ok((_, config)) => manager::main(config),
        Err(options::Parsed::Run(config)) => manager::main(*config),
        Err(options::Parsed::Print(text)) => options::print(&text),
        Err(options::Parsed::Error(message)) => options::print_error(&message),
    }
}
