//! What an event asks for: facts to remember, keys to wake.
//!
//! Nothing is decided here. What our own App wrote (its check runs, its comments) is never an input:
//! it changes no memory and wakes nobody, or every publication would lead to another pass. Its check
//! run's buttons are the exception, since a person pressed them; GitHub shows them only to people who
//! may write to the repository, and delivers the press only to the App that made the run.

use super::{Change, Confirm, Labelled, Meaning, Touch, Wake};
use crate::domain::event::{Event, holds_evidence};
use crate::domain::facts::{CheckRun, Comment, Hold, PolicyOrigin, PullRequest, Pushed, RunStatus};
use crate::domain::model::{Actor, AppId, InstallationId, Key, PullNumber, Repository, Timestamp};
use crate::domain::request::{Ask, PressedVerify};

use super::head::RERUN;

/// What follows from an event: facts to remember and keys to wake. Pure; `own_app` tells which check
/// runs and comments are ours (they wake nobody, except by their buttons), `now` dates what a person
/// asks for by a button.
pub fn meaning(event: &Event, own_app: AppId, now: Timestamp) -> Meaning {
    let mut meaning = match event {
        Event::Ping => note("GitHub says hello: deliveries arrive"),
        Event::Other { why } => note(why),
        Event::Pull {
            repo,
            action,
            pull,
            base_changed,
            sender,
        } => pull_changed(repo, action, pull, *base_changed, sender.as_ref()),
        Event::Review {
            repo,
            action,
            number,
            review,
        } => Meaning {
            changes: vec![Change::Review(repo.id, *number, review.clone())],
            wakes: vec![pull(repo, *number)],
            note: format!("a review of {}#{number}: {action}", repo.name),
        },
        Event::Thread { repo, number } => Meaning {
            changes: Vec::new(),
            wakes: vec![pull(repo, *number)],
            note: format!("a conversation on {}#{number} changed", repo.name),
        },
        Event::Comment {
            repo,
            action,
            number,
            on_pull,
            comment,
        } => match on_pull {
            true => commented(repo, action, *number, comment, own_app),
            false => commented_on_issue(repo, action, *number, comment),
        },
        Event::Issue { .. } => issue(event, now),
        Event::CheckRun {
            repo,
            action,
            run,
            button,
            sender,
        } => {
            if run.app.as_ref().is_some_and(|app| app.id == own_app) {
                own_run(repo, action, run, button.as_deref(), sender.as_ref(), now)
            } else {
                run_reported(repo, action, run)
            }
        }
        Event::CheckSuite { .. }
        | Event::Status { .. }
        | Event::Workflow { .. }
        | Event::MergeGroup { .. } => reported(event),
        Event::Push { .. } => pushed(event),
        Event::Installation { .. } | Event::Repositories { .. } | Event::Repository { .. } => {
            reach(event)
        }
    };
    if let Some(repo) = scene(event) {
        meaning.changes.insert(0, Change::RepoSeen(repo.clone()));
    }
    meaning
}

/// The repository of an event that happened in one. Events about the App's reach say more than that
/// a repository exists, and speak for themselves.
fn scene(event: &Event) -> Option<&Repository> {
    match event {
        Event::Pull { repo, .. }
        | Event::Review { repo, .. }
        | Event::Thread { repo, .. }
        | Event::CheckRun { repo, .. }
        | Event::CheckSuite { repo, .. }
        | Event::Status { repo, .. }
        | Event::Comment { repo, .. }
        | Event::Issue { repo, .. }
        | Event::Push { repo, .. }
        | Event::Workflow { repo, .. }
        | Event::MergeGroup { repo, .. } => Some(repo),
        Event::Ping
        | Event::Installation { .. }
        | Event::Repositories { .. }
        | Event::Repository { .. }
        | Event::Other { .. } => None,
    }
}

fn note(text: &str) -> Meaning {
    Meaning {
        note: text.to_owned(),
        ..Meaning::default()
    }
}

fn pull(repo: &Repository, number: PullNumber) -> (Wake, Confirm) {
    (Wake::Key(Key::Pull(repo.id, number)), Confirm::IfNeeded)
}

fn whole_repo(repo: &Repository) -> (Wake, Confirm) {
    (Wake::Key(Key::Repo(repo.id)), Confirm::Always)
}

