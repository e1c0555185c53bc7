use super::*;

fn versions(emulated: &str) -> Result<Versions, String> {
    Versions::new(&[emulated.to_owned()], &[])
}

fn gates(flag: &str) -> Result<FeatureGates, String> {
    FeatureGates::new(&[flag.to_owned()], Versions::default())
}

fn gates_at(emulated: &str, flag: &str) -> Result<FeatureGates, String> {
    FeatureGates::new(&[flag.to_owned()], versions(emulated).unwrap())
}

#[test]
fn names_are_unique_and_dependencies_exist() {
    let mut names: Vec<&str> = all().map(|gate| gate.name).chain(GROUPS.map(|(name, _)| name)).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!((names.len(), count), (259, 259));
    for gate in all() {
        for name in &gate.depends_on {
            assert!(find(name).is_some(), "{} depends on {name}", gate.name);
        }
    }
}

#[test]
fn defaults_meet_the_dependencies_of_each_supported_version() {
    for version in ["1.34", "1.35", "1.36", "1.37"] {
        assert_eq!(gates_at(version, "").err(), None, "{version}");
    }
}

#[test]
fn own_gates_have_their_stages_and_defaults() {
    let default = gates("").unwrap();
    let features = default.features();
    for (name, stage, enabled) in [
        (ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL, Stage::Alpha, false),
        (ENDPOINT_SLICE_COALESCING, Stage::Alpha, false),
        (ENDPOINT_SLICE_TERMINATING_CONDITION, Stage::Ga, true),
        (ENDPOINTS_KEEP_READY_ON_DISRUPTION, Stage::Alpha, false),
        (TOLERATE_UNREADY_ENDPOINTS_ANNOTATION, Stage::Alpha, false),
    ] {
        assert!(features.contains(&Feature { name, stage, enabled }), "{name}");
    }
    let set = gates(
        "EndpointControllerNameWellKnownLabel=true,EndpointSliceTerminatingCondition=f, \
         EndpointSliceCoalescing=true,EndpointsKeepReadyOnDisruption=true,TolerateUnreadyEndpointsAnnotation = 1",
    )
    .unwrap();
    assert!(set.enabled(ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL));
    assert!(set.enabled(ENDPOINT_SLICE_COALESCING));
    assert!(!set.enabled(ENDPOINT_SLICE_TERMINATING_CONDITION));
    assert!(set.enabled(ENDPOINTS_KEEP_READY_ON_DISRUPTION));
    assert!(set.enabled(TOLERATE_UNREADY_ENDPOINTS_ANNOTATION));
    assert_eq!(set.without_effect().count(), 0);
    assert_eq!(set.going_away().collect::<Vec<_>>(), [ENDPOINT_SLICE_TERMINATING_CONDITION]);
}

#[test]
fn all_alpha_and_all_beta_leave_named_gates_alone_in_any_order() {
    for flag in ["AllBeta=false,ContextualLogging=true", "ContextualLogging=true,AllBeta=false"] {
        let set = gates(flag).unwrap();
        assert!(set.enabled("ContextualLogging"), "{flag}");
        assert!(!set.enabled(LOGGING_BETA_OPTIONS), "{flag}");
        assert!(set.enabled(ENDPOINT_SLICE_TERMINATING_CONDITION), "{flag}");
    }
    let set = gates("AllAlpha=false,EndpointControllerNameWellKnownLabel=true").unwrap();
    assert!(set.enabled(ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL));
    assert!(!set.enabled(TOLERATE_UNREADY_ENDPOINTS_ANNOTATION));
    let all = gates("AllAlpha=true,AllBeta=true").unwrap();
    assert!(all.enabled(ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL) && all.enabled("AllAlpha"));
}

#[test]
fn gates_of_pages_have_an_effect() {
    let set = gates("ComponentFlagz=false,ComponentStatusz=false,AtomicFIFO=true").unwrap();
    assert_eq!(set.without_effect().collect::<Vec<_>>(), ["AtomicFIFO"]);
    for gate in [COMPONENT_FLAGZ, COMPONENT_STATUSZ] {
        assert!(gates("").unwrap().enabled(gate) && !set.enabled(gate), "{gate}");
        assert!(!gates_at("1.35", "").unwrap().enabled(gate), "{gate}");
    }
}

#[test]
fn the_last_value_of_a_gate_named_twice_counts() {
    let values = ["ContextualLogging=false".to_owned(), "ContextualLogging=true".to_owned()];
    assert!(FeatureGates::new(&values, Versions::default()).unwrap().enabled("ContextualLogging"));
}

#[test]
fn a_gate_with_a_disabled_dependency_is_refused() {
    let message = gates("AtomicFIFO=false").unwrap_err();
    assert!(
        message.contains(
            "StaleControllerConsistencyDaemonSet is enabled, but depends on features that are disabled: [AtomicFIFO]"
        ),
        "{message}"
    );
}

#[test]
fn emulated_versions_have_their_own_gates() {
    let old = gates_at("1.35", "").unwrap();
    assert!(!old.enabled("AtomicFIFO") && old.enabled("WatchListClient"));
    assert!(old.features().iter().all(|feature| feature.name != "AtomicFIFO"));
    assert!(gates_at("1.35", "InOrderInformers=false").is_ok(), "it was not locked then");
}

#[test]
fn a_gate_may_be_on_only_if_the_control_plane_is_compatible() {
    let name = "DRAFractionalCapacityRange";
    let at = |compatible: &str| {
        let versions = Versions::new(&[], &[compatible.to_owned()]).unwrap();
        FeatureGates::new(&[], versions).unwrap().enabled(name)
    };
    assert!(!at("1.36") && at("1.37"));
}

#[test]
fn an_emulated_version_is_compatible_with_the_one_before() {
    let shown = |text| {
        let versions = versions(text).unwrap();
        format!("{}, {}", versions.emulated(), versions.min_compatibility())
    };
    assert_eq!(shown("kube=1.35"), "1.35, 1.34");
    assert_eq!(shown("1.34"), "1.34, 1.34");
    assert_eq!(Versions::default(), versions("1.37").unwrap());
}

#[test]
fn each_gate_has_a_series() {
    let mut registry = prometheus_client::registry::Registry::default();
    gates("EndpointControllerNameWellKnownLabel=true").unwrap().register(&mut registry);
    let text = scripted_api::candidates::metrics(&registry);
    for series in [
        r#"kubernetes_feature_enabled{name="EndpointControllerNameWellKnownLabel",stage="ALPHA"} 1"#,
        r#"kubernetes_feature_enabled{name="EndpointSliceTerminatingCondition",stage=""} 1"#,
        r#"kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0"#,
        r#"kubernetes_feature_enabled{name="AllowInsecureKubeletCertificateSigningRequests",stage="DEPRECATED"} 0"#,
    ] {
        assert!(text.lines().any(|line| line == series), "{series} in {text}");
    }
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 259);
}

#[test]
fn flagz_shows_gates_with_their_component() {
    for (values, text) in [
        (&[][..], ""),
        (&["", ","], ""),
        (&["A=true"], ":A=true"),
        (&["B=t,A=false", "C"], ":B=t,:A=false,:C"),
        (&["kube:B=true", " kube : A = 1 "], "kube:B=true,kube:A = 1"),
        (&["wardle:B=true,A=true"], ":A=true,wardle:B=true"),
        (&["kube:a:b"], "kube:a:b"),
    ] {
        assert_eq!(shown(values), text, "{values:?}");
    }
}
