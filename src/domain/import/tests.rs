//! What each format comes to. The reports in `tests/reports` are real ones, shortened, but for PIT's,
//! which is written by hand in its form.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::domain::evidence::{parse, write};
use crate::domain::model::BaseRef;

const OUTCOMES: &str = include_str!("../../../tests/reports/cargo-mutants/outcomes.json");
const PLANNED: &str = include_str!("../../../tests/reports/cargo-mutants/mutants.json");
const CAUGHT_LOG: &str =
    include_str!("../../../tests/reports/cargo-mutants/log/src__lib.rs_line_5_col_5.log");
const STRYKER: &str = include_str!("../../../tests/reports/stryker.json");
const COSMIC_RAY: &str = include_str!("../../../tests/reports/cosmic-ray.jsonl");
const PIT: &str = include_str!("../../../tests/reports/pit.xml");
const MUTMUT_META: &str =
    include_str!("../../../tests/reports/mutmut/mutants/src/ages/__init__.py.meta");
const MUTMUT_MUTATED: &str =
    include_str!("../../../tests/reports/mutmut/mutants/src/ages/__init__.py");
const MUTMUT_ORIGINAL: &str = include_str!("../../../tests/reports/mutmut/src/ages/__init__.py");
const MUTMUT_STATS: &str = include_str!("../../../tests/reports/mutmut/mutants/mutmut-stats.json");

fn oid(digit: char) -> Oid {
    Oid::parse(&digit.to_string().repeat(40)).unwrap()
}

fn given() -> Given {
    Given {
        repo: RepoName::parse("acme/shop").unwrap(),
        head: oid('b').into(),
        base: EvidenceBase {
            name: BaseRef::parse("main").unwrap(),
            sha: oid('a'),
        },
        tree: oid('c'),
        context: "import-1".into(),
        vendor: None,
        model: None,
        baseline: (Some(3), Some(0)),
        test_command: None,
        files: None,
    }
}

fn no_log(_: &str) -> Option<String> {
    None
}

fn cargo(outcomes: &str) -> Result<Found, Refused> {
    cargo_mutants::read(outcomes, PLANNED, &no_log, "")
}

/// The real outcomes with something changed, and as many mutants planned as are left.
fn cargo_with(change: impl Fn(&mut Value)) -> Result<Statement, Refused> {
    let mut outcomes: Value = serde_json::from_str(OUTCOMES).unwrap();
    change(&mut outcomes);
    let tried = outcomes["outcomes"].as_array().unwrap();
    let tried = tried
        .iter()
        .filter(|one| one["scenario"] != "Baseline")
        .count();
    outcomes["total_mutants"] = json!(tried);
    let planned = json!(vec![json!({}); tried]).to_string();
    let found = cargo_mutants::read(&outcomes.to_string(), &planned, &no_log, "")?;
    conclude(&found, &given())
}

/// Every mutant with this outcome.
fn all_ended(summary: &'static str) -> Result<Statement, Refused> {
    cargo_with(|outcomes| {
        for outcome in outcomes["outcomes"].as_array_mut().unwrap() {
            if outcome["scenario"] != "Baseline" {
                outcome["summary"] = json!(summary);
            }
        }
    })
}

fn refusal(result: Result<Statement, Refused>) -> String {
    result.unwrap_err().0
}

fn statuses(found: &Found) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for mutant in &found.mutants {
        let place = format!("{}:{} {:?}", mutant.path, mutant.start_line, mutant.status);
        *counted.entry(place).or_default() += 1;
    }
    counted
}

fn counted(places: &[(&str, usize)]) -> BTreeMap<String, usize> {
    places
        .iter()
        .map(|(place, count)| ((*place).to_owned(), *count))
        .collect()
}

fn mutmut_module() -> mutmut::Module {
    mutmut::Module {
        path: "src/ages/__init__.py".into(),
        meta: MUTMUT_META.into(),
        mutated: MUTMUT_MUTATED.into(),
        original: MUTMUT_ORIGINAL.into(),
    }
}

