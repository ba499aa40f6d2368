//! The pages: what is open, and one page a pull request.

use std::sync::atomic::Ordering;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;

use super::{Lost, PullPath, WebState, named, number};
use crate::domain::ledger::{Entry, Kind};
use crate::domain::render::{gate_name, whose_move};
use crate::domain::verdict::Move;
use crate::store::{DeadLetter, InboxCounts, PullRow};

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    refresh: bool,
    ready: bool,
    inbox: InboxCounts,
    dead: Vec<DeadLetter>,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    number: u64,
    page: String,
    title: String,
    by_agent: bool,
    outcome: String,
    headline: String,
    whose_move: String,
}

#[derive(Template)]
#[template(path = "pull.html")]
struct Pull {
    refresh: bool,
    name: String,
    number: u64,
    title: String,
    outcome: String,
    headline: String,
    head: String,
    base: String,
    policy: String,
    reason: String,
    gates: Vec<Line>,
    happened: Vec<Happened>,
}

/// One node of the tree, in the order of display.
struct Line {
    depth: usize,
    state: String,
    name: String,
    reason: String,
    whose_move: String,
    next: String,
    records: Vec<Record>,
}

struct Record {
    what: String,
    url: String,
}

struct Happened {
    at: String,
    kind: &'static str,
    what: String,
    hash: String,
}

#[derive(Template)]
#[template(path = "message.html")]
struct Message<'a> {
    refresh: bool,
    title: &'a str,
    text: &'a str,
    sign_in: bool,
}

fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// A page that asks for the token.
pub fn sign_in_form(title: &str, text: &str) -> Response {
    let message = Message {
        refresh: false,
        title,
        text,
        sign_in: true,
    };
    page(StatusCode::UNAUTHORIZED, &message)
}

fn lost(lost: &Lost) -> Response {
    let message = Message {
        refresh: false,
        title: "Not found",
        text: lost.sentence(),
        sign_in: false,
    };
    page(lost.status(), &message)
}

/// Every open pull request.
pub async fn overview(State(state): State<WebState>) -> Response {
    match gather_overview(&state).await {
        Ok(overview) => page(StatusCode::OK, &overview),
        Err(error) => lost(&error),
    }
}

async fn gather_overview(state: &WebState) -> Result<Overview, Lost> {
    const LETTERS: u32 = 20;
    let rows = state.store.open_pulls(None).await?;
    Ok(Overview {
        refresh: true,
        ready: state.ready.load(Ordering::Relaxed),
        inbox: state.store.inbox().await?,
        dead: state.store.dead_letters(LETTERS).await?,
        rows: rows.iter().map(row).collect(),
    })
}

fn row(row: &PullRow) -> Row {
    let verdict = row.record.verdict.as_ref();
    Row {
        name: row.name.to_string(),
        number: row.pull.number.get(),
        page: format!("/repos/{}/pulls/{}", row.name, row.pull.number),
        title: row.pull.title.clone(),
        by_agent: verdict
            .and_then(|v| v["by_agent"].as_bool())
            .unwrap_or(false),
        outcome: text(verdict, "outcome").unwrap_or_else(|| "unknown".into()),
        headline: text(verdict, "headline").unwrap_or_else(|| "not judged yet".into()),
        whose_move: verdict.map_or_else(String::new, |verdict| {
            let moves = verdict["whose_move"]
                .as_array()
                .map_or(&[][..], Vec::as_slice);
            moves.iter().map(move_text).collect::<Vec<_>>().join(", ")
        }),
    }
}

fn text(value: Option<&Value>, field: &str) -> Option<String> {
    value?.get(field)?.as_str().map(str::to_owned)
}

fn move_text(value: &Value) -> String {
    serde_json::from_value::<Move>(value.clone())
        .map_or_else(|_| String::new(), |on| whose_move(&on))
}

/// One pull request.
pub async fn pull(State(state): State<WebState>, Path((owner, repo, text)): PullPath) -> Response {
    match gather_pull(&state, &owner, &repo, &text).await {
        Ok(pull) => page(StatusCode::OK, &pull),
        Err(error) => lost(&error),
    }
}

