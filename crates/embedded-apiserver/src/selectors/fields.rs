//! Field selectors: `ParseSelector` of `k8s.io/apimachinery pkg/fields`, and the fields that kinds can be selected by.

use std::borrow::Cow;

use kube_protobuf::Value;

use super::scan::value_at;
use crate::go_quote::quote as go_quote;

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

/// A field by which objects of a kind can be selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SelectableField {
    /// The label, such as `spec.nodeName`.
    pub(crate) label: &'static str,
    /// Its places in the object; the first that is not empty counts.
    pub(crate) sources: Vec<FieldSource>,
}

/// The place of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldSource {
    /// The numbers of the fields on the way, the outermost first.
    pub(crate) path: Vec<u32>,
    /// True if it is a boolean, which is `false` if absent.
    pub(crate) boolean: bool,
}

/// A field selector. All of its terms must hold; without any it selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Parses a selector.
    pub(crate) fn parse(selector: &str) -> Result<Self, String> {
        let mut parts = split_terms(selector);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts {
            if part.is_empty() {
                continue;
            }
            let (field, equal, value) = split_term(part)
                .ok_or_else(|| format!("invalid selector: '{selector}'; can't understand '{part}'"))?;
            terms.push(Term { field: field.to_owned(), equal, value: unescape(value)? });
        }
        Ok(Self { terms })
    }

    /// Checks that a kind has these fields.
    /// Errors: the message of the API server. Kinds with fields of their own have another one than kinds without.
    pub(crate) fn for_kind(self, namespaced: bool, fields: &[SelectableField]) -> Result<Self, String> {
        for term in &self.terms {
            let known = match term.field.as_str() {
                NAME => true,
                NAMESPACE => namespaced || fields.is_empty(),
                other => has(fields, other),
            };
            if !known {
                return Err(if fields.is_empty() {
                    let field = go_quote(&term.field);
                    format!("{field} is not a known field selector: only \"{NAME}\", \"{NAMESPACE}\"")
                } else {
                    format!("field label not supported: {}", term.field)
                });
            }
        }
        Ok(self)
    }

    /// True if it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value that a field must have.
    fn required(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.equal && term.field == field).map(|term| term.value.as_str())
    }

    /// The name that it requires.
    pub(crate) fn required_name(&self) -> Option<&str> {
        self.required(NAME)
    }

    /// The namespace that it requires.
    pub(crate) fn required_namespace(&self) -> Option<&str> {
        self.required(NAMESPACE)
    }

    /// True if an object is selected.
    pub(crate) fn matches(
        &self,
        namespace: &str,
        name: &str,
        body: &[u8],
        fields: &[SelectableField],
    ) -> bool {
        self.terms.iter().all(|term| {
            let value = match term.field.as_str() {
                NAME => Cow::Borrowed(name.as_bytes()),
                NAMESPACE => Cow::Borrowed(namespace.as_bytes()),
                other => read(body, other, fields),
            };
            (*value == *term.value.as_bytes()) == term.equal
        })
    }
}

fn has(fields: &[SelectableField], label: &str) -> bool {
    fields.iter().any(|field| field.label == label)
}

fn read<'a>(body: &'a [u8], label: &str, fields: &[SelectableField]) -> Cow<'a, [u8]> {
    let sources = fields.iter().find(|field| field.label == label).map_or(&[][..], |field| &field.sources);
    sources.iter().map(|source| source.read(body)).find(|value| !value.is_empty()).unwrap_or_default()
}

impl FieldSource {
    fn read<'a>(&self, body: &'a [u8]) -> Cow<'a, [u8]> {
        match value_at(body, &self.path) {
            Some(Value::Bytes(bytes)) => Cow::Borrowed(bytes),
            Some(Value::Varint(number)) if self.boolean => Cow::Borrowed(boolean(number != 0)),
            Some(Value::Varint(number)) => Cow::Owned(number.cast_signed().to_string().into_bytes()),
            _ if self.boolean => Cow::Borrowed(boolean(false)),
            _ => Cow::Borrowed(b""),
        }
    }
}

fn boolean(value: bool) -> &'static [u8] {
    if value { b"true" } else { b"false" }
}

/// Splits at commas that are not escaped.
fn split_terms(selector: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (index, character) in selector.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(selector.get(start..index).unwrap_or_default());
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(selector.get(start..).unwrap_or_default());
    terms
}

/// Field, whether it must be equal, and value, cut at the first operator.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    term.char_indices().find_map(|(index, _)| {
        let (field, rest) = term.split_at_checked(index)?;
        let operators = [("!=", false), ("==", true), ("=", true)];
        operators.iter().find_map(|(text, equal)| Some((field, *equal, rest.strip_prefix(text)?)))
    })
}

fn unescape(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => text.push(escaped),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(format!("invalid field selector: invalid escape sequence: {sequence}"));
                }
            },
            ',' | '=' => {
                let number = u32::from(character);
                return Err(format!("invalid field selector: unescaped character in value: {number}"));
            }
            other => text.push(other),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
