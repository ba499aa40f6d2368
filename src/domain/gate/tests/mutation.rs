//! What shows that critical changed lines are tested, and what only seems to.

use serde_json::{Value, json};

use crate::domain::facts::*;
use crate::domain::testing::*;
use crate::domain::verdict::Move;

const GATE: &str = "mutation_check";

fn under_demand(demand: &str) -> String {
    let extra = if demand.is_empty() {
        String::new()
    } else {
        format!(", {demand}")
    };
    only(&format!(
        r#"{{ mutation_check: {{ critical: ["src/**"], except: ["**/*.md"]{extra} }} }}"#
    ))
}

/// The good change, and one report of codex with these mutants.
fn tried(mutants: &[Value]) -> Snapshot {
    let document = mutated(approval("exec-1"), mutants);
    under(
        &under_demand(""),
        with_reports(vec![report(20, CODEX, &document)]),
    )
}

/// The same with one field of the mutation check replaced.
fn tried_with(field: &str, value: Value) -> Snapshot {
    let mut document = mutated(approval("exec-1"), &[mutant("m1", 40, "killed")]);
    document["predicate"]["mutation"][field] = value;
    under(
        &under_demand(""),
        with_reports(vec![report(20, CODEX, &document)]),
    )
}

/// These changed files, beside the report that killed a mutant at `src/start.rs:40`.
fn changing(files: Vec<FileChange>) -> Snapshot {
    let mut snapshot = tried(&[mutant("m1", 40, "killed")]);
    known(&mut snapshot.pull).changed_files = Some(files.len() as u64);
    known(&mut snapshot.comparison).files = Listing::whole(files);
    snapshot
}

fn in_file(path: &str, mut mutant: Value) -> Value {
    mutant["path"] = json!(path);
    mutant
}

#[test]
fn a_mutant_killed_in_every_critical_change_satisfies() {
    let snapshot = tried(&[mutant("m1", 40, "killed")]);
    assert_eq!(state(&snapshot, GATE), "satisfied");
    let result = gate(&snapshot, GATE);
    assert_eq!(result.details[0].gate, "src/start.rs:40");
}

#[test]
fn no_report_waits_for_a_verifier_and_names_the_place() {
    let snapshot = under(
        &under_demand("by: [codex, gemini]"),
        with_reports(Vec::new()),
    );
    let result = gate(&snapshot, GATE);
    assert!(
        result.reason.contains("src/start.rs:40"),
        "{}",
        result.reason
    );
    let names = vec!["codex".to_owned(), "gemini".to_owned()];
    assert_eq!(result.state.whose_move(), Move::Verifier(names));
}

#[test]
fn a_change_of_comments_alone_is_satisfied_by_the_word_of_who_read_the_language() {
    let remark = |mut lines: Value| {
        lines["kind"] = json!("only_comments");
        lines
    };
    let snapshot = tried(&[remark(mutant("m1", 40, "skipped"))]);
    assert_eq!(state(&snapshot, GATE), "satisfied");
    let told = gate(&snapshot, GATE);
    assert_eq!(
        told.reason,
        "The one critical change holds nothing that a test could notice."
    );
    assert_eq!(
        told.details[0].reason,
        "src/start.rs:40 holds nothing but comments."
    );

    let mut tests = mutant("m1", 40, "skipped");
    tests["kind"] = json!("only_tests");
    let told = gate(&tried(&[tests]), GATE);
    assert_eq!(
        told.details[0].reason,
        "src/start.rs:40 holds nothing but tests."
    );

    // Beside a kill it is not needed.
    let both = tried(&[
        remark(mutant("m1", 40, "skipped")),
        mutant("m2", 40, "killed"),
    ]);
    let reason = &gate(&both, GATE).details[0].reason;
    assert_eq!(
        reason,
        "A test fails when src/start.rs:40 is undone or broken."
    );

    // Elsewhere, in another status, or beside a survivor it proves nothing.
    let elsewhere = tried(&[remark(mutant("m1", 41, "skipped"))]);
    assert_eq!(state(&elsewhere, GATE), "waiting");
    let unviable = tried(&[remark(mutant("m1", 40, "unviable"))]);
    assert_eq!(state(&unviable, GATE), "waiting");
    let skipped = tried(&[mutant("m1", 40, "skipped")]);
    assert_eq!(state(&skipped, GATE), "waiting");
    let survived = tried(&[
        remark(mutant("m1", 40, "skipped")),
        mutant("m2", 40, "survived"),
    ]);
    assert_eq!(state(&survived, GATE), "failed");
}

