//! What controllers remember between syncs.

use std::fmt;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_informers::controller::Controller;

/// The memory of a controller between syncs, to look into while it runs. Does not keep the controller.
#[derive(Clone)]
pub struct Memory(Arc<dyn Fn() -> Vec<(&'static str, ObjectKey)> + Send + Sync>);

impl Memory {
    pub(super) fn of<C: Controller>(controller: &Arc<C>) -> Self {
        let controller = Arc::downgrade(controller);
        Self(Arc::new(move || {
            let Some(controller) = controller.upgrade() else { return Vec::new() };
            let mut remembered = controller.remembered();
            remembered.extend(controller.queue().failing().into_iter().map(|key| ("failing", key)));
            remembered.sort();
            remembered
        }))
    }

    /// Everything that the controller remembers, in order: see [`Controller::remembered`], and the keys in its queue whose
    /// last sync failed, as the table `failing`. Empty once the controller is gone.
    pub fn remembered(&self) -> Vec<(&'static str, ObjectKey)> {
        (self.0)()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.remembered()).finish()
    }
}
