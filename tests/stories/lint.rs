//! A policy against its repository, read over HTTP from a simulated GitHub in which one thing is wrong.

use std::sync::Arc;

use countersign::domain::model::RepoName;
use countersign::domain::policy::lint::{self, Finding, Severity};
use countersign::domain::policy::read;
use countersign::domain::render::diagnosis;
use countersign::github::Reads;
use countersign::inspect::Inspect;
use countersign::simulator::faults::{Fault, FaultPlan, When};
use countersign::simulator::world::{BranchProtection, RequiredCheck, RequiredReviews, Rule};
use countersign::simulator::{Edits, MergeMethod};

use crate::stage::{self, POLICY, Stage};

/// The usual policy with its one check pinned, and people.
pub fn policy() -> String {
    POLICY.replace("[unit]", "[{ name: unit, app: github-actions }]")
        + "owners: [alice, '@acme/owners']\n"
}

/// A stage in which everything that [`policy`] names is there and has reported on a pull request.
pub async fn stage() -> Stage {
    let stage = Stage::with_policy(&policy()).await;
    stage.github.team("acme", "owners", &[&stage.alice]);
    require_ours(&stage, Some(stage.github.app().app_id));
    let pull = stage.open_pull().await;
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.twin, &pull, &evidence).await;
    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    stage
}

/// A ruleset on `main` requires our check, from this App.
pub fn require_ours(stage: &Stage, app: Option<u64>) {
    let rule = Rule::RequiredStatusChecks {
        checks: vec![check("countersign", app)],
        strict: false,
    };
    let made = stage.shop.add_ruleset(&["main"], vec![rule], vec![]);
    made.unwrap();
}

fn check(context: &str, app: Option<u64>) -> RequiredCheck {
    RequiredCheck {
        context: context.to_owned(),
        app,
    }
}

