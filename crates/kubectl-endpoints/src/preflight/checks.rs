//! The judgements: facts to checks, without requests.

mod leftovers;
mod rights;
mod server;
mod takeover;
mod writers;

use endpoint_controller_manager::config::Config;

use super::check::Check;
use super::facts::Facts;
use super::subject::Subject;
pub(crate) use writers::UPSTREAM;

/// All checks, in the order in which they are shown.
pub(super) fn checks(facts: &Facts, config: &Config, subject: &Subject, before_release: bool) -> Vec<Check> {
    let mut checks = vec![
        server::version(&facts.version, config),
        server::streaming(&facts.streaming),
        server::priority(&facts.priority, subject),
        server::priority_of_lease(&facts.priority_of_lease, subject),
    ];
    checks.extend(rights::rights(&facts.rights, subject));
    checks.extend(writers::writers(facts, config, before_release));
    checks.push(takeover::deletions(&facts.takeover));
    checks.push(takeover::plans(&facts.takeover));
    checks.push(leftovers::workloads(facts));
    checks.push(leftovers::objects(facts, config));
    checks
}

#[cfg(test)]
mod tests;
