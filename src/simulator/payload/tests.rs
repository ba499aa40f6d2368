use std::path::PathBuf;

use serde_json::Value;

use crate::clock::Clock;
use crate::simulator::world::{CheckDraft, Delivery, World};
use crate::simulator::{
    Actor, Edits, MergeMethod, Options, Permission, PullHandle, RepoHandle, Simulator,
};

/// The folder of the npm package `@octokit/webhooks-schemas`, where it is at hand.
const SCHEMAS: &str = "COUNTERSIGN_WEBHOOK_SCHEMAS";

/// A story in which everything happens that our App hears of.
fn everything() -> Vec<Delivery> {
    let start = chrono::DateTime::from_timestamp(1_750_000_000, 0).unwrap();
    let clock = Clock::manual(start);
    let github = Simulator::new(Options { clock, seed: 5 }).unwrap();
    github.lock().ping();
    let (alice, agent) = (github.user("alice"), github.user("acme-agent"));
    let shop = github.repo("acme/shop", &[("a.txt", "1\n2\n3\n")]).unwrap();
    shop.allow(&alice, Permission::Admin).unwrap();
    shop.allow(&agent, Permission::Write).unwrap();
    shop.install_app(&alice).unwrap();
    agent
        .push(
            &shop,
            "agent/one",
            "One",
            Edits::write("a.txt", "1\n2\n33\n"),
        )
        .unwrap();
    let pull = agent.open_pull(&shop, "agent/one", "main", "One").unwrap();
    pull.read().unwrap();
    change_the_pull(&alice, &agent, &shop, &pull);
    report(&github, &alice, &shop, &pull);
    speak(&alice, &shop, &pull);
    alice.merge(&pull, MergeMethod::Merge).unwrap();
    own(&github, &alice, &shop);
    github.lock().take_deliveries()
}

fn change_the_pull(alice: &Actor, agent: &Actor, shop: &RepoHandle, pull: &PullHandle) {
    agent
        .push(shop, "agent/one", "Two", Edits::write("b.txt", "b\n"))
        .unwrap();
    agent
        .push(shop, "agent/one", "Three", Edits::rename("b.txt", "c.txt"))
        .unwrap();
    alice.retitle(pull, "First").unwrap();
    alice.describe(pull, "Closes #7").unwrap();
    alice.branch(shop, "next", "main").unwrap();
    alice.retarget(pull, "next").unwrap();
    alice.retarget(pull, "main").unwrap();
    alice.convert_to_draft(pull).unwrap();
    alice.arm_auto_merge(pull, MergeMethod::Squash).unwrap();
    alice.disarm_auto_merge(pull).unwrap();
    alice.ready_for_review(pull).unwrap();
    alice.close(pull).unwrap();
    alice.reopen(pull).unwrap();
    alice
        .push(shop, "main", "Elsewhere", Edits::write("z.txt", "z\n"))
        .unwrap();
    alice.update_branch(pull).unwrap();
    alice.delete_branch(shop, "next").unwrap();
}

fn report(github: &Simulator, alice: &Actor, shop: &RepoHandle, pull: &PullHandle) {
    let head = pull.head().unwrap();
    let (ours, actions) = (github.our_app(), github.actions());
    let draft = CheckDraft {
        name: "countersign".to_owned(),
        head: head.clone(),
        buttons: vec![crate::simulator::world::Button {
            label: "Hold".to_owned(),
            description: "Stop it".to_owned(),
            identifier: "hold".to_owned(),
        }],
        ..CheckDraft::default()
    };
    let run = ours.check(shop, draft).unwrap();
    alice.press(shop, run, "hold").unwrap();
    ours.complete(shop, run, "success").unwrap();
    alice.rerequest(shop, run).unwrap();
    let suite = shop.look(|repo| repo.check_runs[&run].suite).unwrap();
    github
        .lock()
        .rerequest_suite(shop.id, suite, alice.principal())
        .unwrap();
    let ci = ".github/workflows/ci.yml";
    let ci = actions
        .start_workflow(shop, ci, "pull_request", &head)
        .unwrap();
    actions.report_job(shop, ci, "unit", None).unwrap();
    actions.finish_workflow(shop, ci, "success").unwrap();
    alice.rerun_workflow(shop, ci).unwrap();
    alice.set_status(shop, &head, "lint", "success").unwrap();
    let mut world = github.lock();
    let group = world.form_group(shop.id, &[pull.number]).unwrap();
    world.end_group(shop.id, &group, false).unwrap();
}

