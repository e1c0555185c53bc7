//! Wrong command lines and files, and the messages about them.

use super::{config, file};

/// The message about a wrong command line.
fn refused(line: &str) -> String {
    let message = config(line).map(|_| ()).expect_err(line);
    assert_eq!(message.lines().count(), 1, "{line}: {message}");
    message
}

/// Inputs and messages.
fn cases(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(" => ").expect(line))
}

#[test]
fn wrong_command_lines_are_refused_in_one_line_that_names_the_flag() {
    for (line, reason) in cases(include_str!("../../../testdata/refused-lines.txt")) {
        assert_eq!(refused(line), reason, "{line}");
    }
}

#[test]
fn wrong_files_are_refused_in_one_line_that_names_the_line_and_the_field() {
    for (sections, reason) in cases(include_str!("../../../testdata/refused-files.txt")) {
        let (directory, flag) = file(sections);
        let path = directory.path().join("manager.yaml").display().to_string();
        let line = match (reason.contains("is not a name"), sections.contains("apiVersion")) {
            (true, _) => "",
            (false, true) => ":1",
            (false, false) => ":3",
        };
        let said = refused(&flag);
        assert_eq!(said.strip_prefix(&format!("{path}{line}: ")), Some(reason), "{sections}: {said}");
    }
}

#[test]
fn unreadable_files_are_refused_by_name() {
    for broken in ["apiVersion: [", "- apiVersion", "apiVersion", "{\"apiVersion\": }"] {
        let (directory, flag) = file(broken);
        assert!(refused(&flag).starts_with(&*directory.path().to_string_lossy()), "{broken}");
    }
    assert!(refused("--config=/no/such/file").starts_with("--config: cannot read /no/such/file: "));
}
