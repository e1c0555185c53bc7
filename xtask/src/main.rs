//! Tasks of this repository that are more than a command: `cargo xtask --help`.

mod bump;
mod shell;

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Tasks of this repository")]
enum Task {
    Bump(bump::Options),
}

fn main() -> ExitCode {
    let Task::Bump(options) = Task::parse();
    match bump::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
