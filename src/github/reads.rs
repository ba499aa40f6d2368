//! What is read, address by address.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{
    Client, PAGES, Place, Repos, Runs, Statuses, Workflows, each, each_that_is, parse, repo_path,
    segment, segments,
};
use super::transport::As;
use super::{Answer, Branch, FileAt, Reads, Refused, wire};
use crate::domain::facts::{
    CheckRun, Comment, CommitStatus, Comparison, Listing, PlatformRule, PullCommit, PullRequest,
    PullState, Review, WorkflowRun,
};
use crate::domain::model::{
    Actor, AppRef, BaseRef, HeadSha, InstallationId, Oid, PolicyDigest, PullNumber, RepoName,
    Repository,
};

/// How many files a comparison shows at most; from here on the pull request's own list is read.
const COMPARED_FILES: usize = 300;

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
        pulls
            .items
            .retain(|pull| pull.head == *head && pull.state == PullState::Open);
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
