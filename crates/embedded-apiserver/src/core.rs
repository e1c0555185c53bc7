//! State that all requests share: the objects, the rules' state, and the options.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde_json::Value;

use crate::audit::Auditor;
use crate::codec::protobuf;
use crate::environment::Environment;
use crate::kinds::{Allocators, Cluster, KINDS, Kind, Scope};
use crate::owners::Owners;
use crate::schema::Type;
use crate::selectors::{FieldSource, SelectableField};
use crate::status::Status;
use crate::store::{Resource, Store, Stored};
use crate::users::Users;

/// Reactions of a server besides storing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behaviour {
    /// True if dependents follow their owners.
    pub(crate) collects_garbage: bool,
    /// True if deleted namespaces are emptied.
    pub(crate) terminates_namespaces: bool,
    /// True if the Endpoints of a deleted Service are deleted with it, as by kube-apiserver until 1.36.
    pub(crate) deletes_endpoints: bool,
}

/// The state of a server.
pub(crate) struct Core {
    pub(crate) store: Arc<Store>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) allocators: Arc<Allocators>,
    pub(crate) behaviour: Behaviour,
    pub(crate) owners: Owners,
    /// Changes without a reaction so far.
    pub(crate) happened: Mutex<VecDeque<Happened>>,
    /// Receives an event of each request.
    pub(crate) auditor: Option<Box<Auditor>>,
    pub(crate) users: Users,
    /// Held while a write cascades, so that every request waits for what follows from its own write.
    pub(crate) cascading: Mutex<()>,
}

/// A change that concerns other objects.
#[derive(Debug)]
pub(crate) enum Happened {
    /// An object is gone.
    Gone(&'static Entry, Arc<Stored>),
    /// An object is being deleted: a namespace waits for its contents.
    Deleting(&'static Entry, String),
}

/// A kind with everything that follows from its entry in the table.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) kind: &'static Kind,
    /// Its place in the store.
    pub(crate) resource: Resource,
    pub(crate) type_: &'static Type,
    pub(crate) api_version: String,
    pub(crate) list_kind: String,
    pub(crate) selectable: Arc<[SelectableField]>,
}

impl Entry {
    /// The entry of a kind of the table.
    pub(crate) fn of(kind: &'static Kind) -> Option<&'static Self> {
        entries().iter().find(|entry| std::ptr::eq(entry.kind, kind))
    }

    /// The entry of a stored resource.
    pub(crate) fn stored(resource: Resource) -> Option<&'static Self> {
        entries().iter().find(|entry| entry.resource == resource)
    }

    /// The entry of a group, version and kind.
    pub(crate) fn named(api_version: &str, kind: &str) -> Option<&'static Self> {
        entries().iter().find(|entry| entry.api_version == api_version && entry.kind.kind == kind)
    }

    /// The tree of a stored object, as the rules see it.
    pub(crate) fn tree(&self, stored: &[u8]) -> Result<Value, Status> {
        protobuf::decode(self.type_, stored).map_err(Status::internal)
    }

    /// The bytes to store of a tree, which the rules have left canonical.
    pub(crate) fn encode(&self, tree: &Value) -> Vec<u8> {
        #[cfg(test)]
        assert_eq!(
            crate::codec::json::decode(self.type_, tree.clone(), crate::codec::json::FieldValidation::Strict),
            Ok((tree.clone(), Vec::new())),
        );
        protobuf::encode(self.type_, tree)
    }
}

/// All kinds, in the order of the table. Kinds whose type the schema lacks are left out; a test proves that there are none.
pub(crate) fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> =
        LazyLock::new(|| (0..).zip(KINDS).filter_map(|(number, kind)| entry(kind, number)).collect());
    &ENTRIES
}

fn entry(kind: &'static Kind, number: u16) -> Option<Entry> {
    let type_ = Type::named(kind.type_name)?;
    Some(Entry {
        kind,
        resource: Resource(number),
        type_,
        api_version: kind.api_version(),
        list_kind: format!("{}List", kind.kind),
        selectable: selectable(kind, type_),
    })
}

/// The selectable fields of a kind, with their places in the encoding.
fn selectable(kind: &Kind, type_: &'static Type) -> Arc<[SelectableField]> {
    let fields = kind.selectable_fields.iter().map(|field| SelectableField {
        label: field.label,
        sources: field
            .paths
            .iter()
            .filter_map(|path| {
                let path = protobuf::field_numbers(type_, path)?;
                Some(FieldSource { path, boolean: field.absent == "false" })
            })
            .collect(),
    });
    fields.collect()
}

/// Number of resources in the store.
pub(crate) fn resources() -> usize {
    KINDS.len()
}

impl Core {
    /// The scope in which the rules of a kind run.
    pub(crate) fn scope<'a>(
        &'a self,
        entry: &'static Entry,
        namespace: &'a str,
        subresource: &'a str,
        dry_run: bool,
    ) -> Scope<'a> {
        Scope {
            kind: entry.kind,
            namespace,
            subresource,
            dry_run,
            environment: &*self.environment,
            allocators: &self.allocators,
            cluster: self,
        }
    }

    /// Remembers a change until the end of the request.
    pub(crate) fn note(&self, happened: Happened) {
        self.happened.lock().push_back(happened);
    }
}

impl Cluster for Core {
    fn node_labels(&self, name: &str) -> Option<Value> {
        let entry = Entry::named("v1", "Node")?;
        let node = self.store.get(entry.resource, name)?;
        let mut tree = entry.tree(node.body()).ok()?;
        Some(tree.get_mut("metadata")?.get_mut("labels").map_or(Value::Null, Value::take))
    }
}
