//! What becomes of an ask: pure, over the facts of the pass that hears it.
//!
//! A comment does not say which head its author saw. A request to merge or to waive is taken for the
//! head that stands if that is the one that was known to stand when it was written, or if none was known
//! and nothing has happened to the pull request since (GitHub's `updated_at`, which the comment itself
//! sets). Otherwise it is refused, with both heads, and asking again costs one line.
//!
//! Known race: where the delivery of a push in the very second of a comment overtakes the comment's,
//! the comment is taken for the pushed head.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::authority::{Permit, owner};
use super::choosing::chosen;
use super::overriding::may_be_waived;
use super::{
    Ask, Became, Line, Matter, MergeRequest, Override, Question, Receipt, Reply, Requests, Wish,
};
use crate::domain::command::{Command, Misuse, Who, Word};
use crate::domain::facts::{Fetched, Freeze, Hold, PolicyFact, PullRequest, PullState, Snapshot};
use crate::domain::ledger::Kind;
use crate::domain::model::{Actor, BaseRef, HeadSha, PullNumber};
use crate::domain::policy::Policy;

/// What an ask is heard with.
#[derive(Debug)]
pub struct Hearing<'a> {
    /// The ask.
    pub ask: &'a Ask,
    /// The facts, confirmed in this pass.
    pub snapshot: &'a Snapshot,
    /// Whether its author has write access.
    pub writer: &'a Permit,
    /// The members of the teams that the policy names as owners.
    pub teams: &'a BTreeMap<String, Fetched<Vec<Actor>>>,
    /// Whether the pull requests it names are merged.
    pub merged: &'a BTreeMap<PullNumber, Fetched<bool>>,
    /// Whether the branches that it names exist.
    pub branches: &'a BTreeMap<String, Fetched<bool>>,
    /// The freezes of the branches that it thaws.
    pub freezes: &'a BTreeMap<String, Freeze>,
    /// The gates of the verdict as it stands.
    pub gates: &'a [&'a str],
}

/// What became of an ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// It is settled for good.
    Settled {
        /// What stands afterwards.
        requests: Box<Requests>,
        /// What its author is told.
        reply: Reply,
        /// What is done besides, in the store.
        deeds: Vec<Deed>,
    },
    /// Something could not be found out; it is heard again. Nothing of it is done.
    Pending(String),
}

/// What a command does besides changing the requests of its pull request.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Deed {
    Freeze(BaseRef, Freeze),
    Thaw(BaseRef),
    /// Written down.
    Ledger(Kind, Value),
}

/// What one command led to.
enum Done {
    /// Recorded, and there is something to say.
    Told(String),
    /// Recorded; the reaction says it.
    Quiet,
    Refused(String),
    Pending(String),
}

/// Hears an ask. `short` says whether the policy lets short forms count.
pub fn hear(hearing: &Hearing<'_>, before: &Requests, short: bool) -> Heard {
    let mut hearer = Hearer {
        hearing,
        requests: before.clone(),
        deeds: Vec::new(),
        status: false,
        help: false,
    };
    let mut lines = Vec::new();
    let counted = hearing.ask.said.iter().filter(|said| short || !said.short);
    for said in counted {
        let line = match &said.what {
            Err(misuse) => misunderstood(misuse),
            Ok(command) => match hearer.command(command) {
                Done::Pending(why) => return Heard::Pending(why),
                Done::Told(text) => line(command.word(), Became::Done, text),
                Done::Quiet => line(command.word(), Became::Done, String::new()),
                Done::Refused(text) => {
                    // Who was turned away is what an auditor looks for first.
                    let body = hearer.entry(json!({ "command": command, "refused": text }));
                    hearer.deeds.push(Deed::Ledger(Kind::Request, body));
                    line(command.word(), Became::Refused, text)
                }
            },
        };
        lines.push(line);
    }
    let reply = Reply {
        comment: hearing.ask.comment,
        receipt: Receipt::of(&lines),
        lines,
        status: hearer.status,
        help: hearer.help,
    };
    Heard::Settled {
        requests: Box::new(hearer.requests),
        reply,
        deeds: hearer.deeds,
    }
}

