//! Flags about metrics (`k8s.io/component-base` `metrics/options.go`).

use crate::options::flag::Flag;
use crate::options::flag::Kind::{Checked, List, Path, Repeated};

/// The release whose hidden metrics upstream may show.
const PREVIOUS_VERSION: &str = concat!("1.", previous_minor!());

const BOUNDED: &str = "no metric has a label with unbounded values";

pub(super) const FLAGS: &[Flag] = &[
    Flag::unsupported(
        "allow-metric-labels",
        "",
        Repeated(|_, _| Ok(())),
        BOUNDED,
    )
    .value_name("LABEL=VALUES"),
    Flag::unsupported(
        "allow-metric-labels-manifest",
        "",
        Path(|_, _| ()),
        BOUNDED,
    ),
    Flag::new(
        "disabled-metrics",
        "",
        "Full names of metrics that are not exposed",
        List(|settings, names| settings.disabled_metrics = names),
    ),
    Flag::new(
        "show-hidden-metrics-for-version",
        "",
        concat!(
            "Release whose hidden metrics are exposed, 1.",
            previous_minor!(),
            " or another supported one; has no effect, because no metric is hidden"
        ),
        Checked(|_, version| {
            if version.is_empty() || is_previous_of_supported(version) {
                return Ok(());
            }
            Err(format!(
                "must be omitted or have the value '{PREVIOUS_VERSION}'; only the previous minor version is allowed"
            ))
        }),
    )
    .value_name("VERSION"),
];

/// True for the value that upstream takes on a supported release, whose command line can be copied.
fn is_previous_of_supported(version: &str) -> bool {
    let minor = version.strip_prefix("1.").and_then(|minor| minor.parse::<u16>().ok());
    minor.is_some_and(|minor| (oldest_minor!() - 1..=previous_minor!()).contains(&minor))
}
