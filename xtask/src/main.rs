//! Tasks of maintainers: `cargo xtask bump v1.38.0` takes the repository to another release of Kubernetes, and
//! `cargo xtask newer` says which releases there are. docs/develop/bumping.md describes both.
//!
//! | Module | Step of a bump |
//! |---|---|
//! | [`modules`] | the Go modules from which servers, generators and tables are compiled |
//! | [`constants`] | the release in the sources, Cargo features and claims in documents |
//! | [`tables`] | gates, controllers and flags, from upstream's own packages |
//! | [`records`] | files that are recorded or generated |
//! | [`matrix`] | the pins of older releases |
//! | [`report`] | the upstream files that our rules cite and that changed |

mod constants;
mod matrix;
mod modules;
mod newer;
mod records;
mod release;
mod report;
mod repository;
mod tables;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use release::Release;
use repository::{Outcome, Repository};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of maintainers")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Take the repository to another release of Kubernetes
    Bump {
        /// The release, such as v1.38.0
        to: Release,
        /// The release that documents and sources name now [default: that of hack/testenv/go.mod]
        #[arg(long)]
        from: Option<Release>,
        /// Do only these steps, in their usual order
        #[arg(long = "step", value_enum)]
        steps: Vec<Step>,
    },
    /// List releases newer than those that are built and tested; exit code 1 if there are some
    Newer,
}

/// A step of a bump.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// go.mod files and the date of the tag
    Modules,
    /// The release in sources, manifests and documents
    Constants,
    /// Gates, controllers and flags
    Tables,
    /// The diffs of upstream files that our rules cite
    Report,
    /// The pins of older releases
    Matrix,
    /// Files that are recorded or generated: builds the servers, and takes an hour
    Records,
}

fn bump(repository: &Repository, from: Release, to: Release, steps: &[Step]) -> Outcome {
    for step in Step::value_variants() {
        if !steps.is_empty() && !steps.contains(step) {
            continue;
        }
        match step {
            Step::Modules => modules::update(repository, &from, &to)?,
            Step::Constants => constants::update(repository, &from, &to)?,
            Step::Tables => tables::update(repository, &to)?,
            Step::Report => report::write(repository, &from, &to)?,
            Step::Matrix => matrix::update(repository, &from, &to)?,
            Step::Records => records::update(repository)?,
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let repository = Repository::new();
    let outcome = match arguments.task {
        Task::Bump { to, from, steps } => from
            .map_or_else(|| modules::current(&repository), Ok)
            .and_then(|from| bump(&repository, from, to, &steps)),
        Task::Newer => newer::list(&repository),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
