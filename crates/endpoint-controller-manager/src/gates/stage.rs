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
    pub(super) const fn off(stage: Stage) -> Self {
        Self { stage, default: false, locked: false, on_if_compatible: false }
    }

    const fn on(stage: Stage) -> Self {
        Self { default: true, ..Self::off(stage) }
    }

    const fn locked(self) -> Self {
        Self { locked: true, ..self }
    }

    const fn on_if_compatible(self) -> Self {
        Self { on_if_compatible: true, ..self }
    }
}

/// A gate at the known releases, the oldest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) name: &'static str,
    pub(super) specs: [Spec; COUNT],
    /// Gates that must be on for this one to be on.
    pub(super) depends_on: &'static [&'static str],
}

pub(super) const fn gate(
    name: &'static str,
    specs: [Spec; COUNT],
    depends_on: &'static [&'static str],
) -> Gate {
    Gate { name, specs, depends_on }
}

pub(super) const NONE: Spec = Spec::off(Stage::None);
pub(super) const ALPHA_OFF: Spec = Spec::off(Stage::Alpha);
pub(super) const BETA_OFF: Spec = Spec::off(Stage::Beta);
pub(super) const BETA_ON_IF_COMPATIBLE: Spec = BETA_OFF.on_if_compatible();
pub(super) const BETA_ON: Spec = Spec::on(Stage::Beta);
pub(super) const GA_OFF: Spec = Spec::off(Stage::Ga);
pub(super) const GA_ON: Spec = Spec::on(Stage::Ga);
pub(super) const GA_LOCKED_ON: Spec = GA_ON.locked();
pub(super) const DEPRECATED_OFF: Spec = Spec::off(Stage::Deprecated);
pub(super) const DEPRECATED_ON: Spec = Spec::on(Stage::Deprecated);
pub(super) const DEPRECATED_LOCKED_OFF: Spec = DEPRECATED_OFF.locked();
pub(super) const DEPRECATED_LOCKED_ON: Spec = DEPRECATED_ON.locked();
