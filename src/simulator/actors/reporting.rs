//! Checks, statuses and workflows: what is reported on commits. Check runs are Apps' alone.

use super::{Actor, RepoHandle};
use crate::simulator::world::{
    CheckDraft, CheckEdit, Done, Output, Refusal, StatusDraft, WorkflowDraft,
};

impl Actor {
    /// Reports a check run as this App; answers its id.
    ///
    /// # Errors
    /// 403 for a person; 422, as GitHub words it.
    pub fn check(&self, repo: &RepoHandle, draft: CheckDraft) -> Done<u64> {
        let text = "You must authenticate via a GitHub App.";
        let app = self.app.ok_or_else(|| Refusal::new(403, text))?;
        self.github.lock().create_check_run(repo.id, app, draft)
    }

    /// Starts a check run.
    ///
    /// # Errors
    /// As [`Actor::check`].
    pub fn start_check(&self, repo: &RepoHandle, head: &str, name: &str) -> Done<u64> {
        self.check(
            repo,
            CheckDraft {
                name: name.to_owned(),
                head: head.to_owned(),
                status: Some("in_progress".to_owned()),
                ..CheckDraft::default()
            },
        )
    }

    /// Reports a check run that is completed.
    ///
    /// # Errors
    /// As [`Actor::check`].
    pub fn conclude(
        &self,
        repo: &RepoHandle,
        head: &str,
        name: &str,
        conclusion: &str,
    ) -> Done<u64> {
        self.check(
            repo,
            CheckDraft {
                name: name.to_owned(),
                head: head.to_owned(),
                conclusion: Some(conclusion.to_owned()),
                ..CheckDraft::default()
            },
        )
    }

    /// Reports success.
    ///
    /// # Errors
    /// As [`Actor::check`].
    pub fn pass(&self, repo: &RepoHandle, head: &str, name: &str) -> Done<u64> {
        self.conclude(repo, head, name, "success")
    }

    /// Reports failure.
    ///
    /// # Errors
    /// As [`Actor::check`].
    pub fn fail(&self, repo: &RepoHandle, head: &str, name: &str) -> Done<u64> {
        self.conclude(repo, head, name, "failure")
    }

    /// Reports a completed check run whose text says more, such as a fenced evidence document.
    ///
    /// # Errors
    /// As [`Actor::check`].
    pub fn report(
        &self,
        repo: &RepoHandle,
        head: &str,
        name: &str,
        conclusion: &str,
        text: &str,
    ) -> Done<u64> {
        let output = Output {
            title: Some(name.to_owned()),
            summary: Some(conclusion.to_owned()),
            text: Some(text.to_owned()),
            annotations: 0,
        };
        self.check(
            repo,
            CheckDraft {
                name: name.to_owned(),
                head: head.to_owned(),
                conclusion: Some(conclusion.to_owned()),
                output,
                ..CheckDraft::default()
            },
        )
    }

    /// Completes a run that was started.
    ///
    /// # Errors
    /// 403 for another App's run; 404.
    pub fn complete(&self, repo: &RepoHandle, run: u64, conclusion: &str) -> Done<()> {
        let edit = CheckEdit {
            conclusion: Some(conclusion.to_owned()),
            ..CheckEdit::default()
        };
        let mut world = self.github.lock();
        world.update_check_run(repo.id, run, self.app.unwrap_or_default(), edit)
    }

    /// Starts a re-run: the old run is set aside at once, and the new one is reported later with a
    /// higher id. In between the commit shows no run of that name.
    ///
    /// # Errors
    /// 404.
    pub fn begin_rerun(&self, repo: &RepoHandle, run: u64) -> Done<()> {
        self.github.lock().set_run_aside(repo.id, run)
    }

    /// Presses "Re-run" at a run.
    ///
    /// # Errors
    /// 404.
    pub fn rerequest(&self, repo: &RepoHandle, run: u64) -> Done<()> {
        let mut world = self.github.lock();
        world.rerequest_check_run(repo.id, run, self.principal())
    }

    /// Presses a button of a run.
    ///
    /// # Errors
    /// 422 when there is no such button.
    pub fn press(&self, repo: &RepoHandle, run: u64, button: &str) -> Done<()> {
        let mut world = self.github.lock();
        world.press_button(repo.id, run, button, self.principal())
    }

    /// Sets a commit status.
    ///
    /// # Errors
    /// 422, as GitHub words it.
    pub fn set_status(
        &self,
        repo: &RepoHandle,
        sha: &str,
        context: &str,
        state: &str,
    ) -> Done<u64> {
        let draft = StatusDraft {
            sha: sha.to_owned(),
            state: state.to_owned(),
            context: context.to_owned(),
            ..StatusDraft::default()
        };
        let mut world = self.github.lock();
        world.set_status(repo.id, self.principal(), draft)
    }

    /// Sets off a workflow on a commit; answers the run's id.
    ///
    /// # Errors
    /// 422 for an unknown commit.
    pub fn start_workflow(
        &self,
        repo: &RepoHandle,
        path: &str,
        event: &str,
        head: &str,
    ) -> Done<u64> {
        let draft = WorkflowDraft {
            path: path.to_owned(),
            name: path.to_owned(),
            event: event.to_owned(),
            head: head.to_owned(),
            branch: None,
            inputs: serde_json::Value::Null,
        };
        let mut world = self.github.lock();
        world.start_workflow(repo.id, self.principal(), draft)
    }

    /// A job of a workflow run reports; without a conclusion it is in progress. Answers the check
    /// run's id.
    ///
    /// # Errors
    /// 404.
    pub fn report_job(
        &self,
        repo: &RepoHandle,
        workflow_run: u64,
        job: &str,
        conclusion: Option<&str>,
    ) -> Done<u64> {
        let mut world = self.github.lock();
        world.report_job(repo.id, workflow_run, job, conclusion)
    }

    /// A workflow run ends.
    ///
    /// # Errors
    /// 404.
    pub fn finish_workflow(&self, repo: &RepoHandle, run: u64, conclusion: &str) -> Done<()> {
        let mut world = self.github.lock();
        world.finish_workflow(repo.id, run, conclusion)
    }

    /// Runs a workflow run again.
    ///
    /// # Errors
    /// 404.
    pub fn rerun_workflow(&self, repo: &RepoHandle, run: u64) -> Done<()> {
        let mut world = self.github.lock();
        world.rerun_workflow(repo.id, run, self.principal())
    }
}
