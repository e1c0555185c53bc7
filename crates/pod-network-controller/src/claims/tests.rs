use super::*;

/// Cases that random histories rarely reach.
#[test]
fn a_device_agrees_with_all_that_the_service_says() {
    let any = || Wanted {
        kind: None,
        name: None,
        network_namespace: None,
        namespace: "shop",
        driver: None,
        request: None,
    };
    let network = |namespace: &str| {
        Some(PodNetwork { kind: "PodNetwork".into(), name: "storage".into(), namespace: namespace.into() })
    };
    for (wanted, network, fits) in [
        (Wanted { driver: Some("d"), kind: Some("PodNetwork"), ..any() }, network(""), true),
        (Wanted { driver: Some("d"), kind: Some("Other"), ..any() }, network(""), false),
        (Wanted { name: Some("storage"), ..any() }, network("shop"), true),
        (Wanted { name: Some("storage"), ..any() }, network("theirs"), false),
        (Wanted { name: Some("storage"), ..any() }, None, false),
        (Wanted { driver: Some("d"), ..any() }, None, true),
        (Wanted { request: Some("net"), ..any() }, None, true),
        (Wanted { request: Some("net/slow"), ..any() }, None, false),
    ] {
        let device = Device {
            driver: "d".into(),
            name: "x".into(),
            request: "net/fast".into(),
            network: Ok(network),
            addresses: Ok(Box::default()),
            ready: true,
        };
        assert_eq!(wanted.includes(&device), fits, "{device:?}");
    }
}
