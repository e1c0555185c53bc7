//! The command lines of `handover` and `rollback`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Command, CommandFactory as _, Parser};
use cli_runtime::usage::Usage;
use endpoint_controller_manager::controllers::{self, Controller};
use go_text::duration::parse_go_duration;

use super::facts::{Form, Goal};
use super::instructions::Settings;
use crate::exit;
use crate::flags::{self, ClusterFlags, Target};
use crate::format::Forms;
use crate::name::USAGE;

const AFTER: &str = "It can be interrupted at any time: the same command continues";
/// The Deployment and the Lease of deploy/.
const OURS: &str = "kube-system/endpoint-controller-manager";
const OURS_AS: Forms<Form> = Forms(&[
    ("deployment", Form::Deployment),
    ("static-pods", Form::StaticPods),
    ("processes", Form::Processes),
]);

/// A checked command line.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(super) goal: Goal,
    pub(super) target: Target,
    /// The controllers that change hands.
    pub(super) controllers: Vec<Controller>,
    pub(super) settings: Settings,
    pub(super) flags: Flags,
}

impl Goal {
    /// The name of the subcommand.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Handover => "handover",
            Self::Rollback => "rollback",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Handover => {
                "Moves controllers from kube-controller-manager to endpoint-controller-manager, step by step: no two \
                 write at once, and the migration writes no Endpoints or EndpointSlices. Where the API cannot do a \
                 step, it tells the operator what to do, and waits for it"
            }
            Self::Rollback => {
                "Moves controllers back to kube-controller-manager, step by step, from any state of a handover"
            }
        }
    }

    fn examples(self) -> &'static str {
        match self {
            Self::Handover => {
                "Examples:
  kubectl endpoints handover --dry-run                     # the remaining steps
  kubectl endpoints handover                               # all three controllers
  kubectl endpoints handover --controllers=endpointslice-mirroring-controller
  kubectl endpoints handover --ours=static-pods"
            }
            Self::Rollback => {
                "Examples:
  kubectl endpoints rollback --dry-run                     # the remaining steps
  kubectl endpoints rollback --yes                         # asks only about what the cluster does not show"
            }
        }
    }
}

#[derive(Debug, Parser)]
#[command(next_help_heading = "Migration flags")]
pub(super) struct Flags {
    /// Controllers to migrate, separated by commas; endpoint-controller-manager must run with the same --controllers
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "*")]
    controllers: Vec<String>,
    /// Form in which endpoint-controller-manager runs; processes are also for a kube-controller-manager that is neither a pod
    /// nor on a node of the cluster
    #[arg(long, value_name = "deployment|static-pods|processes", value_parser = OURS_AS, hide_possible_values = true, default_value = "deployment")]
    pub(super) ours: Form,
    /// Deployment of endpoint-controller-manager; static pods are in its namespace
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = qualified, default_value = OURS)]
    pub(super) deployment: Qualified,
    /// Lease of endpoint-controller-manager
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = qualified, default_value = OURS)]
    pub(super) lease: Qualified,
    /// Namespace for a canary, a Service without pods that shows which program writes: none (for 15 s and 1 ms a pod) before
    /// the Lease is released, and the right one at the end. The canary is deleted each time; for the EndpointSliceMirroring
    /// controller alone, it has Endpoints. By default, it is in the namespace default, and there is none where the flags of
    /// kube-controller-manager's leader can be read
    #[arg(long, value_name = "NAMESPACE", value_parser = name)]
    pub(super) canary_namespace: Option<String>,
    /// Longest wait for each step, and for each command of the operator
    #[arg(long, value_name = "DURATION", value_parser = parse_go_duration, default_value = "30m")]
    pub(super) timeout: Duration,
    /// Do not ask before changing the Lease or the Deployment; still ask about what the cluster does not show, such as the flags
    /// of plain processes
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Print the remaining steps, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Skip the check of what endpoint-controller-manager would change or delete
    #[arg(long)]
    pub(super) skip_checks: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Reads the words after the name of the subcommand.