fn pull_changed(
    repo: &Repository,
    action: &str,
    pull: &PullRequest,
    base_changed: bool,
    sender: Option<&Actor>,
) -> Meaning {
    // Retargeting dismisses reviews without a delivery of its own, and changes the diff under the
    // same head: what is remembered is no help.
    let confirm = if base_changed {
        Confirm::Always
    } else {
        Confirm::IfNeeded
    };
    let mut wakes = vec![(Wake::Key(Key::Pull(repo.id, pull.number)), confirm)];
    // What may take or free a slot.
    let slots = [
        "opened",
        "closed",
        "reopened",
        "labeled",
        "unlabeled",
        "edited",
    ];
    if slots.contains(&action) {
        wakes.push(dispatches(repo));
    }
    let mut changes = vec![Change::Pull(repo.id, Box::new(pull.clone()))];
    if let (Some(by), "synchronize") = (sender, action) {
        let (head, by) = (pull.head.clone(), by.clone());
        let push = Pushed { head, by };
        changes.push(Change::Pushed(repo.id, pull.number, push));
    }
    Meaning {
        changes,
        wakes,
        note: format!("{}#{} {action} by {}", repo.name, pull.number, who(sender)),
    }
}

fn commented(
    repo: &Repository,
    action: &str,
    number: PullNumber,
    comment: &Comment,
    own_app: AppId,
) -> Meaning {
    let note = format!("a comment on {}#{number}: {action}", repo.name);
    if comment.app.as_ref().is_some_and(|app| app.id == own_app) {
        return self::note(&format!("{note}, by this App itself"));
    }
    let evidence = comment.edited || holds_evidence(&comment.body);
    let ask = match action {
        "created" => Ask::of(comment),
        // Who edits a text is not who wrote it, and a deletion is no word of its author.
        _ => None,
    };
    let mut changes = Vec::new();
    let mut wakes = Vec::new();
    match action {
        // Also where it holds no evidence now: it may have held some when it was written.
        "deleted" => changes.push(Change::CommentGone(repo.id, number, comment.id)),
        _ if evidence => changes.push(Change::Comment(repo.id, number, comment.clone())),
        _ => {}
    }
    if evidence {
        wakes.push(pull(repo, number));
    }
    let note = match &ask {
        Some(ask) => format!("{note}, with commands ({})", ask.said.len()),
        None if changes.is_empty() => format!("{note}; no evidence and no command in it"),
        None => note,
    };
    if let Some(ask) = ask {
        changes.push(Change::Asked(repo.id, number, ask));
        wakes.push((Wake::Key(Key::Pull(repo.id, number)), Confirm::IfNeeded));
    }
    Meaning {
        changes,
        wakes,
        note,
    }
}

fn dispatches(repo: &Repository) -> (Wake, Confirm) {
    (Wake::Key(Key::Dispatch(repo.id)), Confirm::IfNeeded)
}

/// A comment on an issue: only its commands count.
fn commented_on_issue(
    repo: &Repository,
    action: &str,
    number: PullNumber,
    comment: &Comment,
) -> Meaning {
    let note = format!("a comment on the issue {}#{number}: {action}", repo.name);
    match Ask::of(comment).filter(|_| action == "created") {
        Some(ask) => Meaning {
            changes: vec![Change::AskedOnIssue(repo.id, number, ask)],
            wakes: vec![dispatches(repo)],
            note: format!("{note}, with commands"),
        },
        None => self::note(&format!("{note}; no command in it")),
    }
}

fn issue(event: &Event, now: Timestamp) -> Meaning {
    let Event::Issue {
        repo,
        action,
        number,
        label,
        at,
        sender,
    } = event
    else {
        return Meaning::default();
    };
    let labelled = label.clone().map(|label| Labelled {
        label,
        by: sender.as_ref().map(|sender| sender.login.clone()),
        at: at.unwrap_or(now),
    });
    Meaning {
        changes: vec![Change::IssueTouched(repo.id, *number, Touch { labelled })],
        wakes: vec![dispatches(repo)],
        note: format!(
            "the issue {}#{number} was {action} by {}",
            repo.name,
            who(sender.as_ref())
        ),
    }
}