fn mutmut_with(code: Value) -> Result<Found, Refused> {
    let mut meta: Value = serde_json::from_str(MUTMUT_META).unwrap();
    meta["exit_code_by_key"]["ages.x_is_adult__mutmut_1"] = code;
    let module = mutmut::Module {
        meta: meta.to_string(),
        ..mutmut_module()
    };
    mutmut::read(&[module], Some(MUTMUT_STATS), "")
}

fn stryker_with(change: impl Fn(&mut Value)) -> Result<Found, Refused> {
    let mut report: Value = serde_json::from_str(STRYKER).unwrap();
    change(&mut report);
    stryker::read(&report.to_string(), "")
}

fn pit_read(text: &str) -> Result<Found, Refused> {
    let sources = pit::Sources {
        root: "",
        below: None,
        files: None,
    };
    pit::read(text, sources)
}

#[test]
fn every_tool_finds_the_tested_line_tested_and_the_other_one_not() {
    let rust = cargo(OUTCOMES).unwrap();
    assert_eq!(
        statuses(&rust),
        counted(&[("src/lib.rs:5 Killed", 3), ("src/lib.rs:10 Survived", 5)])
    );
    let javascript = stryker::read(STRYKER, "").unwrap();
    assert_eq!(
        statuses(&javascript),
        counted(&[("ages.js:3 Killed", 5), ("ages.js:5 Survived", 5)])
    );
    let python = mutmut::read(&[mutmut_module()], Some(MUTMUT_STATS), "").unwrap();
    assert_eq!(
        statuses(&python),
        counted(&[
            ("src/ages/__init__.py:5 Killed", 2),
            ("src/ages/__init__.py:9 Survived", 2)
        ])
    );
    let cosmic = cosmic_ray::read(COSMIC_RAY, "").unwrap();
    let told = statuses(&cosmic);
    assert!(told["src/ages/__init__.py:5 Killed"] > 0, "{told:?}");
    assert!(told["src/ages/__init__.py:9 Survived"] > 0, "{told:?}");
    assert_eq!(told.len(), 2, "{told:?}");
    let java = pit_read(PIT).unwrap();
    assert_eq!(
        statuses(&java),
        counted(&[
            ("src/main/java/acme/Ages.java:5 Killed", 1),
            ("src/main/java/acme/Ages.java:5 Timeout", 1),
            ("src/main/java/acme/Ages.java:9 Survived", 1),
        ])
    );
}

#[test]
fn every_import_is_a_document_that_is_read_back_the_same() {
    let all = [
        cargo(OUTCOMES),
        stryker::read(STRYKER, ""),
        mutmut::read(&[mutmut_module()], Some(MUTMUT_STATS), ""),
        cosmic_ray::read(COSMIC_RAY, ""),
        pit_read(PIT),
    ];
    for found in all {
        let found = found.unwrap();
        let statement = conclude(&found, &given()).unwrap();
        let document = write::document(&statement, None).to_string();
        assert_eq!(parse::document(&document).unwrap(), statement);
        assert!(!found.cannot_tell.is_empty());
        for killed in found
            .mutants
            .iter()
            .filter(|m| m.status == MutantStatus::Killed)
        {
            assert!(!killed.killed_by.is_empty(), "{killed:?}");
        }
    }
}

#[test]
fn a_survivor_rejects_and_names_its_place() {
    let statement = conclude(&cargo(OUTCOMES).unwrap(), &given()).unwrap();
    assert_eq!(statement.result, Outcome::Rejected);
    assert_eq!(statement.findings[0].path.as_deref(), Some("src/lib.rs"));
    assert_eq!(statement.findings[0].line, Some(10));
}

#[test]
fn all_killed_by_failing_tests_after_a_passing_baseline_approves() {
    let killed = cargo_with(|outcomes| {
        let list = outcomes["outcomes"].as_array_mut().unwrap();
        list.retain(|outcome| outcome["summary"] != "MissedMutant");
    });
    let statement = killed.unwrap();
    assert_eq!(statement.result, Outcome::Approved);
    assert_eq!(statement.mutation.unwrap().baseline.executed, 3);
    assert_eq!(
        statement.tests[0].command,
        "cargo test --verbose --package=import-rust@0.0.0"
    );
}