#[test]
fn a_survivor_fails_it_whatever_else_was_killed() {
    let killed = mutant("m1", 40, "killed");
    let survived = mutant("m2", 40, "survived");
    for mutants in [
        vec![killed.clone(), survived.clone()],
        vec![survived, killed],
    ] {
        let result = gate(&tried(&mutants), GATE);
        assert_eq!(result.state.word(), "failed");
        assert_eq!(result.state.whose_move(), Move::Author);
        assert!(
            result
                .reason
                .contains("`m2` (revert_hunk) survived at src/start.rs:40")
        );
    }
}

#[test]
fn another_verifiers_kill_does_not_make_up_for_a_survivor() {
    let mut snapshot = tried(&[mutant("m1", 40, "killed")]);
    let survived = mutated(approval("g"), &[mutant("m1", 40, "survived")]);
    items(&mut snapshot.runs).push(report(19, GEMINI, &survived));
    assert_eq!(state(&snapshot, GATE), "failed");
}

#[test]
fn what_was_not_killed_by_a_named_test_proves_nothing() {
    for (status, words) in [
        ("timeout", "ran out of time"),
        ("unviable", "did not build"),
        ("skipped", "were skipped"),
    ] {
        let all = [mutant("m1", 40, status), mutant("m2", 40, status)];
        let told = told(&tried(&all), GATE);
        assert!(told.starts_with("mutation_check waiting"), "{told}");
        assert!(told.contains(words), "{told}");
    }
    let unseen = [
        "",
        "  ",
        "\u{200b}",
        "\u{3164}",
        "\u{2800}",
        " \u{2060}\u{feff}",
        "\u{0}",
    ];
    for by in [json!([]), json!(unseen)] {
        let mut nobody = mutant("m1", 40, "killed");
        nobody["killed_by"] = by;
        assert_eq!(state(&tried(&[nobody]), GATE), "waiting");
    }
}

#[test]
fn time_outs_are_kills_only_where_the_policy_says_so() {
    let timed_out = tried(&[mutant("m1", 40, "timeout")]);
    assert_eq!(state(&timed_out, GATE), "waiting");
    let lax = under(&under_demand("timeouts: killed"), timed_out);
    assert_eq!(state(&lax, GATE), "satisfied");
}

#[test]
fn more_time_outs_never_help() {
    let mut mutants = vec![mutant("m0", 40, "survived")];
    for i in 1..30 {
        mutants.push(mutant(&format!("m{i}"), 40, "timeout"));
        assert_eq!(state(&tried(&mutants), GATE), "failed");
    }
}

/// B169: attribution broke in a later run; fewer lines were reached, though tests were added, and the total did
/// not change. No score is compared: what the latest run does not show is open, whatever an earlier one showed.
#[test]
fn a_later_run_that_shows_less_is_never_helped_by_an_earlier_one_or_by_kills_elsewhere() {
    let run = |id, mutants: &[Value]| report(id, CODEX, &mutated(approval("exec-1"), mutants));
    let good = || run(20, &[mutant("m1", 40, "killed")]);
    let mut lost = vec![mutant("m1", 40, "timeout")];
    let elsewhere = |i: u64| in_file("src/other.rs", mutant(&format!("k{i}"), i + 2, "killed"));
    lost.extend((0..99).map(elsewhere));
    let unreached = vec![mutant("m1", 40, "survived")];
    for (later, expected) in [(lost, "waiting"), (unreached, "failed")] {
        for order in [[good(), run(21, &later)], [run(21, &later), good()]] {
            let snapshot = under(&under_demand(""), with_reports(order.to_vec()));
            assert_eq!(state(&snapshot, GATE), expected);
        }
    }
    let grown = [mutant("m1", 40, "killed"), mutant("m2", 40, "timeout")];
    let both = with_reports(vec![good(), run(21, &grown)]);
    assert_eq!(state(&under(&under_demand(""), both), GATE), "satisfied");
}

