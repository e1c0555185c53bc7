//! A program with subcommands, in one table: dispatch, `--help`, completion and man pages are made from it.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;

use crate::names::Names;
use crate::usage::{Usage, matches};
use crate::{completion, man};

/// The form of `--help` of a program: its subcommands, which [`Program::summary`] lists in `before_help`, come first.
pub const COMMANDS_FIRST: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// A program with subcommands. It also has `completion` and `man`.
#[derive(Debug)]
pub struct Program {
    /// Its names.
    pub names: Names,
    /// The command without subcommands.
    pub command: fn() -> Command,
    /// The subcommands, in the order of `--help`.
    pub subcommands: &'static [Subcommand],
}

/// A subcommand.
#[derive(Debug)]
pub struct Subcommand {
    /// The word that selects it.
    pub name: &'static str,
    /// One line for `--help` of the program.
    pub summary: &'static str,
    /// The command with its flags.
    pub command: fn() -> Command,
    /// Runs it with the words after its name.
    pub run: fn(&[OsString]) -> ExitCode,
}

impl Program {
    /// Runs the subcommand that the first word after the program's name selects, if any.
    pub fn run(&self, words: &[OsString]) -> Option<ExitCode> {
        let (first, rest) = words.get(1..)?.split_first()?;
        if first == completion::NAME {
            return Some(completion::main(&self.names, self.root(), rest));
        }
        if first == man::NAME {
            return Some(man::main(&self.names, self.root(), rest));
        }
        if first == VERSION {
            return matches(self.version(), rest).err().map(Usage::report);
        }
        let subcommand = self.subcommands.iter().find(|subcommand| first == subcommand.name)?;
        Some((subcommand.run)(rest))
    }

    /// The list of subcommands for `--help` of the program.
    pub fn summary(&self) -> String {
        let own = self.subcommands.iter().map(|subcommand| (subcommand.name, subcommand.summary));
        let more = [
            (completion::NAME, completion::SUMMARY),
            (man::NAME, man::SUMMARY),
            (HELP, "Print the help of a command"),
            (VERSION, VERSION_SUMMARY),
        ];
        let all = || own.clone().chain(more);
        let width = all().map(|(name, _)| name.len()).max().unwrap_or_default();
        let lines: Vec<String> = all().map(|(name, summary)| format!("  {name:width$}  {summary}")).collect();
        format!("Commands (each has a --help of its own):\n{}", lines.join("\n"))
    }

    /// The command that only has its help, as [`long_form`] makes a flag of it otherwise.
    fn version(&self) -> Command {
        let usage = format!("{} {VERSION}", self.names.usage);
        Command::new(VERSION).about(VERSION_SUMMARY).override_usage(usage)
    }

    /// The command with its subcommands, as completion and man pages show it.
    pub fn root(&self) -> Command {
        let subcommands =
            self.subcommands.iter().map(|subcommand| (subcommand.command)().name(subcommand.name));
        (self.command)()
            .name(self.names.executable)
            .bin_name(self.names.usage)
            .disable_help_subcommand(true)
            .subcommands(subcommands)
            .subcommands([completion::command(&self.names), man::command(&self.names)])
    }
}

const HELP: &str = "help";
const VERSION: &str = "version";
const VERSION_SUMMARY: &str = "Print the version";

/// The words of a program, with `help` and a lone `version` as flags: `help audit` is `audit --help`.
pub fn long_form(mut words: Vec<OsString>) -> Vec<OsString> {
    let flag = match words.get(1).and_then(|word| word.to_str()) {
        Some(HELP) => "--help",
        Some(VERSION) if words.len() == 2 => "--version",
        _ => return words,
    };
    words.remove(1);
    words.push(flag.into());
    words
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use clap::{Arg, ValueEnum as _};

    use super::*;

    const PROGRAM: Program = Program {
        names: Names { executable: "kubectl-look", usage: "kubectl look" },
        command: || Command::new("look").arg(Arg::new("verbose").long("verbose")),
        subcommands: &[Subcommand {
            name: "at",
            summary: "Look at a thing",
            command: || Command::new("at").arg(Arg::new("all-things").long("all-things")),
            run: |words| ExitCode::from(u8::try_from(words.len()).unwrap_or_default()),
        }],
    };

    #[test]
    fn every_script_knows_subcommands_and_flags() {
        PROGRAM.root().debug_assert();
        for shell in clap_complete::Shell::value_variants() {
            let script = completion::script(&PROGRAM.names, PROGRAM.root(), *shell);
            for word in ["kubectl-look", "at", "verbose", "all-things", "completion"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }

    #[test]
    fn a_word_names_a_subcommand_only_in_the_first_place() {
        let run = |text: &str| PROGRAM.run(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(run("kubectl-look").is_none());
        assert!(run("kubectl-look --verbose at").is_none());
        assert_eq!(run("kubectl-look at one two"), Some(ExitCode::from(2)));
    }

    #[test]
    fn help_and_version_are_commands_too() {
        let long = |text: &str| {
            let words = long_form(text.split(' ').map(OsString::from).collect());
            words.join(OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(long("look help"), "look --help");
        assert_eq!(long("look help at"), "look at --help");
        assert_eq!(long("look version"), "look --version");
        assert_eq!(long("look version --help"), "look version --help");
        assert_eq!(long("look help version"), "look version --help");
        assert_eq!(long("look at help"), "look at help");
        assert_eq!(long("look"), "look");
    }

    #[test]
    fn version_has_a_help_of_its_own() {
        let Err(Usage::Print(help)) = matches(PROGRAM.version(), &["--help".into()]) else { panic!("runs") };
        assert!(help.contains("Usage: kubectl look version"), "{help}");
        let refused = Usage::Error(r#""version" does not take any arguments, got ["x"]"#.to_owned());
        assert_eq!(matches(PROGRAM.version(), &["x".into()]).err(), Some(refused));
    }
}