/// B163: a green check whose log says that nothing was tested.
#[test]
fn a_run_without_any_mutant_is_refused_and_never_green() {
    let empty = cargo_with(|outcomes| {
        outcomes["outcomes"].as_array_mut().unwrap().truncate(1);
    });
    assert!(refusal(empty).contains("no mutant"));
    let no_files = stryker_with(|report| report["files"] = json!({})).unwrap();
    assert!(refusal(conclude(&no_files, &given())).contains("no mutant"));
    for found in [
        mutmut::read(&[], None, ""),
        cosmic_ray::read("\n", ""),
        pit_read("<mutations/>"),
    ] {
        assert!(refusal(conclude(&found.unwrap(), &given())).contains("no mutant"));
    }
}

/// B163 and B172: the unmutated tree fails, or runs out of time, and no mutant is tried.
#[test]
fn a_baseline_that_did_not_succeed_is_refused_by_name() {
    for (summary, words) in [
        ("Failure", "the tests fail without any mutant"),
        ("Timeout", "ran out of time without any mutant"),
        ("Fine", "is `Fine`, which is not known here"),
    ] {
        let told = refusal(cargo_with(|outcomes| {
            outcomes["outcomes"][0]["summary"] = json!(summary);
            outcomes["outcomes"].as_array_mut().unwrap().truncate(1);
        }));
        assert!(told.contains(words), "{told}");
    }
}

/// B170: `--baseline=skip`.
#[test]
fn a_baseline_that_was_skipped_is_refused() {
    let skipped = cargo_with(|outcomes| {
        outcomes["outcomes"].as_array_mut().unwrap().remove(0);
    });
    assert!(refusal(skipped).contains("no unmutated run"));
}

/// B165, B166 and B167.
#[test]
fn time_outs_are_no_kills_and_make_a_run_inconclusive_where_they_outnumber_them() {
    let statement = all_ended("Timeout").unwrap();
    assert_eq!(statement.result, Outcome::Inconclusive);
    assert_eq!(statement.reason, Some(InconclusiveReason::Timeout));
    assert!(
        statement
            .mutation
            .unwrap()
            .mutants
            .iter()
            .all(|m| m.killed_by.is_empty())
    );
    let timed_out = |count: usize| {
        let left = RefCell::new(count);
        stryker_with(|report| {
            for mutant in report["files"]["ages.js"]["mutants"]
                .as_array_mut()
                .unwrap()
            {
                let late = *left.borrow() > 0;
                mutant["status"] = json!(if late { "Timeout" } else { "Killed" });
                mutant["killedBy"] = json!(["0"]);
                *left.borrow_mut() -= usize::from(late);
            }
        })
    };
    let result = |count| {
        conclude(&timed_out(count).unwrap(), &given())
            .unwrap()
            .result
    };
    assert_eq!(result(5), Outcome::Approved);
    assert_eq!(result(6), Outcome::Inconclusive);
    let killed = timed_out(5).unwrap();
    let late = killed
        .mutants
        .iter()
        .filter(|m| m.status == MutantStatus::Timeout);
    assert!(late.clone().count() == 5 && late.clone().all(|m| m.killed_by.is_empty()));
}

/// B167: taking survivors away by letting them run out of time does not help the others.
#[test]
fn one_survivor_rejects_whatever_else_was_killed_or_ran_out_of_time() {
    let found = stryker_with(|report| {
        let mutants = report["files"]["ages.js"]["mutants"]
            .as_array_mut()
            .unwrap();
        for mutant in &mut mutants[1..] {
            mutant["status"] = json!("Timeout");
        }
        mutants[0]["status"] = json!("Survived");
    });
    assert_eq!(
        conclude(&found.unwrap(), &given()).unwrap().result,
        Outcome::Rejected
    );
}

/// B170: every mutant "unviable" means that the copy does not build.
#[test]
fn all_unviable_is_inconclusive() {
    let statement = all_ended("Unviable").unwrap();
    assert_eq!(statement.result, Outcome::Inconclusive);
    assert!(statement.findings[0].message.contains("Where none builds"));
}

