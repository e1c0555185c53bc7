//! A hash table from the JSON names of a type to positions of its fields.

/// Open addressing in at least twice as many places as names. Stores only positions; the caller compares names.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    /// Positions plus 1; 0 is free. The length is a power of two, or 0.
    places: Vec<u8>,
}

impl Lookup {
    pub(crate) fn new<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Self {
        let mut places = vec![0_u8; (names.len() * 2 + 1).next_power_of_two()];
        for (position, name) in names.enumerate() {
            let mut place = hash(name);
            while places.get(place & (places.len() - 1)).is_some_and(|&taken| taken != 0) {
                place += 1;
            }
            let mask = places.len() - 1;
            if let (Some(slot), Ok(number)) = (places.get_mut(place & mask), u8::try_from(position + 1)) {
                *slot = number;
            }
        }
        Self { places }
    }

    /// The position that `is_it` confirms.
    #[inline]
    pub(crate) fn find(&self, name: &str, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let mask = self.places.len().checked_sub(1)?;
        let mut place = hash(name);
        loop {
            let position = usize::from(self.places.get(place & mask)?.checked_sub(1)?);
            if is_it(position) {
                return Some(position);
            }
            place += 1;
        }
    }
}

/// FNV-1a, folded so that the low bits depend on all bytes.
#[inline]
fn hash(name: &str) -> usize {
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 15)) as usize & 0x7fff_ffff
}