/// Somebody else's check run. Requested again, its conclusion is void at once: the old run may be gone
/// from GitHub's list before the new one is in it.
fn run_reported(repo: &Repository, action: &str, run: &CheckRun) -> Meaning {
    let mut run = run.clone();
    if action == "rerequested" {
        run.status = RunStatus::Unfinished(RERUN.to_owned());
    }
    Meaning {
        wakes: vec![(Wake::Head(repo.id, run.head.clone()), Confirm::IfNeeded)],
        note: format!(
            "check run {:?} on {} in {}: {action}",
            run.name,
            run.head.short(),
            repo.name
        ),
        changes: vec![Change::Run(repo.id, run)],
    }
}

/// Our own check run: only what a person asked for by it counts.
fn own_run(
    repo: &Repository,
    action: &str,
    run: &CheckRun,
    button: Option<&str>,
    sender: Option<&Actor>,
    now: Timestamp,
) -> Meaning {
    let by = who(sender);
    let on = format!("on {} in {}", run.head.short(), repo.name);
    let look_again = |asked: String| Meaning {
        changes: Vec::new(),
        wakes: vec![(Wake::Head(repo.id, run.head.clone()), Confirm::Always)],
        note: asked,
    };
    match (action, button, own_pull(run)) {
        ("rerequested", _, _) => look_again(format!("{by} asked to re-run our check {on}")),
        ("requested_action", Some("recheck"), _) => {
            look_again(format!("{by} asked to check again {on}"))
        }
        ("requested_action", Some("hold"), Some(number)) => {
            let hold = Hold {
                reason: "held by the button of the check run".to_owned(),
                by: by.to_owned(),
                since: now,
            };
            Meaning {
                changes: vec![Change::Hold(repo.id, number, hold)],
                wakes: vec![pull(repo, number)],
                note: format!("{by} put {}#{number} on hold", repo.name),
            }
        }
        ("requested_action", Some("unhold"), Some(number)) => Meaning {
            changes: vec![Change::Unhold(repo.id, number, now)],
            wakes: vec![pull(repo, number)],
            note: format!("{by} let {}#{number} go", repo.name),
        },
        ("requested_action", Some("verify"), Some(number)) if sender.is_some() => {
            let pressed = sender.map(|by| PressedVerify {
                by: by.clone(),
                at: now,
                head: run.head.clone(),
            });
            Meaning {
                changes: pressed
                    .map(|pressed| Change::Verify(repo.id, number, pressed))
                    .into_iter()
                    .collect(),
                wakes: vec![pull(repo, number)],
                note: format!("{by} asked for a verification of {}#{number}", repo.name),
            }
        }
        ("requested_action", button, _) => note(&format!(
            "{by} pressed a button of our check {on} that means nothing here: {:?}",
            button.unwrap_or_default()
        )),
        _ => note(&format!("our own check run {on}: {action}")),
    }
}

/// The pull request one of our own check runs was published for: its `external_id` is `pull-N`,
/// possibly with more after another `-`.
fn own_pull(run: &CheckRun) -> Option<PullNumber> {
    let rest = run.external_id.as_deref()?.strip_prefix("pull-")?;
    let number = rest.split_once('-').map_or(rest, |(number, _)| number);
    PullNumber::new(number.parse().ok()?)
}

/// What else reports on a commit.
fn reported(event: &Event) -> Meaning {
    match event {
        Event::CheckSuite {
            repo,
            action,
            head,
            suite,
        } => {
            let about = format!("check suite {suite} on {} in {}", head.short(), repo.name);
            let wake = |confirm| vec![(Wake::Head(repo.id, head.clone()), confirm)];
            match action.as_str() {
                "rerequested" => Meaning {
                    changes: vec![Change::SuiteRerun(repo.id, head.clone(), *suite)],
                    wakes: wake(Confirm::Always),
                    note: format!("{about} runs again"),
                },
                "completed" => Meaning {
                    changes: Vec::new(),
                    wakes: wake(Confirm::IfNeeded),
                    note: format!("{about} is complete"),
                },
                _ => note(&format!("{about}: {action}; nothing has run yet")),
            }
        }
        Event::Status { repo, head, status } => Meaning {
            changes: vec![Change::Status(repo.id, head.clone(), status.clone())],
            wakes: vec![(Wake::Head(repo.id, head.clone()), Confirm::IfNeeded)],
            note: format!(
                "status {:?} on {} in {}",
                status.context,
                head.short(),
                repo.name
            ),
        },
        Event::Workflow { repo, run } => Meaning {
            changes: vec![Change::Workflow(repo.id, run.clone())],
            wakes: vec![(Wake::Head(repo.id, run.head.clone()), Confirm::IfNeeded)],
            note: format!(
                "workflow {} on {} in {}",
                run.path,
                run.head.short(),
                repo.name
            ),
        },
        Event::MergeGroup { repo, head } => note(&format!(
            "GitHub's merge queue in {} asks for checks on {}: this version does not answer queues",
            repo.name,
            head.short()
        )),
        _ => Meaning::default(),
    }
}

