//! Who may ask what. Three answers: yes, no, cannot tell. What cannot be told is never a yes, and it is
//! not a no either: it is asked again.

use std::collections::BTreeMap;

use super::Ask;
use crate::domain::command::{Command, Who};
use crate::domain::facts::{Fetched, PolicyFact};
use crate::domain::model::Actor;
use crate::domain::policy::Party;

/// Whether somebody may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// Yes.
    Yes,
    /// No; why, as a sentence.
    No(String),
    /// It could not be found out; why.
    CannotTell(String),
}

/// Whether an ask holds a command that takes write access.
pub fn needs_writer(ask: &Ask, short: bool) -> bool {
    ask.commands(short)
        .any(|command| command.word().who() == Who::Writers)
}

/// Whether an ask holds a command that takes an owner.
pub fn needs_owner(ask: &Ask, short: bool) -> bool {
    ask.commands(short)
        .any(|command: &Command| command.word().who() == Who::Owners)
}

/// Whether somebody is one of the policy's owners. `teams` holds the members of the teams it names,
/// as `org/team`.
pub fn owner(
    policy: &PolicyFact,
    actor: &Actor,
    teams: &BTreeMap<String, Fetched<Vec<Actor>>>,
) -> Permit {
    let policy = match policy {
        PolicyFact::Valid { policy, .. } => policy,
        PolicyFact::Unavailable(why) => {
            return Permit::CannotTell(format!("the policy could not be read: {why}"));
        }
        PolicyFact::Invalid { .. } => {
            return Permit::No("the policy does not validate, so it names no owners".into());
        }
        PolicyFact::Absent => {
            return Permit::No("there is no policy, so there are no owners".into());
        }
    };
    if policy.owners.is_empty() {
        return Permit::No("the policy names no `owners`".into());
    }
    let mut unknown = None;
    for party in &policy.owners {
        match party {
            Party::User(login) if *login == actor.login => return Permit::Yes,
            Party::User(_) => {}
            Party::Team { org, slug } => {
                let name = format!("{org}/{slug}");
                match teams.get(&name) {
                    Some(Fetched::Known(members)) => {
                        if members.iter().any(|member| member.id == actor.id) {
                            return Permit::Yes;
                        }
                    }
                    Some(Fetched::Unavailable(why)) => {
                        unknown = Some(format!("who is in `{name}` is not known: {why}"));
                    }
                    Some(Fetched::NotAsked) | None => {
                        unknown = Some(format!("who is in `{name}` has not been read yet"));
                    }
                }
            }
        }
    }
    match unknown {
        Some(why) => Permit::CannotTell(why),
        None => Permit::No("only an owner of the policy may".into()),
    }
}
