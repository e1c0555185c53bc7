//! Messages that all kinds contain: `k8s.io/apimachinery pkg/apis/meta/v1/generated.proto`, and the
//! `ObjectReference` of `k8s.io/api core/v1/generated.proto`.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::codec::{self, message};
use super::time;

message! {
    ObjectMeta {
        1 name: plain_text,
        2 generate_name: plain_text,
        3 namespace: plain_text,
        4 self_link: plain_text,
        5 uid: plain_text,
        6 resource_version: plain_text,
        7 generation: plain_int64,
        8 creation_timestamp: plain_time,
        9 deletion_timestamp: optional_time,
        10 deletion_grace_period_seconds: optional_int64,
        11 labels: map,
        12 annotations: map,
        13 owner_references: messages,
        14 finalizers: texts,
    }
}

message! {
    OwnerReference {
        1 kind: text,
        3 name: text,
        4 uid: text,
        5 api_version: text,
        6 controller: optional_bool,
        7 block_owner_deletion: optional_bool,
    }
}

message! {
    ObjectReference {
        1 kind: plain_text,
        2 namespace: plain_text,
        3 name: plain_text,
        4 uid: plain_text,
        5 api_version: plain_text,
        6 resource_version: plain_text,
        7 field_path: plain_text,
    }
}
