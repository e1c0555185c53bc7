//! Distributions of Kubernetes, by which the way to change a flag of kube-controller-manager differs. Pure.

use k8s_openapi::api::core::v1::{Node, Pod};

/// A distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    Kubeadm,
    K3s,
    Rke2,
    Talos,
    Other,
}

impl Distribution {
    /// The distribution of a mirror pod of kube-controller-manager, by its annotations, image and arguments.
    pub(super) fn of_pod(pod: &Pod) -> Self {
        let mut annotations = pod.metadata.annotations.iter().flatten();
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
        let words: Vec<&String> = containers
            .flat_map(|it| it.image.iter().chain(it.command.iter().flatten()).chain(it.args.iter().flatten()))
            .collect();
        let names = |part: &str| words.iter().any(|word| word.contains(part));
        if annotations.any(|(name, _)| name.starts_with("talos.dev/")) || names("/system/secrets/kubernetes")
        {
            Self::Talos
        } else if names("rke2") || names("rancher/hardened-kubernetes") {
            Self::Rke2
        } else if names("--kubeconfig=/etc/kubernetes/controller-manager.conf") {
            Self::Kubeadm
        } else {
            Self::Other
        }
    }

    /// The distribution of a node on which kube-controller-manager runs in no pod, by the version of its kubelet.
    pub(super) fn of_node(node: &Node) -> Self {
        let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
        match info.map_or("", |info| info.kubelet_version.as_str()) {
            version if version.contains("+k3s") => Self::K3s,
            version if version.contains("+rke2") => Self::Rke2,
            _ => Self::Other,
        }
    }

    /// The section of the documents with the way to change the flag, and what not to do instead; `on` if the controllers are
    /// enabled again.
    pub(super) fn page(self, on: bool) -> String {
        let (section, name) = match self {
            Self::Kubeadm => ("kubeadm", "kubeadm"),
            Self::K3s => ("k3s-rke2", "k3s"),
            Self::Rke2 => ("k3s-rke2", "RKE2, which undoes edits of its manifests"),
            Self::Talos => ("talos", "talos"),
            Self::Other => ("elsewhere", "a distribution that is not known"),
        };
        let roll_back = if on { " and #roll-back" } else { "" };
        let name = if name == section { String::new() } else { format!(" ({name})") };
        format!("deploy/disable-built-ins/README.md#{section}{roll_back}{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_shows_its_distribution() {
        let pod = |annotation: &str, image: &str, word: &str| -> Pod {
            let pod = json!({
                "metadata": {"annotations": {annotation: "1", "kubernetes.io/config.source": "file"}},
                "spec": {"containers": [{"name": "kcm", "image": image, "command": ["kube-controller-manager", word]}]},
            });
            serde_json::from_value(pod).unwrap()
        };
        let image = "registry.k8s.io/kube-controller-manager:v1.36.3";
        let talos = "--kubeconfig=/system/secrets/kubernetes/kube-controller-manager/kubeconfig";
        for (pod, expected) in [
            (pod("x", image, "--kubeconfig=/etc/kubernetes/controller-manager.conf"), Distribution::Kubeadm),
            (pod("x", "index.docker.io/rancher/hardened-kubernetes:v1.36.3", "-v=2"), Distribution::Rke2),
            (
                pod("x", image, "--cert-dir=/var/lib/rancher/rke2/server/tls/kube-controller-manager"),
                Distribution::Rke2,
            ),
            (pod("talos.dev/config-version", image, "-v=2"), Distribution::Talos),
            (pod("x", image, talos), Distribution::Talos),
            (pod("x", image, "-v=2"), Distribution::Other),
        ] {
            assert_eq!(Distribution::of_pod(&pod), expected, "{pod:?}");
        }
    }

    #[test]
    fn each_page_is_a_section_of_the_document() {
        let readme = include_str!("../../../../deploy/disable-built-ins/README.md");
        let slug = |line: &str| line.to_lowercase().replace(' ', "-").replace([',', '`'], "");
        let sections: Vec<String> =
            readme.lines().filter_map(|it| it.strip_prefix("### ")).map(slug).collect();
        for distribution in [
            Distribution::Kubeadm,
            Distribution::K3s,
            Distribution::Rke2,
            Distribution::Talos,
            Distribution::Other,
        ] {
            let page = distribution.page(true);
            let section = page.split(['#', ' ']).nth(1).unwrap();
            assert!(sections.iter().any(|it| it == section), "{page}: {sections:?}");
            assert!(page.contains(" and #roll-back") && readme.contains("\n## Roll back\n"), "{page}");
        }
    }
}
