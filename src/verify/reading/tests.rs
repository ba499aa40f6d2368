use std::time::Duration;

use super::*;

fn ran(end: End, output: &str) -> Ran {
    Ran {
        end,
        output: output.to_owned(),
        digest: "0123456789ab".to_owned(),
        took: Duration::ZERO,
    }
}

/// A run of a known runner: executed, failed (names and loads alike), names.
fn known(end: End, executed: u64, failed: u64, names: &[&str]) -> Tests {
    Tests {
        ran: ran(end, ""),
        log: Some(TestLog {
            executed,
            passed: executed - failed,
            failed,
            skipped: 0,
            failures: names.iter().map(|&name| name.to_owned()).collect(),
        }),
        reported: false,
        oddity: None,
    }
}

fn unknown(end: End, output: &str) -> Tests {
    Tests {
        ran: ran(end, output),
        log: None,
        reported: false,
        oddity: None,
    }
}

fn green() -> Tests {
    known(End::Code(0), 5, 0, &[])
}

fn status(tests: &Tests) -> MutantStatus {
    fate(&green(), tests, true).status
}

#[test]
fn a_kill_names_the_tests_that_failed() {
    let fate = fate(&green(), &known(End::Code(101), 5, 2, &["a", "b"]), true);
    assert_eq!(fate.status, MutantStatus::Killed);
    assert_eq!(fate.killed_by, ["a", "b"]);
}

#[test]
fn tests_that_all_pass_leave_a_survivor() {
    assert_eq!(status(&green()), MutantStatus::Survived);
}

/// B163: the exit code was lost in a pipe; neither a green head nor a kill nor a survivor is shown.
#[test]
fn failures_behind_an_exit_code_of_0_show_nothing_unless_a_report_tells_them() {
    let mut hidden = known(End::Code(0), 5, 1, &["a"]);
    assert_eq!(status(&hidden), MutantStatus::Unviable);
    assert!(matches!(health(&hidden), Health::Unclear(why) if why.contains("lost in a pipe")));
    hidden.reported = true;
    assert_eq!(status(&hidden), MutantStatus::Killed);
    assert_eq!(health(&hidden), Health::Red(vec!["a".to_owned()]));
}

/// B163: green, and nothing was tested.
#[test]
fn a_head_none_of_whose_tests_ran_is_not_green() {
    let none = known(End::Code(0), 0, 0, &[]);
    assert!(matches!(health(&none), Health::Unclear(why) if why.contains("no test")));
    assert_eq!(health(&green()), Health::Green);
}

/// B179: how many tests ran is looked at for each mutant.
#[test]
fn a_mutant_none_of_whose_tests_ran_neither_dies_nor_survives() {
    assert_eq!(
        status(&known(End::Code(0), 0, 0, &[])),
        MutantStatus::Unviable
    );
    assert_eq!(
        status(&known(End::Code(1), 0, 0, &[])),
        MutantStatus::Unviable
    );
    assert_eq!(status(&unknown(End::Code(0), "")), MutantStatus::Unviable);
    assert_eq!(
        status(&unknown(End::Code(101), "error: no")),
        MutantStatus::Unviable
    );
}

#[test]
fn a_file_that_cannot_be_loaded_is_no_kill() {
    assert_eq!(
        status(&known(End::Code(1), 5, 1, &[])),
        MutantStatus::Unviable
    );
    assert_eq!(
        status(&known(End::Code(0), 5, 1, &[])),
        MutantStatus::Unviable
    );
}

/// B179: an exit by a signal has its own meaning.
#[test]
fn a_test_program_that_crashes_is_a_kill_and_one_that_is_killed_from_outside_is_none() {
    let fate_of = |end, output| fate(&green(), &unknown(end, output), true);
    let crash = fate_of(End::Signal(11), "");
    assert_eq!(crash.status, MutantStatus::Killed);
    assert_eq!(crash.killed_by, ["ended by signal 11, output 0123456789ab"]);
    let under_a_runner =
        "process didn't exit successfully: `x` (signal: 11, SIGSEGV: invalid memory)";
    assert_eq!(
        fate_of(End::Code(101), under_a_runner).status,
        MutantStatus::Killed
    );
    let short_of_memory = fate_of(End::Signal(9), "");
    assert_eq!(short_of_memory.status, MutantStatus::Unviable);
    assert!(short_of_memory.note.unwrap().contains("signal 9"));
}

