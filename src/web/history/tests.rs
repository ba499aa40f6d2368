use serde_json::{Value, json};

use super::told;
use crate::domain::ledger::{Entry, Kind};
use crate::domain::model::{HeadSha, PullNumber, RepoId, Timestamp};

/// A line of the story, as `kind (tone): sentence`.
fn line(kind: Kind, body: Value) -> String {
    let entry = Entry {
        seq: 1,
        at: Timestamp::UNIX_EPOCH,
        kind,
        repo: RepoId::new(7).unwrap(),
        number: PullNumber::new(41),
        head: Some(HeadSha::parse(&"4f9d21c0".repeat(5)).unwrap()),
        body,
        prev: String::new(),
        hash: String::new(),
    };
    let (kind, tone, what) = told(&entry);
    match tone {
        "" => format!("{kind}: {what}"),
        tone => format!("{kind} ({tone}): {what}"),
    }
}

#[test]
fn who_was_asked_for_a_verification_and_why_is_told_in_words() {
    let asked = |why: &str, by: Value, refused: Value| {
        let body = json!({ "verifier": "gemini", "why": why, "by": by, "refused": refused });
        line(Kind::Asked, body)
    };
    let none = || Value::Null;
    let whys = [
        "first",
        "inconclusive",
        "silent",
        "refused",
        "fallback",
        "again",
        "of tomorrow",
    ];
    let mut lines: Vec<_> = whys.iter().map(|why| asked(why, none(), none())).collect();
    lines.push(asked("person", json!("alice"), none()));
    let refused = json!(".github/workflows/g.yml: GitHub knows no such thing.");
    lines.push(asked("silent", none(), refused));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    asked: Countersign asked gemini for a verification.
    asked: Countersign asked gemini for a verification, since another one could not say.
    asked: Countersign asked gemini for a verification, since another one was silent past its deadline.
    asked: Countersign asked gemini for a verification, since another one could not be told.
    asked: Countersign asked gemini for a verification, which is enough since the policy's fallback is in use.
    asked: Countersign asked gemini for a verification once more, since nobody else is left.
    asked: Countersign asked gemini for a verification (of tomorrow).
    asked: alice asked gemini for a verification.
    asked: Countersign wanted to ask gemini, since another one was silent past its deadline, and GitHub refused: .github/workflows/g.yml: GitHub knows no such thing.
    "#);
}

#[test]
fn a_verifier_that_could_not_run_reads_like_no_rejection() {
    let said = |result: &str, reason: Value| {
        let body = json!({ "verifier": "codex", "result": result, "reason": reason });
        line(Kind::Reported, body)
    };
    let mut lines = vec![said("approved", Value::Null), said("rejected", Value::Null)];
    for reason in [
        "capacity",
        "quota",
        "timeout",
        "read_only",
        "conflict",
        "other",
        "of tomorrow",
    ] {
        lines.push(said("inconclusive", json!(reason)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    report: codex approved this head.
    report: codex rejected this head.
    report: codex could not run: it had no capacity.
    report: codex could not run: its quota is used up.
    report: codex could not run: it ran out of time.
    report: codex could not say: it could only read.
    report: codex could not say: the branch conflicts.
    report: codex could not say.
    report: codex could not say (of tomorrow).
    "#);
}

#[test]
fn a_press_of_the_button_is_told_with_what_came_of_it() {
    let by = json!({ "id": 1, "login": "alice" });
    let taken = json!({ "command": "verify", "button": true, "by": by, "verifier": "codex" });
    let refused = json!({ "command": "verify", "button": true, "by": by,
                          "refused": "the head is another one now" });
    let commented = json!({ "command": "verify", "by": by });
    let lines = [taken, refused, commented].map(|body| line(Kind::Request, body));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    asked: alice pressed "Request verification": codex is to be asked.
    asked (failed): alice pressed "Request verification". Nothing came of it: the head is another one now.
    asked: alice asked: `verify`.
    "#);
}
