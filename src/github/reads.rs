//! What may be asked of GitHub, endpoint by endpoint.

use std::collections::HashSet;

use async_trait::async_trait;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::client::{self, Client};
use super::listing::{self, MOST_PAGES, PER_PAGE, Place, Shape};
use super::quota::Principal;
use super::wire::diff::{self, WireComparison};
use super::wire::{self, apps, checks, issues, places, pulls, rules, unreadable};
use super::{Answer, Attempts, Branch, FileAt, Introduction, Left, Reads, Refused, auth, issuer};
use crate::domain::doctor::facts::{Delivered, Hook, Installation};
use crate::domain::facts::{
    CheckRun, Comment, CommitStatus, Comparison, FileChange, Issue, Listing, PlatformRule,
    PullCommit, PullRequest, PullState, Review, WorkflowRun,
};
use crate::domain::model::{
    Actor, AppId, AppRef, BaseRef, CommentId, HeadSha, InstallationId, Oid, PullNumber, RepoName,
    Repository,
};
use crate::domain::policy::lint::Methods;

/// Everything but what RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A comparison lists no more files than this, without a word about the rest.
const COMPARED_FILES: usize = 300;
/// A pull request lists no more files than this, without a word about the rest.
const LISTED_FILES: usize = 3_000;

const CONVERSATIONS: &str =
    "query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        totalCount
        nodes { isResolved }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}";

#[async_trait]
impl Reads for Client {
    async fn app(&self) -> Answer<AppRef> {
        places::own_app(self.read(Principal::App, "/app").await?.value)
    }

    async fn repositories(&self, installation: InstallationId) -> Answer<Listing<Repository>> {
        let place = Place::At(Principal::Installation(installation));
        let raw = self
            .raw_list(
                place,
                "/installation/repositories",
                Shape::Counted("repositories"),
                MOST_PAGES,
            )
            .await?;
        let mut listing = Listing {
            items: Vec::new(),
            complete: raw.complete,
        };
        for value in raw.items {
            match places::living_repository(value, installation) {
                Ok(repository) => listing.items.extend(repository),
                Err(refused) => {
                    tracing::warn!(%refused, "left out of the installation's repositories");
                    listing.complete = false;
                }
            }
        }
        Ok(listing)
    }

    async fn repository(&self, name: &RepoName) -> Answer<Repository> {
        let path = format!("/repos/{name}/installation");
        let found = self.read(Principal::App, &path).await?.value;
        let installation = places::active_installation(found)?
            .ok_or_else(|| Refused::Inactive(format!("the installation on {}", name.owner())))?;
        let who = Principal::Installation(installation);
        let found = self.read(who, &format!("/repos/{name}")).await?.value;
        places::repository(found, installation)
    }

    async fn whereabouts(&self, repo: &Repository) -> Answer<Option<Repository>> {
        let gone = |refused| match refused {
            Refused::NotFound(_) | Refused::Inactive(_) => Ok(None),
            refused => Err(refused),
        };
        // The name may be another repository's by now: that one tells who opens it, and the number the rest.
        let path = format!("/repos/{}/installation", repo.name);
        let found = match self.read(Principal::App, &path).await {
            Ok(found) => found.value,
            Err(refused) => return gone(refused),
        };
        let Some(installation) = places::active_installation(found)? else {
            return Ok(None);
        };
        let who = Principal::Installation(installation);
        match self.read(who, &format!("/repositories/{}", repo.id)).await {
            Ok(found) => places::living_repository(found.value, installation),
            Err(refused) => gone(refused),
        }
    }

    async fn open_pulls(&self, repo: &Repository) -> Answer<Listing<PullRequest>> {
        // Oldest first: what is opened meanwhile comes at the end and shifts nothing.
        let tail = "/pulls?state=open&sort=created&direction=asc";
        let raw = self
            .raw_list(Place::Of(repo), tail, Shape::Bare, MOST_PAGES)
            .await?;
        let mut bases = raw.items.iter().filter_map(pulls::base_repository);
        if bases.any(|base| base != repo.id) {
            return Err(client::elsewhere(repo));
        }
        Ok(listing::converted(raw, pulls::pull))
    }

