//! `docs/kubectl-endpoints.md`, generated from the program.

/// The command that writes the document anew.
const REFRESH: &str = "UPDATE_DOCS=1 cargo test -p kubectl-endpoints generated_docs";

mod generated_docs {
    use super::REFRESH;
    use crate::PROGRAM;
    use crate::exit::TABLE;
    use crate::name::USAGE;

    fn row(cells: &[&str]) -> String {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    }

    /// The flags of a command, without those of endpoint-controller-manager.
    fn flags(heading: &str, command: &clap::Command, others: &[&str]) -> String {
        let line = |arg: &clap::Arg| {
            let long = format!("`--{}`", arg.get_long()?);
            let name = arg.get_short().map_or(long.clone(), |short| format!("`-{short}`, {long}"));
            let takes_value = arg.get_action().takes_values();
            let values = arg.get_value_names().filter(|_| takes_value);
            let values = values.map(|names| names.join(" ")).unwrap_or_default();
            let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let defaults: Vec<_> = arg.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
            if takes_value && !defaults.is_empty() {
                help = format!("{help} [default: {}]", defaults.join(","));
            }
            Some(row(&[&name, &values, &help]))
        };
        let is_own = |arg: &&clap::Arg| arg.get_long().is_some_and(|name| !others.contains(&name));
        let lines: String = command.get_arguments().filter(is_own).filter_map(line).collect();
        let head = row(&["Flag", "Values", "Description"]) + "|---|---|---|\n";
        format!("\n## {heading}\n\n{head}{lines}")
    }

    fn document() -> String {
        let daemon = endpoint_controller_manager::options::command(Vec::new());
        let daemon: Vec<&str> = daemon.get_arguments().filter_map(clap::Arg::get_long).collect();
        let mut text = format!(
            "# kubectl endpoints\n\nGenerated from the program by `{REFRESH}`.\n\n\
             The executable is `kubectl-endpoints`; on the `PATH`, kubectl finds it as `{USAGE}`. The commands `preflight` and\n\
             `simulate` also take all flags of endpoint-controller-manager ([flags.md](flags.md)).\n\n"
        );
        text += &(row(&["Command", "Purpose"]) + "|---|---|\n");
        for command in PROGRAM.subcommands {
            let name = format!("[`{0}`](#{0}-flags)", command.name);
            text += &row(&[&name, command.summary]);
        }
        text += "\n## Exit codes\n\n";
        text += &(row(&["Code", "Meaning"]) + "|---|---|\n");
        for (code, meaning) in TABLE {
            text += &row(&[&code.to_string(), meaning]);
        }
        for command in PROGRAM.subcommands {
            let takes_all = ["preflight", "simulate"].contains(&command.name);
            let others: &[&str] = if takes_all { &daemon } else { &[] };
            text += &flags(&format!("{} flags", command.name), &(command.command)(), others);
        }
        text
    }

    #[test]
    fn kubectl_endpoints_md_is_current() {
        let (path, generated) =
            (concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/kubectl-endpoints.md"), document());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == generated, "{path} is out of date; refresh it: {REFRESH}");
    }

    #[test]
    fn commands_are_well_formed() {
        PROGRAM.root().debug_assert();
    }
}
