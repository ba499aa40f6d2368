//! Commands on issues: few mean something there.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Record, words};
use crate::domain::command::{Command, Who, Word};
use crate::domain::facts::Fetched;
use crate::domain::ledger::Kind;
use crate::domain::model::PullNumber;
use crate::domain::policy::Dispatch;
use crate::domain::request::{Ask, Became, Line, Permit, Receipt, Reply, misunderstood};

/// What became of an ask on an issue.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// It is settled for good: what its author is told, and what is written down.
    Settled(Reply, Vec<(Kind, Value)>),
    /// Something could not be found out; it is heard again.
    Pending(String),
}

/// What an ask on an issue is heard with.
pub struct Hearing<'a> {
    /// The ask.
    pub ask: &'a Ask,
    /// On which issue.
    pub issue: PullNumber,
    /// The limit, if the policy has one.
    pub policy: Option<&'a Dispatch>,
    /// Whether its author has write access.
    pub writer: &'a Permit,
    /// Whether the pull requests it names are merged.
    pub merged: &'a BTreeMap<PullNumber, Fetched<bool>>,
    /// Whether the policy lets short forms count.
    pub short: bool,
}

/// Hears an ask on an issue, and brings the priorities up to date.
pub fn hear(hearing: &Hearing<'_>, record: &mut Record) -> Heard {
    let mut lines = Vec::new();
    let mut entries = Vec::new();
    let mut help = false;
    let said = hearing.ask.said.iter();
    for said in said.filter(|said| hearing.short || !said.short) {
        let command = match &said.what {
            Ok(command) => command,
            Err(misuse) => {
                lines.push(misunderstood(misuse));
                continue;
            }
        };
        help |= *command == Command::Help;
        let (became, text) = match carried_out(hearing, record, command, &mut entries) {
            Ok(done) => done,
            Err(why) => return Heard::Pending(why),
        };
        lines.push(Line {
            command: command.word().text().to_owned(),
            became,
            text,
        });
    }
    let reply = Reply {
        comment: hearing.ask.comment,
        receipt: Receipt::of(&lines),
        lines,
        status: false,
        help,
    };
    Heard::Settled(reply, entries)
}

/// What became of one command and what is said about it, or why that cannot be known.
fn carried_out(
    hearing: &Hearing<'_>,
    record: &mut Record,
    command: &Command,
    entries: &mut Vec<(Kind, Value)>,
) -> Result<(Became, String), String> {
    let (ask, issue) = (hearing.ask, hearing.issue);
    if command.word().who() == Who::Writers {
        match hearing.writer {
            Permit::Yes => {}
            Permit::No(why) => return Ok((Became::Refused, format!("Refused: {why}."))),
            Permit::CannotTell(why) => return Err(why.clone()),
        }
    }
    Ok(match command {
        Command::Priority(priority) => {
            record.priorities.insert(issue, *priority);
            let body = json!({ "command": command, "by": ask.by, "url": ask.url });
            entries.push((Kind::Request, body));
            (Became::Done, String::new())
        }
        Command::Escaped { through } => {
            let merged = hearing.merged.get(through).unwrap_or(&Fetched::NotAsked);
            if !*merged.require()? {
                let text = format!("Refused: #{through} is not a merged pull request.");
                return Ok((Became::Refused, text));
            }
            let body = json!({
                "through": through, "issue": issue, "by": ask.by, "url": ask.url,
            });
            entries.push((Kind::Escaped, body));
            let text = format!("It is on record that a defect escaped through #{through}.");
            (Became::Done, text)
        }
        Command::Status => (Became::Done, words::status(hearing.policy, record, issue)),
        Command::Help => (Became::Done, String::new()),
        other => {
            let word = other.word().text();
            let text = format!("`/{word}` means something on pull requests only.");
            (Became::Refused, text)
        }
    })
}

/// Whether a word means something on an issue, and takes write access there.
pub fn takes_writer(ask: &Ask, short: bool) -> bool {
    let takes = |word: Word| matches!(word, Word::Priority | Word::Escaped);
    ask.commands(short).any(|command| takes(command.word()))
}
