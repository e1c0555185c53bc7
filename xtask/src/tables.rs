//! What upstream accepts: feature gates, controllers and flags, from its own packages (hack/testenv/tables).

use std::fmt::Write as _;

use serde::Deserialize;

use crate::release::Release;
use crate::repository::{Outcome, Repository};

const PROGRAM: &str = "crates/endpoint-controller-manager";

/// The output of hack/testenv/tables.
#[derive(Deserialize)]
struct Tables {
    minor: u16,
    gates: Vec<Gate>,
    controllers: Vec<Controller>,
    flags: Vec<Flag>,
    configz: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Gate {
    name: String,
    stages: Vec<String>,
    depends_on: Vec<String>,
}

#[derive(Deserialize)]
struct Controller {
    name: String,
    aliases: Vec<String>,
}

#[derive(Deserialize)]
struct Flag {
    name: String,
    r#type: String,
    default: String,
    hidden: bool,
}

/// Writes the tables of the program, and names what a person has to decide.
pub(crate) fn update(repository: &Repository, to: &Release) -> Outcome {
    let output = repository.output("go", &["run", "./tables"], "hack/testenv")?;
    let tables: Tables = serde_json::from_str(&output).map_err(|error| format!("tables: {error}"))?;
    if tables.minor != to.minor {
        return Err(format!("hack/testenv has 1.{}: run the step modules first", tables.minor));
    }
    gates(repository, &tables, to)?;
    controllers(repository, &tables, to)?;
    flags(repository, &tables, to)?;
    for path in tables.configz {
        let known = [format!("{PROGRAM}/src/options/config_file.rs")];
        let known = known.into_iter().chain(repository.tracked(".rs")?.into_iter().filter(is_group));
        let has = |name: String| Ok(repository.read(&name)?.contains(&format!("\"{path}")));
        if !known.map(has).collect::<Outcome<Vec<bool>>>()?.contains(&true) {
            println!(
                "to decide: /configz has {path}: add it to IGNORED of options/config_file.rs, or a flag to it"
            );
        }
    }
    Ok(())
}

fn is_group(name: &String) -> bool {
    name.starts_with(&format!("{PROGRAM}/src/options/groups/"))
}

/// A list of texts as Rust source.
fn listed(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    quoted.join(", ")
}

/// The text with other lines between the line `begin` and the next `];`.
fn with_lines(text: &str, begin: &str, lines: &str) -> Outcome<String> {
    let (head, rest) = text.split_once(begin).ok_or_else(|| format!("no line {begin}"))?;
    let (_, tail) = rest.split_once("\n];").ok_or_else(|| format!("no end of {begin}"))?;
    Ok(format!("{head}{begin}\n{lines}];{tail}"))
}

fn gates(repository: &Repository, tables: &Tables, to: &Release) -> Outcome {
    let name = format!("{PROGRAM}/src/gates/upstream.rs");
    let mut lines = String::new();
    for Gate { name, stages, depends_on } in &tables.gates {
        let (stages, depends_on) = (stages.join(", "), listed(depends_on));
        writeln!(lines, "    gate({name:?}, [{stages}], &[{depends_on}]),").expect("a String");
    }
    let text = with_lines(&repository.read(&name)?, "pub(super) const GATES: &[Gate] = &[", &lines)?;
    let minors: Vec<String> = (to.oldest()..=to.minor).map(|minor| format!("1.{minor}")).collect();
    let columns = format!("{} and {}", minors[..minors.len() - 1].join(", "), minors[minors.len() - 1]);
    let text = text.lines().map(|line| {
        if line.starts_with("//! The feature gates of kube-controller-manager ") {
            format!(
                "//! The feature gates of kube-controller-manager {}, at the versions that it can emulate. \
                     `cargo xtask bump` writes this file.\n",
                to.number()
            )
        } else if line.starts_with("/// Sorted by name; the columns are ") {
            format!("/// Sorted by name; the columns are {columns}.\n")
        } else {
            format!("{line}\n")
        }
    });
    repository.write(&name, &text.collect::<String>())
}

/// The names in a Rust table of texts.
fn names(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("    \"")?.strip_suffix("\","));
    lines.map(ToOwned::to_owned).collect()
}