/// B169: lines that no test reaches are lines that no test reaches, in every tool.
#[test]
fn what_no_test_reaches_has_survived() {
    let stryker = stryker_with(|report| {
        for mutant in report["files"]["ages.js"]["mutants"]
            .as_array_mut()
            .unwrap()
        {
            mutant["status"] = json!("NoCoverage");
        }
    });
    let not_reached = stryker.unwrap();
    assert!(
        not_reached
            .mutants
            .iter()
            .all(|m| m.status == MutantStatus::Survived)
    );
    let no_tests = mutmut_with(json!(33)).unwrap();
    assert_eq!(no_tests.mutants[0].status, MutantStatus::Survived);
}

/// B173: a job that was cancelled leaves a report of what it had.
#[test]
fn a_run_that_did_not_end_is_inconclusive_and_a_cut_file_is_refused() {
    let mut outcomes: Value = serde_json::from_str(OUTCOMES).unwrap();
    let list = outcomes["outcomes"].as_array_mut().unwrap();
    list.retain(|outcome| outcome["summary"] != "MissedMutant");
    outcomes["total_mutants"] = json!(3);
    let partial = cargo(&outcomes.to_string()).unwrap();
    assert_eq!(
        partial.unfinished.as_deref(),
        Some("5 of 8 mutants were not tried")
    );
    let statement = conclude(&partial, &given()).unwrap();
    assert_eq!(statement.result, Outcome::Inconclusive);
    assert_eq!(statement.reason, Some(InconclusiveReason::Other));

    let pending = stryker_with(|report| {
        let mutants = report["files"]["ages.js"]["mutants"]
            .as_array_mut()
            .unwrap();
        mutants.truncate(4);
        mutants[3]["status"] = json!("Pending");
    });
    let statement = conclude(&pending.unwrap(), &given()).unwrap();
    assert_eq!(statement.result, Outcome::Inconclusive);

    let half = |text: &str| text[..text.len() / 2].to_owned();
    for cut in [
        cargo(&half(OUTCOMES)),
        cargo_mutants::read(OUTCOMES, &half(PLANNED), &no_log, ""),
        stryker::read(&half(STRYKER), ""),
        cosmic_ray::read(&half(COSMIC_RAY), ""),
        pit_read(&half(PIT)),
        mutmut::read(&[mutmut_module()], Some(&half(MUTMUT_STATS)), ""),
    ] {
        let told = cut.unwrap_err().0;
        assert!(told.contains("may have been cut off"), "{told}");
    }
}

#[test]
fn files_of_two_runs_are_refused() {
    let mut outcomes: Value = serde_json::from_str(OUTCOMES).unwrap();
    outcomes["total_mutants"] = json!(9);
    let told = cargo(&outcomes.to_string()).unwrap_err().0;
    assert!(told.contains("are not of one run"), "{told}");
    assert!(cargo_mutants::read(OUTCOMES, "[]", &no_log, "").is_err());
}

/// B179: an exit code without a class of its own.
#[test]
fn mutmuts_exit_codes_are_told_by_number_and_unknown_ones_refused() {
    use MutantStatus::*;
    for (code, status) in [
        (json!(1), Killed),
        (json!(0), Survived),
        (json!(33), Survived),
        (json!(5), Survived),
        (json!(36), Timeout),
        (json!(35), Timeout),
        (json!(-11), Unviable),
        (json!(-9), Unviable),
        (json!(3), Unviable),
        (json!(37), Unviable),
        (json!(34), Skipped),
    ] {
        let found = mutmut_with(code.clone()).unwrap();
        assert_eq!(found.mutants[0].status, status, "{code}");
        assert_eq!(found.unfinished, None);
    }
    let told = mutmut_with(json!(4)).unwrap_err().0;
    assert!(
        told.contains("the exit code of `ages.x_is_adult__mutmut_1` is `4`"),
        "{told}"
    );
    for open in [Value::Null, json!(2)] {
        let found = mutmut_with(open).unwrap();
        assert!(found.unfinished.is_some());
        assert_eq!(
            conclude(&found, &given()).unwrap().result,
            Outcome::Rejected
        );
    }
}

