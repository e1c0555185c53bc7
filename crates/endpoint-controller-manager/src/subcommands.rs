//! The subcommands of the program, in one table: dispatch, `--help`, completion and man pages are made from it.

mod completion;
mod config;
mod man;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;

use crate::{diagnostics, handover, options, shadow, simulate};

/// A subcommand.
struct Subcommand {
    name: &'static str,
    /// One line for `--help` of the program.
    summary: &'static str,
    /// The command with its flags.
    command: fn() -> Command,
    /// Runs it with the words after its name.
    run: fn(&[OsString]) -> ExitCode,
}

/// Every subcommand, in the order of `--help`.
const ALL: &[Subcommand] = &[
    Subcommand {
        name: simulate::NAME,
        summary: "Print the EndpointSlices and Endpoints that follow from manifests or from a dump of a cluster, without a \
                  cluster",
        command: simulate::command,
        run: |words| simulate::main(words.iter().cloned()),
    },
    Subcommand {
        name: diagnostics::explain::NAME,
        summary: "Show for each pod of a Service whether it is in the EndpointSlices and Endpoints, and if not, why",
        command: || diagnostics::explain::command(diagnostics::EXPLAIN),
        run: |words| diagnostics::explain::main(diagnostics::EXPLAIN, words),
    },
    Subcommand {
        name: diagnostics::audit::NAME,
        summary: "Find what is wrong with the Endpoints and EndpointSlices of a cluster",
        command: diagnostics::audit::command,
        run: diagnostics::audit::main,
    },
    Subcommand {
        name: diagnostics::preflight::NAME,
        summary: "Check a cluster before this program takes over from kube-controller-manager, and after",
        command: diagnostics::preflight::command,
        run: diagnostics::preflight::main,
    },
    Subcommand {
        name: shadow::NAME,
        summary: "Compare a cluster with what the controllers would write, and write nothing",
        command: shadow::command,
        run: |words| shadow::main(words.iter().cloned()),
    },
    Subcommand {
        name: handover::HANDOVER,
        summary: "Move the controllers from kube-controller-manager to this program, step by step",
        command: handover::handover,
        run: handover::run_handover,
    },
    Subcommand {
        name: handover::ROLLBACK,
        summary: "Move the controllers back to kube-controller-manager, step by step",
        command: handover::rollback,
        run: handover::run_rollback,
    },
    Subcommand {
        name: config::NAME,
        summary: "Check a configuration file",
        command: config::command,
        run: config::main,
    },
    Subcommand {
        name: completion::NAME,
        summary: "Print a script that completes the command line in a shell",
        command: completion::command,
        run: |words| completion::main(words, root()),
    },
    Subcommand {
        name: man::NAME,
        summary: "Write man pages",
        command: man::command,
        run: |words| man::main(words, root()),
    },
];

/// Runs the subcommand that the first word names, if any.
pub(crate) fn main(words: &[OsString]) -> Option<ExitCode> {
    let (first, rest) = words.get(1..)?.split_first()?;
    let subcommand = ALL.iter().find(|subcommand| first == subcommand.name)?;
    Some((subcommand.run)(rest))
}

/// The list of subcommands for `--help` of the program.
pub(crate) fn summary() -> String {
    let width = ALL.iter().map(|subcommand| subcommand.name.len()).max().unwrap_or_default();
    let line = |subcommand: &Subcommand| format!("\n  {:width$}  {}", subcommand.name, subcommand.summary);
    let lines: String = ALL.iter().map(line).collect();
    format!("Subcommands (each has a --help of its own):{lines}")
}

/// The program with its subcommands, as completion and man pages show it.
fn root() -> Command {
    let subcommands = ALL.iter().map(|subcommand| (subcommand.command)().name(subcommand.name));
    options::command(Vec::new()).subcommands(subcommands)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    /// Checks of clap: no flag twice, no value without a name.
    #[test]
    fn commands_are_well_formed() {
        root().debug_assert();
    }

    #[test]
    fn every_script_knows_subcommands_and_flags() {
        for shell in clap_complete::Shell::value_variants() {
            let script = completion::script(*shell, root());
            for word in ["explain", "concurrent-endpoint-syncs", "all-namespaces"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }

    #[test]
    fn a_word_names_a_subcommand_only_in_the_first_place() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(main(&words("endpoint-controller-manager")).is_none());
        assert!(main(&words("endpoint-controller-manager --config config")).is_none());
        assert!(main(&words("endpoint-controller-manager config --help")).is_some());
    }
}
