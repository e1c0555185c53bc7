//! A limit on open connections that is fair to client addresses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::peer_group::peer_group;

/// The open connections, at most `limit`.
///
/// A new connection is always admitted. At the limit, it evicts another: of the peer group with the most connections,
/// so that no client can lock out others by opening many, and there the one that has been idle for the longest. A probe
/// of `/healthz` takes milliseconds: to evict it before its response, an attacker would have to hold as few connections
/// as the kubelet, from hundreds of addresses.
pub(crate) struct ConnectionLimit {
    limit: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u64,
    by_id: HashMap<u64, Connection>,
}

struct Connection {
    group: IpAddr,
    /// Time of the last activity.
    active: Instant,
    evict: Arc<Notify>,
}

/// One connection's share of the limit. Freed on drop.
pub(crate) struct ConnectionSlot {
    limit: Arc<ConnectionLimit>,
    id: u64,
    evict: Arc<Notify>,
}

impl ConnectionLimit {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), open: Mutex::default() })
    }

    /// Admits a connection from this address.
    ///
    /// Cost: constant below the limit. At the limit it is linear in the connections, a fraction of the handshake that
    /// follows.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> ConnectionSlot {
        let evict = Arc::new(Notify::new());
        let mut open = self.open.lock();
        if open.by_id.len() >= self.limit {
            open.evict_one();
        }
        open.last += 1;
        let id = open.last;
        let entry =
            Connection { group: peer_group(address), active: Instant::now(), evict: Arc::clone(&evict) };
        open.by_id.insert(id, entry);
        drop(open);
        ConnectionSlot { limit: Arc::clone(self), id, evict }
    }
}

impl Open {
    fn evict_one(&mut self) {
        let mut held = HashMap::<IpAddr, usize>::new();
        for connection in self.by_id.values() {
            *held.entry(connection.group).or_default() += 1;
        }
        let priority = |(id, connection): &(&u64, &Connection)| {
            let held = held.get(&connection.group).copied().unwrap_or_default();
            (std::cmp::Reverse(held), connection.active, **id)
        };
        let victim = self.by_id.iter().min_by_key(priority).map(|(id, _)| *id);
        if let Some(connection) = victim.and_then(|id| self.by_id.remove(&id)) {
            connection.evict.notify_one();
        }
    }
}

impl ConnectionSlot {
    /// Records activity on the connection.
    pub(crate) fn touch(&self) {
        if let Some(connection) = self.limit.open.lock().by_id.get_mut(&self.id) {
            connection.active = Instant::now();
        }
    }

    /// Completes when the connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.evict.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.limit.open.lock().by_id.remove(&self.id);
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

    fn is_evicted(slot: &ConnectionSlot) -> bool {
        slot.evicted().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn the_idlest_connection_of_the_largest_group_is_evicted() {
        let limit = ConnectionLimit::new(4);
        let kubelet = limit.admit(address("10.0.0.1"));
        let mut flood = Vec::new();
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(1)).await;
            flood.push(limit.admit(address("10.0.0.9")));
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        flood[0].touch();
        let _prometheus = limit.admit(address("10.0.0.2"));
        let evicted: Vec<bool> = flood.iter().map(is_evicted).collect();
        assert_eq!((is_evicted(&kubelet), evicted), (false, vec![false, true, false]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_evicts_only_its_own_connections() {
        let limit = ConnectionLimit::new(8);
        let kubelet = limit.admit(address("2001:db8::1"));
        let mut flood = Vec::new();
        for i in 0..1000_u32 {
            flood.push(limit.admit(address(&format!("2001:db8:0:1::{i:x}"))));
            assert!(limit.open.lock().by_id.len() <= 8);
        }
        assert!(!is_evicted(&kubelet));
        assert_eq!(flood.iter().filter(|slot| !is_evicted(slot)).count(), 7);
    }

    proptest! {
        /// In any order of connects and disconnects, the limit holds and an address that another one exceeds loses no
        /// connection.
        #[test]
        fn only_the_largest_groups_lose_connections(steps in vec((0..4_u8, any::<bool>(), any::<Index>()), 0..60)) {
            let limit = ConnectionLimit::new(6);
            let mut slots: Vec<(u8, ConnectionSlot)> = Vec::new();
            for (peer, connects, which) in steps {
                if connects {
                    let held = |peer| slots.iter().filter(|(other, _)| *other == peer).count();
                    let most = (0..4).map(held).max().unwrap_or_default();
                    let largest: Vec<u8> = (0..4).filter(|peer| held(*peer) == most).collect();
                    let is_full = slots.len() == 6;
                    let new = limit.admit(IpAddr::from([10, 0, 0, peer]));
                    let before = slots.len();
                    let evicted: Vec<u8> =
                        slots.extract_if(.., |(_, slot)| is_evicted(slot)).map(|(peer, _)| peer).collect();
                    prop_assert_eq!(evicted.len(), usize::from(is_full));
                    prop_assert!(evicted.iter().all(|peer| largest.contains(peer)));
                    prop_assert_eq!(slots.len(), before - evicted.len());
                    slots.push((peer, new));
                } else if !slots.is_empty() {
                    slots.remove(which.index(slots.len()));
                }
                prop_assert_eq!(limit.open.lock().by_id.len(), slots.len());
            }
        }
    }
}
