use super::*;
use crate::error::DecodeErrorKind;
use crate::writer::Writer;

/// A message with one nested message.
fn nest(number: u32, fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::default();
    let open = writer.open(number);
    fill(&mut writer);
    writer.close(open);
    writer.finish()
}

#[test]
fn an_empty_message_is_an_empty_view() {
    assert_eq!(PodView::parse(b""), Ok(PodView::default()));
    assert_eq!(ServiceView::parse(b""), Ok(ServiceView::default()));
    assert_eq!(NodeView::parse(b""), Ok(NodeView::default()));
    assert_eq!(meta(b""), Ok(MetaView::default()));
}

#[test]
fn an_annotation_whose_value_is_not_utf8_is_empty() {
    let raw = nest(1, |meta| {
        meta.raw(&nest(12, |entry| {
            entry.text(1, "bad");
            entry.bytes(2, b"\xff");
        }));
        meta.raw(&nest(12, |entry| {
            entry.bytes(1, b"\xff");
            entry.text(2, "left out");
        }));
        meta.raw(&nest(12, |entry| {
            entry.text(1, "good");
            entry.text(2, "1");
        }));
    });
    assert_eq!(meta(&raw).unwrap().annotations, [("bad", ""), ("good", "1")]);
}

#[test]
fn a_name_that_is_not_utf8_is_an_error() {
    let raw = nest(1, |meta| meta.bytes(1, b"\xff"));
    let error = PodView::parse(&raw).unwrap_err();
    assert_eq!((error.kind(), error.message()), (DecodeErrorKind::Utf8, "ObjectMeta"));
}

#[test]
fn a_condition_that_is_not_utf8_is_another_condition() {
    let raw = nest(3, |status| status.raw(&nest(2, |condition| condition.bytes(1, b"\xff"))));
    assert_eq!(PodView::parse(&raw).unwrap().ready, None);
}

#[test]
fn the_first_ready_condition_is_used() {
    let condition = |status: &str| {
        nest(2, |condition| {
            condition.text(1, "Ready");
            condition.text(2, status);
        })
    };
    let raw = nest(3, |pod_status| {
        pod_status.raw(&condition("False"));
        pod_status.raw(&condition("True"));
    });
    assert_eq!(PodView::parse(&raw).unwrap().ready, Some((false, None)));
}

#[test]
fn ports_of_sidecars_follow_those_of_containers() {
    let port = |name: &str| nest(6, |port| port.text(1, name));
    let sidecar = |name: &str, policy: &str| {
        nest(20, |container| {
            // the policy precedes the ports: the order is irrelevant
            container.text(24, policy);
            container.raw(&port(name));
        })
    };
    let raw = nest(2, |spec| {
        spec.raw(&sidecar("mesh", "Always"));
        spec.raw(&sidecar("init", ""));
        spec.raw(&sidecar("retry", "OnFailure"));
        spec.raw(&nest(2, |container| container.raw(&port("web"))));
    });
    let pod = PodView::parse(&raw).unwrap();
    let ports: Vec<_> = pod.ports.iter().map(|port| (port.name, port.sidecar, port.protocol)).collect();
    assert_eq!(ports, [("web", false, "TCP"), ("mesh", true, "TCP")]);
}

#[test]
fn metadata_in_two_parts_merges() {
    let mut raw = nest(1, |meta| meta.text(1, "old"));
    raw.extend(nest(1, |meta| meta.text(3, "ns")));
    raw.extend(nest(1, |meta| meta.text(1, "new")));
    let pod = PodView::parse(&raw).unwrap();
    assert_eq!((pod.meta.name, pod.meta.namespace), ("new", "ns"));
}

#[test]
fn skipped_fields_are_not_parsed() {
    // spec.volumes, malformed
    let raw = nest(2, |spec| spec.bytes(1, b"\xff\xff"));
    assert!(PodView::parse(&raw).is_ok());
    // spec.containers, malformed
    let raw = nest(2, |spec| spec.bytes(2, b"\xff\xff"));
    assert_eq!(PodView::parse(&raw).unwrap_err().message(), "Container");
    // spec as a number
    assert_eq!(PodView::parse(b"\x10\x01").unwrap_err().kind(), DecodeErrorKind::UnexpectedType);
}

/// The field of a message that has a condition with these texts: type, status and reason.
fn condition(number: u32, [kind, status, reason]: [&[u8]; 3], seconds: i64) -> Vec<u8> {
    nest(number, |condition| {
        condition.bytes(1, kind);
        condition.bytes(2, status);
        condition.raw(&nest(4, |time| time.integer(1, seconds)));
        condition.bytes(5, reason);
    })
}

#[test]
fn all_conditions_are_read_with_their_reasons() {
    let gone = [&b"Ready"[..], b"Unknown", b"NodeStatusUnknown"];
    let raw = nest(3, |status| status.raw(&condition(4, gone, 7)));
    let expected = ConditionView {
        kind: "Ready",
        status: "Unknown",
        reason: "NodeStatusUnknown",
        last_transition: Some(7),
    };
    assert_eq!(ConditionView::of_node(&raw), Ok(vec![expected]));

    let gate = nest(2, |spec| spec.raw(&nest(28, |gate| gate.text(1, "example.com/gate"))));
    let status = nest(3, |status| {
        status.raw(&condition(2, [b"Ready", b"False", b""], 8));
        status.raw(&condition(2, [b"\xff", b"True", b"\xff"], 9));
    });
    let raw = [gate, status].concat();
    let view = PodConditionsView::parse(&raw).unwrap();
    assert_eq!(view.readiness_gates, ["example.com/gate"]);
    let read: Vec<_> =
        view.conditions.iter().map(|c| (c.kind, c.status, c.reason, c.last_transition)).collect();
    let unreadable = ("\u{fffd}", "True", "\u{fffd}", Some(9));
    assert_eq!(read, [("Ready", "False", "", Some(8)), unreadable]);
}
