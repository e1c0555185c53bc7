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
        Self(list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect())
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

    /// True if kube-controller-manager runs this controller.
    pub(crate) fn run(&self, controller: Controller) -> bool {
        decision(&self.0, &controller.names()).unwrap_or_else(|| self.0.iter().any(|entry| entry == "*"))
    }

    /// The entries with which kube-controller-manager runs these controllers, or does not, and all others as before.
    pub(crate) fn with(&self, controllers: &[Controller], on: bool) -> Self {
        let names = |entry: &str, controller: &Controller| {
            controller.names().contains(&entry.strip_prefix('-').unwrap_or(entry))
        };
        let others = self.0.iter().filter(|entry| !controllers.iter().any(|it| names(entry, it)));
        let mut entries = Self(others.cloned().collect());
        for controller in controllers {
            if entries.run(*controller) != on {
                entries.0.push(format!("{}{}", if on { "" } else { "-" }, controller.name()));
            }
        }
        entries
    }

    /// The entries with those that kubeadm needs.
    pub(crate) fn for_kubeadm(mut self) -> Self {
        let lacking = self.lacking();
        // After `*`, as kubeadm writes them.
        let position = usize::from(self.0.first().is_some_and(|first| first == "*"));
        self.0.splice(position..position, lacking.into_iter().map(str::to_owned));
        self
    }

    /// The controllers that kubeadm needs and these entries leave out.
    pub(super) fn lacking(&self) -> Vec<&'static str> {
        let is_on = |names: &&[&str; 2]| decision(&self.0, *names).unwrap_or(false);
        OF_KUBEADM.iter().filter(|names| !is_on(names)).map(|[_, alias]| *alias).collect()
    }

    /// The list as in the flag.
    pub(crate) fn text(&self) -> String {
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
    fn controllers_are_switched_without_others() {
        let with = |list: &str, on: bool| Entries::new(list).with(&OURS[1..], on).text();
        assert_eq!(with("*", false), "*,-endpointslice-controller,-endpointslice-mirroring-controller");
        assert_eq!(
            with("endpointslice,*,-ttl", false),
            "*,-ttl,-endpointslice-controller,-endpointslice-mirroring-controller"
        );
        assert_eq!(with("deployment-controller", false), "deployment-controller");
        assert_eq!(with("*,-endpointslice,-ttl,-endpointslicemirroring", true), "*,-ttl");
        assert_eq!(with("ttl", true), "ttl,endpointslice-controller,endpointslice-mirroring-controller");
        assert_eq!(with("", true), "endpointslice-controller,endpointslice-mirroring-controller");
        let kubeadm = |list: &str| Entries::new(list).for_kubeadm().text();
        assert_eq!(kubeadm("*,-ttl"), "*,bootstrapsigner,tokencleaner,-ttl");
        assert_eq!(kubeadm("*,token-cleaner-controller"), "*,bootstrapsigner,token-cleaner-controller");
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
