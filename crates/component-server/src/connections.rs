//! Who is connected, and who has to go when there is no room.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The open connections, no more than `limit`.
///
/// There is always room for one more: it takes the place of another. Of whom? Of the address that holds the most
/// connections, so that nobody can shut others out by opening many; and there, of the connection that has been quiet for
/// the longest. A probe of `/healthz` lives for milliseconds: to get rid of it before it is answered, an attacker would
/// have to hold as few connections as the kubelet, and to come from hundreds of addresses.
pub(crate) struct Connections {
    limit: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u64,
    by_id: HashMap<u64, Connection>,
}

struct Connection {
    holder: IpAddr,
    /// When something was last heard of it.
    active: Instant,
    evict: Arc<Notify>,
}

/// A connection's place among the others; given back on drop.
pub(crate) struct Place {
    connections: Arc<Connections>,
    id: u64,
    evict: Arc<Notify>,
}

impl Connections {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), open: Mutex::default() })
    }

    /// Takes in a connection from this address.
    ///
    /// Cost: constant while there is room, else one look at every connection, which is a fraction of the handshake that
    /// follows.
    pub(crate) fn enter(self: &Arc<Self>, peer: IpAddr) -> Place {
        let evict = Arc::new(Notify::new());
        let mut open = self.open.lock();
        if open.by_id.len() >= self.limit {
            open.evict_one();
        }
        open.last += 1;
        let id = open.last;
        let entry = Connection { holder: holder(peer), active: Instant::now(), evict: Arc::clone(&evict) };
        open.by_id.insert(id, entry);
        drop(open);
        Place { connections: Arc::clone(self), id, evict }
    }
}

impl Open {
    fn evict_one(&mut self) {
        let mut held = HashMap::<IpAddr, usize>::new();
        for connection in self.by_id.values() {
            *held.entry(connection.holder).or_default() += 1;
        }
        let priority = |(id, connection): &(&u64, &Connection)| {
            let held = held.get(&connection.holder).copied().unwrap_or_default();
            (std::cmp::Reverse(held), connection.active, **id)
        };
        let victim = self.by_id.iter().min_by_key(priority).map(|(id, _)| *id);
        if let Some(connection) = victim.and_then(|id| self.by_id.remove(&id)) {
            connection.evict.notify_one();
        }
    }
}

impl Place {
    /// Something was heard of the connection.
    pub(crate) fn touch(&self) {
        if let Some(connection) = self.connections.open.lock().by_id.get_mut(&self.id) {
            connection.active = Instant::now();
        }
    }

    /// Returns when the place is needed for another.
    pub(crate) async fn evicted(&self) {
        self.evict.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open.lock().by_id.remove(&self.id);
    }
}

/// Returns the holder of an address: with IPv6, a holder has a network of 64 bits.
pub(crate) fn holder(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        IpAddr::V4(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use std::time::Duration;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_evicted(place: &Place) -> bool {
        place.evicted().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn the_greediest_gives_up_its_quietest_connection() {
        let connections = Connections::new(4);
        let kubelet = connections.enter(address("10.0.0.1"));
        let mut greedy = Vec::new();
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(1)).await;
            greedy.push(connections.enter(address("10.0.0.9")));
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        greedy[0].touch();
        let _prometheus = connections.enter(address("10.0.0.2"));
        let evicted: Vec<bool> = greedy.iter().map(is_evicted).collect();
        assert_eq!((is_evicted(&kubelet), evicted), (false, vec![false, true, false]));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_floods_only_evicts_himself() {
        let connections = Connections::new(8);
        let kubelet = connections.enter(address("2001:db8::1"));
        let mut flood = Vec::new();
        for i in 0..1000_u32 {
            flood.push(connections.enter(address(&format!("2001:db8:0:1::{i:x}"))));
            assert!(connections.open.lock().by_id.len() <= 8);
        }
        assert!(!is_evicted(&kubelet));
        assert_eq!(flood.iter().filter(|place| !is_evicted(place)).count(), 7);
    }

    proptest! {
        /// Whatever comes and goes: nobody is evicted as long as somebody else holds more, and there is never one too
        /// many.
        #[test]
        fn nobody_pays_for_anothers_greed(steps in vec((0..4_u8, any::<bool>(), any::<Index>()), 0..60)) {
            let connections = Connections::new(6);
            let mut places: Vec<(u8, Place)> = Vec::new();
            for (peer, comes, which) in steps {
                if comes {
                    let held = |peer| places.iter().filter(|(other, _)| *other == peer).count();
                    let most = (0..4).map(held).max().unwrap_or_default();
                    let greedy: Vec<u8> = (0..4).filter(|peer| held(*peer) == most).collect();
                    let is_full = places.len() == 6;
                    let new = connections.enter(IpAddr::from([10, 0, 0, peer]));
                    let before = places.len();
                    let evicted: Vec<u8> =
                        places.extract_if(.., |(_, place)| is_evicted(place)).map(|(peer, _)| peer).collect();
                    prop_assert_eq!(evicted.len(), usize::from(is_full));
                    prop_assert!(evicted.iter().all(|peer| greedy.contains(peer)));
                    prop_assert_eq!(places.len(), before - evicted.len());
                    places.push((peer, new));
                } else if !places.is_empty() {
                    places.remove(which.index(places.len()));
                }
                prop_assert_eq!(connections.open.lock().by_id.len(), places.len());
            }
        }
    }

    #[tokio::test]
    async fn a_place_is_given_back() {
        let connections = Connections::new(1);
        let first = connections.enter(address("10.0.0.1"));
        let second = connections.enter(address("10.0.0.1"));
        assert!(is_evicted(&first));
        drop(first);
        assert!(!is_evicted(&second));
        drop(second);
        assert!(connections.open.lock().by_id.is_empty());
    }
}
