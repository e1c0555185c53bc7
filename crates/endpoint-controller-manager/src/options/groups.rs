//! All flags, section by section as upstream's `--help` has them.

mod controllers;
mod extra;
mod generic;
mod ignored;
mod leader_election;
mod logs;
mod metrics;
mod misc;
mod serving;

use super::flag::Flag;
pub(super) use leader_election::checked as checked_leader_election;

/// A section of `--help`.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) heading: &'static str,
    pub(crate) flags: &'static [Flag],
}

/// The sections in order. Two of the same heading are shown as one.
pub(crate) const GROUPS: &[Group] = &[
    Group { heading: "Flags that kube-controller-manager does not have", flags: extra::FLAGS },
    Group { heading: "Debugging flags", flags: generic::DEBUGGING },
    Group { heading: "Generic flags", flags: generic::FLAGS },
    Group { heading: "Generic flags", flags: leader_election::FLAGS },
    Group { heading: "Secure serving flags", flags: serving::FLAGS },
    Group { heading: "Authentication flags", flags: serving::AUTHENTICATION },
    Group { heading: "Authorization flags", flags: serving::AUTHORIZATION },
    Group { heading: "Endpoints-controller flags", flags: controllers::ENDPOINTS },
    Group { heading: "Endpointslice-controller flags", flags: controllers::ENDPOINT_SLICE },
    Group {
        heading: "Endpointslice-mirroring-controller flags",
        flags: controllers::ENDPOINT_SLICE_MIRRORING,
    },
    Group { heading: "Metrics flags", flags: metrics::FLAGS },
    Group { heading: "Logs flags", flags: logs::FLAGS },
    Group { heading: "Misc flags", flags: misc::FLAGS },
    Group { heading: "Global flags", flags: misc::GLOBAL },
    Group { heading: ignored::HEADING, flags: ignored::FLAGS },
    Group { heading: ignored::REMOVED_HEADING, flags: ignored::REMOVED },
];

/// The flag that prints the help text.
pub(super) const HELP: &str = misc::HELP;

/// All flags.
pub(crate) fn all() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|group| group.flags)
}
