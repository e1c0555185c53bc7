//! The Kubernetes release that this program behaves as.

/// The release `1.<minor>` that this program behaves as, the newest that it supports.
macro_rules! newest_minor {
    () => {
        37
    };
}

/// The newest patch release of it, with which this program is compared.
macro_rules! newest_patch {
    () => {
        2
    };
}

/// The release before it.
macro_rules! previous_minor {
    () => {
        36
    };
}

/// The oldest release that is supported, and whose gates are known.
macro_rules! oldest_minor {
    () => {
        34
    };
}

/// The Kubernetes release whose behaviour it reproduces.
pub const KUBERNETES: &str = concat!("v1.", newest_minor!(), ".", newest_patch!());

/// The releases whose gates are known are those that upstream can emulate: its own and the three before.
const _: () = assert!(newest_minor!() - previous_minor!() == 1 && newest_minor!() - oldest_minor!() == 3);
