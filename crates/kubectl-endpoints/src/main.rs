//! `kubectl endpoints`: the operator's tool. It explains, audits, simulates, and changes the writer.
//!
//! ```text
//! flags ─> cluster (kubeconfig, lists) or files ─> Snapshot ─> endpoint_diagnostics ─> tables, JSON, YAML
//!                                              └─> Cache ─> the controllers' plans ─> differences
//! ```
//!
//! `explain`, `status` and `simulate` only read. Writes are the repairs of `audit --fix`, the changes of `audit --touch`, the access
//! reviews of `preflight`, which the API server does not store, and the Leases, the Deployments and, on request, the canary Service
//! and Endpoints of `handover` and `rollback`.

// What is printed goes through `printing`, which escapes control characters.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod ask;
mod audit;
mod cluster;
mod dry_run;
mod exit;
mod explain;
mod files;
mod flags;
mod format;
mod frame;
mod gate;
mod handover;
mod lease;
mod live;
mod loopback;
mod name;
mod objects;
mod page;
mod preflight;
mod progress;
mod shell_completion;
mod simulate;
mod status;
#[cfg(test)]
mod tests;
mod token;
mod warnings;

use std::process::ExitCode;

use clap::{Arg, ArgAction, Command};
use cli_runtime::usage::{Usage, matches};
use cli_runtime::{COMMANDS_FIRST, Names, Program, Subcommand, long_form};
use endpoint_controller_manager::version;
use handover::Goal;
use name::{NAME, USAGE};

const PROGRAM: Program = Program {
    names: Names { executable: NAME, usage: USAGE },
    command,
    subcommands: &[
        Subcommand {
            name: explain::NAME,
            summary: "Show why each pod of a Service is in its slices and Endpoints, or is not",
            command: explain::command,
            run: |words| frame::run(explain::parse(words)),
        },
        Subcommand {
            name: audit::NAME,
            summary: "Find what is wrong with the Endpoints and EndpointSlices of a cluster",
            command: audit::command,
            run: |words| frame::run(audit::parse(words)),
        },
        Subcommand {
            name: status::NAME,
            summary: "Show who writes Endpoints and EndpointSlices, since when, and what is not in order",
            command: status::command,
            run: |words| frame::run(status::parse(words)),
        },
        Subcommand {
            name: simulate::NAME,
            summary: "Print the slices and Endpoints of manifests or of a dump, without a cluster",
            command: simulate::command,
            run: |words| frame::run(simulate::parse(words)),
        },
        Subcommand {
            name: preflight::NAME,
            summary: "Check a cluster before and after a migration to endpoint-controller-manager",
            command: preflight::command,
            run: |words| frame::run(preflight::parse(words)),
        },
        Subcommand {
            name: Goal::Handover.name(),
            summary: "Move the controllers to endpoint-controller-manager, step by step",
            command: || handover::command(Goal::Handover),
            run: |words| frame::run(handover::parse(Goal::Handover, words)),
        },
        Subcommand {
            name: Goal::Rollback.name(),
            summary: "Move the controllers back to kube-controller-manager, step by step",
            command: || handover::command(Goal::Rollback),
            run: |words| frame::run(handover::parse(Goal::Rollback, words)),
        },
    ],
};

fn command() -> Command {
    Command::new(NAME)
        .about("Explains, audits and simulates Endpoints and EndpointSlices, and migrates their controllers")
        .override_usage(format!("{USAGE} COMMAND [flags]"))
        .help_template(COMMANDS_FIRST)
        .arg(Arg::new("version").long("version").action(ArgAction::SetTrue).help("Print the version"))
        .before_help(PROGRAM.summary())
        .after_help(format!("{EXAMPLES}\n\n{}", exit::help()))
}

const EXAMPLES: &str = "Examples:
  kubectl endpoints explain web -n shop     # the pods of a Service, and why each gets traffic or not
  kubectl endpoints explain -A              # all Services
  kubectl endpoints audit                   # orphans, duplicates, endpoints of pods that are gone
  kubectl endpoints simulate -f manifests/  # the EndpointSlices of manifests, without a cluster
  kubectl endpoints status                  # who writes, since when, and what is not in order";

fn main() -> ExitCode {
    let words = long_form(std::env::args_os().collect());
    if let Some(rest) = shell_completion::words(&words) {
        return shell_completion::main(&PROGRAM, rest);
    }
    if let Some(code) = PROGRAM.run(&words) {
        return code;
    }
    // Clap would suggest `handover`, to those who want to write nothing.
    if words.get(1).is_some_and(|word| word == "shadow") {
        let error = "shadow is a command of the program: run endpoint-controller-manager shadow";
        return Usage::Error(error.to_owned()).report();
    }
    // Only a word that is not a command needs all of them, to suggest one.
    let is_word = words.get(1).is_some_and(|word| !word.to_string_lossy().starts_with('-'));
    let command = if is_word { PROGRAM.root() } else { command() };
    match matches(command, words.get(1..).unwrap_or_default()) {
        Ok(matches) if matches.get_flag("version") => Usage::Print(version::line(NAME)).report(),
        Ok(_) => Usage::Error(format!("no command is given; see {USAGE} --help")).report(),
        Err(usage) => usage.report(),
    }
}
