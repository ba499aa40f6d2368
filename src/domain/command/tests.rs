use proptest::prelude::*;

use super::*;

/// The commands of a text, each as its word, `?` for one that is not well formed.
fn words(text: &str) -> Vec<String> {
    parse(text)
        .iter()
        .map(|said| {
            let word = match &said.what {
                Ok(command) => command.word().text().to_owned(),
                Err(Misuse::Form { word, .. }) => format!("{}?", word.text()),
                Err(Misuse::Unknown { typed, .. }) => format!("?{typed}"),
            };
            if said.short {
                word
            } else {
                format!("long {word}")
            }
        })
        .collect()
}

fn only(text: &str) -> Command {
    let mut said = parse(text);
    assert_eq!(said.len(), 1, "{text:?}");
    said.remove(0).what.unwrap()
}

#[test]
fn a_command_on_a_line_of_its_own_is_read_whatever_the_line_ends() {
    for text in [
        "/merge",
        "/merge\n",
        "/merge\r\n",
        "\u{feff}/merge\u{200b}",
        "  /merge  ",
        "\u{a0}/merge\u{a0}",
        "Looks good.\r\n/merge\r\n\r\nThanks!",
        "Looks good.\r/merge\rThanks!",
        "thanks\u{2028}/merge",
        "/MERGE",
    ] {
        assert_eq!(words(text), ["merge"], "{text:?}");
    }
    assert_eq!(words("/countersign merge"), ["long merge"]);
    assert_eq!(words("/Countersign   Merge \r\n"), ["long merge"]);
}

#[test]
fn talking_about_a_command_does_not_run_it() {
    for text in [
        "> /merge\n\nthanks",
        "> quoted\n/merge",
        "`/merge`",
        "```\n/merge\n```",
        "~~~\n/merge\n~~~",
        "````\n```\n/merge\n```\n````",
        "```\n/merge",
        "    /merge",
        "\t/merge",
        "- /merge",
        "1. /merge",
        "- one\n\n  /merge",
        "* [ ] /merge",
        "# /merge",
        "/merge\n======",
        "| a |\n|---|\n| /merge |",
        "<!-- /merge -->",
        "<!--\n/merge\n-->",
        "<!-- a\n\n/merge\n\n-->",
        "<details>\n/merge\n</details>",
        "<details><summary>x</summary>\n\n/merge\n\n</details>",
        "<pre>\n/merge\n</pre>",
        "**/merge**",
        "*some\n/merge*",
        "[/merge](https://example.com)",
        "[a\n/merge](https://example.com)",
        "\\/merge",
        "&#47;merge",
        "Please say /merge",
        "please /merge this",
        "[^1]: /merge",
        "x[^1]\n\n[^1]: a\n\n    /merge",
        "$$\n/merge\n$$",
        "//merge",
        "/merge/",
        "/mergeit",
        "/usr/bin/merge",
        "<b>\n\n/merge",
        "<details>\n\n</p>\n\n/merge",
        "<details>\n<summary>\n\n</summary>\n\n/merge",
    ] {
        assert_eq!(words(text), [""; 0], "{text:?}");
    }
}

#[test]
fn what_a_mail_program_quotes_is_not_said_again() {
    let plain = "Fine.\n\nOn Tue, 1 Dec 2026 at 10:00, Bob <bob@example.com> wrote:\n\n/merge\n";
    let folded =
        "Fine.\r\n\r\nOn Tue, 1 Dec 2026 at 10:00, Bob\r\n<bob@example.com> wrote:\r\n/merge";
    let outlook = "Fine.\n-----Original Message-----\nFrom: Bob\n\n/merge";
    for text in [plain, folded, outlook] {
        assert_eq!(words(text), [""; 0], "{text:?}");
    }
    let above = format!("/hold wait\n\n{plain}");
    assert_eq!(words(&above), ["hold"]);
    assert_eq!(words("On second thought:\n\n/merge"), ["merge"]);
}

#[test]
fn a_line_after_html_that_is_closed_counts_again() {
    assert_eq!(words("<details>x</details>\n\n/merge"), ["merge"]);
    assert_eq!(words("one<br>\n/merge"), ["merge"]);
    assert_eq!(words("<!-- a note -->\n\n/merge"), ["merge"]);
    assert_eq!(words("<img src=x>\n\n/merge"), ["merge"]);
}

