//! The text forms of Go that kube-controller-manager's flags and messages have.

pub mod duration;
pub mod strconv;
