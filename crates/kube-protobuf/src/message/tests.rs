use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Endpoints, Event};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};

use super::*;
use crate::error::DecodeErrorKind;

fn lease_renewed(renew_time: Timestamp) -> Lease {
    let spec = LeaseSpec { renew_time: Some(MicroTime(renew_time)), ..LeaseSpec::default() };
    Lease { spec: Some(spec), ..Lease::default() }
}

#[test]
fn an_empty_message_equals_the_zero_value_in_json() {
    let lease = Lease::decode(b"").unwrap();
    assert_eq!(lease, serde_json::from_str(r#"{"metadata":{},"spec":{}}"#).unwrap());
    let event = Event::decode(b"").unwrap();
    let json =
        r#"{"metadata":{},"involvedObject":{},"source":{},"reportingComponent":"","reportingInstance":""}"#;
    assert_eq!(event, serde_json::from_str(json).unwrap());
    assert_eq!(Endpoints::decode(b"").unwrap(), Endpoints::default());
    assert_eq!(EndpointSlice::decode(b"").unwrap(), EndpointSlice::default());
}

#[test]
fn value_fields_do_not_distinguish_absent_and_empty() {
    let empty = ObjectMeta {
        name: Some(String::new()),
        generation: Some(0),
        labels: Some([].into()),
        finalizers: Some(vec![]),
        ..ObjectMeta::default()
    };
    let slice = EndpointSlice {
        metadata: empty,
        endpoints: Some(vec![Endpoint::default()]),
        ports: Some(vec![]),
        ..EndpointSlice::default()
    };
    let decoded = EndpointSlice::decode(&slice.encode()).unwrap();
    assert_eq!(decoded.metadata, ObjectMeta::default());
    assert_eq!(decoded.ports, None);
    assert!(decoded.endpoints.unwrap()[0].conditions.is_some(), "JSON has it as {{}}");
    assert_eq!(EndpointSlice::decode(&slice.encode()).unwrap().encode(), slice.encode());
}

#[test]
fn times_have_the_precision_of_json() {
    for (time, kept) in [
        ((0, 0), Some((0, 0))),
        ((1, 123_456_789), Some((1, 123_456_000))),
        ((-1, -1), Some((-2, 999_999_000))),
        ((-2, 500_000_000), Some((-2, 500_000_000))),
        ((-62_135_596_800, 0), None),
        ((-62_135_596_800, 1_000), Some((-62_135_596_800, 1_000))),
    ] {
        let time = Timestamp::new(time.0, time.1).unwrap();
        let kept = kept.map(|(seconds, nanos)| MicroTime(Timestamp::new(seconds, nanos).unwrap()));
        let decoded = Lease::decode(&lease_renewed(time).encode()).unwrap();
        assert_eq!(decoded.spec.unwrap().renew_time, kept, "{time}");
    }
    let time = Time(Timestamp::new(-1, -1).unwrap());
    let event = Event { first_timestamp: Some(time), ..Event::default() };
    let decoded = Event::decode(&event.encode()).unwrap();
    assert_eq!(decoded.first_timestamp, Some(Time(Timestamp::new(-2, 0).unwrap())));
}

/// Go writes a pointer to its zero time this way; JSON has `null`.
#[test]
fn an_empty_time_is_absent() {
    let lease = Lease::decode(b"\x12\x02\x22\x00").unwrap();
    assert_eq!(lease.spec, Some(LeaseSpec::default()));
}

#[test]
fn extreme_times_are_preserved_or_refused() {
    for time in [Timestamp::MIN, Timestamp::MAX] {
        let encoded = lease_renewed(time).encode();
        assert_eq!(Lease::decode(&encoded).unwrap().encode(), encoded, "{time}");
    }
    let mut writer = Writer::default();
    let spec = writer.open(2);
    let time = writer.open(4);
    writer.integer(1, i64::MAX);
    writer.close(time);
    writer.close(spec);
    assert_eq!(Lease::decode(&writer.finish()).unwrap_err().kind(), DecodeErrorKind::Time);
}

#[test]
fn invalid_utf8_is_replaced() {
    let slice = EndpointSlice::decode(b"\x22\x03a\xffb").unwrap();
    assert_eq!(slice.address_type, "a\u{fffd}b");
}

#[test]
fn fields_of_the_wrong_type_are_refused() {
    let error = EndpointSlice::decode(b"\x20\x01").unwrap_err();
    assert_eq!((error.kind(), error.message()), (DecodeErrorKind::UnexpectedType, "EndpointSlice"));
}

#[test]
fn nested_messages_of_any_length_are_written() {
    for length in [0, 1, 100, 127, 128, 129, 16_383, 16_384, 3_000_000] {
        let metadata = ObjectMeta { name: Some("x".repeat(length)), ..ObjectMeta::default() };
        let lease = Lease { metadata, ..Lease::decode(b"").unwrap() };
        let name = Lease::decode(&lease.encode()).unwrap().metadata.name.unwrap_or_default();
        assert_eq!(name.len(), length);
    }
}
