//! The pages: what is open over all repositories, and one page a pull request.

use std::sync::atomic::Ordering;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};

use super::WebState;
use super::history::Happened;
use super::known::{Lost, PullPath, number, repository};
use super::limits;
use super::view::{Badge, Gate, Prose, When};
use crate::domain::alarms::{Alarm, Kind};
use crate::domain::facts::Freshness;
use crate::domain::memory::PullRecord;
use crate::domain::model::{RepoName, Timestamp};
use crate::domain::policy::Mode;
use crate::domain::render::json::Told;
use crate::domain::render::words;
use crate::domain::verdict::Outcome;
use crate::store::{DeadLetter, InboxCounts, PullRow};

/// Dead letters that are shown one by one.
const MOST_LETTERS: u32 = 20;

#[derive(Template)]
#[template(path = "dashboard.html")]
struct Dashboard {
    signed_in: bool,
    ready: bool,
    /// Installations that wait, and until when.
    limits: Vec<String>,
    inbox: InboxCounts,
    letters: Vec<DeadLetter>,
    alarms: Vec<Raised>,
    /// How many of which outcome, those that can land first.
    tally: Vec<(usize, &'static str)>,
    questions: Vec<Asked>,
    rows: Vec<Row>,
    repositories: usize,
}

/// An alarm in words.
struct Raised {
    what: Prose,
    mend: Prose,
    since: Option<When>,
}

/// A question on the owner's list.
struct Asked {
    page: String,
    place: String,
    by: String,
    question: String,
    default: String,
    since: When,
}

struct Row {
    page: String,
    of: String,
    name: RepoName,
    number: u64,
    title: String,
    author: Option<String>,
    base: String,
    by_agent: bool,
    draft: bool,
    badge: Badge,
    headline: String,
    whose_move: String,
    since: Option<When>,
}

#[derive(Template)]
#[template(path = "pull.html")]
struct Pull {
    signed_in: bool,
    name: RepoName,
    number: u64,
    title: String,
    on_github: Option<String>,
    badge: Badge,
    verdict: Option<VerdictView>,
    happened: Vec<Happened>,
}

struct VerdictView {
    headline: String,
    reason: Prose,
    whose_move: String,
    who_merges: Option<&'static str>,
    observes: bool,
    by_agent: bool,
    confirmed: bool,
    head: String,
    base: String,
    base_tip: String,
    policy: Option<String>,
    default_policy: Option<String>,
    judged: When,
    open: Vec<Gate>,
    closed: Vec<Gate>,
}

#[derive(Template)]
#[template(path = "message.html")]
struct Message<'a> {
    signed_in: bool,
    title: &'a str,
    text: &'a str,
}

#[derive(Template)]
#[template(path = "signin.html")]
struct SignIn<'a> {
    signed_in: bool,
    to: &'a str,
    refused: bool,
}

pub(super) fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The page that asks for the token, in place of the page `to`.
pub(super) fn sign_in_form(to: &str, refused: bool) -> Response {
    let form = SignIn {
        signed_in: false,
        to,
        refused,
    };
    page(StatusCode::UNAUTHORIZED, &form)
}

pub(super) fn lost(state: &WebState, lost: &Lost) -> Response {
    let message = Message {
        signed_in: state.api_token.get().is_some(),
        title: match lost {
            Lost::Unknown(_) => "Not found",
            Lost::Wrong(_) => "Asked wrongly",
            Lost::Failed => "Not available",
        },
        text: lost.sentence(),
    };
    page(lost.status(), &message)
}

/// For every address that leads nowhere. It tells nothing of anybody: it asks for no token.
pub(super) async fn no_such_page() -> Response {
    let message = Message {
        signed_in: false,
        title: "Not found",
        text: "There is no such page.",
    };
    page(StatusCode::NOT_FOUND, &message)
}

/// What is on record, or `None` where nothing is, or nothing this version can read: the next pass
/// writes it anew.
fn told(record: &PullRecord) -> Option<Told> {
    let told = Told::read(record.verdict.as_ref()?);
    told.inspect_err(|error| tracing::warn!(%error, "a recorded verdict cannot be read"))
        .ok()
}

/// Every open pull request.
pub(super) async fn dashboard(State(state): State<WebState>) -> Response {
    match overview(&state).await {
        Ok(dashboard) => page(StatusCode::OK, &dashboard),
        Err(error) => lost(&state, &error),
    }
}

async fn overview(state: &WebState) -> Result<Dashboard, Lost> {
    let now = state.clock.now();
    let pulls = state.store.open_pulls(None).await?;
    let inbox = state.store.inbox().await?;
    let letters = if inbox.dead > 0 {
        state.store.dead_letters(MOST_LETTERS).await?
    } else {
        Vec::new()
    };
    let rows: Vec<_> = pulls.iter().map(|pull| row(pull, now)).collect();
    let repositories = if rows.is_empty() {
        state.store.active_repos().await?.len()
    } else {
        0
    };
    Ok(Dashboard {
        signed_in: state.api_token.get().is_some(),
        ready: state.ready.load(Ordering::Relaxed),
        limits: limits::notices(state),
        inbox,
        letters,
        alarms: raised(state.watch.alarms().await, now),
        tally: tally(&rows),
        questions: questions(&pulls, now),
        rows,
        repositories,
    })
}

/// Dead letters have a line of their own, with the reasons.
fn raised(alarms: Vec<Alarm>, now: Timestamp) -> Vec<Raised> {
    alarms
        .iter()
        .filter(|alarm| alarm.kind != Kind::DeadLetters)
        .map(|alarm| Raised {
            what: Prose::new(&alarm.what),
            mend: Prose::new(&alarm.mend),
            since: alarm.since.map(|since| When::new(since, now)),
        })
        .collect()
}

