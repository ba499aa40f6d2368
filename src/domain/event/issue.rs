//! Issues: only that something happened to one, and which label was put on it.

use serde::Deserialize;

use super::Event;
use super::wire::{Fault, Field, Label, Scene, User, When, actor, need, parse};
use crate::domain::model::PullNumber;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    issue: Option<IssuePart>,
    label: Option<Label>,
    sender: Option<User>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IssuePart {
    number: Field<PullNumber>,
    updated_at: Field<When>,
}

/// `issues`.
pub(super) fn issue(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: Body = parse(body)?;
    let issue = need(body.issue, "issue")?;
    let label = match scene.action.as_str() {
        "labeled" => body.label.and_then(|label| label.name.opt()),
        _ => None,
    };
    Ok(Event::Issue {
        repo: scene.repo,
        action: scene.action,
        number: issue.number.need("issue.number")?,
        label,
        at: issue.updated_at.opt().map(|at| at.0),
        sender: actor(body.sender),
    })
}
