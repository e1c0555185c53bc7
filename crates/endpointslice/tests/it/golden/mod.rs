//! The same writes as upstream's own library, on thousands of random inputs.
//!
//! `hack/golden` calls `Reconcile` of `k8s.io/endpointslice` and records what it writes; here `plan` gets the same
//! input. `compare` has the results that must agree, and those that upstream leaves to chance; `kept_placeholder` and
//! `topology` have the deliberate differences. The crate `golden-cases` documents how to replay one case, or others.

mod case;
mod compare;
mod kept_placeholder;
mod new_slices;
mod topology;
mod updates;

use self::case::Case;
use self::compare::differences;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/golden.jsonl.gz");
/// The least number of cases.
const AT_LEAST: usize = 5000;

#[test]
fn the_same_writes_as_upstream() {
    golden_cases::replay::<Case>(CASES, AT_LEAST, "-p endpointslice golden");
}

impl golden_cases::Case for Case {
    fn title(&self) -> (usize, String) {
        (self.number, self.kind.clone())
    }

    fn differences(self) -> Vec<String> {
        let (ours, theirs) = self.replay();
        differences(&ours, &theirs)
    }
}
