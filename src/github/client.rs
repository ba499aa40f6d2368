//! The client: how addresses are made, lists read to their end, and renamed repositories found.
//! What is read and written stands in `reads` and `writes`.
//!
//! Lists are read by page number to the last page and say whether that was reached and whether the
//! counts agree. Every call about a repository names it as it is called now; when GitHub answers that
//! it has moved, or knows no such name, a read asks once for today's name by the numeric id.

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::auth::AppKey;
use super::meaning::Raw;
use super::transport::{As, Patience, Transport};
use super::{Answer, Refused, wire};
use crate::clock::Clock;
use crate::domain::facts::{FileChange, Listing};
use crate::domain::model::{AppId, PullNumber, RepoName, Repository};

/// Entries a page: GitHub's most.
const PER_PAGE: usize = 100;
/// Pages a list: 3,000 entries. What is longer is not whole.
pub(super) const PAGES: usize = 30;
/// What is left as it is within one segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The client's parts.
#[derive(Debug)]
pub struct ClientOptions {
    /// The root of the REST API.
    pub api_url: String,
    /// The App.
    pub app_id: AppId,
    /// Its key.
    pub key: AppKey,
    /// The time.
    pub clock: Clock,
    /// How long GitHub is waited for.
    pub patience: Patience,
}

/// Talks to one GitHub as one App, for all its installations.
pub struct Client {
    pub(super) transport: Transport,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client(hidden)")
    }
}

/// A page of a list, whatever its envelope.
pub(super) trait Page: DeserializeOwned {
    type Item;
    fn open(self) -> (Vec<Self::Item>, Option<u64>);
}

impl<T: DeserializeOwned> Page for Vec<T> {
    type Item = T;
    fn open(self) -> (Vec<T>, Option<u64>) {
        (self, None)
    }
}

macro_rules! counted_page {
    ($($name:ident { $field:ident: $item:ty })*) => {$(
        #[derive(Deserialize)]
        pub(super) struct $name {
            total_count: Option<u64>,
            $field: Vec<$item>,
        }
        impl Page for $name {
            type Item = $item;
            fn open(self) -> (Vec<$item>, Option<u64>) {
                (self.$field, self.total_count)
            }
        }
    )*};
}

counted_page! {
    Runs { check_runs: wire::Run }
    Statuses { statuses: wire::Status }
    Workflows { workflow_runs: wire::Workflow }
    Repos { repositories: wire::Repo }
}

/// One path segment, percent-encoded.
pub(super) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// A path below a repository.
pub(super) fn repo_path(name: &RepoName, rest: &str) -> String {
    format!(
        "/repos/{}/{}{rest}",
        segment(name.owner()),
        segment(name.name())
    )
}

/// A path with its slashes kept, everything between them percent-encoded.
pub(super) fn segments(text: &str) -> String {
    text.split('/').map(segment).collect::<Vec<_>>().join("/")
}

pub(super) fn parse<T: DeserializeOwned>(raw: &Raw, what: &str) -> Answer<T> {
    serde_json::from_slice(&raw.body)
        .map_err(|error| Refused::Unreadable(format!("{what}: {error}")))
}

