//! Check suites, check runs, commit statuses and workflow runs: who reports what on a commit.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    AccountId, AppId, Button, CheckRun, Done, Output, Principal, Refusal, Repo, RepoId, Sha,
    Status, Suite, Time, World,
};
use crate::simulator::payload;

/// What is said when a check run is created.
#[derive(Debug, Clone, Default)]
pub struct CheckDraft {
    /// Its name.
    pub name: String,
    /// The commit.
    pub head: Sha,
    /// `queued` when not said; `completed` when there is a conclusion.
    pub status: Option<String>,
    /// How it ended.
    pub conclusion: Option<String>,
    /// What its App calls it.
    pub external_id: Option<String>,
    /// A page about it.
    pub details_url: Option<String>,
    /// What it shows.
    pub output: Output,
    /// Its buttons.
    pub buttons: Vec<Button>,
    /// When it started; now when not said.
    pub started_at: Option<Time>,
    /// When it completed; now when not said.
    pub completed_at: Option<Time>,
    /// The suite, for GitHub Actions; found or made for others.
    pub suite: Option<u64>,
}

/// What changes in a check run; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct CheckEdit {
    /// Its name.
    pub name: Option<String>,
    /// Its status.
    pub status: Option<String>,
    /// How it ended.
    pub conclusion: Option<String>,
    /// What its App calls it.
    pub external_id: Option<String>,
    /// A page about it.
    pub details_url: Option<String>,
    /// What it shows, as a whole.
    pub output: Option<Output>,
    /// Its buttons, as a whole.
    pub buttons: Option<Vec<Button>>,
}

/// What a commit status says.
#[derive(Debug, Clone, Default)]
pub struct StatusDraft {
    /// The commit.
    pub sha: Sha,
    /// `error`, `failure`, `pending` or `success`.
    pub state: String,
    /// Its name; `default` when empty, as on GitHub.
    pub context: String,
    /// A short text.
    pub description: Option<String>,
    /// A page about it.
    pub target_url: Option<String>,
}

impl Repo {
    /// The runs that count on a commit: per suite and name the one with the highest id, and none that
    /// a re-run has set aside. GitHub's `filter=latest`.
    pub fn latest_runs(&self, head: &str) -> Vec<&CheckRun> {
        let mut latest: BTreeMap<(u64, &str), &CheckRun> = BTreeMap::new();
        for run in self.check_runs.values().filter(|run| run.head == head) {
            latest.insert((run.suite, &run.name), run);
        }
        let mut runs: Vec<&CheckRun> = latest.into_values().filter(|run| !run.set_aside).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.id));
        runs
    }

    /// The newest status per context on a commit.
    pub fn latest_statuses(&self, sha: &str) -> Vec<&Status> {
        let mut latest: BTreeMap<&str, &Status> = BTreeMap::new();
        for status in self.statuses.iter().filter(|status| status.sha == sha) {
            latest.insert(&status.context, status);
        }
        latest.into_values().collect()
    }

    /// The runs of a suite that count.
    pub fn runs_of_suite(&self, suite: u64) -> Vec<&CheckRun> {
        let head = self.suites.get(&suite).map_or("", |suite| &suite.head);
        self.latest_runs(head)
            .into_iter()
            .filter(|run| run.suite == suite)
            .collect()
    }
}

impl World {
    /// Creates a check run as an App.
    ///
    /// # Errors
    /// 404; 422 for an unknown commit, an empty name, a text over 65,535 characters, or more than
    /// three buttons.
    pub fn create_check_run(&mut self, repo: RepoId, app: AppId, draft: CheckDraft) -> Done<u64> {
        self.refuse_if_archived(repo)?;
        self.known_commit(&draft.head)?;
        if draft.name.is_empty() {
            return Err(Refusal::invalid("CheckRun", "name", "name can't be blank"));
        }
        fits_output(&draft.output)?;
        fits_buttons(&draft.buttons)?;
        let suite = match draft.suite {
            Some(suite) => suite,
            None => self.suite_for(repo, app, &draft.head)?,
        };
        let id = self.next_id("check_run");
        let now = self.now();
        let completed = draft.conclusion.is_some();
        let status = if completed {
            "completed".to_owned()
        } else {
            draft.status.unwrap_or_else(|| "queued".to_owned())
        };
        let run = CheckRun {
            id,
            suite,
            app,
            name: draft.name,
            head: draft.head,
            status,
            conclusion: draft.conclusion,
            external_id: draft.external_id,
            details_url: draft.details_url,
            started_at: draft.started_at.unwrap_or(now),
            completed_at: completed.then(|| draft.completed_at.unwrap_or(now)),
            output: draft.output,
            buttons: draft.buttons,
            set_aside: false,
        };
        self.repo_mut(repo)?.check_runs.insert(id, run);
        let by = self.bot_of(app);
        self.tell_check_run(repo, id, "created", by, json!({}));
        if completed {
            self.check_completed(repo, id, suite, by)?;
        }
        Ok(id)
    }

