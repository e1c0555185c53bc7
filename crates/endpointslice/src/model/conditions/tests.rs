use super::*;

fn condition<'a>(kind: &'a str, status: &'a str, reason: &'a str, time: i64) -> ConditionFields<'a> {
    ConditionFields { kind, status, reason, last_transition: Some(time) }
}

/// Conditions of a node as a kubelet or the node lifecycle controller sets them, all at one time.
fn posted<'a>(ready: &'a str, others: &'a str, reason: &'a str, time: i64) -> [ConditionFields<'a>; 4] {
    POSTED.map(|kind| condition(kind, if kind == READY { ready } else { others }, reason, time))
}

#[test]
fn a_pod_is_marked_if_nobody_else_says_that_it_is_not_ready() {
    let containers = condition("ContainersReady", "True", "", 1);
    let gate = |status| condition("example.com/gate", status, "", 1);
    let cases = [
        ("marked", condition(READY, "False", "", 9), containers, "True", true),
        ("ready", condition(READY, "True", "", 1), containers, "True", false),
        ("a probe failed", condition(READY, "False", "ContainersNotReady", 9), containers, "True", false),
        (
            "containers",
            condition(READY, "False", "", 9),
            condition("ContainersReady", "False", "", 1),
            "True",
            false,
        ),
        (
            "a gate was false",
            condition(READY, "False", "ReadinessGatesNotReady", 9),
            containers,
            "True",
            false,
        ),
        ("a gate is false now", condition(READY, "False", "", 9), containers, "False", false),
        ("unknown", condition(READY, "Unknown", "", 9), containers, "True", false),
    ];
    for (case, ready, containers, status, expected) in cases {
        let conditions = [ready, containers, gate(status)];
        assert_eq!(only_marked_not_ready(&conditions, &["example.com/gate"]), expected, "{case}");
    }
    let marked = condition(READY, "False", "", 9);
    assert!(only_marked_not_ready(&[marked, containers], &[]));
    assert!(
        !only_marked_not_ready(&[marked, containers], &["example.com/gate"]),
        "the gate has no condition"
    );
    assert!(!only_marked_not_ready(&[marked], &[]), "containers have no condition");
    assert!(!only_marked_not_ready(&[], &[]));
}

#[test]
fn a_kubelet_is_lost_if_its_conditions_became_unknown() {
    let lost = posted("Unknown", "Unknown", "NodeStatusUnknown", 700);
    assert_eq!(Kubelet::of(&lost, Some(0)), Kubelet::Lost { since: 700 });
    let never = posted("Unknown", "Unknown", "NodeStatusNeverUpdated", 700);
    assert_eq!(Kubelet::of(&never, Some(0)), Kubelet::Unread);
    assert_eq!(Kubelet::of(&[], Some(0)), Kubelet::Unread);
}

#[test]
fn a_return_makes_all_conditions_new() {
    let back = posted("True", "False", "", 700);
    assert_eq!(
        Kubelet::of(&back, Some(0)),
        Kubelet::Posting { ready_since: Some(700), returned: Some(700), created: Some(0) }
    );
    let not_ready = posted("False", "False", "", 700);
    assert_eq!(
        Kubelet::of(&not_ready, Some(0)),
        Kubelet::Posting { ready_since: None, returned: Some(700), created: Some(0) }
    );
}

#[test]
fn a_kubelet_that_restarts_or_registers_does_not_return() {
    let mut restarted = posted("True", "False", "", 1);
    restarted[0].last_transition = Some(700);
    let posting =
        |ready_since, created| Kubelet::Posting { ready_since: Some(ready_since), returned: None, created };
    assert_eq!(Kubelet::of(&restarted, Some(0)), posting(700, Some(0)));
    assert_eq!(Kubelet::of(&posted("True", "False", "", 740), Some(700)), posting(740, Some(700)));
    assert_eq!(Kubelet::of(&posted("True", "False", "", 740), None), posting(740, None));
}
