//! Who posts a document, by what GitHub's token for a workflow run says. Pure: the signature was checked
//! before, the clock and what is remembered of the repository are handed in.
//!
//! Two questions, in this order. [`Claims::prove`]: is this a token of that GitHub, for this server, of
//! this hour? If not, nobody knows who asks (401). [`Claims::admit`]: may this run speak about that
//! document? If not, the claim that failed is named, with what was expected (403).
//!
//! **Which code ran.** `job_workflow_ref` is the file whose job asked for the token, and the ref that
//! file was read at. It must be this very repository's, at a branch that a gate protects: the base of the
//! pull request, or the default branch. A file read at `refs/pull/N/merge`, at a tag, a commit or a
//! feature branch is whatever the author of that ref wrote, so it vouches for nothing.
//!
//! **Which commit it is about.** In a `pull_request` run the token's `sha` is GitHub's test merge, never
//! the head; the number in `ref` leads to the pull request, and its head is compared instead. In runs that
//! start on a base branch (`pull_request_target`, `workflow_dispatch`, `workflow_run`, `schedule`), `sha` is
//! a commit of that branch: the document alone names the head. In a `push` run `sha` is the head itself.
//!
//! **Known.** A token vouches for the job, not for what the job executes: where a job that may ask for
//! tokens runs code of the pull request, that code can ask as well. Verifiers should run tests in a job
//! without `id-token: write` and post in another.

use serde_json::Value;

use super::Statement;
use crate::domain::facts::PullRequest;
use crate::domain::model::{BaseRef, RepoId, Repository, Timestamp};

/// How far clocks may differ, in seconds.
pub const SKEW: i64 = 60;

/// What of a token is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    issuer: String,
    audiences: Vec<String>,
    expires: Option<i64>,
    not_before: Option<i64>,
    issued: Option<i64>,
    /// The repository whose workflow runs; of a fork's run, the fork.
    pub repository_id: Option<RepoId>,
    repository: String,
    event: String,
    git_ref: String,
    sha: String,
    job_workflow_ref: String,
    run: Option<u64>,
}

/// A claim that is not what it must be. Tokens are never repeated, single claims are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{claim}` is {found}; expected {expected}")]
pub struct Refusal {
    /// The claim, or the field of the document.
    pub claim: &'static str,
    /// What it says.
    pub found: String,
    /// What it should say, and how to get there.
    pub expected: String,
}

impl Refusal {
    fn new(claim: &'static str, found: &str, expected: impl Into<String>) -> Self {
        let found = match found {
            "" => "missing".to_owned(),
            found => format!("`{}`", found.chars().take(200).collect::<String>()),
        };
        Self {
            claim,
            found,
            expected: expected.into(),
        }
    }
}

/// The workflow that a token speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// `OWNER/REPO` whose file it is.
    pub repository: String,
    /// The file.
    pub path: String,
    /// The full ref it was read at.
    pub git_ref: String,
}

