//! Wrong command lines and files, and the messages about them.

use super::{config, file};

/// The message about a wrong command line.
fn refused(line: &str) -> String {
    let message = config(line).map(|_| ()).expect_err(line);
    assert_eq!(message.lines().count(), 1, "{line}: {message}");
    message
}

/// Messages of pflag.
const SYNTAX: &[(&str, &str)] = &[
    ("--no-such-flag", "unknown flag: --no-such-flag"),
    ("--no_such_flag=1", "unknown flag: --no-such-flag"),
    ("-x", "unknown shorthand flag: 'x' in -x"),
    ("word", r#""endpoint-controller-manager" does not take any arguments, got ["word"]"#),
    ("--profiling false", r#""endpoint-controller-manager" does not take any arguments, got ["false"]"#),
    ("--kubeconfig", "flag needs an argument: --kubeconfig"),
    (
        "--kube-api-qps=fast",
        r#"invalid argument "fast" for "--kube-api-qps" flag: strconv.ParseFloat: parsing "fast": invalid syntax"#,
    ),
    (
        "--kube-api-burst=1.5",
        r#"invalid argument "1.5" for "--kube-api-burst" flag: strconv.ParseInt: parsing "1.5": invalid syntax"#,
    ),
    (
        "--max-endpoints-per-slice=3000000000",
        r#"invalid argument "3000000000" for "--max-endpoints-per-slice" flag: strconv.ParseInt: parsing "3000000000": value out of range"#,
    ),
    (
        "--profiling=maybe",
        r#"invalid argument "maybe" for "--profiling" flag: strconv.ParseBool: parsing "maybe": invalid syntax"#,
    ),
    (
        "-v=high",
        r#"invalid argument "high" for "-v, --v" flag: strconv.ParseUint: parsing "high": invalid syntax"#,
    ),
    (
        "--endpoint-updates-batch-period=5",
        r#"invalid argument "5" for "--endpoint-updates-batch-period" flag: time: missing unit in duration "5""#,
    ),
    (
        "--endpointslice-updates-batch-period=1d",
        r#"invalid argument "1d" for "--endpointslice-updates-batch-period" flag: time: unknown unit "d" in duration "1d""#,
    ),
    (
        "--controller-shutdown-timeout=-1s",
        r#"invalid argument "-1s" for "--controller-shutdown-timeout" flag: "-1s" is negative"#,
    ),
    ("--bind-address=x", r#"invalid argument "x" for "--bind-address" flag: failed to parse IP: "x""#),
    (
        "--tls-sni-cert-key=x",
        r#"invalid argument "x" for "--tls-sni-cert-key" flag: expected comma separated certificate and key file paths"#,
    ),
    (
        "--version=x",
        r#"invalid argument "x" for "--version" flag: strconv.ParseBool: parsing "x": invalid syntax"#,
    ),
    (
        "--concurrent-gc-syncs=many",
        r#"invalid argument "many" for "--concurrent-gc-syncs" flag: strconv.ParseInt: parsing "many": invalid syntax"#,
    ),
];

/// Messages of upstream's validation.
const UPSTREAM: &[(&str, &str)] = &[
    (
        "--controllers=foo,-bar,-*",
        r#"--controllers: "foo" is not in the list of known controllers, "bar" is not in the list of known controllers, "*" is not in the list of known controllers"#,
    ),
    ("--max-endpoints-per-slice=0", "--max-endpoints-per-slice must not be less than 1, but got 0"),
    ("--max-endpoints-per-slice=1001", "--max-endpoints-per-slice must not be more than 1000, but got 1001"),
    (
        "--concurrent-service-endpoint-syncs=-3",
        "--concurrent-service-endpoint-syncs must not be less than 1, but got -3",
    ),
    (
        "--concurrent-service-endpoint-syncs=51",
        "--concurrent-service-endpoint-syncs must not be more than 50, but got 51",
    ),
    (
        "--mirroring-concurrent-service-endpoint-syncs=0",
        "--mirroring-concurrent-service-endpoint-syncs must not be less than 1, but got 0",
    ),
    (
        "--mirroring-max-endpoints-per-subset=1001",
        "--mirroring-max-endpoints-per-subset must not be more than 1000, but got 1001",
    ),
    (
        "--leader-elect --leader-elect-resource-lock=endpoints",
        r#"--leader-elect-resource-lock: resourceLock value must be "leases""#,
    ),
    (
        "--leader-elect --leader-elect-lease-duration=10s",
        "--leader-elect-lease-duration (10s) must be greater than --leader-elect-renew-deadline (10s)",
    ),
    ("--leader-elect --leader-elect-resource-name=", "--leader-elect-resource-name must not be empty"),
    (
        "--secure-port=70000",
        "--secure-port 70000 must be between 0 and 65535, inclusive. 0 for turning off secure port",
    ),
    ("--tls-min-version=1.2", r#"--tls-min-version: unknown tls version "1.2""#),
    ("--tls-cipher-suites=FAST", "--tls-cipher-suites: Cipher suite FAST not supported or doesn't exist"),
    (
        "--requestheader-uid-headers=X-Remote-Uid --feature-gates=RemoteRequestHeaderUID=false",
        r#"--requestheader-uid-headers requires the "RemoteRequestHeaderUID" feature to be enabled"#,
    ),
    (
        "--show-hidden-metrics-for-version=1.2",
        "--show-hidden-metrics-for-version: must be omitted or have the value '1.36'; only the previous minor version is allowed",
    ),
    ("--feature-gates=NoSuchGate=true", "--feature-gates: unrecognized feature gate: NoSuchGate"),
    ("--emulated-version=1.33", "--emulated-version: emulation version 1.33 is not between [1.34, 1.37]"),
    (
        "--logging-format=json --feature-gates=LoggingBetaOptions=false",
        "--logging-format: Log format json is disabled, see LoggingBetaOptions feature",
    ),
];

/// Values that only this program refuses.
const OURS: &[(&str, &str)] = &[
    (
        "--emulated-version=1.34 --feature-gates=PreferSameTrafficDistribution=false",
        "--feature-gates: PreferSameTrafficDistribution must be enabled, but is disabled at emulated version 1.34",
    ),
    ("--controllers=", "--controllers: none of the three controllers is selected"),
    ("--concurrent-endpoint-syncs=0", "--concurrent-endpoint-syncs must not be less than 1, but got 0"),
    (
        "--kube-api-content-type=application/cbor",
        "--kube-api-content-type: \"application/cbor\" is not supported, use application/vnd.kubernetes.protobuf or application/json",
    ),
    ("--kube-api-qps=NaN", "--kube-api-qps must be a number"),
    ("--kube-api-burst=0", "--kube-api-burst must be greater than 0 with --kube-api-qps=20, but got 0"),
    (
        "--kube-api-qps=auto --kube-api-burst=0",
        "--kube-api-burst must be greater than 0 with --kube-api-qps=auto, but got 0",
    ),
    ("--kube-api-qps-ceiling=5", "--kube-api-qps-ceiling must not be less than 20, but got 5"),
    ("--kube-api-burst=-1", "--kube-api-burst must be greater than 0 with --kube-api-qps=20, but got -1"),
    (
        "--user-agent-name=a/b",
        r#"--user-agent-name: must be a word of at most 128 letters, digits, '-', '_' or '.', but got "a/b""#,
    ),
    (
        "--user-agent-name=",
        r#"--user-agent-name: must be a word of at most 128 letters, digits, '-', '_' or '.', but got """#,
    ),
    ("--logging-format=xml", "--logging-format: \"xml\" is not text or json"),
    ("--vmodule=sync=9", "--vmodule is not supported: -v applies to all files"),
    ("--vmodule=0", "--vmodule is not supported: -v applies to all files"),
    ("--log-text-split-stream", "--log-text-split-stream is not supported: all logs go to stderr"),
    (
        "--log-json-info-buffer-size=64Ki",
        "--log-json-info-buffer-size is not supported: logs are not buffered",
    ),
    (
        "--allow-metric-labels=a,b=c",
        "--allow-metric-labels is not supported: no metric has a label with unbounded values",
    ),
    (
        "--master=ftp://x",
        "--master: \"ftp://x\" is not the address of an API server, such as https://10.0.0.1:6443",
    ),
    (
        "--max-endpoints-per-slice=0 --secure-port=-1",
        "[--max-endpoints-per-slice must not be less than 1, but got 0, --secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure port]",
    ),
];

#[test]
fn wrong_command_lines_are_refused_in_one_line_that_names_the_flag() {
    for (line, reason) in [SYNTAX, UPSTREAM, OURS].concat() {
        assert_eq!(refused(line), reason, "{line}");
    }
}

/// Sections of files.
const FILES: &[(&str, &str)] = &[
    ("Generic: {Colour: red}", "Generic.Colour: unknown field"),
    ("Generic: {LeaderElection: {leaderelect: true}}", "Generic.LeaderElection.leaderelect: unknown field"),
    ("EndpointSlices: {}", "EndpointSlices: unknown field"),
    ("1: {}", "1 is not a name"),
    ("Generic: 5", "Generic: must be an object, is 5"),
    (
        "Generic: {ClientConnection: {qps: '20'}}",
        r#"Generic.ClientConnection.qps: must be a number or auto, is "20""#,
    ),
    ("Generic: {Controllers: '*'}", r#"Generic.Controllers: must be a list of strings, is "*""#),
    ("Generic: {Controllers: [1]}", "Generic.Controllers: must be a list of strings, is [1]"),
    (
        "Generic: {LeaderElection: {leaderElect: 'no'}}",
        r#"Generic.LeaderElection.leaderElect: must be true or false, is "no""#,
    ),
    (
        "EndpointController: {EndpointUpdatesBatchPeriod: 5}",
        "EndpointController.EndpointUpdatesBatchPeriod: must be a string, is 5",
    ),
    (
        "EndpointController: {EndpointUpdatesBatchPeriod: '5'}",
        r#"EndpointController.EndpointUpdatesBatchPeriod: time: missing unit in duration "5""#,
    ),
    (
        "EndpointSliceController: {MaxEndpointsPerSlice: 1.5}",
        r#"EndpointSliceController.MaxEndpointsPerSlice: strconv.ParseInt: parsing "1.5": invalid syntax"#,
    ),
    (
        "EndpointSliceController: {MaxEndpointsPerSlice: 2000}",
        "EndpointSliceController.MaxEndpointsPerSlice must not be more than 1000, but got 2000",
    ),
    (
        "Generic: {Controllers: [foo]}",
        r#"Generic.Controllers: "foo" is not in the list of known controllers"#,
    ),
    ("apiVersion: v1", "apiVersion: must be kubecontrollermanager.config.k8s.io/v1alpha1, is \"v1\""),
    (
        "apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1",
        "kind: must be KubeControllerManagerConfiguration",
    ),
];

#[test]
fn wrong_files_are_refused_in_one_line_that_names_the_line_and_the_field() {
    for (sections, reason) in FILES {
        let (folder, flag) = file(sections);
        let path = folder.path().join("manager.yaml").display().to_string();
        let line = match (reason.contains("is not a name"), sections.contains("apiVersion")) {
            (true, _) => "",
            (false, true) => ":1",
            (false, false) => ":3",
        };
        let said = refused(&flag);
        assert_eq!(said.strip_prefix(&format!("{path}{line}: ")), Some(*reason), "{sections}: {said}");
    }
}

#[test]
fn unreadable_files_are_refused_by_name() {
    for broken in ["apiVersion: [", "- apiVersion", "apiVersion", "{\"apiVersion\": }"] {
        let (folder, flag) = file(broken);
        assert!(refused(&flag).starts_with(&*folder.path().to_string_lossy()), "{broken}");
    }
    assert!(refused("--config=/no/such/file").starts_with("--config: cannot read /no/such/file: "));
}
