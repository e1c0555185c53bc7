//! The limit on the addresses of one Endpoints object.

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset};

/// The maximum number of addresses in one Endpoints object (`endpoints_controller.go` `maxCapacity`).
pub const CAPACITY: usize = 1000;

/// Truncates the subsets to [`CAPACITY`] addresses in total; returns true if that was necessary.
///
/// Ready addresses come first: if they alone are too many, all others are dropped. Subsets shrink in proportion, rounded
/// up, in their order (`endpoints_controller.go` `truncateEndpoints`).
///
/// A subset must not lose its last address, because the API server would refuse the whole object: one address is reserved
/// for each such subset. Subsets for which none is left are dropped. (Upstream writes them, and is refused.)
pub fn truncate(subsets: &mut Vec<EndpointSubset>) -> bool {
    let ready: usize = subsets.iter().map(|subset| len(subset.addresses.as_ref())).sum();
    let not_ready: usize = subsets.iter().map(|subset| len(subset.not_ready_addresses.as_ref())).sum();
    if ready + not_ready <= CAPACITY {
        return false;
    }
    if ready > CAPACITY {
        for subset in subsets.iter_mut() {
            subset.not_ready_addresses = None;
        }
        shrink(subsets, Share { total: ready, max: CAPACITY }, |subset| &mut subset.addresses);
    } else {
        let share = Share { total: not_ready, max: CAPACITY - ready };
        shrink(subsets, share, |subset| &mut subset.not_ready_addresses);
    }
    subsets.retain(|subset| addresses(subset) > 0);
    true
}

/// The number of `total` addresses that stay.
#[derive(Clone, Copy)]
struct Share {
    total: usize,
    max: usize,
}

impl Share {
    /// The part of a list, in the arithmetic that upstream uses: rounding errors would be visible.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of addresses are far below 2^52, and at most `max` comes out"
    )]
    fn of(self, count: usize) -> usize {
        ((count as f64 / self.total as f64) * self.max as f64).ceil() as usize
    }
}

type List = fn(&mut EndpointSubset) -> &mut Option<Vec<EndpointAddress>>;

fn shrink(subsets: &mut [EndpointSubset], share: Share, list: List) {
    let mut left = share.max;
    // Subsets that have addresses in this list only, and are still to come.
    let mut reserved: usize = subsets.iter_mut().map(|subset| usize::from(depends_on(subset, list))).sum();
    for subset in subsets {
        reserved -= usize::from(depends_on(subset, list));
        let Some(addresses) = list(subset) else { continue };
        addresses.truncate(share.of(addresses.len()).min(left.saturating_sub(reserved)));
        left -= addresses.len();
        if addresses.is_empty() {
            *list(subset) = None;
        }
    }
}

fn depends_on(subset: &mut EndpointSubset, list: List) -> bool {
    let all = addresses(subset);
    let listed = len(list(subset).as_ref());
    listed > 0 && listed == all
}

fn addresses(subset: &EndpointSubset) -> usize {
    len(subset.addresses.as_ref()) + len(subset.not_ready_addresses.as_ref())
}

fn len(list: Option<&Vec<EndpointAddress>>) -> usize {
    list.map_or(0, Vec::len)
}