    async fn pull(&self, repo: &Repository, number: PullNumber) -> Answer<PullRequest> {
        let tail = format!("/pulls/{number}");
        pulls::pull(self.read_of(repo, &tail).await?.value)
    }

    async fn pulls_with_head(
        &self,
        repo: &Repository,
        head: &HeadSha,
    ) -> Answer<Listing<PullRequest>> {
        let tail = format!("/commits/{head}/pulls");
        let raw = self
            .raw_list(Place::Of(repo), &tail, Shape::Bare, MOST_PAGES)
            .await;
        let mut raw = match raw {
            Ok(raw) => raw,
            // A commit that GitHub does not have is no head of any pull request.
            Err(Refused::Invalid {
                status: 422,
                message,
            }) if message.contains("No commit found") => return Ok(Listing::whole(Vec::new())),
            Err(refused) => return Err(refused),
        };
        // A commit can be in pull requests of other repositories of its network.
        raw.items
            .retain(|pull| pulls::base_repository(pull).is_none_or(|id| id == repo.id));
        let mut listing = listing::converted(raw, pulls::pull);
        listing
            .items
            .retain(|pull| pull.state == PullState::Open && pull.head == *head);
        Ok(listing)
    }

    async fn branch(&self, repo: &Repository, base: &BaseRef) -> Answer<Branch> {
        let tail = format!("/branches/{}", encoded(base.as_str()));
        rules::branch(self.read_of(repo, &tail).await?.value)
    }

    async fn rules(&self, repo: &Repository, base: &BaseRef) -> Answer<Vec<PlatformRule>> {
        let tail = format!("/rules/branches/{}", encoded(base.as_str()));
        let rules = self
            .whole_list(Place::Of(repo), &tail, rules::rules)
            .await?;
        Ok(rules.into_iter().flatten().collect())
    }

    async fn file_at(&self, repo: &Repository, path: &str, at: &Oid) -> Answer<Option<FileAt>> {
        let segments: Vec<String> = path.split('/').map(encoded).collect();
        let tail = format!("/contents/{}?ref={at}", segments.join("/"));
        match self.read_of(repo, &tail).await {
            Ok(page) => places::file(path, page.value).map(Some),
            // 404 is also the answer for a commit GitHub does not know (yet), and for a repository
            // that we may not read. Only a commit that can be read lacks the file.
            Err(Refused::NotFound(why)) => match self.commit(repo, at).await {
                Ok(_) => Ok(None),
                Err(Refused::NotFound(_)) => Err(Refused::NotFound(why)),
                Err(refused) => Err(refused),
            },
            Err(refused) => Err(refused),
        }
    }

    async fn check_runs(&self, repo: &Repository, head: &HeadSha) -> Answer<Listing<CheckRun>> {
        // `latest` is GitHub's choice by the time of completion and within a suite: a run that was
        // started again has no such time yet, and two suites can hold one name. All runs come, and the
        // gate picks the highest id of each producer.
        let tail = format!("/commits/{head}/check-runs?filter=all");
        self.list(
            Place::Of(repo),
            &tail,
            Shape::Counted("check_runs"),
            checks::run,
        )
        .await
    }

    async fn statuses(&self, repo: &Repository, head: &HeadSha) -> Answer<Listing<CommitStatus>> {
        let tail = format!("/commits/{head}/status");
        let shape = Shape::Counted("statuses");
        self.list(Place::Of(repo), &tail, shape, checks::status)
            .await
    }

    async fn workflow_runs(
        &self,
        repo: &Repository,
        head: &HeadSha,
    ) -> Answer<Listing<WorkflowRun>> {
        let tail = format!("/actions/runs?head_sha={head}");
        let shape = Shape::Counted("workflow_runs");
        self.list(Place::Of(repo), &tail, shape, checks::workflow_run)
            .await
    }

