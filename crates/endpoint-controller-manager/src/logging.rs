//! Logs in the two formats of Kubernetes: klog's text and its JSON.
//!
//! `I1121 08:39:49.123456    4242 sync.rs:42] "Synced" service="default/web"` and
//! `{"ts":1763714389123.456,"caller":"sync.rs:42","msg":"Synced","v":0,"service":"default/web"}`.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::{self, Write};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::panic::PanicHookInfo;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use jiff::Timestamp;
use kube_api::computed::{self, encode_value};
use prometheus_client::metrics::MetricType;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber, error};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Registry};
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;

/// The crates of this program, whose logs `-v` controls.
const OWN_CRATES: [&str; 9] = [
    "endpoint_controller_manager",
    "endpoints_controller",
    "endpointslice_controller",
    "endpointslice_mirroring_controller",
    "kube_api",
    "controller_kit",
    "endpoint_informers",
    "component_server",
    "kubectl_endpoints",
];

/// Lines that may wait for the reader of stderr: seconds of a busy process. Their places, 32 bytes each, are resident from
/// the start; the default of `tracing-appender`, 128,000, would be a quarter of what an idle process holds.
const BUFFERED_LINES: usize = 16_384;

/// The filter, which `/debug/flags/v` changes while the process runs.
static FILTER: OnceLock<Handle<Targets, Registry>> = OnceLock::new();

/// Sends logs to stderr until the returned value is dropped. Panics are logged too, in the same format.
pub fn init(format: LogFormat, verbosity: u32) -> Logs {
    let (filter, handle) = reload::Layer::new(filter(verbosity));
    let _ = FILTER.set(handle);
    let logs = Logs::to(stderr(), BUFFERED_LINES);
    let layer =
        tracing_subscriber::fmt::layer().with_writer(logs.writer.clone()).event_format(Klog { format });
    tracing_subscriber::registry().with(filter).with(layer.with_ansi(false)).init();
    std::panic::set_hook(Box::new(log_panic));
    logs
}

/// stderr without its lock, which a thread that waits for a reader would hold while others want to write a last line.
fn stderr() -> Box<dyn io::Write + Send> {
    match io::stderr().as_fd().try_clone_to_owned() {
        Ok(stderr) => Box::new(File::from(stderr)),
        Err(_) => Box::new(io::stderr()),
    }
}

/// Logs a panic as one line instead of the text that Rust prints.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let message = panic.payload_as_str().unwrap_or("not a text");
    // Only if RUST_BACKTRACE asks for it.
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    error!(thread = thread.name(), location, panic = message, backtrace, "Observed a panic");
}

/// The thread that writes logs. A reader that does not keep up never blocks the process; lines are dropped and counted.
///
/// Dropping this writes the remaining lines, as far as the reader takes them within the time-out of the last lines.
pub struct Logs {
    writer: NonBlocking,
    guard: Option<WorkerGuard>,
}

/// For the reader of the last lines at the end of the process.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(2);

impl Logs {
    /// Writes to `stream`; at most `lines` lines wait.
    pub(crate) fn to(stream: impl io::Write + Send + 'static, lines: usize) -> Self {
        let builder = NonBlockingBuilder::default().buffered_lines_limit(lines).lossy(true);
        let (writer, guard) = builder.finish(stream);
        Self { writer, guard: Some(guard) }
    }

    /// Writes why the program fails, after everything that was logged. A reader of JSON gets no other lines.
    pub(crate) fn write_failure(&mut self, format: LogFormat, failure: &str) {
        match format {
            LogFormat::Text => self.write_line(&format!("Error: {failure}")),
            LogFormat::Json => error!(err = failure, "Command failed"),
        }
    }

    /// Writes a line as it is, after everything that was logged.
    fn write_line(&mut self, line: &str) {
        // Only queued here, so it cannot fail.
        let _ = io::Write::write_all(&mut self.writer, format!("{line}\n").as_bytes());
    }

    /// A counter of the lines that were lost.
    pub(crate) fn dropped(&self) -> ErrorCounter {
        self.writer.error_counter()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let guard = self.guard.take();
        let (done, ended) = mpsc::channel::<()>();
        // After a timeout of its own the guard would print to stdout, which may block as well.
        let flush = std::thread::Builder::new().spawn(move || drop((guard, done)));
        if flush.is_ok() {
            let _ = ended.recv_timeout(LAST_LINES_TIMEOUT);
        }
    }
}

/// Registers `log_lines_dropped_total`.
pub(crate) fn register(dropped: ErrorCounter, registry: &mut prometheus_client::registry::Registry) {
    computed::register(registry, move |encoder| {
        let name = "log_lines_dropped_total";
        let help =
            "[ALPHA] Number of log lines that were dropped because the reader of stderr did not keep up";
        encode_value(encoder, name, help, MetricType::Counter, &dropped.dropped_lines())
    });
}

/// Changes the verbosity of the running process.
pub(crate) fn set_verbosity(verbosity: u32) -> Result<(), String> {
    match FILTER.get() {
        Some(handle) => handle.reload(filter(verbosity)).map_err(|error| error.to_string()),
        None => Err("logging has not been set up".to_owned()),
    }
}

/// The filter for a level of klog: 4 logs each sync, 6 each watch event, 8 also the HTTP libraries.
fn filter(verbosity: u32) -> Targets {
    let own = match verbosity {
        0..=3 => Level::INFO,
        4..=5 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let libraries = if verbosity >= 8 { Level::DEBUG } else { Level::ERROR };
    OWN_CRATES
        .iter()
        .fold(Targets::new().with_default(libraries), |filter, name| filter.with_target(*name, own))
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
    others: Vec<(&'static str, Value)>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            self.others.push((field.name(), value.into()));
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.others.push((field.name(), value.into()));
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
    let (time, caller) = (now.strftime("%m%d %H:%M:%S%.6f"), caller(metadata));
    let mut line = format!("{severity}{time} {:7} {caller}] ", std::process::id());
    let message = &fields.message;
    if fields.others.is_empty() && !message.contains(char::is_control) {
        // As klog writes what `Infof` has formatted.
        line.push_str(message);
    } else {
        // In quotes, what could end the line or the quotes is escaped. Writing to a String cannot fail.
        let _ = write!(line, "{message:?}");
    }
    for (name, value) in &fields.others {
        let _ = match value {
            Value::String(text) => write!(line, " {name}={text:?}"),
            other => write!(line, " {name}={other}"),
        };
    }
    line
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
        object.insert((*name).to_owned(), value.clone());
    }
    Value::Object(object).to_string()
}

#[cfg(test)]
pub(crate) mod tests;
