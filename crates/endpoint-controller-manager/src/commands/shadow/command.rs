//! The command line of `shadow`: its own flags as well as those of the real thing.

use std::ffi::OsString;
use std::time::Duration;

use clap::Arg;
use cli_runtime::usage::Usage;
use go_text::duration::parse_go_duration;

use crate::config::Config;
use crate::options;
use crate::version;

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "shadow";

const ABOUT: &str = "Compares the EndpointSlices and Endpoints of a live cluster with what the controllers of \
     endpoint-controller-manager would write, and reports the differences that last. Writes nothing";
const HEADING: &str = "Shadow flags";
/// A command of a user reads what kubectl reads, unlike the program.
const KUBECONFIG: &str = "Kubeconfig of the cluster; by default the files of $KUBECONFIG, else ~/.kube/config, else the cluster \
     that this runs in";
/// The time after which a difference lasts: more than kube-controller-manager needs for its writes when it is busy.
const GRACE: Duration = Duration::from_secs(60);
/// The beginnings of flags that have no effect without writes.
const WITHOUT_EFFECT: [&str; 3] = ["leader-elect", "takeover-", "use-service-account-credentials"];

/// A form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Json,
}

/// A checked command line.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) config: Config,
    pub(super) grace: Duration,
    /// The time after which the run ends.
    pub(super) length: Duration,
    pub(super) format: Format,
}

/// Reads the words after the name of the subcommand.
pub(super) fn parse(words: &[OsString]) -> Result<Command, Usage> {
    let (matches, config) = options::parse_extended(words, own_args(), shape)?;
    // A standby would compare nothing, and tokens of service accounts are asked for by a write.
    let config = Config {
        leader_election: None,
        use_service_account_credentials: false,
        takeover_max_writes: None,
        ..config
    };
    let time = |name: &str| matches.get_one::<Duration>(name).copied();
    let format = matches.get_one("output").copied().unwrap_or(Format::Text);
    let (grace, length) = (time("grace").unwrap_or(GRACE), time("for").unwrap_or(Duration::MAX));
    Ok(Command { config, grace, length, format })
}

/// The command, with the flags of the program.
pub(crate) fn command() -> clap::Command {
    shape(options::command(own_args()))
}

/// Makes a command of the program's into this one.
fn shape(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let has_no_effect = WITHOUT_EFFECT.iter().any(|name| arg.get_id().as_str().starts_with(name));
        if has_no_effect { arg.hide(true) } else { arg }
    });
    command
        .mut_arg("kubeconfig", |arg| arg.help(KUBECONFIG))
        .about(ABOUT)
        .override_usage(format!("{} {NAME} [--for DURATION] [flags]", version::NAME))
        .after_help("All other flags of the program are accepted and change nothing here.")
}

/// The flags of the subcommand.
fn own_args() -> Vec<Arg> {
    let flag = |name: &'static str| Arg::new(name).long(name).help_heading(HEADING);
    vec![
        flag("grace").value_name("DURATION").value_parser(positive).help(
            "Time within which a difference may end, because controllers write some time after a change; one that lasts \
             longer is reported [default: 1m0s]",
        ),
        flag("for").value_name("DURATION").value_parser(positive).help(
            "Time after which the run ends, such as 24h; without it, it ends with SIGTERM or Ctrl-C",
        ),
        flag("output").short('o').value_name("FORMAT").value_parser(format).help(
            "Form of the report at the end: text or json [default: text]",
        ),
    ]
}

fn positive(text: &str) -> Result<Duration, String> {
    let duration = parse_go_duration(text)?;
    if duration.is_zero() { Err("must be more than 0".to_owned()) } else { Ok(duration) }
}

fn format(text: &str) -> Result<Format, String> {
    match text {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err("must be text or json".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words).map_err(|(Usage::Error(message) | Usage::Print(message))| message)
    }

    #[test]
    fn the_defaults_run_until_a_signal() {
        let command = parsed("").unwrap();
        assert_eq!((command.grace, command.length), (GRACE, Duration::MAX));
        assert_eq!(command.format, Format::Text);
    }

    #[test]
    fn the_flags_of_the_program_apply_but_those_of_writes() {
        let line = "--for=24h --grace 90s -o json --max-endpoints-per-slice=7 --leader-elect \
                    --use-service-account-credentials --controllers=endpointslice-controller";
        let command = parsed(line).unwrap();
        assert_eq!((command.grace, command.length), (Duration::from_secs(90), Duration::from_secs(86_400)));
        assert_eq!(command.format, Format::Json);
        let config = command.config;
        assert_eq!((config.endpointslice.max_endpoints_per_slice, config.controllers.len()), (7, 1));
        assert!(config.leader_election.is_none() && !config.use_service_account_credentials);
    }

    #[test]
    fn wrong_lines_are_refused_by_flag() {
        for (line, expected) in [
            ("--grace=0", "must be more than 0"),
            ("--for=1d", "unknown unit"),
            ("-o yaml", "must be text or json"),
            ("--no-such", "unknown flag: --no-such"),
        ] {
            let message = parsed(line).unwrap_err();
            assert!(message.contains(expected), "{line}: {message}");
        }
    }

    #[test]
    fn help_shows_the_flags_that_count_here() {
        let help = parsed("--help").unwrap_err();
        for flag in
            ["--grace", "--for", "-o, --output", "--max-endpoints-per-slice", "--secure-port", "$KUBECONFIG"]
        {
            assert!(help.contains(flag), "{flag} in {help}");
        }
        for flag in ["--leader-elect", "--use-service-account-credentials"] {
            assert!(!help.contains(flag), "{flag} in {help}");
        }
    }
}
