//! The command lines of `handover` and `rollback`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use cli_runtime::usage::{Usage, matches};
use endpoint_controller_manager::controllers::{self, Controller};
use go_text::duration;

use super::facts::{Form, Goal};
use super::settings::Settings;
use crate::exit;
use crate::flags::{self, Target};

const AFTER: &str = "It can be ended at any time: the same command continues";
/// The heading of its own flags in `--help`.
const HEADING: &str = "Swap flags";
/// For the operator, at each step.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// A checked command line.
#[derive(Debug)]
pub(super) struct Swap {
    pub(super) goal: Goal,
    pub(super) target: Target,
    /// The controllers that change hands.
    pub(super) controllers: Vec<Controller>,
    pub(super) form: Form,
    /// Namespace and name.
    pub(super) deployment: [String; 2],
    pub(super) lease: [String; 2],
    pub(super) settings: Settings,
    pub(super) timeout: Duration,
    /// Does not ask before requests that change something.
    pub(super) yes: bool,
    pub(super) dry_run: bool,
    pub(super) skip_checks: bool,
    /// The namespace of a Service that shows which program writes.
    pub(super) canary: Option<String>,
}

impl Goal {
    /// The name of the subcommand.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Handover => "handover",
            Self::Rollback => "rollback",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Handover => {
                "Moves controllers from kube-controller-manager to endpoint-controller-manager, step by step: no two write at \
                 once, and nothing is written by the swap. What the API cannot do is named for the operator, and then waited for"
            }
            Self::Rollback => {
                "Moves controllers back to kube-controller-manager, step by step, from any state of a handover"
            }
        }
    }
}

/// Reads the words after the name of the subcommand.
///
/// # Errors
/// The text or the message to print instead.
pub(super) fn parse(goal: Goal, words: &[OsString]) -> Result<Swap, Usage> {
    swap(goal, &matches(command(goal), words)?).map_err(Usage::Error)
}

/// The command.
pub(super) fn command(goal: Goal) -> Command {
    let usage = format!("kubectl endpoints {} [--yes] [--dry-run] [flags]", goal.name());
    Command::new(goal.name())
        .about(goal.about())
        .override_usage(usage)
        .after_help(format!("{AFTER}.\n\n{}", exit::help()))
        .args(args())
}

/// The flags, which both subcommands have.
pub(crate) fn args() -> Vec<Arg> {
    let flag = |name: &'static str| Arg::new(name).long(name).help_heading(HEADING);
    let switch = |name| flag(name).action(ArgAction::SetTrue);
    let own = vec![
        flag("controllers").value_name("NAME").value_delimiter(',').action(ArgAction::Append).help(
            "Controllers that change hands, separated by commas; endpoint-controller-manager must run with the same \
             --controllers [default: *]",
        ),
        flag("ours").value_name("deployment|static-pods|processes").value_parser(form).help(
            "Form in which endpoint-controller-manager runs; processes also where kube-controller-manager is neither a pod \
             nor on a node of the cluster [default: deployment]",
        ),
        flag("deployment").value_name("NAMESPACE/NAME").value_parser(qualified).help(
            "Deployment of endpoint-controller-manager; its namespace is that of static pods too \
             [default: kube-system/endpoint-controller-manager]",
        ),
        flag("lease").value_name("NAMESPACE/NAME").value_parser(qualified).help(
            "Lease of endpoint-controller-manager [default: kube-system/endpoint-controller-manager]",
        ),
        flag("canary-namespace").value_name("NAMESPACE").value_parser(name).help(
            "Namespace in which a Service without pods is made, to see which program writes for it: before the Lease is \
             released none (for 15 s and 1 ms a pod), at the end the right one. It is deleted each time. By default, none is \
             made where kube-controller-manager's flags can be seen, and elsewhere one in default",
        ),
        flag("timeout").value_name("DURATION").value_parser(parse_duration).help(
            "Longest wait for each step, and for each command of the operator [default: 30m]",
        ),
        switch("yes").short('y').help(
            "Do not ask before changing the Lease or the Deployment. What the cluster does not show, as the flags of plain \
             processes, is asked all the same",
        ),
        switch("dry-run").help("Print the steps that are left, and change nothing"),
        switch("skip-checks").help("Do not look first for what endpoint-controller-manager would change or delete"),
    ];
    let shared =
        flags::args().into_iter().filter(|arg| ["kubeconfig", "context"].contains(&arg.get_id().as_str()));
    own.into_iter().chain(shared).collect()
}

