//! The same texts are IP addresses as for Kubernetes, on thousands of odd spellings.
//!
//! `hack/golden` asks `ParseIPSloppy` of `k8s.io/utils/net` and records its answers; here `parse_ip` reads the same texts.
//! `golden-cases` says how to replay one case, or others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use endpointslice::model::parse_ip;
use proptest::prelude::*;
use serde::Deserialize;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/addresses.jsonl.gz");

#[test]
fn the_same_addresses_as_upstream() {
    golden_cases::replay::<Case>(CASES, 3000, "-p endpointslice the_same_addresses");
}

/// One text, and the canonical form of the address that upstream reads in it.
#[derive(Deserialize)]
struct Case {
    number: usize,
    kind: String,
    text: String,
    address: Option<String>,
}

impl golden_cases::Case for Case {
    fn title(&self) -> (usize, String) {
        (self.number, self.kind.clone())
    }

    fn differences(self) -> Vec<String> {
        let Self { text, address: theirs, .. } = self;
        let ours = parse_ip(&text).map(|address| address.to_string());
        (ours != theirs).then(|| format!("{text:?}: ours {ours:?}, theirs {theirs:?}")).into_iter().collect()
    }
}

proptest! {
    #[test]
    fn leading_zeros_never_matter(groups: [u16; 8], zeros in prop::array::uniform8(0..20_usize)) {
        let padded = groups.iter().zip(zeros).map(|(group, zeros)| format!("{}{group:x}", "0".repeat(zeros)));
        let text = padded.collect::<Vec<_>>().join(":");
        prop_assert_eq!(parse_ip(&text), parse_ip(&Ipv6Addr::from(groups).to_string()), "{}", text);
    }

    #[test]
    fn a_printed_address_is_read_as_that_address(v4: u32, v6: u128) {
        for address in [IpAddr::from(Ipv4Addr::from(v4)), IpAddr::from(Ipv6Addr::from(v6)).to_canonical()] {
            prop_assert_eq!(parse_ip(&address.to_string()), Some(address));
        }
    }

    #[test]
    fn arbitrary_text_causes_no_panic(text: String) {
        let _ = parse_ip(&text);
    }
}