    async fn reviews(&self, repo: &Repository, number: PullNumber) -> Answer<Listing<Review>> {
        let tail = format!("/pulls/{number}/reviews");
        self.list(Place::Of(repo), &tail, Shape::Bare, pulls::review)
            .await
    }

    async fn comments(&self, repo: &Repository, number: PullNumber) -> Answer<Listing<Comment>> {
        let tail = format!("/issues/{number}/comments");
        let listing = self
            .list(Place::Of(repo), &tail, Shape::Bare, pulls::comment)
            .await?;
        Ok(listing::kept(listing))
    }

    async fn issue(&self, repo: &Repository, number: PullNumber) -> Answer<Option<Issue>> {
        match self.read_of(repo, &format!("/issues/{number}")).await {
            Ok(page) => issues::issue(page.value).map(Some),
            // A 404 may also be a permission that was taken away: only beside issues that can be read
            // is one known to be gone.
            Err(Refused::NotFound(why)) => {
                let beside = self.read_of(repo, "/issues?state=all&per_page=1").await;
                match beside {
                    Ok(_) => Ok(None),
                    Err(_) => Err(Refused::NotFound(why)),
                }
            }
            Err(refused) => Err(refused),
        }
    }

    async fn open_issues(&self, repo: &Repository) -> Answer<Listing<Issue>> {
        let tail = "/issues?state=open&sort=created&direction=asc";
        let raw = self
            .raw_list(Place::Of(repo), tail, Shape::Bare, MOST_PAGES)
            .await?;
        Ok(listing::converted(raw, issues::issue))
    }

    async fn own_comment(
        &self,
        repo: &Repository,
        number: PullNumber,
        own_app: AppId,
        marker: &str,
    ) -> Answer<Option<CommentId>> {
        let tail = format!("/issues/{number}/comments");
        let listing = self
            .list(Place::Of(repo), &tail, Shape::Bare, |value| {
                pulls::marked(value, own_app, marker)
            })
            .await?;
        let found = listing.items.into_iter().flatten().next();
        match found {
            None if !listing.complete => {
                Err(unreadable("the comments", "they could not be read whole"))
            }
            found => Ok(found),
        }
    }

    async fn open_conversations(&self, repo: &Repository, number: PullNumber) -> Answer<u64> {
        let who = Principal::Installation(repo.installation);
        let (mut open, mut read, mut after) = (0, 0, Value::Null);
        for _ in 0..MOST_PAGES {
            let variables = json!({
                "owner": repo.name.owner(),
                "name": repo.name.name(),
                "number": number.get(),
                "after": after,
            });
            let data = self.graphql(who, CONVERSATIONS, variables).await?;
            if wire::answering_repository(&data).is_some_and(|id| id != repo.id) {
                return Err(client::elsewhere(repo));
            }
            let page = wire::conversations(&data)?;
            open += page.open;
            read += page.read;
            match page.next {
                Some(cursor) => after = Value::String(cursor),
                None if read == page.total => return Ok(open),
                None => break,
            }
        }
        Err(unreadable(
            "the review conversations",
            "they could not be read whole",
        ))
    }

    async fn team_members(&self, repo: &Repository, org: &str, slug: &str) -> Answer<Vec<Actor>> {
        let path = format!("/orgs/{}/teams/{}/members", encoded(org), encoded(slug));
        let place = Place::At(Principal::Installation(repo.installation));
        self.whole_list(place, &path, |value| {
            let account = wire::read("a team's member", value)?;
            wire::need("a team's member", "id", wire::actor(Some(account)))
        })
        .await
    }

