//! The client: what is asked of GitHub, address by address.
//!
//! Lists are read by page number to the last page and say whether that was reached and whether the
//! counts agree. Every call about a repository names it as it is called now; when GitHub answers that
//! it has moved, or knows no such name, a read asks once for today's name by the numeric id.

use async_trait::async_trait;
use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::auth::AppKey;
use super::meaning::{self, Raw};
use super::transport::{As, Patience, Transport};
use super::{Answer, Branch, FileAt, MergeAnswer, Reads, Refused, Writes, wire};
use crate::clock::Clock;
use crate::domain::facts::{
    CheckRun, Comment, CommitStatus, Comparison, FileChange, Listing, PlatformRule, PullCommit,
    PullRequest, Review, WorkflowRun,
};
use crate::domain::model::{
    Actor, AppId, AppRef, BaseRef, CheckRunId, HeadSha, InstallationId, Oid, PolicyDigest,
    PullNumber, RepoName, Repository,
};
use crate::domain::policy::Method as MergeMethod;
use crate::domain::render::check::CheckPage;

/// Entries a page: GitHub's most.
const PER_PAGE: usize = 100;
/// Pages a list: 3,000 entries. What is longer is not whole.
const PAGES: usize = 30;
/// How many files a comparison shows at most; from here on the pull request's own list is read.
const COMPARED_FILES: usize = 300;
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
    transport: Transport,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client(hidden)")
    }
}