#[test]
fn a_word_that_is_not_known_is_refused_in_every_format() {
    let stryker = stryker_with(|report| {
        report["files"]["ages.js"]["mutants"][0]["status"] = json!("Zombie");
    });
    let version = stryker_with(|report| report["schemaVersion"] = json!("3.0"));
    for told in [
        stryker,
        version,
        cosmic_ray::read(&COSMIC_RAY.replace("\"normal\"", "\"odd\""), ""),
        cosmic_ray::read(&COSMIC_RAY.replace("\"survived\"", "\"odd\""), ""),
        pit_read(&PIT.replace("NO_COVERAGE", "ODD")),
    ] {
        let told = told.unwrap_err().0;
        assert!(told.contains("might mean \"no\""), "{told}");
    }
    assert!(refusal(all_ended("Zombie")).contains("`Zombie`"));
}

/// B166: a kill is a test that failed.
#[test]
fn a_tool_that_calls_the_clock_or_a_crash_a_kill_is_not_followed() {
    let first = COSMIC_RAY
        .lines()
        .find(|line| line.contains("\"killed\""))
        .unwrap();
    let with_output = |output: &str| {
        let mut line: Value = serde_json::from_str(first).unwrap();
        line[1]["output"] = json!(output);
        cosmic_ray::read(&line.to_string(), "").unwrap().mutants[0].clone()
    };
    assert_eq!(with_output("timeout").status, MutantStatus::Timeout);
    assert_eq!(
        with_output("SyntaxError: no").status,
        MutantStatus::Unviable
    );
    let killed = cosmic_ray::read(first, "").unwrap().mutants[0].clone();
    assert_eq!(killed.status, MutantStatus::Killed);
    assert!(
        killed.killed_by[0].contains("test_eighteen_is_adult"),
        "{killed:?}"
    );

    for word in ["MEMORY_ERROR", "RUN_ERROR", "NON_VIABLE"] {
        let found = pit_read(&PIT.replace("'KILLED'", &format!("'{word}'"))).unwrap();
        assert_eq!(found.mutants[0].status, MutantStatus::Unviable);
    }
    let signalled = cargo_with(|outcomes| {
        for outcome in outcomes["outcomes"].as_array_mut().unwrap() {
            if outcome["summary"] == "CaughtMutant" {
                outcome["phase_results"][1]["process_status"] = json!({ "Signalled": 9 });
            }
        }
    });
    let mutation = signalled.unwrap().mutation.unwrap();
    assert!(
        mutation
            .mutants
            .iter()
            .all(|m| m.status != MutantStatus::Killed)
    );
}

/// B181 and B178: what is mutated must be there, and something must be.
#[test]
fn a_mutant_in_a_file_that_the_head_lacks_is_refused() {
    let mut given = given();
    given.files = Some(["lib.rs".to_owned()].into());
    let told = refusal(conclude(&cargo(OUTCOMES).unwrap(), &given));
    assert!(
        told.contains("`src/lib.rs`, which is no file of the head"),
        "{told}"
    );
    given.files = Some(["src/lib.rs".to_owned()].into());
    assert!(conclude(&cargo(OUTCOMES).unwrap(), &given).is_ok());
}

#[test]
fn a_format_without_a_baseline_does_not_get_one_made_up() {
    let found = stryker::read(STRYKER, "").unwrap();
    let with = |executed, code| {
        let mut given = given();
        given.baseline = (executed, code);
        conclude(&found, &given)
    };
    for said in [with(None, None), with(Some(3), None), with(None, Some(0))] {
        assert!(refusal(said).contains("--baseline-executed N --baseline-exit-code CODE"));
    }
    assert!(refusal(with(Some(3), Some(1))).contains("exit code 1"));
    assert!(refusal(with(Some(0), Some(0))).contains("executed no test"));
    assert!(with(Some(3), Some(0)).is_ok());
}

#[test]
fn a_baseline_that_passed_may_be_completed_and_not_contradicted() {
    assert_eq!(baseline(Unmutated::Passed(None), (Some(3), None)), Ok(3));
    assert!(baseline(Unmutated::Passed(None), (None, Some(0))).is_err());
    assert_eq!(baseline(Unmutated::Passed(Some(4)), (None, None)), Ok(4));
    assert!(baseline(Unmutated::Passed(Some(4)), (Some(5), None)).is_err());
    assert!(baseline(Unmutated::Passed(Some(0)), (None, None)).is_err());
}

