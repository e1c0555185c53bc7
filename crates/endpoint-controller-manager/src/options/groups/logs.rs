//! Flags about logs (`k8s.io/component-base` `logs/api/v1/options.go`).

use crate::config::LogFormat;
use crate::options::flag::Flag;
use crate::options::flag::Kind::{Bool, Checked, Level, Quantity, Repeated};

const BUFFERED: &str = "logs are not buffered";
const SPLIT: &str = "all logs go to stderr";

pub(super) const FLAGS: &[Flag] = &[
    Flag::unsupported("log-json-info-buffer-size", "0", Quantity, BUFFERED),
    Flag::unsupported("log-json-split-stream", "false", Bool(|_, _| ()), SPLIT),
    Flag::unsupported("log-text-info-buffer-size", "0", Quantity, BUFFERED),
    Flag::unsupported("log-text-split-stream", "false", Bool(|_, _| ()), SPLIT),
    Flag::new(
        "logging-format",
        "text",
        "Format of log lines: text or json",
        Checked(|settings, format| {
            settings.log_format = match format {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                other => return Err(format!("{other:?} is not text or json")),
            };
            Ok(())
        }),
    )
    .value_name("FORMAT"),
    Flag::new(
        "v",
        "0",
        "Log level: 4 and up log each sync, 6 each watch event, 8 also the HTTP libraries",
        Level(|settings, level| settings.verbosity = level),
    )
    .key("Generic.Logging.verbosity")
    .short('v'),
    Flag::unsupported("vmodule", "", Repeated(|_, _| Ok(())), "-v applies to all files")
        .value_name("PATTERN=N")
        .join(|patterns| patterns.join(",")),
];
