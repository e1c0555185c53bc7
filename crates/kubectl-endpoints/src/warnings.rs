//! Warnings about the connection to a cluster and what is read there, which are logged, as lines on stderr.

use std::fmt::{self, Write as _};

use cli_runtime::printing::note;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// The crates whose warnings are printed. Those of controllers are about their syncs.
const PRINTED: [&str; 3] = ["kube_api", "kubectl_endpoints", "component_server"];

/// Prints warnings from now on.
pub(crate) fn print() {
    // Fails if they are printed already.
    let _ = tracing_subscriber::registry().with(Warnings).try_init();
}

struct Warnings;

impl<S: Subscriber> Layer<S> for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let source = metadata.target().split("::").next().unwrap_or_default();
        *metadata.level() <= Level::WARN && PRINTED.contains(&source)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        note(&Fields::of(event).line(*event.metadata().level()));
    }
}

/// The fields of a log line, in order.
#[derive(Default)]
pub(crate) struct Fields(Vec<(&'static str, String)>);

impl Fields {
    /// Those of an event.
    pub(crate) fn of(event: &Event<'_>) -> Self {
        let mut fields = Self::default();
        event.record(&mut fields);
        fields
    }

    /// The value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, value)| value.clone())
    }

    /// The same as a line.
    pub(crate) fn line(&self, level: Level) -> String {
        let mut line = if level == Level::ERROR { "Error: " } else { "Warning: " }.to_owned();
        let message = self.0.iter().find(|(name, _)| *name == "message");
        line.push_str(message.map_or("", |(_, text)| text));
        for (name, value) in self.0.iter().filter(|(name, _)| *name != "message") {
            // Writing to a String does not fail.
            let _ = write!(line, ", {name}: {value}");
        }
        line
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_a_line() {
        let fields = Fields(vec![("message", "Relist failed".to_owned()), ("err", "x".to_owned())]);
        assert_eq!(fields.line(Level::WARN), "Warning: Relist failed, err: x");
    }
}
