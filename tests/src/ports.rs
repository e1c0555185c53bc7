//! Free loopback ports.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range from which systems choose the source ports of outgoing connections, so that no client of
/// this machine can take a port between the look and the use.
const RANGE: std::ops::Range<u32> = 10_000..32_000;

/// Every process looks in its own block, so that test processes side by side do not choose the same port. A block is
/// large enough for a port not to be chosen again before the program that it was chosen for listens on it.
const BLOCK: u32 = 500;

/// `N` different ports on which nothing listens and that this process has not chosen lately.
pub fn free<const N: usize>() -> [u16; N] {
    static CHOSEN: AtomicU32 = AtomicU32::new(0);
    let blocks = (RANGE.end - RANGE.start) / BLOCK;
    let first = RANGE.start + std::process::id() % blocks * BLOCK;
    std::array::from_fn(|_| {
        let mut candidates = (0..BLOCK).map(|_| first + CHOSEN.fetch_add(1, Ordering::Relaxed) % BLOCK);
        let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        let free = candidates.by_ref().filter_map(|port| u16::try_from(port).ok()).find(free);
        free.unwrap_or_else(|| panic!("ports {first} to {} are all taken", first + BLOCK - 1))
    })
}
