//! Files that become critical by where they are moved.

use serde_json::{Value, json};

use crate::domain::facts::{ChangeKind, ChangedHunk, FileChange, Listing};
use crate::domain::testing::*;

const GATE: &str = "mutation_check";

/// What the gate says where `tests/guard.rs` was moved to `src/guard.rs`, and these mutants were tried there.
fn moved_in(hunks: Vec<ChangedHunk>, mutants: &[Value]) -> (&'static str, String) {
    let demand = only(r#"{ mutation_check: { critical: ["src/**"], except: ["**/*.md"] } }"#);
    let there = |mutant: &Value| {
        let mut mutant = mutant.clone();
        mutant["path"] = json!("src/guard.rs");
        mutant
    };
    let mutants: Vec<_> = mutants.iter().map(there).collect();
    let document = mutated(approval("exec-1"), &mutants);
    let mut snapshot = with_reports(vec![report(20, CODEX, &document)]);
    known(&mut snapshot.pull).changed_files = Some(1);
    known(&mut snapshot.comparison).files = Listing::whole(vec![FileChange {
        old_path: Some("tests/guard.rs".into()),
        kind: ChangeKind::Renamed,
        ..file("src/guard.rs", hunks)
    }]);
    let snapshot = under(&demand, snapshot);
    (state(&snapshot, GATE), told(&snapshot, GATE))
}

fn of_kind(kind: &str, status: &str, (start, end): (u64, u64)) -> Value {
    let mut mutant = mutant("m1", start, status);
    mutant["end_line"] = json!(end);
    mutant["kind"] = json!(kind);
    mutant
}

#[test]
fn code_that_is_moved_to_where_it_is_critical_is_as_new_as_code_that_never_was() {
    let few = || vec![hunk(3, &["x"], &["y"]), hunk(9, &["x"], &["y"])];
    for hunks in [Vec::new(), few()] {
        let (state, told) = moved_in(hunks.clone(), &[]);
        assert_eq!(state, "waiting", "{told}");
        assert!(
            told.contains("src/guard.rs (moved from tests/guard.rs)"),
            "{told}"
        );
        // Lines that did not change are new there as well.
        let killed = of_kind("negate_condition", "killed", (40, 40));
        assert_eq!(moved_in(hunks.clone(), &[killed]).0, "satisfied");
        let taken_away = of_kind("revert_hunk", "killed", (1, 60));
        assert_eq!(moved_in(hunks.clone(), &[taken_away]).0, "satisfied");
        let survived = of_kind("negate_condition", "survived", (40, 40));
        assert_eq!(moved_in(hunks, &[survived]).0, "failed");
    }
}

#[test]
fn only_a_word_about_all_of_a_moved_file_says_that_there_is_nothing_to_test() {
    let said = |kind: &str| moved_in(Vec::new(), &[of_kind(kind, "skipped", (1, 3))]).0;
    assert_eq!(said("only_comments"), "waiting");
    assert_eq!(said("only_tests"), "waiting");
    assert_eq!(said("nothing_to_test"), "satisfied");
}
