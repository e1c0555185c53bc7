//! YAML bodies: `application/yaml` is converted to JSON and back, as `sigs.k8s.io/yaml` does.

mod emit;
mod failure;
mod load;
mod resolve;
mod scalar;
mod utf16;

pub(crate) use emit::encode;
pub(crate) use load::to_json;

#[cfg(test)]
mod tests;