#[test]
fn an_unmutated_run_that_failed_or_ran_nothing_proves_nothing() {
    let failed = json!({ "executed": 12, "exit_code": 101 });
    let nothing = json!({ "executed": 0, "exit_code": 0 });
    for (baseline, words) in [
        (failed, "the unmutated run failed"),
        (nothing, "executed no test"),
    ] {
        let snapshot = tried_with("baseline", baseline);
        assert_eq!(state(&snapshot, GATE), "waiting");
        assert!(told(&snapshot, GATE).contains(words));
    }
    assert_eq!(state(&tried_with("baseline", Value::Null), GATE), "waiting");
}

#[test]
fn a_tree_that_is_not_the_heads_proves_nothing() {
    let snapshot = tried_with("restored_tree", json!(oid('9').as_str()));
    assert_eq!(state(&snapshot, GATE), "waiting");
    assert!(told(&snapshot, GATE).contains("the tree it restored is 9999999"));
    let mut unknown = tried(&[mutant("m1", 40, "killed")]);
    known(&mut unknown.comparison).commits.items.clear();
    assert_eq!(state(&unknown, GATE), "waiting");
}

#[test]
fn a_mutation_check_without_mutants_proves_nothing() {
    assert_eq!(state(&tried(&[]), GATE), "waiting");
    assert_eq!(
        state(
            &tried(&[mutant("m1", 39, "killed"), mutant("m2", 41, "killed")]),
            GATE
        ),
        "waiting"
    );
    let elsewhere = in_file("src/other.rs", mutant("m1", 40, "killed"));
    assert_eq!(state(&tried(&[elsewhere]), GATE), "waiting");
}

#[test]
fn a_partial_check_leaves_the_rest_open_and_counts_it() {
    let two = vec![hunk(40, &["new"], &["old"]), hunk(60, &["more"], &[])];
    let snapshot = changing(vec![file("src/start.rs", two)]);
    let told = told(&snapshot, GATE);
    assert!(
        told.starts_with("mutation_check waiting: 1 of 2 critical changes"),
        "{told}"
    );
    assert!(told.contains("src/start.rs:60"), "{told}");
}

