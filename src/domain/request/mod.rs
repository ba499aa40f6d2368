//! What people asked for by commands: facts, with who asked, when, and for which head.
//!
//! A command never acts. A comment's commands are remembered as an [`Ask`]; a pass finds out whether
//! its author may ask that, and turns it into [`Requests`], which the gates then judge like any other
//! fact, and into a [`Reply`]. What becomes of an ask is decided once per comment: its id is kept.
//!
//! Everything that allows something is bound: a request to merge to a head and a base, a waiver to a
//! head, a base and a policy. What stops something is bound to nothing. What is found bound to something
//! else is over for good ([`Requests::void`]); what changes and changes back before any pass looks is
//! not noticed.

mod authority;
mod choosing;
mod hear;
mod overriding;

#[cfg(test)]
mod tests;

pub use authority::{Permit, needs_owner, needs_writer, owner};
pub use choosing::chosen;
pub use hear::{Deed, Heard, Hearing, gave_up, hear, misunderstood};
pub use overriding::{WAIVABLE, may_be_waived};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command::{Category, Command, Priority, Said, Who, Word, parse};
use super::facts::{Asked, Comment, Hold, PolicyFact, PullRequest, PullState, Why};
use super::model::{
    Actor, ActorKind, BaseRef, CommentId, HeadSha, Login, PolicyDigest, Timestamp, VerifierName,
};

/// How many answers in an hour one pull request gets; beyond that there are reactions alone.
pub const ANSWERS_AN_HOUR: usize = 12;
/// How many comments in an hour may have everything read again on a pull request, where all they ask
/// is what anybody may ask.
pub const OPEN_ASKS_AN_HOUR: usize = 20;

/// How many askings of verifiers are kept on one pull request: those of many heads.
pub const ASKINGS: usize = 200;

/// A comment that holds commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The comment.
    pub comment: CommentId,
    /// Who wrote it.
    pub by: Actor,
    /// When it was written.
    pub at: Timestamp,
    /// The head that was known to stand when the comment became known.
    pub head: Option<HeadSha>,
    /// What it says, in order.
    pub said: Vec<Said>,
    /// A page about it.
    pub url: Option<String>,
}

impl Ask {
    /// The commands of a newly written comment, or `None` where it holds none that count: those of bots
    /// and of Apps are never read, ours among them, or two programs would answer each other for ever.
    /// The head is not known to a comment.
    pub fn of(comment: &Comment) -> Option<Self> {
        let by = comment.author.clone()?;
        if by.kind != ActorKind::User || comment.app.is_some() {
            return None;
        }
        let said = parse(&comment.body);
        (!said.is_empty()).then(|| Self {
            comment: comment.id,
            by,
            at: comment.created_at,
            head: None,
            said,
            url: comment.url.clone(),
        })
    }

    /// Its well-formed commands, as far as the policy lets them count.
    pub fn commands(&self, short: bool) -> impl Iterator<Item = &Command> {
        self.said
            .iter()
            .filter(move |said| short || !said.short)
            .filter_map(|said| said.what.as_ref().ok())
    }

    /// Whether all it asks is what anybody may ask.
    pub fn is_open_to_anybody(&self) -> bool {
        self.commands(true)
            .all(|command| command.word().who() == Who::Anybody)
    }

    /// Whether it may stop a merge. One whose author's rights are not known yet stops it meanwhile.
    pub fn may_stop(&self) -> bool {
        self.commands(true).any(|command| {
            matches!(
                command,
                Command::Hold { .. } | Command::Unmerge | Command::Freeze { .. }
            )
        })
    }
}

/// A request to merge one head into one base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct MergeRequest {
    pub head: HeadSha,
    pub base: BaseRef,
    pub by: Login,
    pub at: Timestamp,
}

/// An owner's waiver of one gate for one head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The gate's fixed name.
    pub gate: String,
    /// Why, in one word.
    pub category: Category,
    /// Why, in a sentence (untrusted text).
    pub reason: String,
    /// By whom.
    pub by: Login,
    /// When.
    pub at: Timestamp,
    /// The comment.
    pub url: Option<String>,
    /// For this head,
    pub head: HeadSha,
    /// into this base,
    pub base: BaseRef,
    /// under this policy.
    pub policy: PolicyDigest,
}

/// A question on the owner's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The comment that asked.
    pub comment: CommentId,
    /// What (untrusted text).
    pub question: String,
    /// What is done meanwhile (untrusted text).
    pub default: String,
    /// By whom.
    pub by: Login,
    /// Since when.
    pub at: Timestamp,
    /// The comment.
    pub url: Option<String>,
}

/// A wish for a verification of one head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// The comment that asked; none where it was the check run's button.
    pub comment: Option<CommentId>,
    /// By which verifier.
    pub verifier: VerifierName,
    /// Of which head.
    pub head: HeadSha,
    /// By whom it was asked for.
    pub by: Login,
    /// When.
    pub at: Timestamp,
    /// The verifier was told, or cannot be.
    #[serde(default)]
    pub told: bool,
}

/// What was asked for on one pull request, and stands. Only passes write it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// A hold by a command.
    pub hold: Option<Hold>,
    /// When it was last let go by a command.
    pub let_go_at: Option<Timestamp>,
    /// A request to merge.
    pub merge: Option<MergeRequest>,
    /// Waivers.
    pub overrides: Vec<Override>,
    /// Its place in the order.
    pub priority: Priority,
    /// Questions to the owner.
    pub questions: Vec<Question>,
    /// Verifications that were asked for.
    pub wishes: Vec<Wish>,
    /// Verifiers that were told, about whichever head, oldest first; the last [`ASKINGS`].
    pub asked: Vec<Asked>,
    /// The last comment that said something about each matter. One that is older says nothing more,
    /// whenever it is heard: comments wait for answers about their authors, and deliveries overtake
    /// each other.
    pub last: BTreeMap<Matter, CommentId>,
}

