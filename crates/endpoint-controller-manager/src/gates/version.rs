//! The Kubernetes release that is emulated.

use std::fmt;
use std::ops::RangeInclusive;

/// The only component with versions and gates.
pub(super) const COMPONENT: &str = "kube";
/// Number of releases that can be emulated.
pub(super) const COUNT: usize = (NEWEST.0 - OLDEST.0 + 1) as usize;

const OLDEST: Minor = Minor(oldest_minor!());
const NEWEST: Minor = Minor(newest_minor!());

/// A release `1.<minor>` of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor(u16);

impl Minor {
    /// The oldest and the newest release that are known.
    pub const KNOWN: RangeInclusive<Self> = OLDEST..=NEWEST;

    /// The release `1.<minor>`.
    pub const fn new(minor: u16) -> Self {
        Self(minor)
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// The emulated release, whose gates apply, and the minimum compatibility version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    emulated: Minor,
    min_compatibility: Minor,
}

impl Default for Versions {
    fn default() -> Self {
        Self { emulated: NEWEST, min_compatibility: Minor(NEWEST.0 - 1) }
    }
}

impl Versions {
    /// Reads `--emulated-version` and `--min-compatibility-version`. The error begins with the flag.
    pub fn new(emulated: &[String], min_compatibility: &[String]) -> Result<Self, String> {
        let emulated = parse(emulated).map_err(|error| format!("--emulated-version: {error}"))?;
        let emulated = emulated.unwrap_or(NEWEST);
        if !Minor::KNOWN.contains(&emulated) {
            return Err(format!(
                "--emulated-version: emulation version {emulated} is not between [{OLDEST}, {NEWEST}]"
            ));
        }
        let flag = "--min-compatibility-version";
        let least = parse(min_compatibility).map_err(|error| format!("{flag}: {error}"))?;
        let least = least.unwrap_or(Minor(emulated.0 - 1).max(OLDEST));
        if !(OLDEST..=emulated).contains(&least) {
            return Err(format!(
                "{flag}: minCompatibilityVersion version {least} is not between [{OLDEST}, {emulated}]"
            ));
        }
        Ok(Self { emulated, min_compatibility: least })
    }

    /// The release whose gates apply.
    pub fn emulated(self) -> Minor {
        self.emulated
    }

    /// The minimum compatibility version.
    pub fn min_compatibility(self) -> Minor {
        self.min_compatibility
    }

    /// The column of tables of gates.
    pub(super) fn column(self) -> usize {
        usize::from(self.emulated.0 - OLDEST.0)
    }
}

/// Reads `[kube=]major.minor`; none if there is no value (`toVersionMap`).
fn parse(values: &[String]) -> Result<Option<Minor>, String> {
    let mut found: Option<Minor> = None;
    for value in values {
        let (component, text) = value.split_once('=').unwrap_or((COMPONENT, value));
        let (component, text) = (component.trim(), text.trim());
        let minor = parse_version(component, text)?;
        if component != COMPONENT {
            return Err(format!("component not registered: {component}"));
        }
        if let Some(other) = found {
            return Err(format!("duplicate version flag, kube={other} and kube={minor}"));
        }
        found = Some(minor);
    }
    Ok(found)
}

fn parse_version(component: &str, text: &str) -> Result<Minor, String> {
    let malformed = || format!("could not parse {text:?} as version");
    let digits = text.strip_prefix('v').unwrap_or(text);
    let parts: Vec<u16> =
        digits.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| malformed())?;
    match *parts.as_slice() {
        [_, _, patch] if patch != 0 => Err(format!("patch version not allowed, got: {component}={digits}")),
        [1, minor] | [1, minor, 0] => Ok(Minor(minor)),
        [_, _] | [_, _, 0] => Err(format!("version {digits} is not a release of Kubernetes 1")),
        _ => Err(malformed()),
    }
}
