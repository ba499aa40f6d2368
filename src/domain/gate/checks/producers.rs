//! Who reported a name, and which of their reports counts.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Source;
use crate::domain::facts::{CheckRun, CommitStatus, Conclusion, RunStatus, StatusState};
use crate::domain::gate::Case;
use crate::domain::verdict::Basis;

/// Where the report of one producer stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Finished.
    Final(Conclusion),
    /// Not finished; GitHub's word.
    Underway(String),
    /// A producer is required, and this one cannot be named.
    UnknownProducer,
}

/// The report of one producer that counts.
#[derive(Debug, Clone)]
pub struct Reported<'a> {
    /// The check's name.
    pub name: &'a str,
    /// Where it stands.
    pub standing: Standing,
    who: String,
    url: Option<&'a str>,
    /// How many earlier reports of this producer it replaced.
    superseded: usize,
}

impl Reported<'_> {
    /// The producer, in words.
    pub fn producer(&self) -> &str {
        &self.who
    }

    /// The record for a proof.
    pub fn basis(&self) -> Basis {
        let what = format!("`{}` by {}", self.name, self.who);
        Basis::new(what, self.url.map(str::to_owned))
    }

    /// What is said of replaced reports; empty where there are none.
    pub fn disclosure(&self) -> String {
        match self.superseded {
            0 => String::new(),
            1 => " An earlier run is superseded.".to_owned(),
            many => format!(" {many} earlier runs are superseded."),
        }
    }
}

/// What tells one producer from another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Producer {
    App(u64),
    /// A workflow file and the event that started it.
    Workflow(u64, String, String),
    /// A suite whose workflow is not known.
    Suite(u64, u64),
    Nobody,
}

/// The reports that count for a requirement, one a producer and name.
pub fn reported<'a>(case: &Case<'a>, source: &Source<'_>) -> Vec<Reported<'a>> {
    let mut newest: BTreeMap<(&str, Producer), (&CheckRun, usize)> = BTreeMap::new();
    for run in runs_of(case, source) {
        let place = newest.entry((run.name.as_str(), producer(case, run)));
        let (standing, superseded) = place.or_insert((run, 0));
        if standing.id != run.id {
            *superseded += 1;
        }
        if (standing.id, doubt(standing)) < (run.id, doubt(run)) {
            *standing = run;
        }
    }
    let mut reports: Vec<_> = newest
        .into_iter()
        .map(|((name, producer), (run, superseded))| Reported {
            name,
            standing: standing(source, &producer, run),
            who: described(&producer, run),
            url: run.url.as_deref(),
            superseded,
        })
        .collect();
    reports.extend(statuses_of(case, source));
    reports
}

/// Of one run that is listed twice (it changed between two pages) the less assuring sight counts.
fn doubt(run: &CheckRun) -> u8 {
    match &run.status {
        RunStatus::Completed(Conclusion::Success) => 0,
        RunStatus::Completed(Conclusion::Neutral | Conclusion::Skipped) => 1,
        RunStatus::Completed(_) => 2,
        RunStatus::Unfinished(_) => 3,
    }
}

fn runs_of<'a>(case: &Case<'a>, source: &Source<'_>) -> impl Iterator<Item = &'a CheckRun> {
    let snapshot = case.snapshot;
    let runs = snapshot.runs.known().map_or(&[][..], |list| &list.items);
    let matching = runs.iter().filter(move |run| {
        let ours = run
            .app
            .as_ref()
            .is_some_and(|app| app.id == snapshot.own_app);
        !ours && run.head == case.pull.head && matches(source.name, &run.name)
    });
    let kept: Vec<_> = matching
        .filter(|run| comes_from(case, source, run))
        .collect();
    kept.into_iter()
}

/// Whether a run may be the required one. A run without an App stays in: it cannot pass, and is told.
fn comes_from(case: &Case<'_>, source: &Source<'_>, run: &CheckRun) -> bool {
    let by_app = match (source.app, &run.app) {
        (None, _) | (Some(_), None) => true,
        (Some(wanted), Some(app)) if is_number(wanted) => app.id.to_string() == wanted,
        (Some(wanted), Some(app)) => app.slug.eq_ignore_ascii_case(wanted),
    };
    let by_workflow = match source.workflow {
        None => true,
        Some(wanted) => match workflow(case, run) {
            Some((path, _)) => path == wanted,
            None => run.app.is_none() || is_actions(run),
        },
    };
    by_app && by_workflow
}

/// Whether an App is named by its number. An App may be called `15368` too: that name is never meant.
fn is_number(app: &str) -> bool {
    app.bytes().all(|byte| byte.is_ascii_digit())
}

/// The file and event of the workflow run that a check run belongs to.
fn workflow<'a>(case: &Case<'a>, run: &CheckRun) -> Option<(&'a str, &'a str)> {
    let suite = run.suite?;
    let workflows = &case.snapshot.workflows.known()?.items;
    let found = workflows
        .iter()
        .find(|w| w.suite == suite && w.head == run.head)?;
    Some((&found.path, &found.event))
}

fn is_actions(run: &CheckRun) -> bool {
    run.app
        .as_ref()
        .is_some_and(|app| app.slug == "github-actions")
}

