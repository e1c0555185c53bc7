//! The syntax of the command line, and its answers.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction};
use proptest::prelude::*;

use super::super::command;
use super::super::errors::Errors;
use super::super::groups::all;
use super::super::settings::Settings;
use super::{Usage, parse_words, printed, values};

/// The settings of a command line.
fn settings(line: &str) -> Settings {
    values(line).settings(&mut Errors::default())
}

/// Name and type of each flag of upstream.
fn upstream() -> Vec<(&'static str, &'static str)> {
    let file = include_str!("../../../testdata/kube-controller-manager-flags.txt");
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(' ').unwrap()).collect()
}

#[test]
fn flags_take_the_forms_that_kube_controller_manager_takes() {
    let typed = settings(
        "--leader-elect=false -v=4 --kube-api-qps=-1 --kube_api_burst 7 \
         --controllers=-endpoints-controller,endpointslice --controllers=* \
         --endpointslice-updates-batch-period=1m30s --max-endpoints-per-slice=0x10",
    );
    assert!(!typed.leader_election.enabled);
    assert_eq!(typed.verbosity, 4);
    assert_eq!(typed.qps, Some(-1.0));
    assert_eq!(typed.burst, 7);
    assert_eq!(typed.controllers, ["-endpoints-controller", "endpointslice", "*"]);
    assert_eq!(typed.endpointslice.batch_period.as_secs(), 90);
    assert_eq!(typed.endpointslice.max_endpoints, 16);
    assert!(settings("--leader-elect").leader_election.enabled);
    for verbosity in ["--v 2", "-v 2", "-v2", "--v=2"] {
        assert_eq!(settings(verbosity).verbosity, 2, "{verbosity}");
    }
    assert_eq!(settings("").controllers, ["*"]);
}

#[test]
fn lists_are_read_as_csv() {
    for (list, elements) in [
        ("", &[][..]),
        (",", &["", ""]),
        ("a,,b,", &["a", "", "b", ""]),
        ("\"*\",-b", &["*", "-b"]),
        ("\"a,b\",\"\",\"c\"\"d\"", &["a,b", "", "c\"d"]),
    ] {
        assert_eq!(settings(&format!("--controllers={list}")).controllers, elements, "{list}");
    }
    assert_eq!(settings("--controllers=a --controllers= --controllers=b").controllers, ["a", "b"]);
    for word in ["--controllers=*,-endpoints-controller\n", "--controllers=*,-endpoints-controller\r\n"] {
        assert_eq!(parse_words([word]).unwrap().controllers.len(), 2);
    }
}

#[test]
fn the_last_of_several_values_counts() {
    let line = "--kube-api-burst=1 --profiling=false --kube-api-burst 2 --profiling --cluster-name=a --cluster-name=b \
         --cert-dir=a --cert_dir=";
    let typed = settings(line);
    assert_eq!(typed.burst, 2);
    assert!(typed.server.profiling);
    assert_eq!(typed.server.serving.cert_dir, None);
    assert_eq!(values(line).json(all().find(|flag| flag.name == "cluster-name").unwrap()), "b");
}

#[test]
fn values_are_not_normalized() {
    let line = "--cert-dir --some_folder --kubeconfig -x --cluster_name=a_b";
    let typed = settings(line);
    assert_eq!(typed.server.serving.cert_dir, Some("--some_folder".into()));
    assert_eq!(typed.api_server.kubeconfig, Some("-x".into()));
    assert_eq!(values(line).json(all().find(|flag| flag.name == "cluster-name").unwrap()), "a_b");
}

#[test]
fn empty_words_are_passed_over() {
    assert_eq!(parse_words(["", "--v=2", ""]).unwrap().verbosity, 2);
    // This one is a value.
    assert_eq!(parse_words(["--cert-dir", "", "--v=2"]).unwrap().server.serving.cert_dir, None);
    // So is that of a subcommand's own flag.
    let own = [
        Arg::new("namespace").long("namespace").short('n'),
        Arg::new("all").long("all").action(ArgAction::SetTrue),
    ];
    let words = ["-n", "", "--all", "", "--namespace", ""];
    assert_eq!(command::normalized(words, &own), ["-n", "", "--all", "--namespace", ""]);
}

#[test]
fn addresses_are_read_as_by_go() {
    for (text, address) in [("", "0.0.0.0"), ("::ffff:10.0.0.1", "10.0.0.1"), ("::1", "::1")] {
        let typed = settings(&format!("--bind-address={text}"));
        assert_eq!(typed.server.serving.bind_address.to_string(), address, "{text:?}");
    }
}

#[test]
fn flags_of_older_releases_are_accepted() {
    let of_today: Vec<&str> = upstream().into_iter().map(|(name, _)| name).collect();
    assert!(!of_today.contains(&"concurrent-service-syncs"));
    settings("--concurrent-service-syncs=1");
    for of_an_older in ["1.33", "1.35", "1.36"] {
        settings(&format!("--show-hidden-metrics-for-version={of_an_older}"));
    }
}