#[test]
fn another_apps_commands_are_not_ours() {
    assert_eq!(words("/lgtm\n/assign @bob\n/mrege"), [""; 0]);
    assert_eq!(words("/countersign mrege"), ["long ?mrege"]);
    let said = parse("/countersign mrege");
    let meant = Misuse::Unknown {
        typed: "mrege".into(),
        meant: Some(Word::Merge),
    };
    assert_eq!(said[0].what, Err(meant));
    assert_eq!(words("/countersign"), ["long help"]);
}

#[test]
fn arguments_are_read_as_they_stand() {
    let reason = |text: &str| text.to_owned();
    assert_eq!(
        only("/hold until `main` is *green* again"),
        Command::Hold {
            reason: reason("until `main` is green again")
        }
    );
    assert_eq!(
        only("/hold"),
        Command::Hold {
            reason: String::new()
        }
    );
    assert_eq!(
        only("/override checks FALSE_POSITIVE: the runner has no disk, see #12"),
        Command::Override {
            gate: "checks".into(),
            category: Category::FalsePositive,
            reason: reason("the runner has no disk, see #12"),
        }
    );
    assert_eq!(
        only("/freeze release/1.2 bad deploy"),
        Command::Freeze {
            branch: "release/1.2".into(),
            reason: reason("bad deploy")
        }
    );
    assert_eq!(
        only("/ask Drop Windows 7? | keep it"),
        Command::Ask {
            question: "Drop Windows 7?".into(),
            default: "keep it".into()
        }
    );
    let through = PullNumber::new(12).unwrap();
    assert_eq!(only("/escaped #12"), Command::Escaped { through });
    assert_eq!(only("/escaped from #12"), Command::Escaped { through });
    assert_eq!(only("/priority High"), Command::Priority(Priority::High));
    assert_eq!(only("/verify"), Command::Verify { verifier: None });
    assert_eq!(
        only("/verify claude"),
        Command::Verify {
            verifier: Some("claude".into())
        }
    );
}

#[test]
fn what_lacks_a_part_is_a_mistake_and_says_which() {
    let wrong = |text: &str| match parse(text).remove(0).what {
        Err(Misuse::Form { word, wrong }) => format!("/{} {wrong}", word.text()),
        other => panic!("{text:?} is {other:?}"),
    };
    let all = [
        "/merge abrt",
        "/override",
        "/override checks because",
        "/override checks falsepositive it flakes",
        "/override checks accepted_risk",
        "/freeze main",
        "/thaw",
        "/thaw main now",
        "/priority urgent",
        "/ask Drop Windows 7?",
        "/ask | keep it",
        "/escaped 12",
        "/escaped #0",
        "/escaped from",
        "/verify claude codex",
        "/recheck all",
    ];
    let told: Vec<_> = all.map(wrong).into();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn several_commands_in_one_comment_keep_their_order_and_have_a_bound() {
    assert_eq!(
        words("/unhold\n/merge\n\nand\n\n/status"),
        ["unhold", "merge", "status"]
    );
    let many = "/status\n\n".repeat(50);
    assert_eq!(parse(&many).len(), MOST_COMMANDS);
}

#[test]
fn a_long_reason_is_kept_to_its_bound() {
    let text = format!("/hold {}", "ä".repeat(5_000));
    let Command::Hold { reason } = only(&text) else {
        panic!("no hold");
    };
    assert_eq!(reason.chars().count(), MOST_CHARS);
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,300}") {
        parse(&text);
    }

    #[test]
    fn any_mixture_of_markup_is_read_without_a_panic_and_runs_no_quoted_command(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("> "), Just("```"), Just("~~~"), Just("\n"), Just("\r\n"), Just("<!--"),
                Just("-->"), Just("<p>"), Just("</p>"), Just("`"), Just("**"), Just("["), Just("]("),
                Just(")"), Just("- "), Just("    "), Just("|"), Just("---"), Just("On x wrote:"),
                Just("/merge"), Just("\u{200b}"), Just("&#47;"), Just("\\"), Just("$$"),
            ],
            0..60,
        )
    ) {
        let text = parts.concat();
        parse(&text);
        // The same text as a quote, every line of it, says nothing.
        let quoted: String = text
            .replace("\r\n", "\n")
            .lines()
            .map(|line| format!("> {line}\n"))
            .collect();
        prop_assert_eq!(parse(&quoted), vec![]);
        // Nor does it as code, behind a longer fence than any it holds.
        let fence = "`".repeat(200);
        prop_assert_eq!(parse(&format!("{fence}\n{text}\n{fence}")), vec![]);
    }
}
