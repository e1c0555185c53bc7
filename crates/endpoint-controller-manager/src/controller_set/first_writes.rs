//! The writes that controllers would make at their start.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_informers::controller::Controller;
use endpoint_informers::pending::PendingWrite;
use tokio::task::yield_now;

/// A controller whose first writes can be planned in advance.
trait Plannable: Send + Sync {
    fn keys(&self) -> Vec<ObjectKey>;
    fn pending(&self, key: &ObjectKey) -> Vec<PendingWrite>;
}

impl<C: Controller> Plannable for C {
    fn keys(&self) -> Vec<ObjectKey> {
        let mut keys = self.parts().cache.read(|state| self.initial_keys(state));
        keys.sort();
        // A key may be initial for two reasons; it is synced once.
        keys.dedup();
        keys
    }

    fn pending(&self, key: &ObjectKey) -> Vec<PendingWrite> {
        // A sync writes nothing either if it cannot read what it needs.
        self.pending_writes(key).unwrap_or_default()
    }
}

/// Plans the writes that controllers would make if they started now. To be asked before they run.
#[derive(Default)]
pub struct FirstWrites(Vec<(&'static str, Arc<dyn Plannable>)>);

/// A write that a controller would make first.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstWrite {
    /// The name of the controller.
    pub controller: &'static str,
    /// The Service.
    pub key: ObjectKey,
    /// The write.
    pub write: PendingWrite,
}

/// The writes that controllers would make first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DryRun {
    /// The number of writes.
    pub total: usize,
    /// The first of them.
    pub shown: Vec<FirstWrite>,
}

impl FirstWrites {
    pub(super) fn add<C: Controller>(&mut self, controller: &Arc<C>) {
        self.0.push((C::NAME, Arc::clone(controller) as _));
    }

    /// Counts the writes, and returns the first `shown` of them. Other tasks run between two Services.
    ///
    /// Cost: a plan of every Service by each controller.
    pub async fn dry_run(&self, shown: usize) -> DryRun {
        let mut dry_run = DryRun::default();
        for (name, controller) in &self.0 {
            for key in controller.keys() {
                let writes = controller.pending(&key);
                dry_run.total += writes.len();
                let rest = shown.saturating_sub(dry_run.shown.len());
                let first = writes.into_iter().take(rest);
                dry_run.shown.extend(first.map(|write| FirstWrite {
                    controller: name,
                    key: key.clone(),
                    write,
                }));
                yield_now().await;
            }
        }
        dry_run
    }
}

/// A controller with one key, whose plan is a function.
#[cfg(test)]
struct Planned<F>(F);

#[cfg(test)]
impl<F: Fn() + Send + Sync> Plannable for Planned<F> {
    fn keys(&self) -> Vec<ObjectKey> {
        vec![ObjectKey::new("shop", "web")]
    }

    fn pending(&self, _: &ObjectKey) -> Vec<PendingWrite> {
        (self.0)();
        Vec::new()
    }
}

#[cfg(test)]
impl FirstWrites {
    /// Those of one plan, which writes nothing.
    pub(crate) fn of_plan(plan: impl Fn() + Send + Sync + 'static) -> Self {
        Self(vec![("test", Arc::new(Planned(plan)))])
    }
}
