//! Who speaks: identity is what GitHub says of the carrier, never what a text says of itself.

use countersign::simulator::world::Change;
use countersign::simulator::{Actor, Edits, Permission, PullHandle, ReviewState};
use serde_json::json;

use crate::stage::{AFTER, Evidence, POLICY, Stage};

/// A stage, a pull request whose check passed, and a document about its head.
async fn unverified(policy: &str) -> (Stage, countersign::simulator::PullHandle, Evidence) {
    let stage = Stage::with_policy(policy).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let evidence = stage.evidence(&pull);
    (stage, pull, evidence)
}

async fn still_waits(stage: &Stage, pull: &countersign::simulator::PullHandle, words: &str) {
    let said = stage.reasons(pull, "second_verifier").await;
    assert!(said.contains(words), "{said}");
    assert_eq!(stage.state(pull, "second_verifier").await, "waiting");
    assert_eq!(stage.outcome(pull).await, "waiting");
    assert!(!stage.merged(pull));
    assert_eq!(stage.merge_calls(), 0);
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion, None, "{check:?}");
}

#[tokio::test]
async fn the_authors_own_app_cannot_countersign_what_it_wrote() {
    // Somebody even named it a verifier, and of another vendor.
    let policy = POLICY.replace(
        "  twin:",
        "  self: { app: acme-agent, vendor: openai, model: gpt-5-codex }\n  twin:",
    );
    let (stage, pull, evidence) = unverified(&policy).await;
    stage.reports(&stage.agent, &pull, &evidence).await;
    still_waits(&stage, &pull, "acme-agent[bot] wrote some of it").await;
}

#[tokio::test]
async fn an_author_that_no_policy_names_a_verifier_is_told_that_its_report_does_not_count() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    stage.reports(&stage.agent, &pull, &evidence).await;
    still_waits(&stage, &pull, "no verifier of the policy brought it").await;
}

#[tokio::test]
async fn a_verifier_that_pushed_a_commit_of_its_own_has_become_an_author() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let edits = Edits::write("README.md", "# Shop, repaired\n");
    stage
        .codex
        .push(&stage.shop, "agent/start", "Repair it", edits)
        .unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    still_waits(&stage, &pull, "codex-verify[bot] wrote some of it").await;
}

#[tokio::test]
async fn a_verifier_that_pushed_commits_in_another_name_has_become_an_author() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let (repo, agent, codex) = (stage.shop.id, stage.agent.id, stage.codex.principal());
    let tip = pull.head().unwrap();
    let change = Change::Write {
        path: "README.md".into(),
        content: "# Shop, repaired\n".into(),
    };
    // Git lets everybody write whatever name they like into a commit.
    {
        let mut world = stage.github.lock();
        let made = world.commit(Some(&tip), agent, &[change], "Repair it");
        let made = made.unwrap();
        let moved = world.move_branch(repo, "agent/start", Some(&made), codex, false);
        moved.unwrap();
    }
    stage.settle().await;
    stage.clear(&pull).await;
    still_waits(&stage, &pull, "codex-verify[bot] pushed some of it").await;
}

#[tokio::test]
async fn the_same_model_under_another_name_is_not_independent() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    stage.reports(&stage.twin, &pull, &evidence).await;
    still_waits(
        &stage,
        &pull,
        "it is not independent: another vendor is needed",
    )
    .await;
    let said = stage.reasons(&pull, "second_verifier").await;
    assert!(said.contains("it is anthropic claude-opus"), "{said}");

    stage.reports(&stage.codex, &pull, &evidence).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_document_that_claims_another_vendor_and_model_claims_in_vain() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    let verifier = json!({ "name": "codex", "vendor": "openai", "model": "gpt-5-codex" });
    let forged = evidence
        .with("/verifier", verifier)
        .with("/vendor", json!("openai"))
        .with("/model", json!("gpt-5-codex"));
    stage.reports(&stage.twin, &pull, &forged).await;
    still_waits(&stage, &pull, "it is anthropic claude-opus").await;
}

#[tokio::test]
async fn a_person_who_posts_a_verifiers_document_is_not_that_verifier() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    stage.alice.comment(&pull, &evidence.block()).unwrap();
    stage.settle().await;
    still_waits(&stage, &pull, "no verifier of the policy brought it").await;
    let report = evidence.block();
    stage
        .alice
        .review(&pull, ReviewState::Approved, &report)
        .unwrap();
    stage.settle().await;
    still_waits(&stage, &pull, "no verifier of the policy brought it").await;
}