impl Client {
    /// A client.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(options: ClientOptions) -> Result<Self, octocrab::Error> {
        Ok(Self {
            transport: Transport::new(
                &options.api_url,
                options.app_id,
                options.key,
                options.clock,
                options.patience,
            )?,
        })
    }

    /// Reads something below `/repos/{owner}/{name}`, under today's name if the one at hand is old.
    pub(super) async fn in_repo(&self, repo: &Repository, rest: &str) -> Answer<Raw> {
        let who = As::Installation(repo.installation);
        let moved = |refused: &Refused| {
            matches!(
                refused,
                Refused::NotFound(_)
                    | Refused::Invalid {
                        status: 300..=399,
                        ..
                    }
            )
        };
        match self.transport.get(who, &repo_path(&repo.name, rest)).await {
            Err(first) if moved(&first) => match self.name_now(repo).await {
                Ok(name) if name != repo.name => {
                    self.transport.get(who, &repo_path(&name, rest)).await
                }
                _ => Err(first),
            },
            answer => answer,
        }
    }

    pub(super) async fn list<P: Page>(
        &self,
        what: &str,
        place: Place<'_>,
    ) -> Answer<Listing<P::Item>> {
        let mut items = Vec::new();
        for page in 1..=PAGES {
            let raw = match place {
                Place::Repo(repo, rest) => self.in_repo(repo, &paged(rest, page)).await?,
                Place::Path(who, path) => self.transport.get(who, &paged(path, page)).await?,
            };
            let (mut read, total) = parse::<P>(&raw, what)?.open();
            let full = read.len() >= PER_PAGE;
            items.append(&mut read);
            if !full && !has_next(&raw) {
                let counted = total.is_none_or(|total| total == items.len() as u64);
                return Ok(Listing {
                    items,
                    complete: counted,
                });
            }
        }
        Ok(Listing {
            items,
            complete: false,
        })
    }

    pub(super) async fn repo_list<P: Page>(
        &self,
        repo: &Repository,
        what: &str,
        rest: &str,
    ) -> Answer<Listing<P::Item>> {
        self.list::<P>(what, Place::Repo(repo, rest)).await
    }

    pub(super) async fn pull_files(
        &self,
        repo: &Repository,
        number: PullNumber,
    ) -> Answer<Listing<FileChange>> {
        let rest = format!("/pulls/{number}/files");
        let list = self
            .repo_list::<Vec<wire::File>>(repo, "changed files", &rest)
            .await?;
        Ok(each(list, wire::File::fact))
    }

    /// Writes something below `/repos/{owner}/{name}`. A redirect means that the repository bears
    /// another name now and that nothing was done: the write is sent once more, under that name.
    pub(super) async fn write_in_repo(
        &self,
        repo: &Repository,
        method: Method,
        rest: &str,
        body: &Value,
    ) -> Answer<Raw> {
        let who = As::Installation(repo.installation);
        let path = repo_path(&repo.name, rest);
        let raw = self
            .transport
            .write(who, method.clone(), &path, body)
            .await?;
        if !raw.status.is_redirection() {
            return Ok(raw);
        }
        match self.name_now(repo).await? {
            name if name == repo.name => Ok(raw),
            name => {
                let path = repo_path(&name, rest);
                self.transport.write(who, method, &path, body).await
            }
        }
    }

    /// `GET /repositories/{id}`: what a repository is called now.
    pub(super) async fn name_now(&self, repo: &Repository) -> Answer<RepoName> {
        let who = As::Installation(repo.installation);
        let path = format!("/repositories/{}", repo.id);
        let raw = self.transport.get(who, &path).await?;
        let now = parse::<wire::Repo>(&raw, "a repository")?;
        Ok(now.seen_through(repo.installation).name)
    }
}

/// Where a list is read.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// Below a repository.
    Repo(&'a Repository, &'a str),
    /// Anywhere else.
    Path(As, &'a str),
}

/// A page of a list.
fn paged(path: &str, page: usize) -> String {
    let joint = if path.contains('?') { '&' } else { '?' };
    format!("{path}{joint}per_page={PER_PAGE}&page={page}")
}

/// Whether the `Link` header names a further page.
fn has_next(raw: &Raw) -> bool {
    raw.headers
        .get_all(http::header::LINK)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|links| links.contains("rel=\"next\""))
}

pub(super) fn each<T, U>(list: Listing<T>, fact: impl FnMut(T) -> U) -> Listing<U> {
    Listing {
        items: list.items.into_iter().map(fact).collect(),
        complete: list.complete,
    }
}

/// Facts of entries that have one; an entry that has none makes the list incomplete.
pub(super) fn each_that_is<T, U>(list: Listing<T>, fact: impl FnMut(T) -> Option<U>) -> Listing<U> {
    let read = list.items.len();
    let items: Vec<U> = list.items.into_iter().filter_map(fact).collect();
    Listing {
        complete: list.complete && items.len() == read,
        items,
    }
}
