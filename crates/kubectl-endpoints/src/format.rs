//! The form of a result, as with kubectl's `-o`.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};

/// A form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Table,
    Wide,
    /// `kind/name` or `kind.group/name` in lines.
    Name,
    Json,
    Yaml,
}

impl Format {
    /// True for documents, which are for programs.
    pub(crate) fn is_document(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }
}

/// The values of a flag, by name, such as the forms of `--output`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forms<T: 'static>(pub(crate) &'static [(&'static str, T)]);

/// Of commands that print objects with names.
pub(crate) const NAMED: Forms<Format> = Forms(&[
    ("table", Format::Table),
    ("wide", Format::Wide),
    ("name", Format::Name),
    ("json", Format::Json),
    ("yaml", Format::Yaml),
]);
/// Of commands that print no list of names.
pub(crate) const UNNAMED: Forms<Format> = Forms(&[
    ("table", Format::Table),
    ("wide", Format::Wide),
    ("json", Format::Json),
    ("yaml", Format::Yaml),
]);

impl<T: Copy + Send + Sync + 'static> TypedValueParser for Forms<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let forms = self.0;
        let parse = move |text: &str| {
            let found = forms.iter().find(|(name, _)| *name == text).map(|(_, form)| *form);
            found.ok_or_else(|| format!("must be {}", alternatives(forms)))
        };
        parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|(name, _)| PossibleValue::new(*name))))
    }
}

/// The names as words: `json or yaml`.
fn alternatives<T>(forms: &[(&'static str, T)]) -> String {
    let names: Vec<&str> = forms.iter().map(|(name, _)| *name).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        all => all.concat(),
    }
}
