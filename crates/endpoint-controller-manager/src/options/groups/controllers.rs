//! Flags of the three controllers (`cmd/kube-controller-manager/app/options/endpoint*controller.go`).

use crate::options::flag::Flag;
use crate::options::flag::Kind::{Count, Duration};

pub(super) const ENDPOINTS: &[Flag] = &[
    Flag::new(
        "concurrent-endpoint-syncs",
        "5",
        "Number of Services that the endpoints-controller plans concurrently; others may wait for their writes meanwhile",
        // Upstream accepts 0, and then does nothing.
        Count {
            min: 1,
            max: i32::MAX,
            set: |settings, workers| settings.endpoints.workers = workers as usize,
        },
    )
    .key("EndpointController.ConcurrentEndpointSyncs"),
    Flag::new(
        "endpoint-updates-batch-period",
        "0s",
        "Time that a pod change waits for further changes before Endpoints are updated",
        Duration(|settings, time| settings.endpoints.batch_period = time),
    )
    .key("EndpointController.EndpointUpdatesBatchPeriod"),
];

pub(super) const ENDPOINT_SLICE: &[Flag] = &[
    Flag::new(
        "concurrent-service-endpoint-syncs",
        "5",
        "Number of Services that the endpointslice-controller plans concurrently; others may wait for their writes meanwhile",
        Count { min: 1, max: 50, set: |settings, workers| settings.endpointslice.workers = workers as usize },
    )
    .key("EndpointSliceController.ConcurrentServiceEndpointSyncs"),
    Flag::new(
        "endpointslice-updates-batch-period",
        "0s",
        "Time that a pod change waits for further changes before EndpointSlices are updated",
        Duration(|settings, time| settings.endpointslice.batch_period = time),
    )
    .key("EndpointSliceController.EndpointUpdatesBatchPeriod"),
    Flag::new(
        "max-endpoints-per-slice",
        "100",
        "Maximum number of endpoints in an EndpointSlice",
        Count { min: 1, max: 1000, set: |settings, max| settings.endpointslice.max_endpoints = max as usize },
    )
    .key("EndpointSliceController.MaxEndpointsPerSlice"),
];

pub(super) const ENDPOINT_SLICE_MIRRORING: &[Flag] = &[
    Flag::new(
        "mirroring-concurrent-service-endpoint-syncs",
        "5",
        "Number of Endpoints that the endpointslice-mirroring-controller plans concurrently; others may wait for their writes meanwhile",
        Count { min: 1, max: 50, set: |settings, workers| settings.mirroring.workers = workers as usize },
    )
    .key("EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs"),
    Flag::new(
        "mirroring-endpointslice-updates-batch-period",
        "0s",
        "Time that a change of a mirrored EndpointSlice waits for further changes before it is reconciled",
        Duration(|settings, time| settings.mirroring.batch_period = time),
    )
    .key("EndpointSliceMirroringController.MirroringEndpointUpdatesBatchPeriod"),
    Flag::new(
        "mirroring-max-endpoints-per-subset",
        "1000",
        "Maximum number of addresses of a subset that are mirrored",
        Count { min: 1, max: 1000, set: |settings, max| settings.mirroring.max_endpoints = max as usize },
    )
    .key("EndpointSliceMirroringController.MirroringMaxEndpointsPerSubset"),
];
