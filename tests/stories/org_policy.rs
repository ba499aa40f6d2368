//! The organisation's default policy, for repositories that have none of their own.

use countersign::domain::model::{PullNumber, RepoId, RepoName};
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{Edits, Permission, PullHandle, RepoHandle};

use crate::http::Http;
use crate::stage::{POLICY, Stage};

const PATH: &str = ".github/countersign.yml";
/// A policy under which the agent's pull request passes once `unit` does.
const LAX: &str = "\
version: 1
agents: { authors: ['acme-agent[bot]'] }
gates: { checks: { required: [unit] } }
merge: { when: ready, others: ready, base_branches: [main] }
";

/// A stage whose shop has this policy (none, if empty), and `acme/.github` with another.
async fn with_default(own: &str, default: &str) -> (Stage, RepoHandle) {
    let stage = Stage::with_policy(own).await;
    let defaults = defaults_of(&stage, default);
    defaults.install_app(&stage.alice).unwrap();
    stage.settle().await;
    (stage, defaults)
}

fn defaults_of(stage: &Stage, policy: &str) -> RepoHandle {
    let files = [("profile/README.md", "# Acme\n"), (PATH, policy)];
    let repo = stage.github.repo("acme/.github", &files).unwrap();
    repo.allow(&stage.alice, Permission::Admin).unwrap();
    repo
}

async fn commit(stage: &Stage, repo: &RepoHandle, edits: Edits) {
    stage
        .alice
        .push(repo, "main", "Change the policy", edits)
        .unwrap();
    stage.settle().await;
}

/// The dashboard's page about pull request 1.
async fn page_of(stage: &Stage) -> String {
    let page = stage.serve_pages("secret").await + "/repos/acme/shop/pulls/1";
    let request = ::http::Request::builder()
        .uri(page)
        .header("authorization", "Bearer secret")
        .body(axum::body::Body::empty());
    let (_, _, page) = Http::new().send(request.unwrap()).await.unwrap();
    String::from_utf8(page).unwrap()
}

fn named(defaults: &RepoHandle) -> String {
    let tip = defaults.tip("main").unwrap();
    format!("the organisation's default, acme/.github at {}", &tip[..7])
}

async fn summary(stage: &Stage, pull: &PullHandle) -> String {
    // A page that changed in wording alone is held back for a while.
    stage.after(60).await;
    let check = stage.our_check(&pull.head().unwrap());
    check.expect("a check of ours").summary
}

#[tokio::test]
async fn the_default_applies_where_a_repository_has_no_policy_and_is_named() {
    let (stage, defaults) = with_default("", POLICY).await;
    let pull = stage.open_pull().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    let said = summary(&stage, &pull).await;
    let named = named(&defaults);
    assert!(said.contains("by the policy `"), "{said}");
    assert!(said.contains(&named), "{said}");
    let policy = stage.gate(&pull, "policy").await;
    assert_eq!(policy["rests_on"][0]["what"], named, "{policy}");

    let page = page_of(&stage).await;
    assert!(page.contains(&named.replace('\'', "&#39;")), "{page}");

    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.merge_calls(), 1);
}

