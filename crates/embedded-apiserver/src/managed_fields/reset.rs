//! Fields that requests cannot change, because the rules of the kind restore them.

/// The paths of such fields of a resource or subresource. Their changes are not recorded. Source: `GetResetFields` of
/// upstream's strategies.
pub(crate) fn reset_fields(
    group: &str,
    resource: &str,
    subresource: &str,
) -> &'static [&'static [&'static str]] {
    const STATUS: &[&[&str]] = &[&["status"]];
    const SPEC: &[&[&str]] = &[&["spec"]];
    match (group, resource, subresource) {
        ("", "pods", "status") => {
            &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
        }
        ("apps", "deployments", "status") => &[&["spec"], &["metadata", "labels"]],
        ("", "services" | "nodes" | "namespaces", "status") | ("apps", "replicasets", "status") => SPEC,
        ("", "pods" | "services" | "nodes" | "namespaces", "")
        | ("apps", "deployments" | "replicasets", "") => STATUS,
        _ => &[],
    }
}
