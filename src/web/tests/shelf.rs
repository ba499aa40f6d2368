//! A store that holds a few things and is asked for nothing else.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::domain::evidence::Posted;
use crate::domain::facts::{Freeze, PullRequest};
use crate::domain::ledger::{Broken, Draft, Entry, Verifier};
use crate::domain::memory::{
    Confirm, HeadMemory, IssuesMemory, PullMemory, PullRecord, RepoMemory,
};
use crate::domain::model::{
    BaseRef, DeliveryId, HeadSha, InstallationId, Key, PullNumber, RepoId, RepoName, Timestamp,
};
use crate::store::{
    Absorbed, Accepted, Begun, DeadLetter, Ended, Figures, Finish, InboxCounts, Keep, Lease,
    NewDelivery, NewEvidence, Placed, PullRow, Store, StoreError, Stored, Versioned, Waiting,
};

/// What is on the shelf.
#[derive(Default)]
pub struct Shelf {
    pub pulls: Vec<(PullRequest, Option<Value>)>,
    pub entries: Vec<Entry>,
    pub inbox: InboxCounts,
    pub letters: Vec<DeadLetter>,
    pub repositories: usize,
    pub dispatch: crate::domain::dispatch::Record,
    pub broken: AtomicBool,
    pub due: Option<Timestamp>,
}

pub const NAME: &str = "acme/shop";

pub fn repo() -> RepoId {
    RepoId::new(7).unwrap()
}

impl Shelf {
    fn answers(&self) -> Stored<()> {
        if self.broken.load(Ordering::Relaxed) {
            Err(StoreError::Corrupt {
                what: "the database of acme's secrets".into(),
                why: "disk I/O error".into(),
            })
        } else {
            Ok(())
        }
    }

    fn of(&self, number: PullNumber) -> Option<&(PullRequest, Option<Value>)> {
        self.pulls.iter().find(|(pull, _)| pull.number == number)
    }
}

fn record(verdict: &Option<Value>) -> PullRecord {
    PullRecord {
        verdict: verdict.clone(),
        ..PullRecord::default()
    }
}