#[tokio::test]
async fn a_person_whose_name_looks_like_a_verifiers_is_not_that_verifier() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    let mallory = stage.github.user("codex-verify");
    mallory.comment(&pull, &evidence.block()).unwrap();
    stage.settle().await;
    still_waits(&stage, &pull, "no verifier of the policy brought it").await;
}

#[tokio::test]
async fn a_quoted_document_is_not_a_report_of_who_quotes_it() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    let quoted: String = evidence
        .block()
        .lines()
        .map(|line| format!("> {line}\n"))
        .collect();
    stage.codex.comment(&pull, &quoted).unwrap();
    stage.settle().await;
    still_waits(&stage, &pull, "No independent verifier has countersigned").await;
}

#[tokio::test]
async fn an_edited_comment_voids_the_evidence_in_it() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let text = stage.evidence(&pull).block();
    let comment = stage.codex.comment(&pull, &text).unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "satisfied");

    stage
        .alice
        .edit_comment(&stage.shop, comment, &format!("{text}\nBelieve me.\n"))
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    still_waits(
        &stage,
        &pull,
        "the comment was edited or deleted after it was written",
    )
    .await;
}

#[tokio::test]
async fn a_comment_that_was_edited_into_a_document_is_none_also_when_only_the_sweep_sees_it() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    let comment = stage.codex.comment(&pull, "I am on it.").unwrap();
    stage.settle().await;
    stage.after(60).await;
    stage
        .codex
        .edit_comment(&stage.shop, comment, &evidence.block())
        .unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    still_waits(
        &stage,
        &pull,
        "the comment was edited or deleted after it was written",
    )
    .await;
}

#[tokio::test]
async fn a_deleted_comment_takes_its_evidence_with_it() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let text = stage.evidence(&pull).block();
    let comment = stage.codex.comment(&pull, &text).unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "satisfied");

    stage.codex.delete_comment(&stage.shop, comment).unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    still_waits(&stage, &pull, "No independent verifier has countersigned").await;
}

#[tokio::test]
async fn a_deletion_that_nobody_told_of_is_seen_before_anything_merges() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let text = stage.evidence(&pull).block();
    let comment = stage.codex.comment(&pull, &text).unwrap();
    stage.settle().await;
    stage.codex.delete_comment(&stage.shop, comment).unwrap();
    stage.github.lose_pending();
    stage.unit_passes(&pull).await;
    still_waits(&stage, &pull, "No independent verifier has countersigned").await;
}

#[tokio::test]
async fn a_dismissed_review_countersigns_nothing() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let report = stage.evidence(&pull).block();
    let review = stage
        .codex
        .review(&pull, ReviewState::Approved, &report)
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "satisfied");

    stage.alice.dismiss_review(&stage.shop, review).unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    still_waits(&stage, &pull, "the review was dismissed").await;
}

