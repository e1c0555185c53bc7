//! Slices and Endpoints as tables, a line each, with a mark on changed lines.

use std::collections::HashSet;
use std::fmt::Write as _;

use k8s_openapi::api::core::v1::{self as core, Endpoints};
use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};
use kube::ResourceExt;

use crate::slice_table::{Counts, SliceTable, is_mirrored, service};

const SLICES: Head<10> = Head {
    names: [
        "SERVICE",
        "SLICE",
        "FROM",
        "FAMILY",
        "PORTS",
        "ENDPOINTS",
        "READY",
        "SERVING",
        "TERMINATING",
        "ADDRESSES",
    ],
    numbers: 5..9,
};

const ENDPOINTS: Head<5> =
    Head { names: ["ENDPOINTS", "PORTS", "READY", "NOT READY", "ADDRESSES"], numbers: 2..4 };

/// The first line of a table.
struct Head<const N: usize> {
    names: [&'static str; N],
    /// The columns of numbers, which are aligned to the right.
    numbers: std::ops::Range<usize>,
}

/// The number of addresses of a slice that are printed; of the others only their number is.
const SHOWN: usize = 1;

/// The lines as printed last.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slices: HashSet<[String; 10]>,
    endpoints: HashSet<[String; 5]>,
}

impl Table {
    /// The current slices, with `*` at new lines.
    pub(crate) fn slices(&mut self, slices: &SliceTable) -> String {
        let rows: Vec<_> = slices.slices().map(slice_row).collect();
        let text = render(&SLICES, &rows, &self.slices);
        self.slices = rows.into_iter().collect();
        text
    }

    /// The Endpoints that are new or have changed; empty if there are none.
    pub(crate) fn changed_endpoints(&mut self, endpoints: &[Endpoints]) -> String {
        let rows: Vec<_> = endpoints.iter().map(endpoints_row).collect();
        let changed: Vec<_> = rows.iter().filter(|row| !self.endpoints.contains(*row)).cloned().collect();
        self.endpoints = rows.into_iter().collect();
        if changed.is_empty() { String::new() } else { render(&ENDPOINTS, &changed, &HashSet::new()) }
    }
}

fn render<const N: usize>(head: &Head<N>, rows: &[[String; N]], shown: &HashSet<[String; N]>) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].len()).max().unwrap_or(0).max(head.names[column].len())
    });
    let mut text = line(' ', head, &head.names, &widths);
    for row in rows {
        let mark = if shown.contains(row) { ' ' } else { '*' };
        text.push_str(&line(mark, head, row, &widths));
    }
    text
}

fn line<const N: usize>(
    mark: char,
    head: &Head<N>,
    cells: &[impl AsRef<str>; N],
    widths: &[usize; N],
) -> String {
    let mut text = format!("   {mark}");
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = cell.as_ref();
        if head.numbers.contains(&column) {
            write!(text, " {cell:>width$} ").unwrap();
        } else {
            write!(text, " {cell:width$} ").unwrap();
        }
    }
    format!("{}\n", text.trim_end())
}

fn slice_row(slice: &EndpointSlice) -> [String; 10] {
    let endpoints = || slice.endpoints.iter().flatten();
    let counts = Counts::of(endpoints());
    [
        service(slice).to_owned(),
        slice.name_any(),
        if is_mirrored(slice) { "Endpoints" } else { "pods" }.to_owned(),
        slice.address_type.clone(),
        list(slice.ports.iter().flatten().map(port)),
        counts.all.to_string(),
        counts.ready.to_string(),
        counts.serving.to_string(),
        counts.terminating.to_string(),
        shortened(endpoints().flat_map(|endpoint| endpoint.addresses.clone()).collect()),
    ]
}

fn endpoints_row(endpoints: &Endpoints) -> [String; 5] {
    let subsets = || endpoints.subsets.iter().flatten();
    let ready: Vec<_> = subsets().flat_map(|subset| subset.addresses.iter().flatten()).collect();
    let not_ready: Vec<_> =
        subsets().flat_map(|subset| subset.not_ready_addresses.iter().flatten()).collect();
    [
        endpoints.name_any(),
        list(subsets().flat_map(|subset| subset.ports.iter().flatten()).map(endpoints_port)),
        ready.len().to_string(),
        not_ready.len().to_string(),
        shortened(ready.iter().chain(&not_ready).map(|address| address.ip.clone()).collect()),
    ]
}

fn list(ports: impl Iterator<Item = String>) -> String {
    let ports: Vec<String> = ports.collect();
    if ports.is_empty() { "-".to_owned() } else { ports.join(",") }
}

fn port(port: &EndpointPort) -> String {
    let number = port.port.map_or_else(|| "any".to_owned(), |number| number.to_string());
    with_protocol(number, port.protocol.as_deref())
}

fn endpoints_port(port: &core::EndpointPort) -> String {
    with_protocol(port.port.to_string(), port.protocol.as_deref())
}

fn with_protocol(number: String, protocol: Option<&str>) -> String {
    match protocol {
        None | Some("TCP") => number,
        Some(protocol) => format!("{number}/{protocol}"),
    }
}

fn shortened(mut addresses: Vec<String>) -> String {
    let more = addresses.len().saturating_sub(SHOWN);
    addresses.truncate(SHOWN);
    match (addresses.is_empty(), more) {
        (true, _) => addresses.push("-".to_owned()),
        (false, 0) => {}
        (false, more) => addresses.push(format!("+{more}")),
    }
    addresses.join(" ")
}
