//! Protobuf of any type of the schema, byte for byte as Go's generated code writes it: fields by number, maps by key, scalars
//! that are not pointers even if they are zero.

mod decode;
mod encode;
mod path;
mod splice;
mod write;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
pub(crate) use path::field_numbers;
pub(crate) use splice::Template;
pub(crate) use write::delimited;

#[cfg(test)]
mod tests;
