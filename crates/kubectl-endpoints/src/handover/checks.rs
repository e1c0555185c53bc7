//! The checks before a handover: `preflight`, for the flags and the user of ours as far as the cluster shows them.

use std::time::Duration;

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::options;

use super::command::Migration;
use super::observe::State;
use super::own_flags;
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::preflight::{self, Check, DELETIONS, Status, Subject, UPSTREAM_LEASE};

/// The time in which controllers that run have written what was about to be written.
const CONFIRM_AFTER: Duration = Duration::from_secs(5);

/// Checks that end a handover also by a warning: a start would delete something, or kube-controller-manager does not use its Lease
/// as it should. Of ours, the first step finds out whether its holder still renews it.
const STRICT: [&str; 2] = [DELETIONS.name, UPSTREAM_LEASE.name];

/// The reason not to begin, if there is one.
///
/// # Errors
/// A line about what cannot be read.
pub(super) async fn refusal(
    cluster: &Cluster,
    migration: &Migration,
    state: &State,
) -> Result<Option<String>, Failure> {
    let template = state.template.as_ref();
    let account = template.and_then(|spec| spec.service_account_name.as_ref());
    let account = account.and_then(|name| {
        Subject::service_account(&format!("{}:{name}", migration.flags.deployment.0[0])).ok()
    });
    let subject = account.unwrap_or(Subject::Caller);
    // Without its arguments, the controllers of the migration are known.
    let words = template.and_then(|spec| own_flags::arguments(spec).ok()).unwrap_or_default();
    let checks = preflight::run(cluster, &config(migration, &words)?, &subject, CONFIRM_AFTER, false).await?;
    let lines: Vec<String> = checks.iter().filter(|check| is_reason(check)).map(line).collect();
    Ok((!lines.is_empty())
        .then(|| format!("`preflight` says:\n{}\n--skip-checks goes on all the same", lines.join("\n"))))
}

fn is_reason(check: &Check) -> bool {
    check.status == Status::Failed || check.status != Status::Ok && STRICT.contains(&check.id)
}

fn line(check: &Check) -> String {
    let remedy = check.remedy.as_ref().map(|remedy| format!("\n    -> {remedy}")).unwrap_or_default();
    format!("  {}: {}{remedy}", check.id, check.message)
}

/// The configuration of ours; without words, or with words that do not tell, that of its controllers alone.
fn config(migration: &Migration, words: &[String]) -> Result<Config, Failure> {
    let names: Vec<&str> = migration.controllers.iter().map(|controller| controller.name()).collect();
    let parse = |words: &[String]| options::parse_remote(words).map_err(Failure::Input);
    let of_controllers = [format!("--controllers={}", names.join(","))];
    if words.is_empty() {
        // Its command line is not known before it runs as static pods or processes, or without its Deployment.
        return parse(&of_controllers);
    }
    parse(words).or_else(|_| parse(&of_controllers))
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::super::facts::Goal;
    use super::*;
    use crate::preflight::{Id, OWN_LEASE, VERSION};
    use endpoint_controller_manager::controllers::Controller;

    #[test]
    fn a_warning_about_upstreams_lease_or_a_deletion_is_a_reason() {
        let reasons = |status| {
            let check =
                |id: Id| Check { id: id.name, group: id.group, status, message: String::new(), remedy: None };
            [DELETIONS, OWN_LEASE, UPSTREAM_LEASE, VERSION].map(|id| is_reason(&check(id)))
        };
        assert_eq!(reasons(Status::Failed), [true; 4]);
        assert_eq!(reasons(Status::Warning), [true, false, true, false]);
        assert_eq!(reasons(Status::Ok), [false; 4]);
    }

    #[test]
    fn only_the_controllers_of_the_migration_are_looked_at_where_the_command_line_is_not_known() {
        for form in ["deployment", "static-pods", "processes"] {
            let words = [format!("--ours={form}"), "--controllers=endpointslicemirroring".to_owned()]
                .map(std::ffi::OsString::from);
            let Ok(migration) = command::parse(Goal::Handover, &words) else { panic!("{words:?}") };
            let looked_at = |words: &[&str]| {
                let words: Vec<String> = words.iter().map(ToString::to_string).collect();
                config(&migration, &words).unwrap_or_else(|_| panic!("{words:?}")).controllers
            };
            for unknown in [&[][..], &["--no-such-flag"], &["--config=/dev/null"]] {
                assert_eq!(looked_at(unknown), [Controller::EndpointSliceMirroring], "{form} {unknown:?}");
            }
            assert_eq!(looked_at(&["--controllers=endpointslice"]), [Controller::EndpointSlice], "{form}");
        }
    }
}
