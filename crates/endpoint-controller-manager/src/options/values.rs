//! Every flag with its value, as the server shows them.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;

use crate::duration::{format_go_duration, parse_go_duration};
use crate::gates;
use crate::strconv::{parse_bool, parse_f64, parse_i32};

/// The value of each flag by its name, typed or default.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FlagValues(BTreeMap<String, Value>);

impl FlagValues {
    pub(super) fn new(command: &Command, matches: &ArgMatches) -> Self {
        let value = |arg: &Arg| Some((arg.get_long()?.to_owned(), value(arg, matches)));
        Self(command.get_arguments().filter_map(value).collect())
    }

    /// The value of one flag: a bool, a number, a text (also for durations, in Go's form), or a list of texts.
    pub(crate) fn get(&self, flag: &str) -> Option<&Value> {
        self.0.get(flag)
    }

    /// All flags in the form of `/flagz` and the log.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (String, String)> {
        self.0.iter().map(|(name, value)| (name.clone(), text(name, value)))
    }
}

fn value(arg: &Arg, matches: &ArgMatches) -> Value {
    if matches!(arg.get_action(), ArgAction::HelpShort) {
        return false.into();
    }
    let mut texts = matches
        .get_raw(arg.get_id().as_str())
        .into_iter()
        .flatten()
        .map(|raw| raw.to_string_lossy().into_owned());
    if matches!(arg.get_action(), ArgAction::Append) {
        return texts.collect();
    }
    let text = texts.next().unwrap_or_default();
    let is = |id: TypeId| arg.get_value_parser().type_id() == id;
    let typed = if is(TypeId::of::<bool>()) {
        parse_bool(&text).ok().map(Value::from)
    } else if is(TypeId::of::<i32>()) {
        parse_i32(&text).ok().map(Value::from)
    } else if is(TypeId::of::<f64>()) {
        parse_f64(&text).ok().map(number)
    } else if is(TypeId::of::<Duration>()) {
        parse_go_duration(&text).ok().map(|duration| format_go_duration(duration).into())
    } else {
        None
    };
    typed.unwrap_or_else(|| text.into())
}

/// A number as Go's JSON has it: whole ones without a point.
fn number(number: f64) -> Value {
    let text = number.to_string();
    text.parse::<i64>().map_or_else(|_| number.into(), Value::from)
}

fn text(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(texts) => {
            let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
            // The first two are no lists to upstream.
            match name {
                "feature-gates" => gates::shown(&texts),
                "vmodule" => texts.join(","),
                _ => format!("[{}]", texts.join(",")),
            }
        }
        other => other.to_string(),
    }
}
