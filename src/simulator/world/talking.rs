//! Issues, comments, reactions and labels.

use serde_json::{Map, Value, json};

use super::{
    AccountId, Done, Issue, IssueComment, Label, Number, Principal, Refusal, RepoId, World,
};
use crate::simulator::payload;

/// What changes in an issue; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct IssueEdit {
    /// The title.
    pub title: Option<String>,
    /// The text.
    pub body: Option<String>,
    /// Open (`true`) or closed.
    pub open: Option<bool>,
}

impl World {
    /// Writes a comment on an issue or pull request.
    ///
    /// # Errors
    /// 404; 422 for an empty one.
    pub fn comment(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        body: &str,
    ) -> Done<u64> {
        self.refuse_if_archived(repo)?;
        self.numbered(repo, number)?;
        if body.is_empty() {
            return Err(Refusal::invalid(
                "IssueComment",
                "body",
                "body can't be blank",
            ));
        }
        let id = self.next_id("comment");
        let now = self.now();
        let author = self.actor(by);
        let comment = IssueComment {
            id,
            number,
            author,
            app: self.app_behind(by),
            body: body.to_owned(),
            created_at: now,
            updated_at: now,
            reactions: Vec::new(),
        };
        self.repo_mut(repo)?.comments.insert(id, comment);
        self.tell_comment(repo, id, "created", author, json!({}));
        Ok(id)
    }

    /// Changes a comment.
    ///
    /// # Errors
    /// 404.
    pub fn edit_comment(&mut self, repo: RepoId, id: u64, by: Principal, body: &str) -> Done<()> {
        let by = self.actor(by);
        let now = self.now();
        let comments = &mut self.repo_mut(repo)?.comments;
        let comment = comments.get_mut(&id).ok_or_else(Refusal::not_found)?;
        let from = std::mem::replace(&mut comment.body, body.to_owned());
        comment.updated_at = now;
        let changes = json!({ "changes": { "body": { "from": from } } });
        self.tell_comment(repo, id, "edited", by, changes);
        Ok(())
    }

    /// Deletes a comment; its delivery shows it as it was.
    ///
    /// # Errors
    /// 404.
    pub fn delete_comment(&mut self, repo: RepoId, id: u64, by: Principal) -> Done<()> {
        let by = self.actor(by);
        if !self.repo(repo)?.comments.contains_key(&id) {
            return Err(Refusal::not_found());
        }
        self.tell_comment(repo, id, "deleted", by, json!({}));
        self.repo_mut(repo)?.comments.remove(&id);
        Ok(())
    }

    /// Reacts to a comment; the same reaction twice is one. Answers its id. GitHub sends no delivery.
    ///
    /// # Errors
    /// 404.
    pub fn react(&mut self, repo: RepoId, id: u64, by: Principal, content: &str) -> Done<u64> {
        let by = self.actor(by);
        let reaction = self.next_id("reaction");
        let comments = &mut self.repo_mut(repo)?.comments;
        let comment = comments.get_mut(&id).ok_or_else(Refusal::not_found)?;
        let known = |(_, who, what): &&(u64, AccountId, String)| *who == by && what == content;
        if let Some((known, _, _)) = comment.reactions.iter().find(known) {
            return Ok(*known);
        }
        comment.reactions.push((reaction, by, content.to_owned()));
        Ok(reaction)
    }

    fn tell_comment(
        &mut self,
        repo: RepoId,
        id: u64,
        action: &str,
        by: AccountId,
        mut more: Value,
    ) {
        self.tell(repo, "issue_comment", Some(action), by, |world| {
            if let Ok(about) = world.repo(repo)
                && let Some(comment) = about.comments.get(&id)
            {
                more["comment"] = payload::comment(world, about, comment);
                more["issue"] = payload::numbered(world, about, comment.number);
            }
            more
        });
    }

    /// There is an issue or pull request of this number.
    fn numbered(&self, repo: RepoId, number: Number) -> Done<()> {
        let about = self.repo(repo)?;
        let known = about.issues.contains_key(&number) || about.pulls.contains_key(&number);
        known.then_some(()).ok_or_else(Refusal::not_found)
    }

    /// Opens an issue.
    ///
    /// # Errors
    /// 404.
    pub fn open_issue(
        &mut self,
        repo: RepoId,
        by: Principal,
        title: &str,
        body: Option<&str>,
    ) -> Done<Number> {
        self.refuse_if_archived(repo)?;
        let id = self.next_id("issue");
        let now = self.now();
        let author = self.actor(by);
        let number = self.take_number(repo)?;
        let issue = Issue {
            id,
            number,
            title: title.to_owned(),
            body: body.map(str::to_owned),
            open: true,
            state_reason: None,
            author,
            labels: Vec::new(),
            created_at: now,
            updated_at: now,
            closed_at: None,
        };
        self.repo_mut(repo)?.issues.insert(number, issue);
        self.tell_issue(repo, number, "opened", author, json!({}));
        Ok(number)
    }

    /// Changes title, text or state of an issue.
    ///
    /// # Errors
    /// 404.
    pub fn edit_issue(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        edit: IssueEdit,
    ) -> Done<()> {
        let by = self.actor(by);
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        let mut changes = Map::new();
        if let Some(title) = edit.title.filter(|title| *title != issue.title) {
            let from = std::mem::replace(&mut issue.title, title);
            changes.insert("title".to_owned(), json!({ "from": from }));
        }
        if let Some(body) = edit.body.filter(|body| issue.body.as_ref() != Some(body)) {
            let from = issue.body.replace(body).unwrap_or_default();
            changes.insert("body".to_owned(), json!({ "from": from }));
        }
        if !changes.is_empty() {
            issue.updated_at = now;
            let changes = json!({ "changes": Value::Object(changes) });
            self.tell_issue(repo, number, "edited", by, changes);
        }
        match edit.open {
            Some(false) => self.close_issue_if_open(repo, number, by),
            Some(true) => self.reopen_issue(repo, number, by),
            None => Ok(()),
        }
    }