fn controllers(repository: &Repository, tables: &Tables, to: &Release) -> Outcome {
    let [upstream, removed] =
        ["upstream", "removed"].map(|name| format!("{PROGRAM}/src/controllers/{name}.rs"));
    let ours = ["endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller"];
    let others = tables.controllers.iter().filter(|controller| !ours.contains(&&*controller.name));
    let now: Vec<String> = others
        .flat_map(|Controller { name, aliases }| std::iter::once(name).chain(aliases).cloned())
        .collect();
    let before = repository.read(&upstream)?;
    let was = repository.read(&removed)?;
    let mut gone = names(&was);
    gone.extend(names(&before));
    gone.retain(|name| !now.contains(name));
    let lines = |names: &[String]| names.iter().map(|name| format!("    {name:?},\n")).collect::<String>();
    let text = with_lines(&before, "pub(super) const OTHERS: &[&str] = &[", &lines(&now))?;
    let head = "//! The other controllers of kube-controller-manager ";
    let text = text.lines().map(|line| match line.strip_prefix(head) {
        Some(_) => format!("{head}{}. `cargo xtask bump` writes this file.\n", to.number()),
        None => format!("{line}\n"),
    });
    repository.write(&upstream, &text.collect::<String>())?;
    repository.write(&removed, &with_lines(&was, "pub(super) const REMOVED: &[&str] = &[", &lines(&gone))?)
}

/// The kind in options/groups/ignored.rs of a type of pflag.
fn kind(r#type: &str) -> &'static str {
    match r#type {
        "bool" => "BOOL",
        "int" | "int32" | "int64" => "INT",
        "float32" | "float64" => "FLOAT",
        "duration" => "DURATION",
        _ => "TEXT",
    }
}

fn flags(repository: &Repository, tables: &Tables, to: &Release) -> Outcome {
    let file = format!("{PROGRAM}/testdata/kube-controller-manager-flags.txt");
    let before = repository.read(&file)?;
    let known: Vec<&str> =
        before.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name).collect();
    let mut text = format!(
        "# The flags of kube-controller-manager {to} and their types, as its --help shows them; the last ones it hides.\n"
    );
    for Flag { name, r#type, .. } in &tables.flags {
        writeln!(text, "{name} {}", r#type).expect("a String");
    }
    repository.write(&file, &text)?;

    let ignored = format!("{PROGRAM}/src/options/groups/ignored.rs");
    let source = repository.read(&ignored)?;
    for name in
        known.iter().filter(|name| **name != "#" && tables.flags.iter().all(|flag| flag.name != **name))
    {
        println!("to decide: --{name} is gone: move its line in {ignored} from FLAGS to REMOVED");
    }
    for Flag { name, r#type, default, hidden } in &tables.flags {
        let is_new = !known.contains(&name.as_str()) && !source.contains(&format!("({name:?},"));
        let hidden = if *hidden { ".hidden()" } else { "" };
        if is_new {
            println!(
                "to decide: --{name} is new: unless it has an effect, add to FLAGS of {ignored}\n    \
                 Flag::ignored({name:?}, {default:?}, {}){hidden},",
                kind(r#type)
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_replaced_between_their_lines() {
        let text = "head\nconst A: &[&str] = &[\n    \"one\",\n];\ntail\n];\n";
        let after = with_lines(text, "const A: &[&str] = &[", "    \"two\",\n").unwrap();
        assert_eq!(after, "head\nconst A: &[&str] = &[\n    \"two\",\n];\ntail\n];\n");
        assert_eq!(names(&after), ["two"]);
        assert!(with_lines(text, "const B", "").is_err());
    }
}
