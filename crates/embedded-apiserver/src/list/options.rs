//! The parameters of lists and watches: `meta/v1 ListOptions`.

use crate::http::query::Query;
use crate::selectors::{FieldSelector, LabelSelector};
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
    /// Reads the parameters of a query.
    /// Errors: 400 for a parameter that cannot be parsed.
    pub(crate) fn parse(query: &Query) -> Result<Self, Status> {
        // The order of the errors is that of the API server: numbers, labels, fields.
        let mut options = Self {
            watch: query.flag("watch").unwrap_or_default(),
            allow_watch_bookmarks: query.flag("allowWatchBookmarks").unwrap_or_default(),
            resource_version: query.text("resourceVersion"),
            resource_version_match: query.text("resourceVersionMatch"),
            timeout_seconds: query.number("timeoutSeconds")?,
            limit: query.number("limit")?.unwrap_or_default(),
            continue_token: query.text("continue"),
            send_initial_events: query.flag("sendInitialEvents"),
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