#[test]
fn two_verifiers_may_share_the_work() {
    let two = vec![hunk(40, &["new"], &["old"]), hunk(60, &["more"], &[])];
    let mut snapshot = changing(vec![file("src/start.rs", two)]);
    let other = mutated(approval("g"), &[mutant("m1", 60, "killed")]);
    items(&mut snapshot.runs).push(report(21, GEMINI, &other));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn an_inconclusive_report_proves_nothing_and_a_rejection_still_ran_its_mutants() {
    let mut document = mutated(approval("exec-1"), &[mutant("m1", 40, "killed")]);
    document["predicate"]["result"] = json!("rejected");
    let policy = under_demand("");
    let rejected = under(&policy, with_reports(vec![report(20, CODEX, &document)]));
    assert_eq!(state(&rejected, GATE), "satisfied");
    document["predicate"]["result"] = json!("inconclusive");
    document["predicate"]["reason"] = json!("timeout");
    let inconclusive = under(&policy, with_reports(vec![report(20, CODEX, &document)]));
    assert_eq!(state(&inconclusive, GATE), "waiting");
}

#[test]
fn only_those_the_policy_names_bring_mutation_evidence() {
    let snapshot = under(
        &under_demand("by: [gemini]"),
        tried(&[mutant("m1", 40, "killed")]),
    );
    assert_eq!(state(&snapshot, GATE), "waiting");
    assert!(told(&snapshot, GATE).contains("does not take mutation evidence from it"));
}

#[test]
fn lines_that_were_only_removed_need_a_mutant_at_the_gap() {
    let gap = |line| {
        let mut snapshot = changing(vec![file("src/start.rs", vec![hunk(39, &[], &["guard"])])]);
        let document = mutated(approval("exec-2"), &[mutant("m1", line, "killed")]);
        items(&mut snapshot.runs).push(report(30, CODEX, &document));
        state(&snapshot, GATE)
    };
    assert_eq!(
        [38, 39, 40, 41].map(gap),
        ["waiting", "satisfied", "satisfied", "waiting"]
    );
}

#[test]
fn a_broken_line_beside_a_gap_does_not_show_that_the_removal_is_tested() {
    let beside = |kind: &str| {
        let mut snapshot = changing(vec![file("src/start.rs", vec![hunk(39, &[], &["guard"])])]);
        let mut tried = mutant("m1", 39, "killed");
        tried["kind"] = json!(kind);
        let document = mutated(approval("exec-2"), &[tried]);
        items(&mut snapshot.runs).push(report(30, CODEX, &document));
        snapshot
    };
    assert_eq!(state(&beside("revert_line"), GATE), "satisfied");
    let broken = beside("negate_condition");
    assert_eq!(state(&broken, GATE), "waiting");
    let told = told(&broken, GATE);
    assert!(
        told.contains("put back nothing of what was removed"),
        "{told}"
    );
}

/// Two changes, at 50-51 and at 60, and one mutant of these lines that was reported of them.
fn spanning(kind: &str, start: u64, end: u64, status: &str) -> Snapshot {
    let changes = vec![
        hunk(50, &["one", "two"], &["was"]),
        hunk(60, &["three"], &["was"]),
    ];
    let mut snapshot = changing(vec![file("src/start.rs", changes)]);
    let mut wide = mutant("m2", start, status);
    wide["end_line"] = json!(end);
    wide["kind"] = json!(kind);
    let document = mutated(approval("exec-2"), &[wide]);
    items(&mut snapshot.runs).push(report(30, CODEX, &document));
    snapshot
}

/// The state of the first change.
fn first_of(snapshot: &Snapshot) -> &'static str {
    gate(snapshot, GATE).details[0].state.word()
}

#[test]
fn a_kill_of_more_than_the_changed_lines_does_not_show_that_they_are_tested() {
    let spans = [(50, 51), (50, 50), (51, 51), (49, 51), (50, 52), (1, 99)];
    let states = spans.map(|(start, end)| first_of(&spanning("FnValue", start, end, "killed")));
    assert_eq!(
        states,
        [
            "satisfied",
            "satisfied",
            "satisfied",
            "waiting",
            "waiting",
            "waiting"
        ]
    );
    let told = told(&spanning("FnValue", 1, 99, "killed"), GATE);
    assert!(
        told.contains("may have been killed for other lines than these"),
        "{told}"
    );
    // What survives objects wherever it touches.
    let survived = spanning("FnValue", 1, 99, "survived");
    assert_eq!(state(&survived, GATE), "failed");
}

#[test]
fn undoing_one_change_shows_that_it_is_tested_however_many_lines_are_named_and_two_show_neither() {
    let spans = [(50, 51), (48, 53), (50, 50), (45, 59), (50, 60), (1, 99)];
    let states = spans.map(|(start, end)| first_of(&spanning("revert_hunk", start, end, "killed")));
    assert_eq!(
        states,
        [
            "satisfied",
            "satisfied",
            "satisfied",
            "satisfied",
            "waiting",
            "waiting"
        ]
    );
}

#[test]
fn a_kill_of_more_than_the_changed_lines_is_not_counted_where_kills_are_counted() {
    let mut wide = mutant("m1", 39, "killed");
    wide["end_line"] = json!(41);
    wide["kind"] = json!("FnValue");
    let document = mutated(approval("exec-1"), &[wide]);
    let demand = under_demand("require: { killed_at_least: 1 }");
    let snapshot = under(&demand, with_reports(vec![report(20, CODEX, &document)]));
    assert_eq!(state(&snapshot, GATE), "waiting");
}

