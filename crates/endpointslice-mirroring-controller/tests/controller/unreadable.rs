//! Objects that the first list shows and that can't be read.

use endpoint_informers::cache::CachedEndpoints;
use endpointslice::Service;
use serde_json::json;

use crate::NOTHING;
use crate::fake::{Fake, endpoints, service};

#[tokio::test(start_paused = true)]
async fn the_slices_of_what_cannot_be_read_are_left_alone() {
    for name in ["web", ""] {
        let fake = Fake::mirroring(&["10.0.0.1"]).await;
        fake.hide::<CachedEndpoints>("web");
        fake.show_damaged::<CachedEndpoints>(name);
        let fake = fake.restart().await;
        assert_eq!(fake.writes().await, NOTHING, "Endpoints {name:?}");
        fake.show::<CachedEndpoints>(endpoints("web", &["10.0.0.2"], json!({})));
        assert_eq!(fake.writes().await, ["PUT web-1"]);

        let fake = Fake::mirroring(&["10.0.0.1"]).await;
        fake.hide::<Service>("web");
        fake.show_damaged::<Service>(name);
        let fake = fake.restart().await;
        assert_eq!(fake.writes().await, NOTHING, "Service {name:?}");
        fake.service(service("web", json!({"spec": {"selector": {"app": "web"}}})));
        assert_eq!(fake.writes().await, ["DELETE web-1"]);
    }
}
