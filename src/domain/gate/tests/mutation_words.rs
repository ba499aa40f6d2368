//! What the mutation check says of the whole, in one sentence.

use serde_json::{Value, json};

use crate::domain::testing::*;

/// What is said of a change at lines 40 and 60 of which these mutants were tried.
fn said(mutants: &[Value]) -> String {
    let demand = only(r#"{ mutation_check: { critical: ["src/**"] } }"#);
    let document = mutated(approval("exec-1"), mutants);
    let mut snapshot = with_reports(vec![report(20, CODEX, &document)]);
    let two = vec![hunk(40, &["new"], &["old"]), hunk(60, &["more"], &[])];
    known(&mut snapshot.pull).changed_files = Some(1);
    known(&mut snapshot.comparison).files =
        crate::domain::facts::Listing::whole(vec![file("src/start.rs", two)]);
    gate(&under(&demand, snapshot), "mutation_check").reason
}

fn comments(id: &str, line: u64) -> Value {
    let mut mutant = mutant(id, line, "skipped");
    mutant["kind"] = json!("only_comments");
    mutant
}

#[test]
fn the_sentence_says_which_changes_a_test_notices_and_which_none_could() {
    let killed = |id: &str, line| mutant(id, line, "killed");
    insta::assert_snapshot!(said(&[killed("m1", 40), killed("m2", 60)]), @"For each of the 2 critical changes, a test fails when it is undone or broken.");
    insta::assert_snapshot!(said(&[comments("m1", 40), comments("m2", 60)]), @"All 2 critical changes hold nothing that a test could notice.");
    insta::assert_snapshot!(said(&[killed("m1", 40), comments("m2", 60)]), @"For each of the 2 critical changes, a test fails when it is undone or broken, or there is nothing in it that a test could notice.");
    insta::assert_snapshot!(said(&[killed("m1", 40)]), @"1 of 2 critical changes are not shown to be tested; whether src/start.rs:60 is tested is not shown: no mutant was tried there.");
}
