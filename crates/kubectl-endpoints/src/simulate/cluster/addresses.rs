//! The addresses of pods that are made.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cli_runtime::input::object::{field, text};
use serde_json::Value;

use crate::simulate::cluster::selector::selects;

/// The addresses of new pods: 10.244.0.0/16 and then the rest of 10.0.0.0/8, and the same numbers in `fd00:10:244::/48`.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// Of pods in the input.
    taken: HashSet<String>,
    next: u32,
}

impl Addresses {
    /// Leaves out the addresses of a pod.
    pub(crate) fn take(&mut self, pod: &Value) {
        let ips = field(pod, &["status", "podIPs"]).and_then(Value::as_array);
        let ips = ips.into_iter().flatten().map(|ip| text(ip, &["ip"]));
        self.taken.extend(ips.chain([text(pod, &["status", "podIP"])]).map(str::to_owned));
    }

    /// The addresses of the next pod: of IPv4, and then of IPv6 if it has both families.
    pub(crate) fn next(&mut self, has_both: bool) -> Vec<String> {
        loop {
            self.next += 1;
            let addresses = pair(self.next).map(|address| address.to_string());
            if !addresses.iter().any(|address| self.taken.contains(address)) {
                return addresses.into_iter().take(1 + usize::from(has_both)).collect();
            }
        }
    }
}

fn pair(number: u32) -> [IpAddr; 2] {
    let [_, high, middle, low] = number.to_be_bytes();
    let v6 = u128::from(Ipv6Addr::new(0xfd00, 0x10, 0x244, 0, 0, 0, 0, 0)) + u128::from(number);
    [Ipv4Addr::new(10, 244_u8.wrapping_add(high), middle, low).into(), Ipv6Addr::from(v6).into()]
}

/// The selectors of the Services that want IPv6.
#[derive(Debug, Default)]
pub(crate) struct DualStack {
    /// By namespace and the first label of the selector, so that a pod costs its labels and not all Services.
    selectors: HashMap<[String; 3], Vec<Value>>,
}

impl DualStack {
    pub(crate) fn new<'a>(services: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut selectors = HashMap::<_, Vec<Value>>::new();
        for service in services.into_iter().filter(|service| wants_v6(service)) {
            if let Some(selector) = field(service, &["spec", "selector"])
                && let Some(label) = labels(selector).next()
            {
                selectors.entry(key(service, label)).or_default().push(selector.clone());
            }
        }
        Self { selectors }
    }

    /// True if a Service that selects a pod wants IPv6.
    pub(crate) fn includes(&self, pod: &Value) -> bool {
        let own = field(pod, &["metadata", "labels"]).into_iter().flat_map(labels);
        let mut candidates = own.filter_map(|label| self.selectors.get(&key(pod, label))).flatten();
        candidates.any(|selector| selects(Some(selector), pod))
    }
}

fn key(object: &Value, (key, value): (&str, &str)) -> [String; 3] {
    [text(object, &["metadata", "namespace"]), key, value].map(str::to_owned)
}

fn labels(labels: &Value) -> impl Iterator<Item = (&str, &str)> {
    labels.as_object().into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

fn wants_v6(service: &Value) -> bool {
    let families = field(service, &["spec", "ipFamilies"]).and_then(Value::as_array);
    let named = families.into_iter().flatten().any(|family| family == "IPv6");
    named || ["PreferDualStack", "RequireDualStack"].contains(&text(service, &["spec", "ipFamilyPolicy"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_of_the_input_are_left_out() {
        let mut addresses = Addresses::default();
        addresses.take(&json!({"status": {"podIP": "10.244.0.1", "podIPs": [{"ip": "10.244.0.1"}]}}));
        addresses.take(&json!({"status": {"podIPs": [{"ip": "fd00:10:244::3"}]}}));
        addresses.take(&json!({}));
        assert_eq!(addresses.next(false), ["10.244.0.2"]);
        assert_eq!(addresses.next(true), ["10.244.0.4", "fd00:10:244::4"]);
    }

    #[test]
    fn addresses_do_not_repeat_early() {
        assert_eq!(pair(65_536)[0].to_string(), "10.245.0.0");
        assert_eq!(pair(65_535)[1].to_string(), "fd00:10:244::ffff");
    }

    #[test]
    fn services_decide_about_families() {
        let pod = json!({"metadata": {"namespace": "a", "labels": {"app": "x"}}});
        let service = |namespace: &str, spec: Value| {
            let mut service =
                json!({"metadata": {"namespace": namespace}, "spec": {"selector": {"app": "x"}}});
            service["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
            service
        };
        let has_both = |service: Value| DualStack::new([&service]).includes(&pod);
        assert!(!has_both(service("a", json!({}))));
        assert!(has_both(service("a", json!({"ipFamilies": ["IPv6"]}))));
        assert!(has_both(service("a", json!({"ipFamilyPolicy": "PreferDualStack"}))));
        assert!(!has_both(service("b", json!({"ipFamilies": ["IPv6"]}))));
        let narrow = json!({"ipFamilies": ["IPv6"], "selector": {"app": "x", "tier": "front"}});
        assert!(!has_both(service("a", narrow)));
    }
}
