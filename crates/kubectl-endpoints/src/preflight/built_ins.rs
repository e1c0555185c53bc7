//! `--controllers` of kube-controller-manager, from the words of its command and from kubeadm's configuration.

use endpoint_controller_manager::controllers::{Controller, decision};
use serde_json::Value;

/// Controllers that `*` leaves out and kubeadm names (`cmd/kube-controller-manager` `ControllersDisabledByDefault`), each
/// with its alias. Without them no node can join.
const OF_KUBEADM: [[&str; 2]; 2] =
    [["bootstrap-signer-controller", "bootstrapsigner"], ["token-cleaner-controller", "tokencleaner"]];

/// The entries of `--controllers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entries(Vec<String>);

impl Entries {
    fn new(list: &str) -> Self {
        Self(list.split(',').map(|entry| entry.trim().to_owned()).collect())
    }

    /// Those of a command: of all its flags, or the default.
    pub(crate) fn of_words(words: &[String]) -> Self {
        let mut lists = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--") else { continue };
            match flag.split_once('=') {
                Some(("controllers", list)) => lists.push(list.to_owned()),
                None if flag == "controllers" => lists.extend(words.next().cloned()),
                _ => {}
            }
        }
        Self::new(if lists.is_empty() { "*".to_owned() } else { lists.join(",") }.as_str())
    }

    /// Those of kubeadm's `ClusterConfiguration`, in its forms v1beta3 (a map) and v1beta4 (a list); none if it has
    /// none, because kubeadm then uses its own.
    pub(super) fn of_kubeadm(configuration: &str) -> Option<Self> {
        let document: Value = serde_yaml::from_str(configuration).ok()?;
        let arguments = document.pointer("/controllerManager/extraArgs")?;
        let list = match arguments {
            Value::Array(list) => {
                let named = |it: &&Value| it.get("name").and_then(Value::as_str) == Some("controllers");
                list.iter().rfind(named)?.get("value")
            }
            map => map.get("controllers"),
        };
        Some(Self::new(list?.as_str()?))
    }

    /// True if kube-controller-manager runs a controller of this program.
    pub(crate) fn run(&self, controller: Controller) -> bool {
        decision(&self.0, &controller.names()).unwrap_or_else(|| self.0.iter().any(|entry| entry == "*"))
    }

    /// The controllers that kubeadm needs and these entries leave out.
    pub(super) fn lacking(&self) -> Vec<&'static str> {
        let is_on = |names: &&[&str; 2]| decision(&self.0, *names).unwrap_or(false);
        OF_KUBEADM.iter().filter(|names| !is_on(names)).map(|[_, alias]| *alias).collect()
    }

    /// The list as in the flag.
    pub(super) fn text(&self) -> String {
        self.0.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [Controller; 3] =
        [Controller::Endpoints, Controller::EndpointSlice, Controller::EndpointSliceMirroring];

    fn running(line: &str) -> Vec<bool> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        OURS.map(|controller| Entries::of_words(&words).run(controller)).to_vec()
    }

    #[test]
    fn the_flag_is_found_in_every_form() {
        assert_eq!(running("kube-controller-manager --leader-elect=true"), [true; 3]);
        assert_eq!(running("kcm --controllers=*,-endpoints-controller"), [false, true, true]);
        assert_eq!(running("kcm --controllers *,-endpointslice -v 2"), [true, false, true]);
        // Values of a repeated flag add up.
        assert_eq!(running("kcm --controllers=* --controllers=-endpointslicemirroring"), [true, true, false]);
        assert_eq!(running("kcm --controllers=deployment-controller"), [false; 3]);
    }

    #[test]
    fn kubeadm_needs_two_controllers_by_name() {
        let lacking = |list: &str| Entries::new(list).lacking();
        assert_eq!(lacking("*"), ["bootstrapsigner", "tokencleaner"]);
        assert_eq!(lacking("*,bootstrapsigner"), ["tokencleaner"]);
        assert_eq!(lacking("*,bootstrapsigner,token-cleaner-controller,-endpoint"), [""; 0]);
        assert_eq!(lacking("*,-bootstrapsigner,bootstrapsigner,tokencleaner"), ["bootstrapsigner"]);
    }

    #[test]
    fn kubeadms_configuration_has_two_forms() {
        let list = |text: &str| Entries::of_kubeadm(text).map(|entries| entries.text());
        let beta4 = include_str!("../../../../deploy/disable-built-ins/kubeadm.yaml");
        assert!(list(beta4).unwrap().starts_with("*,bootstrapsigner,tokencleaner,-"), "{beta4}");
        let beta3 = "controllerManager: {extraArgs: {controllers: '*,-endpoints-controller', v: '2'}}";
        assert_eq!(list(beta3).as_deref(), Some("*,-endpoints-controller"));
        for none in
            ["", "controllerManager: {}", "controllerManager: {extraArgs: [{name: v, value: '2'}]}", ": ["]
        {
            assert_eq!(list(none), None, "{none}");
        }
    }
}