    async fn compare(
        &self,
        repo: &Repository,
        number: PullNumber,
        base_tip: &Oid,
        head: &HeadSha,
    ) -> Answer<Comparison> {
        let tail = format!("/compare/{base_tip}...{head}");
        let first = self.page(Place::Of(repo), &tail, 1).await?.value;
        let mut first = WireComparison::read(first)?;
        let merge_base = first.merge_base(base_tip)?;
        let files = wire::need("a comparison", "files", first.files.take())?;
        let cut = files.len() >= COMPARED_FILES;
        let mut files = listing::converted(Listing::whole(files), diff::file);
        if cut {
            files = self.listed_files(repo, number, head, &files).await?;
        }
        Ok(Comparison {
            base_tip: base_tip.clone(),
            head: head.clone(),
            merge_base,
            files,
            commits: self.compared_commits(repo, &tail, first).await?,
        })
    }

    async fn commit(&self, repo: &Repository, sha: &Oid) -> Answer<PullCommit> {
        let tail = format!("/git/commits/{sha}");
        let commit = diff::git_commit(self.read_of(repo, &tail).await?.value)?;
        if commit.sha != *sha {
            return Err(unreadable("a commit", "it is not the one asked for"));
        }
        Ok(commit)
    }

    async fn may_write(&self, repo: &Repository, actor: &Actor) -> Answer<bool> {
        let login = encoded(actor.login.as_str());
        let tail = format!("/collaborators/{login}/permission");
        let page = self.read_of(repo, &tail).await?;
        rules::may_write(page.value, actor.id.get())
    }

    fn token_issuer(&self) -> &str {
        self.published.issuer()
    }

    async fn signing_keys(&self) -> Answer<Vec<issuer::SigningKey>> {
        self.published.keys(self.now()).await
    }

    async fn introduce(&self) -> Introduction {
        let reply = match self.reply(Principal::App, "/app").await {
            Ok(reply) => reply,
            Err(refused) => {
                let (app, ahead) = (Err(refused), None);
                return Introduction { app, ahead };
            }
        };
        let ahead = auth::server_time(&reply.headers)
            .map(|theirs| self.now().signed_duration_since(theirs).num_seconds());
        let app = self.accept(Principal::App, &reply);
        Introduction {
            app: app.and_then(apps::registration),
            ahead,
        }
    }

    async fn granted(&self) -> Answer<Listing<Installation>> {
        let place = Place::At(Principal::App);
        let path = "/app/installations";
        self.list(place, path, Shape::Bare, apps::installation)
            .await
    }

    async fn hook(&self) -> Answer<Hook> {
        apps::hook(self.read(Principal::App, "/app/hook/config").await?.value)
    }

    async fn deliveries(&self) -> Answer<Listing<Delivered>> {
        // The way to older ones is a cursor; the newest hundred are what "recent" means here.
        let path = format!("/app/hook/deliveries?per_page={PER_PAGE}");
        let found = self.read(Principal::App, &path).await?.value;
        newest(&path, found, apps::delivered)
    }

    async fn attempts(&self, cursor: Option<&str>) -> Answer<Attempts> {
        self.attempts_page(cursor).await
    }

    async fn redeliver(&self, attempt: u64) -> Answer<()> {
        self.ask_again(attempt).await
    }

    async fn app_named(&self, repo: &Repository, slug: &str) -> Answer<bool> {
        let who = Principal::Installation(repo.installation);
        let path = format!("/apps/{}", encoded(slug));
        match self.read(who, &path).await {
            Ok(_) => Ok(true),
            Err(refused @ (Refused::NotFound(_) | Refused::Forbidden(_))) => {
                let bot = self.account(repo, &format!("{slug}[bot]")).await?;
                match refused {
                    _ if bot.is_some() => Ok(true),
                    Refused::NotFound(_) => Ok(false),
                    refused => Err(refused),
                }
            }
            Err(refused) => Err(refused),
        }
    }

