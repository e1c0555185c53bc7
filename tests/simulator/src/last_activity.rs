//! When a connection last carried data, for balancers that close idle ones.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The time at which a connection last carried data.
#[derive(Debug, Clone)]
pub struct LastActivity(Arc<Mutex<Instant>>);

impl Default for LastActivity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl LastActivity {
    /// Notes that it carried data.
    pub fn note(&self) {
        *self.0.lock() = Instant::now();
    }

    /// The time since then.
    pub fn idle(&self) -> Duration {
        self.0.lock().elapsed()
    }
}