#[test]
fn a_kill_bears_the_tests_that_the_log_names_or_else_what_is_known_to_have_happened() {
    let signature = "cargo test (exit code 101; the tool names no test)";
    let without = cargo(OUTCOMES).unwrap();
    assert_eq!(without.mutants[0].killed_by, [signature]);
    let log = |_: &str| Some(CAUGHT_LOG.to_owned());
    let with = cargo_mutants::read(OUTCOMES, PLANNED, &log, "").unwrap();
    let expected = match testlog::from_output(CAUGHT_LOG) {
        Some(log) if !log.failures.is_empty() => log.failures.into_iter().collect(),
        _ => vec![signature.to_owned()],
    };
    assert_eq!(with.mutants[0].killed_by, expected);
}

#[test]
fn stryker_names_tests_by_their_ids() {
    let found = stryker_with(|report| {
        report["testFiles"] =
            json!({ "a.test.js": { "tests": [{ "id": "7", "name": "adults" }] } });
        let mutants = &mut report["files"]["ages.js"]["mutants"];
        mutants[0]["killedBy"] = json!(["7", "8"]);
        mutants[1]["killedBy"] = json!([]);
    });
    let found = found.unwrap();
    assert_eq!(found.mutants[0].killed_by, ["adults", "test 8"]);
    assert_eq!(
        found.mutants[1].killed_by,
        Vec::<String>::new(),
        "killed by nobody stays so"
    );
}

#[test]
fn mutmut_names_the_one_test_that_reaches_the_function_and_says_when_there_are_several() {
    let found = mutmut::read(&[mutmut_module()], Some(MUTMUT_STATS), "").unwrap();
    assert_eq!(
        found.mutants[0].killed_by,
        ["tests/test_ages.py::test_eighteen_is_adult_and_seventeen_is_not"]
    );
    let two = MUTMUT_STATS.replacen("\"tests/", "\"tests/test_b.py::b\", \"tests/", 1);
    let found = mutmut::read(&[mutmut_module()], Some(&two), "").unwrap();
    assert!(found.mutants[0].killed_by[0].starts_with("one of tests/test_b.py::b, "));
}

/// B176: lines that are not the head's.
#[test]
fn mutmut_on_another_file_than_the_heads_is_refused() {
    let moved = mutmut::Module {
        original: MUTMUT_ORIGINAL.replace("age >= 18", "age >= 21"),
        ..mutmut_module()
    };
    let told = mutmut::read(&[moved], None, "").unwrap_err().0;
    assert!(told.contains("cannot be placed"), "{told}");
    let lower = mutmut::Module {
        original: format!("import os\n\n{MUTMUT_ORIGINAL}"),
        ..mutmut_module()
    };
    assert_eq!(
        mutmut::read(&[lower], None, "").unwrap().mutants[0].start_line,
        7
    );
}

#[test]
fn mutmut_places_methods_by_their_class() {
    let module = mutmut::Module {
        path: "m.py".into(),
        meta: json!({ "exit_code_by_key": { "m.xǁBǁf__mutmut_1": 1 } }).to_string(),
        mutated: "class B:\n    def xǁBǁf__mutmut_orig(\n        self,\n    ):\n        a = 1\n\n        return a\n\n    def xǁBǁf__mutmut_1(\n        self,\n    ):\n        a = 2\n\n        return a\n".into(),
        original: "class A:\n    def f(\n        self,\n    ):\n        a = 1\n\n        return a\n\n\nclass B:\n    def f(\n        self,\n    ):\n        a = 1\n\n        return a\n".into(),
    };
    let found = mutmut::read(&[module], None, "").unwrap();
    assert_eq!(
        (found.mutants[0].start_line, found.mutants[0].end_line),
        (14, 14)
    );
}

