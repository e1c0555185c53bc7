//! Reading a list: which version answers, and the objects of one page.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::errors::{continue_expired, expired, invalid_token, too_large};
use super::fresh::wait_for;
use super::request::Request;
use super::token::Token;
use super::version::parse_version;
use crate::status::Status;
use crate::store::{ReadError, Span, Store, Stored};

/// A list, or a page of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// The version of the list.
    pub(crate) version: u64,
    /// The token of the next page; empty on the last one.
    pub(crate) continue_token: String,
    /// Number of objects after this page, if no selector makes it a guess.
    pub(crate) remaining: Option<i64>,
    /// The objects in the order of their keys.
    pub(crate) items: Vec<Arc<Stored>>,
}

/// The version that answers a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The current one, not older than this.
    Latest(u64),
    /// This one.
    Exact(u64),
}

/// The version that answers, the key to begin at, and the source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    at: At,
    /// The least key without the prefix; present if the list is continued.
    continued: Option<String>,
    /// True if the watch cache answers: it waits for versions of the future, and ignores the limit at version 0.
    by_cache: bool,
}

/// Lists objects.
///
/// Cost: the namespace's objects (each is selected by a scan), or with a limit the objects up to it and a count of the
/// rest; at an older version also the changes since then.
/// Errors: 400 for an unusable version or token, 410 for a compacted version, 504 after three seconds for one of the future.
pub(crate) async fn list(store: &Store, request: &Request) -> Result<Page, Status> {
    let plan = plan(request)?;
    let (At::Latest(wanted) | At::Exact(wanted)) = plan.at;
    if plan.by_cache {
        wait_for(store, wanted).await?;
    }
    let current = store.version();
    if wanted > current {
        return Err(too_large(wanted, current, 0));
    }
    read(store, request, &plan)
}

/// `ShouldDelegateList` of the cacher, and `ValidateListOptions` of the storage.
fn plan(request: &Request) -> Result<Plan, Status> {
    let options = &request.options;
    let recursive = request.single.is_none();
    let at_zero = matches!(options.resource_version.as_str(), "" | "0");
    if recursive && !options.continue_token.is_empty() {
        let token = Token::decode(&options.continue_token).ok_or_else(invalid_token)?;
        if !at_zero {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let at = u64::try_from(token.version).map_or(At::Latest(0), At::Exact);
        return Ok(Plan { at, continued: Some(token.start), by_cache: request.cached });
    }
    let version = parse_version(&options.resource_version).map_err(Status::bad_request)?;
    let exact = options.resource_version_match == "Exact";
    let legacy_exact = options.resource_version_match.is_empty() && options.limit > 0 && version > 0;
    let exact = exact && version > 0;
    let at = if exact || (legacy_exact && recursive) { At::Exact(version) } else { At::Latest(version) };
    // The cache has no snapshots of single objects.
    let by_cache = request.cached && (recursive || !(exact || legacy_exact));
    Ok(Plan { at, continued: None, by_cache })
}

fn read(store: &Store, request: &Request, plan: &Plan) -> Result<Page, Status> {
    let start = match (&request.single, &plan.continued) {
        (Some(key), _) => key.clone(),
        (None, Some(start)) => format!("{}{start}", request.prefix),
        (None, None) => String::new(),
    };
    let version = match plan.at {
        At::Exact(version) => Some(version),
        At::Latest(_) => None,
    };
    let mut page = Collected::new(request, plan);
    let span = Span { prefix: request.single.as_deref().unwrap_or(&request.prefix), start: &start };
    let version = store
        .visit(request.resource, version, span, |object| page.visit(object))
        .map_err(|error| read_error(error, plan, version.unwrap_or_default()))?;
    Ok(page.finish(version))
}

fn read_error(error: ReadError, plan: &Plan, version: u64) -> Status {
    match (error, &plan.continued) {
        (ReadError::Future(current), _) => too_large(version, current, 0),
        (ReadError::Compacted(_), None) => expired(),
        (ReadError::Compacted(_), Some(start)) => {
            continue_expired(Token { version: -1, start: start.clone() }.encode())
        }
    }
}

/// The objects of a page while they are visited.
struct Collected<'a> {
    request: &'a Request,
    limit: usize,
    slash: &'static str,
    items: Vec<Arc<Stored>>,
    /// Objects that were looked at, selected or not.
    visited: i64,
    /// True if there are objects after the last of the page.
    more: bool,
}

impl<'a> Collected<'a> {
    fn new(request: &'a Request, plan: &Plan) -> Self {
        let ignored = plan.by_cache && request.options.resource_version == "0";
        let limit = if ignored { 0 } else { usize::try_from(request.options.limit).unwrap_or_default() };
        Self {
            request,
            limit,
            // The cache cuts keys before the slash that follows the namespace, etcd's client after it.
            slash: if request.cached { "/" } else { "" },
            items: Vec::new(),
            visited: 0,
            more: false,
        }
    }

    fn visit(&mut self, object: &Arc<Stored>) -> ControlFlow<()> {
        // The span of a single object has its key as prefix, which others may share.
        if self.request.single.as_ref().is_some_and(|key| object.key() != key) {
            return ControlFlow::Continue(());
        }
        if self.limit == 0 {
            // Selected when the lock is free.
            self.items.push(Arc::clone(object));
            return ControlFlow::Continue(());
        }
        let selection = &self.request.selection;
        self.visited += 1;
        if self.items.len() == self.limit {
            self.more = true;
            // Without selectors the count of the rest is part of the response.
            return if selection.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        }
        if selection.is_empty() || selection.matches(object) {
            self.items.push(Arc::clone(object));
        }
        ControlFlow::Continue(())
    }

    fn finish(mut self, version: u64) -> Page {
        let selection = &self.request.selection;
        if self.limit == 0 && !selection.is_empty() {
            self.items.retain(|object| selection.matches(object));
        }
        let mut page = Page { version, ..Page::default() };
        if self.more
            && let Some(last) = self.items.last()
        {
            let relative = last.key().strip_prefix(&self.request.prefix).unwrap_or_default();
            let start = format!("{}{relative}\0", self.slash);
            let version = i64::try_from(version).unwrap_or(i64::MAX);
            page.continue_token = Token { version, start }.encode();
            page.remaining = selection.is_empty().then(|| self.visited - self.request.options.limit);
        }
        page.items = self.items;
        page
    }
}
