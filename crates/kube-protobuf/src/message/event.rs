//! `Event`: `k8s.io/api core/v1/generated.proto`.

use k8s_openapi::api::core::v1::{Event, EventSeries, EventSource};

use super::Message;
use super::codec::{self, message};
use super::time;

impl Message for Event {
    const API_VERSION: &'static str = "v1";
    const KIND: &'static str = "Event";
}

message! {
    Event = Self {
        source: Some(codec::Codec::zero()),
        reporting_component: Some(String::new()),
        reporting_instance: Some(String::new()),
        ..Self::default()
    } => {
        1 metadata: message,
        2 involved_object: message,
        3 reason: plain_text,
        4 message: plain_text,
        5 source: kept_message,
        6 first_timestamp: plain_time,
        7 last_timestamp: plain_time,
        8 count: plain_int32,
        9 type_: plain_text,
        10 event_time: plain_micro_time,
        11 series: optional_message,
        12 action: plain_text,
        13 related: optional_message,
        14 reporting_component: kept_text,
        15 reporting_instance: kept_text,
    }
}

message! {
    EventSource {
        1 component: plain_text,
        2 host: plain_text,
    }
}

message! {
    EventSeries {
        1 count: plain_int32,
        2 last_observed_time: plain_micro_time,
    }
}
