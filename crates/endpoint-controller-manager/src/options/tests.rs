mod config;
mod refused;
mod syntax;

use super::values::FlagValues;
use super::{Usage, command, matches, parse};
use crate::config::Config;

/// The outcome of these words.
fn parse_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Config, Usage> {
    parse(words)
}

/// The configuration of a command line.
fn config(line: &str) -> Result<Config, String> {
    parse_words(line.split_whitespace()).map_err(|usage| match usage {
        Usage::Error(message) => message,
        Usage::Print(text) => panic!("printed: {text}"),
    })
}

/// The text that a command line prints.
fn printed(line: &str) -> String {
    match parse_words(line.split_whitespace()) {
        Err(Usage::Print(text)) => text,
        Ok(_) | Err(Usage::Error(_)) => panic!("{line} prints nothing"),
    }
}

/// The values of a command line, not yet checked as a whole.
pub(super) fn values(line: &str) -> FlagValues {
    let matches = matches(command::build(Vec::new()), &command::normalized(line.split_whitespace(), &[]));
    FlagValues::new(&matches.unwrap_or_else(|usage| panic!("{line}: {usage:?}")))
}

/// A configuration file with these sections, and the flag that names it.
fn file(sections: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("manager.yaml");
    let head = "apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\nkind: KubeControllerManagerConfiguration\n";
    let text =
        if sections.contains("apiVersion") { sections.to_owned() } else { format!("{head}{sections}") };
    std::fs::write(&path, text).unwrap();
    let flag = format!("--config={}", path.display());
    (directory, flag)
}
