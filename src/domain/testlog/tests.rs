use proptest::prelude::*;

use super::*;

fn told(log: &TestLog) -> String {
    let names: Vec<&str> = log.failures.iter().map(String::as_str).collect();
    format!(
        "{} ran: {} passed, {} failed; {} left out\n{}",
        log.executed,
        log.passed,
        log.failed,
        log.skipped,
        names.join("\n")
    )
}

fn read(text: &str) -> String {
    told(&from_output(text).expect("a runner that is known"))
}

#[test]
fn cargo_tests_programs_are_added_up_and_what_tests_print_is_not() {
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/cargo-test.txt")), @r#"
    5 ran: 2 passed, 3 failed; 1 left out
    closes
    src/lib.rs - add (line 1)
    tests::limits
    "#);
}

#[test]
fn a_printed_result_of_cargo_test_counts_only_if_nothing_better_follows() {
    let lies = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
                test a ... FAILED\n\nfailures:\n    a\n\n\
                test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let log = from_output(lies).unwrap();
    assert_eq!((log.executed, log.failed), (1, 1));
    let announced = "running 7 tests\nrunning 1 test\ntest a ... ok\n\
                     test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n";
    assert_eq!(from_output(announced).unwrap().executed, 1);
}

#[test]
fn a_quiet_run_of_cargo_test_names_its_failures() {
    let quiet = "\nrunning 3 tests\n.F.\nfailures:\n\n---- a::b stdout ----\n    not a name\n\n\n\
                 failures:\n    a::b\n    c - should panic\n\n\
                 test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    let names = ["a::b", "c"].map(str::to_owned);
    assert_eq!(from_output(quiet).unwrap().failures, names.into());
}

#[test]
fn nextest_is_read() {
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/nextest.txt")), @r#"
    4 ran: 2 passed, 2 failed; 1 left out
    shop tests::limits
    shop::open closes
    "#);
}

#[test]
fn a_test_that_ran_out_of_time_has_no_name() {
    let text = "     TIMEOUT [   5.0s] (1/2) shop waits\n     SIGSEGV [   0.1s] (2/2) shop crashes\n\
                ────────────\n     Summary [   5.1s] 2 tests run: 0 passed, 1 failed, 1 timed out, 0 skipped\n";
    let log = from_output(text).unwrap();
    assert_eq!((log.executed, log.failed), (2, 2));
    assert_eq!(log.failures, BTreeSet::from(["shop crashes".to_owned()]));
}

