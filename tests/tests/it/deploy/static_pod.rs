//! The static pod: its security context, and credentials that are renewed under it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::cluster::{self, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::pages::Pages;
use tests::scenario::World;
use tests::wait::{self, Calm, LIMIT};

use super::STATIC_POD;
use super::manifests::{self, file, folder, kustomization, text};
use super::site::{ACCOUNT, Certified, Site};
use crate::serving::tls::Pair;

/// The pods differ only where a static pod has to: its kubeconfig, its addresses, its priority.
#[test]
fn both_pods_have_the_same_security_context() {
    let deployed = &manifests::deployment();
    let fixed = &file(STATIC_POD)[0]["spec"];
    let without_user = |pod: &Value| {
        let mut context = pod["securityContext"].clone();
        (context["runAsUser"].take(), context["runAsGroup"].take(), context)
    };
    let ((user, group, context), (own_user, own_group, own_context)) =
        (without_user(deployed), without_user(fixed));
    assert_eq!(context, own_context);
    // With the uid that distroless images share, other pods could read the kubeconfig on the node.
    assert!(own_user != user && own_group != group && own_user.is_u64(), "{own_user}:{own_group}");
    for same in ["securityContext", "resources", "ports"] {
        assert_eq!(deployed["containers"][0][same], fixed["containers"][0][same], "{same}");
    }
    let context = &fixed["containers"][0]["securityContext"];
    assert_eq!(context["readOnlyRootFilesystem"], json!(true));
    assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
    // The ports of kube-controller-manager, kube-scheduler and cloud-controller-manager.
    let port = fixed["containers"][0]["ports"][0]["containerPort"].as_u64().unwrap();
    assert!(!(10_257..=10_260).contains(&port), "{port} is taken on control-plane nodes");
    let args = fixed["containers"][0]["args"].as_array().unwrap();
    assert!(args.contains(&json!(format!("--secure-port={port}"))), "{args:?}");
}

/// Longer than the program takes to start and to read its files again, unless the machine is busy.
const VALID: Duration = Duration::from_secs(30);

/// A leader goes on when its first certificate has expired, because `renew-certificate` has replaced it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_certificate_is_used_without_a_restart() {
    let pod = file(STATIC_POD)[0]["spec"].clone();
    let certified = Certified::prepare(&kustomization("overlays/static-pod"), pod, &[]).await;
    let site = &certified.site;
    let world = World::prepare(site.cluster.client(), Controller::ALL).await;
    let credentials = site.cluster.folder().join("credentials");
    renew(&certified, &credentials);
    let options = site.options(&credentials.join("kubeconfig"));
    let valid = start_and_stop(site, &world, &options).await.bound(VALID);
    let first = Pair::client_for(&certified.authority, valid, site.cluster.folder(), ACCOUNT);
    for (from, to) in [(&first.certificate, "client.crt"), (&first.key, "client.key")] {
        let to = credentials.join(to);
        std::fs::remove_file(&to).unwrap();
        std::fs::copy(from, to).unwrap();
    }
    let mut manager = Manager::ours(&site.cluster, &options).await;
    world.sync().await;
    let term = site.term().await;
    renew(&certified, &credentials);
    manager.process().says("Reloaded credentials").await;

    let user = json!({"client-certificate": first.certificate, "client-key": first.key});
    let kubeconfig = site.write_kubeconfig("first.kubeconfig", &site.server(), &user);
    let by_first = Pages::by(cluster::client(&kubeconfig).await.unwrap());
    wait::until("the end of the first certificate", valid + LIMIT, async || {
        match by_first.get("/version").await?.status {
            401 => Ok(()),
            status => Err(status.to_string()),
        }
    })
    .await;
    world.service("renewed", json!({}), json!({"selector": {"app": "web"}, "ports": [{"port": 80}]})).await;
    world.expect_sizes("renewed", "IPv4", &[0]).await;
    assert_eq!(site.term().await, term, "the Lease changed hands");
    assert!(manager.stop().await.success());
}

/// The time that the program takes to start and to lead.
async fn start_and_stop(site: &Site, world: &World, options: &ManagerOptions) -> Calm {
    let start = Instant::now();
    let manager = Manager::ours(&site.cluster, options).await;
    world.sync().await;
    let calm = Calm::longest([start.elapsed()]);
    assert!(manager.stop().await.success());
    calm
}

/// Runs the script with the authority of a cluster.
fn renew(certified: &Certified, credentials: &Path) {
    let site = &certified.site;
    let ca = site.cluster.folder().join("client-ca");
    std::fs::write(ca.with_extension("crt"), &certified.authority.certificate_pem).unwrap();
    std::fs::write(ca.with_extension("key"), certified.authority.key_pem()).unwrap();
    let admin = std::fs::read(site.cluster.kubeconfig(User::Admin)).unwrap();
    let admin: Value = serde_json::from_slice(&admin).unwrap();
    let id = |flag| String::from_utf8(Command::new("id").arg(flag).output().unwrap().stdout).unwrap();
    let mut command = Command::new(folder().join("overlays/static-pod/renew-certificate"));
    command.env("CA", ca).env("DIRECTORY", credentials).env("SERVER", site.server());
    command.env("SERVER_CA", text(&admin, "/clusters/0/cluster/certificate-authority"));
    command.env("GROUP", id("-g").trim());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The pod's group reads them, and the owner alone, root on a node, replaces them.
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(credentials), 0o750);
    let left: Vec<PathBuf> =
        std::fs::read_dir(credentials).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(left.iter().all(|file| mode(file) == 0o440), "{left:?}");
}

/// The script writes what the manifest mounts, for the gid that the pod has, and the user that the bindings name.
#[test]
fn the_manifest_names_the_files_of_the_script() {
    let script = std::fs::read_to_string(folder().join("overlays/static-pod/renew-certificate")).unwrap();
    let default = |variable: &str| {
        let value = script.split(&format!("${{{variable}:-")).nth(1).unwrap();
        value.split('}').next().unwrap().to_owned()
    };
    let spec = &file(STATIC_POD)[0]["spec"];
    let folder = default("DIRECTORY");
    assert_eq!(text(spec, "/volumes/0/hostPath/path"), folder);
    assert_eq!(text(spec, "/containers/0/volumeMounts/0/mountPath"), folder);
    let args = spec["containers"][0]["args"].as_array().unwrap();
    for flag in ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"] {
        assert!(args.contains(&json!(format!("--{flag}={folder}/kubeconfig"))), "{flag}: {args:?}");
    }
    let context = &spec["securityContext"];
    assert_eq!(default("GROUP"), context["runAsGroup"].to_string());
    assert!(script.contains(&format!("-subj /CN={ACCOUNT} ")));
}
