//! Throw-away credentials of a cluster: users with tokens, their kubeconfigs, a key for service accounts.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A user of the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum User {
    /// The operator, without restrictions.
    Admin,
    /// A program without restrictions, whose reads are in the audit log too.
    ControlPlane,
    /// kube-controller-manager with all its controllers under one identity.
    KubeControllerManager,
    /// Has the permissions of upstream's Endpoints controller.
    EndpointsController,
    /// Has the permissions of upstream's `EndpointSlice` controller.
    EndpointSliceController,
    /// Has the permissions of upstream's `EndpointSlice` mirroring controller.
    EndpointSliceMirroringController,
    /// Has the permissions of all three.
    EndpointControllers,
    /// Another project's controller. It has only the permissions that a test grants.
    ThirdParty,
}

impl User {
    /// All users.
    pub const ALL: [Self; 8] = [
        Self::Admin,
        Self::ControlPlane,
        Self::KubeControllerManager,
        Self::EndpointsController,
        Self::EndpointSliceController,
        Self::EndpointSliceMirroringController,
        Self::EndpointControllers,
        Self::ThirdParty,
    ];

    /// The user name for the API server.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::ControlPlane => "control-plane",
            Self::KubeControllerManager => "system:kube-controller-manager",
            Self::EndpointsController => "endpoints-controller",
            Self::EndpointSliceController => "endpointslice-controller",
            Self::EndpointSliceMirroringController => "endpointslice-mirroring-controller",
            Self::EndpointControllers => "endpoint-controllers",
            Self::ThirdParty => "third-party",
        }
    }

    /// The roles of a fresh API server that the test binds to the user; none if it already has its permissions.
    pub(crate) fn roles(self) -> &'static [&'static str] {
        const ALL: &[&str] = &[
            "system:controller:endpoint-controller",
            "system:controller:endpointslice-controller",
            "system:controller:endpointslicemirroring-controller",
        ];
        match self {
            Self::Admin | Self::ControlPlane | Self::KubeControllerManager | Self::ThirdParty => &[],
            Self::EndpointsController => &ALL[..1],
            Self::EndpointSliceController => &ALL[1..2],
            Self::EndpointSliceMirroringController => &ALL[2..],
            Self::EndpointControllers => ALL,
        }
    }

    fn groups(self) -> &'static str {
        match self {
            Self::Admin | Self::ControlPlane => "system:masters",
            _ => "",
        }
    }

    /// The token that authenticates it to the API server.
    pub fn token(self) -> String {
        format!("token-of-{}", self.name().replace(':', "-"))
    }
}

/// The file that `kube-apiserver --token-auth-file` reads.
pub(crate) fn token_file() -> String {
    User::ALL.iter().fold(String::new(), |mut text, user| {
        writeln!(text, r#"{},{},{},"{}""#, user.token(), user.name(), user.name(), user.groups()).unwrap();
        text
    })
}

/// A kubeconfig for a server and its client.
pub fn kubeconfig(cluster: &Value, user: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    })
}

/// A new P-256 key in PEM. The API server requires one to sign service account tokens, which no test uses, so the
/// quality of the randomness does not matter.
pub(crate) fn signing_key() -> String {
    // RFC 5915: SEQUENCE { version 1, OCTET STRING (32 bytes), [0] { OID prime256v1 } }
    let mut der = vec![0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];
    // Any number from 1 to the order of the curve will do; this one is positive and has its top bit clear.
    der.push(fastrand::u8(1..0x80));
    der.extend(std::iter::repeat_with(|| fastrand::u8(..)).take(31));
    der.extend([0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]);
    let label = "EC PRIVATE KEY";
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}