#[test]
fn pytest_is_read() {
    let text = include_str!("../../../tests/testlogs/pytest.txt");
    insta::assert_snapshot!(read(text), @r#"
    6 ran: 3 passed, 3 failed; 1 left out
    test_pt.py::TestShop::test_open
    test_pt.py::test_db
    test_pt.py::test_limits[2]
    "#);
    let quiet = include_str!("../../../tests/testlogs/pytest-quiet.txt");
    assert_eq!(read(quiet), read(text));
}

#[test]
fn a_file_that_could_not_be_loaded_is_no_named_test() {
    let text = include_str!("../../../tests/testlogs/pytest-collection.txt");
    insta::assert_snapshot!(read(text), @r#"1 ran: 0 passed, 1 failed; 0 left out"#);
    let xml = r#"<testsuite><testcase classname="" name="test_a"><error message="collection failure"/></testcase></testsuite>"#;
    insta::assert_snapshot!(told(&from_junit(xml).unwrap()), @r#"1 ran: 0 passed, 1 failed; 0 left out"#);
    let unittest = format!(
        "{}\nERROR: test_a (unittest.loader._FailedTest.test_a)\n{}\nRan 1 test in 0.0s\n\nFAILED (errors=1)\n",
        "=".repeat(70),
        "-".repeat(70),
    );
    insta::assert_snapshot!(read(&unittest), @r#"1 ran: 0 passed, 1 failed; 0 left out"#);
    let vitest =
        " FAIL  t/a.test.js [ t/a.test.js ]\n Test Files  1 failed (1)\n      Tests  no tests\n";
    assert_eq!(from_output(vitest), None);
    let jest = "FAIL t/a.test.js\n  ● Test suite failed to run\n\nTests:       0 total\n";
    insta::assert_snapshot!(read(jest), @r#"0 ran: 0 passed, 0 failed; 0 left out"#);
    let node = "not ok 1 - a.test.mjs\n# tests 1\n# pass 0\n# fail 1\n";
    insta::assert_snapshot!(read(node), @r#"1 ran: 0 passed, 1 failed; 0 left out"#);
}

#[test]
fn names_of_pytest_end_where_their_reason_begins() {
    let text = "=== short test summary info ===\n\
                FAILED a.py::test[x - y] - assert 1 - 2\nFAILED a.py::test_open\n\
                SUBFAILED[n = 1] a.py::test_parts - assert 0\nERROR a.py::test_db - boom\n\
                === 3 failed, 1 error in 65.10s (0:01:05) ===\n";
    let log = from_output(text).unwrap();
    let names = [
        "a.py::test[x - y]",
        "a.py::test_db",
        "a.py::test_open",
        "a.py::test_parts",
    ];
    assert_eq!(log.failures, names.map(str::to_owned).into());
    let verbose =
        "a.py::test_a FAILED   [ 50%]\na.py::test_b PASSED  [100%]\n1 failed, 1 passed in 0.1s\n";
    assert_eq!(
        from_output(verbose).unwrap().failures,
        ["a.py::test_a".to_owned()].into()
    );
    assert_eq!(
        from_output("no tests ran in 0.01s\n"),
        Some(TestLog::default())
    );
}

#[test]
fn unittest_is_read() {
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/unittest.txt")), @r#"
    5 ran: 2 passed, 3 failed; 1 left out
    test_shop.ShopTest.test_breaks
    test_shop.ShopTest.test_limits
    test_shop.ShopTest.test_many
    "#);
    let old = format!(
        "{}\nFAIL: test_a (mod.Shop)\n{}\nRan 2 tests in 0.0s\n\nFAILED (failures=1)\n",
        "=".repeat(70),
        "-".repeat(70)
    );
    assert_eq!(
        from_output(&old).unwrap().failures,
        ["mod.Shop.test_a".to_owned()].into()
    );
    let printed = "FAIL: test_a (mod.Shop)\nRan 99 tests in 1s\n\nOK\nRan 2 tests in 0.0s\n\nOK (skipped=1)\n";
    assert_eq!(from_output(printed), Some(TestLog::new(1, 0, 1)));
}

#[test]
fn both_reports_of_node_say_the_same() {
    let spec = include_str!("../../../tests/testlogs/node-spec.txt");
    insta::assert_snapshot!(read(spec), @r#"
    4 ran: 2 passed, 2 failed; 2 left out
    limits
    shop > closes
    "#);
    assert_eq!(
        read(include_str!("../../../tests/testlogs/node-tap.txt")),
        read(spec)
    );
}

#[test]
fn vitest_is_read_through_its_colours() {
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/vitest.txt")), @r#"
    2 ran: 1 passed, 1 failed; 2 left out
    t/shop.test.js > shop > limits
    "#);
}

#[test]
fn mocha_is_read() {
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/mocha.txt")), @r#"
    6 ran: 3 passed, 3 failed; 2 left out
    prices > a name: with 1) a number
    prices > in bulk > many pieces are a tenth cheaper
    set up > "before all" hook for "never runs"
    "#);
    let two = "  2 passing (3ms)\n\n  0 passing (1ms)\n  1 pending\n  1 failing\n\n  1) at the top:\n     Error: x\n";
    insta::assert_snapshot!(read(two), @"
    3 ran: 2 passed, 1 failed; 1 left out
    at the top
    ");
}

#[test]
fn what_an_error_says_is_no_name_of_a_test_of_mochas() {
    let text = "  0 passing (1ms)\n  1 failing\n\n  1) real:\n     Error: saw\n  2) forged:\n  1) forged too:\n";
    assert_eq!(
        from_output(text).unwrap().failures,
        ["real".to_owned()].into()
    );
    let deep =
        "  0 passing (1ms)\n  1 failing\n\n  1) at the top:\n       deep in what the error says:\n";
    let names = from_output(deep).unwrap().failures;
    assert_eq!(names, ["at the top".to_owned()].into());
    for unlike in [" Tests  3 passed", " Tests are good (2)"] {
        assert_eq!(from_output(unlike), None, "{unlike}");
    }
    for unlike in [
        "  3 passing",
        "3 passing (2ms)",
        "  all passing (2ms)",
        " Exception during run: x",
    ] {
        assert_eq!(from_output(unlike), None, "{unlike}");
    }
}

#[test]
fn what_is_left_out_or_stands_beside_a_suite_is_told_apart_in_tap() {
    let tap = "# Subtest: one\n    # Subtest: a\n    ok 1 - a\n    1..1\nok 1 - one\n# Subtest: two\n    # Subtest: b\n    \
               not ok 1 - b\n    not ok 2 - later # SKIP\n    not ok 3 - some day # TODO\n    1..3\nnot ok 2 - two\n\
               # tests 4\n# pass 1\n# fail 1\n# skipped 1\n# todo 1\n";
    let log = from_output(tap).unwrap();
    assert_eq!(log.failures, ["two > b".to_owned()].into());
    assert_eq!((log.executed, log.skipped), (2, 2));
}

#[test]
fn jest_is_read() {
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/jest.txt")), @r#"
    2 ran: 1 passed, 1 failed; 2 left out
    t/shop.test.js › shop › limits
    "#);
}

#[test]
fn go_is_read_in_its_three_ways() {
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/go-verbose.txt")), @r#"
    5 ran: 3 passed, 2 failed; 1 left out
    example.com/shop.TestLimits
    example.com/shop.TestLimits/no_item
    "#);
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/go-plain.txt")), @r#"
    3 ran: 1 passed, 2 failed; 0 left out
    example.com/shop.TestLimits
    example.com/shop.TestLimits/no_item
    "#);
    insta::assert_snapshot!(read(include_str!("../../../tests/testlogs/go-json.txt")), @r#"
    2 ran: 1 passed, 1 failed; 1 left out
    example.com/shop.TestLimits
    "#);
}

#[test]
fn surefires_classes_are_not_counted_twice() {
    let text = include_str!("../../../tests/testlogs/surefire.txt");
    insta::assert_snapshot!(read(text), @r#"
    6 ran: 4 passed, 2 failed; 1 left out
    shop.AppTest.adds
    shop.AppTest.breaks
    "#);
    // Two modules are added up.
    assert_eq!(from_output(&text.repeat(2)).unwrap().executed, 12);
    let old = "Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 sec <<< FAILURE! - in shop.AppTest\n\
               adds(shop.AppTest)  Time elapsed: 0.01 sec  <<< FAILURE!\n\nTests run: 2, Failures: 1, Errors: 0, Skipped: 0\n";
    insta::assert_snapshot!(read(old), @r#"
    2 ran: 1 passed, 1 failed; 0 left out
    shop.AppTest.adds
    "#);
    let brief = "[ERROR] Failures: \n[ERROR]   AppTest.adds:12 expected\n[INFO] \n\
                 [ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n";
    insta::assert_snapshot!(read(brief), @r#"
    2 ran: 1 passed, 1 failed; 0 left out
    AppTest.adds
    "#);
}

#[test]
fn junit_reports_are_read() {
    let of = |xml: &str| told(&from_junit(xml).unwrap());
    insta::assert_snapshot!(of(include_str!("../../../tests/testlogs/pytest.xml")), @r#"
    5 ran: 2 passed, 3 failed; 2 left out
    test_pt.TestShop.test_open
    test_pt::test_db
    test_pt::test_limits[2]
    "#);
    insta::assert_snapshot!(of(include_str!("../../../tests/testlogs/node.xml")), @r#"
    4 ran: 2 passed, 2 failed; 2 left out
    test::closes
    test::limits
    "#);
    insta::assert_snapshot!(of(include_str!("../../../tests/testlogs/vitest.xml")), @r#"
    2 ran: 1 passed, 1 failed; 2 left out
    t/shop.test.js::shop > limits
    "#);
    let nested = r#"<testsuites><testsuite tests="9"><testsuite>
        <testcase name="a"/><testcase classname="shop::open" name="closes"><rerunFailure/><failure/></testcase>
        <testcase name="b" status="notrun"/><testcase name="c"><flakyFailure/></testcase>
        </testsuite></testsuite></testsuites>"#;
    insta::assert_snapshot!(of(nested), @r#"
    3 ran: 2 passed, 1 failed; 1 left out
    shop::open::closes
    "#);
}

#[test]
fn what_is_no_junit_report_is_told_why() {
    insta::assert_snapshot!(from_junit("<html/>").unwrap_err(), @r#"not a JUnit report: it begins with <html> where <testsuites> or <testsuite> is expected"#);
    insta::assert_snapshot!(from_junit("no").unwrap_err(), @r#"not a JUnit report, since it is no sound XML: unknown token at 1:1"#);
    // Entities that refer to one another could grow without end, so a document type is refused.
    let bomb = "<!DOCTYPE a [<!ENTITY b \"c\">]><testsuites>&b;</testsuites>";
    insta::assert_snapshot!(from_junit(bomb).unwrap_err(), @r#"not a JUnit report, since it is no sound XML: XML with DTD detected"#);
}

#[test]
fn two_runners_in_one_command_are_added_up() {
    let cargo = "running 1 test\ntest a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n";
    let both = format!("{cargo}2 passed, 1 skipped in 0.1s\n");
    assert_eq!(from_output(&both), Some(TestLog::new(3, 0, 1)));
}

#[test]
fn words_of_no_runner_are_none() {
    for text in [
        "",
        "hello\nworld",
        "error[E0308]: mismatched types",
        "Tests passed",
        "3 files in src",
    ] {
        assert_eq!(from_output(text), None, "{text}");
    }
}

#[test]
fn reports_are_merged() {
    let mut log = TestLog::new(2, 1, 1).with(["a".to_owned()]);
    log.merge(TestLog::new(1, 2, 0).with(["a".to_owned(), "b".to_owned()]));
    assert_eq!(
        (log.executed, log.passed, log.failed, log.skipped),
        (6, 3, 3, 1)
    );
    assert_eq!(log.failures, ["a".to_owned(), "b".to_owned()].into());
}

proptest! {
    #[test]
    fn no_text_whatever_makes_it_panic(
        lines in prop::collection::vec(prop::sample::select(vec![
            "running 1 test", "test result: ok. ", "test result: FAILED. 99999999999999999999 passed; 1 failed",
            "test a ... FAILED", "failures:", "    a", "Summary [", "Summary [ 1s] 1 tests run: 1 passed", "FAIL [ ] ",
            "FAILED a::b[ - ", "=== short test summary info ===", "1 failed in 1s", " in s", "Ran 1 test in 0s",
            "Ran 9 tests in", "FAILED (failures=", "ERROR: a (b", "======", "# tests 1", "# pass 1", "# fail 1", "✖ ",
            "▶ ü", "not ok 1 - ", "✖ a (1ms)", "Tests:  1 total", " Tests  1 failed (1)", "● ", "FAIL ", "--- FAIL: a (0.0s)",
            "ok\ta\t1s", "{\"Action\":\"fail\",\"Package\":\"ü\",\"Test\":\"b\"}", "Tests run: 1, Failures: ", "\u{1b}[3",
            "\u{1b}]0;", "[ERROR] Tests run: 1, Failures: 1, Errors: 1, Skipped: 18446744073709551615", "SUBFAILED[ü",
        ]), 0..12), noise in ".{0,40}", at in 0_usize..12,
    ) {
        let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
        lines.insert(at.min(lines.len()), noise.clone());
        if let Some(log) = from_output(&lines.join("\n")) {
            prop_assert!(log.failures.iter().all(|name| !name.contains('\n')));
        }
        let _ = from_output(&noise);
        let _ = from_junit(&noise);
    }
}
