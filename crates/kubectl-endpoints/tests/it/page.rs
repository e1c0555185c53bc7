//! `explain --serve`, without a browser. `hack/chromium/browser` has the checks of the page.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use crate::program::Running;

/// A served page, which ends with the test.
struct Page {
    program: Running,
    address: String,
    token: String,
}

impl Page {
    fn start(words: &[&str]) -> Self {
        let mut program = Running::start(&[&["explain", "--serve"], words].concat());
        let line = program.lines().next().expect("a line");
        let address = line.strip_prefix("http://").and_then(|rest| rest.split_once("/#token="));
        let (address, token) = address.expect("an address with a token");
        Self { address: address.to_owned(), token: token.to_owned(), program }
    }

    /// Sends a request, of which the answer is read later.
    fn send(&self, path: &str) -> TcpStream {
        self.send_as(path, &self.token)
    }

    fn send_as(&self, path: &str, token: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let headers = format!("Host: {}\r\nAuthorization: Bearer {token}\r\nConnection: close", self.address);
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{headers}\r\n\r\n").as_bytes()).unwrap();
        stream
    }

    fn get(&self, path: &str) -> String {
        let mut text = String::new();
        self.send(path).read_to_string(&mut text).unwrap();
        text
    }
}

const SERVICE: &str = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}";

#[test]
fn files_are_served_until_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("web.yaml");
    std::fs::write(&file, SERVICE).unwrap();
    let other = Page::start(&["-n", "other", "-f", file.to_str().unwrap()]);
    assert!(
        other.get("/api/services").contains("\"name\":\"web\""),
        "the namespace of objects that name none"
    );
    std::fs::write(&file, SERVICE.replace("{name: web}", "{name: web, namespace: default}")).unwrap();
    let other = Page::start(&["-n", "other", "-f", file.to_str().unwrap()]);
    assert!(other.get("/api/services").contains("\"services\":[]"));
    let mut page = Page::start(&["-f", file.to_str().unwrap()]);
    assert!(page.get("/").contains("<title>"));
    let mut refusal = String::new();
    page.send_as("/api/services", &other.token).read_to_string(&mut refusal).unwrap();
    assert!(refusal.starts_with("HTTP/1.1 401 "), "the token of another page: {refusal}");
    assert!(page.get("/api/services").contains("\"name\":\"web\""));
    assert!(page.get("/api/services/default/web").contains("\"verdict\":"));
    let mut events = BufReader::new(page.send("/api/events?after=0-0")).lines();
    assert!(events.any(|line| line.unwrap().starts_with("event: resync")));
    // A stream without an end doesn't keep the program.
    let cursor = page.get("/api/services");
    let cursor = cursor.split("\"cursor\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let mut events = BufReader::new(page.send(&format!("/api/events?after={cursor}"))).lines();
    assert!(events.any(|line| line.unwrap().starts_with("event: source")));
    assert_eq!(page.program.interrupt(), Some(0));
    assert_eq!(events.map_while(Result::ok).filter(|line| line.starts_with("event:")).count(), 0);
}

#[test]
fn connections_of_others_do_not_lock_out_the_user() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("web.yaml");
    std::fs::write(&file, SERVICE).unwrap();
    let page = Page::start(&["-f", file.to_str().unwrap()]);
    let _silent: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(&page.address).unwrap()).collect();
    assert!(page.get("/").contains("<title>"));
}

#[test]
fn a_server_that_cannot_start_is_one_line() {
    let run = |words: &[&str]| crate::program::explain(&[&["--serve"], words].concat(), SERVICE);
    let occupied = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = occupied.local_addr().unwrap();
    let refused = run(&["-f", "-", &format!("--listen={taken}")]);
    assert_eq!((refused.code, refused.stderr.lines().count()), (1, 1), "{refused:?}");
    assert!(
        refused.stderr.starts_with(&format!("Error: --listen: cannot listen at {taken}: ")),
        "{refused:?}"
    );
    let unreachable = run(&["--kubeconfig=/dev/null"]);
    assert!(unreachable.code != 0 && unreachable.stderr.lines().count() == 1, "{unreachable:?}");
    drop(occupied);
}
