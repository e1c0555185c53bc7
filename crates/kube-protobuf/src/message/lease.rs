//! `Lease`: `k8s.io/api coordination/v1/generated.proto`.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use super::Message;
use super::codec::{self, message};
use super::time;

impl Message for Lease {
    const API_VERSION: &'static str = "coordination.k8s.io/v1";
    const KIND: &'static str = "Lease";
}

message! {
    Lease = Self { spec: Some(codec::Codec::zero()), ..Self::default() } => {
        1 metadata: message,
        2 spec: kept_message,
    }
}

message! {
    LeaseSpec {
        1 holder_identity: optional_text,
        2 lease_duration_seconds: optional_int32,
        3 acquire_time: optional_micro_time,
        4 renew_time: optional_micro_time,
        5 lease_transitions: optional_int32,
        6 strategy: optional_text,
        7 preferred_holder: optional_text,
    }
}
