//! `cargo xtask bump v1.38.0`: makes another release of Kubernetes the one that the program behaves as.
//!
//! ```text
//! hack/testenv/go.mod ─> Go modules ─> names ─> report ─> tables ─> cases ─> records ─> documents
//! ```
//!
//! Each step can be repeated. What it can't do is decide: `docs/develop/bumping.md` says what a person reads afterwards.

mod cited;
pub(crate) mod modules;
pub(crate) mod release;
mod texts;

use clap::ValueEnum;

use self::release::Release;
use crate::shell::{self, Error};

/// Makes another release of Kubernetes the one that the program behaves as
///
/// Changes the work tree only; see docs/develop/bumping.md. Downloads the release, and compiles its servers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo xtask bump v1.38.0
  cargo xtask bump v1.38.0 --from records   # after the code was mended
  cargo xtask bump v1.38.0-alpha.0 --to report
  cargo xtask bump v1.38.0 --old v1.37.2 --from report --to report")]
pub(crate) struct Options {
    /// Release, such as v1.38.0
    #[arg(value_parser = Release::parse)]
    release: Release,
    /// Release before, by default that of hack/testenv/go.mod; needed up to the report once that is the new one
    #[arg(long, value_name = "RELEASE", value_parser = Release::parse)]
    old: Option<Release>,
    /// First step
    #[arg(long, value_enum, default_value = "modules")]
    from: Step,
    /// Last step
    #[arg(long, value_enum, default_value = "documents")]
    to: Step,
}

/// A part of the work, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Step {
    /// go.mod and go.sum, and the pins of the releases that hack/matrix runs
    Modules,
    /// The release in constants, sources and documents, and the feature of k8s-openapi
    Names,
    /// The upstream files that rules cite and that changed, and the lines that name a minor release, in target/bump.txt
    Report,
    /// Feature gates, controllers and flags of kube-controller-manager
    Tables,
    /// Types, codec cases, patches, and cases of the three controllers
    Cases,
    /// The servers, and what tests record of kube-apiserver: facts, columns, schemas
    Records,
    /// Documents that are generated
    Documents,
}

/// The path of the report.
const REPORT: &str = "target/bump.txt";

/// Runs the steps.
///
/// # Errors
/// If one fails. The later ones have not begun.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let new = &options.release;
    let old = options.old.clone().map_or_else(modules::present, Ok)?;
    if options.from <= Step::Report && options.old.is_none() && old == *new {
        return Err(Error::Other(format!(
            "hack/testenv/go.mod names {new} already: name the release before it (--old), or a later step (--from tables)"
        )));
    }
    for step in Step::value_variants() {
        if (options.from..=options.to).contains(step) {
            eprintln!("xtask: {step:?} of Kubernetes {new}, after {old}");
            step.run(&old, new)?;
        }
    }
    Ok(())
}

impl Step {
    fn run(self, old: &Release, new: &Release) -> Result<(), Error> {
        match self {
            Self::Modules => {
                modules::change(old, new)?;
                pins(old, new)
            }
            Self::Names => texts::change(old, new),
            Self::Tables => shell::run(
                &[
                    "hack/testenv/compile",
                    "run",
                    "./tables",
                    "-crate",
                    "../../crates/endpoint-controller-manager",
                ],
                &[],
            ),
            Self::Cases => cases(),
            Self::Records => records(),
            Self::Documents => documents(),
            Self::Report => report(old, new),
        }
    }
}

/// hack/matrix runs the newest patch release of each supported minor, the newest of all by hack/testenv/go.mod.
fn pins(old: &Release, new: &Release) -> Result<(), Error> {
    if new.minor <= old.minor {
        return Ok(());
    }
    shell::run(&["hack/testenv/release", "--pin", &format!("v{old}")], &[])?;
    let pinned = shell::output(&["ls", "hack/testenv/releases"])?;
    for name in pinned.lines() {
        let is_old = Release::parse(name).is_ok_and(|release| release.minor + texts::BEFORE < new.minor);
        if is_old {
            shell::run(&["rm", &format!("hack/testenv/releases/{name}")], &[])?;
        }
    }
    Ok(())
}

/// Before the steps that a change of upstream can stop until a person has mended what the report names.
fn report(old: &Release, new: &Release) -> Result<(), Error> {
    let (cited, minors) = (cited::report(old, new)?, texts::minor_releases(new)?);
    let report = format!("{cited}\nLines that name a minor release:\n\n{minors}");
    let failed = |error| Error::File { path: REPORT.into(), error };
    std::fs::create_dir_all(shell::root().join("target")).map_err(failed)?;
    std::fs::write(shell::root().join(REPORT), report).map_err(failed)?;
    eprintln!("xtask: read {REPORT}");
    Ok(())
}

fn cases() -> Result<(), Error> {
    shell::run(&["hack/checks/schema"], &[])?;
    shell::run(&["hack/testenv/compile", "run", "./patches"], &[])?;
    shell::run(&["go", "-C", "hack/fixtures", "run", ".", "../../crates/kube-protobuf/testdata"], &[])?;
    shell::run(&["go", "-C", "hack/golden", "run", "."], &[])?;
    for of in ["endpoints", "mirroring", "addresses"] {
        shell::run(&["go", "-C", "hack/golden", "run", ".", "-of", of], &[])?;
    }
    Ok(())
}

fn records() -> Result<(), Error> {
    let servers = shell::path(&["hack/testenv/build"])?;
    // A recorder starts it.
    shell::run(&["cargo", "build", "--profile", "test", "--locked", "--package", "kubectl-endpoints"], &[])?;
    let tests = ["conformance::recorded_", "kubectl::documents::", "kubectl::served"];
    let mut words = vec!["cargo", "test", "--package", "tests", "--test", "it", "--"];
    words.extend(tests);
    shell::run(&words, &[("RECORD", "1"), ("KUBEBUILDER_ASSETS", &servers)])
}

/// Those that the program writes; the other tests of documents hold only after `hack/matrix`.
fn documents() -> Result<(), Error> {
    let tests = ["generated_docs::flags", "generated_docs::metrics"];
    let mut words = vec!["cargo", "test", "--package", "endpoint-controller-manager", "--lib", "--"];
    words.extend(tests);
    shell::run(&words, &[("UPDATE_DOCS", "1")])
}
