//! What is taken for comments or for tests alone, and so needs no test: a wrong "yes" is a hole.

use super::*;

fn is_comments(path: &str, before: &str, removed: &str, added: &str, after: &str) -> bool {
    let file = changed(path, before, removed, added, after);
    only_comments(&file, &only_hunk(&file))
}

fn is_tests(before: &str, removed: &str, added: &str, after: &str) -> bool {
    let file = changed("a.rs", before, removed, added, after);
    only_tests(&file, &only_hunk(&file))
}

/// Neither comments nor tests.
fn must_be_tested(path: &str, before: &str, removed: &str, added: &str, after: &str) {
    let file = changed(path, before, removed, added, after);
    let hunk = only_hunk(&file);
    let what = format!("{path}: {removed:?} -> {added:?}");
    assert!(!only_comments(&file, &hunk), "comments alone? {what}");
    assert!(!only_tests(&file, &hunk), "tests alone? {what}");
    assert!(!rounds(&file, &hunk).is_empty(), "nothing to try: {what}");
}

#[test]
fn a_comment_that_somebody_obeys_is_neither_a_comment_nor_a_test() {
    let go = "package pay\n\n";
    for (removed, added) in [
        ("//go:embed a\n", "//go:embed b\n"),
        ("//go:linkname a b\n", "//go:linkname a c\n"),
        ("//go:build linux\n", ""),
        ("", "// +build linux\n"),
        ("", "//  +build linux\n"),
        ("", "//+build linux\n"),
        ("//export Pay\n", "//export Paid\n"),
        ("//line a.go:1\n", "//line b.go:1\n"),
    ] {
        must_be_tested("a.go", go, removed, added, "var fee string\n");
    }
    for import in ["import \"C\"\n", "import (\n\t\"C\"\n)\n", "import `C`\n"] {
        must_be_tested("a.go", go, "// int a(void);\n", "// int b(void);\n", import);
    }
    must_be_tested(
        "a.jsx",
        "",
        "/** @jsx a */\n",
        "/** @jsx b */\n",
        "x = 1;\n",
    );
    let lazy = (
        "x = import(/* webpackIgnore: true */ y);\n",
        "x = import(/* no */ y);\n",
    );
    must_be_tested("a.js", "", lazy.0, lazy.1, "");
    must_be_tested("a.py", "", "#!/bin/a\n", "#!/bin/b\n", "x = 1\n");
    must_be_tested(
        "a.py",
        "",
        "# coding: utf-8\n",
        "# coding: utf-7\n",
        "x = 1\n",
    );
}

#[test]
fn a_blank_line_beside_a_comment_that_is_obeyed_is_no_mere_blank_line() {
    must_be_tested("a.go", "// +build linux\n", "\n", "", "package pay\n");
    must_be_tested("a.py", "\n", "\n", "", "# coding: utf-7\nx = 1\n");
    assert!(is_comments("a.go", "// Why.\n", "\n", "", "package pay\n"));
}

#[test]
fn comments_among_the_code_are_still_no_tests() {
    assert!(!is_tests("fn a() {}\n", "", "// Why.\n", "fn b() {}\n"));
    assert!(is_comments(
        "a.rs",
        "fn a() {}\n",
        "",
        "// Why.\n",
        "fn b() {}\n"
    ));
}

#[test]
fn code_in_a_comment_or_through_one_is_no_comment() {
    for (path, removed, added) in [
        ("a.c", "// b\n", "// b \\\n"),
        ("a.c", "// b\n", "// b ??/\n"),
        ("a.cc", "// b\n", "// b \\ \n"),
        ("a.c", "/* b */\n", "/* b *\\\n/ int z; /* */\n"),
        ("a.java", "// a\n", "// a \\u000a static int z;\n"),
        ("a.java", "/* a */\n", "/* \\u002a\\u002f int z; /* */\n"),
        ("a.js", "// a\n", "// a\u{2028}z = 1;\n"),
        ("a.py", "# a\n", "# a\rz = 1\n"),
        ("a.java", "// a\n", "// a\rint z;\n"),
        ("a.js", "// a\n", "<!-- a\n"),
    ] {
        must_be_tested(path, "int x;\n", removed, added, "int y;\n");
    }
    // Of two blanks one stays, of two signs comes another.
    must_be_tested("a.js", "", "z = a -/**/-b;\n", "z = a --b;\n", "");
}

