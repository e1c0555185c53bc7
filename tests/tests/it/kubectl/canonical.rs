//! The output of kubectl, without what differs between two equal servers: spaces of columns, ages, times, uids, versions,
//! addresses that were allocated, and the server's own address.

/// An event of the API server about itself: the repair of allocations sees a new Service, and not yet the address that was
/// allocated with it. Any server may write it after any Service was created, or not (`ipallocator/controller/repairip.go`).
const RACE: &str = "ClusterIPNotAllocated";

/// The canonical form: a line for a line, without those about [`RACE`].
pub(super) fn text(text: &str) -> String {
    let lines: String = text.lines().filter(|one| !one.contains(RACE)).map(|one| line(one) + "\n").collect();
    if text.contains(RACE) { lines.replace(NO_ROWS, "Events: <none>\n") } else { lines }
}

/// The events that `kubectl describe` prints when they were all about [`RACE`].
const NO_ROWS: &str = "Events:\n  Type Reason Age From Message\n  ---- ------ ---- ---- -------\n";

fn line(line: &str) -> String {
    let trimmed = line.trim();
    // Fields whose whole value is chance.
    for key in [
        "resourceVersion:",
        "Resource Version:",
        "\"resourceVersion\":",
        "CreationTimestamp:",
        "\"uid\":",
        "uid:",
    ] {
        if trimmed.starts_with(key) {
            return format!("{key} <any>");
        }
    }
    let indent = line.len() - line.trim_start().len();
    let words: Vec<_> = trimmed.split_whitespace().map(word).collect();
    format!("{}{}", " ".repeat(indent), words.join(" "))
}

fn word(word: &str) -> String {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    let replacement = if is_time(inner) {
        "<time>"
    } else if is_age(inner) {
        "<age>"
    } else if is_uid(inner) {
        "<uid>"
    } else if is_allocated(inner) {
        "<address>"
    } else if inner.contains("127.0.0.1:") {
        "<server>"
    } else {
        return word.to_owned();
    };
    word.replacen(inner, replacement, 1)
}

/// `2026-01-02T03:04:05Z`
fn is_time(word: &str) -> bool {
    word.len() >= 20 && word.ends_with('Z') && word.get(4..5) == Some("-") && word.get(10..11) == Some("T")
}

/// `12s`, `3m4s`, `324d`
fn is_age(word: &str) -> bool {
    let mut digits = 0;
    for c in word.chars() {
        match c {
            '0'..='9' => digits += 1,
            's' | 'm' | 'h' | 'd' | 'y' if digits > 0 => digits = 0,
            _ => return false,
        }
    }
    digits == 0 && !word.is_empty()
}

fn is_uid(word: &str) -> bool {
    let parts: Vec<_> = word.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// An address of the range of cluster IPs that the script did not choose itself.
fn is_allocated(word: &str) -> bool {
    word.starts_with("10.96.") && !word.starts_with("10.96.77.") && word.matches('.').count() == 3
}

/// The lines that differ in canonical form.
pub(super) fn difference(real: &str, embedded: &str) -> String {
    let [real, embedded] = [real, embedded].map(text);
    let [real, embedded] = [&real, &embedded].map(|text| text.lines().collect::<Vec<_>>());
    let same = real.iter().zip(&embedded).take_while(|(a, b)| a == b).count();
    let (real, embedded) = (&real[same..], &embedded[same..]);
    let same_end = real.iter().rev().zip(embedded.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut report = String::new();
    for (sign, lines) in [("-", real), ("+", embedded)] {
        for line in &lines[..lines.len() - same_end] {
            report.extend(["  ", sign, " ", line, "\n"]);
        }
    }
    report
}

#[test]
fn an_event_that_only_some_runs_have_is_removed() {
    let described = "Name: web\nEvents:\n  Type     Reason                 Age  From  Message\n  ----     ------  ----  ----  -------\n  \
                     Warning  ClusterIPNotAllocated  5s   repair  Cluster IP [IPv4]: 10.96.77.1 is not allocated\n";
    assert_eq!(text(described), text("Name: web\nEvents:   <none>\n"));
    let listed = "LAST SEEN  REASON\n5s  ClusterIPNotAllocated\n5s  Pulled\n";
    assert_eq!(text(listed), "LAST SEEN REASON\n<age> Pulled\n");
}

#[test]
fn chance_is_removed_and_nothing_else() {
    let printed = "NAME    AGE   IP\nweb-0   2m3s  10.96.4.5\nweb-1   12s   10.96.77.1\n  uid: 1-2\n";
    let canonical = "NAME AGE IP\nweb-0 <age> <address>\nweb-1 <age> 10.96.77.1\nuid: <any>\n";
    assert_eq!(text(printed), canonical);
    assert_eq!(text("at \"2026-11-22T10:51:47Z\", 3 (324d ago)\n"), "at \"<time>\", 3 (<age> ago)\n");
    assert_eq!(text("80/TCP 10m 25% 1000 v1"), "80/TCP <age> 25% 1000 v1\n");
    assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "  - b\n  + x\n  + y\n");
}
