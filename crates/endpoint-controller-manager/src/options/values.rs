//! The values of all flags as texts: typed, from the file, or default.

use std::collections::BTreeMap;

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde_json::Value;

use super::errors::Errors;
use super::flag::{Effect, Flag};
use super::groups::{HELP, all};
use super::settings::Settings;

/// The values of every flag by its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlagValues(BTreeMap<&'static str, FlagValue>);

#[derive(Clone, Debug, PartialEq)]
struct FlagValue {
    texts: Vec<String>,
    source: Source,
}

#[derive(Clone, Debug, PartialEq)]
enum Source {
    Default,
    CommandLine,
    /// The name of the file and the path of the field.
    File(String),
}

impl FlagValues {
    /// The values of the command line, and the defaults.
    pub(super) fn new(matches: &ArgMatches) -> Self {
        Self(all().map(|flag| (flag.name, FlagValue::new(flag, matches))).collect())
    }

    /// Takes the value of a field of the configuration file, unless the command line has one. The error is about its syntax.
    pub(super) fn set_from_file(
        &mut self,
        flag: &'static Flag,
        text: &str,
        field: String,
    ) -> Result<(), String> {
        flag.check(text)?;
        let value = FlagValue { texts: flag.texts(text)?, source: Source::File(field) };
        match self.0.get(flag.name) {
            Some(FlagValue { source: Source::CommandLine, .. }) => {}
            _ => drop(self.0.insert(flag.name, value)),
        }
        Ok(())
    }

    /// The typed settings. Values out of range, and flags that are not supported, go to `errors`.
    pub(super) fn settings(&self, errors: &mut Errors) -> Settings {
        let mut settings = Settings::default();
        for flag in all() {
            errors.keep(flag.set(&mut settings, self.texts_of(flag)));
        }
        settings
    }

    /// The field of the configuration file that has set this flag.
    pub(super) fn field(&self, flag: &str) -> Option<&str> {
        match self.0.get(flag)?.source {
            Source::File(ref field) => Some(field),
            Source::Default | Source::CommandLine => None,
        }
    }

    /// Flags and fields that were given and have no effect.
    pub(super) fn without_effect(&self) -> Vec<String> {
        let name = |flag: &Flag| match &self.0.get(flag.name)?.source {
            Source::Default => None,
            Source::CommandLine => Some(format!("--{}", flag.name)),
            Source::File(field) => Some(field.clone()),
        };
        all().filter(|flag| flag.effect == Effect::Ignored).filter_map(name).collect()
    }

    /// The value of a flag in JSON.
    pub(crate) fn json(&self, flag: &Flag) -> Value {
        flag.json(self.texts_of(flag))
    }

    /// All flags in the form of `/flagz` and the log, by name.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let mut shown: Vec<_> =
            all().map(|flag| (flag.name.to_owned(), flag.text(self.texts_of(flag)))).collect();
        shown.sort();
        shown
    }

    fn texts_of(&self, flag: &Flag) -> &[String] {
        self.0.get(flag.name).map_or(&[], |value| &value.texts)
    }
}

impl FlagValue {
    fn new(flag: &Flag, matches: &ArgMatches) -> Self {
        // clap stores no value for it.
        if flag.name == HELP {
            return Self { texts: vec![flag.default.to_owned()], source: Source::Default };
        }
        let words = matches.get_many::<String>(flag.name).into_iter().flatten();
        // The parser has checked their syntax.
        let texts = words.flat_map(|word| flag.texts(word).unwrap_or_default()).collect();
        let source = match matches.value_source(flag.name) {
            Some(ValueSource::CommandLine) => Source::CommandLine,
            _ => Source::Default,
        };
        Self { texts, source }
    }
}