fn line(word: Word, became: Became, text: String) -> Line {
    Line {
        command: word.text().to_owned(),
        became,
        text,
    }
}

/// What is said to a command that is not well formed.
pub fn misunderstood(misuse: &Misuse) -> Line {
    let again = "Write a new comment with it: edited comments are not read.";
    match misuse {
        Misuse::Unknown { typed, meant } => {
            let meant = meant.map(|word| format!(" Did you mean `{}`?", word.text()));
            Line {
                command: typed.clone(),
                became: Became::Misunderstood,
                text: format!(
                    "There is no such command.{} {again}",
                    meant.unwrap_or_default()
                ),
            }
        }
        Misuse::Form { word, wrong } => {
            let form = match word.arguments() {
                "" => format!("`/{}`", word.text()),
                arguments => format!("`/{} {arguments}`", word.text()),
            };
            let text = format!("Not understood: {wrong}. The form is {form}. {again}");
            line(*word, Became::Misunderstood, text)
        }
    }
}

/// What is said to an ask about which nothing could be found out.
pub fn gave_up(ask: &Ask, why: &str) -> Reply {
    let words = ask
        .commands(true)
        .map(|command| command.word().text())
        .collect::<Vec<_>>();
    let lines = vec![Line {
        command: words.join(", "),
        became: Became::Refused,
        text: format!("Given up after an hour: {why}. Nothing of it was done; write it again."),
    }];
    Reply {
        comment: ask.comment,
        receipt: Receipt::of(&lines),
        lines,
        status: false,
        help: false,
    }
}

struct Hearer<'a> {
    hearing: &'a Hearing<'a>,
    requests: Requests,
    deeds: Vec<Deed>,
    status: bool,
    help: bool,
}

