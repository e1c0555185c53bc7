//! Label and annotation keys that are part of the API between controllers and consumers of slices.

/// Label of a slice: the Service it belongs to (`k8s.io/api` `discovery/v1/well_known_labels.go`).
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Label of a slice: the controller that owns its content (`discovery/v1/well_known_labels.go`).
pub const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// Label of slices and Endpoints whose Service has no cluster IP (`core/v1/well_known_labels.go`).
pub const HEADLESS: &str = "service.kubernetes.io/headless";
/// Label of a Service whose endpoints another controller than Kubernetes' own publishes; the value names it (KEP-4770).
pub const ENDPOINT_CONTROLLER_NAME: &str = "service.kubernetes.io/endpoint-controller-name";
/// Annotation of a slice: the time of the change that it carries (`core/v1/annotation_key_constants.go`).
pub const LAST_CHANGE_TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// Label of a Node: its zone (`core/v1/well_known_labels.go`).
pub const TOPOLOGY_ZONE: &str = "topology.kubernetes.io/zone";
/// Label of a Node that node lifecycle leaves out of its decisions about disruptions
/// (`nodelifecycle/node_lifecycle_controller.go` `labelNodeDisruptionExclusion`).
pub const EXCLUDE_DISRUPTION: &str = "node.kubernetes.io/exclude-disruption";
/// Annotation of a Service: topology-aware hints on or off (`core/v1/annotation_key_constants.go`).
pub const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
/// The deprecated form of [`TOPOLOGY_MODE`], which hides it when present.
pub const TOPOLOGY_AWARE_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
/// Label of Endpoints: not mirrored if `true` (`discovery/v1/well_known_labels.go`).
pub const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
/// Annotation of Endpoints that were once used for leader election (`client-go`
/// `tools/leaderelection/resourcelock/interface.go`).
pub const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// Annotation that `kubectl apply` leaves; never mirrored (`core/v1/annotation_key_constants.go`).
pub const LAST_APPLIED_CONFIGURATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Value of [`MANAGED_BY`] of the EndpointSliceMirroring controller, also upstream's.
pub const ENDPOINTSLICE_MIRRORING_CONTROLLER: &str = "endpointslicemirroring-controller.k8s.io";
/// Value of [`MANAGED_BY`] of the EndpointSlice controller, also upstream's.
pub const ENDPOINTSLICE_CONTROLLER: &str = "endpointslice-controller.k8s.io";
/// Value of [`ENDPOINTS_MANAGED_BY`] of the Endpoints controller, also upstream's.
pub const ENDPOINTS_CONTROLLER: &str = "endpoint-controller";
/// Label of Endpoints: the controller that owns their content (`pkg/controller/endpoint/endpoints_controller.go`).
pub const ENDPOINTS_MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
/// Annotation of Endpoints that hold more, or once held more, than their capacity
/// (`core/v1/annotation_key_constants.go`).
pub const ENDPOINTS_OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// Annotation of a Service from before `publishNotReadyAddresses`; no longer part of upstream.
pub const TOLERATE_UNREADY_ENDPOINTS: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";