/// What commands contradict each other about: of those about one, the last that was written counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Matter {
    Merge,
    Hold,
    Priority,
}

impl Matter {
    /// What a command is about; `None` where none contradicts it.
    pub fn of(word: Word) -> Option<Self> {
        match word {
            Word::Merge | Word::Unmerge => Some(Self::Merge),
            Word::Hold | Word::Unhold => Some(Self::Hold),
            Word::Priority => Some(Self::Priority),
            Word::Verify
            | Word::Recheck
            | Word::Override
            | Word::Freeze
            | Word::Thaw
            | Word::Ask
            | Word::Escaped
            | Word::Status
            | Word::Help => None,
        }
    }
}

/// What was asked by the buttons of the check run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressed {
    /// The hold.
    pub hold: Option<Hold>,
    /// When it was last let go.
    pub let_go_at: Option<Timestamp>,
    /// The last time that a verification was asked for.
    pub verify: Option<PressedVerify>,
}

/// Somebody pressed "Request verification".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PressedVerify {
    /// Who.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// On the page of which head.
    pub head: HeadSha,
}

impl Requests {
    /// Which verifiers were asked about what a pull request is now, those among them that are about to be.
    pub fn asked_about(&self, pull: &PullRequest) -> Vec<Asked> {
        let here = |asked: &&Asked| asked.head == pull.head && asked.base == pull.base;
        let told = self.asked.iter().filter(here);
        let mut wished = self.wishes.iter().filter(|wish| wish.head == pull.head);
        let wished = wished.by_ref().filter(|wish| !wish.told);
        let about_to_be = wished.map(|wish| Asked {
            verifier: wish.verifier.clone(),
            head: wish.head.clone(),
            base: pull.base.clone(),
            at: wish.at,
            why: Why::Person,
            by: Some(wish.by.clone()),
            before: None,
            refused: None,
        });
        told.cloned().chain(about_to_be).collect()
    }

    /// Keeps that a verifier was told.
    pub fn was_asked(&mut self, asked: Asked) {
        self.asked.push(asked);
        let over = self.asked.len().saturating_sub(ASKINGS);
        self.asked.drain(..over);
    }

    /// Ends what is bound to something else than what stands now, for good: a request does not come
    /// back with its head, its base or its policy, nor with a pull request that is opened again.
    pub fn void(&mut self, pull: &PullRequest, policy: &PolicyFact) {
        if pull.state != PullState::Open {
            // What stood when it was merged stays as it was.
            self.merge.take_if(|_| pull.state == PullState::Closed);
            return;
        }
        let here = |head: &HeadSha, base: &BaseRef| *head == pull.head && *base == pull.base;
        self.merge.take_if(|asked| !here(&asked.head, &asked.base));
        // A policy that could not be read is not another one.
        let other = |asked: &PolicyDigest| match policy {
            PolicyFact::Valid { digest, .. } => digest != asked,
            PolicyFact::Absent => true,
            PolicyFact::Invalid { .. } | PolicyFact::Unavailable(_) => false,
        };
        self.overrides
            .retain(|waiver| here(&waiver.head, &waiver.base) && !other(&waiver.policy));
    }

    /// The hold that stands, of those by command and by button: one that is not older than the last
    /// letting go of either kind. Of two in one second the hold wins.
    pub fn standing_hold(&self, pressed: &Pressed) -> Option<Hold> {
        let let_go = self.let_go_at.max(pressed.let_go_at);
        let stands = |hold: &&Hold| let_go.is_none_or(|at| hold.since >= at);
        let holds = self.hold.iter().chain(&pressed.hold);
        holds.filter(stands).max_by_key(|hold| hold.since).cloned()
    }
}

/// What a comment gets back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The comment.
    pub comment: CommentId,
    /// The reaction.
    pub receipt: Receipt,
    /// The answer, a line a command; empty for none.
    pub lines: Vec<Line>,
    /// The verdict is asked for.
    pub status: bool,
    /// The list of commands is asked for.
    pub help: bool,
}

impl Reply {
    /// Whether there is more to say than a reaction does.
    pub fn speaks(&self) -> bool {
        self.status || self.help || self.lines.iter().any(|line| !line.text.is_empty())
    }
}

/// What became of one command, for whoever gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The command as it is told, without a stroke at the beginning of a line.
    pub command: String,
    /// What became of it.
    pub became: Became,
    /// The sentence; empty where the reaction says it all.
    pub text: String,
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Became {
    /// It is recorded.
    Done,
    /// It was not understood.
    Misunderstood,
    /// Its author may not ask that, or it cannot be had.
    Refused,
}

/// A reaction to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// Everything it asked is recorded.
    Accepted,
    /// Something was not understood.
    Misunderstood,
    /// Something was refused.
    Refused,
}

impl Receipt {
    /// GitHub's name of the reaction ("Create reaction for an issue comment").
    pub fn content(self) -> &'static str {
        match self {
            Self::Accepted => "+1",
            Self::Misunderstood => "confused",
            Self::Refused => "-1",
        }
    }

    /// The reaction to lines: the worst of them counts.
    pub fn of(lines: &[Line]) -> Self {
        match lines.iter().map(|line| line.became).max() {
            Some(Became::Refused) => Self::Refused,
            Some(Became::Misunderstood) => Self::Misunderstood,
            Some(Became::Done) | None => Self::Accepted,
        }
    }
}
