//! docs/operate/explain.md lists each reason.

use endpoint_diagnostics::explain::{CODES, Code};
use endpoint_diagnostics::report::Scope;

const BEGIN: &str = "<!-- reasons: generated -->\n";
const END: &str = "<!-- end of reasons -->\n";
const REFRESH: &str = "UPDATE_DOCS=1 cargo test -p endpoint-diagnostics documents";

fn item(code: &Code) -> String {
    let scope = match code.scope {
        Scope::Slices => " (slices)",
        Scope::Endpoints => " (Endpoints)",
        Scope::Both => "",
    };
    format!("* `{}`{scope}: {}\n", code.name, code.meaning.trim_end_matches('.'))
}

fn list(title: &str, of_service: bool) -> String {
    let items: String = CODES.iter().filter(|code| code.of_service == of_service).map(item).collect();
    format!("\n{title}:\n\n{items}")
}

#[test]
fn the_list_of_reasons_is_current() {
    let path = format!("{}/../../docs/operate/explain.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let generated = list("About a Service", true) + &list("About a pod", false) + "\n";
    let current = format!("{head}{BEGIN}{generated}{END}{tail}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &current).unwrap();
    } else {
        assert!(text == current, "docs/operate/explain.md is out of date; refresh it: {REFRESH}");
    }
}