///
/// # Errors
/// The text or the message to print instead.
pub(crate) fn parse(goal: Goal, words: &[OsString]) -> Result<Migration, Usage> {
    migration(goal, flags::parse(command(goal), words)?).map_err(Usage::Error)
}

/// The command.
pub(crate) fn command(goal: Goal) -> Command {
    let usage = format!("{USAGE} {} [--yes] [--dry-run] [flags]", goal.name());
    let after = format!("{}\n\n{AFTER}.\n\n{}", goal.examples(), exit::help());
    // A migration lists little, and reads again for two minutes.
    let flags = Flags::command().mut_arg("request_timeout", |arg| arg.hide(true));
    flags.name(goal.name()).about(goal.about()).override_usage(usage).after_help(after)
}

fn migration(goal: Goal, flags: Flags) -> Result<Migration, String> {
    flags.cluster.check()?;
    if flags.cluster.request_timeout.is_some() {
        return Err("--request-timeout has no meaning for a migration: --timeout limits each step".to_owned());
    }
    let controllers = controllers::selected(&flags.controllers)?;
    let [lease, deployment] = [&flags.lease, &flags.deployment].map(|name| name.0.join("/"));
    let settings = Settings { lease, deployment, kubectl: flags.cluster.kubectl() };
    Ok(Migration { goal, target: Target::all(flags.cluster.clone()), controllers, settings, flags })
}

/// A namespace and a name.
#[derive(Clone, Debug)]
pub(super) struct Qualified(pub(super) [String; 2]);

/// Reads `NAMESPACE/NAME`, both of which become parts of URLs.
fn qualified(text: &str) -> Result<Qualified, String> {
    let parts = text.split_once('/').ok_or("must be NAMESPACE/NAME")?;
    Ok(Qualified([name(parts.0)?, name(parts.1)?]))
}

/// Reads the name of an object.
pub(super) fn name(text: &str) -> Result<String, String> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    if text.is_empty() || !text.bytes().all(is_part) {
        return Err(format!("{text:?} is not a name of a Kubernetes object"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::instructions;
    use super::*;

    fn parsed(line: &str) -> Result<Migration, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(Goal::Handover, &words).map_err(|(Usage::Error(text) | Usage::Print(text))| text)
    }

    #[test]
    fn the_defaults_are_those_of_deploy() {
        let migration = parsed("").unwrap();
        assert_eq!(
            (migration.flags.ours, migration.flags.yes, migration.flags.dry_run),
            (Form::Deployment, false, false)
        );
        assert_eq!(migration.controllers, Controller::ALL);
        assert_eq!(migration.settings.lease, "kube-system/endpoint-controller-manager");
    }

    #[test]
    fn commands_for_the_operator_are_about_the_cluster_of_the_migration() {
        let settings = |line| parsed(line).unwrap().settings;
        assert_eq!(settings("").kubectl, "kubectl");
        let expected = "kubectl --kubeconfig=/a/b --context=admin@prod";
        let named = settings("--context=admin@prod --kubeconfig=/a/b");
        assert_eq!(named.kubectl, expected);
        assert_eq!(settings("--context=a$(b)'c").kubectl, r"kubectl '--context=a$(b)'\''c'");
        let approve = instructions::approve(&named, "it would write");
        assert_eq!(approve.matches(expected).count(), approve.matches("kubectl").count(), "{approve}");
    }

    #[test]
    fn flags_name_the_parts_of_a_migration() {
        let migration = parsed(
            "--controllers=endpointslicemirroring --ours=static-pods --lease=a/b --deployment c/d --timeout=5m -y \
             --context=x",
        )
        .unwrap();
        assert_eq!(migration.controllers, [Controller::EndpointSliceMirroring]);
        assert_eq!(
            (migration.flags.ours, migration.flags.timeout, migration.flags.yes),
            (Form::StaticPods, Duration::from_secs(300), true)
        );
        assert_eq!(
            (migration.flags.lease.0.join("/"), migration.flags.deployment.0.join("/")),
            ("a/b".to_owned(), "c/d".to_owned())
        );
        assert_eq!(migration.target.cluster.context.as_deref(), Some("x"));
    }
}
