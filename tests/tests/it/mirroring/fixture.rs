//! A cluster with a manager, and namespaces in it with one Service and its custom Endpoints each.

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tests::audit::{Mark, Request};
use tests::barrier::{Barrier, workers_rest};
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Kind, Manager, ManagerOptions};

/// The name of the Service and the Endpoints in every namespace.
pub(crate) const NAME: &str = "test-123";

pub(crate) struct Fixture {
    barrier: Barrier,
    options: ManagerOptions,
    // Fields drop in this order: the manager before its cluster.
    manager: Manager,
    pub(crate) cluster: Cluster,
}

impl Fixture {
    pub(crate) async fn start(kind: Kind, options: ManagerOptions) -> Self {
        let cluster = Box::pin(Cluster::start(ClusterOptions::default())).await;
        let barrier = Barrier::place(&cluster.client(), options.controllers).await;
        let manager = Manager::start(kind, &cluster, &options).await;
        barrier.wait().await;
        Self { barrier, options, manager, cluster }
    }

    /// Creates a namespace.
    pub(crate) async fn place(&self, namespace: &str) -> Place {
        let namespaces: Api<Namespace> = Api::all(self.cluster.client());
        let object = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
        namespaces.create(&PostParams::default(), &object).await.unwrap();
        self.existing(namespace)
    }

    pub(crate) fn existing(&self, namespace: &str) -> Place {
        Place { client: self.cluster.client(), namespace: namespace.to_owned() }
    }

    /// Returns when all changes are handled, and what ours wrote for them is in the audit log.
    pub(crate) async fn settle(&self) {
        self.barrier.settle().await;
        if self.manager.kind() == Kind::Ours {
            workers_rest(self.options.controllers, self.manager.pages()).await;
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        self.cluster.audit().mark()
    }

    /// The manager's writes of slices, successful or not.
    pub(crate) fn writes_of_slices(&self, mark: Mark, namespace: &str) -> Vec<Request> {
        let mut writes = self.cluster.audit().writes_since(mark, self.options.user);
        writes.retain(|write| {
            write.resource == "endpointslices" && write.namespace == namespace && !write.is_unserved()
        });
        writes
    }
}

/// A namespace with a Service and its Endpoints.
pub(crate) struct Place {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl Place {
    fn services(&self) -> Api<Service> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn endpoints(&self) -> Api<Endpoints> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) async fn create_service(&self, selector: Option<&Value>) {
        self.create_service_named(NAME, selector).await;
    }

    pub(crate) async fn create_service_named(&self, name: &str, selector: Option<&Value>) {
        let spec = json!({"ports": [{"port": 80}], "selector": selector});
        let service = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
        self.services().create(&PostParams::default(), &service).await.unwrap();
    }

    /// Replaces the Service with one that has another selector. An empty selector is sent as such; a patch with it
    /// would change nothing.
    pub(crate) async fn set_selector(&self, selector: Option<&Value>) {
        let mut service = self.services().get(NAME).await.unwrap();
        let selector = selector.map(|selector| serde_json::from_value(selector.clone()).unwrap());
        service.spec.as_mut().unwrap().selector = selector;
        self.services().replace(NAME, &PostParams::default(), &service).await.unwrap();
    }

    /// Returns the object as sent, for later changes.
    pub(crate) async fn create_endpoints(&self, subsets: &Value) -> Endpoints {
        self.create_endpoints_named(NAME, subsets).await
    }

    pub(crate) async fn create_endpoints_named(&self, name: &str, subsets: &Value) -> Endpoints {
        let endpoints = json!({"metadata": {"name": name}, "subsets": subsets});
        let endpoints: Endpoints = serde_json::from_value(endpoints).unwrap();
        self.endpoints().create(&PostParams::default(), &endpoints).await.unwrap();
        endpoints
    }

    /// Replaces the Endpoints, whatever their stored version.
    pub(crate) async fn replace_endpoints(&self, endpoints: &Endpoints) {
        self.endpoints().replace(NAME, &PostParams::default(), endpoints).await.unwrap();
    }

    pub(crate) async fn delete_endpoints(&self) {
        self.endpoints().delete(NAME, &DeleteParams::default()).await.unwrap();
    }

    /// All slices in the namespace, of any manager.
    pub(crate) async fn slices(&self) -> Vec<EndpointSlice> {
        let slices: Api<EndpointSlice> = Api::namespaced(self.client.clone(), &self.namespace);
        slices.list(&ListParams::default()).await.unwrap().items
    }
}

/// The manager of a slice.
pub(crate) fn manager(slice: &EndpointSlice) -> String {
    slice.labels().get("endpointslice.kubernetes.io/managed-by").cloned().unwrap_or_default()
}

/// The addresses of a slice, sorted.
pub(crate) fn addresses(slice: &EndpointSlice) -> Vec<String> {
    let endpoints = slice.endpoints.iter().flatten();
    let mut addresses: Vec<String> = endpoints.flat_map(|endpoint| endpoint.addresses.clone()).collect();
    addresses.sort();
    addresses
}
