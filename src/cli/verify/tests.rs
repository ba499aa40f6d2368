use super::*;

#[test]
fn a_budget_is_a_time_or_a_number() {
    assert_eq!(budget("50"), Ok(Budget::Mutants(50)));
    assert_eq!(budget("20m"), Ok(Budget::Time(Duration::from_secs(1200))));
    for wrong in ["0", "", "m", "-1", "1.5h", "20 m", "0s", "999999h"] {
        assert!(budget(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn no_document_closes_its_own_block() {
    let told = block("{ \"message\": \"````countersign\" }");
    assert!(told.starts_with("`````countersign\n"), "{told}");
    assert!(told.ends_with("\n`````\n"), "{told}");
    assert!(block("{}").starts_with("```countersign\n"));
}

/// A report with one of everything, by the words of the tests' own.
fn report(names: [&str; 2]) -> Report {
    use crate::domain::evidence::{
        Baseline, Finding, InconclusiveReason, Mutant, MutantStatus, Mutation, Severity, Statement,
        TestRun,
    };
    use crate::domain::model::{HeadSha, Oid};
    let mutant = |id: &str, line, status, by: &[&str]| Mutant {
        id: id.to_owned(),
        path: "src/start.rs".to_owned(),
        start_line: line,
        end_line: line + line % 2,
        kind: "revert_hunk".to_owned(),
        status,
        killed_by: by.iter().map(|&name| name.to_owned()).collect(),
        duration_s: Some(1.5),
    };
    let finding = |message: &str| Finding {
        severity: Severity::Blocking,
        path: Some("src/start.rs".to_owned()),
        line: Some(44),
        message: message.to_owned(),
    };
    let at = chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    Report {
        statement: Statement {
            subject_name: "acme/shop".to_owned(),
            head: HeadSha::parse(&"a".repeat(40)).unwrap(),
            result: Outcome::Rejected,
            reason: None::<InconclusiveReason>,
            base: None,
            context: "run 1".to_owned(),
            vendor: None,
            model: None,
            sandbox: None,
            tests: vec![TestRun {
                command: "cargo test".to_owned(),
                executed: 41,
                passed: 41,
                failed: 0,
                skipped: 2,
                exit_code: 0,
                against: Vec::new(),
                duration_s: None,
            }],
            mutation: Some(Mutation {
                tool: "countersign".to_owned(),
                baseline: Baseline {
                    executed: 41,
                    exit_code: 0,
                },
                mutants: vec![
                    mutant("m1", 41, MutantStatus::Killed, &[names[0], "another"]),
                    mutant("m2", 44, MutantStatus::Survived, &[]),
                    mutant("m3", 50, MutantStatus::Timeout, &[]),
                ],
                restored_tree: Oid::parse(&"b".repeat(40)).unwrap(),
            }),
            findings: vec![
                finding("`m2` (revert_hunk: the change undone) survived"),
                finding(
                    "whether src/start.rs:50 is tested is not shown: what was tried ran out of time",
                ),
            ],
            cost_usd: None,
        },
        times: (at, at),
        survivors: vec![verify::Survivor {
            id: "m2".to_owned(),
            place: "src/start.rs:44".to_owned(),
            what: "the change undone".to_owned(),
            diff: format!(
                "src/start.rs:44\n  fn start() {{\n-     count += 1;\n  }}{}",
                names[1]
            ),
        }],
        notes: vec![None, None, Some("the tests ran out of time".to_owned())],
        summary: "one mutant survived: no test notices it".to_owned(),
    }
}

#[test]
fn the_end_is_told_in_a_table_with_what_no_test_noticed() {
    insta::assert_snapshot!(show::table(&report(["starts_are_recorded", ""]), false));
}

#[test]
fn no_name_of_the_projects_moves_the_cursor() {
    let told = show::table(&report(["a\u{1b}[2Jb", "\u{1b}]0;x\u{7}"]), false);
    assert!(
        !told.contains('\u{1b}') && !told.contains('\u{7}'),
        "{told:?}"
    );
}
