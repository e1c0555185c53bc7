//! The form of a result, as with kubectl's `-o`.

/// A form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Table,
    Wide,
    Json,
    Yaml,
}

/// Reads the value of `--output`.
///
/// # Errors
/// The values that there are.
pub(crate) fn format(text: &str) -> Result<Format, String> {
    match text {
        "table" => Ok(Format::Table),
        "wide" => Ok(Format::Wide),
        "json" => Ok(Format::Json),
        "yaml" => Ok(Format::Yaml),
        _ => Err("must be table, wide, json or yaml".to_owned()),
    }
}