impl Claims {
    /// Takes what is used here out of a token's claims; what is missing is refused where it counts.
    pub fn read(claims: &Value) -> Self {
        let text = |name: &str| claims[name].as_str().unwrap_or_default().to_owned();
        // GitHub writes ids as texts.
        let number = |name: &str| match &claims[name] {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        // Dates are whole seconds, or fractions of them.
        let date = |name: &str| {
            let value = &claims[name];
            #[allow(
                clippy::cast_possible_truncation,
                reason = "a date beyond 2^63 saturates"
            )]
            let rounded = || value.as_f64().map(|seconds| seconds as i64);
            value.as_i64().or_else(rounded)
        };
        let audiences = match &claims["aud"] {
            Value::Array(several) => several.clone(),
            one => vec![one.clone()],
        };
        let audiences = audiences.iter().filter_map(Value::as_str);
        Self {
            issuer: text("iss"),
            audiences: audiences.map(str::to_owned).collect(),
            expires: date("exp"),
            not_before: date("nbf"),
            issued: date("iat"),
            repository_id: number("repository_id").and_then(RepoId::new),
            repository: text("repository"),
            event: text("event_name"),
            git_ref: text("ref"),
            sha: text("sha"),
            job_workflow_ref: text("job_workflow_ref"),
            run: number("run_id"),
        }
    }

    /// Whether the token is this GitHub's, for this server, and good now.
    ///
    /// # Errors
    /// The claim that fails.
    pub fn prove(&self, issuer: &str, audience: &str, now: Timestamp) -> Result<(), Refusal> {
        if self.issuer != issuer {
            return Err(Refusal::new("iss", &self.issuer, format!("`{issuer}`")));
        }
        let same = |one: &String| one.trim_end_matches('/') == audience.trim_end_matches('/');
        if self.audiences.len() != 1 || !self.audiences.iter().all(same) {
            let expected = format!(
                "`{audience}` alone: ask GitHub for the token with this address as its audience"
            );
            return Err(Refusal::new("aud", &self.audiences.join(", "), expected));
        }
        let now = now.timestamp();
        let seconds = |at: Option<i64>| at.map_or(String::new(), |at| at.to_string());
        if self.expires.is_none_or(|at| at.saturating_add(SKEW) <= now) {
            let expected = format!("a time after {now}: ask for the token just before it is used");
            return Err(Refusal::new("exp", &seconds(self.expires), expected));
        }
        for (claim, at) in [("nbf", self.not_before), ("iat", self.issued)] {
            if at.is_some_and(|at| at.saturating_sub(SKEW) > now) {
                let expected =
                    format!("a time up to {now}: the clocks differ by more than {SKEW} s");
                return Err(Refusal::new(claim, &seconds(at), expected));
            }
        }
        Ok(())
    }

    /// The file whose job asked for the token.
    ///
    /// # Errors
    /// When it is not this repository's, or no such text.
    pub fn ran(&self) -> Result<Ran, Refusal> {
        let whole = &self.job_workflow_ref;
        let wrong = |expected: String| Refusal::new("job_workflow_ref", whole, expected);
        let form = || wrong("OWNER/REPO/.github/workflows/FILE@refs/heads/BRANCH".into());
        // A path may hold an `@`, a ref's name as well; only the ref begins like this.
        let (file, git_ref) = whole.split_once("@refs/").ok_or_else(|| {
            let mut refusal = form();
            refusal.expected.push_str(HOW_TO_PIN);
            refusal
        })?;
        let mut parts = file.splitn(3, '/');
        let (Some(owner), Some(name), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(form());
        };
        let repository = format!("{owner}/{name}");
        if !repository.eq_ignore_ascii_case(&self.repository) {
            let expected = format!(
                "a workflow of {} itself: what another repository's workflow does, its owners decide",
                self.repository
            );
            return Err(wrong(expected));
        }
        Ok(Ran {
            repository,
            path: path.to_owned(),
            git_ref: format!("refs/{git_ref}"),
        })
    }

    /// The pull requests about whose head this run may speak: of those that have the document's head, the
    /// ones that the run and the place of its workflow fit.
    ///
    /// # Errors
    /// The claim or field that fails.
    pub fn admit<'a>(
        &self,
        repo: &Repository,
        statement: &Statement,
        pulls: &'a [PullRequest],
    ) -> Result<(Ran, Vec<&'a PullRequest>), Refusal> {
        let name = repo.name.to_string();
        about(statement, &name, pulls)?;
        let ran = self.ran()?;
        let fitting = self.fitting(statement, pulls)?;
        let default = repo.default_branch.as_ref();
        let protected = |pull: &&PullRequest| is_protected(&ran.git_ref, Some(&pull.base), default);
        let fitting: Vec<_> = fitting.into_iter().filter(protected).collect();
        if fitting.is_empty() {
            let bases = pulls.iter().map(|pull| &pull.base).chain(default);
            let mut bases: Vec<_> = bases.map(|base| format!("`refs/heads/{base}`")).collect();
            bases.sort();
            bases.dedup();
            let expected = format!(
                "a workflow at {}: this is an unpinned workflow{HOW_TO_PIN}",
                bases.join(" or ")
            );
            return Err(Refusal::new(
                "job_workflow_ref",
                &self.job_workflow_ref,
                expected,
            ));
        }
        Ok((ran, fitting))
    }

    /// The page of the run, below the address where people see this GitHub.
    pub fn page(&self, github: &str, repo: &Repository) -> Option<String> {
        let run = self.run?;
        Some(format!("{github}/{}/actions/runs/{run}", repo.name))
    }

    fn fitting<'a>(
        &self,
        statement: &Statement,
        pulls: &'a [PullRequest],
    ) -> Result<Vec<&'a PullRequest>, Refusal> {
        match self.event.as_str() {
            "pull_request" => {
                let number = self
                    .git_ref
                    .strip_prefix("refs/pull/")
                    .and_then(|rest| rest.strip_suffix("/merge"));
                let number = number.and_then(|number| number.parse::<u64>().ok());
                let found: Vec<_> = pulls
                    .iter()
                    .filter(|pull| Some(pull.number.get()) == number)
                    .collect();
                if !found.is_empty() {
                    return Ok(found);
                }
                let refs = pulls.iter();
                let refs: Vec<_> = refs
                    .map(|pull| format!("`refs/pull/{}/merge`", pull.number))
                    .collect();
                let expected = format!(
                    "{}, the pull request whose head is {}",
                    refs.join(" or "),
                    statement.head.short()
                );
                Err(Refusal::new("ref", &self.git_ref, expected))
            }
            "push" if self.sha == statement.head.as_str() => Ok(pulls.iter().collect()),
            "push" => {
                let expected = format!("`{}`, the document's head", statement.head);
                Err(Refusal::new("sha", &self.sha, expected))
            }
            "pull_request_target" | "workflow_dispatch" | "workflow_run" | "schedule" => {
                Ok(pulls.iter().collect())
            }
            other => Err(Refusal::new(
                "event_name",
                other,
                "pull_request, pull_request_target, workflow_dispatch, workflow_run, schedule or push",
            )),
        }
    }
}

const HOW_TO_PIN: &str = ", which the author of a pull request may have written. Pin it: let the job call \
     the reusable workflow at the base branch (`uses: OWNER/REPO/.github/workflows/FILE@BRANCH`), or start \
     the workflow there by workflow_dispatch or pull_request_target";

/// Whether a document is about this repository, and about the head of an open pull request.
///
/// # Errors
/// The field that fails.
pub fn about(statement: &Statement, name: &str, pulls: &[PullRequest]) -> Result<(), Refusal> {
    if !statement.subject_name.eq_ignore_ascii_case(name) {
        return Err(Refusal::new(
            "subject[0].name",
            &statement.subject_name,
            format!("`{name}`, the repository that was proven, by its present name"),
        ));
    }
    if pulls.is_empty() {
        return Err(Refusal::new(
            "subject[0].digest.gitCommit",
            statement.head.as_str(),
            format!(
                "the head of an open pull request of {name}, and GitHub knows none with this one"
            ),
        ));
    }
    Ok(())
}

/// Whether a full ref is a branch that a gate protects: the pull request's base, or the default branch.
pub fn is_protected(git_ref: &str, base: Option<&BaseRef>, default: Option<&BaseRef>) -> bool {
    let branch = git_ref.strip_prefix("refs/heads/");
    branch.is_some_and(|branch| {
        base.into_iter()
            .chain(default)
            .any(|known| known.as_str() == branch)
    })
}

#[cfg(test)]
mod tests;
