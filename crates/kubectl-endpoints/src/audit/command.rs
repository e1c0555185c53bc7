//! The command line of `audit`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use cli_runtime::usage::{Usage, matches};
use endpoint_diagnostics::audit::{Options, Severity, rules};
use go_text::duration;

use crate::exit;
use crate::flags::{self, Target};
use crate::format::{Format, format};

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "audit";

const ABOUT: &str = "Finds what is wrong with the Endpoints and EndpointSlices of a cluster, or of a dump: duplicates, \
                     orphans, pods that are gone, two managers, what a controller's start would delete, and more. Writes \
                     nothing without --fix";
/// The heading of its own flags in `--help`.
const HEADING: &str = "Audit flags";
/// The time between two looks at a cluster, in which controllers that run have written what was about to be written.
const CONFIRM_AFTER: Duration = Duration::from_secs(5);

/// A checked command line.
#[derive(Debug)]
pub(crate) struct Audit {
    pub(crate) target: Target,
    pub(crate) format: Format,
    /// The lightest severity that counts for the exit code.
    pub(crate) severity: Severity,
    /// Leaves out lighter findings.
    pub(crate) quiet: bool,
    /// The rules to apply; empty for all.
    pub(crate) rules: Vec<String>,
    pub(crate) options: Options,
    pub(crate) confirm_after: Duration,
    pub(crate) fix: Option<Fix>,
}

/// The extent of repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fix {
    /// Does not ask.
    pub(crate) yes: bool,
    pub(crate) dry_run: DryRun,
}

/// The value of `--dry-run`, with kubectl's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRun {
    None,
    Client,
    Server,
}

/// Reads the words after the name of the subcommand.
///
/// # Errors
/// The text or the message to print instead.
pub(crate) fn parse(words: &[OsString]) -> Result<Audit, Usage> {
    audit(&matches(command(), words)?).map_err(Usage::Error)
}

/// The command.
pub(crate) fn command() -> Command {
    Command::new(NAME)
        .about(ABOUT)
        .override_usage("kubectl endpoints audit [-n NAMESPACE] [-f FILE|FOLDER|-] [--fix] [flags]")
        .after_help(exit::help())
        .args(args())
}

/// The flags.
pub(crate) fn args() -> Vec<Arg> {
    let shared = flags::args().into_iter().map(|arg| match arg.get_id().as_str() {
        "namespace" => arg.help("Namespace to read, for which rights in it are enough; by default all"),
        "all-namespaces" => arg.help("Read all namespaces, which is the default"),
        _ => arg,
    });
    own_args().into_iter().chain(shared).collect()
}

fn own_args() -> Vec<Arg> {
    let flag = |name: &'static str| Arg::new(name).long(name).help_heading(HEADING);
    let switch = |name| flag(name).action(ArgAction::SetTrue);
    let number = |name| flag(name).value_name("N").value_parser(clap::value_parser!(u16).range(1..=1000));
    vec![
        flag("output").short('o').value_name("FORMAT").value_parser(format).help(
            "Format of the result: table, wide (with fields and remedies), json or yaml [default: table]",
        ),
        flag("severity").value_name("SEVERITY").value_parser(severity).help(
            "Lightest severity that counts for the exit code: error, warning or info [default: warning]",
        ),
        switch("quiet").short('q').help("Leave out findings below --severity"),
        flag("rule").value_name("RULE").value_delimiter(',').action(ArgAction::Append).value_parser(rule).help(
            "Rules to apply, separated by commas; all by default. docs/audit.md lists them",
        ),
        flag("confirm-after").value_name("DURATION").value_parser(parse_duration).help(
            "Time after which a cluster in which something was found is read again; only what is found both times is \
             reported. 0 reads once [default: 5s]",
        ),
        number("max-endpoints-per-slice").help(
            "The value that the EndpointSlice controller runs with; without it, larger slices are only worth knowing",
        ),
        number("mirroring-max-endpoints-per-subset")
            .help("The value that the EndpointSliceMirroring controller runs with [default: 1000]"),
        switch("fix").help(
            "Repair what can be repaired: objects of the controllers, by their labels. Shows each write, and asks",
        ),
        switch("yes").short('y').help("Do not ask before --fix writes"),
        flag("dry-run").value_name("none|client|server").value_parser(dry_run).help(
            "With --fix: client only shows the writes, server lets the API server check them without storing them \
             [default: none]",
        ),
    ]
}