async fn facts(stage: &Stage, text: &str) -> lint::Facts {
    let reads: Arc<dyn Reads> = stage::client(&stage.github, &stage.api_url, stage.clock.clone());
    let own = reads.app().await.unwrap().id;
    let name = RepoName::parse("acme/shop").unwrap();
    let repo = reads.repository(&name).await.unwrap();
    let policy = read::read(text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    Inspect::new(reads, own).reality(&repo, &policy).await
}

async fn findings(stage: &Stage, text: &str) -> Vec<Finding> {
    let facts = facts(stage, text).await;
    lint::judge(text, &read::read(text).unwrap(), &facts)
}

async fn told(stage: &Stage, text: &str) -> String {
    diagnosis::findings("policy.yml", &findings(stage, text).await, false)
}

#[tokio::test]
async fn a_policy_that_fits_its_repository_has_no_finding() {
    let stage = stage().await;
    assert_eq!(told(&stage, &policy()).await, "Nothing is wrong.\n");
    let looked = facts(&stage, &policy()).await.looked_at();
    assert_eq!(looked, "the tip of `main` and the head of #1");
}

#[tokio::test]
async fn a_misspelt_policy_is_told_line_by_line_as_a_person_reads_it() {
    let stage = stage().await;
    let text = policy()
        .replace("name: unit", "name: Unit Tests")
        .replace("codex-verify,", "codex-verfy,")
        .replace("[main]", "[main, release]")
        .replace("alice,", "alise,")
        .replace("@acme/owners", "@acme/ownrs")
        .replace("merge:\n", "merge:\n  method: rebase\n");
    let methods = [MergeMethod::Merge, MergeMethod::Squash];
    stage.shop.allow_methods(&methods).unwrap();
    insta::assert_snapshot!(told(&stage, &text).await, @r"
    policy.yml:8:17: error: GitHub knows no App `codex-verfy`, and none of that name reported here
      8 |   codex: { app: codex-verfy, vendor: openai, model: gpt-5-codex }
                          ^
      mend: did you mean `codex-verify`?
    policy.yml:12:16: error: nobody ever reported `Unit Tests`: looked at the tip of `main` and the head of #1
      12 |     required: [{ name: Unit Tests, app: github-actions }]
                          ^
      mend: did you mean `unit`?
    policy.yml:19:11: error: the repository's settings do not allow the merge method `rebase`
      19 |   method: rebase
                     ^
      mend: set `merge.method` to `merge` or `squash`, or allow `rebase` under Settings, General, Pull Requests
    policy.yml:22:25: error: there is no branch `release`
      22 |   base_branches: [main, release]
                                   ^
      mend: make the branch, or remove it here (the default branch is `main`)
    policy.yml:23:10: error: nobody on GitHub has the login `alise`: the entry gives nobody a say
      23 | owners: [alise, '@acme/ownrs']
                    ^
      mend: write the login as it is now (people rename themselves), or remove it
    policy.yml:23:17: error: GitHub shows this App no team `@acme/ownrs`
      23 | owners: [alise, '@acme/ownrs']
                           ^
      mend: write the team's slug as it stands in its address
    6 errors.
    ");
}

#[tokio::test]
async fn a_check_of_another_app_or_workflow_is_found() {
    let stage = stage().await;
    let jenkins = stage.github.other_app("jenkins");
    let head = stage.shop.tip("main").unwrap();
    stage
        .shop
        .allow(&jenkins, countersign::simulator::Permission::Write)
        .unwrap();
    jenkins.pass(&stage.shop, &head, "integration").unwrap();
    let text = policy().replace(
        "[{ name: unit, app: github-actions }]",
        "[{ name: integration, app: github-actions }]",
    );
    let said = told(&stage, &text).await;
    assert!(
        said.contains(
            "`integration` was never reported by the App `github-actions`, but by the App `jenkins`"
        ),
        "{said}"
    );

    let actions = stage.github.actions();
    let ran = actions.start_workflow(&stage.shop, ".github/workflows/ci.yml", "push", &head);
    actions
        .report_job(&stage.shop, ran.unwrap(), "lint", Some("success"))
        .unwrap();
    let pinned = |file: &str| {
        let entry =
            format!("[{{ name: lint, app: github-actions, workflow: .github/workflows/{file} }}]");
        policy().replace("[{ name: unit, app: github-actions }]", &entry)
    };
    let said = told(&stage, &pinned("cli.yml")).await;
    assert!(said.contains("`lint` was never reported from `.github/workflows/cli.yml`, but from `.github/workflows/ci.yml`"), "{said}");
    assert_eq!(told(&stage, &pinned("ci.yml")).await, "Nothing is wrong.\n");
}

#[tokio::test]
async fn a_private_app_is_known_by_its_bot_user() {
    let stage = stage().await;
    let hidden = stage.github.other_app("house-verify");
    let id = hidden.app.unwrap();
    stage.github.lock().apps.get_mut(&id).unwrap().public = false;
    let text = policy().replace("claude-verify", "house-verify");
    let found = findings(&stage, &text).await;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].severity, Severity::Warning);
    assert!(
        found[0]
            .what
            .starts_with("the App `house-verify` never made a check run here")
    );
    let gone = policy().replace("claude-verify", "nobody-verify");
    let absent = findings(&stage, &gone).await;
    assert_eq!(absent[0].severity, Severity::Error, "{absent:#?}");
    assert!(
        absent[0]
            .what
            .starts_with("GitHub knows no App `nobody-verify`")
    );
    // A server may say 403 of an App that it does not show; then only the bot user proves it.
    let plan = FaultPlan::none().when("GET", "/apps/", When::Always, Fault::status(403));
    stage.github.set_faults(plan);
    assert_eq!(findings(&stage, &text).await, found);
    let unknown = findings(&stage, &gone).await;
    assert_eq!(unknown[0].severity, Severity::Blind, "{unknown:#?}");
}

