//! `/debug/services`: a Service whose slice is refused shows its error and its retry, to clients with the right.

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::pages::{Page, Pages};
use tests::policies;
use tests::requests;
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};

use crate::deploy::manifests::authorized;

const POLICY: &str = "no-slices";
const MESSAGE: &str = "no slices while the moon is full";

/// Makes the API server refuse each new slice with a certain label, and waits until it does.
async fn refuse_slices(world: &World) {
    let policy = json!({
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{
            "apiGroups": ["discovery.k8s.io"], "apiVersions": ["v1"], "resources": ["endpointslices"],
            "operations": ["CREATE"],
        }]},
        "validations": [{
            "expression": "!('kubernetes.io/service-name' in object.metadata.labels && \
                           object.metadata.labels['kubernetes.io/service-name'] == 'refused')",
            "message": MESSAGE,
        }],
    });
    let binding = json!({"policyName": POLICY, "validationActions": ["Deny"]});
    for (kind, spec) in [("ValidatingAdmissionPolicy", policy), ("ValidatingAdmissionPolicyBinding", binding)]
    {
        requests::create(world.client(), &policies::object(kind, POLICY, &spec)).await.unwrap();
    }
    let probe = json!({
        "metadata": {"name": "probe", "labels": {"kubernetes.io/service-name": "refused"}},
        "addressType": "IPv4", "endpoints": [],
    });
    let probe = serde_json::from_value(probe).unwrap();
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    wait::until("the policy", LIMIT, async || match world.slices().create(&dry_run, &probe).await {
        Err(kube::Error::Api(status)) if status.message.contains(MESSAGE) => Ok(()),
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("a slice is accepted".to_owned()),
    })
    .await;
}

/// A client of the manager's pages.
struct Reader<'a> {
    pages: &'a Pages,
    user: User,
}

impl Reader<'_> {
    async fn get(&self, path: &str, accept: &str) -> Page {
        let request = http::Request::get(path)
            .header("authorization", format!("Bearer {}", self.user.token()))
            .header("accept", accept)
            .body(Vec::new())
            .unwrap();
        self.pages.send(request).await.unwrap()
    }

    async fn status(&self, path: &str) -> u16 {
        self.get(path, "*/*").await.status
    }

    async fn json(&self, path: &str) -> Result<Value, String> {
        let page = self.get(path, "application/json").await;
        if page.status != 200 || page.content_type != "application/json" {
            return Err(format!("{} {}: {}", page.status, page.content_type, page.text));
        }
        serde_json::from_str(&page.text).map_err(|error| error.to_string())
    }
}

/// The state of a Service in the controller of slices.
fn of_slices(service: &Value) -> Value {
    let controllers = service["controllers"].as_array().unwrap();
    let is_slices = |state: &&Value| state["controller"] == "endpointslice-controller";
    controllers.iter().find(is_slices).cloned().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_fails_shows_its_error_and_its_retry() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    cluster.allow_delegation().await;
    authorized(&cluster.client()).await;
    let options = ManagerOptions::of(Controller::ALL);
    let manager = Manager::delegating(Kind::Ours, &cluster, &options, User::EndpointControllers).await;
    let admin = Reader { pages: manager.pages(), user: User::Admin };
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    refuse_slices(&world).await;
    world.pods([Pod::new("web-0", "web", 0)]).await;
    let spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
    for name in ["refused", "written"] {
        world.service(name, json!({}), spec.clone()).await;
    }
    world.expect("written", "IPv4", 1, 1).await;

    let path = |name: &str| format!("/debug/services/{NAMESPACE}/{name}");
    let service = wait::until("a third failure", LIMIT, async || {
        let service = admin.json(&path("refused")).await?;
        let slices = of_slices(&service);
        let waits = slices["waitsFor"] == "its retry" && slices["failures"].as_u64() >= Some(3);
        // The other controller may still be at the Service.
        let is_written = service["controllers"][0]["state"] == "InSync";
        if waits && is_written { Ok(service) } else { Err(service.to_string()) }
    })
    .await;
    assert_eq!((&service["leads"], &service["exists"]), (&json!(true), &json!(true)), "{service}");
    let slices = of_slices(&service);
    assert_eq!(slices["state"], "Failing", "{slices}");
    assert!(slices["lastError"]["message"].as_str().unwrap().contains(MESSAGE), "{slices}");
    // In order, as texts: times to the second.
    let times = ["unwrittenSince", "lastSync", "nextSync"].map(|time| slices[time].as_str().unwrap());
    assert!(times.is_sorted(), "{slices}");
    assert_eq!(service["controllers"][0]["controller"], "endpoints-controller");

    let text = admin.get(&path("refused"), "*/*").await;
    assert_eq!((text.status, &*text.content_type), (200, "text/plain; charset=utf-8"));
    assert!(text.text.contains(" Failing ") && text.text.contains(MESSAGE), "{}", text.text);
    let list = admin.json("/debug/services?state=failing").await.unwrap();
    assert_eq!((&list["total"], &list["services"][0]["name"]), (&json!(1), &json!("refused")), "{list}");
    // Its sync goes on for a moment after the write.
    wait::until("the other Service to be in sync", LIMIT, async || {
        let written = admin.json(&path("written")).await?;
        let is_in_sync = of_slices(&written)["state"] == "InSync" && written["exists"] == true;
        if is_in_sync { Ok(()) } else { Err(written.to_string()) }
    })
    .await;
    assert_eq!(admin.status(&path("no-such")).await, 404);
    assert_eq!(admin.status("/debug/services?state=filing").await, 400);

    // Who may not see it, does not.
    let other = Reader { pages: manager.pages(), user: User::ThirdParty };
    for path in [path("refused"), "/debug/services".to_owned()] {
        assert_eq!(other.status(&path).await, 403, "{path}");
    }

    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(cluster.client());
    bindings.delete(POLICY, &DeleteParams::default()).await.unwrap();
    wait::until("the end of the failure", LIMIT, async || {
        let list = admin.json("/debug/services").await?;
        if list["total"] == 0 { Ok(()) } else { Err(list.to_string()) }
    })
    .await;
    world.expect("refused", "IPv4", 1, 1).await;
    assert!(manager.stop().await.success());
}
