//! What a repository looks like from what passes have put on record: who may start, what to do next.
//!
//! Reads the store alone, asks GitHub nothing and decides nothing; the API, the dashboard and the
//! command line show it. What it says is as old as the last delivery: a slot is given away by a pass,
//! which counts again.

use crate::domain::dispatch::{self, Answer, Count, Holder};
use crate::domain::facts::PolicyOrigin;
use crate::domain::gate::counts_as_agents;
use crate::domain::ledger::Entry;
use crate::domain::model::{PullNumber, RepoId, RepoName, Timestamp};
use crate::domain::next::{self, Next, Open};
use crate::domain::policy::{self, Policy};
use crate::domain::render::json::Told;
use crate::domain::request::Question;
use crate::domain::scorecard::{self, Scorecard};
use crate::store::{PullRow, Store, Stored};

/// What is on record of one repository.
#[derive(Debug)]
pub struct Outlook {
    name: RepoName,
    policy: Result<Policy, String>,
    rows: Vec<PullRow>,
    told: Vec<Option<Told>>,
    dispatch: dispatch::Record,
}

impl Outlook {
    /// Reads what is on record of a repository.
    ///
    /// # Errors
    /// The store's.
    pub async fn of(store: &dyn Store, repo: RepoId, name: RepoName) -> Stored<Self> {
        let policy = match text(store, repo).await? {
            None => Err("no pass has read the policy yet".to_owned()),
            Some(None) => match default(store, &name).await? {
                Some(text) => parsed(&text),
                None => Err("there is no policy".to_owned()),
            },
            Some(Some(text)) => parsed(&text),
        };
        let rows = store.open_pulls(Some(repo)).await?;
        let told = rows.iter().map(read).collect();
        Ok(Self {
            name,
            policy,
            rows,
            told,
            dispatch: store.dispatch(repo).await?,
        })
    }

    /// Whether a dispatch may be started. Where it is not known, it may not.
    pub fn may_start(&self) -> Answer {
        match &self.policy {
            Ok(policy) => {
                let count = self.count(policy);
                dispatch::answer(policy.dispatch.as_ref(), &count, &self.dispatch)
            }
            Err(why) => Answer {
                allowed: false,
                open_agent_prs: None,
                limit: None,
                in_flight: self.dispatch.grants.len(),
                slots: None,
                queued: Vec::new(),
                holders: Vec::new(),
                over: self.dispatch.over.clone(),
                reason: format!("Not known: {why}."),
            },
        }
    }

    /// The agents' open pull requests as they are remembered; unknown where the last pass could not
    /// count them.
    fn count(&self, policy: &Policy) -> Count {
        if let Some((Count::Unknown(why), _)) = &self.dispatch.counted {
            return Count::Unknown(why.clone());
        }
        let agents = self
            .rows
            .iter()
            .filter(|row| counts_as_agents(&policy.agents, &row.pull, row.repo));
        Count::Known(
            agents
                .map(|row| Holder {
                    number: row.pull.number,
                    title: row.pull.title.clone(),
                    since: row.pull.created_at,
                })
                .collect(),
        )
    }

    /// What to do next.
    pub fn next(&self) -> Next {
        let open: Vec<Open<'_>> = self
            .rows
            .iter()
            .zip(&self.told)
            .map(|(row, told)| Open {
                number: row.pull.number,
                title: &row.pull.title,
                told: told.as_ref(),
                priority: row.record.requests.priority,
                questions: &row.record.requests.questions,
            })
            .collect();
        let dispatch = self.policy.as_ref().ok().map(|_| self.may_start());
        next::next(&self.name, &open, dispatch.as_ref())
    }

    /// The owner's list: questions of open pull requests, oldest first.
    pub fn questions(&self) -> Vec<(PullNumber, &Question)> {
        let mut all: Vec<_> = self
            .rows
            .iter()
            .flat_map(|row| {
                let questions = row.record.requests.questions.iter();
                questions.map(|question| (row.pull.number, question))
            })
            .collect();
        all.sort_by_key(|(_, question)| question.at);
        all
    }
}

/// A repository's policy as it is remembered: `None` where nobody has looked, `Some(None)` where there is
/// none.
async fn text(store: &dyn Store, repo: RepoId) -> Stored<Option<Option<String>>> {
    let memory = store.repo(repo).await?.value;
    let branch = memory
        .repo
        .as_ref()
        .and_then(|repo| repo.default_branch.as_ref());
    let base = branch.and_then(|branch| memory.bases.get(branch));
    let known = base.and_then(|base| base.policy.as_ref());
    Ok(known.map(|known| known.file.as_ref().map(|(_, text)| text.clone())))
}

/// The organisation's default, if one is remembered.
async fn default(store: &dyn Store, name: &RepoName) -> Stored<Option<String>> {
    let of_owner = format!("{}/{}", name.owner(), PolicyOrigin::DEFAULTS);
    let Ok(defaults) = RepoName::parse(&of_owner) else {
        return Ok(None);
    };
    match store.repo_named(&defaults).await? {
        Some(defaults) => Ok(text(store, defaults).await?.flatten()),
        None => Ok(None),
    }
}

fn parsed(text: &str) -> Result<Policy, String> {
    policy::read::read(text)
        .map_err(|problems| format!("the policy has {} problems", problems.len()))
}

/// How many entries of the ledger are read at a time.
const PAGE: u32 = 1_000;

/// The outcome figures of a repository over a span of time.
///
/// # Errors
/// The store's.
pub async fn scorecard(
    store: &dyn Store,
    repo: RepoId,
    since: Timestamp,
    until: Timestamp,
) -> Stored<Scorecard> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map_or(0, |entry| entry.seq);
        let page = store.ledger(Some(repo), after, PAGE).await?;
        if page.is_empty() {
            return Ok(scorecard::count(&entries, since, until));
        }
        entries.extend(page);
    }
}

fn read(row: &PullRow) -> Option<Told> {
    let verdict = row.record.verdict.as_ref()?;
    Told::read(verdict)
        .inspect_err(|error| tracing::warn!(%error, "a recorded verdict cannot be read"))
        .ok()
}
