//! How deliveries change what is remembered of a commit.

use super::{Change, HeadMemory};
use crate::domain::facts::{CheckRun, CommitStatus, RunStatus, WorkflowRun};
use crate::domain::model::{SuiteId, Timestamp};

/// The status word of a run whose conclusion no longer counts because it is being run again. GitHub
/// uses the word for the delivery's action, never for a status, so it cannot be mistaken.
pub(super) const RERUN: &str = "rerequested";

impl HeadMemory {
    /// Applies a change that is about this commit; any other changes nothing.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Run(_, run) => self.see_run(run),
            Change::SuiteRerun(_, _, suite) => self.void_suite(*suite),
            Change::Status(_, _, status) => self.see_status(status),
            Change::Workflow(_, run) => self.see_workflow(run),
            Change::Pushed(..)
            | Change::Repo(_)
            | Change::RepoSeen(_)
            | Change::InstallationActive(..)
            | Change::Pull(..)
            | Change::Review(..)
            | Change::Comment(..)
            | Change::CommentGone(..)
            | Change::Tip { .. }
            | Change::Hold(..)
            | Change::Unhold(..)
            | Change::Verify(..)
            | Change::Asked(..)
            | Change::IssueTouched(..)
            | Change::AskedOnIssue(..) => {}
        }
    }

    fn see_run(&mut self, seen: &CheckRun) {
        let newer = self
            .runs
            .get(&seen.id)
            .is_none_or(|known| age(seen) >= age(known));
        if newer {
            self.runs.insert(seen.id, seen.clone());
        }
    }

    /// Voids what the runs of a suite concluded, as far as they are known: they run again, and until
    /// they report anew there is no failing and no passing run.
    fn void_suite(&mut self, suite: SuiteId) {
        for run in self.runs.values_mut() {
            if run.suite == Some(suite) && matches!(run.status, RunStatus::Completed(_)) {
                run.status = RunStatus::Unfinished(RERUN.to_owned());
            }
        }
    }

    fn see_status(&mut self, seen: &CommitStatus) {
        let newer = self.statuses.get(&seen.context).is_none_or(|known| {
            match (known.id, seen.id) {
                (Some(known), Some(seen)) if known != seen => seen > known,
                // The same entry, or a server that leaves ids out.
                _ => seen.updated_at >= known.updated_at,
            }
        });
        if newer {
            self.statuses.insert(seen.context.clone(), seen.clone());
        }
    }

    /// A re-run keeps the id and raises the attempt. Kept sorted by id, so that the order of arrival
    /// does not show.
    fn see_workflow(&mut self, seen: &WorkflowRun) {
        match self.workflows.binary_search_by_key(&seen.id, |run| run.id) {
            Ok(at) => {
                if let Some(known) = self.workflows.get_mut(at)
                    && seen.attempt >= known.attempt
                {
                    *known = seen.clone();
                }
            }
            Err(at) => self.workflows.insert(at, seen.clone()),
        }
    }
}

/// The order of one run's states: by when it last finished, and within that by how far it went.
///
/// A run that is requested again still bears the date of the conclusion that is void now; it is later
/// than that conclusion and earlier than the next one.
fn age(run: &CheckRun) -> (Option<Timestamp>, u8) {
    let phase = match &run.status {
        RunStatus::Completed(_) => 2,
        RunStatus::Unfinished(word) if word == RERUN => 3,
        RunStatus::Unfinished(word) if word == "in_progress" => 1,
        RunStatus::Unfinished(_) => 0,
    };
    (run.completed_at, phase)
}
