//! Who may countersign, and whose word it is.

use serde_json::json;

use crate::domain::facts::*;
use crate::domain::model::Actor;
use crate::domain::testing::*;
use crate::domain::verdict::{Landing, Move, decide};

const GATE: &str = "second_verifier";

/// The policy that asks for a second verifier only.
fn alone(demand: &str) -> String {
    only(&format!("{{ second_verifier: {{ {demand} }} }}"))
}

fn approved_by(who: (u64, &str), demand: &str) -> Snapshot {
    under(
        &alone(demand),
        with_reports(vec![report(20, who, &approval("exec-1"))]),
    )
}

/// An approval that alice wrote into a comment, under a policy that takes a person.
fn by_alice(author: Actor) -> Snapshot {
    let mut snapshot = under(&alone("independence: human"), with_reports(Vec::new()));
    items(&mut snapshot.comments).push(comment(30, author, &approval("desk")));
    snapshot
}

fn commits(snapshot: &mut Snapshot) -> &mut Vec<PullCommit> {
    &mut known(&mut snapshot.comparison).commits.items
}

#[test]
fn an_independent_verifier_countersigns() {
    let good = snapshot();
    let result = gate(&good, GATE);
    assert_eq!(result.state.word(), "satisfied");
    assert!(told(&good, GATE).contains("codex countersigned bbbbbbb."));
}

#[test]
fn without_any_report_the_gate_asks_those_who_could_countersign() {
    let mut snapshot = with_reports(Vec::new());
    let result = gate(&snapshot, GATE);
    let names = vec!["codex".to_owned(), "alice".to_owned()];
    assert_eq!(result.state.whose_move(), Move::Verifier(names));
    snapshot.runs = Fetched::Known(Listing::whole(Vec::new()));
    assert_eq!(state(&snapshot, GATE), "waiting");
}

#[test]
fn the_authors_own_app_does_not_countersign_its_work() {
    let mut snapshot = approved_by(CODEX, "independence: context");
    assert_eq!(state(&snapshot, GATE), "satisfied");
    known(&mut snapshot.pull).author = Some(bot(80, "codex-verify[bot]"));
    assert_eq!(state(&snapshot, GATE), "waiting");
    assert!(told(&snapshot, GATE).contains("wrote some of it"));
}

#[test]
fn the_author_is_recognised_under_any_spelling() {
    let mut snapshot = approved_by(CODEX, "independence: context");
    known(&mut snapshot.pull).author = Some(bot(80, "Codex-Verify[bot]"));
    assert_eq!(state(&snapshot, GATE), "waiting");
    let mut renamed = by_alice(user(50, "Alice"));
    assert_eq!(state(&renamed, GATE), "satisfied");
    known(&mut renamed.pull).author = Some(user(50, "alice-before-she-was-renamed"));
    assert_eq!(state(&renamed, GATE), "waiting");
}

#[test]
fn whoever_wrote_or_committed_any_commit_does_not_countersign() {
    for place in 0..2 {
        let mut snapshot = by_alice(user(50, "alice"));
        let commit = &mut commits(&mut snapshot)[0];
        let side = if place == 0 {
            &mut commit.author
        } else {
            &mut commit.committer
        };
        *side = Some(user(50, "alice"));
        assert_eq!(state(&snapshot, GATE), "waiting");
    }
    let mut snapshot = approved_by(CODEX, "independence: context");
    commits(&mut snapshot)[0].author = Some(bot(80, "codex-verify[bot]"));
    assert_eq!(state(&snapshot, GATE), "waiting");
}

/// A commit names whomever its maker likes; GitHub says who pushed it.
#[test]
fn whoever_pushed_any_of_its_commits_does_not_countersign_it_whatever_they_say() {
    let pushed = |tip: char, by: Actor| Pushed {
        head: head(tip),
        by,
    };
    let mut snapshot = approved_by(CODEX, "independence: context");
    snapshot.pushes = vec![pushed('b', bot(80, "Codex-Verify[bot]"))];
    assert_eq!(state(&snapshot, GATE), "waiting");
    assert!(told(&snapshot, GATE).contains("codex-verify[bot] pushed some of it"));
    // What was pushed and is none of its commits any more was pushed in vain.
    snapshot.pushes[0].head = head('e');
    assert_eq!(state(&snapshot, GATE), "satisfied");
    let mut earlier = commits(&mut snapshot)[0].clone();
    earlier.sha = oid('e');
    commits(&mut snapshot).insert(0, earlier);
    assert_eq!(state(&snapshot, GATE), "waiting");

    let mut by_hand = by_alice(user(50, "alice"));
    by_hand.pushes = vec![pushed('b', user(51, "bob"))];
    assert_eq!(state(&by_hand, GATE), "satisfied");
    by_hand.pushes.push(pushed('b', user(50, "alice")));
    assert_eq!(state(&by_hand, GATE), "waiting");
    assert!(told(&by_hand, GATE).contains("alice pushed some of it"));
}