#[tokio::test]
async fn a_rejection_blocks_and_another_verifiers_approval_does_not_outvote_it() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    let finding = json!([{ "severity": "blocking", "path": "src/start.rs", "line": 2,
                           "message": "It counts twice." }]);
    let rejected = evidence
        .clone()
        .with("/result", json!("rejected"))
        .with("/findings", finding)
        .with("/context", json!("exec-2"));
    stage.reports(&stage.twin, &pull, &rejected).await;
    stage.reports(&stage.codex, &pull, &evidence).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert!(check.title.contains("twin rejected this head"), "{check:?}");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_report_that_cannot_be_read_may_be_a_rejection_and_stops_the_merge() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    let rejected = evidence.clone().with("/result", json!("rejected")).with(
        "/findings",
        json!([{ "severity": "dreadful", "message": "No." }]),
    );
    stage.reports(&stage.twin, &pull, &rejected).await;
    stage.reports(&stage.codex, &pull, &evidence).await;
    assert_eq!(stage.outcome(&pull).await, "undetermined");
    let said = stage.reasons(&pull, "second_verifier").await;
    assert!(said.contains("The report of twin on"), "{said}");
    assert!(said.contains("predicate.findings[0].severity"), "{said}");
    assert_eq!(stage.merge_calls(), 0);
    stage.reports(&stage.twin, &pull, &evidence).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn an_unreadable_comment_about_an_older_head_is_no_question_about_this_one() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let faulty = stage.evidence(&pull).with("/result", json!("perhaps"));
    stage.twin.comment(&pull, &faulty.block()).unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "undetermined");
    stage
        .agent
        .push(
            &stage.shop,
            "agent/start",
            "Again",
            Edits::write("README.md", "# Shop!\n"),
        )
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_person_may_verify_an_agent_where_the_policy_asks_for_a_person() {
    let policy = POLICY
        .replace("independence: vendor", "independence: human")
        .replace("  twin:", "  bob: { user: bob }\n  twin:");
    let stage = Stage::with_policy(&policy).await;
    let bob = stage.github.user("bob");
    stage
        .shop
        .allow(&bob, countersign::simulator::Permission::Write)
        .unwrap();
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    still_waits(&stage, &pull, "a person is needed").await;
    let context = json!("by hand");
    let evidence = stage.evidence(&pull).with("/context", context);
    bob.comment(&pull, &evidence.block()).unwrap();
    stage.settle().await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_commit_of_an_account_that_is_gone_leaves_no_person_surely_independent() {
    let policy = POLICY
        .replace("independence: vendor", "independence: human")
        .replace("  twin:", "  bob: { user: bob }\n  twin:");
    let stage = Stage::with_policy(&policy).await;
    let (bob, gone) = (stage.github.user("bob"), stage.github.deleted_account());
    for who in [&bob, &gone] {
        stage
            .shop
            .allow(who, countersign::simulator::Permission::Write)
            .unwrap();
    }
    gone.push(
        &stage.shop,
        "agent/start",
        "Who was it?",
        Edits::write("src/start.rs", AFTER),
    )
    .unwrap();
    let opened = stage
        .agent
        .open_pull(&stage.shop, "agent/start", "main", "Record");
    let pull = opened.unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    let report = stage.evidence(&pull).block();
    bob.comment(&pull, &report).unwrap();
    stage.settle().await;
    still_waits(&stage, &pull, "which may be bob").await;
}

#[tokio::test]
async fn whoever_edits_a_rejection_away_does_not_get_the_pull_request_merged() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let rejection = stage.evidence(&pull).with("/result", json!("rejected"));
    let comment = stage.twin.comment(&pull, &rejection.block()).unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "blocked");

    stage
        .agent
        .edit_comment(&stage.shop, comment, "Looks fine after all.")
        .unwrap();
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    assert!(!stage.merged(&pull));
}

