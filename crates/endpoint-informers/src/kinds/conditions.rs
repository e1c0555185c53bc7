//! Conditions from one crate's view to the other's fields.

use endpointslice::model::ConditionFields;
use kube_protobuf::ConditionView;

pub(super) fn condition_fields<'a>(view: &ConditionView<'a>) -> ConditionFields<'a> {
    let ConditionView { kind, status, reason, last_transition } = *view;
    ConditionFields { kind, status, reason, last_transition }
}
