//! The same writes as upstream's own library, on thousands of random inputs.
//!
//! `hack/golden` calls `Reconcile` of `k8s.io/endpointslice` and records what it writes; here `plan` gets the same
//! input. `compare` says what must agree, and where upstream leaves the choice to chance; `kept_placeholder` and
//! `topology` where we differ on purpose. `golden-cases` says how to replay one case, or others.

mod case;
mod compare;
mod kept_placeholder;
mod new_slices;
mod topology;
mod updates;

use self::case::Case;
use self::compare::differences;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/golden.jsonl.gz");
/// As many as the issue asks for.
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
