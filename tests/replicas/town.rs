//! Many repositories with many pull requests, and what is to become of each.

use std::collections::BTreeMap;

use countersign::clock::Clock;
use countersign::simulator::deliveries::Sent;
use countersign::simulator::faults::{Fate, FaultPlan, When};
use countersign::simulator::http::Limits;
use countersign::simulator::{
    Actor, Edits, Options, Permission, PullHandle, RepoHandle, Simulator,
};

use crate::stage::{AFTER, BEFORE, POLICY, evidence};

/// How many pull requests a repository has: each merge changes what the others of its base stand on.
const PER_REPO: usize = 20;
/// Over how many rounds the stories begin; a story has two.
const SPREAD: usize = 8;
/// What is asked of the product in a comment.
const QUESTION: &str = "/status";

/// What a pull request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fortune {
    /// Everything is brought: it is merged.
    Merged,
    /// Everything is brought, and somebody holds it.
    Held,
    /// The verifier rejects it.
    Rejected,
    /// The required check fails.
    Failing,
    /// Nobody verifies it.
    Unverified,
}

impl Fortune {
    fn of(nth: usize) -> Self {
        match nth % 10 {
            6 => Self::Held,
            7 => Self::Rejected,
            8 => Self::Failing,
            9 => Self::Unverified,
            _ => Self::Merged,
        }
    }
}

/// One pull request.
pub struct Case {
    pub fortune: Fortune,
    pub name: String,
    pub repo: RepoHandle,
    pub pull: PullHandle,
    /// The file that it changes.
    file: String,
    /// When its story begins.
    begins: usize,
}

/// A GitHub full of them.
pub struct Town {
    pub github: Simulator,
    pub api_url: String,
    pub cases: Vec<Case>,
    alice: Actor,
    codex: Actor,
}

impl Town {
    /// So many pull requests, opened over the rounds of [`Town::act`].
    pub async fn build(pulls: usize) -> Self {
        let options = Options {
            clock: Clock::System,
            seed: 5,
        };
        let github = Simulator::new(options).unwrap();
        github.set_faults(FaultPlan::seeded(5).with_delivery(
            "*",
            When::Chance(0.05),
            Fate::Doubled,
        ));
        // Hours of a day's work are pressed into minutes; limits are counted by the hour.
        github.set_limits(Limits {
            hourly: 1_000_000,
            ..Limits::default()
        });
        let api_url = github.serve().await.unwrap();
        let mut town = Self {
            alice: github.user("alice"),
            codex: github.other_app("codex-verify"),
            github,
            api_url,
            cases: Vec::new(),
        };
        let agent = town.github.other_app("acme-agent");
        let twin = town.github.other_app("claude-verify");
        for first in (0..pulls).step_by(PER_REPO) {
            let name = format!("owner-{first}/shop");
            let here = first..pulls.min(first + PER_REPO);
            let files: Vec<String> = here.clone().map(|nth| format!("src/f{nth}.rs")).collect();
            let mut start: Vec<(&str, &str)> =
                files.iter().map(|file| (file.as_str(), BEFORE)).collect();
            start.push((".github/countersign.yml", POLICY));
            let repo = town.github.repo(&name, &start).unwrap();
            repo.allow(&town.alice, Permission::Admin).unwrap();
            for app in [&agent, &town.codex, &twin] {
                repo.allow(app, Permission::Write).unwrap();
            }
            repo.install_app(&town.alice).unwrap();
            for (nth, file) in here.zip(files) {
                let branch = format!("agent/{nth}");
                let edits = Edits::write(&file, AFTER);
                agent
                    .push(&repo, &branch, "Record every start", edits)
                    .unwrap();
                let pull = agent.open_pull(&repo, &branch, "main", "Record every start");
                town.cases.push(Case {
                    fortune: Fortune::of(nth),
                    name: name.clone(),
                    repo: repo.clone(),
                    pull: pull.unwrap(),
                    file,
                    begins: nth % SPREAD,
                });
            }
        }
        town
    }

