use std::sync::Arc;
use std::thread;

use prometheus_client::registry::Registry;

use super::*;

/// The lines that a subscriber with this format writes for the events of `emit`.
pub(crate) fn logged(format: LogFormat, emit: impl FnOnce()) -> String {
    let (lines, writer) = io::pipe().unwrap();
    let layer = tracing_subscriber::fmt::layer().with_writer(Arc::new(writer)).event_format(Klog { format });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), emit);
    io::read_to_string(lines).unwrap()
}

#[test]
fn text_is_klogs_header_and_quoted_fields() {
    let line = logged(
        LogFormat::Text,
        || tracing::error!(service = %"ns/web", pods = 3, err = "a \"b\"\nc", "Error syncing"),
    );
    assert!(line.starts_with('E'), "{line}");
    let (_, rest) = line.split_once("] ").unwrap();
    assert_eq!(rest, "\"Error syncing\" service=\"ns/web\" pods=3 err=\"a \\\"b\\\"\\nc\"\n");
}

#[test]
fn a_message_alone_is_not_quoted_unless_it_would_end_the_line() {
    for (message, written) in [("FLAG: --a=\"b\"", "FLAG: --a=\"b\"\n"), ("a\nb", "\"a\\nb\"\n")] {
        let line = logged(LogFormat::Text, || tracing::info!("{message}"));
        assert_eq!(line.split_once("] ").unwrap().1, written);
    }
}

#[test]
fn json_is_one_object_on_a_line() {
    let emit = || tracing::info!(service = "ns/web", pods = 3, share = 0.5, first = true, "Synced");
    let line = logged(LogFormat::Json, emit);
    let object: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(object["msg"], "Synced");
    assert_eq!(object["v"], 0);
    assert_eq!(object["service"], "ns/web");
    assert_eq!((&object["pods"], &object["share"], &object["first"]), (&3.into(), &0.5.into(), &true.into()));
    assert!(object["ts"].as_f64().unwrap() > 1e12);
}

/// A reader that never reads.
struct Stuck(mpsc::Receiver<()>);

impl io::Write for Stuck {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn unread_lines_are_counted_and_do_not_delay_the_end() {
    let (release, stuck) = mpsc::channel();
    let mut logs = Logs::to(Stuck(stuck), 10);
    let mut registry = Registry::default();
    register(logs.dropped(), &mut registry);
    for _ in 0..100 {
        logs.write_line("line");
    }
    let text = scripted_api::candidates::metrics(&registry);
    let dropped = text.lines().find_map(|line| line.strip_prefix("log_lines_dropped_total ")).unwrap();
    // Ten wait, and one may be with the writer.
    assert!([89.0, 90.0].contains(&dropped.parse().unwrap()), "{text}");
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        drop(logs);
        done.send(()).unwrap();
    });
    ended.recv_timeout(Duration::from_mins(3)).expect("the end does not wait for the reader");
    drop(release);
}

#[test]
fn a_panic_is_one_line_in_the_format_that_was_chosen() {
    let line = logged(LogFormat::Json, || {
        std::panic::set_hook(Box::new(log_panic));
        let _ = std::panic::catch_unwind(|| panic!("a {}", "bug"));
        drop(std::panic::take_hook());
    });
    let object: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&object["msg"], &object["panic"]), (&"Observed a panic".into(), &"a bug".into()));
    assert!(object["location"].as_str().unwrap().contains("tests.rs:"), "{line}");
}
