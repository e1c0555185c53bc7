//! The parts of a cluster that manifests lack: the pods of workloads, and what the scheduler and the kubelets do.

pub(crate) mod addresses;
pub(crate) mod kubelet;
pub(crate) mod replicas;
pub(crate) mod selector;
pub(crate) mod workload;