    /// Closes an issue, if there is one of this number that is open.
    pub(super) fn close_issue_if_open(
        &mut self,
        repo: RepoId,
        number: Number,
        by: AccountId,
    ) -> Done<()> {
        let now = self.now();
        match self.issue_mut(repo, number) {
            Ok(issue) if issue.open => {
                issue.open = false;
                issue.state_reason = Some("completed".to_owned());
                issue.closed_at = Some(now);
                issue.updated_at = now;
            }
            _ => return Ok(()),
        }
        self.tell_issue(repo, number, "closed", by, json!({}));
        Ok(())
    }

    /// Deletes an issue. Its delivery shows it as it was.
    ///
    /// # Errors
    /// 404.
    pub fn delete_issue(&mut self, repo: RepoId, number: Number, by: Principal) -> Done<()> {
        let by = self.actor(by);
        if !self.repo(repo)?.issues.contains_key(&number) {
            return Err(Refusal::not_found());
        }
        self.tell_issue(repo, number, "deleted", by, json!({}));
        self.repo_mut(repo)?.issues.remove(&number);
        Ok(())
    }

    fn reopen_issue(&mut self, repo: RepoId, number: Number, by: AccountId) -> Done<()> {
        let issue = self.issue_mut(repo, number)?;
        if issue.open {
            return Ok(());
        }
        issue.open = true;
        issue.state_reason = Some("reopened".to_owned());
        issue.closed_at = None;
        self.tell_issue(repo, number, "reopened", by, json!({}));
        Ok(())
    }

    fn issue_mut(&mut self, repo: RepoId, number: Number) -> Done<&mut Issue> {
        self.repo_mut(repo)?
            .issues
            .get_mut(&number)
            .ok_or_else(Refusal::not_found)
    }

    fn tell_issue(
        &mut self,
        repo: RepoId,
        number: Number,
        action: &str,
        by: AccountId,
        mut more: Value,
    ) {
        self.tell(repo, "issues", Some(action), by, |world| {
            if let Ok(about) = world.repo(repo) {
                more["issue"] = payload::numbered(world, about, number);
            }
            more
        });
    }

    /// Makes a label of the repository.
    ///
    /// # Errors
    /// 404; 422 when there is one of this name.
    pub fn create_label(
        &mut self,
        repo: RepoId,
        by: Principal,
        name: &str,
        color: &str,
        description: Option<&str>,
    ) -> Done<Label> {
        let id = self.next_id("label");
        let label = Label {
            id,
            name: name.to_owned(),
            color: color.to_owned(),
            description: description.map(str::to_owned),
        };
        let labels = &mut self.repo_mut(repo)?.labels;
        if labels.contains_key(&name.to_lowercase()) {
            return Err(Refusal::invalid("Label", "name", "already_exists"));
        }
        labels.insert(name.to_lowercase(), label.clone());
        let by = self.actor(by);
        let told = label.clone();
        self.tell(repo, "label", Some("created"), by, |world| {
            match world.repo(repo) {
                Ok(about) => json!({ "label": payload::label(world, about, &told) }),
                Err(_) => Value::Null,
            }
        });
        Ok(label)
    }

    /// Puts labels on an issue or pull request; labels that are new are made. Each one that was not
    /// there sends a delivery of its own, as on GitHub.
    ///
    /// # Errors
    /// 404.
    pub fn add_labels(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        names: &[&str],
    ) -> Done<()> {
        self.refuse_if_archived(repo)?;
        self.numbered(repo, number)?;
        for name in names {
            if !self.repo(repo)?.labels.contains_key(&name.to_lowercase()) {
                self.create_label(repo, by, name, "ededed", None)?;
            }
            let labels = self.labels_mut(repo, number)?;
            if labels.iter().any(|label| label.eq_ignore_ascii_case(name)) {
                continue;
            }
            labels.push((*name).to_owned());
            self.tell_labelled(repo, number, "labeled", by, name);
        }
        Ok(())
    }

    /// Takes a label off.
    ///
    /// # Errors
    /// 404, also "Label does not exist" when it is not on it.
    pub fn remove_label(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        name: &str,
    ) -> Done<()> {
        let labels = self.labels_mut(repo, number)?;
        let before = labels.len();
        labels.retain(|label| !label.eq_ignore_ascii_case(name));
        if labels.len() == before {
            return Err(Refusal::new(404, "Label does not exist"));
        }
        self.tell_labelled(repo, number, "unlabeled", by, name);
        Ok(())
    }

    fn labels_mut(&mut self, repo: RepoId, number: Number) -> Done<&mut Vec<String>> {
        let about = self.repo_mut(repo)?;
        match (about.pulls.get_mut(&number), about.issues.get_mut(&number)) {
            (Some(pull), _) => Ok(&mut pull.labels),
            (None, Some(issue)) => Ok(&mut issue.labels),
            (None, None) => Err(Refusal::not_found()),
        }
    }

    fn tell_labelled(
        &mut self,
        repo: RepoId,
        number: Number,
        action: &str,
        by: Principal,
        name: &str,
    ) {
        let Some(about) = self.repos.get(&repo) else {
            return;
        };
        let label = about
            .labels
            .get(&name.to_lowercase())
            .map(|label| payload::label(self, about, label));
        let is_pull = about.pulls.contains_key(&number);
        let by = self.actor(by);
        let more = json!({ "label": label });
        if is_pull {
            self.tell_pull(repo, number, action, by, more);
        } else {
            self.tell_issue(repo, number, action, by, more);
        }
    }
}
