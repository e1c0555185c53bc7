//! The command line, as it was typed.
//!
//! Names, defaults and forms are kube-controller-manager's, so that its command line can be copied:
//! `--flag=value`, `--flag value`, `--flag` and `--flag=false` for booleans, Go durations.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgAction, Parser};

use crate::duration::parse_go_duration;
use crate::version;

/// What the command line asks for.
pub(crate) enum Parsed {
    /// Run with these options.
    Run(Box<Options>),
    /// Print this and succeed.
    Answer(String),
    /// Refuse, with this reason.
    Refused(String),
}

/// Runs the endpoint controllers of kube-controller-manager in a process of their own.
#[derive(Debug, Parser)]
#[command(name = "endpoint-controller-manager", disable_version_flag = true, arg_required_else_help = false)]
pub(crate) struct Options {
    /// Path of the kubeconfig file with authorization and API server location; in-cluster configuration if empty
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) kubeconfig: String,

    /// Address of the API server; overrides the one in the kubeconfig
    #[arg(long, default_value = "", value_name = "URL")]
    pub(crate) master: String,

    /// Controllers to run: '*' is all, 'foo' is foo, '-foo' is all but foo; the first match counts
    #[arg(long, default_value = "*", value_delimiter = ',', action = ArgAction::Append, allow_hyphen_values = true, value_name = "NAMES")]
    pub(crate) controllers: Vec<String>,

    /// Requests a second to the API server, for each controller
    #[arg(long, default_value_t = 20.0, allow_negative_numbers = true, value_name = "QPS")]
    pub(crate) kube_api_qps: f64,

    /// Requests at once to the API server, for each controller
    #[arg(long, default_value_t = 30, allow_negative_numbers = true, value_name = "N")]
    pub(crate) kube_api_burst: i32,

    /// Content type of requests: application/vnd.kubernetes.protobuf or application/json
    #[arg(long, default_value = "application/vnd.kubernetes.protobuf", value_name = "TYPE")]
    pub(crate) kube_api_content_type: String,

    /// Services that the endpointslice-controller syncs at the same time (1 to 50)
    #[arg(long, default_value_t = 5, allow_negative_numbers = true, value_name = "N")]
    pub(crate) concurrent_service_endpoint_syncs: i32,

    /// The most endpoints in one EndpointSlice (1 to 1000)
    #[arg(long, default_value_t = 100, allow_negative_numbers = true, value_name = "N")]
    pub(crate) max_endpoints_per_slice: i32,

    /// How long a pod change waits for more of them before its EndpointSlices are updated
    #[arg(long, default_value = "0s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) endpointslice_updates_batch_period: Duration,

    /// Elect a leader before running; not available yet, so pass --leader-elect=false and run one replica
    #[arg(long, default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = parse_go_bool, value_name = "BOOL")]
    pub(crate) leader_elect: bool,

    /// Loopback address of the health and metrics server; port 0 chooses a free one
    #[arg(long, default_value = "127.0.0.1:10260", value_name = "ADDRESS")]
    pub(crate) metrics_bind_address: String,

    /// Log level: 0 and up; 4 shows each sync, 6 each event
    #[arg(short = 'v', long = "v", default_value_t = 0, allow_negative_numbers = true, value_name = "LEVEL")]
    pub(crate) verbosity: i32,

    /// Format of the logs: text or json
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) logging_format: String,

    /// Print the version and quit
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, value_parser = parse_go_bool, value_name = "BOOL")]
    version: bool,
}

/// Booleans as Go's `strconv.ParseBool` reads them.
fn parse_go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("{text:?} is not true or false")),
    }
}

/// Reads the command line.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Parsed {
    match Options::try_parse_from(arguments) {
        Ok(options) if options.version => Parsed::Answer(version::line()),
        Ok(options) => Parsed::Run(Box::new(options)),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp) => Parsed::Answer(error.to_string()),
        Err(error) => Parsed::Refused(first_line(&error)),
    }
}

/// The sentence of clap's message that names the flag, without its hints.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    format!("{} (see --help)", line.trim_start_matches("error: "))
}

/// Prints what was asked for.
pub(crate) fn print_answer(text: &str) -> ExitCode {
    // A reader that has gone away (`--help | head`) is not a failure.
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
    ExitCode::SUCCESS
}

/// Says in one line what is wrong with the command line.
pub(crate) fn print_refusal(reason: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "Error: {reason}");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(line: &str) -> Parsed {
        let words = std::iter::once("endpoint-controller-manager").chain(line.split_whitespace());
        parse(words.map(OsString::from))
    }

    fn options(line: &str) -> Options {
        match parse_words(line) {
            Parsed::Run(options) => *options,
            Parsed::Answer(text) | Parsed::Refused(text) => panic!("{line}: {text}"),
        }
    }

    #[test]
    fn flags_take_the_forms_that_kube_controller_manager_takes() {
        let typed = options(
            "--leader-elect=false -v=4 --kube-api-qps=-1 --kube-api-burst 7 \
             --controllers=-endpoints-controller,endpointslice --controllers=* \
             --endpointslice-updates-batch-period=1m30s",
        );
        assert!(!typed.leader_elect);
        assert_eq!(typed.verbosity, 4);
        assert!((typed.kube_api_qps + 1.0).abs() < f64::EPSILON);
        assert_eq!(typed.kube_api_burst, 7);
        assert_eq!(typed.controllers, ["-endpoints-controller", "endpointslice", "*"]);
        assert_eq!(typed.endpointslice_updates_batch_period, Duration::from_secs(90));
        assert!(options("--leader-elect").leader_elect);
        assert_eq!(options("--v 2").verbosity, 2);
        assert_eq!(options("").controllers, ["*"]);
    }

    #[test]
    fn wrong_flags_are_refused_in_one_line_that_names_them() {
        for (line, named) in [
            ("--no-such-flag", "--no-such-flag"),
            ("--no-such-flag=1", "--no-such-flag"),
            ("--config=x", "--config"),
            ("word", "word"),
            ("--kube-api-qps=fast", "--kube-api-qps"),
            ("--max-endpoints-per-slice=1.5", "--max-endpoints-per-slice"),
            ("--leader-elect=maybe", "--leader-elect"),
            ("--endpointslice-updates-batch-period=5", "--endpointslice-updates-batch-period"),
            ("--endpointslice-updates-batch-period=-1s", "--endpointslice-updates-batch-period"),
            ("-v=high", "-v"),
            ("--kubeconfig", "--kubeconfig"),
        ] {
            match parse_words(line) {
                Parsed::Refused(reason) => {
                    assert!(reason.contains(named) && reason.lines().count() == 1, "{line}: {reason}");
                }
                Parsed::Run(_) | Parsed::Answer(_) => panic!("{line} was accepted"),
            }
        }
    }

    #[test]
    fn help_and_version_are_answers() {
        for line in ["--help", "-h", "--version", "--version=true"] {
            assert!(matches!(parse_words(line), Parsed::Answer(_)), "{line}");
        }
        assert!(matches!(parse_words("--version=false"), Parsed::Run(_)));
    }
}
