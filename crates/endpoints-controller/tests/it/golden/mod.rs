//! The same subsets and the same writes as upstream, byte for byte, on thousands of random inputs.
//!
//! `hack/golden` calls `RepackSubsets` on subsets as a user might write them, and runs upstream's Endpoints controller on
//! client-go's fake API server. The same input goes through `repack_subsets` and `plan` here. `syncs` describes the
//! differences that are deliberate, `golden-cases` how to replay one case or others.
mod syncs;

use endpointslice::endpoints::repack_subsets;
use k8s_openapi::api::core::v1::EndpointSubset;
use serde::Deserialize;

use syncs::Step;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/golden.jsonl.gz");
/// 2,000 cases of the canonical form, and 500 of whole syncs.
const AT_LEAST: usize = 2500;

#[test]
fn the_same_subsets_and_writes_as_upstream() {
    golden_cases::replay::<Case>(CASES, AT_LEAST, "-p endpoints-controller --test it golden");
}

/// One call of `RepackSubsets`, or several syncs of one Service.
#[derive(Deserialize)]
struct Case {
    number: usize,
    kind: String,
    #[serde(default)]
    given: Vec<EndpointSubset>,
    #[serde(default)]
    packed: Vec<EndpointSubset>,
    #[serde(default)]
    steps: Vec<Step>,
}

impl golden_cases::Case for Case {
    fn title(&self) -> (usize, String) {
        (self.number, self.kind.clone())
    }

    fn differences(self) -> Vec<String> {
        let packed = repack_subsets(&self.given);
        let mut found = syncs::differences(&self.steps);
        if packed != self.packed {
            found.push(format!("ours:   {}\n  theirs: {}", text(&packed), text(&self.packed)));
        }
        found
    }
}

/// The form in which objects are compared: the JSON that is sent.
fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}
