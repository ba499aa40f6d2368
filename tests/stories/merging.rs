//! Merging: one head, once, and what lands is looked at.

use countersign::domain::ledger::Kind;
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::world::{Mislanding, Rule};
use countersign::simulator::{Edits, MergeMethod, PullHandle};

use crate::stage::{AFTER, POLICY, Stage};

/// A pull request that lacks its check only: when `unit` passes, it is merged.
async fn almost_ready(stage: &Stage) -> PullHandle {
    let pull = stage.open_pull().await;
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    pull
}

async fn landed_once(stage: &Stage, pull: &PullHandle) {
    assert!(stage.merged(pull), "{}", stage.told(pull).await);
    assert_eq!(stage.outcome(pull).await, "merged");
    let landings = stage.ledger(Kind::Landed).await;
    assert_eq!(landings.len(), 1, "{landings:#?}");
    assert_eq!(landings[0].body["judged"], "as_judged");
    assert!(stage.ledger(Kind::MergedPastGate).await.is_empty());
}

#[tokio::test]
async fn a_base_that_was_modified_meanwhile_is_no_reason_to_give_up() {
    let stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    stage.github.base_is_modified(2);
    stage.unit_passes(&pull).await;
    let mut waited = 0;
    while !stage.merged(&pull) && waited < 20 {
        let said = stage.reasons(&pull, "landing").await;
        assert!(said.contains("Base branch was modified"), "{said}");
        stage.after(30).await;
        waited += 1;
    }
    landed_once(&stage, &pull).await;
    let calls = stage.github.calls_to("PUT", "/merge");
    let statuses: Vec<u16> = calls.iter().map(|call| call.status).collect();
    assert_eq!(statuses, [405, 405, 200]);
}

#[tokio::test]
async fn a_refused_merge_is_not_hammered() {
    let stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    stage.github.base_is_modified(1_000);
    stage.unit_passes(&pull).await;
    for _ in 0..60 {
        stage.after(60).await;
    }
    assert!(!stage.merged(&pull));
    let calls = stage.merge_calls();
    assert!((2..=30).contains(&calls), "{calls} calls in an hour");
}

#[tokio::test]
async fn a_merge_that_a_rule_refuses_is_told_in_the_words_of_github() {
    let stage = Stage::new().await;
    stage
        .shop
        .add_ruleset(&["main"], vec![Rule::Signatures], Vec::new())
        .unwrap();
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull));
    let calls = stage.github.calls_to("PUT", "/merge");
    assert_eq!(calls.len(), 1, "{}", stage.told(&pull).await);
    assert_eq!(stage.outcome(&pull).await, "waiting");
    let said = stage.reasons(&pull, "landing").await;
    assert!(said.contains("GitHub refused to merge"), "{said}");
    assert!(said.contains("signatures"), "{said}");
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_ne!(check.conclusion.as_deref(), Some("success"), "{check:?}");
    assert!(check.title.contains("GitHub refused"), "{check:?}");
    let outcomes = stage.ledger(Kind::Outcome).await;
    assert!(outcomes.iter().any(|o| o.body["not_allowed"].is_string()));
}

#[tokio::test]
async fn a_method_that_the_repository_does_not_allow_is_told() {
    let stage = Stage::new().await;
    stage.shop.allow_methods(&[MergeMethod::Squash]).unwrap();
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull));
    let said = stage.reasons(&pull, "landing").await;
    assert!(said.contains("Merge commits are not allowed"), "{said}");
}

#[tokio::test]
async fn a_squash_lands_what_was_judged() {
    let policy = POLICY.replace("merge:\n", "merge:\n  method: squash\n");
    let stage = Stage::with_policy(&policy).await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    landed_once(&stage, &pull).await;
}

/// What a squashed commit is called and whom it credits, the repository's settings say.
#[tokio::test]
async fn a_merge_call_names_the_head_and_the_method_and_puts_no_words_or_names_into_the_commit() {
    for method in ["merge", "squash"] {
        let policy = POLICY.replace("merge:\n", &format!("merge:\n  method: {method}\n"));
        let stage = Stage::with_policy(&policy).await;
        let pull = stage.open_pull().await;
        let head = pull.head().unwrap();
        stage.clear(&pull).await;
        let calls = stage.github.calls_to("PUT", "/merge");
        let said = serde_json::json!({ "sha": head, "merge_method": method });
        assert_eq!(calls.last().unwrap().body, said);
    }
}