    /// What happens next, to every pull request.
    pub fn act(&self, round: usize) {
        for case in &self.cases {
            let head = case.pull.head().unwrap();
            match round.checked_sub(case.begins) {
                Some(0) => self.comes_to_checks(case, &head),
                Some(1) => self.comes_to_verifiers(case, &head),
                // Checks that nobody waits for go on and on, of what is merged too.
                _ => {
                    let lint = self.github.actions().pass(&case.repo, &head, "lint");
                    lint.unwrap();
                }
            }
        }
    }

    fn comes_to_checks(&self, case: &Case, head: &str) {
        if case.fortune == Fortune::Held {
            self.alice
                .comment(&case.pull, "/hold until the release")
                .unwrap();
        }
        self.alice.comment(&case.pull, QUESTION).unwrap();
        let conclusion = match case.fortune {
            Fortune::Failing => "failure",
            _ => "success",
        };
        let actions = self.github.actions();
        actions
            .conclude(&case.repo, head, "unit", conclusion)
            .unwrap();
    }

    fn comes_to_verifiers(&self, case: &Case, head: &str) {
        let result = match case.fortune {
            Fortune::Unverified => return,
            Fortune::Rejected => "rejected",
            _ => "approved",
        };
        let main = case.repo.tip("main").unwrap();
        let tree = {
            let world = self.github.lock();
            let commit = world.pool.commit(head).unwrap();
            commit.tree.clone()
        };
        let document = evidence((&case.name, head), (&main, &tree), &case.file)
            .with("/result", serde_json::json!(result));
        let document = match case.fortune {
            Fortune::Rejected => document.with("/reason", serde_json::json!("tests_failed")),
            _ => document,
        };
        let text = document.block();
        let told = self
            .codex
            .report(&case.repo, head, "verification", "success", &text);
        told.unwrap();
    }

    /// Whether every story has been told after so many rounds.
    pub fn is_told(&self, rounds: usize) -> bool {
        rounds > SPREAD
    }

    /// How many deliveries were tried.
    pub fn sent(&self) -> usize {
        self.github.sent().len()
    }

    /// Those that nobody ever took, by their GUIDs.
    pub fn lost(&self) -> Vec<String> {
        let mut taken: BTreeMap<String, bool> = BTreeMap::new();
        for Sent {
            delivery, status, ..
        } in self.github.sent()
        {
            *taken.entry(delivery.guid).or_default() |= (200..300).contains(&status);
        }
        taken.retain(|_, taken| !*taken);
        taken.into_keys().collect()
    }

    /// Which pull requests are not where they belong yet, or were treated twice.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let merges = self.github.calls_to("PUT", "/merge");
        for case in &self.cases {
            let (number, head) = case
                .pull
                .look(|pull| (pull.number, pull.head.sha.clone()))
                .unwrap();
            let path = format!("/repos/{}/pulls/{number}/merge", case.name);
            let merge_calls = merges.iter().filter(|call| call.path == path).count();
            let (checks, answers) = self.ours(case, number, &head);
            let to_merge = case.fortune == Fortune::Merged;
            let merged = case.pull.look(|pull| pull.merged()).unwrap();
            let expected = (to_merge, usize::from(to_merge), 1, 1);
            if (merged, merge_calls, checks, answers) != expected {
                wrong.push(format!(
                    "{}#{number} ({:?}): merged {merged}, {merge_calls} merge calls, {checks} check runs, {answers} answers",
                    case.name, case.fortune
                ));
            }
        }
        wrong
    }

    /// Our check runs on a head, and our answers to the question.
    fn ours(&self, case: &Case, number: u64, head: &str) -> (usize, usize) {
        let id = case.repo.look(|repo| repo.id).unwrap();
        let world = self.github.lock();
        let ours = world.our_app;
        let repo = world.repo(id).unwrap();
        let runs = repo.check_runs.values();
        let runs = runs
            .filter(|run| run.app == ours && run.head == head)
            .count();
        let comments = repo.comments.values();
        let answers = comments
            .filter(|comment| comment.number == number && comment.app == Some(ours))
            .count();
        (runs, answers)
    }
}
