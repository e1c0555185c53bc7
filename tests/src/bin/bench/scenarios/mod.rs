//! Scenarios by name: both programs in one run, medians of several, ratios, and the floor next to them.

pub(crate) mod figures;
mod floor;
mod once;
mod own;
mod results;
pub(crate) mod scenario;
mod table;

use std::process::ExitCode;

use crate::options::Options;
use crate::report;
use once::once;
use results::Results;
use scenario::Scenario;

/// Runs all scenarios of the options, and prints each as soon as it is measured. The JSON is complete up to there, so that
/// a run that is ended early has not been for nothing. Fails if the endpoints of both programs differ.
pub(crate) async fn run(options: &Options) -> ExitCode {
    let mut all = Vec::new();
    for scenario in Scenario::of(options) {
        let results = Box::pin(measure(&scenario, options)).await;
        println!("{}", table::table(&scenario, &results));
        all.push((scenario, results));
        if let Some(path) = &options.json {
            let json: Vec<_> = all.iter().map(|(scenario, results)| results.json(scenario)).collect();
            report::record(path, options.runs, "scenarios", &json);
        }
    }
    let equal = all.iter().all(|(_, results)| results.differences.is_empty());
    if equal { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The programs take turns, so that a change of the machine's speed meets both.
async fn measure(scenario: &Scenario, options: &Options) -> Results {
    let mut results = Results::default();
    for run in 1..=options.runs {
        let mut endpoints = Vec::new();
        for kind in options.kinds() {
            eprintln!("{}, run {run} of {}: {}", scenario.name, options.runs, kind.name());
            let once = Box::pin(once(kind, scenario, &scenario.options(options))).await;
            results.add(kind, once.phases);
            endpoints.push(once.endpoints);
        }
        if let [upstream, ours] = endpoints.as_slice() {
            let namespaces = upstream.iter().zip(ours);
            results.differences.extend(namespaces.filter_map(|(upstream, ours)| upstream.difference(ours)));
        }
    }
    results
}
