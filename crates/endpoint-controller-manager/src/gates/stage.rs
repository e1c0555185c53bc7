//! The stages of feature gates, release by release.

use super::version::COUNT;

/// The stages of `k8s.io/component-base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not part of the release yet (`PreAlpha`).
    None,
    Alpha,
    Beta,
    Ga,
    Deprecated,
}

impl Stage {
    /// As metrics and `--help` show it; generally available is empty.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::None => "PRE-ALPHA",
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Ga => "",
            Self::Deprecated => "DEPRECATED",
        }
    }
}

/// A gate in one release.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub(super) stage: Stage,
    pub(super) default: bool,
    /// Only its default can be set.
    pub(super) locked: bool,
    /// On by default if the whole control plane has this release (`MinCompatibilityVersion`).
    pub(super) on_if_compatible: bool,
}

impl Spec {
    pub(super) const ALPHA_OFF: Self = Self::off(Stage::Alpha);
    pub(super) const GA_ON: Self = Self { default: true, ..Self::off(Stage::Ga) };
    pub(super) const NONE: Self = Self::off(Stage::None);

    pub(super) const fn off(stage: Stage) -> Self {
        Self { stage, default: false, locked: false, on_if_compatible: false }
    }

    /// Reads a word of the table, such as `NONE`, `BETA_ON`, `GA_LOCKED_ON` or `BETA_ON_IF_COMPATIBLE`.
    fn parse(word: &str) -> Option<Self> {
        let (stage, rest) = word.split_once('_').unwrap_or((word, "OFF"));
        let stage = match stage {
            "NONE" => Stage::None,
            "ALPHA" => Stage::Alpha,
            "BETA" => Stage::Beta,
            "GA" => Stage::Ga,
            "DEPRECATED" => Stage::Deprecated,
            _ => return None,
        };
        let (locked, value) = rest.strip_prefix("LOCKED_").map_or((false, rest), |value| (true, value));
        let (default, on_if_compatible) = match value {
            "OFF" => (false, false),
            "ON" => (true, false),
            "ON_IF_COMPATIBLE" => (false, true),
            _ => return None,
        };
        Some(Self { stage, default, locked, on_if_compatible })
    }
}

/// A gate at the known releases, the oldest first.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) name: &'static str,
    pub(super) specs: [Spec; COUNT],
    /// Gates that must be on for this one to be on.
    pub(super) depends_on: Vec<&'static str>,
}

impl Gate {
    /// A gate that is the same at all of them.
    pub(super) const fn new(name: &'static str, spec: Spec) -> Self {
        Self { name, specs: [spec; COUNT], depends_on: Vec::new() }
    }

    /// Reads a line of the table: the name, a word for each release, and the names of the gates that it depends on.
    pub(super) fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let specs: Option<Vec<Spec>> = words.by_ref().take(COUNT).map(Spec::parse).collect();
        Some(Self { name, specs: specs?.try_into().ok()?, depends_on: words.collect() })
    }
}
