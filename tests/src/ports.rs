//! Free loopback ports.

use std::fs::File;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which systems choose the source ports of outgoing connections, so that no client of
/// this machine can take a port between the look and the use.
const RANGE: std::ops::Range<u16> = 10_000..32_000;

/// Every process looks in its own block, so that test processes side by side do not choose the same port. A block is
/// large enough for a port not to be chosen again before the program that it was chosen for listens on it.
const BLOCK: u16 = 1_000;

/// The ports of this process.
#[derive(Debug)]
struct Block {
    first: u16,
    chosen: AtomicU16,
    /// Locked until this process ends.
    _claim: File,
}

impl Block {
    /// A block that no other process has.
    fn claim() -> Self {
        let folder = std::env::temp_dir();
        let claim = |first: u16| {
            let file =
                File::create(folder.join(format!("endpoint-controller-manager-tests-{first}.lock"))).ok()?;
            file.try_lock().ok()?;
            Some(Self { first, chosen: AtomicU16::new(0), _claim: file })
        };
        let block = RANGE.step_by(BLOCK.into()).find_map(claim);
        block.unwrap_or_else(|| panic!("no block of ports can be locked in {}", folder.display()))
    }

    fn next(&self) -> u16 {
        self.first + self.chosen.fetch_add(1, Ordering::Relaxed) % BLOCK
    }
}

/// `N` different ports on which nothing listens and that this process has not chosen lately.
pub fn free<const N: usize>() -> [u16; N] {
    static OURS: OnceLock<Block> = OnceLock::new();
    let block = OURS.get_or_init(Block::claim);
    std::array::from_fn(|_| {
        let free = (0..BLOCK).map(|_| block.next()).find(|port| is_free(*port));
        free.unwrap_or_else(|| panic!("the {BLOCK} ports from {} on are all taken", block.first))
    })
}

/// Looks by connecting. To listen for a moment could take the port for longer: a program that another thread starts just
/// then has a copy of the socket until it is loaded.
fn is_free(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::{Command, Stdio};
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn what_is_listened_on_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }

    #[test]
    fn processes_side_by_side_have_different_blocks() {
        assert_ne!(Block::claim().first, Block::claim().first);
        let mut chosen = [free::<3>(), free::<3>()].concat();
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), 6);
    }

    #[test]
    fn a_free_port_can_be_listened_on_at_once_while_programs_are_started() {
        let done = AtomicBool::new(false);
        let refused = std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        // Another folder, as for every program of the tests: it is changed after the fork.
                        Command::new("true")
                            .current_dir("/")
                            .stdin(Stdio::null())
                            .status()
                            .expect("running true");
                    }
                });
            }
            let refused = (0..400)
                .filter_map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, free::<1>()[0])).err())
                .count();
            done.store(true, Ordering::Relaxed);
            refused
        });
        assert_eq!(refused, 0, "of 400");
    }
}