/// The owner's list, oldest first.
fn questions(pulls: &[PullRow], now: Timestamp) -> Vec<Asked> {
    let mut asked: Vec<_> = pulls
        .iter()
        .flat_map(|row| row.record.requests.questions.iter().map(move |q| (row, q)))
        .collect();
    asked.sort_by_key(|(_, question)| question.at);
    asked
        .into_iter()
        .map(|(row, question)| Asked {
            page: format!("/repos/{}/pulls/{}", row.name, row.pull.number),
            place: format!("{}#{}", row.name, row.pull.number),
            by: question.by.to_string(),
            question: question.question.clone(),
            default: question.default.clone(),
            since: When::new(question.at, now),
        })
        .collect()
}

fn tally(rows: &[Row]) -> Vec<(usize, &'static str)> {
    let outcomes = [
        Some(Outcome::Ready),
        Some(Outcome::Waiting),
        Some(Outcome::Blocked),
        Some(Outcome::Undetermined),
        Some(Outcome::Held),
        Some(Outcome::Ignored),
        None,
    ];
    outcomes
        .into_iter()
        .map(|outcome| Badge::new(outcome).word())
        .map(|word| {
            (
                rows.iter().filter(|row| row.badge.word() == word).count(),
                word,
            )
        })
        .filter(|(count, _)| *count > 0)
        .collect()
}

fn row(row: &PullRow, now: Timestamp) -> Row {
    let told = told(&row.record);
    let told = told.as_ref();
    Row {
        page: format!("/repos/{}/pulls/{}", row.name, row.pull.number),
        of: format!("/repos/{}", row.name),
        name: row.name.clone(),
        number: row.pull.number.get(),
        title: row.pull.title.clone(),
        author: row
            .pull
            .author
            .as_ref()
            .map(|author| author.login.as_str().to_owned()),
        base: row.pull.base.to_string(),
        by_agent: told.is_some_and(|told| told.by_agent),
        draft: row.pull.draft,
        badge: Badge::new(told.map(|told| told.outcome)),
        headline: told.map_or_else(|| "A pass is to come.".into(), headline),
        whose_move: told.map_or_else(
            || "Countersign".into(),
            |t| words::whose_moves(&t.whose_move),
        ),
        since: told
            .and_then(|told| told.since)
            .map(|since| When::new(since, now)),
    }
}

/// The line of the check run, without the word that its badge says beside it; for a record of an
/// earlier version its reason.
fn headline(told: &Told) -> String {
    let line = match told.title.as_str() {
        "" => &told.reason,
        title => title,
    };
    let said = ["Blocked: ", "Held: ", "Not judged: "];
    let rest = said.iter().find_map(|word| line.strip_prefix(word));
    rest.unwrap_or(line).to_owned()
}

/// One pull request.
pub(super) async fn pull(
    State(state): State<WebState>,
    Path((owner, repo, text)): PullPath,
) -> Response {
    match one(&state, &owner, &repo, &text).await {
        Ok(pull) => page(StatusCode::OK, &pull),
        Err(error) => lost(&state, &error),
    }
}

async fn one(state: &WebState, owner: &str, repo: &str, text: &str) -> Result<Pull, Lost> {
    let known = repository(&*state.store, owner, repo).await?;
    let number = number(text)?;
    let record = state.store.record(known.id, number).await?;
    let memory = state.store.pull(known.id, number).await?.value;
    if record.verdict.is_none() && memory.pull.is_none() {
        return Err(Lost::Unknown(format!(
            "{}#{number} is not known here: no delivery and no sweep has told of it yet.",
            known.name
        )));
    }
    let now = state.clock.now();
    let entries = state.store.ledger_of(known.id, number).await?;
    let told = told(&record);
    Ok(Pull {
        signed_in: state.api_token.get().is_some(),
        on_github: state
            .addresses
            .github
            .as_ref()
            .map(|github| format!("{github}/{}/pull/{number}", known.name)),
        number: number.get(),
        title: memory.pull.map(|pull| pull.title).unwrap_or_default(),
        badge: Badge::new(told.as_ref().map(|told| told.outcome)),
        verdict: told.as_ref().map(|told| verdict(told, now)),
        happened: entries
            .iter()
            .rev()
            .map(|entry| Happened::new(entry, now))
            .collect(),
        name: known.name,
    })
}

fn verdict(told: &Told, now: Timestamp) -> VerdictView {
    let gates = told.gates.iter();
    let (open, closed): (Vec<_>, Vec<_>) = gates.partition(|gate| gate.is_open());
    let shown = |gates: Vec<_>| gates.into_iter().map(|gate| Gate::new(gate, now)).collect();
    VerdictView {
        headline: headline(told),
        reason: Prose::new(&told.reason),
        whose_move: words::whose_moves(&told.whose_move),
        who_merges: (told.outcome == Outcome::Ready).then(|| words::landing(told.landing)),
        observes: told.mode == Some(Mode::Observe),
        by_agent: told.by_agent,
        confirmed: told.freshness == Freshness::Confirmed,
        head: text_of(told.head.as_ref()),
        base: text_of(told.base.as_ref()),
        base_tip: told
            .base_tip
            .as_ref()
            .map_or_else(String::new, |tip| tip.short().to_owned()),
        policy: told.policy.as_ref().map(ToString::to_string),
        default_policy: words::default_policy(told.policy_from.as_ref()),
        judged: When::new(told.at, now),
        open: shown(open),
        closed: shown(closed),
    }
}

fn text_of(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "unknown".into(), ToString::to_string)
}
