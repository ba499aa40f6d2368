use super::*;

fn content(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

fn whole(file: &FileText) -> Mutant {
    let mut rounds = all(file);
    assert_eq!(rounds[0].len(), 1);
    rounds[0].remove(0)
}

#[test]
fn a_hunk_is_undone_with_the_line_ends_of_the_old_content() {
    let file = changed(
        "a.xyz",
        "one\r\n",
        "two\r\nthree\r\n",
        "TWO\r\n",
        "four\r\n",
    );
    assert_eq!(whole(&file).files[0].1, file.old);
    // The text of a patch has lost the line ends when the lines are told without them.
    let mut bare = file.clone();
    bare.change.hunks.as_mut().unwrap()[0].removed = vec!["two".into(), "three".into()];
    assert_eq!(whole(&bare).files[0].1, file.old);
    // Where the old content is not known the line end is the one the file uses.
    bare.old = None;
    assert_eq!(whole(&bare).files[0].1, file.old);
}

#[test]
fn a_missing_last_line_end_is_given_back_and_taken_away() {
    for (removed, added) in [
        ("a", "a\n"),
        ("a\n", "a"),
        ("a", "b\nc"),
        ("a\nb", "c"),
        ("", "c"),
    ] {
        let file = changed("a.xyz", "x\n", removed, added, "");
        assert_eq!(whole(&file).files[0].1, file.old, "{removed:?} {added:?}");
    }
    // A line without an end that comes to stand before another gets one.
    let file = changed("a.xyz", "", "aa = 1", "aa = 2\r\nbbbb\r\n", "");
    let line = of(&file, Kind::RevertLine);
    assert_eq!(line[0], "aa = 1\r\nbbbb\r\n");
}

#[test]
fn bytes_that_are_no_text_and_a_byte_order_mark_stay_as_they_are() {
    let old = b"\xef\xbb\xbfx = '\xff\xfe'\ny = '\xe9'\nz = 1\n".to_vec();
    let new = b"\xef\xbb\xbfx = '\xff\xfe'\ny = 2\nz = 1\n".to_vec();
    let mut change = file("a.py", vec![hunk(2, &["y = 2"], &["y = '\u{fffd}'"])]);
    change.kind = ChangeKind::Modified;
    let file = FileText {
        change,
        old: Some(old.clone()),
        new: Some(new),
    };
    assert_eq!(whole(&file).files[0].1, Some(old));
    let rounds = all(&file);
    let three = b"\xef\xbb\xbfx = '\xff\xfe'\ny = 3\nz = 1\n".to_vec();
    let number = rounds
        .last()
        .unwrap()
        .iter()
        .find(|it| it.kind == Kind::ChangeNumber);
    assert_eq!(number.unwrap().files[0].1, Some(three));
}

#[test]
fn a_repeated_line_is_found_where_the_hunks_before_it_say() {
    let old = "a\nx\r\nb\nx\nc\n";
    let hunks = vec![hunk(2, &["n", "n"], &["x"]), hunk(5, &[], &["x"])];
    let mut change = file("a.xyz", hunks.clone());
    change.hunks.as_mut().unwrap()[1].new_start = 4;
    let file = FileText {
        change: change.clone(),
        old: content(old),
        new: content("a\nn\nn\nb\nc\n"),
    };
    let second = &change.hunks.as_ref().unwrap()[1];
    let undone = rounds(&file, second)[0][0].files[0].1.clone();
    assert_eq!(undone, content("a\nn\nn\nb\nx\nc\n"));
    let first = rounds(&file, &hunks[0])[0][0].files[0].1.clone();
    assert_eq!(first, content("a\nx\r\nb\nc\n"));
}

#[test]
fn a_new_file_is_taken_away() {
    let mut file = added("a.rs", "fn a() {}\n");
    file.change.kind = ChangeKind::Added;
    file.old = None;
    assert_eq!(whole(&file).files, [("a.rs".to_owned(), None)]);
    assert_eq!(whole(&file).what, "the new file taken away");
}

#[test]
fn a_removed_file_is_restored() {
    let mut file = changed("a.rs", "", "fn a() {}", "", "");
    file.change.kind = ChangeKind::Removed;
    file.new = None;
    assert_eq!(all(&file).len(), 1);
    assert_eq!(
        whole(&file).files,
        [("a.rs".to_owned(), content("fn a() {}"))]
    );
    assert_eq!((whole(&file).start_line, whole(&file).end_line), (1, 1));
}

#[test]
fn a_file_that_was_moved_keeps_its_new_path_when_a_hunk_is_undone() {
    let mut file = changed("b.rs", "fn a() {}\n", "fn b() {}\n", "fn c() {}\n", "");
    file.change.kind = ChangeKind::Renamed;
    file.change.old_path = Some("a.rs".into());
    assert_eq!(whole(&file).files, [("b.rs".to_owned(), file.old.clone())]);
}

#[test]
fn a_file_that_was_only_moved_is_moved_back() {
    let mut file = changed("b.rs", "fn a() {}\n", "", "", "");
    file.change.kind = ChangeKind::Renamed;
    file.change.old_path = Some("a.rs".into());
    let moved = hunk(0, &[], &[]);
    let rounds = rounds(&file, &moved);
    assert_eq!(rounds.len(), 1);
    let mutant = &rounds[0][0];
    assert_eq!(mutant.what, "moved back to `a.rs`");
    let files = [
        ("b.rs".to_owned(), None),
        ("a.rs".to_owned(), file.old.clone()),
    ];
    assert_eq!(mutant.files, files);
}

#[test]
fn a_hunk_that_changes_nothing_has_no_rounds() {
    let file = changed("b.rs", "fn a() {}\n", "", "", "");
    assert!(rounds(&file, &hunk(0, &[], &[])).is_empty());
    let same = changed("b.rs", "", "fn a() {}\n", "fn a() {}\n", "");
    assert!(all(&same).is_empty());
}

#[test]
fn lines_that_are_alike_are_undone_one_by_one() {
    let file = changed(
        "a.xyz",
        "",
        "limit = one\nopen = two\ngone\n",
        "something new\nlimit = three\nopen = four\n",
        "",
    );
    let told = told(&file);
    insta::assert_snapshot!("replaced", told);
    let lines = of(&file, Kind::RevertLine);
    assert_eq!(lines[1], "something new\nlimit = one\nopen = four\n");
    assert_eq!(
        lines[3],
        "something new\nlimit = three\nopen = four\ngone\n"
    );
}

#[test]
fn statements_that_were_removed_are_put_back_one_by_one() {
    let file = changed(
        "a.rs",
        "fn a() {\n",
        "    // why\n    check(\n        1,\n    );\n    log();\n",
        "",
        "}\n",
    );
    insta::assert_snapshot!("removed", told(&file));
    let pieces = of(&file, Kind::RevertPiece);
    assert_eq!(
        pieces,
        ["fn a() {\n    // why\n    check(\n        1,\n    );\n}\n"]
    );
}

#[test]
fn lines_whose_undoing_is_no_program_are_left_out() {
    let file = changed("a.js", "a();\n", "", "if (b) {\n  c();\n}\n", "d();\n");
    let lines = of(&file, Kind::RevertLine);
    assert_eq!(lines, ["a();\nif (b) {\n}\nd();\n"]);
    let file = changed("a.py", "a()\n", "", "if b:\n    # why\n    c()\n", "d()\n");
    assert_eq!(of(&file, Kind::RevertLine), [""; 0]);
    assert_eq!(
        of(&file, Kind::DropStatement),
        ["a()\nif b:\n    # why\n    pass\nd()\n"]
    );
}

#[test]
fn a_whole_hunk_that_breaks_the_syntax_is_told() {
    let mut file = changed("a.js", "", "", "if (b) {\n", "  c();\n}\n");
    assert!(breaks_syntax(&file, &whole(&file)));
    file = changed("a.js", "c();\n", "", "d();\n", "");
    assert!(!breaks_syntax(&file, &whole(&file)));
    // The parser has no say in what it does not know, or did not understand before.
    file = changed("a.xyz", "", "", "if (b) {\n", "  c();\n}\n");
    assert!(!breaks_syntax(&file, &whole(&file)));
    file = changed("a.js", "}}} ", "", "if (b) {\n", "  c();\n}\n");
    assert!(!breaks_syntax(&file, &whole(&file)));
}

#[test]
fn where_the_parser_does_not_understand_the_lines_there_are_lines_alone() {
    let file = added("a.rs", "fn a( {\n    if x < 1 { b() }\n");
    let kinds: Vec<Kind> = all(&file)
        .concat()
        .iter()
        .map(|mutant| mutant.kind)
        .collect();
    assert_eq!(
        kinds,
        [Kind::RevertHunk, Kind::RevertLine, Kind::RevertLine]
    );
    // An error in another item does not matter.
    let file = changed("a.rs", "", "", "fn b() { if x < 1 { b() } }\n", "fn a( {\n");
    assert!(told(&file).contains("`<=` for `<`"));
}

#[test]
fn only_nodes_that_lie_wholly_in_the_added_lines_are_touched() {
    let file = changed(
        "a.rs",
        "fn a() -> bool {\n    x <\n",
        "",
        "        1 && y == 2\n",
        "}\n",
    );
    insta::assert_snapshot!("within", told(&file));
}

#[test]
fn text_of_several_bytes_a_letter_is_cut_between_letters() {
    let file = added(
        "a.py",
        "größe = 'ä < ö' if 長さ < 1 else f\"ß {größe == 1} ß\"  # ü == 1\n",
    );
    insta::assert_snapshot!("multibyte", told(&file));
    let swapped = of(&file, Kind::SwapComparison);
    assert_eq!(
        swapped,
        ["größe = 'ä < ö' if 長さ <= 1 else f\"ß {größe == 1} ß\"  # ü == 1\n"]
    );
}

#[test]
fn an_operator_keeps_line_ends_and_the_missing_last_one() {
    let file = added("a.py", "def f(x):\r\n    y = x\r\n    return x < 1");
    assert_eq!(
        of(&file, Kind::SwapComparison),
        ["def f(x):\r\n    y = x\r\n    return x <= 1"]
    );
    assert_eq!(
        of(&file, Kind::ReturnEarly),
        ["def f(x):\r\n    return None\r\n    y = x\r\n    return x < 1"]
    );
}

#[test]
fn numbers_change_as_they_are_written() {
    for (text, up, down) in [
        ("0", Some("1"), Some("1")),
        ("9", Some("10"), Some("8")),
        ("1_000_usize", Some("1001_usize"), Some("999_usize")),
        ("0xffu8", Some("0x100u8"), Some("0xfeu8")),
        ("0b101", Some("0b110"), Some("0b100")),
        ("1.5e3", Some("2.5e3"), Some("0.5e3")),
        ("10L", Some("11L"), Some("9L")),
        ("010", None, None),
        (".5", None, None),
        (
            "340282366920938463463374607431768211455",
            None,
            Some("340282366920938463463374607431768211454"),
        ),
    ] {
        assert_eq!(
            operators::changed_by_one(text, false).as_deref(),
            up,
            "{text}"
        );
        assert_eq!(
            operators::changed_by_one(text, true).as_deref(),
            down,
            "{text}"
        );
    }
}

#[test]
fn comments_and_blanks_alone_are_recognised() {
    let only = |path: &str, removed: &str, added: &str| {
        let file = changed(path, "x = 1;\n", removed, added, "y = 2;\n");
        only_comments(&file, &only_hunk(&file))
    };
    assert!(only("a.js", "", "// why\n\n"));
    assert!(only("a.js", "/* a\n   b */\n", ""));
    assert!(only("a.js", "z = 3; // a\n", "z = 3; // b\n\n"));
    assert!(only("a.js", "z = 3;  \n", "z = 3;\n"));
    assert!(!only("a.js", "z = 3;\n", "// z = 3;\n"));
    assert!(!only("a.js", "z = '// a';\n", "z = '// b';\n"));
    assert!(!only("a.js", "z = `a\n`;\n", "z = `a\n\n`;\n"));
    assert!(!only("a.js", "z = `a \n`;\n", "z = `a\n`;\n"));
    assert!(!only("a.js", "", "}} // why\n"));
    assert!(!only("a.xyz", "", "// why\n"));
    assert!(only("a.py", "# a\n", "# b\n"));
    assert!(!only("a.py", "z = 1\n", "  z = 1\n"));
    assert!(!only("a.py", "", "\"\"\"Why.\"\"\"\n"));
    assert!(!only("a.py", "", "# -*- coding: latin-1 -*-\n"));
    assert!(!only("a.go", "", "//go:noinline\n"));
    let nothing = changed("a.js", "x;\n", "", "", "");
    assert!(!only_comments(&nothing, &only_hunk(&nothing)));
}

#[test]
fn a_blank_line_within_a_text_is_no_blank_line() {
    let file = changed("a.js", "z = `a\n", "", "\n", "`;\n");
    assert!(!only_comments(&file, &only_hunk(&file)));
}

#[test]
fn comments_alone_have_no_finer_mutants() {
    let file = changed(
        "a.rs",
        "fn a() {}\n",
        "",
        "// 1 < 2\n\n/* true */\n",
        "fn b() {}\n",
    );
    assert_eq!(all(&file).len(), 1);
}

#[test]
fn a_huge_hunk_has_a_bounded_number_of_mutants_from_all_over_it() {
    let mut text = String::from("fn a() {\n");
    for line in 0..600 {
        writeln!(text, "    if a{line} < {line} {{ b({line}); }}").unwrap();
    }
    text.push_str("}\n");
    let rounds = all(&added("a.rs", &text));
    assert!(rounds.iter().all(|round| round.len() <= 200));
    let last = rounds.last().unwrap();
    assert_eq!(last.len(), 200);
    assert!(
        last.iter()
            .all(|mutant| mutant.kind == Kind::SwapComparison)
    );
    assert!(last.iter().any(|mutant| mutant.start_line > 590));
    assert!(last.iter().any(|mutant| mutant.start_line < 12));
}

#[test]
fn nesting_deeper_than_the_stack_is_no_danger() {
    let deep = format!("x = {}1{};\n", "(".repeat(20_000), ")".repeat(20_000));
    assert!(!all(&added("a.js", &deep)).is_empty());
}

#[test]
fn a_dropped_statement_is_not_tried_again_as_a_line() {
    let file = added("a.rs", "fn a() {\n    b();\n    c(); d();\n}\n");
    let dropped = of(&file, Kind::DropStatement);
    let kept: Vec<&str> = dropped
        .iter()
        .map(|text| text.lines().nth(2).unwrap())
        .collect();
    assert_eq!(kept, ["     d();", "    c(); "]);
}

const WITH_TESTS: &str = "fn a(x: u8) -> bool {\n    x < 1\n}\n\n#[cfg(test)]\nmod tests {\n    // Why.\n    \
    #[test]\n    fn b() {\n        set(2);\n        assert!(a(1) == true);\n    }\n}\n";

#[test]
fn tests_among_the_code_have_no_finer_mutants() {
    let file = added("a.rs", WITH_TESTS);
    let finer = all(&file).split_off(1).concat();
    assert!(!finer.is_empty());
    for mutant in finer {
        assert!(mutant.start_line <= 3, "{mutant:?}");
    }
}

#[test]
fn a_hunk_that_touches_tests_alone_is_recognised() {
    let (code, tests) = WITH_TESTS.split_once("\n\n").unwrap();
    let only = |before: &str, removed: &str, added: &str, after: &str| {
        let file = changed("a.rs", before, removed, added, after);
        only_tests(&file, &only_hunk(&file))
    };
    let code = format!("{code}\n");
    assert!(only(&code, "", &format!("\n{tests}"), ""));
    assert!(only(&code, &format!("\n{tests}"), "", ""));
    let (front, back) = tests.split_at(tests.find("        set(2);").unwrap());
    let (line, back) = back.split_at(back.find("        assert").unwrap());
    assert!(only(
        &format!("{code}{front}"),
        line,
        "        set(3);\n",
        back
    ));
    assert!(!only("", "", &format!("{code}{tests}"), ""));
    assert!(!only(&code, "", "// Why.\n", tests));
    assert!(!only("", "", &code, tests));
    for attribute in [
        "#[cfg(not(test))]",
        "#[cfg(feature = \"test\")]",
        "#[allow(test)]",
    ] {
        assert!(
            !only("", "", &format!("{attribute}\nfn b() {{}}\n"), &code),
            "{attribute}"
        );
    }
    for attribute in [
        "#[cfg(all(test, unix))]",
        "#[tokio::test(flavor = \"x\")]",
        "#[test]\n#[ignore]",
    ] {
        assert!(
            only("", "", &format!("{attribute}\nfn b() {{}}\n"), &code),
            "{attribute}"
        );
    }
}

#[test]
fn what_stands_in_a_macro_is_known_word_by_word() {
    let file = added(
        "a.rs",
        "fn a() {\n    ensure!(x.0 >= 1 && b::<u8>() == c && d < 2..3, \"1 < 2\");\n}\n",
    );
    insta::assert_snapshot!("macros", told(&file));
}
