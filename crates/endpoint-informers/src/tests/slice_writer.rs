//! The writes of a plan, their order, and the failures that don't count.

use std::collections::BTreeSet;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{RateLimit, WorkQueue};
use controller_kit::worker::SyncContext;
use controller_kit::worker::SyncError as _;
use endpointslice::plan::{AddressTypePlan, PlanStatistics};
use endpointslice::{AddressType, SlicePlan};
use http::Method;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_api::error_chain;
use kube_api::{ApiClient, Encoding};
use kube_protobuf::{Message, Unknown, wrap};
use scripted_api::script::{Answer, Script, Step};
use scripted_api::wire::{Refusal, Wire};

use crate::slices::{MAX_WRITES, SliceWriter, SyncError, WriteBudget, Written};

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";

const TERMINATING: Refusal = Refusal {
    code: 403,
    reason: "Forbidden",
    message: "going",
    cause: Some("NamespaceTerminating"),
    retry_after: 0,
};
const CONFLICT: Refusal =
    Refusal { code: 409, reason: "Conflict", message: "changed", cause: None, retry_after: 0 };
const TAKEN: Refusal =
    Refusal { code: 409, reason: "AlreadyExists", message: "taken", cause: None, retry_after: 0 };
const NOT_FOUND: Refusal =
    Refusal { code: 404, reason: "NotFound", message: "gone", cause: None, retry_after: 0 };

fn slice(name: &str) -> EndpointSlice {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("shop".to_owned()),
        uid: Some(format!("uid-of-{name}")),
        resource_version: Some(format!("version-of-{name}")),
        ..ObjectMeta::default()
    };
    EndpointSlice { address_type: "IPv4".to_owned(), metadata, ..EndpointSlice::default() }
}

fn new_slice(prefix: &str) -> EndpointSlice {
    let mut slice = slice(prefix);
    slice.metadata.generate_name = slice.metadata.name.take();
    slice.metadata.uid = None;
    slice.metadata.resource_version = None;
    slice
}

fn plan(address_type: AddressType, create: &[&str], update: &[&str], delete: &[&str]) -> AddressTypePlan {
    AddressTypePlan {
        address_type,
        create: create.iter().copied().map(new_slice).collect(),
        update: update.iter().copied().map(slice).collect(),
        delete: delete.iter().copied().map(slice).collect(),
        withdrawals: BTreeSet::new(),
        creates_suppressed: false,
        statistics: PlanStatistics::default(),
        topology: None,
        tolerated: vec![],
    }
}

fn of_types(types: impl Into<Vec<AddressTypePlan>>) -> SlicePlan {
    SlicePlan { types: types.into(), delete_if_unchanged: Vec::new() }
}

fn two_types() -> SlicePlan {
    let ipv4 = plan(AddressType::Ipv4, &["c4-", "d4-"], &["u4", "v4"], &["x4", "y4"]);
    let ipv6 = plan(AddressType::Ipv6, &["c6-"], &["u6"], &["x6"]);
    SlicePlan { types: vec![ipv4, ipv6], delete_if_unchanged: vec![slice("old-1"), slice("old-2")] }
}

/// The server's form of a slice: named and versioned.
fn stored(wire: Wire, name: &str) -> Answer {
    let mut slice = slice(name);
    slice.metadata.resource_version = Some("42".to_owned());
    let body = match wire.0 {
        Encoding::Protobuf => wrap("discovery.k8s.io/v1", "EndpointSlice", &slice.encode()),
        Encoding::Json => serde_json::to_vec(&slice).unwrap(),
    };
    Answer::new(200, wire.content_type(), body)
}

fn create(answer: Answer) -> Step {
    Step::new(Method::POST, SLICES, answer)
}

fn update(name: &str, answer: Answer) -> Step {
    Step::new(Method::PUT, &format!("{SLICES}/{name}"), answer)
}

fn delete(name: &str, answer: Answer) -> Step {
    Step::new(Method::DELETE, &format!("{SLICES}/{name}"), answer)
}