impl Hearer<'_> {
    fn command(&mut self, command: &Command) -> Done {
        if let Some(refused) = self.not_allowed(command.word()) {
            return refused;
        }
        if let Some(refused) = self.overtaken(command.word()) {
            return refused;
        }
        let done = match command {
            Command::Recheck => Done::Quiet,
            Command::Status => {
                self.status = true;
                Done::Quiet
            }
            Command::Help => {
                self.help = true;
                Done::Quiet
            }
            Command::Merge => self.merge(),
            Command::Unmerge => {
                self.requests.merge = None;
                Done::Quiet
            }
            Command::Hold { reason } => self.hold(reason),
            Command::Unhold => {
                self.requests.hold = None;
                self.requests.let_go_at = Some(self.hearing.ask.at);
                Done::Quiet
            }
            Command::Verify { verifier } => self.verify(verifier.as_deref()),
            Command::Override {
                gate,
                category,
                reason,
            } => self.waive(gate, *category, reason),
            Command::Freeze { branch, reason } => self.freeze(branch, reason),
            Command::Thaw { branch } => self.thaw(branch),
            Command::Priority(priority) => {
                self.requests.priority = *priority;
                Done::Quiet
            }
            Command::Ask { question, default } => self.ask_owner(question, default),
            Command::Escaped { through } => self.escaped(*through),
        };
        if matches!(done, Done::Told(_) | Done::Quiet) {
            if let Some(matter) = Matter::of(command.word()) {
                self.requests.last.insert(matter, self.hearing.ask.comment);
            }
            self.write_down(command);
        }
        done
    }

    /// A comment that was written later has been heard before this one, and its word stands.
    fn overtaken(&self, word: Word) -> Option<Done> {
        let last = self.requests.last.get(&Matter::of(word)?)?;
        (*last > self.hearing.ask.comment).then(|| {
            Done::Refused("Refused: a later comment has said what is to be done about this.".into())
        })
    }

    /// What is recorded of every accepted command that changes something.
    fn write_down(&mut self, command: &Command) {
        let kind = match command.word() {
            Word::Recheck | Word::Status | Word::Help => return,
            // These have entries of their own, with more in them.
            Word::Freeze | Word::Thaw | Word::Escaped | Word::Override => return,
            _ => Kind::Request,
        };
        let body = self.entry(json!({ "command": command }));
        self.deeds.push(Deed::Ledger(kind, body));
    }

    fn entry(&self, mut body: Value) -> Value {
        let ask = self.hearing.ask;
        body["by"] = json!(ask.by);
        body["comment"] = json!(ask.comment);
        body["url"] = json!(ask.url);
        body["asked_at"] = json!(ask.at);
        body
    }

    fn not_allowed(&self, word: Word) -> Option<Done> {
        let by = &self.hearing.ask.by;
        let permit = match word.who() {
            Who::Anybody => Permit::Yes,
            Who::Writers => self.hearing.writer.clone(),
            Who::Owners => owner(&self.hearing.snapshot.policy, by, self.hearing.teams),
        };
        match permit {
            Permit::Yes => None,
            Permit::No(why) => Some(Done::Refused(format!("Refused: {why}."))),
            Permit::CannotTell(why) => Some(Done::Pending(format!(
                "whether {} may ask this could not be found out: {why}",
                by.login
            ))),
        }
    }

    /// The pull request, if it is open.
    fn open(&self) -> Result<&PullRequest, Done> {
        match self.hearing.snapshot.pull.require() {
            Err(why) => Err(Done::Pending(format!(
                "the pull request could not be read: {why}"
            ))),
            Ok(pull) => match pull.state {
                PullState::Open => Ok(pull),
                PullState::Merged { at, .. } => {
                    let at = at.map_or_else(String::new, |at| {
                        format!(" since {}", at.format("%Y-%m-%d %H:%M:%S UTC"))
                    });
                    let text = format!("It comes too late: this is merged{at}.");
                    Err(Done::Refused(text))
                }
                PullState::Closed => Err(Done::Refused("This is closed; reopen it first.".into())),
            },
        }
    }

    /// The open pull request, if its head is the one that the comment's author saw.
    fn as_seen(&self) -> Result<&PullRequest, Done> {
        let pull = self.open()?;
        let ask = self.hearing.ask;
        // GitHub counts seconds: a push in the second of the comment would go for nothing. So this
        // helps only where no other head was known.
        let nothing_since = ask.head.is_none() && pull.updated_at <= ask.at;
        let same = ask.head.as_ref().is_some_and(|seen| *seen == pull.head);
        if same || nothing_since {
            return Ok(pull);
        }
        let seen = match &ask.head {
            Some(seen) => format!("`{seen}`"),
            None => "another, unknown one".into(),
        };
        Err(Done::Refused(format!(
            "Refused: the head is `{}` now and may have been {seen} when you wrote. \
             Write the command again if it is meant for the head that stands now.",
            pull.head
        )))
    }

    fn merge(&mut self) -> Done {
        let pull = match self.as_seen() {
            Ok(pull) => pull,
            Err(done) => return done,
        };
        let request = MergeRequest {
            head: pull.head.clone(),
            base: pull.base.clone(),
            by: self.hearing.ask.by.login.clone(),
            at: self.hearing.ask.at,
        };
        let text = format!(
            "Recorded for the head `{}` into `{}`: it merges once nothing is open. Another push or \
             base voids this.",
            request.head, request.base
        );
        self.requests.merge = Some(request);
        Done::Told(text)
    }

    fn hold(&mut self, reason: &str) -> Done {
        if let Err(done) = self.open() {
            return done;
        }
        let reason = match reason {
            "" => "no reason given",
            reason => reason,
        };
        self.requests.hold = Some(Hold {
            reason: reason.to_owned(),
            by: self.hearing.ask.by.login.to_string(),
            since: self.hearing.ask.at,
        });
        Done::Quiet
    }

    fn policy(&self) -> Result<&Policy, Done> {
        match &self.hearing.snapshot.policy {
            PolicyFact::Valid { policy, .. } => Ok(policy),
            PolicyFact::Unavailable(why) => Err(Done::Pending(why.clone())),
            PolicyFact::Invalid { .. } | PolicyFact::Absent => Err(Done::Refused(
                "Refused: there is no valid policy to go by.".into(),
            )),
        }
    }

    fn verify(&mut self, named: Option<&str>) -> Done {
        let (head, policy) = match (self.as_seen(), self.policy()) {
            (Ok(pull), Ok(policy)) => (pull.head.clone(), policy),
            (Err(done), _) | (_, Err(done)) => return done,
        };
        let verifier = match chosen(policy, named) {
            Ok(verifier) => verifier,
            Err(why) => return Done::Refused(why),
        };
        let how = match policy.verifiers.get(&verifier).map(|v| v.request.is_some()) {
            Some(true) => "It is being asked.",
            _ => {
                "The policy names no `request` for it, so nobody is told by Countersign; it stays on the list of what is to be verified."
            }
        };
        let text = format!("Recorded: `{verifier}` is to verify `{head}`. {how}");
        self.requests.wishes.push(Wish {
            comment: Some(self.hearing.ask.comment),
            verifier,
            head,
            by: self.hearing.ask.by.login.clone(),
            at: self.hearing.ask.at,
            told: false,
        });
        Done::Told(text)
    }

    fn waive(
        &mut self,
        gate: &str,
        category: crate::domain::command::Category,
        reason: &str,
    ) -> Done {
        let (head, base) = match self.as_seen() {
            Ok(pull) => (pull.head.clone(), pull.base.clone()),
            Err(done) => return done,
        };
        let gate = gate.to_ascii_lowercase();
        if let Err(why) = may_be_waived(&gate, self.hearing.gates) {
            return Done::Refused(format!("Refused: {why}."));
        }
        if let Some(refused) = self.own_work(&head) {
            return refused;
        }
        let PolicyFact::Valid { digest, .. } = &self.hearing.snapshot.policy else {
            return Done::Refused("Refused: there is no valid policy to go by.".into());
        };
        let ask = self.hearing.ask;
        let waiver = Override {
            gate: gate.clone(),
            category,
            reason: reason.to_owned(),
            by: ask.by.login.clone(),
            at: ask.at,
            url: ask.url.clone(),
            head: head.clone(),
            base,
            policy: digest.clone(),
        };
        let body = self.entry(json!({ "override": waiver }));
        self.deeds.push(Deed::Ledger(Kind::Override, body));
        let same = |known: &Override| known.gate == gate && known.head == head;
        self.requests.overrides.retain(|known| !same(known));
        self.requests.overrides.push(waiver);
        Done::Told(format!(
            "`{gate}` is waived for the head `{head}` alone ({}). Another push, base or policy voids \
             this; it is on record.",
            category.text()
        ))
    }

    /// Nobody waives what is asked of their own work, and no agent waives anything.
    fn own_work(&self, head: &HeadSha) -> Option<Done> {
        let by = &self.hearing.ask.by;
        let refused = |why: &str| Some(Done::Refused(format!("Refused: {why}.")));
        let pull = self.hearing.snapshot.pull.known();
        let author = pull.and_then(|pull| pull.author.as_ref());
        if author.is_some_and(|author| author.id == by.id) {
            return refused("the author of a pull request cannot waive its gates");
        }
        if let PolicyFact::Valid { policy, .. } = &self.hearing.snapshot.policy
            && policy.agents.include(by)
        {
            return refused("an agent cannot waive a gate");
        }
        let comparison = match self.hearing.snapshot.comparison.require() {
            Ok(comparison) if comparison.head == *head && comparison.commits.complete => comparison,
            Ok(_) => {
                return Some(Done::Pending(
                    "the commits of this head are not all known".into(),
                ));
            }
            Err(why) => {
                return Some(Done::Pending(format!(
                    "the commits of this head could not be read: {why}"
                )));
            }
        };
        let mut commits = comparison.commits.items.iter();
        let wrote = commits.any(|commit| commit.author.as_ref().is_some_and(|who| who.id == by.id));
        if wrote {
            return refused("who wrote a commit of a pull request cannot waive its gates");
        }
        None
    }

    fn branch(&self, typed: &str) -> Result<BaseRef, Done> {
        BaseRef::parse(typed.trim_matches('`'))
            .map_err(|why| Done::Refused(format!("Refused: that is no branch name ({why}).")))
    }

    fn freeze(&mut self, branch: &str, reason: &str) -> Done {
        let branch = match self.branch(branch) {
            Ok(branch) => branch,
            Err(done) => return done,
        };
        match self.hearing.branches.get(branch.as_str()) {
            Some(Fetched::Known(true)) => {}
            // Somebody who mistyped it would take the real one for frozen.
            Some(Fetched::Known(false)) => {
                return Done::Refused(format!("Refused: there is no branch `{branch}`."));
            }
            Some(Fetched::Unavailable(why)) => {
                return Done::Pending(format!("`{branch}` could not be read: {why}"));
            }
            Some(Fetched::NotAsked) | None => {
                return Done::Pending(format!("`{branch}` has not been read yet"));
            }
        }
        let text = format!(
            "`{branch}` is frozen: nothing merges into it until an owner writes `/thaw {branch}`."
        );
        let freeze = Freeze {
            reason: reason.to_owned(),
            by: self.hearing.ask.by.login.to_string(),
            since: self.hearing.ask.at,
        };
        self.deeds.push(Deed::Freeze(branch, freeze));
        Done::Told(text)
    }

    fn thaw(&mut self, branch: &str) -> Done {
        let branch = match self.branch(branch) {
            Ok(branch) => branch,
            Err(done) => return done,
        };
        let freeze = self.hearing.freezes.get(branch.as_str());
        if let Some(freeze) = freeze.filter(|freeze| freeze.since > self.hearing.ask.at) {
            return Done::Refused(format!(
                "Refused: `{branch}` was frozen by {} after you wrote. Write it again if it is meant \
                 for that freeze.",
                freeze.by
            ));
        }
        let text = format!(
            "`{branch}` is no longer frozen by a person or by Countersign. Windows of the policy stay."
        );
        self.deeds.push(Deed::Thaw(branch));
        Done::Told(text)
    }

    fn ask_owner(&mut self, question: &str, default: &str) -> Done {
        let ask = self.hearing.ask;
        self.requests.questions.push(Question {
            comment: ask.comment,
            question: question.to_owned(),
            default: default.to_owned(),
            by: ask.by.login.clone(),
            at: ask.at,
            url: ask.url.clone(),
        });
        Done::Told(
            "It is on the owner's list. Nothing waits for the answer: the default is taken meanwhile."
                .into(),
        )
    }

    fn escaped(&mut self, through: PullNumber) -> Done {
        match self.hearing.merged.get(&through) {
            Some(Fetched::Known(true)) => {
                let body = self.entry(json!({ "through": through }));
                self.deeds.push(Deed::Ledger(Kind::Escaped, body));
                Done::Told(format!(
                    "It is on record that a defect escaped through #{through}."
                ))
            }
            Some(Fetched::Known(false)) => {
                Done::Refused(format!("Refused: #{through} is not a merged pull request."))
            }
            Some(Fetched::Unavailable(why)) => {
                Done::Pending(format!("#{through} could not be read: {why}"))
            }
            Some(Fetched::NotAsked) | None => {
                Done::Pending(format!("#{through} has not been read yet"))
            }
        }
    }
}
