//! The flags of our own processes, as far as their pods show them. Pure.

use std::path::Path;

use endpoint_controller_manager::config::Config;
use endpoint_controller_manager::controllers::Controller;
use endpoint_controller_manager::options;
use endpoint_controller_manager::version;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::PodSpec;

/// The flags of a process, compared with those that a migration needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnFlags {
    /// It runs the controllers that change hands, once it holds the Lease.
    Fit,
    /// It would write what it must not, for this reason.
    Differ(String),
    /// The pod does not show them, for this reason.
    Unknown(String),
}

/// Compares the flags of a pod with the controllers that change hands, and the Lease as `namespace/name`.
pub(super) fn of(spec: &PodSpec, controllers: &[Controller], lease: &str) -> OwnFlags {
    config(spec).map_or_else(OwnFlags::Unknown, |config| compare(config, controllers, lease))
}

/// The time in which a leader with a takeover gate has looked at its first writes.
const FIRST_LOOK: SignedDuration = SignedDuration::from_mins(5);
/// The same, where flags are not known: in a large cluster, a gate may close later.
pub(super) const FIRST_LOOK_IF_ANY: SignedDuration = SignedDuration::from_secs(30);

/// The time in which a leader with these flags has looked at its first writes (`--takeover-max-writes`); none if it does not look.
pub(super) fn first_look(spec: &PodSpec) -> Option<SignedDuration> {
    match config(spec) {
        Ok(config) => config.takeover_max_writes.map(|_| FIRST_LOOK),
        Err(_) => Some(FIRST_LOOK_IF_ANY),
    }
}

/// The field manager of a process with these flags; none if they are not known.
pub(super) fn writer(spec: &PodSpec) -> Option<String> {
    config(spec).ok().map(|config| config.user_agent_name)
}

/// The configuration of a process.
///
/// # Errors
/// The reason why the pod does not show it.
fn config(spec: &PodSpec) -> Result<Config, String> {
    arguments(spec).and_then(options::parse_remote)
}

/// The arguments of the program.
///
/// # Errors
/// The reason why the pod does not show them.
pub(super) fn arguments(spec: &PodSpec) -> Result<Vec<String>, String> {
    let container = match spec.containers.as_slice() {
        [only] => Some(only),
        several => several.iter().find(|container| container.name == version::NAME),
    };
    let container = container.ok_or_else(|| format!("none of its containers is named {}", version::NAME))?;
    let mut words = container.command.clone().unwrap_or_default();
    if !words.is_empty() {
        let program = words.remove(0);
        if Path::new(&program).file_name().is_none_or(|name| name != version::NAME) {
            return Err(format!("its command is {program:?}"));
        }
    }
    words.extend(container.args.iter().flatten().cloned());
    match words.iter().find(|word| word.contains("$(")) {
        Some(word) => Err(format!("{word:?} has a variable")),
        None if words.is_empty() => Err("it has no arguments, so that those of its image count".to_owned()),
        None => Ok(words),
    }
}

fn compare(config: Config, controllers: &[Controller], lease: &str) -> OwnFlags {
    let Some(election) = config.leader_election else {
        return OwnFlags::Differ("it runs with --leader-elect=false, and would write at once".to_owned());
    };
    let own = format!("{}/{}", election.namespace, election.name);
    if own != lease {
        return OwnFlags::Differ(format!(
            "its Lease is {own} (--leader-elect-resource-namespace, --leader-elect-resource-name), and that of this command \
             is {lease} (--lease)"
        ));
    }
    if config.controllers != controllers {
        return OwnFlags::Differ(format!(
            "its --controllers selects {}, and {} are to change hands",
            names(&config.controllers),
            names(controllers)
        ));
    }
    OwnFlags::Fit
}

/// The names of controllers in a sentence.
pub(super) fn names(controllers: &[Controller]) -> String {
    controllers.iter().map(|controller| controller.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Container;
    use serde_json::json;

    use super::*;

    const LEASE: &str = "kube-system/endpoint-controller-manager";

    fn judge(controllers: &[Controller], container: serde_json::Value) -> OwnFlags {
        let container: Container = serde_json::from_value(container).unwrap();
        of(&PodSpec { containers: vec![container], ..PodSpec::default() }, controllers, LEASE)
    }

    fn with_args(args: &[&str]) -> OwnFlags {
        judge(&Controller::ALL, json!({"name": "ecm", "args": args}))
    }

    fn differs(flags: &OwnFlags, text: &str) -> bool {
        matches!(flags, OwnFlags::Differ(reason) if reason.contains(text))
    }

    #[test]
    fn flags_are_read_as_the_program_reads_them() {
        for args in [
            &["--leader-elect=true", "-v=2"][..],
            &["--leader_elect=T"],
            &["--configure-cloud-routes=false", "--v", "2"],
            &["--controllers=*,-deployment", "--leader-elect=0", "--leader-elect"],
        ] {
            assert_eq!(with_args(args), OwnFlags::Fit, "{args:?}");
        }
        for args in ["--leader-elect=false", "--leader-elect=False", "--leader-elect=f", "--leader_elect=0"] {
            assert!(differs(&with_args(&[args]), "write at once"), "{args}");
        }
        for args in
            [&["--leader-elect-resource-name=x"][..], &["--leader_elect_resource_namespace", "default"]]
        {
            assert!(differs(&with_args(args), "that of this command"), "{args:?}");
        }
        let mirroring = [Controller::EndpointSliceMirroring];
        let container = json!({"name": "ecm", "args": ["--configure-cloud-routes=false"]});
        assert!(differs(&judge(&mirroring, container), "are to change hands"));
    }

    #[test]
    fn what_a_pod_does_not_show_is_unknown() {
        for container in [
            json!({"name": "ecm"}),
            json!({"name": "ecm", "args": ["--config=/etc/ecm.yaml"]}),
            json!({"name": "ecm", "args": ["--controllers=$(CONTROLLERS)"]}),
            json!({"name": "ecm", "args": ["--no-such-flag"]}),
            json!({"name": "ecm", "command": ["/bin/sh", "-c", "exec endpoint-controller-manager"]}),
        ] {
            let flags = judge(&Controller::ALL, container.clone());
            assert!(matches!(flags, OwnFlags::Unknown(_)), "{container}: {flags:?}");
        }
        let container = json!({"name": "ecm", "command": ["/bin/endpoint-controller-manager", "-v=2"]});
        assert_eq!(judge(&Controller::ALL, container), OwnFlags::Fit);
    }
}
