//! The command line of `simulate`: its own flags as well as those of the real thing.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _, Parser};
use cli_runtime::usage::Usage;
use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::options;

use crate::format::{self, Format};
use crate::name::USAGE;
use crate::{exit, flags, loopback};

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "simulate";

const ABOUT: &str = "Runs the controllers on an API server in memory that holds the given objects, until nothing is left \
                     to do, and prints the resulting EndpointSlices and Endpoints";
const HEADING: &str = "Simulation flags";
/// The flags of the real thing that change the result. The others are accepted too, so that a command line can be copied.
const SHOWN: [&str; 7] =
    ["config", "controllers", "emulated-version", "feature-gates", "help", "logging-format", "v"];

const EXAMPLES: &str = "Examples:
  kubectl endpoints simulate -f manifests/
  kubectl endpoints simulate -f manifests/ --all -o yaml | kubectl endpoints explain -f -
  kubectl endpoints simulate --serve -f manifests/   # a cluster in memory, for kubectl";

const GATES: &str = "Feature gates to set, separated by commas, as Name=true|false or kube:Name=true|false \
                     ('endpoint-controller-manager --help' lists them)";

/// A checked command line.
pub(crate) struct Simulation {
    pub(crate) flags: Flags,
    pub(crate) mode: Mode,
    pub(crate) config: Config,
}

/// The flags of the simulation.
#[expect(clippy::doc_markdown, reason = "the texts of --help")]
#[derive(Parser)]
#[command(next_help_heading = HEADING)]
pub(crate) struct Flags {
    /// File or directory with objects in YAML or JSON, or - for stdin; may be repeated. Lists, several documents in a file, and dumps
    /// of a whole cluster (kubectl get -A -o yaml) are read too
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIRECTORY|-")]
    pub(crate) inputs: Vec<String>,
    /// Read subdirectories too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// Namespace of objects without one, and the only one to print; by default these objects are in the namespace default,
    /// and all namespaces are printed
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    /// Format of the result: table, wide, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_parser = format::UNNAMED, hide_possible_values = true, default_value = "table")]
    pub(crate) output: Format,
    /// Print the Services, pods and nodes too, as -o yaml or json: the input of `kubectl endpoints explain -f -`
    #[arg(long)]
    pub(crate) all: bool,
    /// Print what the controllers would change in the EndpointSlices and Endpoints of a dump, as if they took over its cluster;
    /// the exit code is 0 for no change and 3 for any
    #[arg(long)]
    diff: bool,
    /// Keep the API server and the controllers running for kubectl, until Ctrl-C; pods start and end as on nodes, Deployments
    /// and ReplicaSets get pods, and -f may be omitted
    #[arg(long)]
    serve: bool,
    /// Loopback address and port for --serve; port 0 chooses a free one [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS", value_parser = loopback::parse)]
    listen: Option<SocketAddr>,
    /// File for the kubeconfig of --serve, which must not exist and is removed at the end; by default in a new temporary
    /// directory
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
}

/// The work to do with the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Print,
    Diff,
    Serve { listen: SocketAddr, kubeconfig: Option<PathBuf> },
}

/// Reads the words after the name of the subcommand.
///
/// # Errors
/// The text or the message to print instead.
pub(crate) fn parse(words: &[OsString]) -> Result<Simulation, Usage> {
    let (matches, config) = options::parse_extended(words, own_args(), shape)?;
    let matches = flags::without_empty(matches, &["namespace"]);
    let flags = Flags::from_arg_matches(&matches).map_err(|error| error.to_string());
    flags.and_then(|flags| simulation(flags, config)).map_err(Usage::Error)
}

fn simulation(flags: Flags, config: Config) -> Result<Simulation, String> {
    let Flags { inputs, output, all, diff, serve, listen, write_kubeconfig, .. } = &flags;
    if inputs.iter().filter(|input| *input == "-").count() > 1 {
        return Err("-f names stdin twice".to_owned());
    }
    let of_serve = [("--listen", listen.is_some()), ("--write-kubeconfig", write_kubeconfig.is_some())];
    flags::need("--serve", *serve, &of_serve)?;
    flags::exclude("--serve", *serve, &[("-o", *output != Format::Table)])?;
    let mode = match (diff, serve) {
        (true, true) => return Err("--diff and --serve exclude each other".to_owned()),
        (true, false) => Mode::Diff,
        (false, false) => Mode::Print,
        (false, true) => Mode::Serve {
            listen: listen.unwrap_or(loopback::FREE_PORT),
            kubeconfig: write_kubeconfig.clone(),
        },
    };
    if inputs.is_empty() && !matches!(mode, Mode::Serve { .. }) {
        return Err("-f names no file: give a file, a directory, or - for stdin".to_owned());
    }
    if mode == Mode::Diff && *output == Format::Wide {
        return Err("--diff has no wide form: -o may be table, yaml or json".to_owned());
    }
    if *all && (mode != Mode::Print || !output.is_document()) {
        return Err("--all needs -o yaml or -o json, and neither --diff nor --serve".to_owned());
    }
    Ok(Simulation { flags, mode, config })
}

fn own_args() -> Vec<Arg> {
    Flags::command().get_arguments().cloned().collect()
}

/// The command, with the flags of the program.
pub(crate) fn command() -> Command {
    shape(options::command(own_args()))
}

/// Makes a command of the program's into this one.
fn shape(command: Command) -> Command {
    options::show_flags(command, HEADING, &SHOWN, &[("feature-gates", GATES)])
        .name(NAME)
        .about(ABOUT)
        .override_usage(format!(
            "{USAGE} {NAME} -f FILE|DIRECTORY|- [-f ...] [flags]\n       {USAGE} {NAME} --serve [-f ...] [flags]"
        ))
        .after_help(format!(
            "{EXAMPLES}\n\nAll other flags of endpoint-controller-manager are accepted and change nothing here.\n\n{}",
            exit::help()
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Simulation, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words).map_err(|(Usage::Error(text) | Usage::Print(text))| text)
    }

    #[test]
    fn the_defaults_print_a_table_of_all_namespaces() {
        let simulation = parsed("-f a.yaml -f - --filename=b").unwrap();
        assert_eq!(simulation.flags.inputs, ["a.yaml", "-", "b"]);
        assert_eq!((simulation.flags.output, simulation.mode), (Format::Table, Mode::Print));
        assert_eq!((simulation.flags.recursive, simulation.flags.namespace), (false, None));
        assert_eq!(parsed("-f a --namespace=").unwrap().flags.namespace, None);
    }

    #[test]
    fn flags_choose_the_mode() {
        assert_eq!(parsed("-f a --diff").unwrap().mode, Mode::Diff);
        let serve = Mode::Serve { listen: "[::1]:8080".parse().unwrap(), kubeconfig: None };
        assert_eq!(parsed("-f a --serve --listen=[::1]:8080").unwrap().mode, serve);
        assert!(matches!(parsed("--serve").unwrap().mode, Mode::Serve { .. }));
        assert!(parsed("-f a --all -o yaml").unwrap().flags.all);
    }
}