#[tokio::test]
async fn a_merge_whose_answer_was_lost_is_read_back_and_not_tried_again() {
    let stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    let plan = FaultPlan::none().with("PUT", "/merge", 1, Fault::DoneThen502);
    stage.github.set_faults(plan);
    stage.unit_passes(&pull).await;
    stage.after(60).await;
    landed_once(&stage, &pull).await;
    assert_eq!(stage.merge_calls(), 1);
}

#[tokio::test]
async fn a_program_that_ends_between_the_merge_and_its_answer_knows_on_its_return() {
    let mut stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    let plan = FaultPlan::none().with("PUT", "/merge", 1, Fault::DoneThen502);
    stage.github.set_faults(plan);
    stage.unit_passes(&pull).await;
    assert!(stage.merged(&pull));
    stage.github.lose_pending();
    stage.restart().await;
    stage.after(60).await;
    stage.sweep().await;
    landed_once(&stage, &pull).await;
    assert_eq!(stage.merge_calls(), 1);
}

#[tokio::test]
async fn a_program_that_ends_with_a_merge_that_never_happened_tries_it_on_its_return() {
    let mut stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    let gateway = Fault::Refuse(502, "Bad Gateway");
    let plan = FaultPlan::none().with("PUT", "/merge", 100, gateway);
    stage.github.set_faults(plan);
    stage.unit_passes(&pull).await;
    assert!(!stage.merged(&pull));
    let before = stage.merge_calls();
    assert!((1..5).contains(&before), "{before} calls at once");
    stage.github.set_faults(FaultPlan::none());
    stage.restart().await;
    stage.after(300).await;
    landed_once(&stage, &pull).await;
    assert_eq!(stage.merge_calls(), before + 1);
}

async fn mislanding_freezes_the_base(how: Mislanding) {
    let stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    stage.github.mislead_next_merge(how);
    stage.unit_passes(&pull).await;
    assert!(stage.merged(&pull));
    let landings = stage.ledger(Kind::Landed).await;
    assert_eq!(landings.len(), 1);
    assert_eq!(landings[0].body["judged"], "mismatch", "{landings:#?}");
    assert_eq!(stage.ledger(Kind::Freeze).await.len(), 1);

    let edits = Edits::write("src/other.rs", "pub fn other() {}\n");
    stage
        .agent
        .push(&stage.shop, "agent/other", "Another", edits)
        .unwrap();
    let next = stage
        .agent
        .open_pull(&stage.shop, "agent/other", "main", "Another")
        .unwrap();
    stage.settle().await;
    stage.clear(&next).await;
    stage.after(600).await;
    assert!(!stage.merged(&next));
    assert_eq!(stage.outcome(&next).await, "waiting");
    let said = stage.reasons(&next, "not_frozen").await;
    assert!(said.contains("`main` is frozen by countersign"), "{said}");
    assert!(said.contains("is not what was judged"), "{said}");
    assert_eq!(stage.merge_calls(), 1);
}

#[tokio::test]
async fn a_landing_with_another_tree_than_was_judged_freezes_the_base() {
    mislanding_freezes_the_base(Mislanding::WrongTree).await;
}

#[tokio::test]
async fn a_landing_with_other_parents_than_were_judged_freezes_the_base() {
    mislanding_freezes_the_base(Mislanding::WrongParents).await;
}

#[tokio::test]
async fn a_merge_by_a_person_past_the_gate_is_written_down() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.alice.merge(&pull, MergeMethod::Merge).unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "merged");
    let past = stage.ledger(Kind::MergedPastGate).await;
    assert_eq!(past.len(), 1);
    assert_eq!(past[0].body["by"]["login"], "alice");
    assert_eq!(past[0].body["verdict_before"], "waiting");
    assert!(stage.ledger(Kind::Landed).await.is_empty());
    assert_eq!(stage.merge_calls(), 0);
    // Nothing that was not so is said of it afterwards.
    stage.after(600).await;
    stage.sweep().await;
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_ne!(check.conclusion.as_deref(), Some("success"), "{check:?}");
    assert_eq!(stage.ledger(Kind::MergedPastGate).await.len(), 1);
}

