//! The names of controllers in `--controllers`.

/// The names and aliases of the other controllers of kube-controller-manager, by line, which `--controllers` accepts so that its
/// list can be copied. Written by hack/testenv/tables.
const OTHERS: &str = include_str!("controllers/upstream.txt");

/// Those of controllers that supported releases have and the newest one has not. kube-controller-manager refuses them today; here
/// they are accepted without effect, so that the list of an older release can be copied.
const REMOVED: [&str; 6] = [
    "cloud-node-lifecycle-controller",
    "cloud-node-lifecycle",
    "node-route-controller",
    "route",
    "service-lb-controller",
    "service",
];

/// A controller that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Services and pods to Endpoints.
    Endpoints,
    /// Services, pods and nodes to EndpointSlices.
    EndpointSlice,
    /// Custom Endpoints to EndpointSlices.
    EndpointSliceMirroring,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Endpoints, Self::EndpointSlice, Self::EndpointSliceMirroring];

    /// The canonical name (`cmd/kube-controller-manager/names/controller_names.go`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoints-controller",
            Self::EndpointSlice => "endpointslice-controller",
            Self::EndpointSliceMirroring => "endpointslice-mirroring-controller",
        }
    }

    /// The former name, still accepted.
    const fn alias(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoint",
            Self::EndpointSlice => "endpointslice",
            Self::EndpointSliceMirroring => "endpointslicemirroring",
        }
    }

    /// The last part of the user agent of this controller's client in upstream; also the name of its service account.
    pub const fn client(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoint-controller",
            Self::EndpointSlice => "endpointslice-controller",
            Self::EndpointSliceMirroring => "endpointslicemirroring-controller",
        }
    }

    /// All names that `--controllers` accepts.
    pub const fn names(self) -> [&'static str; 2] {
        [self.name(), self.alias()]
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|controller| controller.names().contains(&name))
    }
}

/// Selects the controllers of a `--controllers` list.
///
/// For each controller the first entry that names it decides, as `name` or `-name`; otherwise `*` anywhere selects it
/// (`k8s.io/controller-manager` `app/helper.go` `IsControllerEnabled`). Names of kube-controller-manager's other
/// controllers are known and select nothing.
pub fn selected(entries: &[String]) -> Result<Vec<Controller>, String> {
    let mut unknown = Vec::new();
    for entry in entries.iter().filter(|entry| *entry != "*") {
        let name = entry.strip_prefix('-').unwrap_or(entry);
        if Controller::named(name).is_none() && !is_other(name) {
            unknown.push(format!("{name:?} is not in the list of known controllers"));
        }
    }
    if !unknown.is_empty() {
        return Err(format!("--controllers: {}", unknown.join(", ")));
    }
    let selected = enabled(entries);
    if selected.is_empty() {
        Err("--controllers: none of the three controllers is selected".to_owned())
    } else {
        Ok(selected)
    }
}

/// True for another controller of kube-controller-manager, of the newest release or of one before.
fn is_other(name: &str) -> bool {
    OTHERS.lines().chain(REMOVED).any(|other| other == name)
}

/// The decision of the first entry of a `--controllers` list that has one of these names.
pub fn decision(entries: &[String], names: &[&str]) -> Option<bool> {
    entries.iter().find_map(|entry| {
        let (name, on) = entry.strip_prefix('-').map_or((entry.as_str(), true), |name| (name, false));
        names.contains(&name).then_some(on)
    })
}

/// The controllers that a list enables, by the same rule. Entries of other names are ignored.
pub(crate) fn enabled(entries: &[String]) -> Vec<Controller> {
    let all = entries.iter().any(|entry| entry == "*");
    let is_on = |controller: &Controller| decision(entries, &controller.names()).unwrap_or(all);
    Controller::ALL.into_iter().filter(is_on).collect()
}

/// An entry with the canonical name in place of the alias.
pub(crate) fn canonical(entry: &str) -> String {
    let (minus, name) = entry.strip_prefix('-').map_or(("", entry), |name| ("-", name));
    let name = Controller::named(name).map_or(name, |controller| controller.name());
    format!("{minus}{name}")
}

/// The entries of a list that name controllers of kube-controller-manager that this program does not have.
pub(crate) fn others(entries: &[String]) -> Vec<&str> {
    let is_of_another = |entry: &&str| is_other(entry.strip_prefix('-').unwrap_or(entry));
    entries.iter().map(String::as_str).filter(is_of_another).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(list: &str) -> Result<Vec<Controller>, String> {
        selected(&list.split(',').map(ToOwned::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_first_entry_that_names_a_controller_decides() {
        let slice = Ok(vec![Controller::EndpointSlice]);
        assert_eq!(select("*"), Ok(Controller::ALL.to_vec()));
        assert_eq!(select("endpointslice-controller"), slice);
        assert_eq!(select("endpointslice"), slice);
        assert_eq!(select("*,-endpoints-controller,-endpointslicemirroring"), slice);
        assert_eq!(select("endpointslice,-endpointslice-controller"), slice);
        let others = Ok(vec![Controller::Endpoints, Controller::EndpointSliceMirroring]);
        assert_eq!(select("-endpointslice,endpointslice-controller,*"), others);
        assert_eq!(select("endpointslicemirroring,endpoint"), others);
    }

    #[test]
    fn upstreams_other_controllers_are_known() {
        assert_eq!(select("*,bootstrapsigner,-nodeipam"), Ok(Controller::ALL.to_vec()));
        let entries = ["*", "-nodeipam", "endpoint", "token-cleaner-controller"].map(str::to_owned);
        assert_eq!(others(&entries), ["-nodeipam", "token-cleaner-controller"]);
        let ours = Controller::ALL.map(|controller| [controller.name(), controller.alias()]);
        assert!(ours.as_flattened().iter().all(|name| !is_other(name)));
    }

    #[test]
    fn controllers_that_upstream_removed_are_known() {
        assert_eq!(select("*,-service-lb-controller,-route"), Ok(Controller::ALL.to_vec()));
        assert_eq!(others(&["-service".to_owned()]), ["-service"]);
        assert!(OTHERS.lines().all(|name| !REMOVED.contains(&name)));
    }
}
