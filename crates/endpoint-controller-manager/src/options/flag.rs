//! One flag, described by one entry: name, type, range, default, help, key in the configuration file, and its setting.

use std::path::PathBuf;
use std::time::Duration;

use go_text::duration::{format_go_duration, parse_go_duration};
use go_text::strconv::{parse_bool, parse_f64, parse_i32, parse_u32};
use serde_json::Value;

use super::settings::Settings;
use super::value_syntax::{elements, is_zero_quantity};

/// An entry of the tables in [`groups`](super::groups). The parser, `--help`, `/configz`, `/flagz`, the configuration
/// file and `docs/reference/flags.md` are all made from it.
#[derive(Debug)]
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    /// The default as it would be typed; empty for a list without elements.
    pub(crate) default: &'static str,
    help: &'static str,
    pub(crate) kind: Kind,
    /// Path of the field in `KubeControllerManagerConfiguration` that has this value.
    pub(crate) key: Option<&'static str>,
    pub(crate) effect: Effect,
    pub(crate) short: Option<char>,
    /// Not listed by `--help`, as upstream does with deprecated flags.
    pub(crate) hidden: bool,
    /// Lines that are computed and follow the help text.
    pub(crate) choices: Option<fn() -> String>,
    value_name: Option<&'static str>,
    /// May be given without a value, which then means `true` (pflag's `NoOptDefVal`).
    pub(super) optional_value: bool,
    /// Puts elements of a list into the form that `/configz` shows.
    canonical: fn(&str) -> String,
    /// Puts all values together into the form that `/flagz` shows.
    join: fn(&[&str]) -> String,
}

/// The value of [`Kind::FloatOrAuto`] that is not a number.
pub(super) const AUTO: &str = "auto";

/// The type of a flag, its range, and the setting that takes its value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Bool(fn(&mut Settings, bool)),
    Int(fn(&mut Settings, i32)),
    /// An integer between two bounds. A value outside is refused in upstream's words.
    Count {
        min: i32,
        max: i32,
        set: fn(&mut Settings, u32),
    },
    Float(fn(&mut Settings, f64)),
    /// A number, or the word `auto`, which `/configz` shows as the default.
    FloatOrAuto(fn(&mut Settings, Option<f64>)),
    /// A level of klog.
    Level(fn(&mut Settings, u32)),
    Duration(fn(&mut Settings, Duration)),
    Text(fn(&mut Settings, &str)),
    /// A file or a directory; an empty path is none.
    Path(fn(&mut Settings, Option<PathBuf>)),
    /// Text with a meaning of its own, checked together with the other settings.
    Checked(fn(&mut Settings, &str) -> Result<(), String>),
    /// Text with a syntax of its own, checked while the command line is parsed.
    Parsed(fn(&mut Settings, &str) -> Result<(), String>),
    /// Like [`Parsed`](Self::Parsed) for a flag that may be repeated; called once for each value.
    Repeated(fn(&mut Settings, &str) -> Result<(), String>),
    /// Values separated by commas, and in quotes if need be (pflag's `StringSlice`).
    List(fn(&mut Settings, Vec<String>)),
    /// An amount of memory, which only flags without support have.
    Quantity,
}

/// The effect of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Applies,
    /// Accepted, so that command lines of kube-controller-manager can be copied.
    Ignored,
    /// Refused, for this reason, if its value is not the zero value.
    Unsupported(&'static str),
}

/// Entries.
impl Flag {
    pub(super) const fn new(
        name: &'static str,
        default: &'static str,
        help: &'static str,
        kind: Kind,
    ) -> Self {
        Self {
            name,
            default,
            help,
            kind,
            key: None,
            effect: Effect::Applies,
            short: None,
            hidden: false,
            choices: None,
            value_name: None,
            optional_value: matches!(kind, Kind::Bool(_)),
            canonical: str::to_owned,
            join: in_brackets,
        }
    }

    pub(super) const fn ignored(name: &'static str, default: &'static str, kind: Kind) -> Self {
        Self { effect: Effect::Ignored, ..Self::new(name, default, "", kind) }
    }

    pub(super) const fn unsupported(
        name: &'static str,
        default: &'static str,
        kind: Kind,
        reason: &'static str,
    ) -> Self {
        Self { effect: Effect::Unsupported(reason), ..Self::new(name, default, "", kind) }
    }