fn speak(alice: &Actor, shop: &RepoHandle, pull: &PullHandle) {
    let comment = alice.comment(pull, "/merge").unwrap();
    alice.edit_comment(shop, comment, "/hold").unwrap();
    alice.delete_comment(shop, comment).unwrap();
    let review = alice.approve(pull).unwrap();
    alice.edit_review(shop, review, "fine").unwrap();
    alice.dismiss_review(shop, review).unwrap();
    let thread = alice.ask_about(pull, "a.txt", 1, "Why?").unwrap();
    alice.resolve(shop, thread).unwrap();
    alice.unresolve(shop, thread).unwrap();
    alice.label(shop, pull.number, "agent").unwrap();
    alice.unlabel(shop, pull.number, "agent").unwrap();
    let issue = alice.open_issue(shop, "Something", "Trap").unwrap();
    alice.label(shop, issue, "dispatch").unwrap();
    alice.unlabel(shop, issue, "dispatch").unwrap();
    alice.comment_on(shop, issue, "yes").unwrap();
    alice.close_issue(shop, issue).unwrap();
}

fn own(github: &Simulator, alice: &Actor, shop: &RepoHandle) {
    let second = github.repo("acme/second", &[("a", "a\n")]).unwrap();
    second.install_app(alice).unwrap();
    second.deselect(alice).unwrap();
    shop.rename(alice, "store").unwrap();
    shop.archive(alice, true).unwrap();
    shop.archive(alice, false).unwrap();
    alice.branch(shop, "trunk", "main").unwrap();
    github
        .lock()
        .set_default_branch(shop.id, "trunk", alice.principal())
        .unwrap();
    shop.suspend_app(alice, true).unwrap();
    shop.suspend_app(alice, false).unwrap();
    shop.grant_app(alice, &[("checks", "write")]).unwrap();
    shop.uninstall_app(alice).unwrap();
}

