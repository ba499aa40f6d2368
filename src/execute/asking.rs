//! Telling verifiers that a verification is wanted.
//!
//! A workflow that was started has no mark of ours by which it could be found again. So where an answer was
//! lost, it counts as started: a second run would cost more than one that is missing, and one that is
//! missing is noticed at its deadline. Comments are looked for by their mark; a label is put on once more.
//!
//! What GitHub refuses for good (no such workflow, no permission) is kept with the asking, so that the gate
//! says it and the next verifier is asked.

use serde_json::{Value, json};

use super::telling::for_good;
use super::{Execute, ExecuteError, Executed};
use crate::domain::facts::Snapshot;
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::PullRecord;
use crate::domain::plan::AskOrder;
use crate::domain::policy::Request;
use crate::gather::Kept;
use crate::github::{Answer, Refused};
use crate::store::{Begun, Lease};

impl Execute {
    pub(super) async fn ask_verifier(
        &self,
        lease: &Lease,
        kept: &Kept,
        snapshot: &Snapshot,
        record: &mut PullRecord,
        order: AskOrder,
    ) -> Result<Executed, ExecuteError> {
        let refused = self.tell(lease, kept, snapshot, &order).await?;
        let again = refused.is_some();
        let now = self.clock.now();
        let mut asked = order.asked.clone();
        asked.at = now;
        asked.refused = refused;
        if let Some(told) = &order.wish {
            for wish in &mut record.requests.wishes {
                wish.told |= wish == told;
            }
        }
        let entry = Draft {
            at: now,
            kind: Kind::Asked,
            repo: kept.repo.id,
            number: Some(kept.number),
            head: Some(asked.head.clone()),
            body: json!({
                "verifier": asked.verifier,
                "vendor": order.vendor,
                "base": asked.base,
                "how": how(&order.request),
                "why": asked.why,
                "by": asked.by,
                "deadline_s": order.deadline.num_seconds(),
                "refused": asked.refused,
            }),
        };
        record.requests.was_asked(asked);
        self.store
            .save_record(lease, record, vec![entry], now)
            .await?;
        // Whoever could not be told is not waited for.
        Ok(if again {
            Executed::LookAgain
        } else {
            Executed::Told
        })
    }

    /// Tells a verifier, once; answers why GitHub refused, where it did so for good.
    async fn tell(
        &self,
        lease: &Lease,
        kept: &Kept,
        snapshot: &Snapshot,
        order: &AskOrder,
    ) -> Result<Option<String>, ExecuteError> {
        let key = order.name(kept.repo.id, kept.number);
        let (repo, number, head) = (&kept.repo, kept.number, &order.asked.head);
        match &order.request {
            Request::Comment(text) => {
                let marker = format!("<!-- countersign:{key} -->");
                let body = format!("{marker}\n\n{text}\n\nHead: `{head}`\n");
                let written = self.say_once(lease, repo, number, &key, &marker, &body);
                let written = written.await?;
                Ok(written
                    .is_none()
                    .then(|| "GitHub did not take the comment".to_owned()))
            }
            Request::Label(label) => {
                let begun = self.begin_asking(lease, &key, order).await?;
                if let Begun::Done(done) = &begun {
                    return Ok(refused_before(done));
                }
                // GitHub tells nobody of a label that is on already, from an earlier head.
                let pull = snapshot.pull.known();
                let is_on = pull.is_some_and(|pull| {
                    pull.labels.iter().any(|on| on.eq_ignore_ascii_case(label))
                });
                let removed = match begun {
                    Begun::First if is_on => self.writes.remove_label(repo, number, label).await,
                    _ => Ok(()),
                };
                let labelled = match removed {
                    Ok(()) => self.writes.add_label(repo, number, label).await,
                    Err(refused) => Err(refused),
                };
                self.settle(&key, labelled.map(|()| json!({ "label": label })))
                    .await
            }
            Request::Workflow(file) => match self.begin_asking(lease, &key, order).await? {
                Begun::First | Begun::Failed(_) => {
                    let started = match &kept.repo.default_branch {
                        Some(branch) => {
                            self.writes
                                .start_workflow(repo, file, branch, head, number)
                                .await
                        }
                        None => Err(Refused::Conflict(
                            "the repository's default branch is not known".into(),
                        )),
                    };
                    let done = started.map(|()| json!({ "workflow": file }));
                    let refused = self.settle(&key, done).await?;
                    Ok(refused.map(|why| format!("{file}: {why}")))
                }
                Begun::Unfinished(..) => {
                    let unknown = json!({ "workflow": file, "outcome": "unknown" });
                    self.settle(&key, Ok(unknown)).await
                }
                Begun::Done(done) => Ok(refused_before(&done)),
            },
        }
    }

    /// Records what came of it; a refusal that may pass is an error, and the pass is made again.
    async fn settle(
        &self,
        key: &str,
        answer: Answer<Value>,
    ) -> Result<Option<String>, ExecuteError> {
        let refused = answer.as_ref().err();
        let refused = refused.filter(|refused| for_good(refused));
        let why = refused.map(ToString::to_string);
        self.ended(key, answer).await?;
        Ok(why)
    }

    async fn begin_asking(
        &self,
        lease: &Lease,
        key: &str,
        order: &AskOrder,
    ) -> Result<Begun, ExecuteError> {
        let intent = json!({ "effect": "ask_verifier", "asked": order.asked });
        let now = self.clock.now();
        Ok(self.store.begin(lease, key, intent, None, now).await?)
    }
}

fn refused_before(done: &Value) -> Option<String> {
    done.get("refused")?.as_str().map(str::to_owned)
}

fn how(request: &Request) -> Value {
    match request {
        Request::Workflow(file) => json!({ "workflow": file }),
        Request::Label(label) => json!({ "label": label }),
        Request::Comment(_) => json!("comment"),
    }
}
