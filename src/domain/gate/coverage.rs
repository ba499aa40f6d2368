//! What another tool's report must not be taken for.
//!
//! A run over one shard of several, or with filters, writes what a whole run of fewer mutants writes. So an
//! approval that rests on such a report is held against the changed lines, and every changed place that none
//! of its mutants shows to be tested is named in the document itself. That does not make it inconclusive:
//! shards may share the work, not every line can be mutated, and the gate asks about each critical hunk
//! anyhow.

use std::collections::BTreeSet;

use super::hunks::{Hunk, is_critical};
use crate::domain::evidence::{Finding, Mutant, MutantStatus, Severity};
use crate::domain::facts::FileChange;
use crate::domain::policy::MutationCheck;

/// The most places that are named one by one.
const NAMED: usize = 20;

/// A note on the changed places that these mutants do not show to be tested; `None` where they show all.
/// Only critical files of the kinds that were mutated are asked about: a test is no place that a test must
/// notice. Without the changes, that they were not looked at.
pub fn not_shown(
    mutants: &[Mutant],
    changed: Option<&[FileChange]>,
    check: &MutationCheck,
) -> Option<Finding> {
    let Some(changed) = changed else {
        return Some(note(
            "Which changed lines these mutants cover was not looked at, since no checkout says what changed. \
             The run may have been one shard of several."
                .to_owned(),
        ));
    };
    let kind = |path: &str| path.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    let kinds: BTreeSet<_> = mutants.iter().map(|mutant| kind(&mutant.path)).collect();
    let files = changed
        .iter()
        .filter(|file| is_critical(file, check) && kinds.contains(&kind(&file.path)));
    let hunks: Vec<Hunk<'_>> = files.flat_map(Hunk::all_of).collect();
    let killed = |mutant: &&Mutant| mutant.status == MutantStatus::Killed;
    let shown = |hunk: &Hunk<'_>| {
        let mut kills = mutants.iter().filter(killed);
        kills.any(|mutant| hunk.is_shown_by(mutant))
    };
    let open: Vec<_> = hunks.iter().filter(|hunk| !shown(hunk)).collect();
    let named: Vec<_> = open.iter().take(NAMED).map(|hunk| hunk.place()).collect();
    let more = match open.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!open.is_empty()).then(|| {
        note(format!(
            "{} of {} critical changed places are not shown to be tested: {}{more}. The run may have been one shard of \
             several, its filters may have left them out, or there is nothing in them to mutate.",
            open.len(),
            hunks.len(),
            named.join(", "),
        ))
    })
}

fn note(message: String) -> Finding {
    Finding {
        severity: Severity::Note,
        path: None,
        line: None,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::evidence::Mutant;
    use crate::domain::testing::{file, hunk, mutant};

    fn tried(path: &str, lines: (u64, u64), kind: &str, status: &str) -> Mutant {
        let mut tried = mutant("m1", lines.0, status);
        tried["path"] = path.into();
        tried["end_line"] = lines.1.into();
        tried["kind"] = kind.into();
        serde_json::from_value(tried).unwrap()
    }

    /// One line in each of two Rust files, and one in a text.
    fn changed() -> Vec<FileChange> {
        ["src/a.rs", "src/b.rs", "README.md"]
            .map(|path| file(path, vec![hunk(40, &["new"], &["old"])]))
            .to_vec()
    }

    fn all() -> MutationCheck {
        but(&["**/*.md"])
    }

    fn but(except: &[&str]) -> MutationCheck {
        use crate::domain::policy::globs::Globs;
        use crate::domain::policy::{MutationDemand, Timeouts};
        MutationCheck {
            critical: Globs::paths(&["**"]).unwrap(),
            except: Globs::paths(except).unwrap(),
            require: MutationDemand::EveryHunk,
            timeouts: Timeouts::Inconclusive,
            by: Vec::new(),
        }
    }

    #[test]
    fn a_changed_test_is_no_place_that_an_import_must_show_to_be_tested() {
        let one = [tried("src/a.rs", (40, 40), "BinaryOperator", "killed")];
        let mut changed = changed();
        changed[1].path = "tests/b.rs".to_owned();
        assert_eq!(
            not_shown(&one, Some(&changed), &but(&["**/tests/**"])),
            None
        );
        let told = not_shown(&one, Some(&changed), &all()).unwrap().message;
        assert!(told.contains("tested: tests/b.rs:40. "), "{told}");
    }

    /// B167, B173: one shard of two looks like a whole run of fewer mutants.
    #[test]
    fn a_shard_names_the_changed_places_that_it_does_not_show_to_be_tested() {
        let shard = [tried("src/a.rs", (40, 40), "BinaryOperator", "killed")];
        let told = not_shown(&shard, Some(&changed()), &all()).unwrap().message;
        assert!(
            told.starts_with(
                "1 of 2 critical changed places are not shown to be tested: src/b.rs:40. "
            ),
            "{told}"
        );
        let whole = ["src/a.rs", "src/b.rs"];
        let whole = whole.map(|path| tried(path, (40, 40), "BinaryOperator", "killed"));
        assert_eq!(not_shown(&whole, Some(&changed()), &all()), None);
    }

    #[test]
    fn a_whole_body_a_time_out_and_what_nobody_looked_at_show_nothing() {
        for (lines, status) in [((30, 50), "killed"), ((40, 40), "timeout")] {
            let one = [tried("src/a.rs", lines, "FnValue", status)];
            let told = not_shown(&one, Some(&changed()), &all()).unwrap().message;
            assert!(told.starts_with("2 of 2 critical changed places"), "{told}");
        }
        let one = [tried("src/a.rs", (40, 40), "FnValue", "killed")];
        let told = not_shown(&one, None, &all()).unwrap().message;
        assert!(told.contains("was not looked at"), "{told}");
    }
}
