//! The hash by which ports and subsets are ordered.

/// The 128-bit Fowler–Noll–Vo hash, variant 1a, of the text that Go prints for an object (`%#v` of go-spew, as
/// `pkg/util/hash/hash.go` `DeepHashObject` sets it up).
///
/// The order by this hash has no meaning; it makes lists equal to those that upstream writes. Cost: a multiplication for
/// each byte.
pub(crate) struct Fnv128a(u128);

impl Default for Fnv128a {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv128a {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    pub(crate) fn write(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(Self::PRIME);
        }
    }

    /// A pointer to a plain value: its type, and the value unless it is nil.
    pub(crate) fn write_pointer(&mut self, type_name: &str, value: Option<&str>) {
        self.write("(*");
        self.write(type_name);
        self.write(")");
        self.write(value.unwrap_or("<nil>"));
    }

    /// A number whose order is that of the digest's bytes.
    pub(crate) fn finish(&self) -> u128 {
        self.0
    }
}
