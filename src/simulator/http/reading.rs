//! The routes that read.

use serde_json::{Value, json};

use super::Asked;
use super::auth::{Who, allowed};
use super::reply::Reply;
use crate::simulator::Simulator;
use crate::simulator::payload;
use crate::simulator::world::{Done, Number, Refusal, Repo, RepoId, World};

/// A comparison lists so many commits and files at most.
const COMPARED_COMMITS: usize = 250;
const COMPARED_FILES: usize = 300;
/// The list of a pull request's files ends here, without a sign.
const LISTED_FILES: usize = 3_000;

impl Simulator {
    /// Finds the route of a call.
    pub(super) fn route(&self, asked: &Asked<'_>) -> Done<Reply> {
        let path: Vec<&str> = asked.path.iter().map(String::as_str).collect();
        match (asked.method, path.as_slice()) {
            ("GET", ["app"]) => self.for_app(asked, |world| {
                Ok(Reply::ok(payload::app(world, world.our_app)))
            }),
            ("GET", ["app", "installations"]) => self.for_app(asked, |world| {
                let ours = world
                    .installations
                    .values()
                    .filter(|one| one.app == world.our_app);
                Ok(Reply::list(
                    ours.map(|one| payload::installation(world, one)).collect(),
                ))
            }),
            ("POST", ["app", "installations", id, "access_tokens"]) => self.access_token(asked, id),
            ("GET", ["app", "hook", "deliveries"]) => {
                let listed = self.listed_deliveries();
                self.for_app(asked, |_| Ok(Reply::list(listed)))
            }
            ("GET", ["installation", "repositories"]) => self.installation_repositories(asked),
            ("GET", ["repositories", id]) => {
                let id = id.parse().map_err(|_| Refusal::not_found())?;
                self.in_repo(asked, id, "metadata", |world, repo| {
                    Ok(Reply::ok(payload::repository(world, repo)))
                })
            }
            ("GET", ["orgs", org, "teams", slug, "members"]) => self.team_members(org, slug),
            ("GET", ["meta"]) => Ok(Reply::ok(
                json!({ "verifiable_password_authentication": false }),
            )),
            ("POST", ["graphql"]) => self.graphql(asked),
            (_, ["repos", owner, name, rest @ ..]) => {
                let id = self.lock().repo_named(&format!("{owner}/{name}"))?;
                self.repo_route(asked, id, rest)
            }
            _ => Err(Refusal::not_found()),
        }
    }

    fn repo_route(&self, asked: &Asked<'_>, id: RepoId, rest: &[&str]) -> Done<Reply> {
        if asked.method != "GET" {
            return self.write_route(asked, id, rest);
        }
        let read = |permission, with: &dyn Fn(&World, &Repo) -> Done<Reply>| {
            self.in_repo(asked, id, permission, with)
        };
        match rest {
            ["installation"] => self.for_app(asked, |world| {
                let found = world.installation_for(world.our_app, id);
                let found = found.ok_or_else(Refusal::not_found)?;
                Ok(Reply::ok(payload::installation(world, found)))
            }),
            [] => read("metadata", &|world, repo| {
                Ok(Reply::ok(payload::repository(world, repo)))
            }),
            ["pulls"] => read("pull_requests", &|world, repo| {
                Ok(pulls(asked, world, repo))
            }),
            ["pulls", number] => self.single_pull(asked, id, number),
            ["pulls", number, list @ ("files" | "commits" | "reviews")] => {
                let number = self::number(number)?;
                read("pull_requests", &|world, repo| {
                    about_pull(world, repo, number, list)
                })
            }
            ["commits", sha, "pulls"] => read("pull_requests", &|world, repo| {
                let having = repo.pulls.values().filter(|pull| pull.head.sha == *sha);
                Ok(Reply::list(
                    having
                        .map(|pull| payload::pull_simple(world, repo, pull))
                        .collect(),
                ))
            }),
            ["commits", sha, "check-runs"] => read("checks", &|world, repo| {
                Ok(check_runs(asked, world, repo, sha))
            }),
            ["commits", sha, "status"] => read("statuses", &|world, repo| {
                Ok(Reply::with_list(
                    "statuses",
                    payload::combined_status(world, repo, sha),
                ))
            }),
            ["check-runs", run] => read("checks", &|world, repo| {
                let run = run
                    .parse()
                    .ok()
                    .and_then(|run: u64| repo.check_runs.get(&run));
                let run = run.ok_or_else(Refusal::not_found)?;
                Ok(Reply::ok(payload::check_run(world, repo, run)))
            }),
            _ => self.content_route(asked, id, rest),
        }
    }