#[async_trait]
impl Store for Shelf {
    async fn post_evidence(&self, _: &NewEvidence) -> Stored<Placed> {
        unreachable!("no test posts evidence to the shelf")
    }
    async fn posted_evidence(&self, _: RepoId, _: &HeadSha) -> Stored<Vec<Posted>> {
        Ok(Vec::new())
    }
    async fn inbox(&self) -> Stored<InboxCounts> {
        self.answers().map(|()| self.inbox)
    }
    async fn known_deliveries(&self, _: &[DeliveryId]) -> Stored<Vec<DeliveryId>> {
        unreachable!("no page asks which deliveries came")
    }
    async fn note(&self, _name: &str) -> Stored<Versioned<Value>> {
        self.answers().map(|()| Versioned::default())
    }
    async fn write_note(&self, _: &str, _: &Versioned<Value>) -> Stored<bool> {
        unreachable!("no page writes a note")
    }
    async fn dead_letters(&self, _limit: u32) -> Stored<Vec<DeadLetter>> {
        Ok(self.letters.clone())
    }
    async fn repo_named(&self, name: &RepoName) -> Stored<Option<RepoId>> {
        self.answers()?;
        Ok(name.to_string().eq_ignore_ascii_case(NAME).then(repo))
    }
    async fn active_repos(&self) -> Stored<Vec<RepoMemory>> {
        Ok(vec![RepoMemory::default(); self.repositories])
    }
    async fn pull(&self, _repo: RepoId, number: PullNumber) -> Stored<Versioned<PullMemory>> {
        let value = PullMemory {
            pull: self.of(number).map(|(pull, _)| pull.clone()),
            ..PullMemory::default()
        };
        Ok(Versioned { value, version: 1 })
    }
    async fn open_pulls(&self, _repo: Option<RepoId>) -> Stored<Vec<PullRow>> {
        self.answers()?;
        let rows = self.pulls.iter().map(|(pull, verdict)| PullRow {
            repo: repo(),
            name: RepoName::parse(NAME).unwrap(),
            pull: pull.clone(),
            record: record(verdict),
        });
        Ok(rows.collect())
    }
    async fn record(&self, _repo: RepoId, number: PullNumber) -> Stored<PullRecord> {
        Ok(self
            .of(number)
            .map(|(_, verdict)| record(verdict))
            .unwrap_or_default())
    }
    async fn ledger(&self, _repo: Option<RepoId>, after: u64, limit: u32) -> Stored<Vec<Entry>> {
        self.answers()?;
        let later = self.entries.iter().filter(|entry| entry.seq > after);
        Ok(later.take(limit as usize).cloned().collect())
    }
    async fn prove_ledger(&self, _: Verifier) -> Stored<Result<Verifier, Broken>> {
        unreachable!("no page proves the ledger")
    }
    async fn ledger_of(&self, _repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>> {
        let its = self
            .entries
            .iter()
            .filter(|entry| entry.number == Some(number));
        Ok(its.cloned().collect())
    }
    async fn prune(&self, _keep: Keep, _limit: u32) -> Stored<u64> {
        unreachable!("nothing is let go for a page")
    }

    async fn figures(&self) -> Stored<Figures> {
        self.answers()?;
        Ok(Figures::default())
    }

    async fn ping(&self) -> Stored<()> {
        self.answers()
    }

    async fn dispatch(&self, _repo: RepoId) -> Stored<crate::domain::dispatch::Record> {
        self.answers()?;
        Ok(self.dispatch.clone())
    }

    // What pages have no business with.
    async fn issues(&self, _repo: RepoId) -> Stored<Versioned<IssuesMemory>> {
        unreachable!()
    }
    async fn remember_issues(&self, _: RepoId, _: &Versioned<IssuesMemory>) -> Stored<bool> {
        unreachable!()
    }
    async fn save_dispatch(
        &self,
        _lease: &Lease,
        _record: &crate::domain::dispatch::Record,
        _entries: Vec<Draft>,
        _now: Timestamp,
    ) -> Stored<()> {
        unreachable!()
    }
    async fn accept(&self, _: Vec<NewDelivery>) -> Stored<Vec<Accepted>> {
        unreachable!()
    }
    async fn waiting(&self, _: u32) -> Stored<Vec<Waiting>> {
        self.answers().map(|()| Vec::new())
    }
    async fn absorb_all(&self, _: Vec<(i64, Absorbed)>, _: Timestamp) -> Stored<()> {
        unreachable!()
    }
    async fn wake(&self, _: &[(Key, Confirm)], _: Timestamp) -> Stored<()> {
        unreachable!()
    }
    async fn lease_beside(
        &self,
        _: Timestamp,
        _: chrono::Duration,
        _: &[InstallationId],
    ) -> Stored<Option<Lease>> {
        unreachable!()
    }
    async fn finish(&self, _: Lease, _: Finish, _: Timestamp) -> Stored<()> {
        unreachable!()
    }
    async fn next_due_beside(&self, _: &[InstallationId]) -> Stored<Option<Timestamp>> {
        Ok(self.due)
    }
    async fn repo(&self, _: RepoId) -> Stored<Versioned<RepoMemory>> {
        unreachable!()
    }
    async fn head(&self, _: RepoId, _: &HeadSha) -> Stored<Versioned<HeadMemory>> {
        unreachable!()
    }
    async fn remember_repo(&self, _: RepoId, _: &Versioned<RepoMemory>) -> Stored<bool> {
        unreachable!()
    }
    async fn remember_pull(
        &self,
        _: RepoId,
        _: PullNumber,
        _: &Versioned<PullMemory>,
    ) -> Stored<bool> {
        unreachable!()
    }
    async fn remember_head(
        &self,
        _: RepoId,
        _: &HeadSha,
        _: &Versioned<HeadMemory>,
    ) -> Stored<bool> {
        unreachable!()
    }
    async fn pulls_with_head(&self, _: RepoId, _: &HeadSha) -> Stored<Vec<PullNumber>> {
        unreachable!()
    }
    async fn save_record(
        &self,
        _: &Lease,
        _: &PullRecord,
        _: Vec<Draft>,
        _: Timestamp,
    ) -> Stored<()> {
        unreachable!()
    }
    async fn begin(
        &self,
        _: &Lease,
        _: &str,
        _: Value,
        _: Option<Draft>,
        _: Timestamp,
    ) -> Stored<Begun> {
        unreachable!()
    }
    async fn end(&self, _: &str, _: Ended, _: Option<Draft>, _: Timestamp) -> Stored<()> {
        unreachable!()
    }
    async fn effect(&self, _: &str) -> Stored<Begun> {
        unreachable!()
    }
    async fn effect_intent(&self, _: &str) -> Stored<Option<Value>> {
        unreachable!()
    }
    async fn freeze(&self, _: RepoId, _: &BaseRef) -> Stored<Option<Freeze>> {
        unreachable!()
    }
    async fn set_freeze(
        &self,
        _: RepoId,
        _: &BaseRef,
        _: Option<Freeze>,
        _: Draft,
        _: Timestamp,
    ) -> Stored<()> {
        unreachable!()
    }
}

/// An entry of the ledger; its chain is not what these tests are about.
pub fn entry(seq: u64, number: u64, kind: &str, at: Timestamp, body: Value) -> Entry {
    serde_json::from_value(json!({
        "seq": seq,
        "at": at,
        "kind": kind,
        "repo": repo(),
        "number": number,
        "head": "4f9d21c0".repeat(5),
        "body": body,
        "prev": "0".repeat(64),
        "hash": format!("{seq:07x}").repeat(10).get(..64),
    }))
    .unwrap()
}
