//! `audit`: its questions to DNS servers and to nftables, and repairs of objects of the controllers alone.

mod dns;
mod fix;
mod proxy;