#[test]
fn a_comment_that_takes_the_code_below_is_no_comment() {
    must_be_tested(
        "a.c",
        "",
        "/* a */\n",
        "/* a\n",
        "int x;\n/* b */\nint y;\n",
    );
    must_be_tested("a.js", "", "/* a */\n", "/* a\n", "x();\n/* b */\ny();\n");
    must_be_tested("a.js", "x();\n", "*/\n", "/* */\n", "y();\n");
}

#[test]
fn in_an_encoding_that_hides_code_no_comment_is_one() {
    let coded = |name: &str| {
        let first = format!("# -*- coding: {name} -*-\n");
        is_comments("a.py", &first, "# a\n", "# +AAo-z = 2\n", "x = 1\n")
    };
    assert!(!coded("utf-7") && !coded("shift_jis"));
    assert!(coded("utf-8") && coded("latin-1"));
    // The line below becomes the second one, and is read.
    let after = "# -*- coding: utf-7 -*-\nx = 1\n";
    must_be_tested("a.py", "# a\n", "# b\n", "", after);
}

#[test]
fn a_blank_line_within_a_text_or_behind_a_joined_line_is_no_blank_line() {
    must_be_tested("a.py", "H = \"\"\"a\n", "", "\n\n", "b\n\"\"\"\n");
    must_be_tested("a.rs", "const A: &str = \"a\n", "\n", "", "b\";\n");
    must_be_tested("a.go", "package a\nvar H = `a\n", "", "\n", "b`\n");
    must_be_tested("a.c", "#define A 1 \\\n", "", "\n", "+ 2\n");
    assert!(is_comments("a.py", "x = 1\n", "", "\n\n", "y = 2\n"));
}

#[test]
fn code_that_is_built_for_use_as_well_is_no_test() {
    for attribute in [
        "#[cfg(any(test, feature = \"pay\"))]",
        "#[cfg(any(test, unix))]",
        "#[cfg(any(test))]",
        "#[cfg(not(test))]",
        "#[cfg(all(not(test), unix))]",
        "#[cfg(all(any(test, unix), unix))]",
        "#[cfg(all(unix, feature = \"a,test,b\"))]",
        "#[cfg(all(unix, feature = r#\"\",test,\"\"#))]",
        "#[cfg(all(unix /*, test, */))]",
        "#[cfg_attr(test, derive(Debug))]",
        "#[case::test]",
        "#[test_case(1)]",
        "#[mine::rstest]",
        "#[allow(test)]",
    ] {
        let added = format!("{attribute}\nfn b() {{}}\n");
        assert!(!is_tests("fn a() {}\n", "", &added, ""), "{attribute}");
    }
    for attribute in [
        "#[cfg(test)]",
        "#[cfg( test )]",
        "#[cfg(all(unix, test))]",
        "#[cfg(all(feature = \"(\", all(test, unix)))]",
        "#[test]",
        "#[::core::prelude::v1::test]",
        "#[tokio::test(flavor = \"x\")]",
        "#[rstest]\n#[case(1)]",
    ] {
        let added = format!("{attribute}\nfn b() {{}}\n");
        assert!(is_tests("fn a() {}\n", "", &added, ""), "{attribute}");
    }
    assert!(is_tests("", "", "#![cfg(test)]\nfn b() {}\n", ""));
    assert!(!is_tests(
        "",
        "",
        "#![cfg(any(test, unix))]\nfn b() {}\n",
        ""
    ));
}

#[test]
fn code_that_a_change_makes_into_a_test_is_taken_away_and_no_test() {
    let pay = "fn pay() {}\n";
    must_be_tested("a.rs", "", "", "#[cfg(test)]\n", pay);
    must_be_tested("a.rs", "", "", "#![cfg(test)]\n", pay);
    must_be_tested("a.rs", "", "#[cfg(test)]\n", "", pay);
    assert!(is_tests(
        pay,
        "#[cfg(test)]\nfn a() {}\n",
        "#[cfg(test)]\nfn b() {}\n",
        ""
    ));
}
