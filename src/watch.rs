//! Looks whether anything stands still, and says so: in the log once when it begins and once when it ends,
//! as a gauge, and to whoever asks (the dashboard, the API, the doctor).
//!
//! Reads the store alone; what it cannot read there (whether GitHub answers) it is told by whoever asked.
//! `domain::alarms` judges. Each replica looks for itself, so each logs; the gauges agree.
//!
//! How much of GitHub's limits is left is known from the answers to this very process; replicas hear of the same
//! budget with their own next answer.
//!
//! Known and left: that the ledger's chain holds is not looked at: `countersign ledger verify` and the doctor follow it. Whether GitHub
//! requires our check is looked at where the repository has a policy of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::domain::alarms::{self, Alarm, Budget, Facts, KINDS, Kind, Pull, Sort, Trouble};
use crate::domain::memory::{BaseMemory, RepoMemory};
use crate::domain::model::{AppId, BaseRef, InstallationId, RepoId, RepoName, Timestamp};
use crate::domain::policy::{self, Mode, lint::Gate};
use crate::domain::redelivery::{Book, KEPT};
use crate::domain::render::json::Told;
use crate::github::{Left, Refused};
use crate::store::{PullRow, Store, Stored};
use crate::sweep;
use crate::telemetry::Meters;

/// How old an answer may be that is given to who asks.
const FRESH: chrono::Duration = chrono::Duration::seconds(10);

/// So many dead letters are looked at; more than these are told of as so many.
const MOST_LETTERS: u32 = 1_000;

/// What a server is, as far as alarms depend on it.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Our own App.
    pub own_app: AppId,
    /// How often everything is swept.
    pub sweep_interval: Duration,
    /// Nothing is written to GitHub.
    pub shadow: bool,
}

/// Tells what is left of the installations' budgets, without a call.
pub type Budgets = Arc<dyn Fn() -> Vec<Left> + Send + Sync>;

/// Looks at one server. Clones share what they know.
#[derive(Clone)]
pub struct Watch {
    store: Arc<dyn Store>,
    budgets: Budgets,
    clock: Clock,
    about: About,
    meters: Meters,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    github: Option<Trouble>,
    low: BTreeMap<InstallationId, Timestamp>,
    looked: Option<Timestamp>,
    standing: Vec<Alarm>,
}

impl Watch {
    /// A watch over what a store holds.
    pub fn new(store: Arc<dyn Store>, clock: Clock, about: About, meters: Meters) -> Self {
        Self {
            store,
            clock,
            about,
            meters,
            budgets: Arc::new(Vec::new),
            state: Arc::default(),
        }
    }

    /// The same watch, with an eye on what is left of GitHub's limits.
    #[must_use]
    pub fn over(self, budgets: Budgets) -> Self {
        Self { budgets, ..self }
    }

    /// Takes note of how GitHub answered the proof of our credentials, or a sweep.
    pub fn heard(&self, refused: Option<&Refused>) {
        let now = self.clock.now();
        let mut state = self.state();
        let since = state.github.as_ref().map_or(now, |trouble| trouble.since);
        state.github = refused.map(|refused| Trouble {
            since,
            sort: match refused {
                Refused::Unauthorized(_) => Sort::Credentials,
                Refused::Limited { after } => Sort::Limit {
                    until: now + *after,
                },
                _ => Sort::Other,
            },
            why: refused.to_string().trim_end_matches('.').to_owned(),
        });
    }

    /// What stands now, from a look that was made just before if there was one.
    pub async fn alarms(&self) -> Vec<Alarm> {
        let now = self.clock.now();
        {
            let state = self.state();
            let fresh = |at: Timestamp| now >= at && now - at < FRESH;
            if state.looked.is_some_and(fresh) {
                return state.standing.clone();
            }
        }
        self.look().await
    }