#[test]
fn paths_are_told_from_the_root_of_the_repository_and_never_leave_it() {
    assert_eq!(placed("", "./src/a.rs").unwrap(), "src/a.rs");
    assert_eq!(
        placed("packages/web/", "src\\a.ts").unwrap(),
        "packages/web/src/a.ts"
    );
    assert_eq!(
        placed("packages/web", "../core/a.ts").unwrap(),
        "packages/core/a.ts"
    );
    for path in ["../a.ts", "/etc/passwd", "C:\\a.ts", "", "a/../../b"] {
        assert!(placed("", path).is_err(), "{path}");
    }
    let absolute = stryker_with(|report| {
        let file = report["files"]["ages.js"].clone();
        report["files"] = json!({ "/project/lib/ages.js": file });
    });
    assert_eq!(absolute.unwrap().mutants[0].path, "lib/ages.js");
}

#[test]
fn pit_finds_the_folder_of_a_class_among_the_heads_files() {
    let files: BTreeSet<String> = ["core/src/jvm/acme/Ages.java".to_owned()].into();
    let two: BTreeSet<String> = files
        .iter()
        .cloned()
        .chain(["b/acme/Ages.java".to_owned()])
        .collect();
    let read = |files, below| {
        pit::read(
            PIT,
            pit::Sources {
                root: "",
                below,
                files: Some(files),
            },
        )
    };
    assert_eq!(
        read(&files, None).unwrap().mutants[0].path,
        "core/src/jvm/acme/Ages.java"
    );
    assert!(read(&two, None).unwrap_err().0.contains("--source-root"));
    assert_eq!(
        read(&two, Some("b")).unwrap().mutants[0].path,
        "b/acme/Ages.java"
    );
}

#[test]
fn a_kill_that_names_no_test_approves_nothing() {
    let nobody = |killed_by: Value| {
        stryker_with(|report| {
            for mutant in report["files"]["ages.js"]["mutants"]
                .as_array_mut()
                .unwrap()
            {
                mutant["status"] = json!("Killed");
                mutant["killedBy"] = killed_by.clone();
            }
        })
        .and_then(|found| conclude(&found, &given()))
        .unwrap()
    };
    for killed_by in [json!([]), json!([" "]), json!(["\u{200b}"]), Value::Null] {
        let statement = nobody(killed_by);
        assert_eq!(statement.result, Outcome::Inconclusive);
        let told = &statement.findings[0].message;
        assert!(
            told.contains("10 bear no name of a test that failed"),
            "{told}"
        );
    }
    assert_eq!(nobody(json!(["0"])).result, Outcome::Approved);
    let pit = PIT
        .replace("SURVIVED", "KILLED")
        .replace("NO_COVERAGE", "KILLED");
    let pit = without(&pit, "<killingTest>", "</killingTest>");
    let statement = conclude(&pit_read(&pit).unwrap(), &given()).unwrap();
    assert_eq!(statement.result, Outcome::Inconclusive);
}

/// A text without what stands between two marks.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut parts = text.split(open);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once(close).map_or(part, |(_, rest)| rest)
    })
}

#[test]
fn a_test_run_that_ended_with_0_killed_nothing() {
    let statement = cargo_with(|outcomes| {
        for outcome in outcomes["outcomes"].as_array_mut().unwrap() {
            if outcome["scenario"] != "Baseline" {
                outcome["summary"] = json!("CaughtMutant");
                let phases = outcome["phase_results"].as_array_mut().unwrap();
                phases.last_mut().unwrap()["process_status"] = json!({ "Failure": 0 });
            }
        }
    });
    assert_eq!(statement.unwrap().result, Outcome::Inconclusive);
}

#[test]
fn a_file_that_stands_twice_in_a_report_hides_no_survivor() {
    let twice = STRYKER.replacen("\"files\":", "\"files\": {}, \"files\":", 1);
    assert_ne!(twice, STRYKER);
    let hidden = json!({"schemaVersion": "1", "files": {}}).to_string();
    let hidden = hidden.replacen(
        "\"files\":{}",
        "\"files\":{\"a.js\":{\"mutants\":[]},\"a.js\":{\"mutants\":[]}}",
        1,
    );
    for text in [twice, hidden] {
        let told = stryker::read(&text, "").unwrap_err().0;
        assert!(told.contains("stands twice"), "{told}");
    }
}
