//! `audit`: its questions to DNS servers, and repairs of objects of the controllers alone.

mod dns;
mod fix;