/// A page of a list, whatever its envelope.
trait Page: DeserializeOwned {
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
        struct $name {
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
fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// A path below a repository.
fn repo_path(name: &RepoName, rest: &str) -> String {
    format!(
        "/repos/{}/{}{rest}",
        segment(name.owner()),
        segment(name.name())
    )
}

/// A path with its slashes kept, everything between them percent-encoded.
fn segments(text: &str) -> String {
    text.split('/').map(segment).collect::<Vec<_>>().join("/")
}

fn parse<T: DeserializeOwned>(raw: &Raw, what: &str) -> Answer<T> {
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
    async fn in_repo(&self, repo: &Repository, rest: &str) -> Answer<Raw> {
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

    async fn list<P: Page>(&self, what: &str, place: Place<'_>) -> Answer<Listing<P::Item>> {
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

    async fn repo_list<P: Page>(
        &self,
        repo: &Repository,
        what: &str,
        rest: &str,
    ) -> Answer<Listing<P::Item>> {
        self.list::<P>(what, Place::Repo(repo, rest)).await
    }

    async fn pull_files(
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

    fn body_of(page: &CheckPage) -> Value {
        let mut body = json!({
            "output": { "title": page.title, "summary": page.summary, "text": page.text },
            "actions": page.buttons,
        });
        match page.conclusion {
            Some(conclusion) => {
                body["status"] = json!("completed");
                body["conclusion"] = json!(conclusion);
            }
            None => body["status"] = json!("in_progress"),
        }
        body
    }

    /// Writes something below `/repos/{owner}/{name}`. A redirect means that the repository bears
    /// another name now and that nothing was done: the write is sent once more, under that name.
    async fn write_in_repo(
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
    async fn name_now(&self, repo: &Repository) -> Answer<RepoName> {
        let who = As::Installation(repo.installation);
        let path = format!("/repositories/{}", repo.id);
        let raw = self.transport.get(who, &path).await?;
        let now = parse::<wire::Repo>(&raw, "a repository")?;
        Ok(now.seen_through(repo.installation).name)
    }
}

/// Where a list is read.
#[derive(Clone, Copy)]
enum Place<'a> {
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

fn each<T, U>(list: Listing<T>, fact: impl FnMut(T) -> U) -> Listing<U> {
    Listing {
        items: list.items.into_iter().map(fact).collect(),
        complete: list.complete,
    }
}

/// Facts of entries that have one; an entry that has none makes the list incomplete.
fn each_that_is<T, U>(list: Listing<T>, fact: impl FnMut(T) -> Option<U>) -> Listing<U> {
    let read = list.items.len();
    let items: Vec<U> = list.items.into_iter().filter_map(fact).collect();
    Listing {
        complete: list.complete && items.len() == read,
        items,
    }
}

#[async_trait]
impl Reads for Client {
    async fn app(&self) -> Answer<AppRef> {
        let raw = self.transport.get(As::App, "/app").await?;
        Ok(parse::<wire::App>(&raw, "the App")?.reference())
    }

    async fn installations(&self) -> Answer<Listing<InstallationId>> {
        let place = Place::Path(As::App, "/app/installations");
        let list = self
            .list::<Vec<wire::Installation>>("installations", place)
            .await?;
        let active = list.items.into_iter().filter(|i| i.suspended_at.is_none());
        Ok(Listing {
            items: active.map(|installation| installation.id).collect(),
            complete: list.complete,
        })
    }

    async fn repositories(&self, installation: InstallationId) -> Answer<Listing<Repository>> {
        let who = As::Installation(installation);
        let place = Place::Path(who, "/installation/repositories");
        let list = self.list::<Repos>("repositories", place).await?;
        let active = list.items.into_iter().filter(|repo| !repo.archived);
        Ok(Listing {
            items: active.map(|repo| repo.seen_through(installation)).collect(),
            complete: list.complete,
        })
    }

    async fn repository(&self, name: &RepoName) -> Answer<Repository> {
        let path = repo_path(name, "");
        let raw = self
            .transport
            .get(As::App, &repo_path(name, "/installation"))
            .await?;
        let installation = parse::<wire::Installation>(&raw, "an installation")?.id;
        let raw = self
            .transport
            .get(As::Installation(installation), &path)
            .await?;
        Ok(parse::<wire::Repo>(&raw, "a repository")?.seen_through(installation))
    }

    async fn open_pulls(&self, repo: &Repository) -> Answer<Listing<PullRequest>> {
        let list = self
            .repo_list::<Vec<wire::Pull>>(repo, "pull requests", "/pulls?state=open")
            .await?;
        Ok(each_that_is(list, wire::Pull::fact))
    }

    async fn pull(&self, repo: &Repository, number: PullNumber) -> Answer<PullRequest> {
        let raw = self.in_repo(repo, &format!("/pulls/{number}")).await?;
        parse::<wire::Pull>(&raw, "a pull request")?
            .fact()
            .ok_or_else(|| Refused::Unreadable("a pull request without a base branch".into()))
    }

    async fn pulls_with_head(
        &self,
        repo: &Repository,
        head: &HeadSha,
    ) -> Answer<Listing<PullRequest>> {
        let rest = format!("/commits/{head}/pulls");
        let list = self
            .repo_list::<Vec<wire::Pull>>(repo, "pull requests of a commit", &rest)
            .await?;
        let mut pulls = each_that_is(list, wire::Pull::fact);
        pulls.items.retain(|pull| {
            pull.head == *head && pull.state == crate::domain::facts::PullState::Open
        });
        Ok(pulls)
    }

    async fn branch(&self, repo: &Repository, base: &BaseRef) -> Answer<Branch> {
        let rest = format!("/branches/{}", segments(base.as_str()));
        let raw = self.in_repo(repo, &rest).await?;
        Ok(parse::<wire::BranchAnswer>(&raw, "a branch")?.fact())
    }

    async fn rules(&self, repo: &Repository, base: &BaseRef) -> Answer<Vec<PlatformRule>> {
        let rest = format!("/rules/branches/{}", segments(base.as_str()));
        let list = self
            .repo_list::<Vec<wire::Rule>>(repo, "rules of a branch", &rest)
            .await?;
        if !list.complete {
            return Err(Refused::Unreadable("the list of rules is not whole".into()));
        }
        Ok(list.items.into_iter().flat_map(wire::Rule::facts).collect())
    }

    async fn file_at(&self, repo: &Repository, path: &str, at: &Oid) -> Answer<Option<FileAt>> {
        #[derive(Deserialize)]
        struct Contents {
            sha: PolicyDigest,
            content: String,
            encoding: String,
        }
        let rest = format!("/contents/{}?ref={at}", segments(path));
        let raw = match self.in_repo(repo, &rest).await {
            Err(Refused::NotFound(_)) => return Ok(None),
            answer => answer?,
        };
        let contents: Contents = parse(&raw, "a file")?;
        if contents.encoding != "base64" {
            let what = format!("a file in the encoding {:?}", contents.encoding);
            return Err(Refused::Unreadable(what));
        }
        let packed: String = contents.content.split_whitespace().collect();
        let text = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, packed)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| Refused::Unreadable("a file that is no UTF-8 text".into()))?;
        Ok(Some(FileAt {
            blob: contents.sha,
            text,
        }))
    }

    /// `filter=all`: GitHub's own "latest" keeps one run a suite, and a re-run in a new suite would
    /// stand beside the old one in no order; which run counts is the gate's to say.
    async fn check_runs(&self, repo: &Repository, head: &HeadSha) -> Answer<Listing<CheckRun>> {
        let rest = format!("/commits/{head}/check-runs?filter=all");
        let list = self.repo_list::<Runs>(repo, "check runs", &rest).await?;
        Ok(each(list, wire::Run::fact))
    }

    async fn statuses(&self, repo: &Repository, head: &HeadSha) -> Answer<Listing<CommitStatus>> {
        let rest = format!("/commits/{head}/status");
        let list = self.repo_list::<Statuses>(repo, "statuses", &rest).await?;
        Ok(each(list, wire::Status::fact))
    }

    async fn workflow_runs(
        &self,
        repo: &Repository,
        head: &HeadSha,
    ) -> Answer<Listing<WorkflowRun>> {
        let rest = format!("/actions/runs?head_sha={head}");
        let list = self
            .repo_list::<Workflows>(repo, "workflow runs", &rest)
            .await?;
        Ok(each_that_is(list, wire::Workflow::fact))
    }

    async fn reviews(&self, repo: &Repository, number: PullNumber) -> Answer<Listing<Review>> {
        let rest = format!("/pulls/{number}/reviews");
        let list = self
            .repo_list::<Vec<wire::ReviewAnswer>>(repo, "reviews", &rest)
            .await?;
        Ok(each(list, wire::ReviewAnswer::fact))
    }

    async fn comments(&self, repo: &Repository, number: PullNumber) -> Answer<Listing<Comment>> {
        let rest = format!("/issues/{number}/comments");
        let list = self
            .repo_list::<Vec<wire::CommentAnswer>>(repo, "comments", &rest)
            .await?;
        Ok(Listing {
            complete: list.complete,
            items: list
                .items
                .into_iter()
                .filter_map(wire::CommentAnswer::fact)
                .collect(),
        })
    }

    async fn open_conversations(&self, repo: &Repository, number: PullNumber) -> Answer<u64> {
        const QUERY: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
            repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
            reviewThreads(first: 100, after: $after) { nodes { isResolved } \
            pageInfo { hasNextPage endCursor } } } } }";
        let who = As::Installation(repo.installation);
        let mut after = Value::Null;
        let mut open = 0;
        for _ in 0..PAGES {
            let query = json!({ "query": QUERY, "variables": {
                "owner": repo.name.owner(), "name": repo.name.name(),
                "number": number.get(), "after": after,
            }});
            let raw = self.transport.query(who, &query).await?;
            let body: Value = parse(&raw, "review conversations")?;
            let threads = &body["data"]["repository"]["pullRequest"]["reviewThreads"];
            // GraphQL answers 200 with errors and partial data: then the number is not known.
            let nodes = match (body.get("errors"), threads["nodes"].as_array()) {
                (None, Some(nodes)) => nodes,
                _ => return Err(Refused::Unreadable("review conversations".into())),
            };
            let unresolved = |node: &&Value| node["isResolved"].as_bool() != Some(true);
            open += nodes.iter().filter(unresolved).count() as u64;
            if threads["pageInfo"]["hasNextPage"].as_bool() == Some(false) {
                return Ok(open);
            }
            after = threads["pageInfo"]["endCursor"].clone();
        }
        Err(Refused::Unreadable(
            "more conversations than are read".into(),
        ))
    }

