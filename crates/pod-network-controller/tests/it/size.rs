//! The numbers of lines of the controller's rules and of a program with another source of addresses.

const RULES: [&str; 4] = [
    include_str!("../../src/reconciler.rs"),
    include_str!("../../src/source.rs"),
    include_str!("../../src/claims.rs"),
    include_str!("../../src/network_status.rs"),
];

#[test]
fn the_rules_are_600_lines_and_the_program_of_another_source_60() {
    let lines: usize = RULES.iter().map(|file| file.lines().count()).sum();
    assert!(lines <= 600, "{lines}");
    let readme = include_str!("../../README.md");
    let (_, program) = readme.split_once("```rust,no_run\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    assert!(program.contains("async fn main()") && program.lines().count() <= 60, "{program}");
}