#[tokio::test]
async fn a_merge_past_the_gate_that_nobody_told_of_is_found_by_the_sweep() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.alice.merge(&pull, MergeMethod::Merge).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "merged");
    assert_eq!(stage.ledger(Kind::MergedPastGate).await.len(), 1);
}

#[tokio::test]
async fn a_draft_waits_until_it_is_none() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.agent.convert_to_draft(&pull).unwrap();
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    assert_eq!(stage.state(&pull, "not_draft").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
    stage.agent.ready_for_review(&pull).unwrap();
    stage.settle().await;
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn a_press_on_hold_stops_the_merge_and_letting_go_lets_it_happen() {
    let stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    let head = pull.head().unwrap();
    let run = stage.our_check(&head).unwrap().id;
    stage.alice.press(&stage.shop, run, "hold").unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "held");
    stage.unit_passes(&pull).await;
    stage.after(600).await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "held");
    let check = stage.our_check(&head).unwrap();
    assert!(check.title.starts_with("Held: alice holds it"), "{check:?}");
    assert_eq!(check.conclusion, None);
    assert_eq!(stage.merge_calls(), 0);
    assert_eq!(stage.ledger(Kind::Hold).await.len(), 1);

    stage.alice.press(&stage.shop, check.id, "unhold").unwrap();
    stage.settle().await;
    landed_once(&stage, &pull).await;
    assert_eq!(stage.ledger(Kind::Hold).await.len(), 2);
}