#[test]
fn a_change_that_only_removes_comments_is_satisfied_by_the_word_of_who_read_the_language() {
    let removed = |line: u64, kind: &str| {
        let mut snapshot = changing(vec![file(
            "src/start.rs",
            vec![hunk(38, &[], &["// a remark"])],
        )]);
        let mut remark = mutant("m1", line, "skipped");
        remark["kind"] = json!(kind);
        let document = mutated(approval("exec-2"), &[remark]);
        items(&mut snapshot.runs).push(report(30, CODEX, &document));
        state(&snapshot, GATE)
    };
    assert_eq!(removed(38, "only_comments"), "satisfied");
    assert_eq!(removed(37, "only_comments"), "waiting");
    assert_eq!(removed(38, "revert_hunk"), "waiting");
    // A file that is gone is more than its comments.
    let mut gone = file("src/guard.rs", vec![hunk(0, &[], &["// a remark"])]);
    gone.kind = ChangeKind::Removed;
    let mut snapshot = changing(vec![gone]);
    let mut remark = in_file("src/guard.rs", mutant("m1", 1, "skipped"));
    remark["kind"] = json!("only_comments");
    let document = mutated(approval("exec-2"), &[remark]);
    items(&mut snapshot.runs).push(report(30, CODEX, &document));
    assert_eq!(state(&snapshot, GATE), "waiting");
}