    /// Updates a check run. A completed run takes new output and a new conclusion, but its status does
    /// not go back: whoever wants a run in progress again creates another.
    ///
    /// # Errors
    /// 404; 403 for another App's run; 422 as on creation.
    pub fn update_check_run(
        &mut self,
        repo: RepoId,
        id: u64,
        app: AppId,
        edit: CheckEdit,
    ) -> Done<()> {
        self.refuse_if_archived(repo)?;
        if let Some(output) = &edit.output {
            fits_output(output)?;
        }
        fits_buttons(edit.buttons.as_deref().unwrap_or_default())?;
        let now = self.now();
        let runs = &mut self.repo_mut(repo)?.check_runs;
        let run = runs.get_mut(&id).ok_or_else(Refusal::not_found)?;
        if run.app != app {
            let text = "Invalid app_id `{}` - check run can only be modified by the GitHub App \
                        that created it.";
            return Err(Refusal::new(403, text.replace("{}", &app.to_string())));
        }
        let was_completed = run.status == "completed";
        put(&mut run.name, edit.name);
        put(&mut run.output, edit.output);
        put(&mut run.buttons, edit.buttons);
        run.external_id = edit.external_id.or_else(|| run.external_id.take());
        run.details_url = edit.details_url.or_else(|| run.details_url.take());
        if let Some(conclusion) = edit.conclusion {
            run.conclusion = Some(conclusion);
            run.status = "completed".to_owned();
            run.completed_at = Some(now);
        } else if !was_completed {
            put(&mut run.status, edit.status);
        }
        let (completes, suite) = (run.status == "completed" && !was_completed, run.suite);
        if completes {
            let by = self.bot_of(app);
            self.check_completed(repo, id, suite, by)?;
        }
        Ok(())
    }

    fn check_completed(&mut self, repo: RepoId, id: u64, suite: u64, by: AccountId) -> Done<()> {
        self.tell_check_run(repo, id, "completed", by, json!({}));
        let about = self.repo(repo)?;
        // A workflow's suite completes with its workflow run.
        let of_workflow = about
            .suites
            .get(&suite)
            .is_some_and(|suite| suite.workflow_run.is_some());
        let done = about
            .runs_of_suite(suite)
            .iter()
            .all(|run| run.status == "completed");
        if done && !of_workflow {
            self.tell_suite(repo, suite, "completed", by);
        }
        self.settle_auto_merges(repo)
    }

    /// The suite of an App on a commit, made if there is none.
    fn suite_for(&mut self, repo: RepoId, app: AppId, head: &str) -> Done<u64> {
        let known =
            self.repo(repo)?.suites.values().find(|suite| {
                suite.app == app && suite.head == head && suite.workflow_run.is_none()
            });
        match known {
            Some(suite) => Ok(suite.id),
            None => self.make_suite(repo, app, head, None),
        }
    }

    pub(super) fn make_suite(
        &mut self,
        repo: RepoId,
        app: AppId,
        head: &str,
        workflow_run: Option<u64>,
    ) -> Done<u64> {
        let id = self.next_id("suite");
        let now = self.now();
        let about = self.repo_mut(repo)?;
        let branch = about
            .branches
            .iter()
            .find(|(_, tip)| *tip == head)
            .map(|(name, _)| name.clone());
        let suite = Suite {
            id,
            app,
            head: head.to_owned(),
            branch,
            before: None,
            workflow_run,
            created_at: now,
            updated_at: now,
        };
        about.suites.insert(id, suite);
        Ok(id)
    }

    /// Somebody presses "Re-run" at a run. Its App alone is told; the run itself stays until the App
    /// makes another.
    ///
    /// # Errors
    /// 404.
    pub fn rerequest_check_run(&mut self, repo: RepoId, id: u64, by: Principal) -> Done<()> {
        let by = self.actor(by);
        let run = self.run(repo, id)?;
        if run.app == self.our_app {
            self.tell_check_run(repo, id, "rerequested", by, json!({}));
        }
        Ok(())
    }

    /// Somebody presses "Re-run all checks" of one App.
    ///
    /// # Errors
    /// 404.
    pub fn rerequest_suite(&mut self, repo: RepoId, suite: u64, by: Principal) -> Done<()> {
        let by = self.actor(by);
        let about = self.repo(repo)?;
        let of = about.suites.get(&suite).ok_or_else(Refusal::not_found)?;
        if of.app == self.our_app {
            self.tell_suite(repo, suite, "rerequested", by);
        }
        Ok(())
    }