#[tokio::test]
async fn a_repository_of_its_own_mind_is_judged_by_its_own_policy() {
    let (stage, _) = with_default(POLICY, LAX).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    assert!(!summary(&stage, &pull).await.contains("default"));
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn an_invalid_policy_of_its_own_stops_merging_and_does_not_fall_back() {
    let (stage, _) = with_default("version: 1\ngates: {}\n", LAX).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let said = stage.reasons(&pull, "policy").await;
    assert!(
        said.contains("The policy at the base branch's tip does not validate"),
        "{said}"
    );
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_policy_of_its_own_that_cannot_be_read_does_not_fall_back() {
    let (stage, _) = with_default(POLICY, LAX).await;
    let refused = Fault::Refuse(500, "Server Error");
    let contents = "/repos/acme/shop/contents/";
    let plan = FaultPlan::none().with("GET", contents, 500, refused);
    stage.github.set_faults(plan);
    // The base moves, so the policy must be read anew.
    let edits = Edits::write(PATH, POLICY.replace("count: 1", "count: 2"));
    commit(&stage, &stage.shop, edits).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "undetermined");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn an_invalid_default_stops_merging_and_its_mending_judges_again() {
    let (stage, defaults) = with_default("", "version: 1\ngates: {}\n").await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let gate = stage.gate(&pull, "policy").await;
    let said = gate["reason"].as_str().unwrap();
    assert!(
        said.starts_with("The organisation's default policy, acme/.github at "),
        "{said}"
    );
    let next = gate["next"].as_str().unwrap();
    assert!(next.contains("in acme/.github"), "{next}");
    commit(&stage, &defaults, Edits::write(PATH, POLICY)).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_stricter_default_counts_at_once_also_when_its_push_was_never_heard_of() {
    let (stage, defaults) = with_default("", LAX).await;
    let pull = stage.open_pull().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    stage
        .alice
        .push(&defaults, "main", "Be strict", Edits::write(PATH, POLICY))
        .unwrap();
    stage.github.lose_pending();
    stage.unit_passes(&pull).await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_push_that_leaves_the_default_as_it_is_wakes_nobody() {
    let (stage, defaults) = with_default("", POLICY).await;
    let pull = stage.open_pull().await;
    let before = stage.github.calls().len();
    let edits = Edits::write("profile/README.md", "# Acme, again\n");
    commit(&stage, &defaults, edits).await;
    assert_eq!(stage.github.calls().len(), before);
    assert_eq!(stage.outcome(&pull).await, "waiting");
}

#[tokio::test]
async fn where_the_app_may_not_act_in_the_repository_of_defaults_nothing_happens() {
    let stage = Stage::with_policy("").await;
    defaults_of(&stage, LAX);
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    assert!(stage.our_check(&pull.head().unwrap()).is_none());
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_default_that_is_given_to_the_app_later_applies_from_then_on() {
    let stage = Stage::with_policy("").await;
    let defaults = defaults_of(&stage, POLICY);
    let pull = stage.open_pull().await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    defaults.install_app(&stage.alice).unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    // And no longer once it is taken away.
    defaults.deselect(&stage.alice).unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_default_that_is_taken_away_leaves_no_policy() {
    let (stage, defaults) = with_default("", POLICY).await;
    let pull = stage.open_pull().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    commit(&stage, &defaults, Edits::remove(PATH)).await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    stage.clear(&pull).await;
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_default_that_cannot_be_read_is_not_the_absence_of_one() {
    let (stage, defaults) = with_default("", LAX).await;
    let pull = stage.open_pull().await;
    let plan = FaultPlan::none().with(
        "GET",
        "/repos/acme/.github/",
        500,
        Fault::Refuse(500, "Server Error"),
    );
    stage.github.set_faults(plan);
    commit(&stage, &defaults, Edits::write(PATH, POLICY)).await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "undetermined");
    let said = stage.reasons(&pull, "policy").await;
    assert!(
        said.contains("the organisation's default in acme/.github is not known"),
        "{said}"
    );
    assert_eq!(stage.merge_calls(), 0);
    stage.github.set_faults(FaultPlan::none());
    stage.after(300).await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
}

#[tokio::test]
async fn another_account_s_default_counts_for_nothing() {
    let stage = Stage::with_policy("").await;
    let files = [(PATH, LAX)];
    let foreign = stage.github.repo("globex/.github", &files).unwrap();
    foreign.allow(&stage.alice, Permission::Admin).unwrap();
    foreign.install_app(&stage.alice).unwrap();
    stage.settle().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ignored");

    // Not even where a stale name makes it look like this account's.
    let id = RepoId::new(foreign.look(|repo| repo.id).unwrap()).unwrap();
    let mut memory = stage.store.repo(id).await.unwrap();
    let known = memory.value.repo.as_mut().unwrap();
    known.name = RepoName::parse("acme/.github").unwrap();
    assert!(stage.store.remember_repo(id, &memory).await.unwrap());
    let edits = Edits::write("README.md", "# Another\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "More", edits)
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn the_repository_of_defaults_is_judged_by_the_same_file_as_its_own() {
    let (stage, defaults) = with_default("", POLICY).await;
    defaults.allow(&stage.agent, Permission::Write).unwrap();
    stage
        .agent
        .push(&defaults, "agent/x", "x", Edits::write("x", "x"))
        .unwrap();
    let pull = stage
        .agent
        .open_pull(&defaults, "agent/x", "main", "x")
        .unwrap();
    stage.settle().await;
    let number = pull.look(|pull| pull.number).unwrap();
    let id = RepoId::new(defaults.look(|repo| repo.id).unwrap()).unwrap();
    let number = PullNumber::new(number).unwrap();
    let record = stage.store.record(id, number).await.unwrap();
    let verdict = record.verdict.unwrap();
    assert_eq!(verdict["outcome"], "waiting");
    assert_eq!(verdict["policy_from"], "repository");
}