    async fn account(&self, repo: &Repository, login: &str) -> Answer<Option<Actor>> {
        let who = Principal::Installation(repo.installation);
        match self.read(who, &format!("/users/{}", encoded(login))).await {
            Ok(page) => {
                let account = wire::read("an account", page.value)?;
                wire::need("an account", "id", wire::actor(Some(account))).map(Some)
            }
            Err(Refused::NotFound(_)) => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    async fn team(&self, repo: &Repository, org: &str, slug: &str) -> Answer<bool> {
        let who = Principal::Installation(repo.installation);
        let path = format!("/orgs/{}/teams/{}", encoded(org), encoded(slug));
        match self.read(who, &path).await {
            Ok(_) => Ok(true),
            Err(Refused::NotFound(_)) => Ok(false),
            Err(refused) => Err(refused),
        }
    }

    async fn methods(&self, repo: &Repository) -> Answer<Methods> {
        apps::methods(self.read_of(repo, "").await?.value)
    }

    fn budgets(&self) -> Vec<Left> {
        self.admission.left(self.now())
    }

    async fn recent_pulls(&self, repo: &Repository, most: usize) -> Answer<Listing<PullRequest>> {
        let tail = format!("/pulls?state=all&sort=updated&direction=desc&per_page={most}");
        newest(&tail, self.read_of(repo, &tail).await?.value, pulls::pull)
    }
}

/// The newest of a list that is not read to its end; whole where each of them could be read.
fn newest<T>(what: &str, value: Value, convert: fn(Value) -> Answer<T>) -> Answer<Listing<T>> {
    match value {
        Value::Array(items) => Ok(listing::converted(Listing::whole(items), convert)),
        _ => Err(unreadable(what, "not a list")),
    }
}

impl Client {
    /// The rest of a comparison's commits, counted against its own total.
    async fn compared_commits(
        &self,
        repo: &Repository,
        tail: &str,
        first: WireComparison,
    ) -> Answer<Listing<PullCommit>> {
        let total = first.total_commits;
        let mut seen = HashSet::new();
        let mut raw = first.commits;
        raw.retain(|commit| listing::is_new(&mut seen, commit));
        for number in 2..=MOST_PAGES {
            if total.is_none_or(|total| raw.len() as u64 >= total) {
                break;
            }
            let page = self.page(Place::Of(repo), tail, number).await?.value;
            let before = raw.len();
            let more = WireComparison::read(page)?.commits;
            raw.extend(
                more.into_iter()
                    .filter(|commit| listing::is_new(&mut seen, commit)),
            );
            if raw.len() == before {
                break;
            }
        }
        let complete = total == Some(raw.len() as u64);
        Ok(listing::converted(
            Listing {
                items: raw,
                complete,
            },
            diff::listed_commit,
        ))
    }

    /// A pull request's own list of files, for a comparison that was cut.
    ///
    /// This list is about whatever the pull request's head and base are *now*, so it stands in for the
    /// comparison only if the head is still the same afterwards and every file of the comparison is in
    /// it. It ends at 3,000 files, without a word about the rest.
    async fn listed_files(
        &self,
        repo: &Repository,
        number: PullNumber,
        head: &HeadSha,
        compared: &Listing<FileChange>,
    ) -> Answer<Listing<FileChange>> {
        let tail = format!("/pulls/{number}/files");
        let pages = LISTED_FILES / PER_PAGE;
        let raw = self
            .raw_list(Place::Of(repo), &tail, Shape::Bare, pages)
            .await?;
        let pull = self.pull(repo, number).await?;
        let mut listed = listing::converted(raw, diff::file);
        let paths: HashSet<&str> = listed.items.iter().map(|file| file.path.as_str()).collect();
        let covers = compared
            .items
            .iter()
            .all(|file| paths.contains(file.path.as_str()));
        let same = pull.head == *head && covers && compared.complete;
        listed.complete &= same && listed.items.len() < LISTED_FILES;
        Ok(listed)
    }
}

/// A text as one segment of a path.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

#[cfg(test)]
mod tests;
