//! `docs/reference/versions.md`, whose table `hack/matrix` writes.

use std::fs;

use crate::connection::server_version;
use crate::gates::Minor;
use crate::version;

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The rows of the table.
fn rows(document: &str) -> Vec<Vec<&str>> {
    let (_, rest) = document.split_once("<!-- hack/matrix: begin -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- hack/matrix: end -->").unwrap();
    table.lines().skip(2).map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The releases whose servers are built from source, oldest first.
fn pinned() -> Vec<String> {
    let directory = format!("{}/../../hack/testenv/releases", env!("CARGO_MANIFEST_DIR"));
    let names =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut releases: Vec<String> = names.collect();
    let module = read("hack/testenv/go.mod");
    let newest = module.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes ")).unwrap();
    releases.push(newest.to_owned());
    releases.sort();
    releases
}

#[test]
fn the_matrix_has_the_releases_that_are_pinned_and_supported() {
    let document = read("docs/reference/versions.md");
    let rows = rows(&document);
    let releases: Vec<String> = rows.iter().map(|row| format!("v{}", row[0])).collect();
    assert_eq!(releases, pinned(), "run hack/matrix --update");
    assert_eq!(releases.last().map(String::as_str), Some(version::KUBERNETES));
    let minor = |row: &Vec<&str>| row[0].rsplit_once('.').unwrap().0.to_owned();
    let ends = [rows.first().map(minor), rows.last().map(minor)];
    assert_eq!(ends, [Minor::KNOWN.start(), Minor::KNOWN.end()].map(|end| Some(end.to_string())));
    for row in rows {
        assert_eq!(row.len(), 5, "{row:?}");
        let is_result = |cell: &&str| cell.starts_with("0 writes") || cell.starts_with("equal ");
        assert!(row[1..].iter().all(is_result), "{row:?}: run hack/matrix --update");
    }
}

#[test]
fn the_policy_names_the_flags_that_preflight_names() {
    let document = read("docs/reference/versions.md");
    for minor in oldest_minor!()..newest_minor!() {
        let minor = Minor::new(minor);
        let row = format!("| {minor} | `{}` |", server_version::flag(minor));
        assert!(document.contains(&row), "docs/reference/versions.md lacks {row}");
    }
}
