use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::super::tests::values;
use super::*;
use crate::options::configz::document as configz;
use crate::options::flag::Effect;

#[test]
fn each_field_stands_for_one_flag_and_has_its_type() {
    let paths: BTreeSet<&str> = fields().map(|(_, path)| path).collect();
    assert_eq!(paths.len(), fields().count());
    let values = values("");
    for (flag, path) in fields() {
        let value = values.json(flag);
        let fits = match expected(flag.kind) {
            "true or false" => value.is_boolean(),
            "a number" | "a number or auto" => value.is_number(),
            "a list of strings" => value.is_array(),
            _ => value.is_string(),
        };
        assert!(fits, "{path}: {value}");
    }
}

/// As its head says.
#[test]
fn the_commented_sample_has_each_field_with_an_effect() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/endpoint-controller-manager.yaml");
    let file = read(Path::new(sample)).unwrap();
    let found: BTreeSet<&str> = file.fields.iter().map(|field| field.path).collect();
    let applies = fields().filter(|(flag, _)| flag.effect == Effect::Applies);
    let expected: BTreeSet<&str> = applies.map(|(_, path)| path).collect();
    assert_eq!(found, expected);
}

/// Its fields are compared with upstream's by `the_same_answers_as_upstream`.
#[test]
fn configz_shows_values_in_one_form() {
    let shown = configz(&values(
        "--endpoint-updates-batch-period=90s --kube-api-qps=2.5 --controllers=endpoint,-endpointslicemirroring",
    ));
    let generic = &shown["Generic"];
    assert_eq!(generic["ClientConnection"]["qps"], 2.5);
    assert_eq!(
        generic["Controllers"],
        json!(["endpoints-controller", "-endpointslice-mirroring-controller"])
    );
    assert_eq!((&generic["TakeoverMaxWrites"], &generic["KubeAPIQPSCeiling"]), (&json!(-1), &json!(500)));
    let endpoints = json!({"ConcurrentEndpointSyncs": 5, "EndpointUpdatesBatchPeriod": "1m30s"});
    assert_eq!(shown["EndpointController"], endpoints);
}

#[test]
fn the_output_of_configz_is_a_valid_file() {
    let shown = configz(&values("--max-endpoints-per-slice=250 --kube-api-qps=2.5"));
    let file = parse(&shown.to_string()).unwrap();
    let flags: Vec<String> =
        file.fields.iter().map(|field| format!("--{}={}", field.flag.name, field.text)).collect();
    assert_eq!(configz(&values(&flags.join(" "))), shown);
    assert_eq!(
        file.without_effect,
        ["Generic.Address", "Generic.ClientConnection.acceptContentTypes", "Generic.Port"]
    );
}

#[test]
fn sections_of_other_controllers_are_accepted() {
    let text = "apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\n\
                kind: KubeControllerManagerConfiguration\n\
                GarbageCollectorController: {Anything: [goes, {here: 1}]}\n\
                EndpointController:\n";
    let file = parse(text).unwrap();
    assert_eq!(file.without_effect, ["GarbageCollectorController"]);
    assert!(file.fields.is_empty());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), like in "[-{}:,\\[\\]&*!|> \na-zA-Z0-9\"']{0,60}") {
        for text in [text, like] {
            let head = format!("apiVersion: {API_VERSION}\nkind: {KIND}\n{text}");
            drop(parse(&text));
            drop(parse(&head));
        }
    }
}
