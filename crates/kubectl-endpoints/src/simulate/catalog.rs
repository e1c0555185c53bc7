//! The kinds that the API server of a simulation stores.

/// The names of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resource {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
}

/// The kinds that controllers read and write, and Namespaces.
pub(crate) const OF_ENDPOINTS: &[Resource] = &[
    resource("v1", "Namespace", "namespaces", false),
    resource("v1", "Node", "nodes", false),
    resource("v1", "Service", "services", true),
    resource("v1", "Pod", "pods", true),
    resource("v1", "Endpoints", "endpoints", true),
    resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true),
];

/// The other kinds that the API server stores.
const OTHERS: &[Resource] = &[
    resource("v1", "Event", "events", true),
    resource("v1", "ServiceAccount", "serviceaccounts", true),
    resource("apps/v1", "Deployment", "deployments", true),
    resource("apps/v1", "ReplicaSet", "replicasets", true),
    resource("coordination.k8s.io/v1", "Lease", "leases", true),
];

/// All kinds that the API server stores.
pub(crate) fn stored() -> Vec<Resource> {
    [OF_ENDPOINTS, OTHERS].concat()
}

const fn resource(
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> Resource {
    Resource { api_version, kind, plural, namespaced }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cli_runtime::input::object::text;

    use super::super::api::Api;
    use super::super::server::Server;
    use super::*;

    /// Subresources and reviews, which are not stored, lack one of the verbs.
    #[tokio::test]
    async fn the_table_is_the_discovery_of_the_api_server() {
        let api = Api::new(Server::new().unwrap().client());
        let groups = api.get("/apis").await.unwrap();
        let groups = groups["groups"].as_array().unwrap().iter();
        let groups =
            groups.map(|group| format!("/apis/{}", text(group, &["preferredVersion", "groupVersion"])));
        let mut served = BTreeSet::new();
        for path in groups.chain(["/api/v1".to_owned()]) {
            let list = api.get(&path).await.unwrap();
            for resource in list["resources"].as_array().unwrap() {
                let verbs = resource["verbs"].as_array().unwrap();
                if ["create", "list"].iter().all(|verb| verbs.iter().any(|has| has == verb)) {
                    let [kind, plural] = ["kind", "name"].map(|key| text(resource, &[key]));
                    let version = text(&list, &["groupVersion"]);
                    served.insert(format!("{version} {kind} {plural} {}", resource["namespaced"]));
                }
            }
        }
        let row = |it: &Resource| format!("{} {} {} {}", it.api_version, it.kind, it.plural, it.namespaced);
        assert_eq!(stored().iter().map(row).collect::<BTreeSet<_>>(), served);
    }
}