/// The published schemas know no event by name: each delivery is held against the definition of its
/// event and action.
#[test]
fn every_delivery_is_as_githubs_published_schemas_say() {
    let Some(folder) = std::env::var_os(SCHEMAS).map(PathBuf::from) else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("schema.json")).unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let mut wrong = Vec::new();
    for delivery in everything() {
        let action = delivery.action.as_deref().unwrap_or("event");
        let name = format!("{}${action}", delivery.event);
        if whole["definitions"][&name].is_null() {
            wrong.push(format!("{name}: the schemas do not know it"));
            continue;
        }
        let schema = serde_json::json!({
            "$schema": whole["$schema"],
            "definitions": whole["definitions"],
            "$ref": format!("#/definitions/{name}"),
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        for error in validator.iter_errors(&delivery.payload) {
            // The published list of events a hook may name lags behind: it has no `merge_group`.
            if error.instance_path().to_string() == "/hook/events" {
                continue;
            }
            wrong.push(format!("{name} at {}: {error}", error.instance_path()));
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_event_the_app_subscribes_to_is_heard_in_the_story_of_everything() {
    let heard: std::collections::BTreeSet<String> = everything()
        .into_iter()
        .map(|delivery| delivery.event)
        .collect();
    let start = chrono::DateTime::from_timestamp(1_750_000_000, 0).unwrap();
    let pool = crate::simulator::git::Pool::shared().unwrap();
    let world = World::new(Clock::manual(start), 1, pool);
    let mut expected = world.apps[&world.our_app].events.clone();
    assert!(expected.remove("deployment_status"), "nobody deploys here");
    for unasked in ["installation", "installation_repositories", "ping"] {
        expected.insert(unasked.to_owned());
    }
    assert_eq!(heard, expected);
}

#[test]
fn every_delivery_about_a_repository_carries_its_installation_and_sender() {
    for delivery in everything() {
        if delivery.event == "ping" {
            continue;
        }
        let (event, payload) = (&delivery.event, &delivery.payload);
        assert!(payload["installation"]["id"].is_u64(), "{event}");
        assert!(payload["sender"]["id"].is_u64(), "{event}");
    }
}

#[test]
fn a_push_lists_the_paths_each_commit_touched() {
    let pushes: Vec<Value> = everything()
        .into_iter()
        .filter(|delivery| delivery.event == "push")
        .map(|delivery| delivery.payload["commits"].clone())
        .collect();
    let three = &pushes[2][0];
    assert_eq!(three["message"], "Three");
    assert_eq!(
        (&three["added"][0], &three["removed"][0]),
        (&"c.txt".into(), &"b.txt".into())
    );
}

#[test]
fn contents_are_base64_in_lines_and_folders_are_lists() {
    let start = chrono::DateTime::from_timestamp(1_750_000_000, 0).unwrap();
    let clock = Clock::manual(start);
    let github = Simulator::new(Options { clock, seed: 5 }).unwrap();
    let long = "a line of some length\n".repeat(8);
    let files = [
        ("docs/one.md", long.as_str()),
        ("docs/two/x.md", "x\n"),
        ("z", "z\n"),
    ];
    let shop = github.repo("acme/shop", &files).unwrap();
    let tip = shop.tip("main").unwrap();
    let world = github.lock();
    let repo = world.repo(shop.id).unwrap();
    let file = super::content(&world, repo, "docs/one.md", &tip);
    let text = file["content"].as_str().unwrap();
    assert!(text.lines().all(|line| line.len() <= 60) && text.ends_with('\n'));
    let names = |path: &str| {
        let listed = super::content(&world, repo, path, &tip);
        let entries = listed.as_array().unwrap().clone();
        entries
            .iter()
            .map(|entry| {
                format!(
                    "{} {}",
                    entry["type"].as_str().unwrap(),
                    entry["path"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(names("docs"), ["file docs/one.md", "dir docs/two"]);
    assert_eq!(names(""), ["dir docs", "file z"]);
    assert!(super::content(&world, repo, "missing", &tip).is_null());
}

#[test]
fn a_comparison_counts_both_sides_and_diffs_from_the_merge_base() {
    let start = chrono::DateTime::from_timestamp(1_750_000_000, 0).unwrap();
    let clock = Clock::manual(start);
    let github = Simulator::new(Options { clock, seed: 5 }).unwrap();
    let alice = github.user("alice");
    let shop = github.repo("acme/shop", &[("a", "1\n")]).unwrap();
    let root = shop.tip("main").unwrap();
    let head = alice
        .push(&shop, "side", "side", Edits::write("b", "b\n"))
        .unwrap();
    let main = alice
        .push(&shop, "main", "main", Edits::write("c", "c\n"))
        .unwrap();
    let world = github.lock();
    let compared = super::compare(&world, world.repo(shop.id).unwrap(), &main, &head);
    assert_eq!(compared["status"], "diverged");
    assert_eq!(
        (&compared["ahead_by"], &compared["behind_by"]),
        (&1.into(), &1.into())
    );
    assert_eq!(compared["merge_base_commit"]["sha"], root);
    assert_eq!(compared["files"].as_array().unwrap().len(), 1);
    assert_eq!(compared["files"][0]["filename"], "b");
    assert_eq!(compared["files"][0]["patch"], "@@ -0,0 +1 @@\n+b");
}
