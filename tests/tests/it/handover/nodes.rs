//! Control-plane nodes with a kube-controller-manager each: this plays the kubelet, which runs what the manifest says and
//! shows it as a mirror pod.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::binaries;
use tests::cluster::{Cluster, User};
use tests::process::Process;
use tests::wait::LIMIT;

use crate::deploy::PATIENT;
use crate::election::SHORT;

const NAME: &str = "kube-controller-manager";
/// As kubeadm has it, without the controllers that would end pods, which no kubelet runs here, or need more than this
/// cluster has.
pub(crate) const CONTROLLERS: &str = "*,bootstrapsigner,tokencleaner,-nodelifecycle,-podgc,-taint-eviction-controller,\
                           -device-taint-eviction-controller,-serviceaccount-token,-root-ca-cert-publisher,-csrsigning,\
                           -deployment,-replicaset,-disruption,-attachdetach,-persistentvolume-binder,\
                           -horizontalpodautoscaling,-resourcequota,\
                           -kube-apiserver-serving-clustertrustbundle-publisher-controller";

/// A node.
pub(crate) struct ControlPlaneNode {
    name: String,
    folder: PathBuf,
    /// The words that the running container was started with.
    words: Vec<String>,
    process: Option<Process>,
    /// True if its pod is not shown, as where kube-controller-manager is not a pod.
    is_hidden: bool,
}

impl ControlPlaneNode {
    /// Two nodes with host names of their own; one with that of this machine, if this user may not set names.
    pub(crate) fn all(cluster: &Cluster, is_hidden: bool) -> Vec<Self> {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let names = if can_name_hosts() { vec!["a", "b"] } else { vec![own.trim()] };
        names.into_iter().map(|name| Self::new(cluster, name, is_hidden)).collect()
    }

