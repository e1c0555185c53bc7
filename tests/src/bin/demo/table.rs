//! Slices as a table, a line each, with a mark at what has changed.

use std::collections::HashSet;
use std::fmt::Write as _;

use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};
use kube::ResourceExt;

use crate::board::{Board, Counts, service};

const HEAD: [&str; 9] =
    ["SERVICE", "SLICE", "FAMILY", "PORTS", "ENDPOINTS", "READY", "SERVING", "TERMINATING", "ADDRESSES"];

/// Numbers stand at the right of their columns.
const NUMBERS: std::ops::Range<usize> = 4..8;

/// How many addresses of a slice are shown; of the others only the number.
const SHOWN: usize = 1;

/// The table as it was shown last.
#[derive(Debug, Default)]
pub(crate) struct Table {
    shown: HashSet<[String; 9]>,
}

impl Table {
    /// The board now, with `*` where a line is new.
    pub(crate) fn render(&mut self, board: &Board) -> String {
        let rows: Vec<_> = board.slices().map(row).collect();
        let widths: Vec<usize> = (0..HEAD.len())
            .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0).max(HEAD[column].len()))
            .collect();
        let mut text = line(' ', &HEAD, &widths);
        for row in &rows {
            let mark = if self.shown.contains(row) { ' ' } else { '*' };
            text.push_str(&line(mark, row, &widths));
        }
        self.shown = rows.into_iter().collect();
        text
    }
}

fn line(mark: char, cells: &[impl AsRef<str>; 9], widths: &[usize]) -> String {
    let mut text = format!("   {mark}");
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = cell.as_ref();
        if NUMBERS.contains(&column) {
            write!(text, " {cell:>width$} ").unwrap();
        } else {
            write!(text, " {cell:width$} ").unwrap();
        }
    }
    format!("{}\n", text.trim_end())
}

fn row(slice: &EndpointSlice) -> [String; 9] {
    let counts = Counts::of(slice.endpoints.iter().flatten());
    [
        service(slice).to_owned(),
        slice.name_any(),
        slice.address_type.clone(),
        ports(slice),
        counts.all.to_string(),
        counts.ready.to_string(),
        counts.serving.to_string(),
        counts.terminating.to_string(),
        addresses(slice),
    ]
}

fn ports(slice: &EndpointSlice) -> String {
    let ports: Vec<String> = slice.ports.iter().flatten().map(port).collect();
    if ports.is_empty() { "-".to_owned() } else { ports.join(",") }
}

fn port(port: &EndpointPort) -> String {
    let number = port.port.map_or_else(|| "any".to_owned(), |number| number.to_string());
    match port.protocol.as_deref() {
        None | Some("TCP") => number,
        Some(protocol) => format!("{number}/{protocol}"),
    }
}

fn addresses(slice: &EndpointSlice) -> String {
    let addresses = || slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses);
    let mut shown: Vec<String> = addresses().take(SHOWN).cloned().collect();
    match addresses().count() {
        0 => shown.push("-".to_owned()),
        count if count > SHOWN => shown.push(format!("+{}", count - SHOWN)),
        _ => {}
    }
    shown.join(" ")
}
