//! The cases.

mod index;
mod plan;
mod queue;
mod scan;

/// Work that is counted.
pub(crate) struct Case {
    /// The name in `expected.txt`.
    pub(crate) name: &'static str,
    /// The number of items that the work consists of: events, pods, endpoints, keys.
    pub(crate) items: u64,
    /// Prepares the work, which isn't counted, and returns it.
    pub(crate) prepare: fn() -> Box<dyn FnMut()>,
}

impl Case {
    /// The case of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|case| case.name == name)
    }
}

const fn case(name: &'static str, items: u64, prepare: fn() -> Box<dyn FnMut()>) -> Case {
    Case { name, items, prepare }
}

/// All cases.
pub(crate) const ALL: &[Case] = &[
    case("scan/pod-view", scan::EVENTS, scan::pod_view),
    case("scan/pod-event", scan::EVENTS, scan::pod_event),
    case("scan/cached-pod", scan::EVENTS, scan::cached_pod),
    case("scan/slice-decode", plan::PODS, scan::slice_decode),
    case("scan/slice-encode", plan::PODS, scan::slice_encode),
    case("plan/desired", plan::PODS, plan::desired),
    case("plan/all-new", plan::PODS, plan::all_new),
    case("plan/nothing", plan::PODS, plan::nothing),
    case("plan/one-change", plan::PODS, plan::one_change),
    case("index/add", index::PODS, index::add),
    case("index/replace", index::PODS, index::replace),
    case("index/select", index::PODS, index::select),
    case("index/snapshot", index::PODS, index::snapshot),
    case("index/remove", index::PODS, index::remove),
    case("queue/add-get-done", queue::KEYS, queue::add_get_done),
    case("queue/merge", queue::KEYS, queue::merge),
    case("queue/retry", queue::KEYS, queue::retry),
];