#[test]
fn every_flag_of_upstream_is_accepted_with_a_value_of_its_type() {
    let flags = upstream();
    assert_eq!(flags.len(), 150);
    for (name, kind) in flags.into_iter().filter(|(name, _)| !["help", "version"].contains(name)) {
        let value = match kind {
            "bool" => "true",
            "int" | "int32" | "Level" | "int32Slice" => "1",
            "float" | "float32" => "0.5",
            "duration" => "1h30m",
            "ip" => "::1",
            "namedCertKey" => "a,b:c",
            "quantity" => "64Ki",
            _ => "a",
        };
        let typed = values(&format!("--{name}={value}"));
        let flag = all().find(|flag| flag.name == name).unwrap_or_else(|| panic!("{name} is not a flag"));
        assert!(!matches!(kind, "bool") || typed.json(flag) == true, "{name}");
        let underscored = format!("--{}={value}", name.replace('-', "_"));
        assert_eq!(values(&underscored), typed, "{underscored}");
    }
}

#[test]
fn help_lists_every_flag_once() {
    let help = printed("--help");
    let listed = |name: &str| {
        let flag = format!("--{name}");
        let lists = |line: &&str| {
            // Texts are indented further, and may begin a line with a flag.
            let is_text = line.starts_with("          ");
            let line = line.trim_start().trim_start_matches("-v, ").trim_start_matches("-h, ");
            !is_text
                && line
                    .strip_prefix(&flag)
                    .is_some_and(|rest| !rest.starts_with(|c: char| c == '-' || c.is_alphanumeric()))
        };
        help.lines().filter(lists).count()
    };
    for (name, _) in upstream().into_iter().chain([("config", ""), ("concurrent-service-syncs", "")]) {
        let hidden = ["allow-untagged-cloud", "concurrent-service-syncs", "node-sync-period"].contains(&name);
        assert_eq!(listed(name), usize::from(!hidden), "--{name} in {help}");
    }
}

#[test]
fn help_is_in_upstreams_order_of_sections() {
    let help = printed("-h");
    let headings: Vec<&str> = help.lines().filter_map(|line| line.strip_suffix(" flags:")).collect();
    assert_eq!(
        headings,
        [
            "Debugging",
            "Generic",
            "Secure serving",
            "Authentication",
            "Authorization",
            "Endpoints-controller",
            "Endpointslice-controller",
            "Endpointslice-mirroring-controller",
            "Metrics",
            "Logs",
            "Misc",
            "Global"
        ]
    );
    assert!(help.contains("kube:EndpointControllerNameWellKnownLabel=true|false (ALPHA - default=false)"));
}

#[test]
fn version_is_printed() {
    for line in ["--version", "--version=true", "--version=1"] {
        assert!(printed(line).starts_with("endpoint-controller-manager v"), "{line}");
    }
    assert!(printed("--version=raw").starts_with("version.Info{Major:\""));
    assert!(parse_words(["--version=false"]).is_ok());
}

#[test]
fn flagz_shows_values_in_gos_form() {
    let values = values(
        "--kube-api-qps=20 --node-monitor-period=90s --profiling=F --controllers=a,b --secure-port=0x10 \
         --node-eviction-rate=0.25 --endpoint-updates-batch-period=1500ms \
         --feature-gates=AllAlpha=false --feature-gates=AllBeta=true --vmodule=a=1,b=2",
    );
    let texts: BTreeMap<String, String> = values.shown().into_iter().collect();
    for (name, text) in [
        ("kube-api-qps", "20"),
        ("node-monitor-period", "1m30s"),
        ("profiling", "false"),
        ("controllers", "[a,b]"),
        ("secure-port", "16"),
        ("node-eviction-rate", "0.25"),
        ("endpoint-updates-batch-period", "1.5s"),
        ("min-resync-period", "12h0m0s"),
        ("tls-cipher-suites", "[]"),
        ("feature-gates", ":AllAlpha=false,:AllBeta=true"),
        ("vmodule", "a=1,b=2"),
        ("v", "0"),
    ] {
        assert_eq!(texts.get(name).map(String::as_str), Some(text), "{name}");
    }
}

/// A flag with a value, or something like it.
fn word() -> impl Strategy<Value = String> {
    let names: Vec<&str> = upstream().into_iter().map(|(name, _)| name).collect();
    let value = prop_oneof!["[-+0-9.a-z*:,= _]{0,8}", any::<String>()];
    prop_oneof![
        (prop::sample::select(names.clone()), value.clone())
            .prop_map(|(name, value)| format!("--{name}={value}")),
        prop::sample::select(names).prop_map(|name| format!("--{}", name.replace('-', "_"))),
        value,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_command_line_runs_prints_or_fails(words in prop::collection::vec(word(), 0..5)) {
        match parse_words(words.iter().map(String::as_str)) {
            Ok(_) => {}
            Err(Usage::Error(reason)) => prop_assert!(!reason.contains(char::is_control) && !reason.is_empty(), "{reason:?}"),
            Err(Usage::Print(text)) => prop_assert!(!text.is_empty()),
        }
    }
}
