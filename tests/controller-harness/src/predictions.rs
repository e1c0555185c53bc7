//! A check of every test: a sync makes no write that the controller did not
//! [predict](endpoint_informers::controller::Controller::pending_writes).

use std::collections::HashSet;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpoint_informers::pending::{Decision, PendingWrite, WritePolicy};
use parking_lot::Mutex;

use crate::Served;
use crate::server::Server;

/// The writes that were predicted so far, and those that came without.
#[derive(Default)]
pub(crate) struct Predictions {
    /// Whether the controller predicts writes, by its first answer.
    predicts: Option<bool>,
    predicted: HashSet<String>,
    unpredicted: Vec<String>,
}

impl Predictions {
    /// Compares a write, as `METHOD name`.
    pub(crate) fn check(&mut self, request: &str) {
        if self.predicts == Some(true) && !self.predicted.contains(request) {
            self.unpredicted.push(request.to_owned());
        }
    }

    pub(crate) fn assert_complete(&self) {
        assert_eq!(self.unpredicted, [""; 0], "writes that pending_writes did not return");
    }
}

/// Asks another policy, or allows every sync, and records the writes that a sync is going to make.
pub(crate) struct Predicting<T> {
    pub(crate) server: Arc<Mutex<Server<T>>>,
    pub(crate) policy: Option<Arc<dyn WritePolicy>>,
}

impl<T: Served> WritePolicy for Predicting<T> {
    fn decide(&self, key: &ObjectKey, pending: &dyn Fn() -> Option<Vec<PendingWrite>>) -> Decision {
        let decision = self.policy.as_ref().map_or(Decision::Sync, |policy| policy.decide(key, pending));
        if decision != Decision::Sync {
            return decision;
        }
        let writes = pending();
        self.server.lock().predictions.predicts.get_or_insert(writes.is_some());
        let writes = writes.unwrap_or_default();
        let requests = writes.iter().map(|write| {
            let method = match write {
                PendingWrite::Create(_) => "POST",
                PendingWrite::Update(..) => "PUT",
                PendingWrite::Delete(_) => "DELETE",
            };
            format!("{method} {}", write.name())
        });
        self.server.lock().predictions.predicted.extend(requests);
        decision
    }
}