    /// Looks at everything, logs what began and what ended since the last look, and sets the gauges.
    pub async fn look(&self) -> Vec<Alarm> {
        let now = self.clock.now();
        let github = self.state().github.clone();
        let read = match self.store.ping().await {
            Ok(()) => read(&*self.store, now, self.about, github).await,
            Err(error) => Err(error),
        };
        let mut state = self.state();
        let found = match read {
            Ok(mut facts) => {
                facts.budgets = (self.budgets)().iter().filter_map(budget).collect();
                facts.low = std::mem::take(&mut state.low);
                state.low = alarms::low(&facts);
                alarms::raise(&facts)
            }
            Err(error) => {
                tracing::debug!(%error, "alarms could not be looked for");
                // What stood is neither over nor seen: it stands until somebody can look.
                let stood = state.standing.iter().cloned();
                let others = stood.filter(|alarm| alarm.kind != Kind::Database);
                std::iter::once(alarms::database()).chain(others).collect()
            }
        };
        tell(&state.standing, &found);
        state.looked = Some(now);
        state.standing.clone_from(&found);
        drop(state);
        for kind in KINDS {
            let raised = found.iter().any(|alarm| alarm.kind == kind);
            let value = f64::from(u8::from(raised));
            self.meters
                .set("countersign_alarm", value, &[("kind", kind.word())]);
        }
        found
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs the difference.
fn tell(before: &[Alarm], now: &[Alarm]) {
    let keyed = |alarms: &[Alarm]| -> BTreeMap<(Kind, String), Alarm> {
        let keyed = alarms.iter();
        keyed
            .map(|alarm| ((alarm.kind, alarm.about.clone()), alarm.clone()))
            .collect()
    };
    let (before, now) = (keyed(before), keyed(now));
    for (key, alarm) in &now {
        if !before.contains_key(key) {
            let (kind, about) = (alarm.kind.word(), &alarm.about);
            tracing::warn!(kind, about, what = alarm.what, mend = alarm.mend, "alarm");
        }
    }
    for (key, alarm) in &before {
        if !now.contains_key(key) {
            let (kind, about) = (alarm.kind.word(), &alarm.about);
            tracing::info!(kind, about, "the alarm is over");
        }
    }
}

/// Reads what alarms are made from, but for what is left of GitHub's limits.
///
/// # Errors
/// The store's.
pub async fn read(
    store: &dyn Store,
    now: Timestamp,
    about: About,
    github: Option<Trouble>,
) -> Stored<Facts> {
    let active = store.active_repos().await?;
    let watched: BTreeMap<RepoId, Option<Timestamp>> = active
        .iter()
        .filter_map(|memory| Some((memory.repo.as_ref()?.id, memory.watched_since)))
        .collect();
    let rows = store.open_pulls(None).await?;
    let pulls: Vec<Pull> = rows
        .into_iter()
        .filter_map(|row| watched.get(&row.repo).map(|since| pull(row, *since)))
        .collect();
    let rounds = pulls.len().div_ceil(sweep::IN_TURN).max(1);
    let interval = chrono::Duration::from_std(about.sweep_interval);
    let interval = interval.unwrap_or(chrono::Duration::days(1));
    let book = Book::deserialized(&store.note(sweep::DELIVERIES).await?.value);
    Ok(Facts {
        now,
        round: interval * i32::try_from(rounds).unwrap_or(i32::MAX),
        shadow: about.shadow,
        github,
        budgets: Vec::new(),
        low: BTreeMap::new(),
        due: store.next_due().await?,
        waiting: store.waiting(1).await?.first().map(|one| one.delivery.at),
        dead: dead(store, now).await?,
        missing: book.overdue(),
        bases: active
            .iter()
            .flat_map(|memory| guarded(memory, about.own_app))
            .collect(),
        pulls,
    })
}

/// How many dead letters somebody can do something about: GitHub sends nothing again that is older, and what
/// such a letter told, the sweep has read. The gauge of the inbox counts them all.
async fn dead(store: &dyn Store, now: Timestamp) -> Stored<u64> {
    if store.inbox().await?.dead == 0 {
        return Ok(0);
    }
    let letters = store.dead_letters(MOST_LETTERS).await?;
    let young = letters.iter().filter(|letter| now - letter.at <= KEPT);
    Ok(young.count() as u64)
}

fn budget(left: &Left) -> Option<Budget> {
    let (remaining, limit, resets) = left.hour?;
    Some(Budget {
        installation: left.installation,
        remaining,
        limit,
        resets,
        kept_back: left.sweeps_wait.is_some() && left.held.is_none(),
    })
}

fn pull(row: PullRow, watched: Option<Timestamp>) -> Pull {
    Pull {
        known_since: watched.map_or(row.pull.updated_at, |since| since.max(row.pull.updated_at)),
        told: row.record.verdict.as_ref().and_then(|v| Told::read(v).ok()),
        refusal: row.record.refusal,
        number: row.pull.number,
        repo: row.name,
    }
}

/// The branches of a repository that an enforced policy guards, as far as their rules are known.
fn guarded(memory: &RepoMemory, own_app: AppId) -> Vec<(RepoName, BaseRef, Gate)> {
    let Some(repo) = &memory.repo else {
        return Vec::new();
    };
    let one = |(base, known): (&BaseRef, &BaseMemory)| {
        let (_, text) = known.policy.as_ref()?.file.as_ref()?;
        let policy = policy::read::read(text).ok()?;
        let enforced = policy.mode == Mode::Enforce && policy.merge.allows(base);
        let rules = known.rules.as_ref().filter(|_| enforced)?;
        Some((repo.name.clone(), base.clone(), Gate::of(rules, own_app)))
    };
    memory.bases.iter().filter_map(one).collect()
}
