//! The kinds that kube-apiserver can decode, whether or not they are served.

/// The name of the Go type of a kind, such as `v1.ConfigMap`; `None` if kube-apiserver does not know the kind.
///
/// Cost: a scan of 7 kB.
pub(crate) fn go_type(api_version: &str, kind: &str) -> Option<String> {
    let mut lines = include_str!("../../schema/kinds.txt").lines().filter(|line| !line.starts_with('#'));
    let names = |line: Option<&'static str>| {
        line.is_some_and(|line| line.split(' ').skip(1).any(|name| name == kind))
    };
    let is_unversioned = names(lines.next());
    let is_everywhere = names(lines.next());
    let of_version = lines.find(|line| line.split(' ').next() == Some(api_version));
    if is_unversioned || is_everywhere && of_version.is_some() {
        return Some(format!("v1.{kind}"));
    }
    let version = api_version.rsplit('/').next().unwrap_or_default();
    names(of_version).then(|| format!("{version}.{kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_go_type_of_their_version() {
        for (api_version, kind, go) in [
            ("v1", "ConfigMap", Some("v1.ConfigMap")),
            ("v1", "PodList", Some("v1.PodList")),
            ("v1", "List", Some("v1.List")),
            ("apps/v1beta2", "ReplicaSet", Some("v1beta2.ReplicaSet")),
            ("apps/v1beta2", "DeleteOptions", Some("v1.DeleteOptions")),
            ("example.com/v1", "Status", Some("v1.Status")),
            ("example.com/v1", "DeleteOptions", None),
            ("apps/v1", "Pod", None),
            ("v1", "pod", None),
            ("everywhere", "DeleteOptions", None),
            ("unversioned", "Pod", None),
        ] {
            assert_eq!(go_type(api_version, kind).as_deref(), go, "{api_version} {kind}");
        }
    }
}