fn deleted() -> Answer {
    Answer::new(200, "application/json", r#"{"kind":"Status","status":"Success"}"#)
}

/// Applies a plan against a script that must be played to its end. Returns the reported writes, the errors and whether
/// they are transient, and the bodies sent.
async fn apply(
    wire: Wire,
    plan: &SlicePlan,
    steps: Vec<Step>,
) -> (Vec<String>, Vec<String>, Vec<bytes::Bytes>) {
    let script = Script::new(steps);
    let writer = SliceWriter::new(ApiClient::new(script.client(), wire.0, "test/1.0"));
    let mut reported = Vec::new();
    let queue = WorkQueue::new(RateLimit::default());
    let applied = writer
        .apply_within(&SyncContext::default(), &mut WriteBudget::of(&queue, usize::MAX), plan, |written| {
            let (verb, metadata) = match written {
                Written::Created(metadata) => ("created", metadata),
                Written::Updated(metadata) => ("updated", metadata),
                Written::Deleted(metadata) => ("deleted", metadata),
            };
            let version = metadata.resource_version.as_deref().unwrap_or("-");
            reported.push(format!("{verb} {} {version}", metadata.name.as_deref().unwrap_or_default()));
        })
        .await;
    script.played(Duration::from_secs(3600)).await;
    let errors = applied.errors.into_iter().map(|error| {
        let text = error_chain(&error);
        format!("{text} ({})", SyncError::Write(vec![error]).is_transient())
    });
    let errors = errors.collect();
    (reported, errors, script.seen().into_iter().map(|seen| seen.body).collect())
}

#[tokio::test(start_paused = true)]
async fn each_type_is_created_updated_deleted_and_unsupported_slices_are_deleted_last() {
    for wire in Wire::BOTH {
        let steps = vec![
            create(stored(wire, "c4-x")),
            create(stored(wire, "d4-x")),
            update("u4", stored(wire, "u4")),
            update("v4", stored(wire, "v4")),
            delete("x4", deleted()),
            delete("y4", deleted()),
            create(stored(wire, "c6-x")),
            update("u6", stored(wire, "u6")),
            delete("x6", deleted()),
            delete("old-1", deleted()),
            delete("old-2", deleted()),
        ];
        let (reported, errors, bodies) = apply(wire, &two_types(), steps).await;
        let expected = [
            "created c4-x 42",
            "created d4-x 42",
            "updated u4 42",
            "updated v4 42",
            "deleted x4 version-of-x4",
            "deleted y4 version-of-y4",
            "created c6-x 42",
            "updated u6 42",
            "deleted x6 version-of-x6",
            "deleted old-1 version-of-old-1",
            "deleted old-2 version-of-old-2",
        ];
        assert_eq!((&reported[..], &errors[..]), (&expected.map(str::to_owned)[..], &[][..]));
        let sent: EndpointSlice = match wire.0 {
            Encoding::Protobuf => Message::decode(Unknown::parse(&bodies[0]).unwrap().raw).unwrap(),
            Encoding::Json => serde_json::from_slice(&bodies[0]).unwrap(),
        };
        assert_eq!(sent, new_slice("c4-"));
        let sends =
            |body: &[u8], text: &str| body.windows(text.len()).any(|window| window == text.as_bytes());
        let preconditions = |body: &[u8], slice: &str| {
            (sends(body, &format!("uid-of-{slice}")), sends(body, &format!("version-of-{slice}")))
        };
        assert_eq!(preconditions(&bodies[4], "x4"), (true, false), "our own last write may be newer");
        assert_eq!(preconditions(&bodies[10], "old-2"), (true, true));
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_failure_ends_its_type_and_nothing_else() {
    for wire in Wire::BOTH {
        let steps = vec![
            create(stored(wire, "c4-x")),
            create(wire.refusal(&CONFLICT)),
            create(stored(wire, "c6-x")),
            update("u6", wire.refusal(&CONFLICT)),
            delete("old-1", Answer::new(500, "text/plain", "no")),
            delete("old-2", deleted()),
        ];
        let (reported, errors, _) = apply(wire, &two_types(), steps).await;
        assert_eq!(reported, ["created c4-x 42", "created c6-x 42", "deleted old-2 version-of-old-2"]);
        let expected = [
            "failed to create EndpointSlice shop/d4-: changed (true)",
            "failed to update EndpointSlice shop/u6: changed (true)",
            "failed to delete EndpointSlice shop/old-1: Internal Server Error: no (false)",
        ];
        assert_eq!(errors, expected);
    }
}

fn with_withdrawals() -> SlicePlan {
    let mut plan = two_types();
    for (of_type, names) in plan.types.iter_mut().zip([&["v4", "y4"][..], &["x6"]]) {
        of_type.withdrawals = names.iter().copied().map(str::to_owned).collect();
    }
    plan
}

#[tokio::test(start_paused = true)]
async fn withdrawals_of_all_types_come_first() {
    for wire in Wire::BOTH {
        let steps = vec![
            update("v4", stored(wire, "v4")),
            delete("y4", deleted()),
            delete("x6", deleted()),
            create(stored(wire, "c4-x")),
            create(stored(wire, "d4-x")),
            update("u4", stored(wire, "u4")),
            delete("x4", deleted()),
            create(stored(wire, "c6-x")),
            update("u6", stored(wire, "u6")),
            delete("old-1", deleted()),
            delete("old-2", deleted()),
        ];
        let (_, errors, _) = apply(wire, &with_withdrawals(), steps).await;
        assert_eq!(errors, [""; 0]);
    }
}

/// A slice that the plan deletes may hold an endpoint that the failed update would have added.
#[tokio::test(start_paused = true)]
async fn after_a_failed_withdrawal_its_type_is_created_only() {
    let wire = Wire::BOTH[0];
    let steps = vec![
        update("v4", wire.refusal(&CONFLICT)),
        delete("x6", deleted()),
        create(stored(wire, "c4-x")),
        create(stored(wire, "d4-x")),
        create(stored(wire, "c6-x")),
        update("u6", stored(wire, "u6")),
        delete("old-1", deleted()),
        delete("old-2", deleted()),
    ];
    let (_, errors, _) = apply(wire, &with_withdrawals(), steps).await;
    assert_eq!(errors, ["failed to update EndpointSlice shop/v4: changed (true)"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_withdrawal_does_not_end_the_others() {
    let wire = Wire::BOTH[0];
    let mut plan = with_withdrawals();
    plan.types.truncate(1);
    plan.delete_if_unchanged.clear();
    let steps = vec![
        update("v4", Answer::new(500, "text/plain", "no")),
        delete("y4", deleted()),
        create(stored(wire, "c4-x")),
        create(stored(wire, "d4-x")),
    ];
    let (_, errors, _) = apply(wire, &plan, steps).await;
    assert_eq!(errors, ["failed to update EndpointSlice shop/v4: Internal Server Error: no (false)"]);
}

/// The outcome of a plan if the queue is shut down after this number of writes.
async fn apply_until(
    plan: &SlicePlan,
    writes: usize,
    steps: Vec<Step>,
) -> (bool, Vec<AddressType>, Vec<usize>) {
    let script = Script::new(steps);
    let writer = SliceWriter::new(ApiClient::new(script.client(), Encoding::Json, "test/1.0"));
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(RateLimit::default());
    let mut written = 0;
    let (mut budget, sync) = (WriteBudget::of(&queue, usize::MAX), SyncContext::default());
    let applied = writer.apply_within(&sync, &mut budget, plan, |_| {
        written += 1;
        if written == writes {
            queue.shut_down();
        }
    });
    let applied = applied.await;
    script.played(Duration::from_secs(3600)).await;
    assert!(applied.errors.is_empty());
    (applied.unfinished, applied.complete, applied.cut_after)
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_sync_between_two_writes() {
    let wire = Wire(Encoding::Json);
    let steps =
        vec![create(stored(wire, "c4-x")), create(stored(wire, "d4-x")), update("u4", stored(wire, "u4"))];
    assert_eq!(apply_until(&two_types(), 3, steps).await, (true, vec![], vec![3]));
    let steps = vec![
        update("v4", stored(wire, "v4")),
        delete("y4", deleted()),
        delete("x6", deleted()),
        create(stored(wire, "c4-x")),
    ];
    assert_eq!(apply_until(&with_withdrawals(), 4, steps).await, (true, vec![], vec![3, 1]));
}

#[tokio::test(start_paused = true)]
async fn a_sync_ends_after_the_maximum_of_writes() {
    let wire = Wire(Encoding::Json);
    let names: Vec<String> = (0..=MAX_WRITES).map(|n| format!("x{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let all = |count: usize| of_types([plan(AddressType::Ipv4, &[], &names[..count], &[])]);
    let steps = || names[..MAX_WRITES].iter().map(|name| update(name, stored(wire, name))).collect();
    let cut = (true, vec![], vec![MAX_WRITES]);
    assert_eq!(apply_until(&all(MAX_WRITES + 1), usize::MAX, steps()).await, cut);
    assert_eq!(
        apply_until(&all(MAX_WRITES), usize::MAX, steps()).await,
        (false, vec![AddressType::Ipv4], vec![])
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_delete_ends_its_type() {
    for wire in Wire::BOTH {
        let plan = of_types([
            plan(AddressType::Ipv4, &[], &[], &["x4", "y4"]),
            plan(AddressType::Ipv6, &[], &[], &["x6"]),
        ]);
        let steps = vec![delete("x4", wire.refusal(&CONFLICT)), delete("x6", deleted())];
        let (reported, errors, _) = apply(wire, &plan, steps).await;
        assert_eq!(reported, ["deleted x6 version-of-x6"]);
        assert_eq!(errors, ["failed to delete EndpointSlice shop/x4: changed (true)"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_terminating_namespace_is_no_failure() {
    for wire in Wire::BOTH {
        let steps = vec![
            create(wire.refusal(&TERMINATING)),
            create(wire.refusal(&TERMINATING)),
            delete("old-1", deleted()),
            delete("old-2", deleted()),
        ];
        let (reported, errors, _) = apply(wire, &two_types(), steps).await;
        assert_eq!(reported, ["deleted old-1 version-of-old-1", "deleted old-2 version-of-old-2"]);
        assert!(errors.is_empty(), "{errors:?}");
    }
}

/// An update that fails with the same message is not expected, and is an error.
#[tokio::test(start_paused = true)]
async fn only_creates_may_fail_in_a_terminating_namespace() {
    let wire = Wire::BOTH[0];
    let plan = of_types([plan(AddressType::Ipv4, &[], &["u4"], &[])]);
    let (_, errors, _) = apply(wire, &plan, vec![update("u4", wire.refusal(&TERMINATING))]).await;
    assert_eq!(errors, ["failed to update EndpointSlice shop/u4: going (false)"]);
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_is_already_gone_counts_as_deleted() {
    for wire in Wire::BOTH {
        let plan = SlicePlan {
            types: vec![plan(AddressType::Ipv4, &[], &[], &["x4", "y4"])],
            delete_if_unchanged: vec![slice("old-1")],
        };
        let gone = || wire.refusal(&NOT_FOUND);
        let steps = vec![delete("x4", gone()), delete("y4", deleted()), delete("old-1", gone())];
        let (reported, errors, _) = apply(wire, &plan, steps).await;
        assert_eq!(
            reported,
            ["deleted x4 version-of-x4", "deleted y4 version-of-y4", "deleted old-1 version-of-old-1"]
        );
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_of_a_missing_slice_is_transient_and_a_create_is_not() {
    for wire in Wire::BOTH {
        let plan = of_types([
            plan(AddressType::Ipv4, &[], &["u4"], &[]),
            plan(AddressType::Ipv6, &["c6-"], &[], &[]),
        ]);
        let steps = vec![update("u4", wire.refusal(&NOT_FOUND)), create(wire.refusal(&NOT_FOUND))];
        let (_, errors, _) = apply(wire, &plan, steps).await;
        let expected = [
            "failed to update EndpointSlice shop/u4: gone (true)",
            "failed to create EndpointSlice shop/c6-: gone (false)",
        ];
        assert_eq!(errors, expected);
    }
}

/// The server generated the name, so that no cache could have shown the object that has it.
#[tokio::test(start_paused = true)]
async fn a_generated_name_that_exists_is_not_transient() {
    for wire in Wire::BOTH {
        let plan = of_types([plan(AddressType::Ipv4, &["c4-"], &[], &[])]);
        let (_, errors, _) = apply(wire, &plan, vec![create(wire.refusal(&TAKEN))]).await;
        assert_eq!(errors, ["failed to create EndpointSlice shop/c4-: taken (false)"]);
    }
}

#[tokio::test(start_paused = true)]
async fn creates_are_skipped_if_the_plan_suppresses_them() {
    for wire in Wire::BOTH {
        let mut held = plan(AddressType::Ipv4, &["c4-"], &["u4"], &["x4"]);
        held.creates_suppressed = true;
        let plan = of_types([held]);
        let steps = vec![update("u4", stored(wire, "u4")), delete("x4", deleted())];
        let (reported, _, _) = apply(wire, &plan, steps).await;
        assert_eq!(reported, ["updated u4 42", "deleted x4 version-of-x4"]);
    }
}