    /// The routes to what stands in the repository itself, and to its people.
    fn content_route(&self, asked: &Asked<'_>, id: RepoId, rest: &[&str]) -> Done<Reply> {
        let read = |permission, with: &dyn Fn(&World, &Repo) -> Done<Reply>| {
            self.in_repo(asked, id, permission, with)
        };
        match rest {
            ["branches", branch @ ..] => {
                let branch = branch.join("/");
                read("contents", &|world, repo| {
                    found(payload::branch(world, repo, &branch))
                })
            }
            ["rules", "branches", branch @ ..] => {
                let branch = branch.join("/");
                read("metadata", &|world, repo| {
                    Ok(Reply::list(payload::branch_rules(world, repo, &branch)))
                })
            }
            ["git", "commits", sha] => read("contents", &|world, repo| {
                found(payload::git_commit(world, repo, sha))
            }),
            ["git", "ref", "heads", branch @ ..] => {
                let branch = branch.join("/");
                read("contents", &|world, repo| {
                    found(payload::git_ref(world, repo, &branch))
                })
            }
            ["contents", path @ ..] => {
                let path = path.join("/");
                read("contents", &|world, repo| {
                    contents(asked, world, repo, &path)
                })
            }
            ["compare", range] => read("contents", &|world, repo| compare(world, repo, range)),
            ["actions", "runs"] => read("actions", &|world, repo| {
                let wanted = asked.query.get("head_sha");
                let runs = repo.workflow_runs.values().rev();
                let runs = runs.filter(|run| wanted.is_none_or(|sha| run.head == *sha));
                let runs = runs
                    .map(|run| payload::workflow_run(world, repo, run))
                    .collect();
                Ok(Reply::counted("workflow_runs", runs))
            }),
            ["issues", number, "comments"] => {
                let number = self::number(number)?;
                read("issues", &|world, repo| {
                    let comments = repo.comments.values().filter(|c| c.number == number);
                    Ok(Reply::list(
                        comments.map(|c| payload::comment(world, repo, c)).collect(),
                    ))
                })
            }
            ["collaborators", login, "permission"] => read("metadata", &|world, repo| {
                let account = world.account_named(login).ok_or_else(Refusal::not_found)?;
                Ok(Reply::ok(payload::permission(world, repo, account.id)))
            }),
            _ => Err(Refusal::not_found()),
        }
    }

    fn for_app(&self, asked: &Asked<'_>, with: impl FnOnce(&World) -> Done<Reply>) -> Done<Reply> {
        match asked.who {
            Who::App => with(&self.lock()),
            Who::Anybody | Who::Installation(_) => {
                Err(Refusal::new(401, "A JSON web token could not be decoded"))
            }
        }
    }

    /// Answers with what is read in a repository, if the caller may.
    pub(super) fn in_repo(
        &self,
        asked: &Asked<'_>,
        id: RepoId,
        permission: &str,
        with: impl FnOnce(&World, &Repo) -> Done<Reply>,
    ) -> Done<Reply> {
        let world = self.lock();
        allowed(&world, asked.who, id, permission, "read")?;
        with(&world, world.repo(id)?)
    }

    fn access_token(&self, asked: &Asked<'_>, id: &str) -> Done<Reply> {
        self.for_app(asked, |_| Ok(Reply::ok(Value::Null)))?;
        let id = id.parse().map_err(|_| Refusal::not_found())?;
        let (token, expires) = self.mint(id)?;
        Ok(Reply::created(
            json!({ "token": token, "expires_at": payload::time(expires) }),
        ))
    }

    fn installation_repositories(&self, asked: &Asked<'_>) -> Done<Reply> {
        let Who::Installation(id) = asked.who else {
            return Err(Refusal::new(401, "Requires authentication"));
        };
        let world = self.lock();
        let installation = world
            .installations
            .get(&id)
            .ok_or_else(Refusal::not_found)?;
        let covered = world.covered(installation);
        let repos = covered
            .iter()
            .map(|repo| payload::repository(&world, repo))
            .collect();
        Ok(Reply::counted("repositories", repos))
    }

    /// A single read of a pull request is what sets GitHub computing whether it merges.
    fn single_pull(&self, asked: &Asked<'_>, id: RepoId, number: &str) -> Done<Reply> {
        let number = self::number(number)?;
        allowed(&self.lock(), asked.who, id, "pull_requests", "read")?;
        self.lock().read_pull(id, number)?;
        let world = self.lock();
        let (repo, pull) = (world.repo(id)?, world.pull(id, number)?);
        Ok(Reply::ok(payload::pull(&world, repo, pull)))
    }