    async fn team_members(&self, repo: &Repository, org: &str, slug: &str) -> Answer<Vec<Actor>> {
        let who = As::Installation(repo.installation);
        let path = format!("/orgs/{}/teams/{}/members", segment(org), segment(slug));
        let list = self
            .list::<Vec<wire::User>>("members of a team", Place::Path(who, &path))
            .await?;
        if !list.complete {
            return Err(Refused::Unreadable(
                "a list of members that is not whole".into(),
            ));
        }
        Ok(list
            .items
            .into_iter()
            .filter_map(wire::User::actor)
            .collect())
    }

    async fn compare(
        &self,
        repo: &Repository,
        number: PullNumber,
        base_tip: &Oid,
        head: &HeadSha,
    ) -> Answer<Comparison> {
        #[derive(Deserialize)]
        struct Compared {
            merge_base_commit: wire::ListedCommit,
            total_commits: u64,
            commits: Vec<wire::ListedCommit>,
            files: Option<Vec<wire::File>>,
        }
        let raw = self
            .in_repo(repo, &format!("/compare/{base_tip}...{head}"))
            .await?;
        let compared: Compared = parse(&raw, "a comparison")?;
        let files = compared.files.unwrap_or_default();
        let files = if files.len() < COMPARED_FILES {
            Listing::whole(files.into_iter().map(wire::File::fact).collect())
        } else {
            self.pull_files(repo, number).await?
        };
        let commits: Vec<_> = compared
            .commits
            .into_iter()
            .map(wire::ListedCommit::fact)
            .collect();
        Ok(Comparison {
            base_tip: base_tip.clone(),
            head: head.clone(),
            merge_base: compared.merge_base_commit.sha,
            files,
            commits: Listing {
                complete: commits.len() as u64 == compared.total_commits,
                items: commits,
            },
        })
    }

