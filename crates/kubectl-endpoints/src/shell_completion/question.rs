//! The kind of word that a position of the command line takes.

use std::path::PathBuf;

use clap::{Arg, Command};
use cli_runtime::Program;
use endpoint_diagnostics::audit::rules;
use endpoint_diagnostics::snapshot::Kind;

use crate::explain;
use crate::flags::{ClusterFlags, Target};

/// The words that may stand somewhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// These, each with a description after a tab if it has one.
    Words(Vec<String>),
    Files,
    /// The contexts of this kubeconfig, or of the default one.
    Contexts(Option<PathBuf>),
    /// The names of objects of a kind in a cluster.
    Names(Kind, Target),
}

/// The candidates for the open word after these words.
pub(super) fn question(program: &Program, before: &[String], open: &str) -> Question {
    let Some((name, words)) = before.split_first() else {
        let commands =
            program.subcommands.iter().map(|command| format!("{}\t{}", command.name, command.summary));
        return Question::Words(commands.collect());
    };
    let Some(subcommand) = program.subcommands.iter().find(|subcommand| subcommand.name == name) else {
        return nothing();
    };
    let command = (subcommand.command)();
    let flag_of =
        |word: &str| argument(&command, word).filter(|arg| arg.get_action().takes_values()).cloned();
    if let Some((flag, _)) = open.split_once('=').filter(|_| open.starts_with("--")) {
        return flag_of(flag).map_or_else(nothing, |arg| value(&arg, words));
    }
    if let Some(arg) = words.last().filter(|word| !word.contains('=')).and_then(|word| flag_of(word)) {
        return value(&arg, words);
    }
    if open.starts_with('-') {
        return Question::Words(command.get_arguments().filter_map(flag).collect());
    }
    if name == explain::NAME {
        return Question::Names(Kind::Services, target(words));
    }
    nothing()
}

fn nothing() -> Question {
    Question::Words(vec![])
}

/// The flag that a word names.
fn argument<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    if let Some(long) = word.strip_prefix("--") {
        return command.get_arguments().find(|arg| arg.get_long() == Some(long));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let (letter, rest) = (letters.next()?, letters.next());
    command.get_arguments().find(|arg| rest.is_none() && arg.get_short() == Some(letter))
}

/// A flag with the first line of its help.
fn flag(arg: &Arg) -> Option<String> {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    Some(format!("--{}\t{}", arg.get_long()?, help.lines().next().unwrap_or_default()))
}

/// The values of a flag.
fn value(arg: &Arg, words: &[String]) -> Question {
    match arg.get_long().unwrap_or_default() {
        "namespace" => Question::Names(Kind::Namespaces, target(words)),
        "context" => Question::Contexts(target(words).cluster.kubeconfig),
        "filename" | "kubeconfig" | "config" | "write-kubeconfig" => Question::Files,
        "rule" => Question::Words(rules().map(|rule| rule.id.to_owned()).collect()),
        _ => {
            let values = arg.get_possible_values();
            Question::Words(values.iter().map(|value| value.get_name().to_owned()).collect())
        }
    }
}

/// The cluster and the namespace that words name.
fn target(words: &[String]) -> Target {
    let value = |names: &[&str]| {
        let mut found = None;
        for (index, word) in words.iter().enumerate() {
            let (flag, joined) =
                word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value)));
            if names.contains(&flag) {
                found = joined.map(str::to_owned).or_else(|| words.get(index + 1).cloned());
            }
        }
        found.filter(|value| !value.is_empty())
    };
    let cluster = ClusterFlags {
        kubeconfig: value(&["--kubeconfig"]).map(Into::into),
        context: value(&["--context"]),
        user: value(&["--as"]),
        ..ClusterFlags::default()
    };
    let all_namespaces = words.iter().any(|word| word == "-A" || word == "--all-namespaces");
    Target { cluster, namespace: value(&["-n", "--namespace"]), all_namespaces, ..Target::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Question {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (open, before) = words.split_last().unwrap();
        question(&crate::PROGRAM, before, open)
    }

    fn words(line: &str) -> Vec<String> {
        match asked(line) {
            Question::Words(words) => {
                words.iter().map(|word| word.split('\t').next().unwrap().to_owned()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_flags_and_values_are_those_of_the_program() {
        assert!(words("").contains(&"explain".to_owned()));
        assert!(words("audit --").contains(&"--confirm-after".to_owned()));
        assert_eq!(words("explain -o "), ["table", "wide", "name", "json", "yaml"]);
        for command in ["status", "simulate"] {
            assert_eq!(words(&format!("{command} -o ")), ["table", "wide", "json", "yaml"]);
        }
        assert_eq!(words("preflight --output="), ["text", "json"]);
        assert!(words("audit --rule=").contains(&"stale-pod".to_owned()));
        assert_eq!(words("audit --severity "), ["error", "warning", "info"]);
        assert_eq!(words("no-such "), [] as [String; 0]);
        assert_eq!(words("audit "), [] as [String; 0]);
        assert_eq!(asked("explain -f "), Question::Files);
        assert_eq!(asked("explain --context "), Question::Contexts(None));
        let of_file = Question::Contexts(Some("a".into()));
        assert_eq!(asked("explain --kubeconfig=a --context "), of_file);
    }

    #[test]
    fn names_are_those_of_the_cluster_and_namespace_of_the_line() {
        let Question::Names(Kind::Services, target) = asked("explain -n shop --context=dev we") else {
            panic!("no names")
        };
        assert_eq!(
            (target.namespace.as_deref(), target.cluster.context.as_deref()),
            (Some("shop"), Some("dev"))
        );
        assert!(matches!(asked("explain web -n "), Question::Names(Kind::Namespaces, _)));
        assert!(matches!(asked("explain --namespace=sh"), Question::Names(Kind::Namespaces, _)));
    }
}
