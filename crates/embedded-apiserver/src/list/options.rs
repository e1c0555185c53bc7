//! The parameters of lists and watches: `meta/v1 ListOptions`.

use std::borrow::Cow;

use crate::selectors::{FieldSelector, LabelSelector, go_quote};
use crate::status::Status;

/// The parameters of a list or watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListOptions {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    pub(crate) watch: bool,
    pub(crate) allow_watch_bookmarks: bool,
    pub(crate) resource_version: String,
    pub(crate) resource_version_match: String,
    pub(crate) timeout_seconds: Option<i64>,
    pub(crate) limit: i64,
    pub(crate) continue_token: String,
    pub(crate) send_initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads the parameters of a query. `watch` forces a watch, as the paths below `/watch/` do.
    ///
    /// # Errors
    /// 400 for a parameter that cannot be parsed, 422 for parameters that exclude each other.
    pub(crate) fn parse<'a, K, V>(
        query: impl IntoIterator<Item = (K, V)>,
        watch: bool,
    ) -> Result<Self, Status>
    where
        K: Into<Cow<'a, str>>,
        V: Into<Cow<'a, str>>,
    {
        let mut query = Query(query.into_iter().map(|(key, value)| (key.into(), value.into())).collect());
        // The order of the errors is that of the API server: numbers, labels, fields, rules.
        let mut options = Self {
            watch: query.take("watch").is_some_and(|value| is_true(&value)) || watch,
            allow_watch_bookmarks: query.take("allowWatchBookmarks").is_some_and(|value| is_true(&value)),
            resource_version: query.text("resourceVersion"),
            resource_version_match: query.text("resourceVersionMatch"),
            timeout_seconds: query.number("timeoutSeconds")?,
            limit: query.number("limit")?.unwrap_or_default(),
            continue_token: query.text("continue"),
            send_initial_events: query.take("sendInitialEvents").map(|value| is_true(&value)),
            ..Self::default()
        };
        options.labels = LabelSelector::parse(&query.text("labelSelector")).map_err(Status::bad_request)?;
        options.fields = FieldSelector::parse(&query.text("fieldSelector")).map_err(Status::bad_request)?;
        options.default_initial_events();
        Ok(options)
    }

    /// A watch from no version in particular begins with the state, as before sendInitialEvents existed.
    fn default_initial_events(&mut self) {
        let anywhere = matches!(self.resource_version.as_str(), "" | "0");
        let unsaid = self.send_initial_events.is_none() && self.resource_version_match.is_empty();
        if self.watch && anywhere && unsaid {
            self.send_initial_events = Some(true);
            "NotOlderThan".clone_into(&mut self.resource_version_match);
        }
    }
}

/// The first value of each parameter counts.
struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    fn take(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let position = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(position).1)
    }

    fn text(&mut self, name: &str) -> String {
        self.take(name).map(Cow::into_owned).unwrap_or_default()
    }

    fn number(&mut self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.take(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|error: std::num::ParseIntError| {
            let wrong = match error.kind() {
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                    "value out of range"
                }
                _ => "invalid syntax",
            };
            Status::bad_request(format!("strconv.ParseInt: parsing {}: {wrong}", go_quote(&text)))
        })
    }
}

/// Any value but these two is true, even none.
fn is_true(value: &str) -> bool {
    value != "0" && !value.eq_ignore_ascii_case("false")
}