#[test]
fn a_person_does_not_countersign_where_an_author_is_not_known() {
    let good = by_alice(user(50, "alice"));
    let mut ghost = good.clone();
    known(&mut ghost.pull).author = None;
    let mut nameless = good.clone();
    commits(&mut nameless)[0].author = None;
    let mut cut = good;
    known(&mut cut.comparison).commits.complete = false;
    for snapshot in [ghost, nameless, cut] {
        assert_eq!(
            state(&snapshot, GATE),
            "waiting",
            "{}",
            told(&snapshot, GATE)
        );
    }
}

#[test]
fn nobody_countersigns_where_the_commits_are_not_all_known() {
    let good = approved_by(CODEX, "independence: vendor");
    let mut unread = good.clone();
    unread.comparison = Fetched::Unavailable("GitHub answered 502".into());
    let mut cut = good.clone();
    known(&mut cut.comparison).commits.complete = false;
    let mut of_another_head = good;
    known(&mut of_another_head.comparison).head = head('e');
    for snapshot in [unread, cut, of_another_head] {
        assert_ne!(
            state(&snapshot, GATE),
            "satisfied",
            "{}",
            told(&snapshot, GATE)
        );
    }
}

#[test]
fn commits_made_on_githubs_own_pages_hide_nobody() {
    let mut snapshot = by_alice(user(50, "alice"));
    commits(&mut snapshot)[0].committer = Some(user(19_864_447, "web-flow"));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn another_name_for_the_same_model_is_not_independent() {
    let table = [
        (OPUS, "context", true),
        (OPUS, "model", false),
        (OPUS, "vendor", false),
        (HAIKU, "model", true),
        (HAIKU, "vendor", false),
        (CODEX, "vendor", true),
        (CODEX, "human", false),
    ];
    for (who, level, enough) in table {
        let snapshot = approved_by(who, &format!("independence: {level}"));
        let satisfied = state(&snapshot, GATE) == "satisfied";
        assert_eq!(satisfied, enough, "{who:?} {level}");
    }
}

#[test]
fn what_the_document_says_of_its_author_changes_nothing() {
    let mut forged = approval("exec-1");
    forged["predicate"]["vendor"] = json!("openai");
    forged["predicate"]["model"] = json!("gpt-5-codex");
    forged["predicate"]["verifier"] = json!("codex");
    let demand = alone("independence: vendor");
    let by_the_author = with_reports(vec![report(20, (70, "acme-agent"), &forged)]);
    assert_eq!(state(&under(&demand, by_the_author), GATE), "waiting");
    let by_opus = with_reports(vec![report(20, OPUS, &forged)]);
    assert_eq!(state(&under(&demand, by_opus), GATE), "waiting");
    let mut by_a_person = with_reports(Vec::new());
    items(&mut by_a_person.comments).push(comment(30, user(40, "mallory"), &forged));
    let told = told(&under(&demand, by_a_person), GATE);
    assert!(
        told.contains("mallory skipped: Does not count: no verifier"),
        "{told}"
    );
}

#[test]
fn a_persons_login_with_the_name_of_an_app_is_not_the_app() {
    let mut snapshot = under(&alone("independence: vendor"), with_reports(Vec::new()));
    items(&mut snapshot.comments).push(comment(30, user(40, "codex-verify"), &approval("x")));
    assert_eq!(state(&snapshot, GATE), "waiting");
    items(&mut snapshot.comments).push(comment(31, bot(80, "codex-verify[bot]"), &approval("x")));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn a_report_by_nobody_counts_for_nobody() {
    let mut nameless = report(20, CODEX, &approval("exec-1"));
    nameless.app = None;
    let mut snapshot = under(
        &alone("independence: context"),
        with_reports(vec![nameless]),
    );
    let mut ghosts = comment(30, user(50, "alice"), &approval("desk"));
    ghosts.author = None;
    items(&mut snapshot.comments).push(ghosts);
    assert_eq!(state(&snapshot, GATE), "waiting");
}

#[test]
fn the_certifier_is_not_its_own_second() {
    let mut snapshot = with_reports(vec![report(20, GEMINI, &approval("cert-1"))]);
    assert_eq!(state(&snapshot, "certification"), "satisfied");
    assert_eq!(state(&snapshot, GATE), "waiting");
    items(&mut snapshot.runs).push(report(21, GEMINI, &approval("another-context")));
    assert_eq!(state(&snapshot, GATE), "waiting");
}

#[test]
fn a_second_in_the_certifiers_own_context_is_none() {
    let reports = vec![
        report(20, GEMINI, &approval("shared")),
        report(21, CODEX, &approval("shared")),
    ];
    assert_eq!(state(&with_reports(reports), GATE), "waiting");
}

#[test]
fn a_second_must_differ_from_the_certifier_as_well() {
    let policy = policy_with("by: [gemini]", "by: [opus]");
    let reports = |second| {
        vec![
            report(20, OPUS, &approval("a")),
            report(21, second, &approval("b")),
        ]
    };
    assert_eq!(
        state(&under(&policy, with_reports(reports(HAIKU))), GATE),
        "waiting"
    );
    assert_eq!(
        state(&under(&policy, with_reports(reports(CODEX))), GATE),
        "satisfied"
    );
}

#[test]
fn one_verifier_that_approves_twice_is_one() {
    let twice = vec![
        report(20, CODEX, &approval("a")),
        report(21, CODEX, &approval("b")),
    ];
    let mut snapshot = under(
        &alone("count: 2, independence: vendor"),
        with_reports(twice),
    );
    assert_eq!(state(&snapshot, GATE), "waiting");
    assert!(told(&snapshot, GATE).contains("1 of 2 independent verifiers"));
    items(&mut snapshot.runs).push(report(22, GEMINI, &approval("c")));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn only_a_person_satisfies_the_human_level() {
    let good = by_alice(user(50, "alice"));
    assert_eq!(state(&good, GATE), "satisfied");
    let mut by_a_bot = good.clone();
    items(&mut by_a_bot.comments)[0].author = Some(bot(51, "alice"));
    assert_eq!(state(&by_a_bot, GATE), "waiting");
    let modelled = "alice: { user: alice, vendor: openai, model: gpt-5 }";
    let policy = alone("independence: human").replace("alice: { user: alice }", modelled);
    assert_eq!(state(&under(&policy, good), GATE), "waiting");
}

#[test]
fn what_the_policy_leaves_unsaid_is_not_shown_to_differ() {
    let unsaid = alone("independence: model").replace(", vendor: openai, model: gpt-5-codex", "");
    let snapshot = under(&unsaid, approved_by(CODEX, "independence: model"));
    assert_eq!(state(&snapshot, GATE), "waiting");
    let no_agents_model =
        alone("independence: model").replace("  vendor: anthropic\n  model: claude-opus\n", "");
    let snapshot = under(&no_agents_model, snapshot);
    assert_eq!(state(&snapshot, GATE), "waiting");
}

#[test]
fn a_model_differs_from_a_person_who_wrote_the_change() {
    let mut snapshot = approved_by(OPUS, "independence: vendor");
    known(&mut snapshot.pull).author = Some(user(60, "bob"));
    commits(&mut snapshot)[0].author = Some(user(60, "bob"));
    commits(&mut snapshot)[0].committer = Some(user(60, "bob"));
    assert_eq!(state(&snapshot, GATE), "satisfied");
    assert_eq!(decide(&snapshot).landing, Landing::WhenRequested);
}

#[test]
fn an_agents_commits_under_a_persons_pull_request_are_still_the_agents() {
    let mut snapshot = approved_by(OPUS, "independence: vendor");
    known(&mut snapshot.pull).author = Some(user(60, "bob"));
    assert_eq!(
        state(&snapshot, GATE),
        "waiting",
        "{}",
        told(&snapshot, GATE)
    );
}

#[test]
fn a_bot_that_the_policy_does_not_name_is_not_taken_for_a_person() {
    let mut snapshot = approved_by(CODEX, "independence: vendor");
    let unnamed = Some(bot(90, "some-agent[bot]"));
    known(&mut snapshot.pull).author = unnamed.clone();
    commits(&mut snapshot)[0].author = unnamed.clone();
    commits(&mut snapshot)[0].committer = unnamed;
    assert_eq!(
        state(&snapshot, GATE),
        "waiting",
        "{}",
        told(&snapshot, GATE)
    );
}

#[test]
fn two_verifiers_of_one_app_are_one_principal() {
    let policy = alone("count: 2, independence: vendor").replace(
        "  gemini: {",
        "  codex2: { app: 501, vendor: mistral, model: large }\n  gemini: {",
    );
    let twice = vec![
        report(20, CODEX, &approval("a")),
        report(21, CODEX, &approval("b")),
    ];
    assert_eq!(state(&under(&policy, with_reports(twice)), GATE), "waiting");
}