    fn new(cluster: &Cluster, name: &str, is_hidden: bool) -> Self {
        let folder = cluster.folder().join(format!("node-{name}"));
        std::fs::create_dir_all(&folder).unwrap();
        let node = Self { name: name.to_owned(), folder, words: Vec::new(), process: None, is_hidden };
        let milliseconds = |time: std::time::Duration| time.as_millis();
        let words = [
            NAME.to_owned(),
            format!("--controllers={CONTROLLERS}"),
            format!("--kubeconfig={}", cluster.kubeconfig(User::Admin).display()),
            "--use-service-account-credentials=false".to_owned(),
            "--secure-port=0".to_owned(),
            "--leader-elect=true".to_owned(),
            format!("--leader-elect-lease-duration={}ms", milliseconds(PATIENT.lease_duration)),
            format!("--leader-elect-renew-deadline={}ms", milliseconds(PATIENT.renew_deadline)),
            format!("--leader-elect-retry-period={}ms", milliseconds(PATIENT.retry_period)),
            "--endpointslice-updates-batch-period=0s".to_owned(),
            "-v=2".to_owned(),
        ];
        let lines: Vec<String> = words.iter().map(|word| format!("    - {word}")).collect();
        let manifest = format!(
            "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command:\n{}\n    name: {NAME}\n",
            lines.join("\n")
        );
        std::fs::write(node.manifest(), manifest).unwrap();
        node
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// Shows the node, which the workload may have as well, as where k3s runs kube-controller-manager in no pod.
    pub(crate) async fn register(&self, cluster: &Cluster) {
        let nodes: Api<Node> = Api::all(cluster.client());
        let info = json!({"kubeletVersion": "v1.36.3+k3s1", "architecture": "", "bootID": "", "containerRuntimeVersion": "",
            "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "operatingSystem": "", "osImage": "",
            "systemUUID": ""});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}});
        nodes.patch(&self.name, &PatchParams::apply("test"), &Patch::Apply(node)).await.unwrap();
        let status = Patch::Merge(json!({"status": {"nodeInfo": info}}));
        nodes.patch_status(&self.name, &PatchParams::default(), &status).await.unwrap();
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join(format!("{NAME}.yaml"))
    }

    /// What an operator does: edits the flag, and restarts the process.
    pub(crate) fn edit(&mut self, value: &str) {
        let text = std::fs::read_to_string(self.manifest()).unwrap();
        let change = |line: &str| {
            let is_flag = line.trim_start().starts_with("- --controllers=");
            if is_flag { format!("    - --controllers={value}") } else { line.to_owned() }
        };
        let lines: Vec<String> = text.lines().map(change).collect();
        std::fs::write(self.manifest(), lines.join("\n") + "\n").unwrap();
        self.words.clear();
    }

    /// Runs what the manifest says, if it has changed: ends the container, then starts another and shows it.
    pub(crate) async fn tick(&mut self, cluster: &Cluster) {
        let text = std::fs::read_to_string(self.manifest()).unwrap();
        // A file that is being written.
        let Ok(manifest) = serde_yaml::from_str::<Value>(&text) else { return };
        let Some(command) = manifest.pointer("/spec/containers/0/command").and_then(Value::as_array) else {
            return;
        };
        let words: Vec<String> = command.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if words == self.words {
            return;
        }
        if let Some(mut process) = self.process.take() {
            process.signal("TERM");
            process.ended(LIMIT).await;
            self.shorten_lease(cluster).await;
            // A kubelet takes its time too; starts are shown in whole seconds.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        self.words = words;
        let pods: Api<Pod> = Api::namespaced(cluster.client(), "kube-system");
        let name = format!("{NAME}-{}", self.name);
        if !self.is_hidden {
            let _ = pods.delete(&name, &DeleteParams::default().grace_period(0)).await;
            pods.create(&PostParams::default(), &serde_json::from_value(self.pod(&name)).unwrap())
                .await
                .unwrap();
        }
        self.process = Some(self.start());
        if !self.is_hidden {
            let started = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let state = json!({"running": {"startedAt": started}});
            let status = json!({"phase": "Running", "containerStatuses": [{"name": NAME, "image": "none", "imageID": "",
                "ready": true, "restartCount": 0, "state": state}]});
            pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(json!({ "status": status })))
                .await
                .unwrap();
        }
    }

    /// Makes the Lease of the process that has ended expire as soon as a short one would: upstream does not release it, and
    /// other processes go by the duration in the record.
    async fn shorten_lease(&self, cluster: &Cluster) {
        let leases: Api<Lease> = Api::namespaced(cluster.client(), "kube-system");
        let Some(lease) = leases.get_opt(NAME).await.unwrap() else { return };
        let holder = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
        if holder.starts_with(&format!("{}_", self.name)) {
            let change = json!({"spec": {"leaseDurationSeconds": SHORT.lease_duration.as_secs()}});
            leases.patch(NAME, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
        }
    }

    fn pod(&self, name: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": "kube-system",
                "labels": {"component": NAME, "tier": "control-plane"}},
            "spec": {"nodeName": self.name, "hostNetwork": true,
                "containers": [{"name": NAME, "image": "none", "command": self.words}]},
        })
    }

    /// Starts the process on a host with the node's name.
    fn start(&self) -> Process {
        let program = binaries::servers().kube_controller_manager();
        let args = self.words.iter().skip(1).map(OsString::from);
        if !can_name_hosts() {
            return Process::start(NAME, &program, &self.folder, args);
        }
        let script = "hostname \"$0\" && exec \"$@\"";
        let head = ["--uts", "sh", "-c", script, &self.name].map(OsString::from);
        let words = head.into_iter().chain([program.into_os_string()]).chain(args);
        Process::start(NAME, Path::new("unshare"), &self.folder, words)
    }
}

fn can_name_hosts() -> bool {
    let probe = Command::new("unshare").args(["--uts", "sh", "-c", "hostname a"]).output();
    probe.is_ok_and(|output| output.status.success())
}
