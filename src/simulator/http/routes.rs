//! Which addresses there are: each with what a caller needs and who handles it.
//!
//! In a pattern, `{name}` is one segment of the path and `{+name}` is one or several: branches and files
//! have slashes in their names, escaped or not. Where two patterns fit, the earlier one counts. Routes
//! below a repository answer under `/repos/{owner}/{repo}` and under `/repositories/{id}`.

use super::asked::{Asked, Scene};
use super::reply::Reply;
use super::{app, checks, code, compare, conversation, graphql, issues, pulls, repos, site};
use crate::simulator::auth::Needs;
use crate::simulator::world::{Done, RepoId};

/// Answers a call.
pub type Handler = fn(&mut Scene<'_>, &Asked) -> Done<Reply>;

/// One route.
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path; for routes of repositories, what follows the repository.
    pub pattern: &'static str,
    /// What the caller needs.
    pub needs: Needs,
    /// Who answers.
    pub handle: Handler,
}

/// In whose address a route lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// In no repository's.
    Nobodys,
    /// In that of a repository, by `OWNER/REPO` or else by id.
    Repository {
        /// `OWNER/REPO`, as the caller wrote it.
        named: Option<String>,
        /// Its id, where it has no name.
        id: RepoId,
    },
}

/// A route that fits.
pub struct Found {
    /// It.
    pub route: &'static Route,
    /// The parts of the path it names, decoded.
    pub params: Vec<(&'static str, String)>,
    /// In whose address it lies.
    pub whose: Whose,
    /// What follows the repository in the path, as it came.
    pub below: String,
}

impl Found {
    /// The whole pattern.
    pub fn pattern(&self) -> String {
        match self.whose {
            Whose::Nobodys => self.route.pattern.to_owned(),
            Whose::Repository { .. } => format!("/repos/{{owner}}/{{repo}}{}", self.route.pattern),
        }
    }
}

const fn get(pattern: &'static str, needs: Needs, handle: Handler) -> Route {
    let method = "GET";
    Route {
        method,
        pattern,
        needs,
        handle,
    }
}

const fn does(method: &'static str, pattern: &'static str, needs: Needs, handle: Handler) -> Route {
    Route {
        method,
        pattern,
        needs,
        handle,
    }
}

const META: Needs = Needs::Read(&["metadata"]);
const CODE: Needs = Needs::Read(&["contents"]);
const PULLS: Needs = Needs::Read(&["pull_requests"]);
const CHECKS: Needs = Needs::Read(&["checks"]);
const STATUSES: Needs = Needs::Read(&["statuses"]);
const ACTIONS: Needs = Needs::Read(&["actions"]);
const TALK: Needs = Needs::Read(&["issues", "pull_requests"]);
const WRITE_CODE: Needs = Needs::Write(&["contents"]);
const WRITE_PULLS: Needs = Needs::Write(&["pull_requests"]);
const WRITE_CHECKS: Needs = Needs::Write(&["checks"]);
const WRITE_TALK: Needs = Needs::Write(&["issues", "pull_requests"]);

/// Routes outside repositories.
pub const PLAIN: &[Route] = &[
    get("/meta", Needs::Nothing, app::meta),
    get("/rate_limit", Needs::Nothing, app::rate_limit),
    does(
        "POST",
        "/app-manifests/{code}/conversions",
        Needs::Nothing,
        site::convert,
    ),
    get("/app", Needs::App, app::app),
    get("/app/installations", Needs::App, app::installations),
    get("/app/installations/{id}", Needs::App, app::installation),
    does(
        "POST",
        "/app/installations/{id}/access_tokens",
        Needs::App,
        app::access_token,
    ),
    get("/app/hook/config", Needs::App, app::hook_config),
    get("/app/hook/deliveries", Needs::App, app::deliveries),
    get("/app/hook/deliveries/{id}", Needs::App, app::delivery),
    does(
        "POST",
        "/app/hook/deliveries/{id}/attempts",
        Needs::App,
        app::redeliver,
    ),
    get(
        "/installation/repositories",
        Needs::Installation,
        app::repositories,
    ),
    get("/apps/{slug}", Needs::Nothing, app::app_named),
    get("/users/{login}", Needs::Nothing, app::user),
    get(
        "/orgs/{org}/teams/{slug}",
        Needs::Read(&["members"]),
        app::team,
    ),
    get(
        "/orgs/{org}/teams/{slug}/members",
        Needs::Read(&["members"]),
        app::team_members,
    ),
    does("POST", "/graphql", Needs::Installation, graphql::query),
];

/// Routes below a repository.
pub const OF_REPOSITORIES: &[Route] = &[
    get("", META, repos::repository),
    get("/installation", Needs::App, repos::installation),
    get("/collaborators/{login}/permission", META, repos::permission),
    get("/rules/branches/{+branch}", META, repos::rules),
    get(
        "/branches/{+branch}/protection",
        Needs::Read(&["administration"]),
        repos::protection,
    ),
    get("/branches/{+branch}", CODE, repos::branch),
    get("/git/ref/heads/{+branch}", CODE, code::git_ref),
    does(
        "DELETE",
        "/git/refs/heads/{+branch}",
        WRITE_CODE,
        code::delete_ref,
    ),
    get("/git/commits/{sha}", CODE, code::git_commit),
    get("/contents/{+path}", CODE, code::contents),
    get("/compare/{+range}", CODE, compare::compare),
    get("/commits/{+ref}/pulls", PULLS, pulls::of_commit),
    get("/commits/{+ref}/check-runs", CHECKS, checks::runs),
    get("/commits/{+ref}/check-suites", CHECKS, checks::suites),
    get("/commits/{+ref}/status", STATUSES, checks::combined_status),
    get("/commits/{+ref}/statuses", STATUSES, checks::statuses),
    get("/commits/{+ref}", CODE, code::commit),
    get("/pulls", PULLS, pulls::list),
    get("/pulls/{number}", PULLS, pulls::pull),
    get("/pulls/{number}/files", PULLS, pulls::files),
    get("/pulls/{number}/commits", PULLS, pulls::commits),
    get("/pulls/{number}/reviews", PULLS, pulls::reviews),
    does("PUT", "/pulls/{number}/merge", WRITE_CODE, pulls::merge),
    does(
        "PUT",
        "/pulls/{number}/update-branch",
        WRITE_PULLS,
        pulls::update_branch,
    ),
    does("POST", "/check-runs", WRITE_CHECKS, checks::create_run),
    get("/check-runs/{id}", CHECKS, checks::run),
    does(
        "PATCH",
        "/check-runs/{id}",
        WRITE_CHECKS,
        checks::update_run,
    ),
    does(
        "POST",
        "/statuses/{sha}",
        Needs::Write(&["statuses"]),
        checks::create_status,
    ),
    get("/actions/runs", ACTIONS, checks::workflow_runs),
    does(
        "POST",
        "/actions/workflows/{+id}/dispatches",
        Needs::Write(&["actions"]),
        checks::dispatch,
    ),
    get("/labels", TALK, issues::labels_of_repo),
    get("/issues", TALK, issues::list),
    get("/issues/comments/{id}", TALK, conversation::comment),
    does(
        "PATCH",
        "/issues/comments/{id}",
        WRITE_TALK,
        conversation::edit,
    ),
    does(
        "DELETE",
        "/issues/comments/{id}",
        WRITE_TALK,
        conversation::delete,
    ),
    does(
        "POST",
        "/issues/comments/{id}/reactions",
        WRITE_TALK,
        conversation::react,
    ),
    get("/issues/{number}", TALK, issues::issue),
    get("/issues/{number}/comments", TALK, conversation::list),
    does(
        "POST",
        "/issues/{number}/comments",
        WRITE_TALK,
        conversation::create,
    ),
    get("/issues/{number}/labels", TALK, issues::labels),
    does(
        "POST",
        "/issues/{number}/labels",
        WRITE_TALK,
        issues::add_labels,
    ),
    does(
        "DELETE",
        "/issues/{number}/labels/{name}",
        WRITE_TALK,
        issues::remove_label,
    ),
];

/// The route of a call.
pub fn find(method: &str, path: &str) -> Option<Found> {
    let raw: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (table, whose, rest) = match raw.as_slice() {
        ["repos", owner, name, rest @ ..] => {
            let named = Some(format!("{}/{}", decoded(owner), decoded(name)));
            (OF_REPOSITORIES, Whose::Repository { named, id: 0 }, rest)
        }
        ["repositories", id, rest @ ..] => {
            let id = id.parse().ok()?;
            (OF_REPOSITORIES, Whose::Repository { named: None, id }, rest)
        }
        rest => (PLAIN, Whose::Nobodys, rest),
    };
    let parts: Vec<String> = rest.iter().map(|part| decoded(part)).collect();
    let below: String = rest.iter().map(|part| format!("/{part}")).collect();
    table
        .iter()
        .filter(|route| route.method == method)
        .find_map(|route| {
            Some(Found {
                route,
                params: fit(route.pattern, &parts)?,
                whose: whose.clone(),
                below: below.clone(),
            })
        })
}

fn decoded(part: &str) -> String {
    percent_encoding::percent_decode_str(part)
        .decode_utf8_lossy()
        .into_owned()
}

/// The parts that a pattern names, if it fits. At most one part of a pattern takes several segments.
fn fit(pattern: &'static str, parts: &[String]) -> Option<Vec<(&'static str, String)>> {
    let wanted: Vec<&'static str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let spare = parts.len().checked_sub(wanted.len())?;
    let mut params = Vec::new();
    let mut rest = parts;
    for part in wanted {
        let name = part
            .strip_prefix('{')
            .and_then(|part| part.strip_suffix('}'));
        let takes = match name {
            Some(name) if name.starts_with('+') => spare + 1,
            _ => 1,
        };
        let (taken, left) = rest.split_at_checked(takes)?;
        let value = taken.join("/");
        match name {
            Some(name) => params.push((name.trim_start_matches('+'), value)),
            None if value == part => {}
            None => return None,
        }
        rest = left;
    }
    rest.is_empty().then_some(params)
}