fn producer(case: &Case<'_>, run: &CheckRun) -> Producer {
    let Some(app) = &run.app else {
        return Producer::Nobody;
    };
    let app = app.id.get();
    match (workflow(case, run), run.suite) {
        (Some((path, event)), _) => Producer::Workflow(app, path.to_owned(), event.to_owned()),
        (None, Some(suite)) if is_actions(run) => Producer::Suite(app, suite.get()),
        (None, _) => Producer::App(app),
    }
}

fn standing(source: &Source<'_>, producer: &Producer, run: &CheckRun) -> Standing {
    let unproven = match producer {
        Producer::Nobody => source.app.is_some() || source.workflow.is_some(),
        Producer::App(_) | Producer::Suite(..) => source.workflow.is_some(),
        Producer::Workflow(..) => false,
    };
    match &run.status {
        RunStatus::Completed(Conclusion::Success) if unproven => Standing::UnknownProducer,
        RunStatus::Completed(conclusion) => Standing::Final(conclusion.clone()),
        RunStatus::Unfinished(word) => Standing::Underway(word.clone()),
    }
}

fn described(producer: &Producer, run: &CheckRun) -> String {
    let app = run
        .app
        .as_ref()
        .map_or("an unnamed App", |app| app.slug.as_str());
    match producer {
        Producer::Workflow(_, path, event) => format!("{app}, {path} on {event}"),
        _ => app.to_owned(),
    }
}

/// The newest status of each matching context. Statuses have no App; a requirement that names one is
/// met by a status of that App's bot user, and one that names a workflow, or an App by its number, by
/// none.
fn statuses_of<'a>(case: &Case<'a>, source: &Source<'_>) -> Vec<Reported<'a>> {
    if source.workflow.is_some() || source.app.is_some_and(is_number) {
        return Vec::new();
    }
    let statuses = case
        .snapshot
        .statuses
        .known()
        .map_or(&[][..], |list| &list.items);
    let mut newest: BTreeMap<&str, &CommitStatus> = BTreeMap::new();
    for status in statuses {
        let by_app = source.app.is_none_or(|app| {
            let bot = format!("{app}[bot]");
            let creator = status.creator.as_ref();
            creator.is_some_and(|creator| creator.login.as_str().eq_ignore_ascii_case(&bot))
        });
        if !by_app || !matches(source.name, &status.context) {
            continue;
        }
        let held = newest.entry(&status.context).or_insert(status);
        if later(held, status) {
            *held = status;
        }
    }
    newest
        .into_values()
        .map(|status| Reported {
            name: &status.context,
            standing: status_standing(&status.state),
            who: match &status.creator {
                Some(creator) => format!("a commit status of {}", creator.login),
                None => "a commit status".to_owned(),
            },
            url: status.url.as_deref(),
            superseded: 0,
        })
        .collect()
}

/// Whether a status replaces the one held: by its id where both have one, else by time; where neither
/// tells, the one that does not pass stands.
fn later(held: &CommitStatus, status: &CommitStatus) -> bool {
    let order = match (held.id, status.id) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => match (held.updated_at, status.updated_at) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => Ordering::Equal,
        },
    };
    match order {
        Ordering::Less => true,
        Ordering::Equal => held.state == StatusState::Success,
        Ordering::Greater => false,
    }
}

fn status_standing(state: &StatusState) -> Standing {
    match state {
        StatusState::Success => Standing::Final(Conclusion::Success),
        StatusState::Failure | StatusState::Error => Standing::Final(Conclusion::Failure),
        StatusState::Pending => Standing::Underway("pending".into()),
        StatusState::Unknown(word) => Standing::Final(Conclusion::Unknown(word.clone())),
    }
}

/// Whether a name is the required one, or matches its pattern: `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut rest = rest;
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Names reported on this head that may have been meant, at most five: those that share a word with
/// the required one, or all where there are few.
pub fn near_names<'a>(case: &Case<'a>, source: &Source<'_>) -> Vec<&'a str> {
    let runs = case
        .snapshot
        .runs
        .known()
        .map_or(&[][..], |list| &list.items);
    let statuses = case
        .snapshot
        .statuses
        .known()
        .map_or(&[][..], |list| &list.items);
    let own = case.snapshot.own_app;
    let mut names: Vec<&str> = runs
        .iter()
        .filter(|run| run.app.as_ref().is_none_or(|app| app.id != own))
        .map(|run| run.name.as_str())
        .chain(statuses.iter().map(|status| status.context.as_str()))
        .filter(|name| !matches(source.name, name))
        .collect();
    names.sort_unstable();
    names.dedup();
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 1)
            .map(str::to_lowercase)
            .collect()
    };
    let wanted = words(source.name);
    let near: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| words(name).iter().any(|word| wanted.contains(word)))
        .take(5)
        .collect();
    if near.is_empty() && names.len() <= 5 {
        names
    } else {
        near
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text_and_everything_else_for_itself() {
        assert!(matches("unit", "unit"));
        assert!(!matches("unit", "unit-2"));
        assert!(matches("build (*)", "build (linux, 3.12)"));
        assert!(!matches("build (*)", "build linux"));
        assert!(matches("*/test/*", "a/test/b"));
        assert!(matches("ab*ab", "abab"));
        assert!(!matches("ab*ab", "ab"));
    }
}