/// Every repository of the installation, where this one holds the account's default policy.
fn who_has_its_default(repo: &Repository) -> Option<(Wake, Confirm)> {
    let everybody = Wake::Installation(repo.installation);
    PolicyOrigin::holds_defaults(&repo.name).then_some((everybody, Confirm::Always))
}

fn pushed(event: &Event) -> Meaning {
    let Event::Push {
        repo,
        branch,
        before,
        after,
        policy_untouched,
    } = event
    else {
        return Meaning::default();
    };
    let mut wakes = vec![(Wake::Base(repo.id, branch.clone()), Confirm::IfNeeded)];
    let default = repo.default_branch.as_ref();
    if !policy_untouched && default.is_none_or(|default| default == branch) {
        wakes.push(dispatches(repo));
        wakes.extend(who_has_its_default(repo));
    }
    Meaning {
        changes: vec![Change::Tip {
            repo: repo.id,
            base: branch.clone(),
            before: before.clone(),
            after: after.clone(),
            policy_untouched: *policy_untouched,
        }],
        wakes,
        note: match after {
            Some(tip) => format!("{branch} of {} moved to {}", repo.name, tip.short()),
            None => format!("{branch} of {} was deleted", repo.name),
        },
    }
}

/// Where the App may act, and what became of the repositories there. Every change for the better is
/// followed by a look at everything: nothing that happened in between was heard. A change for the worse is
/// not believed: sent again, an old one would stop what goes on. Those it names are woken, and their pass
/// asks GitHub whether the App may still act there.
fn reach(event: &Event) -> Meaning {
    match event {
        Event::Installation {
            installation,
            action,
            repos,
        } => installed(*installation, action, repos),
        Event::Repositories { added, removed } => Meaning {
            changes: added.iter().cloned().map(Change::Repo).collect(),
            wakes: added
                .iter()
                .map(whole_repo)
                .chain(
                    removed
                        .iter()
                        .map(|repo| (Wake::Key(Key::Repo(*repo)), Confirm::Always)),
                )
                .chain(added.iter().filter_map(who_has_its_default))
                .collect(),
            note: format!(
                "{} repositories came into an installation, {} left",
                added.len(),
                removed.len()
            ),
        },
        Event::Repository { repo, action } => match action.as_str() {
            "archived" | "deleted" => about(repo, action, Vec::new()),
            _ => about(repo, action, vec![Change::Repo(repo.clone())]),
        },
        _ => Meaning::default(),
    }
}

fn about(repo: &Repository, action: &str, changes: Vec<Change>) -> Meaning {
    let everybody = who_has_its_default(repo);
    Meaning {
        changes,
        wakes: [whole_repo(repo)].into_iter().chain(everybody).collect(),
        note: format!("{} was {action}", repo.name),
    }
}

fn installed(installation: InstallationId, action: &str, repos: &[Repository]) -> Meaning {
    let note = format!("installation {installation}: {action}");
    // `unsuspend` and `new_permissions_accepted` name no repositories: those known are woken.
    let known = (Wake::Installation(installation), Confirm::Always);
    if matches!(action, "deleted" | "suspend") {
        return Meaning {
            changes: Vec::new(),
            wakes: vec![known],
            note,
        };
    }
    Meaning {
        changes: repos
            .iter()
            .cloned()
            .map(Change::Repo)
            .chain([Change::InstallationActive(installation)])
            .collect(),
        wakes: repos.iter().map(whole_repo).chain([known]).collect(),
        note,
    }
}

fn who(sender: Option<&Actor>) -> &str {
    sender.map_or("an account that is gone", |actor| actor.login.as_str())
}
