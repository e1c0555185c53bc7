//! The controllers, by the names that `--controllers` takes.

/// A controller that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    Endpoints,
    EndpointSlice,
    EndpointSliceMirroring,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Endpoints, Self::EndpointSlice, Self::EndpointSliceMirroring];

    /// The canonical name (`cmd/kube-controller-manager/names/controller_names.go`).
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoints-controller",
            Self::EndpointSlice => "endpointslice-controller",
            Self::EndpointSliceMirroring => "endpointslice-mirroring-controller",
        }
    }

    /// The name of old, still accepted.
    const fn alias(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoint",
            Self::EndpointSlice => "endpointslice",
            Self::EndpointSliceMirroring => "endpointslicemirroring",
        }
    }

    /// True if this program can run it.
    const fn exists(self) -> bool {
        matches!(self, Self::EndpointSlice)
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|controller| controller.name() == name || controller.alias() == name)
    }
}

/// Which controllers a `--controllers` list selects, or what is wrong with it.
///
/// For each controller the first entry that names it decides, as `name` or `-name`; otherwise `*` anywhere selects it
/// (`k8s.io/controller-manager` `app/helper.go` `IsControllerEnabled`). A controller that doesn't exist yet is left
/// out of `*` and refused by name.
pub(crate) fn selected(entries: &[String]) -> Result<Vec<Controller>, String> {
    let mut unknown = Vec::new();
    let mut named = Vec::new();
    for entry in entries.iter().filter(|entry| *entry != "*") {
        let (name, on) = entry.strip_prefix('-').map_or((entry.as_str(), true), |name| (name, false));
        match Controller::named(name) {
            Some(controller) => named.push((controller, on)),
            None => unknown.push(format!("{name:?} is not in the list of known controllers")),
        }
    }
    if !unknown.is_empty() {
        return Err(format!("--controllers: {}", unknown.join(", ")));
    }
    let all = entries.iter().any(|entry| entry == "*");
    let decision = |controller| named.iter().find(|(other, _)| *other == controller).map(|(_, on)| *on);
    if let Some(missing) = Controller::ALL
        .into_iter()
        .find(|controller| decision(*controller) == Some(true) && !controller.exists())
    {
        return Err(format!("--controllers: {} is not available yet", missing.name()));
    }
    let selected: Vec<Controller> = Controller::ALL
        .into_iter()
        .filter(|controller| decision(*controller).unwrap_or(all && controller.exists()))
        .collect();
    if selected.is_empty() {
        Err("--controllers: no controller is selected".to_owned())
    } else {
        Ok(selected)
    }
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
        assert_eq!(select("*"), slice);
        assert_eq!(select("endpointslice-controller"), slice);
        assert_eq!(select("endpointslice"), slice);
        assert_eq!(select("*,-endpoints-controller,-endpointslicemirroring"), slice);
        assert_eq!(select("endpointslice,-endpointslice-controller"), slice);
        assert!(select("-endpointslice,endpointslice-controller,*").is_err());
        assert!(select("-endpointslice-controller").is_err());
    }

    #[test]
    fn unknown_names_are_refused_by_name() {
        let refused = select("foo,-bar,*").unwrap_err();
        assert_eq!(
            refused,
            r#"--controllers: "foo" is not in the list of known controllers, "bar" is not in the list of known controllers"#
        );
        assert!(select("-*").unwrap_err().contains(r#""*" is not in the list"#));
        assert!(select("").unwrap_err().contains(r#""" is not in the list"#));
        assert!(select("endpoint").unwrap_err().contains("endpoints-controller is not available yet"));
    }
}
