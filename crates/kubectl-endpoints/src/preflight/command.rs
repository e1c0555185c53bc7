//! The command line of `preflight`: its own flags as well as those of the program.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _, Parser};
use cli_runtime::usage::Usage;
use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::options;
use go_text::duration::parse_go_duration;

use super::subject::Subject;
use crate::exit;
use crate::flags::{self, ClusterFlags, Target};
use crate::format::{Format, Forms};
use crate::name::USAGE;

/// The word that selects this subcommand.
pub(crate) const NAME: &str = "preflight";

const ABOUT: &str = "Checks a cluster before endpoint-controller-manager takes over from kube-controller-manager, \
     and after: versions, permissions, who writes, what a start would change. Writes nothing: it reads, and creates \
     access reviews, which are not stored";
const EXAMPLES: &str = "Examples:
  kubectl endpoints preflight                    # before an installation
  kubectl endpoints preflight --service-account=kube-system:endpoint-controller-manager -o json
  kubectl endpoints preflight --emulated-version=1.36 --controllers=endpointslice-mirroring-controller";
const AFTER: &str = "All other flags of endpoint-controller-manager are accepted. Give those that it will run with: --controllers, \
                     --feature-gates and the limits decide what the first plans change.";
const HEADING: &str = "Preflight flags";
/// Flags of the program that count here.
const SHOWN: [&str; 9] = [
    "config",
    "controllers",
    "emulated-version",
    "feature-gates",
    "help",
    "kubeconfig",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "use-service-account-credentials",
];
const KUBECONFIG: &str = "Kubeconfig of the cluster; by default the files of $KUBECONFIG, else ~/.kube/config, else the \
                          cluster that this runs in";
const GATES: &str = "Feature gates to set, separated by commas, as Name=true|false or kube:Name=true|false \
                     ('endpoint-controller-manager --help' lists them)";

/// A checked command line.
#[derive(Debug)]
pub(crate) struct Preflight {
    pub(crate) target: Target,
    pub(crate) format: Format,
    pub(crate) subject: Subject,
    pub(crate) confirm_after: Duration,
    /// The Lease is about to be released.
    pub(crate) before_release: bool,
    /// The configuration that the program will run with.
    pub(crate) config: Config,
}

/// Reads the words after the name of the subcommand.
///
/// # Errors
/// The text or the message to print instead.
pub(crate) fn parse(words: &[OsString]) -> Result<Preflight, Usage> {
    let (matches, config) = options::parse_extended(words, args(), shape)?;
    let matches = flags::without_empty(matches, &["context", "impersonate"]);
    let flags = Flags::from_arg_matches(&matches).map_err(|error| error.to_string());
    flags.and_then(|flags| preflight(flags, config)).map_err(Usage::Error)
}

fn preflight(flags: Flags, config: Config) -> Result<Preflight, String> {
    let is_account = flags.service_account.is_some();
    flags::exclude("--for-user", flags.user.is_some(), &[("--service-account", is_account)])?;
    let of_another = [("--for-user", flags.user.is_some()), ("--service-account", is_account)];
    flags::exclude("--as", flags.impersonate.is_some(), &of_another)?;
    let subject = flags.user.map(Subject::User).or(flags.service_account).unwrap_or(Subject::Caller);
    if config.api_server.master.is_some() {
        return Err("--master is not read here: name the cluster by --kubeconfig or --context".to_owned());
    }
    let cluster = ClusterFlags {
        kubeconfig: config.api_server.kubeconfig.clone(),
        context: flags.context,
        user: flags.impersonate,
        groups: flags.groups,
        ..ClusterFlags::default()
    };
    cluster.check()?;
    let target = Target::all(cluster);
    let Flags { confirm_after, before_release, output: format, .. } = flags;
    Ok(Preflight { target, format, subject, confirm_after, before_release, config })
}

/// The command, with the flags of the program.
pub(crate) fn command() -> Command {
    shape(options::command(args()))
}