#[tokio::test]
async fn a_hold_outlives_a_push_and_a_restart() {
    let mut stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    let run = stage.our_check(&pull.head().unwrap()).unwrap().id;
    stage.alice.press(&stage.shop, run, "hold").unwrap();
    stage.settle().await;
    let edits = Edits::write("README.md", "# Shop!\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "More", edits)
        .unwrap();
    stage.settle().await;
    stage.restart().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn while_github_does_not_know_whether_it_merges_the_gate_looks_again_by_itself() {
    let stage = Stage::new().await;
    stage.github.lock().behaviour.mergeable_null_reads = 3;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull));
    assert_eq!(stage.state(&pull, "conflicts").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
    for _ in 0..10 {
        stage.after(60).await;
    }
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn a_conflict_blocks_until_the_branch_is_mended() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let edits = Edits::write("src/start.rs", "pub fn start() {}\n");
    stage
        .alice
        .push(&stage.shop, "main", "Otherwise", edits)
        .unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let said = stage.reasons(&pull, "conflicts").await;
    assert!(said.contains("It conflicts with `main`"), "{said}");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn two_ready_pull_requests_that_change_one_line_are_not_both_merged() {
    let stage = Stage::new().await;
    let (one, other) = (stage.open_pull().await, stage.open_other("agent/b").await);
    let evidence = [stage.evidence(&one), stage.evidence(&other)];
    stage.reports(&stage.codex, &one, &evidence[0]).await;
    stage.reports(&stage.codex, &other, &evidence[1]).await;
    for pull in [&one, &other] {
        let head = pull.head().unwrap();
        stage
            .github
            .actions()
            .pass(&stage.shop, &head, "unit")
            .unwrap();
    }
    stage.settle().await;
    for _ in 0..10 {
        stage.after(60).await;
    }
    let merged = [stage.merged(&one), stage.merged(&other)];
    assert_eq!(merged.iter().filter(|merged| **merged).count(), 1);
    let left = if merged[0] { &other } else { &one };
    assert_eq!(
        stage.outcome(left).await,
        "blocked",
        "{}",
        stage.told(left).await
    );
    let landings = stage.ledger(Kind::Landed).await;
    assert_eq!(landings.len(), 1);
    assert_eq!(landings[0].body["judged"], "as_judged");
}

/// GitHub's limits are shared by everything that an installation does.
#[tokio::test]
async fn a_merged_pull_request_with_twenty_checks_costs_thirteen_calls() {
    let names: Vec<String> = (0..20).map(|nth| format!("check {nth}")).collect();
    let policy = POLICY.replace("[unit]", &format!("[{}]", names.join(", ")));
    let stage = Stage::with_policy(&policy).await;
    // The first one finds out what the base asks for; every later one is told when that changes.
    for branch in ["agent/one", "agent/two"] {
        stage.github.clear_calls();
        let pull = stage.open_other(branch).await;
        let head = pull.head().unwrap();
        for name in &names {
            let actions = stage.github.actions();
            actions.pass(&stage.shop, &head, name).unwrap();
            stage.settle().await;
        }
        let evidence = stage.evidence(&pull);
        stage.reports(&stage.codex, &pull, &evidence).await;
        stage.after(600).await;
        assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    }
    let calls = stage.github.calls();
    let calls: Vec<String> = calls
        .iter()
        .map(|call| format!("{} {}", call.method, call.route))
        .collect();
    insta::assert_snapshot!(calls.join("\n"), @r"
    GET /repos/{owner}/{repo}/compare/{+range}
    POST /repos/{owner}/{repo}/check-runs
    GET /repos/{owner}/{repo}/pulls/{number}
    PATCH /repos/{owner}/{repo}/check-runs/{id}
    GET /repos/{owner}/{repo}/pulls/{number}
    GET /repos/{owner}/{repo}/branches/{+branch}
    GET /repos/{owner}/{repo}/commits/{+ref}/check-runs
    GET /repos/{owner}/{repo}/commits/{+ref}/status
    GET /repos/{owner}/{repo}/pulls/{number}/reviews
    GET /repos/{owner}/{repo}/issues/{number}/comments
    PATCH /repos/{owner}/{repo}/check-runs/{id}
    PUT /repos/{owner}/{repo}/pulls/{number}/merge
    GET /repos/{owner}/{repo}/git/commits/{sha}
    ");
}

#[tokio::test]
async fn what_is_merged_keeps_the_gates_it_was_merged_on_and_is_nobodys_move() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert!(stage.merged(&pull));
    stage.after(60).await;
    stage.sweep().await;
    let verdict = stage.verdict(&pull).await;
    assert_eq!(
        (&verdict["outcome"], &verdict["title"]),
        (&"merged".into(), &"Merged".into())
    );
    assert_eq!(verdict["whose_move"], serde_json::json!([]));
    for gate in ["checks", "second_verifier", "mutation_check", "conflicts"] {
        assert_eq!(stage.state(&pull, gate).await, "satisfied", "{gate}");
    }
}

#[tokio::test]
async fn a_command_merges_nothing_into_a_branch_that_the_policy_does_not_name() {
    let policy = "version: 1\ngates: { checks: { required: [unit] } }\n\
                  merge: { when: ready, others: requested, base_branches: [main] }\n";
    let stage = Stage::with_policy(policy).await;
    stage.alice.branch(&stage.shop, "side", "main").unwrap();
    let (shop, alice) = (&stage.shop, &stage.alice);
    let edits = Edits::write("src/start.rs", AFTER);
    alice.push(shop, "work", "Work", edits).unwrap();
    let pull = alice.open_pull(shop, "work", "side", "Work").unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    // Nothing at GitHub stands in the way: the branch has no rule at all.
    stage.says(alice, &pull, "/merge").await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    assert_eq!(stage.merge_calls(), 0);
    // Nor does the wish, once the pull request goes where the policy merges.
    alice.retarget(&pull, "main").unwrap();
    stage.settle().await;
    assert!(!stage.merged(&pull));
    stage.says(alice, &pull, "/merge").await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn whether_a_head_contains_its_base_is_asked_of_the_branch_and_not_of_the_pull_request() {
    let policy = POLICY.replace("when: ready\n", "when: ready\n  up_to_date: required\n");
    assert_ne!(policy, POLICY);
    let stage = Stage::with_policy(&policy).await;
    let pull = stage.open_pull().await;
    let edits = Edits::write("README.md", "# The shop\n");
    let pushed = stage.alice.push(&stage.shop, "main", "Say which", edits);
    let tip = pushed.unwrap();
    // The push is not heard of, and the pull request goes on naming the old tip.
    stage.github.lose_pending();
    let named = pull.look(|pull| pull.base.sha.clone()).unwrap();
    assert_ne!(named, tip);
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.state(&pull, "up_to_date").await, "failed");
    assert_eq!(stage.merge_calls(), 0);
    stage.alice.update_branch(&pull).unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}
