//! The event about addresses that the API server would refuse.

use std::net::IpAddr;

use controller_kit::recorder::{EventType, MAX_MESSAGE, Recorder, object_reference};
use endpoint_informers::resource::Resource as _;
use endpointslice::Service;
use endpointslice::desired::{Skipped, SkippedReason};

/// Emits one event about all addresses that the API server would reject in objects of the kind `plural`.
pub fn report_refused_addresses(recorder: &Recorder, service: &Service, skipped: &[Skipped], plural: &str) {
    let refused: Vec<(&str, IpAddr)> = skipped
        .iter()
        .filter_map(|Skipped { name, reason }| match reason {
            SkippedReason::AddressNotAllowed(address) => Some((&**name, *address)),
            SkippedReason::NodeNotFound(_) => None,
        })
        .collect();
    if let Some(message) = refusal(&refused, plural) {
        let object =
            object_reference("Service", &service.key(), Some(&service.uid), service.version.number());
        recorder.event(&object, EventType::Warning, "InvalidIPAddress", message);
    }
}

/// The message about refused addresses and their pods: as many as fit, and the number of the others.
fn refusal(refused: &[(&str, IpAddr)], plural: &str) -> Option<String> {
    /// Bytes reserved for the number of addresses that are not listed.
    const REST: usize = 32;
    let (first, others) = refused.split_first()?;
    if others.is_empty() {
        let (pod, address) = first;
        return Some(format!("Skipping IP address {address} of Pod {pod}: not allowed in {plural}"));
    }
    let begin = format!("Skipping IP addresses not allowed in {plural}: ");
    let mut left = MAX_MESSAGE.saturating_sub(begin.len() + REST);
    let named = refused.iter().map(|(pod, address)| format!("{address} of Pod {pod}"));
    let named: Vec<String> = named
        .take_while(|one| {
            let fits = one.len() + 2 <= left;
            left = left.saturating_sub(one.len() + 2);
            fits
        })
        .collect();
    let rest = match refused.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{begin}{}{rest}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn refused_addresses_are_reported_in_one_event() {
        let message = |pods: &[&str]| {
            let refused: Vec<_> = pods.iter().map(|pod| (*pod, LOOPBACK)).collect();
            refusal(&refused, "Endpoints")
        };
        assert_eq!(message(&[]), None);
        let one = "Skipping IP address 127.0.0.1 of Pod a: not allowed in Endpoints";
        assert_eq!(message(&["a"]).as_deref(), Some(one));
        let two = "Skipping IP addresses not allowed in Endpoints: 127.0.0.1 of Pod a, 127.0.0.1 of Pod b";
        assert_eq!(message(&["a", "b"]).as_deref(), Some(two));
        let many = message(&vec!["a"; 5000]).unwrap();
        let (named, more) = many.rsplit_once(" and ").unwrap();
        let more: usize = more.strip_suffix(" more").unwrap().parse().unwrap();
        assert_eq!(named.matches("127.0.0.1 of Pod a").count() + more, 5000);
        assert!((1024 - 64..=1024).contains(&many.len()), "as many as fit: {many}");
    }

    proptest! {
        #[test]
        fn no_message_is_longer_than_a_kibibyte(pods in 0..3000_usize, name in "[a-z]{1,253}") {
            let refused = vec![(&*name, LOOPBACK); pods];
            let message = refusal(&refused, "EndpointSlices").unwrap_or_default();
            prop_assert!(message.len() <= MAX_MESSAGE, "{message}");
            let more = message.rsplit_once(" and ").and_then(|(_, more)| more.strip_suffix(" more")?.parse().ok());
            let named = message.matches("127.0.0.1").count();
            prop_assert_eq!(named + more.unwrap_or(0), pods);
        }
    }
}