    pub(super) const fn key(self, key: &'static str) -> Self {
        Self { key: Some(key), ..self }
    }

    pub(super) const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    pub(super) const fn hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    pub(super) const fn choices(self, choices: fn() -> String) -> Self {
        Self { choices: Some(choices), ..self }
    }

    pub(super) const fn value_name(self, value_name: &'static str) -> Self {
        Self { value_name: Some(value_name), ..self }
    }

    pub(super) const fn optional_value(self) -> Self {
        Self { optional_value: true, ..self }
    }

    pub(super) const fn canonical(self, canonical: fn(&str) -> String) -> Self {
        Self { canonical, ..self }
    }

    pub(super) const fn join(self, join: fn(&[&str]) -> String) -> Self {
        Self { join, ..self }
    }
}

/// Values.
impl Flag {
    /// Checks the syntax of one value, with pflag's messages.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        self.store(&mut Settings::default(), text).map(drop)
    }

    /// The values of one word, of which a list may have any number.
    pub(super) fn texts(&self, word: &str) -> Result<Vec<String>, String> {
        if matches!(self.kind, Kind::List(_)) { elements(word) } else { Ok(vec![word.to_owned()]) }
    }

    /// Stores the values, whose syntax has been checked. The error begins with the name of the flag.
    pub(super) fn set(&self, settings: &mut Settings, texts: &[String]) -> Result<(), String> {
        let name = self.name;
        match (self.effect, self.kind) {
            (Effect::Unsupported(reason), _) if !texts.iter().all(|text| self.is_zero(text)) => {
                Err(format!("--{name} is not supported: {reason}"))
            }
            (_, Kind::List(set)) => {
                set(settings, texts.to_vec());
                Ok(())
            }
            _ => texts.iter().try_for_each(|text| {
                let stored = self.store(settings, text).flatten();
                stored.map_err(|error| format!("--{name}{error}"))
            }),
        }
    }

    /// Parses and stores one value. The outer error is about its syntax, the inner one about its meaning, to be read
    /// after the name of the flag.
    fn store(&self, settings: &mut Settings, text: &str) -> Result<Result<(), String>, String> {
        match self.kind {
            Kind::Bool(set) => set(settings, parse_bool(text)?),
            Kind::Int(set) => set(settings, parse_i32(text)?),
            Kind::Count { min, max, set } => {
                return Ok(in_range(parse_i32(text)?, min, max).map(|number| set(settings, number)));
            }
            Kind::Float(set) => set(settings, parse_f64(text)?),
            Kind::FloatOrAuto(set) if text == AUTO => set(settings, None),
            Kind::FloatOrAuto(set) => set(settings, Some(parse_f64(text)?)),
            Kind::Level(set) => set(settings, parse_u32(text)?),
            Kind::Duration(set) => set(settings, parse_go_duration(self.unsigned(text))?),
            Kind::Text(set) => set(settings, text),
            Kind::Path(set) => set(settings, (!text.is_empty()).then(|| text.into())),
            Kind::Checked(set) => return Ok(set(settings, text).map_err(|error| format!(": {error}"))),
            Kind::Parsed(set) | Kind::Repeated(set) => set(settings, text)?,
            Kind::List(_) => drop(elements(text)?),
            Kind::Quantity => drop(is_zero_quantity(text)?),
        }
        Ok(Ok(()))
    }

    /// An ignored duration may be negative.
    fn unsigned<'a>(&self, text: &'a str) -> &'a str {
        match text.strip_prefix('-') {
            Some(unsigned) if self.effect == Effect::Ignored => unsigned,
            _ => text,
        }
    }

    /// Returns whether this is the zero value of its type, which an unsupported flag may be set to.
    fn is_zero(&self, text: &str) -> bool {
        match self.kind {
            Kind::Bool(_) => parse_bool(text) == Ok(false),
            Kind::Quantity => is_zero_quantity(text) == Ok(true),
            Kind::Count { .. }
            | Kind::Int(_)
            | Kind::Float(_)
            | Kind::FloatOrAuto(_)
            | Kind::Level(_)
            | Kind::Duration(_) => ["0", "0s"].contains(&text),
            _ => text.is_empty(),
        }
    }

    /// Returns whether `--help` leaves out the default (pflag's `defaultIsZeroValue`).
    pub(super) fn hides_default(&self) -> bool {
        self.is_zero(self.default) || ["0", "false"].contains(&self.default)
    }
}

