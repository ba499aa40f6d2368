//! Who stands behind a report, and what is none.

use serde_json::json;

use super::*;
use crate::domain::facts::Conclusion;
use crate::domain::model::PostedId;
use crate::domain::policy::read::read;
use crate::domain::testing::*;

#[test]
fn a_block_at_the_top_counts_and_a_quoted_or_listed_one_does_not() {
    let text = "Hello\r\n\r\n```countersign\r\n{}\r\n```\r\n";
    assert_eq!(blocks(text).len(), 1);
    assert_eq!(
        blocks("> ```countersign\n> {}\n> ```\n"),
        Vec::<String>::new()
    );
    assert_eq!(
        blocks("- x\n\n  ```countersign\n  {}\n  ```\n"),
        Vec::<String>::new()
    );
    assert_eq!(blocks("```json\n{}\n```\n"), Vec::<String>::new());
    assert_eq!(blocks("~~~~ countersign extra\n{}\n~~~~\n"), ["{}\n"]);
}

#[test]
fn two_documents_in_one_text_are_neither() {
    let text = "```countersign\n{}\n```\n\n```countersign\n{}\n```\n";
    assert!(matches!(content_of(text), Some(Content::Faulty(..))));
}

/// Every identity that a policy can name beside every carrier that there is: who is whom, and nobody else.
#[test]
fn each_identity_is_its_own_carrier_and_no_other() {
    let key = "ab".repeat(32);
    let by = |actor, app| Carrier::Actor { actor, app };
    let workflow = |path: &str| Carrier::Workflow {
        path: path.to_owned(),
        git_ref: "refs/heads/main".to_owned(),
    };
    let other = (502, "gemini-verify");
    let carriers = [
        ("app", Carrier::App(app(CODEX))),
        ("app in capitals", Carrier::App(app((501, "Codex-Verify")))),
        ("other app", Carrier::App(app(other))),
        ("bot", by(bot(9, "codex-verify[bot]"), Some(app(CODEX)))),
        ("bot alone", by(bot(9, "codex-verify[bot]"), None)),
        (
            "other bot",
            by(bot(8, "gemini-verify[bot]"), Some(app(other))),
        ),
        ("alice by codex", by(user(7, "alice"), Some(app(CODEX)))),
        (
            "bot of another name",
            by(bot(9, "alice[bot]"), Some(app(CODEX))),
        ),
        (
            "bot without a sign",
            by(bot(9, "codex-verify"), Some(app(CODEX))),
        ),
        (
            "user like a bot",
            by(user(9, "codex-verify[bot]"), Some(app(CODEX))),
        ),
        ("alice", by(user(7, "Alice"), None)),
        ("bob", by(user(6, "bob"), None)),
        ("bot named alice", by(bot(5, "alice"), None)),
        ("workflow", workflow(".github/workflows/v.yml")),
        ("other workflow", workflow("w.yml")),
        ("key", Carrier::Key(key.clone())),
        ("other key", Carrier::Key("cd".repeat(32))),
        ("nobody", Carrier::Nobody),
    ];
    let id = app(CODEX).id;
    let identities = [
        (
            Identity::AppSlug("codex-verify".to_owned()),
            vec!["app", "app in capitals", "bot", "bot alone"],
        ),
        (Identity::AppId(id), vec!["app", "app in capitals", "bot"]),
        (
            Identity::User(crate::domain::model::Login::new("alice")),
            vec!["alice by codex", "alice"],
        ),
        (
            Identity::Workflow(".github/workflows/v.yml".to_owned()),
            vec!["workflow"],
        ),
        (Identity::Key(key), vec!["key"]),
    ];
    for (identity, expected) in identities {
        let found = carriers.iter().filter(|(_, one)| is(&identity, one));
        let found: Vec<_> = found.map(|(name, _)| *name).collect();
        assert_eq!(found, expected, "{identity:?}");
    }
}

fn policy() -> Policy {
    let with = "verifiers:\n  nightly: { workflow: .github/workflows/v.yml, vendor: google }\n";
    read(&policy_with("verifiers:\n", with)).unwrap()
}

