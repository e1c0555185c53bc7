mod properties;
pub(super) mod testdata;