fn swap(goal: Goal, matches: &ArgMatches) -> Result<Swap, String> {
    let entries: Vec<String> = matches.get_many("controllers").into_iter().flatten().cloned().collect();
    let all = ["*".to_owned()];
    let controllers = controllers::selected(if entries.is_empty() { &all } else { &entries })?;
    let object = |name: &str| {
        let given: Option<&[String; 2]> = matches.get_one(name);
        given.cloned().unwrap_or_else(|| {
            ["kube-system".to_owned(), endpoint_controller_manager::version::NAME.to_owned()]
        })
    };
    if matches.contains_id("canary-namespace") && controllers == [Controller::EndpointSliceMirroring] {
        return Err(
            "--canary-namespace shows nothing of the EndpointSliceMirroring controller alone".to_owned()
        );
    }
    let (deployment, lease): ([String; 2], [String; 2]) = (object("deployment"), object("lease"));
    Ok(Swap {
        goal,
        target: Target::of_cluster(matches),
        controllers,
        form: matches.get_one("ours").copied().unwrap_or(Form::Deployment),
        settings: Settings { lease: lease.join("/"), deployment: deployment.join("/") },
        deployment,
        lease,
        timeout: matches.get_one("timeout").copied().unwrap_or(TIMEOUT),
        yes: matches.get_flag("yes"),
        dry_run: matches.get_flag("dry-run"),
        skip_checks: matches.get_flag("skip-checks"),
        canary: matches.get_one("canary-namespace").cloned(),
    })
}

fn form(text: &str) -> Result<Form, String> {
    match text {
        "deployment" => Ok(Form::Deployment),
        "static-pods" => Ok(Form::StaticPods),
        "processes" => Ok(Form::Processes),
        _ => Err("must be deployment, static-pods or processes".to_owned()),
    }
}

/// Reads `NAMESPACE/NAME`, both of which become parts of URLs.
fn qualified(text: &str) -> Result<[String; 2], String> {
    let parts = text.split_once('/').ok_or("must be NAMESPACE/NAME")?;
    Ok([name(parts.0)?, name(parts.1)?])
}

/// Reads the name of an object.
pub(super) fn name(text: &str) -> Result<String, String> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    if text.is_empty() || !text.bytes().all(is_part) {
        return Err(format!("{text:?} is no name of a Kubernetes object"));
    }
    Ok(text.to_owned())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    duration::parse_go_duration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Swap, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(Goal::Handover, &words).map_err(|(Usage::Error(text) | Usage::Print(text))| text)
    }

    #[test]
    fn the_defaults_are_those_of_deploy() {
        let swap = parsed("").unwrap();
        assert_eq!((swap.form, swap.yes, swap.dry_run), (Form::Deployment, false, false));
        assert_eq!(swap.controllers, Controller::ALL);
        assert_eq!(swap.settings.lease, "kube-system/endpoint-controller-manager");
    }

    #[test]
    fn flags_name_the_parts_of_a_swap() {
        let swap = parsed(
            "--controllers=endpointslicemirroring --ours=static-pods --lease=a/b --deployment c/d --timeout=5m -y \
             --context=x",
        )
        .unwrap();
        assert_eq!(swap.controllers, [Controller::EndpointSliceMirroring]);
        assert_eq!((swap.form, swap.timeout, swap.yes), (Form::StaticPods, Duration::from_secs(300), true));
        assert_eq!((swap.lease.join("/"), swap.deployment.join("/")), ("a/b".to_owned(), "c/d".to_owned()));
        assert_eq!(swap.target.context.as_deref(), Some("x"));
    }

    #[test]
    fn wrong_command_lines_are_refused_in_one_line() {
        for line in ["--lease=x", "--lease=a/b?c", "--ours=pods", "--controllers=nonsense", "x", "-n y"] {
            let message = parsed(line).unwrap_err();
            assert_eq!(message.lines().count(), 1, "{line}: {message}");
        }
    }
}
