//! `Endpoints`: `k8s.io/api core/v1/generated.proto`.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};

use super::Message;
use super::codec::{self, message};

impl Message for Endpoints {
    const API_VERSION: &'static str = "v1";
    const KIND: &'static str = "Endpoints";
}

message! {
    Endpoints {
        1 metadata: message,
        2 subsets: messages,
    }
}

message! {
    EndpointSubset {
        1 addresses: messages,
        2 not_ready_addresses: messages,
        3 ports: messages,
    }
}

message! {
    EndpointAddress {
        1 ip: text,
        2 target_ref: optional_message,
        3 hostname: plain_text,
        4 node_name: optional_text,
    }
}

message! {
    EndpointPort {
        1 name: plain_text,
        2 port: int32,
        3 protocol: plain_text,
        4 app_protocol: optional_text,
    }
}