async fn gather_pull(
    state: &WebState,
    owner: &str,
    repo: &str,
    number_text: &str,
) -> Result<Pull, Lost> {
    let named = named(&*state.store, owner, repo).await?;
    let number = number(number_text)?;
    let record = state.store.record(named.id, number).await?;
    let memory = state.store.pull(named.id, number).await?.value;
    let unknown = || {
        let name = &named.name;
        Lost::Unknown(format!(
            "{name}#{number} is not known here: no delivery told of it yet."
        ))
    };
    if record.verdict.is_none() && memory.pull.is_none() {
        return Err(unknown());
    }
    let verdict = record.verdict.unwrap_or(Value::Null);
    let told = |field: &str| text(Some(&verdict), field).unwrap_or_else(|| "-".into());
    let mut gates = Vec::new();
    for gate in verdict["gates"].as_array().map_or(&[][..], Vec::as_slice) {
        lines(gate, 0, &mut gates);
    }
    let entries = state.store.ledger_of(named.id, number).await?;
    Ok(Pull {
        refresh: true,
        name: named.name.to_string(),
        number: number.get(),
        title: memory.pull.map(|pull| pull.title).unwrap_or_default(),
        outcome: told("outcome"),
        headline: told("headline"),
        head: told("head"),
        base: told("base"),
        policy: told("policy"),
        reason: told("reason"),
        gates,
        happened: entries.iter().rev().map(happened).collect(),
    })
}

fn lines(gate: &Value, depth: usize, into: &mut Vec<Line>) {
    let told = |field: &str| text(Some(gate), field).unwrap_or_default();
    let on: Option<Move> = serde_json::from_value(gate["whose_move"].clone()).ok();
    let name = told("name");
    let records = gate["rests_on"].as_array().map_or(&[][..], Vec::as_slice);
    into.push(Line {
        depth: depth.min(2),
        state: told("state"),
        name: if depth == 0 { gate_name(&name) } else { name },
        reason: told("reason"),
        whose_move: match on {
            None | Some(Move::Nobody) => String::new(),
            Some(on) => whose_move(&on),
        },
        next: told("next"),
        records: records.iter().map(record).collect(),
    });
    for detail in gate["details"].as_array().map_or(&[][..], Vec::as_slice) {
        lines(detail, depth + 1, into);
    }
}

/// Only addresses of the web are made links.
fn record(value: &Value) -> Record {
    let url = text(Some(value), "url").unwrap_or_default();
    let web = url.starts_with("https://") || url.starts_with("http://");
    Record {
        what: text(Some(value), "what").unwrap_or_default(),
        url: if web { url } else { String::new() },
    }
}

fn happened(entry: &Entry) -> Happened {
    let head = entry.head.as_ref().map_or("", |head| head.short());
    let body = &entry.body;
    let told = |field: &str| text(Some(body), field).unwrap_or_default();
    let (kind, what) = match entry.kind {
        Kind::Verdict => (
            "verdict",
            format!("{head} is {}: {}", told("outcome"), told("reason")),
        ),
        Kind::Intent => ("intent", format!("about to merge {head}")),
        Kind::Outcome => ("outcome", format!("merge of {head}: {}", outcome(body))),
        Kind::Landed => (
            "landed",
            format!("{} landed: {}", short(&told("commit")), told("how")),
        ),
        Kind::MergedPastGate => {
            let by = body["by"]["login"].as_str().unwrap_or("somebody");
            (
                "past the gate",
                format!("{head} was merged by {by}, not by Countersign"),
            )
        }
        Kind::Freeze => ("freeze", format!("{}: {}", told("base"), told("frozen"))),
        Kind::Hold => {
            let held = body["hold"].as_object();
            let by = body["hold"]["by"].as_str().unwrap_or("somebody");
            let what = if held.is_some() {
                format!("held by {by}")
            } else {
                "let go".into()
            };
            ("hold", what)
        }
    };
    Happened {
        at: entry.at.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
        kind,
        what,
        hash: short(&entry.hash),
    }
}

/// What came of a merge, from the one field of its record.
fn outcome(body: &Value) -> String {
    let Some((word, value)) = body.as_object().and_then(|fields| fields.iter().next()) else {
        return "unknown".into();
    };
    let told = value.as_str().unwrap_or_default();
    match word.as_str() {
        "merged" => format!("merged as {}", short(told)),
        "head_moved" => format!("GitHub says the head moved ({told})"),
        "base_moved" => format!("GitHub says the base moved ({told})"),
        _ => format!("GitHub refused ({told})"),
    }
}

fn short(id: &str) -> String {
    id.chars().take(7).collect()
}