fn audit(matches: &ArgMatches) -> Result<Audit, String> {
    let mut target = flags::target(matches)?;
    // Unlike a question about one Service, hygiene is one of the whole cluster.
    target.all_namespaces = target.namespace.is_none();
    let yes = matches.get_flag("yes");
    let dry_run = matches.get_one::<DryRun>("dry-run").copied();
    let fix = matches.get_flag("fix").then_some(Fix { yes, dry_run: dry_run.unwrap_or(DryRun::None) });
    if fix.is_none() && (yes || dry_run.is_some()) {
        return Err(format!("{} needs --fix", if yes { "--yes" } else { "--dry-run" }));
    }
    if fix.is_some() && !target.files.is_empty() {
        return Err("--fix and -f exclude each other: files are not repaired".to_owned());
    }
    let format = matches.get_one::<Format>("output").copied().unwrap_or(Format::Table);
    if fix.is_some() && matches!(format, Format::Json | Format::Yaml) {
        return Err("--fix prints a table: -o may be table or wide".to_owned());
    }
    let number = |name| matches.get_one::<u16>(name).map(|number| usize::from(*number));
    Ok(Audit {
        target,
        format,
        severity: matches.get_one("severity").copied().unwrap_or(Severity::Warning),
        quiet: matches.get_flag("quiet"),
        rules: matches.get_many("rule").into_iter().flatten().cloned().collect(),
        options: Options {
            max_endpoints_per_slice: number("max-endpoints-per-slice"),
            max_endpoints_per_subset: number("mirroring-max-endpoints-per-subset"),
        },
        confirm_after: matches.get_one("confirm-after").copied().unwrap_or(CONFIRM_AFTER),
        fix,
    })
}

fn severity(text: &str) -> Result<Severity, String> {
    let named = Severity::ALL.into_iter().find(|severity| severity.name() == text);
    named.ok_or_else(|| "must be error, warning or info".to_owned())
}

fn rule(text: &str) -> Result<String, String> {
    if rules().any(|rule| rule.id == text) {
        Ok(text.to_owned())
    } else {
        let ids: Vec<&str> = rules().map(|rule| rule.id).collect();
        Err(format!("must be one of {}", ids.join(", ")))
    }
}

fn dry_run(text: &str) -> Result<DryRun, String> {
    match text {
        "none" => Ok(DryRun::None),
        "client" => Ok(DryRun::Client),
        "server" => Ok(DryRun::Server),
        _ => Err("must be none, client or server".to_owned()),
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    duration::parse_go_duration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Audit, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words).map_err(|(Usage::Error(text) | Usage::Print(text))| text)
    }

    #[test]
    fn the_defaults_read_all_namespaces_and_write_nothing() {
        let audit = parsed("").unwrap();
        assert!(audit.target.all_namespaces && audit.target.files.is_empty() && audit.rules.is_empty());
        assert_eq!((audit.severity, audit.format, audit.fix), (Severity::Warning, Format::Table, None));
        assert_eq!(audit.confirm_after, Duration::from_secs(5));
        assert_eq!(audit.options, Options::default());
    }

    #[test]
    fn flags_are_kubectls_and_the_controllers() {
        let audit = parsed(
            "-n shop -o wide --severity=info -q --rule stale-pod,slice-owner --fix -y --dry-run=server",
        )
        .unwrap();
        assert_eq!(audit.target.namespace.as_deref(), Some("shop"));
        assert_eq!((audit.severity, audit.quiet, audit.format), (Severity::Info, true, Format::Wide));
        assert_eq!(audit.rules, ["stale-pod", "slice-owner"]);
        assert_eq!(audit.fix, Some(Fix { yes: true, dry_run: DryRun::Server }));
        let audit = parsed("--max-endpoints-per-slice=500 --confirm-after=0 -f dump.yaml").unwrap();
        assert_eq!(audit.options.max_endpoints_per_slice, Some(500));
        assert_eq!((audit.confirm_after, audit.target.files), (Duration::ZERO, vec!["dump.yaml".to_owned()]));
    }

    #[test]
    fn wrong_command_lines_are_refused_in_one_line() {
        for (line, expected) in [
            ("--yes", "--yes needs --fix"),
            ("--dry-run=client", "--dry-run needs --fix"),
            ("--fix -f x.yaml", "--fix and -f exclude each other: files are not repaired"),
            ("--fix -o json", "--fix prints a table: -o may be table or wide"),
            ("-n a -A", "-n and -A exclude each other"),
        ] {
            assert_eq!(parsed(line).unwrap_err(), expected, "{line}");
        }
        for line in ["--rule=nonsense", "--severity=fatal", "-o xml", "--max-endpoints-per-slice=0", "web"] {
            let message = parsed(line).unwrap_err();
            assert_eq!(message.lines().count(), 1, "{line}: {message}");
        }
    }
}
