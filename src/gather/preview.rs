//! What a pull request that changes the policy would do to the others, from what is remembered.
//!
//! The pull request itself is judged by the policy that stands; this is only told. Every other open
//! pull request into the same base is judged twice over one snapshot, made of memory alone: whatever
//! nobody told yet is missing on both sides. What is read besides: the file at the head, and the teams
//! that the new text names.
//!
//! Found out again when the head, the base or its policy changes, and otherwise after a while: the others
//! move too, and nobody wakes this one for it.

use std::collections::btree_map::Entry;

use chrono::Duration;
use serde_json::json;

use super::recall::{fill_from_head, fill_from_memory};
use super::wants::wants;
use super::{Gather, Gathered, Kept, Trouble, known_or_not_asked};
use crate::domain::facts::{
    Comparison, Fetched, Freshness, PolicyFact, PolicyOrigin, Refusal, Snapshot,
};
use crate::domain::memory::Previewed;
use crate::domain::model::{HeadSha, Repository, Timestamp};
use crate::domain::policy;
use crate::domain::preview::{self, Effects, Preview, Then};
use crate::domain::verdict::{self, Outcome, Verdict};
use crate::store::{PullRow, Stored};

/// So long what was found counts.
const LASTS: Duration = Duration::minutes(10);
/// So long it counts that the file could not be read.
const UNREADABLE_LASTS: Duration = Duration::minutes(1);
/// How many other pull requests are looked at, the oldest first.
const MOST: usize = 100;
/// How many teams are read that only the new text names.
const MOST_TEAMS: usize = 10;

impl Gather {
    /// What this pull request's change of the policy would do; `None` where it changes none, where
    /// nothing is said about it at all, or where what it changes is not known.
    ///
    /// # Errors
    /// The store's. GitHub's refusals are told in what is found.
    pub async fn preview(
        &self,
        kept: &Kept,
        gathered: &Gathered,
        verdict: &Verdict,
    ) -> Stored<Option<Previewed>> {
        let snapshot = &gathered.snapshot;
        let (Some(head), Some(base), Some(instead_of)) =
            (&verdict.head, &verdict.base, &verdict.policy)
        else {
            return Ok(None);
        };
        if matches!(verdict.outcome, Outcome::Merged | Outcome::Ignored) {
            return Ok(None);
        }
        let touches = |made: &Comparison| made.head == *head && preview::touches_policy(made);
        if !snapshot.comparison.known().is_some_and(touches) {
            return Ok(None);
        }
        let known = kept.record.previewed.clone().filter(|known| {
            let same = known.head == *head && known.base == *base;
            same && known.instead_of == *instead_of && lasts(known, snapshot.now)
        });
        if known.is_some() {
            return Ok(known);
        }
        let found = self.would_do(kept, snapshot, head).await?;
        Ok(Some(Previewed {
            head: head.clone(),
            base: base.clone(),
            instead_of: instead_of.clone(),
            at: snapshot.now,
            found: json!(found),
        }))
    }

    async fn would_do(&self, kept: &Kept, snapshot: &Snapshot, head: &HeadSha) -> Stored<Preview> {
        let read = self
            .reads
            .file_at(&kept.repo, policy::PATH, &head.oid())
            .await;
        let (new, then) = match read {
            Err(refused) => return Ok(Preview::Unreadable(refused.to_string())),
            Ok(Some(file)) => {
                let new = self.meaning_of(&file.blob, &file.text, PolicyOrigin::Repository);
                (new, Then::NewPolicy)
            }
            Ok(None) => self.without_own(&kept.repo).await?,
        };
        if let (PolicyFact::Invalid { problems, .. }, Then::NewPolicy) = (&new, &then) {
            return Ok(Preview::Invalid(problems.clone()));
        }
        let mut beside = snapshot.clone();
        self.read_teams(&kept.repo, &new, &mut beside).await;
        let base = snapshot.base.known().map(|base| base.name.clone());
        let mut effects = Effects::none(base.clone(), then);
        let default = kept.repo.default_branch.as_ref();
        effects.default_too = PolicyOrigin::holds_defaults(&kept.repo.name)
            && default.is_none_or(|default| Some(default) == base.as_ref());
        let rows = self.store.open_pulls(Some(kept.repo.id)).await?;
        let others = rows
            .iter()
            .filter(|row| row.pull.number != kept.number && Some(&row.pull.base) == base.as_ref());
        for (index, row) in others.enumerate() {
            if index >= MOST {
                effects.left_out += 1;
                continue;
            }
            let mut other = self.remembered_beside(&kept.repo, row, &beside).await?;
            let before = verdict::decide(&other);
            other.policy = new.clone();
            effects.compare(&before, &verdict::decide(&other));
        }
        Ok(Preview::Effects(effects))
    }

    /// What applies once a repository has no policy of its own.
    async fn without_own(&self, repo: &Repository) -> Stored<(PolicyFact, Then)> {
        let default = self
            .default_of(repo, &mut Trouble::default(), false)
            .await?;
        let then = match (&default, default.origin()) {
            (PolicyFact::Absent, _) => Then::Nothing,
            (_, Some(origin)) => Then::Default(origin.of_organisation().unwrap_or_default()),
            (_, None) => Then::Default("the organisation's default".into()),
        };
        Ok((default, then))
    }

    async fn read_teams(&self, repo: &Repository, policy: &PolicyFact, into: &mut Snapshot) {
        let teams = wants(policy).teams;
        for (org, slug) in teams.into_iter().take(MOST_TEAMS) {
            let name = format!("{org}/{slug}");
            if let Entry::Vacant(place) = into.teams.entry(name) {
                let members = self.reads.team_members(repo, &org, &slug).await;
                place.insert(Trouble::default().fact(members));
            }
        }
    }

    /// Another pull request as it is remembered, into the same base.
    async fn remembered_beside(
        &self,
        repo: &Repository,
        row: &PullRow,
        beside: &Snapshot,
    ) -> Stored<Snapshot> {
        // Lists leave out whether one merges, and so does the memory of it just after a sweep. That is
        // the same under any policy, and must not hide what is not.
        let mut pull = row.pull.clone();
        pull.mergeable = pull.mergeable.or(Some(true));
        let memory = self.store.pull(repo.id, pull.number).await?.value;
        let head = self.store.head(repo.id, &pull.head).await?.value;
        let record = &row.record;
        let same_head = |refused: &&Refusal| refused.head == pull.head;
        let mut other = Snapshot {
            base: beside.base.clone(),
            rules: beside.rules.clone(),
            policy: beside.policy.clone(),
            teams: beside.teams.clone(),
            freeze: beside.freeze.clone(),
            refusal: record.refusal.as_ref().filter(same_head).cloned(),
            ..self.blank(
                repo,
                pull.number,
                Fetched::Known(pull.clone()),
                Freshness::Remembered,
            )
        };
        fill_from_head(&mut other, &head);
        fill_from_memory(&mut other, &memory);
        other.comparison = known_or_not_asked(&memory.comparison);
        if let Some((seen, at)) = &record.head_seen
            && *seen == pull.head
        {
            other.head_seen_at = Some(*at);
        }
        Ok(other)
    }
}

fn lasts(known: &Previewed, now: Timestamp) -> bool {
    let unreadable = known.found.get("unreadable").is_some();
    let most = if unreadable { UNREADABLE_LASTS } else { LASTS };
    now - known.at < most
}