    async fn commit(&self, repo: &Repository, sha: &Oid) -> Answer<PullCommit> {
        let raw = self.in_repo(repo, &format!("/git/commits/{sha}")).await?;
        Ok(parse::<wire::GitCommit>(&raw, "a commit")?.fact())
    }

    async fn may_write(&self, repo: &Repository, actor: &Actor) -> Answer<bool> {
        #[derive(Deserialize)]
        struct Permission {
            permission: String,
        }
        let login = segment(actor.login.as_str());
        let raw = self
            .in_repo(repo, &format!("/collaborators/{login}/permission"))
            .await?;
        let permission: Permission = parse(&raw, "a permission")?;
        Ok(matches!(
            permission.permission.as_str(),
            "admin" | "maintain" | "write"
        ))
    }
}

#[async_trait]
impl Writes for Client {
    async fn create_check(
        &self,
        repo: &Repository,
        head: &HeadSha,
        external_id: &str,
        page: &CheckPage,
    ) -> Answer<CheckRunId> {
        #[derive(Deserialize)]
        struct Created {
            id: CheckRunId,
        }
        let mut body = Self::body_of(page);
        body["name"] = json!("countersign");
        body["head_sha"] = json!(head);
        body["external_id"] = json!(external_id);
        let raw = self
            .write_in_repo(repo, Method::POST, "/check-runs", &body)
            .await?;
        let who = As::Installation(repo.installation);
        let raw = self.transport.success(who, raw)?;
        Ok(parse::<Created>(&raw, "a created check run")?.id)
    }

    async fn update_check(
        &self,
        repo: &Repository,
        run: CheckRunId,
        page: &CheckPage,
    ) -> Answer<()> {
        let rest = format!("/check-runs/{run}");
        let body = Self::body_of(page);
        let raw = self
            .write_in_repo(repo, Method::PATCH, &rest, &body)
            .await?;
        let who = As::Installation(repo.installation);
        self.transport.success(who, raw).map(|_| ())
    }

    async fn merge(
        &self,
        repo: &Repository,
        number: PullNumber,
        head: &HeadSha,
        method: MergeMethod,
    ) -> MergeAnswer {
        let rest = format!("/pulls/{number}/merge");
        let body = json!({ "sha": head, "merge_method": method });
        match self.write_in_repo(repo, Method::PUT, &rest, &body).await {
            Ok(raw) => meaning::merge(&raw, self.transport.now()),
            // No answer to the merge itself leaves it open; a token that could not be had does not.
            Err(Refused::Limited { after }) => MergeAnswer::Limited(after),
            Err(refused @ (Refused::Unauthorized(_) | Refused::Inactive(_))) => {
                MergeAnswer::Unauthorized(refused.to_string())
            }
            Err(refused) => MergeAnswer::Unknown(refused.to_string()),
        }
    }
}
