//! Services that belong to other controllers (KEP-4770): our program on a real API server, its feature gate switched by
//! restarting it.
//!
//! | KEP-4770 asks for | test |
//! |---|---|
//! | "a service is created with the label and the service has then no Endpoints neither EndpointSlices. Then service is updated removing the label and the service has now Endpoints and EndpointSlices" | [`label::l3_created_with_the_label`], [`label::l5_label_removed`] |
//! | "a service is created without the label, the service has Endpoints and EndpointSlices. Then service is updated with the label and the service has no longer any Endpoints nor EndpointSlices" | [`label::l4_label_added`] |
//! | "With the feature gate disabled, a service is created with the label and the service has EndpointSlices as it would have had without the label" | [`gate::kep_4770_gate_disabled`] |
//!
//! The requirements L1 to L10 are functions of these names in [`label`] and [`gate`]. Those of one module share a cluster
//! and run one after another; the output says which one failed.

mod fixture;
mod gate;
mod label;
