//! Figures of queues that are read at the scrape.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Reads a figure of one queue; `None` once the queue is gone.
pub(super) type Source<T> = Box<dyn Fn() -> Option<T> + Send + Sync>;

/// A source that reads from a queue, and does not keep it.
pub(super) fn source<Q: Send + Sync + 'static, T: 'static>(queue: &Weak<Q>, read: fn(&Q) -> T) -> Source<T> {
    let queue = queue.clone();
    Box::new(move || queue.upgrade().map(|queue| read(&queue)))
}

/// The sources of one figure, by the value of the label that their series carry. Clones share them.
pub(super) struct Sources<T>(Arc<Mutex<BTreeMap<String, Vec<Source<T>>>>>);

impl<T> Sources<T> {
    pub(super) fn add(&self, label: &str, source: Source<T>) {
        self.0.lock().entry(label.to_owned()).or_default().push(source);
    }

    /// The figures of the queues of each label. Queues that are gone are forgotten; their label is not.
    pub(super) fn read(&self) -> Vec<(String, Vec<T>)> {
        let mut labels = self.0.lock();
        let read = |(label, sources): (&String, &mut Vec<Source<T>>)| {
            let mut figures = Vec::new();
            sources.retain(|source| source().map(|figure| figures.push(figure)).is_some());
            (label.clone(), figures)
        };
        labels.iter_mut().map(read).collect()
    }
}

impl<T> Clone for Sources<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Sources<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> fmt::Debug for Sources<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.lock().keys()).finish()
    }
}
