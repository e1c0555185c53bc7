//! `--controllers` of kube-controller-manager: its values on a command line, and the values that disable or enable
//! controllers.

use crate::controllers::{self, Controller};

/// The flag as a command line gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlagValue {
    /// All entries, in order; `*` if the flag is not given.
    pub(super) entries: Vec<String>,
    pub(super) form: Form,
}

/// The form of the flag, which decides whether a command can edit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Absent,
    /// `--controllers=VALUE`, once.
    Equals,
    /// Several times, or with the value as a word of its own.
    Other,
}

const FLAG: &str = "--controllers";

impl FlagValue {
    /// Reads the words of a command line.
    pub(super) fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut entries, mut form) = (Vec::new(), Form::Absent);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(rest) = word.strip_prefix(FLAG) else { continue };
            let value = match rest.strip_prefix('=') {
                Some(value) => value,
                None if rest.is_empty() => words.next().unwrap_or_default(),
                None => continue,
            };
            form = if form == Form::Absent && !rest.is_empty() { Form::Equals } else { Form::Other };
            entries.extend(value.split(',').map(str::to_owned));
        }
        if form == Form::Absent {
            entries.push("*".to_owned());
        }
        Self { entries, form }
    }

    /// True if a program with this value runs one of the controllers.
    pub(super) fn runs_any(&self, set: &[Controller]) -> bool {
        controllers::enabled(&self.entries).iter().any(|controller| set.contains(controller))
    }

    /// True if it runs all of them.
    pub(super) fn runs_all(&self, set: &[Controller]) -> bool {
        let enabled = controllers::enabled(&self.entries);
        set.iter().all(|controller| enabled.contains(controller))
    }

    /// The value without these controllers.
    pub(super) fn without(&self, set: &[Controller]) -> String {
        let disabled = set.iter().map(|controller| format!("-{}", controller.name()));
        self.others(set).into_iter().chain(disabled).collect::<Vec<_>>().join(",")
    }

    /// The value with these controllers.
    pub(super) fn with(&self, set: &[Controller]) -> String {
        let others = self.others(set);
        let by_star = others.iter().any(|entry| entry == "*");
        let named = set.iter().filter(|_| !by_star).map(|controller| controller.name().to_owned());
        others.iter().cloned().chain(named).collect::<Vec<_>>().join(",")
    }

    /// The entries that name none of these controllers.
    fn others(&self, set: &[Controller]) -> Vec<String> {
        let is_other = |entry: &&String| {
            controllers::of_entry(entry).is_none_or(|controller| !set.contains(&controller))
        };
        self.entries.iter().filter(is_other).filter(|entry| !entry.is_empty()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(line: &str) -> FlagValue {
        FlagValue::of(line.split(' '))
    }

    #[test]
    fn values_are_collected_as_upstream_collects_them() {
        for (line, entries, form) in [
            ("kube-controller-manager --v=2", "*", Form::Absent),
            ("x --controllers=*,bootstrapsigner", "*,bootstrapsigner", Form::Equals),
            ("x --controllers *,-a", "*,-a", Form::Other),
            ("x --controllers=* --controllers=-a", "*,-a", Form::Other),
            ("x --controllers-x=a", "*", Form::Absent),
            ("x --controllers=", "", Form::Equals),
            ("x --controllers", "", Form::Other),
        ] {
            let value = value(line);
            assert_eq!((value.entries.join(","), value.form), (entries.to_owned(), form), "{line}");
        }
    }

    #[test]
    fn the_value_of_kubeadm_keeps_the_controllers_that_joining_nodes_need() {
        let before = value("x --controllers=*,bootstrapsigner,tokencleaner");
        let three = Controller::ALL;
        assert!(before.runs_all(&three) && before.runs_any(&three));
        let after = before.without(&three);
        assert_eq!(
            after,
            "*,bootstrapsigner,tokencleaner,-endpoints-controller,-endpointslice-controller,\
             -endpointslice-mirroring-controller"
        );
        let changed = value(&format!("x --controllers={after}"));
        assert!(!changed.runs_any(&three));
        assert_eq!(changed.with(&three), "*,bootstrapsigner,tokencleaner");
    }

    #[test]
    fn there_and_back_is_a_value_that_runs_the_same() {
        for line in ["*", "endpoint,endpointslice,endpointslicemirroring,serviceaccount", "-deployment,*", ""]
        {
            for set in [&Controller::ALL[..], &[Controller::EndpointSliceMirroring]] {
                let without = value(&format!(
                    "x --controllers={}",
                    value(&format!("x --controllers={line}")).without(set)
                ));
                assert!(!without.runs_any(set), "{line}: {without:?}");
                let with = value(&format!("x --controllers={}", without.with(set)));
                assert!(with.runs_all(set), "{line}: {with:?}");
                let others = |value: &FlagValue| value.others(&Controller::ALL);
                assert_eq!(others(&with), others(&value(&format!("x --controllers={line}"))), "{line}");
            }
        }
    }
}