#[test]
fn a_removed_critical_file_is_one_change_to_prove() {
    let mut gone = file("src/guard.rs", vec![hunk(0, &[], &["a", "b"])]);
    gone.kind = ChangeKind::Removed;
    let mut snapshot = changing(vec![gone]);
    assert_eq!(state(&snapshot, GATE), "waiting");
    assert!(told(&snapshot, GATE).contains("src/guard.rs (removed)"));
    let restored = in_file("src/guard.rs", mutant("m1", 1, "killed"));
    let document = mutated(approval("exec-2"), &[restored]);
    items(&mut snapshot.runs).push(report(30, CODEX, &document));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

fn renamed(from: &str, to: &str, hunks: Vec<ChangedHunk>) -> FileChange {
    FileChange {
        old_path: Some(from.into()),
        kind: ChangeKind::Renamed,
        ..file(to, hunks)
    }
}

#[test]
fn renaming_a_critical_file_takes_no_change_out_of_sight() {
    let changed = vec![hunk(3, &["x"], &["y"])];
    for (from, to) in [
        ("src/guard.rs", "lib/guard.rs"),
        ("lib/guard.rs", "src/guard.rs"),
    ] {
        let snapshot = changing(vec![renamed(from, to, changed.clone())]);
        assert_eq!(state(&snapshot, GATE), "waiting", "{from} {to}");
    }
}

#[test]
fn moving_a_critical_file_away_unchanged_is_a_change_to_prove() {
    let away = changing(vec![renamed("src/guard.rs", "docs/guard.txt", Vec::new())]);
    assert_eq!(state(&away, GATE), "waiting", "{}", told(&away, GATE));
    let mut moved_back = changing(vec![renamed("src/guard.rs", "docs/guard.txt", Vec::new())]);
    let back = in_file("docs/guard.txt", mutant("m1", 1, "killed"));
    let document = mutated(approval("exec-2"), &[back]);
    items(&mut moved_back.runs).push(report(30, CODEX, &document));
    assert_eq!(state(&moved_back, GATE), "satisfied");
    let within = changing(vec![renamed(
        "src/guard.rs",
        "src/core/guard.rs",
        Vec::new(),
    )]);
    assert_eq!(state(&within, GATE), "skipped");
}

#[test]
fn a_critical_file_whose_lines_are_not_shown_is_a_gap() {
    let mut binary = file("src/table.bin", Vec::new());
    binary.hunks = None;
    let snapshot = changing(vec![binary.clone()]);
    assert_eq!(state(&snapshot, GATE), "undetermined");
    assert!(told(&snapshot, GATE).contains("`src/table.bin`"));
    binary.path = "docs/table.bin".into();
    assert_eq!(state(&changing(vec![binary]), GATE), "skipped");
}

#[test]
fn a_list_of_files_that_is_cut_is_a_gap() {
    let mut cut = tried(&[mutant("m1", 40, "killed")]);
    known(&mut cut.comparison).files.complete = false;
    assert_eq!(state(&cut, GATE), "undetermined");
    let many = (0..3_000)
        .map(|i| file(&format!("docs/{i}.md"), Vec::new()))
        .collect();
    let mut large = changing(many);
    assert_eq!(state(&large, GATE), "skipped");
    known(&mut large.pull).changed_files = Some(3_001);
    assert_eq!(state(&large, GATE), "undetermined");
}

#[test]
fn a_comparison_of_another_head_or_base_is_a_gap() {
    let mut other_head = tried(&[mutant("m1", 40, "killed")]);
    known(&mut other_head.comparison).head = head('e');
    let mut other_base = tried(&[mutant("m1", 40, "killed")]);
    known(&mut other_base.base).tip = oid('e');
    for snapshot in [other_head, other_base] {
        assert_eq!(state(&snapshot, GATE), "undetermined");
    }
}

#[test]
fn changes_of_blanks_alone_ask_for_nothing_where_nobody_can_tell_them_from_texts() {
    let blank = changing(vec![file(
        "src/start.sh",
        vec![hunk(40, &["  "], &["", "\t"])],
    )]);
    assert_eq!(state(&blank, GATE), "skipped");
    let mut textless = hunk(50, &[], &[]);
    (textless.new_lines, textless.old_lines) = (3, 1);
    let unknown = changing(vec![file("src/start.sh", vec![textless])]);
    assert_eq!(state(&unknown, GATE), "waiting");
}

#[test]
fn a_blank_line_that_may_stand_within_a_text_waits_for_who_reads_the_file() {
    let blank = || vec![file("src/start.rs", vec![hunk(40, &[" "], &[])])];
    let elsewhere = vec![file("src/start.rs", vec![hunk(50, &[" "], &[])])];
    assert_eq!(state(&changing(elsewhere), GATE), "waiting");
    let judged = |kind: &str, status: &str| {
        let mut lines = mutant("m1", 40, status);
        lines["kind"] = json!(kind);
        lines["killed_by"] = json!([]);
        let mut snapshot = tried(&[lines]);
        known(&mut snapshot.pull).changed_files = Some(1);
        known(&mut snapshot.comparison).files = Listing::whole(blank());
        state(&snapshot, GATE)
    };
    assert_eq!(judged("only_comments", "skipped"), "satisfied");
    assert_eq!(judged("revert_hunk", "survived"), "failed");
}

#[test]
fn files_outside_the_critical_ones_skip_the_gate() {
    let docs = vec![
        file("README.md", vec![hunk(1, &["x"], &[])]),
        file("src/notes.md", vec![hunk(1, &["x"], &[])]),
    ];
    let snapshot = changing(docs);
    assert_eq!(state(&snapshot, GATE), "skipped");
}

#[test]
fn so_many_kills_may_be_asked_for_instead() {
    let demand = under_demand("require: { killed_at_least: 2 }");
    let killed = |ids: &[&str]| {
        let mutants: Vec<_> = ids.iter().map(|id| mutant(id, 40, "killed")).collect();
        under(&demand, tried(&mutants))
    };
    assert_eq!(state(&killed(&["m1"]), GATE), "waiting");
    assert!(told(&killed(&["m1"]), GATE).contains("1 of 2 mutants"));
    assert_eq!(state(&killed(&["m1", "m2"]), GATE), "satisfied");
    let mutants = [
        mutant("a", 40, "killed"),
        mutant("b", 40, "killed"),
        mutant("c", 40, "survived"),
    ];
    assert_eq!(state(&under(&demand, tried(&mutants)), GATE), "failed");
    let elsewhere = [mutant("a", 1, "killed"), mutant("b", 2, "killed")];
    assert_eq!(state(&under(&demand, tried(&elsewhere)), GATE), "waiting");
}
