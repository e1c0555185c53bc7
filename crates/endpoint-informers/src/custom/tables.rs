//! The tables of kinds that this crate does not know.

use std::any::Any;
use std::sync::OnceLock;

use crate::resource::Resource;
use crate::store::Store;
use crate::store::unreadable::UnreadableObject;

/// A table for each custom kind, made when it is first used. They are few: a list is the fastest index.
#[derive(Default)]
pub(crate) struct CustomTables(OnceLock<Box<Node>>);

struct Node {
    /// A [`Store`].
    table: Box<dyn Any + Send + Sync>,
    /// [`Store::check_readable`] of the table, which it gets; of a cluster-scoped kind, in any namespace.
    check_readable: fn(&dyn Any, &str) -> Result<(), UnreadableObject>,
    others: CustomTables,
}

impl Node {
    fn of<K: Resource>() -> Self {
        let (table, others) = (Box::new(Store::<K>::default()), CustomTables::default());
        Self { table, check_readable: check_readable::<K>, others }
    }
}

fn check_readable<K: Resource>(table: &dyn Any, namespace: &str) -> Result<(), UnreadableObject> {
    let namespace = if K::NAMESPACED { namespace } else { "" };
    table.downcast_ref::<Store<K>>().map_or(Ok(()), |table| table.check_readable(namespace))
}

impl CustomTables {
    /// Fails if an object of any of these kinds exists in this namespace, or of the cluster, that could not be decoded.
    pub(crate) fn check_readable(&self, namespace: &str) -> Result<(), UnreadableObject> {
        let Some(node) = self.0.get() else { return Ok(()) };
        (node.check_readable)(&*node.table, namespace)?;
        node.others.check_readable(namespace)
    }

    pub(crate) fn get<K: Resource>(&self) -> &Store<K> {
        let node = self.0.get_or_init(|| Box::new(Node::of::<K>()));
        node.table.downcast_ref().unwrap_or_else(|| node.others.get())
    }

    pub(crate) fn get_mut<K: Resource>(&mut self) -> &mut Store<K> {
        self.0.get_or_init(|| Box::new(Node::of::<K>()));
        #[expect(clippy::expect_used, reason = "the line before makes it")]
        let Node { table, others, .. } = &mut **self.0.get_mut().expect("a table");
        match table.downcast_mut() {
            Some(table) => table,
            None => others.get_mut(),
        }
    }
}