/// Makes a command of the program's into this one.
fn shape(command: Command) -> Command {
    let texts = [("feature-gates", GATES), ("kubeconfig", KUBECONFIG)];
    options::show_flags(command, HEADING, &SHOWN, &texts)
        .name(NAME)
        .about(ABOUT)
        .override_usage(format!(
            "{USAGE} {NAME} [--service-account NAMESPACE:NAME | --for-user USER] [flags]"
        ))
        .after_help(format!("{EXAMPLES}\n\n{AFTER}\n\n{}", exit::help()))
}

fn args() -> Vec<Arg> {
    Flags::command().get_arguments().cloned().collect()
}

/// The flags of its own.
#[derive(Parser)]
#[command(next_help_heading = HEADING)]
struct Flags {
    /// Format of the result: text or json
    #[arg(short, long, value_name = "FORMAT", value_parser = FORMS, hide_possible_values = true, default_value = "text")]
    output: Format,
    /// Service account that the program will run with, whose permissions and priority are checked instead of the caller's;
    /// kube-system:endpoint-controller-manager in deploy/base
    #[arg(long, value_name = "NAMESPACE:NAME", value_parser = Subject::service_account)]
    service_account: Option<Subject>,
    /// User that the program will run as, instead of a service account; endpoint-controller-manager in deploy/overlays/static-pod
    #[arg(long = "for-user", value_name = "USER")]
    user: Option<String>,
    /// User to impersonate, which needs the permission to do so
    #[arg(long = "as", value_name = "USER")]
    impersonate: Option<String>,
    /// Group to impersonate; may be repeated
    #[arg(long = "as-group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Context of the kubeconfig; by default the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Pause before the cluster is read again, up to four times, if the first plans change something; only what is the same
    /// each time counts. 0 reads once
    #[arg(long, value_name = "DURATION", value_parser = parse_go_duration, default_value = "5s")]
    confirm_after: Duration,
    /// Check before the Lease is released: fail if kube-controller-manager still runs one of the controllers
    #[arg(long)]
    before_release: bool,
}

const FORMS: Forms<Format> = Forms(&[("text", Format::Table), ("json", Format::Json)]);

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Preflight, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words).map_err(|(Usage::Error(text) | Usage::Print(text))| text)
    }

    #[test]
    fn the_defaults_check_the_caller() {
        let preflight = parsed("").unwrap();
        assert_eq!((preflight.format, &preflight.subject), (Format::Table, &Subject::Caller));
        assert_eq!(
            (preflight.confirm_after, preflight.config.controllers.len()),
            (Duration::from_secs(5), 3)
        );
        assert!(preflight.target.all_namespaces && preflight.target.cluster.kubeconfig.is_none());
    }

    #[test]
    fn the_flags_of_the_program_count() {
        let line = "-o json --service-account=kube-system:ecm --kubeconfig=x --context=dev --max-endpoints-per-slice=7 \
                    --feature-gates=EndpointSliceTerminatingCondition=true --confirm-after=0 --leader-elect=false";
        let preflight = parsed(line).unwrap();
        assert_eq!((preflight.format, preflight.confirm_after), (Format::Json, Duration::ZERO));
        assert_eq!(preflight.subject, Subject::service_account("kube-system:ecm").unwrap());
        assert_eq!(preflight.config.endpointslice.max_endpoints_per_slice, 7);
        assert_eq!(preflight.target.cluster.kubeconfig.as_deref(), Some("x".as_ref()));
        assert_eq!(preflight.target.cluster.context.as_deref(), Some("dev"));
        assert!(preflight.config.leader_election.is_none());
        assert_eq!(parsed("--for-user=me").unwrap().subject, Subject::User("me".to_owned()));
        assert_eq!(parsed("--as=me").unwrap().target.cluster.user.as_deref(), Some("me"));
        assert_eq!(parsed("--as=me --as-group=a").unwrap().target.cluster.groups, ["a"]);
    }
}
