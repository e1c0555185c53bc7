//! One request for objects of a kind, and what its verb answers.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

use crate::core::{Core, Entry};
use crate::http::query::Query;
use crate::http::route::Target;
use crate::schema::Type;
use crate::status::Status;

use super::change::{Change, Changed};
use super::options::WriteOptions;

/// A request for objects of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) entry: &'static Entry,
    pub(crate) target: &'a Target,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) query: &'a Query,
    pub(crate) body: &'a Result<Bytes, Status>,
}

impl<'a> Call<'a> {
    /// The change of an existing object that the request asks for, whatever its uid.
    pub(crate) fn change(&self, options: &WriteOptions) -> Change<'a> {
        let Self { entry, target, .. } = *self;
        Change {
            entry,
            namespace: &target.namespace,
            name: &target.name,
            subresource: target.subresource,
            dry_run: options.dry_run,
            creates: false,
            uid: "",
        }
    }

    /// The body of the request.
    pub(crate) fn body(&self) -> Result<&Bytes, Status> {
        self.body.as_ref().map_err(Clone::clone)
    }
}

/// The response of a verb.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: u16,
    pub(crate) content: Content,
    /// The name that was generated, for the audit.
    pub(crate) created: Option<String>,
}

/// The object of a response.
#[derive(Debug)]
pub(crate) enum Content {
    /// An object of the kind in the encoding of the store.
    Stored(Bytes),
    /// An object of another kind: apiVersion, kind, schema, tree.
    Other(&'static str, &'static str, Option<&'static Type>, Value),
}

impl Outcome {
    /// A response.
    pub(crate) fn new(code: u16, content: Content) -> Self {
        Self { code, content, created: None }
    }

    /// The response to a change.
    pub(crate) fn of_change(Changed { body, created }: Changed) -> Self {
        Self::new(if created { 201 } else { 200 }, Content::Stored(body))
    }
}