/// What a workflow posted from a ref, with its verifier.
fn posted(git_ref: &str, result: &str) -> Report {
    let mut document = approval("exec-1");
    document["predicate"]["result"] = json!(result);
    let mut snapshot = snapshot();
    snapshot.posted.push(Posted {
        id: PostedId::new(1).unwrap(),
        carrier: Carrier::Workflow {
            path: ".github/workflows/v.yml".to_owned(),
            git_ref: git_ref.to_owned(),
        },
        document: document.to_string(),
        at: snapshot.now,
        url: None,
    });
    let mut reports = reports(&policy(), &snapshot).into_iter();
    let found = reports.find(|report| matches!(report.place, Place::Posted(_)));
    found.unwrap()
}

#[test]
fn a_workflow_approves_from_a_protected_ref_alone_and_objects_from_any() {
    let protected = posted("refs/heads/main", "approved");
    assert_eq!(protected.verifier.unwrap().as_str(), "nightly");
    let loose = posted("refs/heads/agent/start", "approved");
    assert_eq!(loose.verifier, None);
    let objects = posted("refs/heads/agent/start", "rejected");
    assert_eq!(objects.verifier.unwrap().as_str(), "nightly");
    let Content::Valid(said) = objects.content else {
        panic!("{:?}", objects.content);
    };
    assert_eq!((said.result, said.tests.len()), (Outcome::Rejected, 0));
    let whole = posted("refs/heads/main", "rejected");
    assert!(matches!(whole.content, Content::Valid(said) if said.tests.len() == 1));
}

#[test]
fn what_we_say_ourselves_and_what_is_said_of_another_head_is_no_report() {
    let mut snapshot = with_reports(Vec::new());
    let ours = report(20, OWN, &approval("exec-1"));
    let mut elsewhere = report(21, CODEX, &approval("exec-1"));
    elsewhere.head = head('e');
    items(&mut snapshot.runs).extend([ours, elsewhere]);
    let mut own = comment(22, bot(9, "countersign[bot]"), &approval("exec-1"));
    own.app = Some(app(OWN));
    items(&mut snapshot.comments).push(own);
    assert!(reports(&policy(), &snapshot).is_empty());
    let mut theirs = comment(23, bot(9, "codex-verify[bot]"), &approval("exec-1"));
    theirs.app = Some(app(CODEX));
    items(&mut snapshot.comments).push(theirs);
    items(&mut snapshot.runs).push(report(24, CODEX, &approval("exec-1")));
    assert_eq!(reports(&policy(), &snapshot).len(), 2);
}

#[test]
fn a_failed_run_with_the_title_of_a_rate_limit_is_a_verifier_that_could_not_run() {
    let shows = "app: codex-verify, unavailable: { title: '*rate limit*' },";
    let policy = read(&policy_with("app: codex-verify,", shows)).unwrap();
    let result = |by, title: &str, status| {
        let mut run = run(20, "verify", Conclusion::Failure);
        (run.app, run.status) = (Some(app(by)), status);
        run.output_title = Some(title.to_owned());
        let mut snapshot = with_reports(Vec::new());
        items(&mut snapshot.runs).push(run);
        let reports = reports(&policy, &snapshot);
        let content = reports.into_iter().next().map(|report| report.content);
        content.map(|content| match content {
            Content::Valid(said) => (said.result, said.reason),
            other => panic!("{other:?}"),
        })
    };
    let failed = || RunStatus::Completed(Conclusion::Failure);
    let limit = "hit a rate limit";
    let none = (Outcome::Inconclusive, Some(InconclusiveReason::Capacity));
    assert_eq!(result(CODEX, limit, failed()), Some(none));
    assert_eq!(result(CODEX, "found a bug", failed()), None);
    assert_eq!(result(GEMINI, limit, failed()), None);
    let passed = RunStatus::Completed(Conclusion::Success);
    assert_eq!(result(CODEX, limit, passed), None);
}

#[test]
fn only_survivors_and_no_test_is_nothing_but_an_objection() {
    let said = |result: &str, tests: bool, statuses: &[&str]| {
        let mutants: Vec<_> = statuses.iter().map(|one| mutant(one, 40, one)).collect();
        let mut document = mutated(approval("exec-1"), &mutants);
        document["predicate"]["result"] = json!(result);
        if !tests {
            document["predicate"]["tests"] = json!([]);
        }
        only_objects(&parse::document(&document.to_string()).unwrap())
    };
    assert!(said("rejected", false, &["survived"]));
    assert!(!said("rejected", false, &["survived", "killed"]));
    assert!(!said("rejected", true, &["survived"]));
    assert!(!said("approved", false, &["survived"]));
}
