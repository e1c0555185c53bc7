//! Logs in the two formats of Kubernetes: klog's text and its JSON.
//!
//! `I1121 08:39:49.123456    4242 sync.rs:42] "Synced" service="default/web"` and
//! `{"ts":1763714389123.456,"caller":"sync.rs:42","msg":"Synced","v":0,"service":"default/web"}`.

use std::fmt::{self, Write};
use std::sync::OnceLock;

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Registry};
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;

/// The crates whose logs are ours.
const OURS: [&str; 6] = [
    "endpoint_controller_manager",
    "endpoints_controller",
    "endpointslice_controller",
    "endpointslice_mirroring_controller",
    "controller_runtime",
    "component_server",
];

/// Changes what is logged while the process runs.
static FILTER: OnceLock<Handle<Targets, Registry>> = OnceLock::new();

/// Sends logs to stderr until the guard is dropped, which writes what is left.
///
/// A thread of its own writes: a reader of stderr that doesn't keep up never blocks the process, it misses lines.
pub(crate) fn init(format: LogFormat, verbosity: u32) -> WorkerGuard {
    let (filter, handle) = reload::Layer::new(filter(verbosity));
    let _ = FILTER.set(handle);
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).event_format(Klog { format });
    tracing_subscriber::registry().with(filter).with(layer.with_ansi(false)).init();
    guard
}

/// From now on as if started with this verbosity.
pub(crate) fn set_verbosity(verbosity: u32) -> Result<(), String> {
    match FILTER.get() {
        Some(handle) => handle.reload(filter(verbosity)).map_err(|error| error.to_string()),
        None => Err("nothing is logged".to_owned()),
    }
}

/// `verbosity` is klog's: 4 shows each sync, 6 each event; from 8 on the libraries below speak too.
fn filter(verbosity: u32) -> Targets {
    let ours = match verbosity {
        0..=3 => Level::INFO,
        4..=5 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let theirs = if verbosity >= 8 { Level::DEBUG } else { Level::ERROR };
    OURS.iter().fold(Targets::new().with_default(theirs), |filter, name| filter.with_target(*name, ours))
}

struct Klog {
    format: LogFormat,
}

impl<S, N> FormatEvent<S, N> for Klog
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let now = Timestamp::now();
        let line = match self.format {
            LogFormat::Text => text_line(now, event.metadata(), &fields),
            LogFormat::Json => json_line(now, event.metadata(), &fields),
        };
        writeln!(writer, "{line}")
    }
}

/// The message and the fields of an event, in order.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, String)>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field, value.to_owned());
    }
}

impl Fields {
    fn record(&mut self, field: &Field, value: String) {
        if field.name() == "message" {
            self.message = value;
        } else {
            self.others.push((field.name(), value));
        }
    }
}

/// File name and line of the call.
fn caller(metadata: &tracing::Metadata<'_>) -> String {
    let file = metadata.file().unwrap_or("unknown");
    let name = file.rsplit('/').next().unwrap_or(file);
    format!("{name}:{}", metadata.line().unwrap_or_default())
}

fn text_line(now: Timestamp, metadata: &tracing::Metadata<'_>, fields: &Fields) -> String {
    let severity = match *metadata.level() {
        Level::ERROR => 'E',
        Level::WARN => 'W',
        _ => 'I',
    };
    let time = now.strftime("%m%d %H:%M:%S%.6f");
    let mut line = format!(
        "{severity}{time} {:7} {}] {}",
        std::process::id(),
        caller(metadata),
        quoted(&fields.message)
    );
    for (name, value) in &fields.others {
        // Writing to a String cannot fail.
        let _ = write!(line, " {name}={}", quoted(value));
    }
    line
}

/// Text in quotes, with everything escaped that could end the line or the quotes.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn json_line(now: Timestamp, metadata: &tracing::Metadata<'_>, fields: &Fields) -> String {
    let mut object = serde_json::Map::new();
    #[allow(clippy::cast_precision_loss)] // microseconds since the epoch fit
    let milliseconds = now.as_microsecond() as f64 / 1000.0;
    object.insert("ts".to_owned(), milliseconds.into());
    object.insert("caller".to_owned(), caller(metadata).into());
    object.insert("msg".to_owned(), fields.message.as_str().into());
    // klog gives errors no verbosity.
    match *metadata.level() {
        Level::ERROR => None,
        Level::WARN | Level::INFO => object.insert("v".to_owned(), 0.into()),
        Level::DEBUG => object.insert("v".to_owned(), 4.into()),
        Level::TRACE => object.insert("v".to_owned(), 6.into()),
    };
    for (name, value) in &fields.others {
        object.insert((*name).to_owned(), value.as_str().into());
    }
    serde_json::Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What a subscriber with this format writes for the events of `emit`.
    fn logged(format: LogFormat, emit: impl FnOnce()) -> String {
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&written);
        let writer = move || Sink(Arc::clone(&sink));
        let layer = tracing_subscriber::fmt::layer().with_writer(writer).event_format(Klog { format });
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), emit);
        let bytes = written.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn text_is_klogs_header_and_quoted_fields() {
        let line = logged(
            LogFormat::Text,
            || tracing::error!(service = %"ns/web", err = "a \"b\"\nc", "Error syncing"),
        );
        assert!(line.starts_with('E'), "{line}");
        let (_, rest) = line.split_once("] ").unwrap();
        assert_eq!(rest, "\"Error syncing\" service=\"ns/web\" err=\"a \\\"b\\\"\\nc\"\n");
    }

    #[test]
    fn json_is_one_object_on_a_line() {
        let line = logged(LogFormat::Json, || tracing::info!(service = "ns/web", pods = 3, "Synced"));
        let object: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(object["msg"], "Synced");
        assert_eq!(object["v"], 0);
        assert_eq!(object["service"], "ns/web");
        assert_eq!(object["pods"], "3");
        assert!(object["ts"].as_f64().unwrap() > 1e12);
    }
}
