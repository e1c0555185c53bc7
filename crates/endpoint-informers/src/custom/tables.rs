//! The tables of kinds that this crate does not know.

use std::any::Any;
use std::sync::OnceLock;

use crate::resource::Resource;
use crate::store::Store;

/// A table for each custom kind, made when it is first used. They are few: a list is the fastest index.
#[derive(Default)]
pub(crate) struct CustomTables(OnceLock<Box<Node>>);

struct Node {
    /// A [`Store`].
    table: Box<dyn Any + Send + Sync>,
    others: CustomTables,
}

impl Node {
    fn of<K: Resource>() -> Self {
        Self { table: Box::new(Store::<K>::default()), others: CustomTables::default() }
    }
}

impl CustomTables {
    pub(crate) fn get<K: Resource>(&self) -> &Store<K> {
        let node = self.0.get_or_init(|| Box::new(Node::of::<K>()));
        node.table.downcast_ref().unwrap_or_else(|| node.others.get())
    }

    pub(crate) fn get_mut<K: Resource>(&mut self) -> &mut Store<K> {
        self.0.get_or_init(|| Box::new(Node::of::<K>()));
        #[expect(clippy::expect_used, reason = "the line before makes it")]
        let Node { table, others } = &mut **self.0.get_mut().expect("a table");
        match table.downcast_mut() {
            Some(table) => table,
            None => others.get_mut(),
        }
    }
}
