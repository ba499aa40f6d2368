//! The page of one repository: what to do next, and how much agent work may be started.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::WebState;
use super::known::{Lost, RepoPath, repository};
use super::pages::{lost, page};
use super::view::{Prose, When};
use crate::domain::dispatch::{Answer, Over};
use crate::domain::model::{RepoName, Timestamp};
use crate::domain::next;
use crate::outlook::Outlook;

#[derive(Template)]
#[template(path = "repository.html")]
struct Repository {
    signed_in: bool,
    name: RepoName,
    items: Vec<Item>,
    waiting: usize,
    allowed: bool,
    reason: Prose,
    queued: Vec<Queued>,
    over: Vec<Over>,
    holders: Vec<Holder>,
}

struct Item {
    kind: &'static str,
    page: Option<String>,
    title: String,
    since: Option<When>,
    reason: Prose,
    step: Prose,
}

struct Queued {
    place: usize,
    issue: u64,
    title: String,
    reason: Prose,
    since: When,
}

struct Holder {
    number: u64,
    title: String,
    since: When,
}

/// One repository.
pub(super) async fn repository_page(
    State(state): State<WebState>,
    Path((owner, repo)): RepoPath,
) -> Response {
    match one(&state, &owner, &repo).await {
        Ok(shown) => page(StatusCode::OK, &shown),
        Err(error) => lost(&state, &error),
    }
}

async fn one(state: &WebState, owner: &str, repo: &str) -> Result<Repository, Lost> {
    let known = repository(&*state.store, owner, repo).await?;
    let name = known.name.clone();
    let outlook = Outlook::of(&*state.store, known.id, known.name).await?;
    let now = state.clock.now();
    let next = outlook.next();
    let Answer {
        allowed,
        reason,
        queued,
        holders,
        over,
        ..
    } = outlook.may_start();
    Ok(Repository {
        signed_in: state.api_token.get().is_some(),
        items: next.items.iter().map(|one| item(one, &name, now)).collect(),
        waiting: next.waiting,
        allowed,
        reason: Prose::new(&reason),
        queued: queued
            .into_iter()
            .map(|one| Queued {
                place: one.place,
                issue: one.issue.get(),
                title: one.title,
                reason: Prose::new(&one.reason),
                since: When::new(one.since, now),
            })
            .collect(),
        over,
        holders: holders
            .into_iter()
            .map(|holder| Holder {
                number: holder.number.get(),
                title: holder.title,
                since: When::lasting(holder.since, now),
            })
            .collect(),
        name,
    })
}

fn item(item: &next::Item, name: &RepoName, now: Timestamp) -> Item {
    Item {
        kind: item.kind.word(),
        page: item
            .number
            .map(|number| format!("/repos/{name}/pulls/{number}")),
        title: match item.number {
            Some(number) => format!("#{number} {}", item.title),
            None => item.title.clone(),
        },
        since: item.since.map(|since| When::lasting(since, now)),
        reason: Prose::new(&item.reason),
        step: Prose::new(&item.step),
    }
}