    /// Somebody presses a button of a run; its App alone is told.
    ///
    /// # Errors
    /// 404; 422 when the run has no such button.
    pub fn press_button(
        &mut self,
        repo: RepoId,
        id: u64,
        identifier: &str,
        by: Principal,
    ) -> Done<()> {
        let by = self.actor(by);
        let run = self.run(repo, id)?;
        if !run
            .buttons
            .iter()
            .any(|button| button.identifier == identifier)
        {
            return Err(Refusal::new(
                422,
                format!("There is no button {identifier}"),
            ));
        }
        if run.app == self.our_app {
            let pressed = json!({ "requested_action": { "identifier": identifier } });
            self.tell_check_run(repo, id, "requested_action", by, pressed);
        }
        Ok(())
    }

    /// Sets a run aside, as a re-run does the moment it starts: from now until the new run is created
    /// the commit shows no run of that name, and so no failing one.
    ///
    /// # Errors
    /// 404.
    pub fn set_run_aside(&mut self, repo: RepoId, id: u64) -> Done<()> {
        let runs = &mut self.repo_mut(repo)?.check_runs;
        runs.get_mut(&id).ok_or_else(Refusal::not_found)?.set_aside = true;
        Ok(())
    }

    /// A check run.
    ///
    /// # Errors
    /// 404.
    pub fn run(&self, repo: RepoId, id: u64) -> Done<&CheckRun> {
        self.repo(repo)?
            .check_runs
            .get(&id)
            .ok_or_else(Refusal::not_found)
    }

    fn bot_of(&self, app: AppId) -> AccountId {
        self.actor(Principal::App(app))
    }

    /// Sets a commit status.
    ///
    /// # Errors
    /// 404; 422 for an unknown commit or state.
    pub fn set_status(&mut self, repo: RepoId, by: Principal, draft: StatusDraft) -> Done<u64> {
        self.refuse_if_archived(repo)?;
        self.known_commit(&draft.sha)?;
        if !["error", "failure", "pending", "success"].contains(&draft.state.as_str()) {
            return Err(Refusal::invalid(
                "Status",
                "state",
                "state is not included in the list",
            ));
        }
        let id = self.next_id("status");
        let creator = self.actor(by);
        let context = if draft.context.is_empty() {
            "default".to_owned()
        } else {
            draft.context
        };
        let status = Status {
            id,
            sha: draft.sha,
            state: draft.state,
            context,
            description: draft.description,
            target_url: draft.target_url,
            creator,
            app: self.app_behind(by),
            created_at: self.now(),
        };
        self.repo_mut(repo)?.statuses.push(status.clone());
        self.tell(repo, "status", None, creator, |world| {
            payload::status_event(world, repo, &status)
        });
        self.settle_auto_merges(repo)?;
        Ok(id)
    }

    pub(super) fn tell_check_run(
        &mut self,
        repo: RepoId,
        id: u64,
        action: &str,
        by: AccountId,
        mut more: Value,
    ) {
        self.tell(repo, "check_run", Some(action), by, |world| {
            if let (Ok(about), Ok(run)) = (world.repo(repo), world.run(repo, id)) {
                more["check_run"] = payload::check_run_event(world, about, run);
            }
            more
        });
    }

    pub(super) fn tell_suite(&mut self, repo: RepoId, id: u64, action: &str, by: AccountId) {
        // Of `requested` and `rerequested` only the suite's own App hears; the callers see to it.
        self.tell(repo, "check_suite", Some(action), by, |world| {
            let suite = world.repo(repo).ok().and_then(|about| {
                let suite = about.suites.get(&id)?;
                Some(payload::check_suite_event(world, about, suite))
            });
            json!({ "check_suite": suite })
        });
    }
}

fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn fits_output(output: &Output) -> Done<()> {
    for (field, text) in [("summary", &output.summary), ("text", &output.text)] {
        if text
            .as_ref()
            .is_some_and(|text| text.chars().count() > 65_535)
        {
            let message = format!("{field} exceeds a maximum bytesize of 65535");
            return Err(Refusal::invalid("CheckRun", field, &message));
        }
    }
    Ok(())
}

fn fits_buttons(buttons: &[Button]) -> Done<()> {
    let long = buttons.iter().any(|button| {
        button.label.chars().count() > 20
            || button.description.chars().count() > 40
            || button.identifier.chars().count() > 20
    });
    if buttons.len() > 3 || long {
        return Err(Refusal::invalid(
            "CheckRun",
            "actions",
            "actions is too long",
        ));
    }
    Ok(())
}