/// Output.
impl Flag {
    pub(super) fn may_be_repeated(&self) -> bool {
        matches!(self.kind, Kind::List(_) | Kind::Repeated(_))
    }

    pub(crate) fn value_placeholder(&self) -> &'static str {
        let by_type = match self.kind {
            Kind::Bool(_) => "BOOL",
            Kind::Int(_) | Kind::Count { .. } => "N",
            Kind::Float(_) => "NUMBER",
            Kind::FloatOrAuto(_) => "NUMBER|auto",
            Kind::Level(_) => "LEVEL",
            Kind::Duration(_) => "DURATION",
            Kind::List(_) => "NAMES",
            Kind::Quantity => "QUANTITY",
            Kind::Path(_) => "FILE",
            Kind::Text(_) | Kind::Checked(_) | Kind::Parsed(_) | Kind::Repeated(_) => "TEXT",
        };
        self.value_name.unwrap_or(by_type)
    }

    /// The help text.
    pub(crate) fn description(&self) -> String {
        match self.effect {
            Effect::Unsupported(reason) => format!("Not supported: {reason}"),
            Effect::Applies | Effect::Ignored => self.help.to_owned(),
        }
    }

    /// The help text, with the range after it.
    pub(super) fn help_with_range(&self) -> String {
        match self.kind {
            Kind::Count { min: 0, max: i32::MAX, .. } => self.description(),
            Kind::Count { min, max: i32::MAX, .. } => format!("{} (at least {min})", self.help),
            Kind::Count { min, max, .. } => format!("{} ({min} to {max})", self.help),
            _ => self.description(),
        }
    }

    /// The value in JSON: a boolean, a number, a text (also for durations, in Go's form), or a list of texts.
    pub(super) fn json(&self, texts: &[String]) -> Value {
        let text = texts.last().map_or("", String::as_str);
        let typed = match self.kind {
            Kind::List(_) | Kind::Repeated(_) => {
                return texts.iter().map(|text| (self.canonical)(text)).collect();
            }
            Kind::Bool(_) => parse_bool(text).ok().map(Value::from),
            Kind::Int(_) | Kind::Count { .. } => parse_i32(text).ok().map(Value::from),
            Kind::FloatOrAuto(_) if text == AUTO => parse_f64(self.default).ok().map(number),
            Kind::Float(_) | Kind::FloatOrAuto(_) => parse_f64(text).ok().map(number),
            Kind::Level(_) => parse_u32(text).ok().map(Value::from),
            Kind::Duration(_) => {
                parse_go_duration(text).ok().map(|duration| format_go_duration(duration).into())
            }
            Kind::Text(_) | Kind::Path(_) | Kind::Checked(_) | Kind::Parsed(_) | Kind::Quantity => None,
        };
        typed.unwrap_or_else(|| text.into())
    }

    /// The value as `/flagz` and the log show it.
    pub(super) fn text(&self, texts: &[String]) -> String {
        if self.may_be_repeated() {
            return (self.join)(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        }
        match (self.kind, self.json(texts)) {
            (Kind::FloatOrAuto(_), _) if texts.last().is_some_and(|text| text == AUTO) => AUTO.to_owned(),
            (_, Value::String(text)) => text,
            (_, other) => other.to_string(),
        }
    }
}

/// A number in its range, with upstream's messages (`options/endpointslicecontroller.go` `Validate`).
fn in_range(number: i32, min: i32, max: i32) -> Result<u32, String> {
    match u32::try_from(number) {
        _ if number < min => Err(format!(" must not be less than {min}, but got {number}")),
        _ if number > max => Err(format!(" must not be more than {max}, but got {number}")),
        Ok(number) => Ok(number),
        Err(error) => Err(format!(": {error}")),
    }
}

/// A number as Go's JSON has it: whole ones without a point.
fn number(number: f64) -> Value {
    let text = number.to_string();
    text.parse::<i64>().map_or_else(|_| number.into(), Value::from)
}

/// A list as pflag shows it.
fn in_brackets(texts: &[&str]) -> String {
    format!("[{}]", texts.join(","))
}
