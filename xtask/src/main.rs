//! Tasks of this repository that are more than a command: `cargo xtask --help`.

mod bump;
mod newest;
mod shell;

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Tasks of this repository")]
enum Task {
    Bump(bump::Options),
    Newest(newest::Options),
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Bump(options) => bump::run(&options),
        Task::Newest(newest::Options {}) => newest::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