    fn team_members(&self, org: &str, slug: &str) -> Done<Reply> {
        let world = self.lock();
        let org = world.account_named(org).ok_or_else(Refusal::not_found)?.id;
        let team = world
            .teams
            .iter()
            .find(|team| team.org == org && team.slug == slug);
        let team = team.ok_or_else(Refusal::not_found)?;
        let members = team
            .members
            .iter()
            .map(|id| payload::account(&world, Some(*id)));
        Ok(Reply::list(members.collect()))
    }

    /// Answers the one query this GitHub knows: a pull request's review threads.
    fn graphql(&self, asked: &Asked<'_>) -> Done<Reply> {
        let variables = &asked.body["variables"];
        let text = |name: &str| variables[name].as_str().unwrap_or_default().to_owned();
        let id = self
            .lock()
            .repo_named(&format!("{}/{}", text("owner"), text("name")))?;
        let number = variables["number"]
            .as_u64()
            .ok_or_else(Refusal::not_found)?;
        self.in_repo(asked, id, "pull_requests", |_, repo| {
            let threads = repo.threads.values().filter(|thread| thread.pull == number);
            let nodes: Vec<_> = threads
                .map(|t| json!({ "isResolved": t.resolved }))
                .collect();
            let page = json!({ "hasNextPage": false, "endCursor": null });
            let threads = json!({ "nodes": nodes, "pageInfo": page });
            let pull = json!({ "pullRequest": { "reviewThreads": threads } });
            Ok(Reply::ok(json!({ "data": { "repository": pull } })))
        })
    }
}

pub(super) fn number(text: &str) -> Done<Number> {
    text.parse().map_err(|_| Refusal::not_found())
}

fn found(value: Value) -> Done<Reply> {
    if value.is_null() {
        Err(Refusal::not_found())
    } else {
        Ok(Reply::ok(value))
    }
}

fn pulls(asked: &Asked<'_>, world: &World, repo: &Repo) -> Reply {
    let state = asked.query.get("state").map_or("open", String::as_str);
    let wanted = |open: bool| match state {
        "all" => true,
        "closed" => !open,
        _ => open,
    };
    let pulls = repo.pulls.values().rev().filter(|pull| wanted(pull.open));
    Reply::list(
        pulls
            .map(|pull| payload::pull_simple(world, repo, pull))
            .collect(),
    )
}

fn about_pull(world: &World, repo: &Repo, number: Number, list: &str) -> Done<Reply> {
    let pull = repo.pulls.get(&number).ok_or_else(Refusal::not_found)?;
    Ok(Reply::list(match list {
        "files" => {
            let mut files = payload::pull_files(world, repo, pull);
            files.truncate(LISTED_FILES);
            files
        }
        "commits" => {
            let mut commits = payload::pull_commits(world, repo, pull);
            commits.truncate(COMPARED_COMMITS);
            commits
        }
        _ => {
            let reviews = repo.reviews.values().filter(|review| review.pull == number);
            reviews
                .map(|review| payload::review(world, repo, review))
                .collect()
        }
    }))
}

fn check_runs(asked: &Asked<'_>, world: &World, repo: &Repo, sha: &str) -> Reply {
    let all = asked
        .query
        .get("filter")
        .is_some_and(|filter| filter == "all");
    let name = asked.query.get("check_name");
    let runs: Vec<_> = if all {
        repo.check_runs
            .values()
            .rev()
            .filter(|run| run.head == sha && !run.set_aside)
            .collect()
    } else {
        repo.latest_runs(sha)
    };
    let named = runs
        .into_iter()
        .filter(|run| name.is_none_or(|name| run.name == *name));
    let runs = named
        .map(|run| payload::check_run(world, repo, run))
        .collect();
    Reply::counted("check_runs", runs)
}

fn contents(asked: &Asked<'_>, world: &World, repo: &Repo, path: &str) -> Done<Reply> {
    let at = asked.query.get("ref").unwrap_or(&repo.default_branch);
    let sha = repo.branches.get(at).unwrap_or(at);
    found(payload::content(world, repo, path, sha))
}

fn compare(world: &World, repo: &Repo, range: &str) -> Done<Reply> {
    let (base, head) = range.split_once("...").ok_or_else(Refusal::not_found)?;
    let resolved = |name: &str| {
        repo.branches
            .get(name)
            .cloned()
            .unwrap_or_else(|| name.to_owned())
    };
    let mut compared = payload::compare(world, repo, &resolved(base), &resolved(head));
    for (list, most) in [("commits", COMPARED_COMMITS), ("files", COMPARED_FILES)] {
        if let Some(items) = compared.get_mut(list).and_then(Value::as_array_mut) {
            items.truncate(most);
        }
    }
    found(compared)
}
