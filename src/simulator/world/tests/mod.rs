//! The truths about GitHub and git that stories rest on.

mod checks;
mod gates;
mod merges;
mod owners;
mod pulls;

use super::*;
use crate::simulator::{Actor, Edits, Options, PullHandle, RepoHandle, Simulator};

const POEM: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// A shop with a poem in it, a person who may write, an agent who may too, and our App installed.
struct Shop {
    github: Simulator,
    alice: Actor,
    agent: Actor,
    repo: RepoHandle,
}

fn shop() -> Shop {
    let start = chrono::DateTime::from_timestamp(1_750_000_000, 0).unwrap();
    let clock = crate::clock::Clock::manual(start);
    let github = Simulator::new(Options { clock, seed: 3 }).unwrap();
    let (alice, agent) = (github.user("alice"), github.user("acme-agent"));
    let files = [("poem.txt", POEM), ("README.md", "# Shop\n")];
    let repo = github.repo("acme/shop", &files).unwrap();
    repo.allow(&alice, Permission::Write).unwrap();
    repo.allow(&agent, Permission::Write).unwrap();
    repo.install_app(&alice).unwrap();
    github.lock().take_deliveries();
    Shop {
        github,
        alice,
        agent,
        repo,
    }
}

impl Shop {
    /// The agent changes one word of the poem on a branch and opens a pull request.
    fn change(&self, branch: &str, from: &str, to: &str) -> PullHandle {
        let text = POEM.replace(from, to);
        self.agent
            .push(&self.repo, branch, to, Edits::write("poem.txt", text))
            .unwrap();
        self.agent
            .open_pull(&self.repo, branch, "main", to)
            .unwrap()
    }

    /// Somebody changes the base meanwhile.
    fn base_moves(&self, from: &str, to: &str) -> Sha {
        let text = POEM.replace(from, to);
        self.alice
            .push(&self.repo, "main", to, Edits::write("poem.txt", text))
            .unwrap()
    }

    /// What was told since the last look: `event.action`.
    fn told(&self) -> Vec<String> {
        let taken = self.github.lock().take_deliveries();
        taken
            .into_iter()
            .map(|delivery| match delivery.action {
                Some(action) => format!("{}.{action}", delivery.event),
                None => delivery.event,
            })
            .collect()
    }

    fn commit(&self, sha: &str) -> crate::simulator::git::Commit {
        self.github
            .lock()
            .pool
            .commit(sha)
            .unwrap()
            .as_ref()
            .clone()
    }

    fn text_at(&self, sha: &str, path: &str) -> String {
        let world = self.github.lock();
        let files = world
            .pool
            .files(&world.pool.commit(sha).unwrap().tree)
            .unwrap();
        let content = world.pool.blob(&files[path].id).unwrap();
        String::from_utf8(content.to_vec()).unwrap()
    }
}
