//! The form of a result, as with kubectl's `-o`.

/// A form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Table,
    Wide,
    /// `kind/name` in lines.
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

/// Reads the value of `--output`.
///
/// # Errors
/// The values that there are.
pub(crate) fn format(text: &str) -> Result<Format, String> {
    match text {
        "table" => Ok(Format::Table),
        "wide" => Ok(Format::Wide),
        "name" => Ok(Format::Name),
        "json" => Ok(Format::Json),
        "yaml" => Ok(Format::Yaml),
        _ => Err("must be table, wide, name, json or yaml".to_owned()),
    }
}
