//! Tasks of this repository that are more than a command: `cargo xtask --help`.

mod bump;
mod harness;
mod newest;
mod shell;

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Tasks of this repository")]
#[command(after_help = "ECM_BIN in the environment names the program to test; without it, it is built.")]
enum Task {
    Bump(bump::Options),
    Newest(newest::Options),
    #[command(flatten)]
    Harness(harness::Harness),
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Bump(options) => bump::run(&options),
        Task::Newest(newest::Options {}) => newest::run(),
        Task::Harness(harness) => harness::run(harness),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn commands_in_documents_are_known() {
        let mut count = 0;
        for file in shell::output(&["git", "ls-files", "*.md"]).unwrap().lines() {
            for rest in shell::read(file).unwrap().split("cargo xtask ").skip(1) {
                let command = rest.split(['`', '#', '\n']).next().unwrap_or_default();
                if let Err(error) = Task::try_parse_from(format!("xtask {command}").split_whitespace()) {
                    assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{file}: {error}");
                }
                count += 1;
            }
        }
        assert!(count > 10, "only {count} commands were found");
    }
}
