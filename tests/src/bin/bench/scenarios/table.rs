//! The table of a scenario, in Markdown.

use std::fmt::Write as _;

use tests::manager::Kind;

use super::results::Results;
use super::scenario::Scenario;

/// A row for each figure.
pub(crate) fn table(scenario: &Scenario, results: &Results) -> String {
    let Scenario { name, services, pods, namespaces, nodes, bystanders, .. } = scenario;
    let mut text = format!(
        "\n{name}: {services} Services × {pods} pods in {namespaces} namespaces, {nodes} nodes, {bystanders} more pods\n\n"
    );
    text.push_str("| | upstream | ours | ours ÷ upstream |\n|---|---|---|---|\n");
    for phase in results.phases() {
        let (upstream, ours) = (results.medians(Kind::Upstream, phase), results.medians(Kind::Ours, phase));
        let ratios = results.ratios(phase);
        let figures = if ours.is_empty() { &upstream } else { &ours };
        for figure in figures.keys() {
            let show = |value: Option<&f64>, digits: usize| {
                value.map_or_else(String::new, |value| format!("{value:.digits$}"))
            };
            let digits = |value: Option<&f64>| if value.is_some_and(|value| *value >= 100.0) { 0 } else { 2 };
            let (theirs, own, ratio) = (upstream.get(figure), ours.get(figure), ratios.get(figure));
            writeln!(
                text,
                "| {phase}: {} | {} | {} | {} |",
                figure.replace('_', " "),
                show(theirs, digits(theirs)),
                show(own, digits(own)),
                show(ratio, 3),
            )
            .unwrap();
        }
    }
    let lines: Vec<&str> = results.differences.iter().flat_map(|text| text.lines()).collect();
    if !lines.is_empty() {
        let shown = lines[..lines.len().min(20)].join("\n");
        write!(text, "\nThe endpoints DIFFER in {} lines (- upstream, + ours):\n{shown}\n", lines.len())
            .unwrap();
    }
    text
}