#[tokio::test]
async fn a_base_that_github_would_not_let_us_merge_into_is_found() {
    let stage = stage().await;
    let reviews = RequiredReviews {
        methods: vec![MergeMethod::Squash],
        ..RequiredReviews::default()
    };
    let rules = vec![
        Rule::MergeQueue(MergeMethod::Merge),
        Rule::Update,
        Rule::LinearHistory,
        Rule::PullRequest(reviews),
    ];
    stage.shop.add_ruleset(&["main"], rules, vec![]).unwrap();
    let said = told(&stage, &policy()).await;
    for words in [
        "merge queue only",
        "updated by nobody without a bypass",
        "takes no merge commits",
        "allows `squash` only, and the policy says `merge`",
        "4 errors.",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn a_branch_that_only_a_pattern_names_is_looked_at_where_a_pull_request_shows_it() {
    let stage = stage().await;
    let edits = Edits::write("notes.md", "One.\n");
    stage
        .alice
        .push(&stage.shop, "release/1", "Release", edits)
        .unwrap();
    let edits = Edits::write("notes.md", "Two.\n");
    stage
        .agent
        .push(&stage.shop, "agent/notes", "Notes", edits)
        .unwrap();
    let opened = stage
        .agent
        .open_pull(&stage.shop, "agent/notes", "release/1", "Notes");
    opened.unwrap();
    let queue = vec![Rule::MergeQueue(MergeMethod::Merge)];
    stage
        .shop
        .add_ruleset(&["release/1"], queue, vec![])
        .unwrap();
    let text = policy().replace("[main]", "[main, 'release/*']");
    let said = told(&stage, &text).await;
    assert!(
        said.contains("`release/1` is merged by GitHub's merge queue only"),
        "{said}"
    );
    // What the policy does not merge into is not its business.
    assert_eq!(told(&stage, &policy()).await, "Nothing is wrong.\n");
}

/// Rulesets and classic protection are two systems; what one does not tell is not "no rules".
#[tokio::test]
async fn our_check_is_seen_as_required_in_a_ruleset_and_in_classic_protection() {
    let bare = Stage::with_policy(&policy()).await;
    let own = bare.github.app().app_id;
    let not_required = "does not require the check `countersign`";
    assert!(told(&bare, &policy()).await.contains(not_required));
    let classic = |app| BranchProtection {
        checks: vec![check("countersign", app)],
        ..BranchProtection::default()
    };
    bare.shop.protect("main", classic(Some(own))).unwrap();
    let said = told(&bare, &policy()).await;
    assert!(!said.contains("`countersign`"), "{said}");
    // A name alone can be reported by whoever may write.
    bare.shop.protect("main", classic(None)).unwrap();
    let said = told(&bare, &policy()).await;
    assert!(
        said.contains("error: GitHub requires the check `countersign` on `main` from any source"),
        "{said}"
    );

    let ruled = Stage::with_policy(&policy()).await;
    require_ours(&ruled, Some(ruled.github.app().app_id));
    let said = told(&ruled, &policy()).await;
    assert!(!said.contains("the check `countersign`"), "{said}");
    let other = ruled.codex.app;
    require_ours(&ruled, other);
    let said = told(&ruled, &policy()).await;
    assert!(said.contains("so no merge would ever be allowed"), "{said}");
}

#[tokio::test]
async fn a_check_that_github_itself_requires_from_a_ruleset_and_nobody_reports_is_found() {
    let stage = stage().await;
    let rule = Rule::RequiredStatusChecks {
        checks: vec![check("Unit", None)],
        strict: false,
    };
    stage
        .shop
        .add_ruleset(&["main"], vec![rule], vec![])
        .unwrap();
    let said = told(&stage, &policy()).await;
    assert!(
        said.contains("GitHub requires `Unit` on `main`, and nobody ever reported `Unit`"),
        "{said}"
    );
    assert!(said.contains("did you mean `unit`?"), "{said}");
}

/// A permission that is missing is said with GitHub's words, and nothing behind it passes for fine.
#[tokio::test]
async fn what_may_not_be_read_is_said_and_never_fine() {
    let stage = stage().await;
    let granted = [
        ("contents", "write"),
        ("pull_requests", "write"),
        ("metadata", "read"),
        ("statuses", "read"),
    ];
    stage.shop.grant_app(&stage.alice, &granted).unwrap();
    let found = findings(&stage, &policy()).await;
    let blind: Vec<&str> = found
        .iter()
        .filter(|one| one.severity == Severity::Blind)
        .map(|one| one.what.as_str())
        .collect();
    let says = |words: &str| blind.iter().any(|what| what.contains(words));
    assert!(
        says("could not look at #1: its check runs: GitHub refused for want of permission (403)"),
        "{blind:#?}"
    );
    assert!(
        says("could not look: the team `@acme/owners`: GitHub refused for want"),
        "{blind:#?}"
    );
    let check = found
        .iter()
        .find(|one| one.key == "gates.checks.required[0]");
    assert_eq!(check.unwrap().severity, Severity::Warning, "{found:#?}");
}

#[tokio::test]
async fn every_single_read_that_fails_is_said() {
    let stage = stage().await;
    for route in [
        "/pulls",
        "/branches/",
        "/rules/branches/",
        "/check-runs",
        "/status",
        "/users/",
        "/teams/",
    ] {
        let plan = FaultPlan::none().when("GET", route, When::Always, Fault::status(502));
        stage.github.set_faults(plan);
        let found = findings(&stage, &policy()).await;
        assert!(
            found.iter().any(|one| one.severity == Severity::Blind),
            "{route}: {found:#?}"
        );
        assert!(
            found.iter().all(|one| one.severity != Severity::Error),
            "{route}: {found:#?}"
        );
    }
    stage.github.set_faults(FaultPlan::none());
    assert_eq!(told(&stage, &policy()).await, "Nothing is wrong.\n");
}