/// B165, B166.
#[test]
fn out_of_time_is_never_a_kill() {
    let timed_out = known(End::TimedOut, 5, 1, &["a"]);
    assert_eq!(status(&timed_out), MutantStatus::Timeout);
    assert_eq!(health(&timed_out), Health::TimedOut);
}

#[test]
fn where_no_runner_is_known_a_kill_is_told_by_exit_code_and_output() {
    let before = unknown(End::Code(0), "");
    let fate_of = |output, built| fate(&before, &unknown(End::Code(3), output), built);
    assert_eq!(
        fate_of("wrong sum", true).killed_by,
        ["exit code 3, output 0123456789ab"]
    );
    assert_eq!(fate_of("wrong sum", false).status, MutantStatus::Killed);
    let refused = "  File \"a.py\", line 1\nSyntaxError: invalid syntax";
    assert_eq!(fate_of(refused, false).status, MutantStatus::Unviable);
    assert_eq!(before.counted().executed, 1);
    assert_eq!(health(&before), Health::Green);
}

#[test]
fn a_command_that_is_not_there_is_no_failing_test() {
    let gone = unknown(End::Code(127), "sh: 1: x: not found");
    assert!(matches!(health(&gone), Health::Unclear(_)));
    assert_eq!(
        fate(&unknown(End::Code(0), ""), &gone, true).status,
        MutantStatus::Unviable
    );
}

#[test]
fn reports_of_an_earlier_run_are_taken_away_and_patterns_find_those_of_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path();
    let write = |path: &str| {
        let place = work.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, "<x/>").unwrap();
    };
    for path in [
        "one.xml",
        "a/target/r/T1.xml",
        "a/b/target/r/T2.xml",
        "a/target/r/no.txt",
    ] {
        write(path);
    }
    let reports = Reports::new(&["./one.xml".to_owned(), "**/target/r/*.xml".to_owned()]).unwrap();
    assert_eq!(reports.found(&Beneath::open(work).unwrap()).len(), 3);
    reports.clear(work);
    assert!(reports.found(&Beneath::open(work).unwrap()).is_empty());
    assert!(work.join("a/target/r/no.txt").exists());
    let tests = Tests::read(ran(End::Code(0), ""), &reports, work);
    assert!(matches!(health(&tests), Health::Unclear(why) if why.contains("no JUnit report")));
    write("one.xml");
    let tests = Tests::read(ran(End::Code(0), ""), &reports, work);
    assert!(tests.oddity.unwrap().starts_with("one.xml: "));
    assert!(Reports::new(&["[".to_owned()]).is_err());
}

/// What was not there while a file was loaded was missed by no test; what a test called was.
#[test]
fn without_a_build_a_file_that_does_not_load_is_no_kill() {
    let fails = |output: &str| {
        fate(
            &unknown(End::Code(0), ""),
            &unknown(End::Code(1), output),
            false,
        )
    };
    for output in [
        "check.sh: 3: ./src/pay.sh: Syntax error: end of file unexpected (expecting \"}\")",
        "./src/pay.sh: line 2: syntax error near unexpected token `('",
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    import pay\n  File \"pay.py\", line 2, in <module>\n    LIMIT = limit()\nNameError: name 'limit' is not defined",
        "ReferenceError: limit is not defined\n    at Object.<anonymous> (/w/pay.js:2:1)\n    at Module._compile (node:internal)",
        "pay.c:3:5: error: expected ';' before 'return'",
    ] {
        assert_eq!(fails(output).status, MutantStatus::Unviable, "{output}");
    }
    for output in [
        "Traceback (most recent call last):\n  File \"t.py\", line 9, in <module>\n    main()\n  File \"t.py\", line 4, in main\n    limit()\nNameError: name 'limit' is not defined",
        "ReferenceError: limit is not defined\n    at main (/w/t.js:2:1)\n    at Object.<anonymous> (/w/t.js:4:1)",
        "sum is wrong",
    ] {
        assert_eq!(fails(output).status, MutantStatus::Killed, "{output}");
    }
}
