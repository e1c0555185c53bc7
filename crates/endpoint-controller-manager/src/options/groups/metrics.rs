//! Flags about metrics (`k8s.io/component-base` `metrics/options.go`).

use crate::options::flag::Flag;
use crate::options::flag::Kind::{Checked, List, Path, Repeated};

/// The release whose hidden metrics may be shown.
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
        "Metrics that are not exposed, by full name",
        List(|settings, names| settings.disabled_metrics = names),
    ),
    Flag::new(
        "show-hidden-metrics-for-version",
        "",
        concat!(
            "Release whose hidden metrics are exposed: only the previous one, 1.",
            previous_minor!(),
            "; no metric is hidden at present"
        ),
        Checked(|_, version| match version {
            "" | PREVIOUS_VERSION => Ok(()),
            _ => Err(format!(
                "must be omitted or have the value '{PREVIOUS_VERSION}'; only the previous minor version is allowed"
            )),
        }),
    )
    .value_name("VERSION"),
];
