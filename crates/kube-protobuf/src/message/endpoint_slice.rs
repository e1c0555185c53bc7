//! `EndpointSlice`: `k8s.io/api discovery/v1/generated.proto`.

use k8s_openapi::api::discovery::v1::{
    Endpoint, EndpointConditions, EndpointHints, EndpointPort, EndpointSlice, ForNode, ForZone,
};

use super::Message;
use super::codec::{self, message};

impl Message for EndpointSlice {
    const API_VERSION: &'static str = "discovery.k8s.io/v1";
    const KIND: &'static str = "EndpointSlice";
}

message! {
    EndpointSlice {
        1 metadata: message,
        2 endpoints: messages,
        3 ports: messages,
        4 address_type: text,
    }
}

message! {
    Endpoint = Self { conditions: Some(codec::Codec::zero()), ..Self::default() } => {
        1 addresses: texts,
        2 conditions: kept_message,
        3 hostname: optional_text,
        4 target_ref: optional_message,
        5 deprecated_topology: map,
        6 node_name: optional_text,
        7 zone: optional_text,
        8 hints: optional_message,
    }
}

message! {
    EndpointConditions {
        1 ready: optional_bool,
        2 serving: optional_bool,
        3 terminating: optional_bool,
    }
}

message! {
    EndpointHints {
        1 for_zones: messages,
        2 for_nodes: messages,
    }
}

message! {
    ForZone {
        1 name: text,
    }
}

message! {
    ForNode {
        1 name: text,
    }
}

// Unlike `EndpointPort` of core/v1, all fields are optional.
message! {
    EndpointPort {
        1 name: optional_text,
        2 protocol: optional_text,
        3 port: optional_int32,
        4 app_protocol: optional_text,
    }
}