#[tokio::test]
async fn a_stranger_s_pull_request_is_no_agent_s_by_what_a_bot_does_on_it_or_how_its_branch_is_named()
 {
    let policy = "version: 1\nagents: { authors: ['acme-agent[bot]'], branches: ['agent/**'] }\n\
                  gates: { checks: { required: [unit] } }\n\
                  merge: { when: ready, others: requested, base_branches: [main] }\n";
    let stage = Stage::with_policy(policy).await;
    stage.shop.publish().unwrap();
    let mallory = stage.github.user("mallory");
    let fork = mallory.fork(&stage.shop).unwrap();
    let edits = Edits::write("src/start.rs", "pub fn start() {}\n");
    mallory.push(&fork, "agent/gift", "A gift", edits).unwrap();
    let pull = mallory
        .open_pull(&stage.shop, "mallory:agent/gift", "main", "A gift")
        .unwrap();
    stage.settle().await;
    // The agent is the sender of what follows; it wrote nothing of it.
    let number = pull.look(|pull| pull.number).unwrap();
    stage.agent.label(&stage.shop, number, "seen").unwrap();
    stage.agent.comment(&pull, "Thank you.\n\n/merge").unwrap();
    stage
        .agent
        .review(&pull, ReviewState::Approved, "Fine.")
        .unwrap();
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ready");
    assert!(!stage.merged(&pull), "nobody who may ask has asked for it");
    assert_eq!(stage.merge_calls(), 0);
    // Whoever may ask, may.
    stage.says(&stage.alice, &pull, "/merge").await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

const BY_PEOPLE: &str = "version: 1\nagents: { authors: ['acme-agent[bot]'] }\n\
    gates: { checks: { required: [unit] }, approvals: { count: 1 } }\n\
    merge: { when: ready, others: ready, base_branches: [main] }\n";

/// A stage where one person's approval is asked for, that person, and a pull request with its check.
async fn asks_bob() -> (Stage, Actor, PullHandle) {
    let stage = Stage::with_policy(BY_PEOPLE).await;
    let bob = stage.github.user("bob");
    stage.shop.allow(&bob, Permission::Write).unwrap();
    let pull = stage.open_pull().await;
    (stage, bob, pull)
}

#[tokio::test]
async fn a_plain_comment_after_an_approval_or_an_objection_changes_neither() {
    let (stage, bob, pull) = asks_bob().await;
    let said = async |state, text: &str| {
        stage.clock.advance(chrono::Duration::seconds(5));
        bob.review(&pull, state, text).unwrap();
        stage.settle().await;
        stage.state(&pull, "approvals").await
    };
    assert_eq!(said(ReviewState::ChangesRequested, "No.").await, "failed");
    assert_eq!(said(ReviewState::Commented, "Hm.").await, "failed");
    assert_eq!(said(ReviewState::Approved, "Well.").await, "satisfied");
    assert_eq!(said(ReviewState::Commented, "Nit.").await, "satisfied");
    stage.unit_passes(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_dismissal_brings_back_nothing_that_was_said_before_it() {
    let (stage, bob, pull) = asks_bob().await;
    stage.unit_passes(&pull).await;
    // The objection comes before the approval is heard, so nothing merges in between.
    bob.review(&pull, ReviewState::Approved, "Yes.").unwrap();
    stage.clock.advance(chrono::Duration::seconds(5));
    let objection = bob.review(&pull, ReviewState::ChangesRequested, "No.");
    stage.settle().await;
    assert_eq!(stage.state(&pull, "approvals").await, "failed");
    stage
        .alice
        .dismiss_review(&stage.shop, objection.unwrap())
        .unwrap();
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(stage.state(&pull, "approvals").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn an_objection_to_an_older_head_is_cleared_by_whoever_made_it_at_the_newer_one() {
    let (stage, bob, pull) = asks_bob().await;
    bob.review(&pull, ReviewState::ChangesRequested, "No.")
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let edits = Edits::write("src/start.rs", "pub fn start() {}\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "Mend it", edits)
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.merge_calls(), 0);
    stage.clock.advance(chrono::Duration::seconds(5));
    bob.review(&pull, ReviewState::Approved, "Now.").unwrap();
    stage.settle().await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_rejection_of_an_older_head_does_not_outlive_the_approval_of_the_newer_one() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    let rejected = evidence.with("/result", json!("rejected"));
    stage.reports(&stage.codex, &pull, &rejected).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let edits = Edits::write("README.md", "# Shop, mended\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "Mend it", edits)
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    still_waits(&stage, &pull, "No independent verifier has countersigned").await;
    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_verifier_that_only_remarks_on_the_newer_head_has_not_approved_it() {
    let (stage, pull, evidence) = unverified(POLICY).await;
    stage
        .codex
        .review(&pull, ReviewState::Approved, &evidence.block())
        .unwrap();
    let edits = Edits::write("README.md", "# Shop, again\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "More", edits)
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    let findings = "Two things are wrong here.";
    stage
        .codex
        .review(&pull, ReviewState::Commented, findings)
        .unwrap();
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_policy_may_spell_names_with_capitals() {
    let policy = POLICY
        .replace("app: codex-verify", "app: Codex-Verify")
        .replace("'acme-agent[bot]'", "'Acme-Agent[bot]'")
        .replace("branches: ['agent/**']", "branches: ['nobody/**']")
        .replace("others: ready", "others: never");
    let (stage, pull, _) = unverified(&policy).await;
    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_member_without_write_access_is_refused_whatever_github_calls_them() {
    let (stage, pull, _) = unverified(POLICY).await;
    let member = stage.github.user("carol");
    stage.github.team("acme", "readers", &[&member]);
    stage.shop.allow(&member, Permission::Read).unwrap();
    let comment = stage.says(&member, &pull, "/hold").await;
    let sent = stage.github.sent();
    let heard = sent.iter().rev().find_map(|sent| {
        let asked = &sent.delivery.payload["comment"];
        (asked["id"] == comment).then(|| asked["author_association"].clone())
    });
    assert_eq!(heard, Some(json!("MEMBER")));
    assert_eq!(stage.reactions(comment), ["-1"]);
    assert_ne!(stage.outcome(&pull).await, "held");
}
