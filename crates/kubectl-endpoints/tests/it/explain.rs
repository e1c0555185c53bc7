//! `explain`: of files, of a served simulation, and of what is wrong.

use serde_json::Value;

use crate::program::{Run, explain, of_manifest};
use crate::serve::Serving;

/// A Service with two pods, one of which waits for a gate, as manifests.
const WEB: &str = "
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: s}
spec: {clusterIP: 10.96.0.1, ipFamilies: [IPv4], selector: {app: web}, ports: [{port: 80, protocol: TCP, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, uid: a, labels: {app: web}}
spec: {nodeName: a, containers: [{name: main}]}
status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}], conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-2, namespace: shop, uid: b, labels: {app: web}}
spec: {nodeName: a, containers: [{name: main}], readinessGates: [{conditionType: example.com/lb}]}
status: {phase: Running, podIP: 10.1.0.2, podIPs: [{ip: 10.1.0.2}], conditions: [{type: Ready, status: 'False'}]}
---
apiVersion: v1
kind: Node
metadata: {name: a}
";

/// The slices and Endpoints that the controllers write for these.
fn settled() -> String {
    let Run { code, stdout, stderr } = of_manifest(WEB, &["-o", "yaml"]);
    assert_eq!(code, 0, "{stderr}");
    format!("{WEB}---\n{stdout}")
}

#[test]
fn a_settled_dump_is_in_order() {
    let Run { code, stdout, stderr } = explain(&["web", "-n", "shop", "-f", "-"], &settled());
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], "shop/web: 1 of 2 pods gets traffic; controllers: in sync");
    assert_eq!(
        lines[1],
        "2 selected pods, 1 ready; 1 slice with 2 endpoints, 1 ready; Endpoints with 2 addresses, 1 ready"
    );
    assert!(lines[4].starts_with("web-1   ready       ready       in sync"), "{stdout}");
    let gate = "the condition example.com/lb of a readiness gate is not set (readiness-gate)";
    assert!(
        lines[5].starts_with("web-2   not ready   not ready   in sync") && lines[5].ends_with(gate),
        "{stdout}"
    );
}

#[test]
fn something_wrong_has_an_exit_code() {
    let wrong = settled().replace("ip: 10.1.0.1}", "ip: 10.1.0.9}");
    let Run { code, stdout, stderr } = explain(&["-f", "-", "-o", "json"], &wrong);
    assert_eq!((code, stderr.as_str()), (3, ""), "{stdout}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&report["summary"]["wrong"], &report["summary"]["services"]), (&1.into(), &1.into()));
    let pod = &report["services"][0]["pods"][0];
    assert_eq!((&pod["verdict"], &pod["reasons"][0]["code"]), (&"wrong".into(), &"outdated".into()), "{pod}");
}

#[test]
fn without_slices_in_the_input_the_verdict_is_unknown() {
    let Run { code, stdout, stderr } = explain(&["-f", "-"], WEB);
    assert_eq!(code, 6, "{stdout} {stderr}");
    assert!(stderr.starts_with("Note: without endpointslices, endpoints,"), "{stderr}");
}

#[test]
fn bad_input_is_one_line() {
    let refused = |words: &[&str], stdin: &str, code: i32, parts: &[&str]| {
        let run = explain(words, stdin);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
        assert!(run.stderr.starts_with("Error: "), "{run:?}");
        for part in parts {
            assert!(run.stderr.contains(part), "{part} in {run:?}");
        }
    };
    refused(&["api", "-n", "shop", "-f", "-"], WEB, 1, &["no Service api in namespace shop of the input"]);
    refused(
        &["-f", "-"],
        "apiVersion: v1\nkind: Pod\nspec: {containers: 7}\n",
        1,
        &["stdin: document 1: Pod", "line 1"],
    );
    refused(&["-f", "-"], "a: [", 1, &["stdin: document 1"]);
    refused(&["-f", "/nonexistent.yaml"], "", 1, &["/nonexistent.yaml: cannot read"]);
    refused(&["--wait=soon", "web"], "", 1, &["must be ready or a number"]);
    refused(&["web"], "", 1, &["there is no kubeconfig"]);
    // Not that of the cluster in which it may run.
    refused(&["web", "--context=b"], "", 1, &["no kubeconfig has the context b"]);
    refused(&["web", "--kubeconfig=/nonexistent"], "", 1, &["--kubeconfig", "/nonexistent"]);
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let text = "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], \
                users: [{name: u, user: {}}], clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}";
    std::fs::write(&kubeconfig, text).unwrap();
    let flag = format!("--kubeconfig={}", kubeconfig.display());
    refused(
        &["web", &flag],
        "",
        4,
        &["cannot list services of http://127.0.0.1:1/", "cannot reach the API server"],
    );
    refused(&["web", &flag, "--context=b"], "", 1, &["no kubeconfig has the context b"]);
    std::fs::write(&kubeconfig, text.replace("user: {}}", "user: {token: secret}}")).unwrap();
    let warned = explain(&["web", &flag], "");
    let warning = "Warning: No credentials are sent, because the server is reached without TLS, ";
    assert!(warned.code == 4 && warned.stderr.starts_with(warning), "{warned:?}");
}

/// As kubectl runs it.
#[test]
fn the_plugin_explains_a_served_simulation() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/samples");
    let serving = Serving::start(&["-f", samples]);
    let flag = serving.flag();
    let plugin = |words: &[&str]| explain(&[&[flag.as_str()], words].concat(), "");
    let found = plugin(&["web", "--wait=ready", "-o", "json"]);
    assert_eq!((found.code, found.stderr.as_str()), (0, ""), "{found:?}");
    let report: Value = serde_json::from_str(&found.stdout).unwrap();
    let web = &report["services"][0];
    assert_eq!((&web["name"], &web["counts"]["inSlices"]), (&"web".into(), &web["counts"]["pods"]), "{web}");
    let all = plugin(&["-A"]);
    assert!(all.stdout.contains(" 0 wrong") && [0, 6].contains(&all.code), "{all:?}");
    let late = plugin(&["web", "--wait=99", "--timeout=1s"]);
    assert_eq!((late.code, late.stdout.as_str()), (5, ""), "{late:?}");
    assert!(late.stderr.contains("default/web has") && late.stderr.contains("of 99 pods"), "{late:?}");
    let missing = plugin(&["no-such"]);
    assert_eq!(missing.code, 1, "{missing:?}");
    assert!(
        missing.stderr.starts_with("Error: no Service no-such in namespace default of https://"),
        "{missing:?}"
    );
    assert!(plugin(&["--help"]).stdout.contains("kubectl endpoints explain [SERVICE...]"));
}
