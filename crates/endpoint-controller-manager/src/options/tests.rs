mod config;
mod refused;
mod syntax;

use std::ffi::OsString;

use super::values::FlagValues;
use super::{Parsed, command, parse};
use crate::config::Config;

/// The outcome of these words.
fn parse_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Parsed {
    parse(std::iter::once("endpoint-controller-manager").chain(words).map(OsString::from))
}

/// The configuration of a command line.
fn config(line: &str) -> Result<Config, String> {
    match parse_words(line.split_whitespace()) {
        Parsed::Run(config) => Ok(*config),
        Parsed::Error(message) => Err(message),
        Parsed::Print(text) => panic!("printed: {text}"),
    }
}

/// The text that a command line prints.
fn printed(line: &str) -> String {
    match parse_words(line.split_whitespace()) {
        Parsed::Print(text) => text,
        Parsed::Run(_) | Parsed::Error(_) => panic!("{line} prints nothing"),
    }
}

/// The values of a command line, not yet checked as a whole.
pub(super) fn values(line: &str) -> FlagValues {
    let words = std::iter::once("endpoint-controller-manager").chain(line.split_whitespace());
    let matches =
        command::build(Vec::new()).try_get_matches_from(command::normalized(words.map(OsString::from)));
    FlagValues::new(&matches.unwrap_or_else(|error| panic!("{line}: {error}")))
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
