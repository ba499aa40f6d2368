//! Runs of GitHub Actions workflows, and the merge queue's groups.

use serde_json::{Value, json};

use super::{
    ACTIONS_APP, AccountId, CheckDraft, Done, Number, Output, Principal, Refusal, RepoId, Sha,
    WorkflowRun, World,
};
use crate::simulator::git::{Commit, Merged};
use crate::simulator::payload;

/// What starts a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowDraft {
    /// The workflow's file.
    pub path: String,
    /// Its name.
    pub name: String,
    /// What started it.
    pub event: String,
    /// The commit.
    pub head: Sha,
    /// The branch.
    pub branch: Option<String>,
    /// What `workflow_dispatch` gave it.
    pub inputs: Value,
}

/// A merge queue's group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeGroup {
    /// The group's head: what is to be checked, and what lands.
    pub head: Sha,
    /// The group's branch (`gh-readonly-queue/...`).
    pub branch: String,
    /// The base branch.
    pub base: String,
    /// The base's tip it was made on.
    pub base_sha: Sha,
    /// The pull requests in it, in order.
    pub members: Vec<Number>,
}

impl World {
    /// Starts a workflow run, with its check suite.
    ///
    /// # Errors
    /// 404; 422 for an unknown commit.
    pub fn start_workflow(
        &mut self,
        repo: RepoId,
        by: Principal,
        draft: WorkflowDraft,
    ) -> Done<u64> {
        self.known_commit(&draft.head)?;
        let id = self.next_id("workflow_run");
        let suite = self.make_suite(repo, ACTIONS_APP, &draft.head, Some(id))?;
        let actor = self.actor(by);
        let now = self.now();
        let earlier = self.repo(repo)?.workflow_runs.values();
        let same: Vec<&WorkflowRun> = earlier.filter(|run| run.path == draft.path).collect();
        let run_number = u64::try_from(same.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let workflow_id = same.first().map(|run| run.workflow_id);
        let workflow_id = workflow_id.unwrap_or_else(|| self.next_id("workflow"));
        let run = WorkflowRun {
            id,
            workflow_id,
            name: draft.name,
            path: draft.path,
            event: draft.event,
            head: draft.head,
            branch: draft.branch,
            suite,
            status: "in_progress".to_owned(),
            conclusion: None,
            attempt: 1,
            run_number,
            actor,
            inputs: draft.inputs,
            created_at: now,
            updated_at: now,
        };
        self.repo_mut(repo)?.workflow_runs.insert(id, run);
        self.tell_workflow(repo, id, "requested", actor);
        self.tell_workflow(repo, id, "in_progress", actor);
        Ok(id)
    }

    /// Reports a job of a workflow run as a check run; without a conclusion it is in progress.
    ///
    /// # Errors
    /// 404.
    pub fn report_job(
        &mut self,
        repo: RepoId,
        workflow_run: u64,
        job: &str,
        conclusion: Option<&str>,
    ) -> Done<u64> {
        let run = self.workflow_run(repo, workflow_run)?;
        let draft = CheckDraft {
            name: job.to_owned(),
            head: run.head.clone(),
            suite: Some(run.suite),
            status: Some("in_progress".to_owned()),
            conclusion: conclusion.map(str::to_owned),
            output: Output::default(),
            ..CheckDraft::default()
        };
        self.create_check_run(repo, ACTIONS_APP, draft)
    }

    /// Ends a workflow run; its suite completes with it.
    ///
    /// # Errors
    /// 404.
    pub fn finish_workflow(&mut self, repo: RepoId, id: u64, conclusion: &str) -> Done<()> {
        let now = self.now();
        let runs = &mut self.repo_mut(repo)?.workflow_runs;
        let run = runs.get_mut(&id).ok_or_else(Refusal::not_found)?;
        run.status = "completed".to_owned();
        run.conclusion = Some(conclusion.to_owned());
        run.updated_at = now;
        let (suite, actor) = (run.suite, run.actor);
        self.tell_workflow(repo, id, "completed", actor);
        self.tell_suite(repo, suite, "completed", actor);
        self.settle_auto_merges(repo)
    }

    /// Runs a workflow run again: another attempt, and until its jobs report, none of its names shows
    /// a run.
    ///
    /// # Errors
    /// 404.
    pub fn rerun_workflow(&mut self, repo: RepoId, id: u64, by: Principal) -> Done<()> {
        let actor = self.actor(by);
        let now = self.now();
        let about = self.repo_mut(repo)?;
        let run = about
            .workflow_runs
            .get_mut(&id)
            .ok_or_else(Refusal::not_found)?;
        run.attempt += 1;
        run.status = "in_progress".to_owned();
        run.conclusion = None;
        run.actor = actor;
        run.updated_at = now;
        let suite = run.suite;
        for job in about
            .check_runs
            .values_mut()
            .filter(|job| job.suite == suite)
        {
            job.set_aside = true;
        }
        self.tell_workflow(repo, id, "requested", actor);
        self.tell_workflow(repo, id, "in_progress", actor);
        Ok(())
    }

    /// `workflow_dispatch` of a workflow, by its path, file name or id.
    ///
    /// # Errors
    /// 404 when the default branch has no such workflow; 422 for an unknown branch.
    pub fn dispatch_workflow(
        &mut self,
        repo: RepoId,
        by: Principal,
        workflow: &str,
        branch: &str,
        inputs: Value,
    ) -> Done<u64> {
        let about = self.repo(repo)?;
        let by_id = about
            .workflow_runs
            .values()
            .find(|run| run.workflow_id.to_string() == workflow)
            .map(|run| run.path.clone());
        let path = by_id.unwrap_or_else(|| match workflow.contains('/') {
            true => workflow.to_owned(),
            false => format!(".github/workflows/{workflow}"),
        });
        let default = self.tip(repo, &about.default_branch)?;
        let files = self.pool.files(&self.known_commit(&default)?.tree)?;
        if !files.contains_key(&path) {
            return Err(Refusal::not_found());
        }
        let unknown = |_| Refusal::new(422, format!("No ref found for: {branch}"));
        let head = self.tip(repo, branch).map_err(unknown)?;
        let file = path.rsplit('/').next().unwrap_or(&path);
        let draft = WorkflowDraft {
            name: file.split('.').next().unwrap_or(file).to_owned(),
            event: "workflow_dispatch".to_owned(),
            head,
            branch: Some(branch.to_owned()),
            inputs,
            path,
        };
        self.start_workflow(repo, by, draft)
    }

    /// A workflow run.
    ///
    /// # Errors
    /// 404.
    pub fn workflow_run(&self, repo: RepoId, id: u64) -> Done<&WorkflowRun> {
        self.repo(repo)?
            .workflow_runs
            .get(&id)
            .ok_or_else(Refusal::not_found)
    }

    fn tell_workflow(&mut self, repo: RepoId, id: u64, action: &str, by: AccountId) {
        self.tell(repo, "workflow_run", Some(action), by, |world| {
            match (world.repo(repo), world.workflow_run(repo, id)) {
                (Ok(about), Ok(run)) => json!({
                    "workflow_run": payload::workflow_run(world, about, run),
                    "workflow": payload::workflow(world, about, run),
                }),
                _ => Value::Null,
            }
        });
    }

    /// The merge queue makes a group of pull requests and asks for its checks.
    ///
    /// # Errors
    /// 404; 405 when they do not merge.
    pub fn form_group(&mut self, repo: RepoId, members: &[Number]) -> Done<MergeGroup> {
        let [first, ..] = members else {
            return Err(Refusal::not_found());
        };
        let base = self.pull(repo, *first)?.base.branch.clone();
        let base_sha = self.tip(repo, &base)?;
        let mut head = base_sha.clone();
        for number in members {
            let pull = self.pull(repo, *number)?.clone();
            let Merged::Clean(tree) = self.pool.merge(&head, &pull.head.sha)? else {
                return Err(Refusal::new(405, "Pull Request is not mergeable"));
            };
            head = self.write_commit(Commit {
                sha: String::new(),
                tree,
                parents: vec![head, pull.head.sha],
                author: self.web_flow(),
                committer: self.web_flow(),
                message: format!("Merge pull request #{number}\n\n{}", pull.title),
            });
            self.repo_mut(repo)?.verified.insert(head.clone());
        }
        let last = members.last().unwrap_or(first);
        let group = MergeGroup {
            branch: format!("gh-readonly-queue/{base}/pr-{last}-{base_sha}"),
            head,
            base,
            base_sha,
            members: members.to_vec(),
        };
        let queue = Principal::Account(super::WEB_FLOW);
        self.move_branch(repo, &group.branch, Some(&group.head), queue, false)?;
        self.tell_group(repo, &group, "checks_requested", json!({}))?;
        Ok(group)
    }

    /// The merge queue ends a group: lands it, or gives it up (`reason` as GitHub's words:
    /// `dequeued`, `invalidated`).
    ///
    /// # Errors
    /// 404; 422 when the base moved meanwhile.
    pub fn end_group(&mut self, repo: RepoId, group: &MergeGroup, landed: bool) -> Done<()> {
        let queue = Principal::Account(super::WEB_FLOW);
        if landed {
            for number in &group.members {
                self.mark_merged(repo, *number, &group.head, super::WEB_FLOW)?;
            }
            self.move_branch(repo, &group.base, Some(&group.head), queue, false)?;
        }
        let reason = if landed { "merged" } else { "invalidated" };
        self.tell_group(repo, group, "destroyed", json!({ "reason": reason }))?;
        self.move_branch(repo, &group.branch, None, queue, false)
    }

    fn tell_group(
        &mut self,
        repo: RepoId,
        group: &MergeGroup,
        action: &str,
        mut more: Value,
    ) -> Done<()> {
        let commit = self.known_commit(&group.head)?;
        more["merge_group"] = json!({
            "head_sha": group.head,
            "head_ref": format!("refs/heads/{}", group.branch),
            "base_sha": group.base_sha,
            "base_ref": format!("refs/heads/{}", group.base),
            "head_commit": payload::commit_simple(&commit),
        });
        self.tell(repo, "merge_group", Some(action), super::WEB_FLOW, |_| more);
        Ok(())
    }
}
