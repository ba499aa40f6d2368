//! A pull request that waits for GitHub's limit says so on its check run.
//!
//! A low budget is left to merges, so a pass over a pull request that promises nothing yet ends before it
//! read anything. Without a word that looks like a gate that hangs. Check runs leave less to merges than
//! reads do, so mostly there is a call left to say until when it waits. Where there is none, nothing is
//! tried: the dashboard says it at no cost.
//!
//! # Properties
//!
//! - **Said once.** The time is told in minutes, and nothing is told again before it has come: what is
//!   left to others must not be spent on telling that it is.
//! - **Nothing is concluded.** The run stays open, and one that is completed stays as it is. What it says
//!   of the gates is what is remembered; no merge can come of it.
//! - **It ends by itself.** The next whole pass publishes its own page in its place.
//!
//! Left out: a wait that is over soon ([`WORTH_TELLING`]), and installations that rest because their calls
//! fail: there a write would fail as well.

use chrono::Duration;

use super::{PassError, Reconcile};
use crate::domain::plan::{self, Effect};
use crate::domain::verdict;
use crate::gather::Kept;
use crate::github::class::{self, Class};
use crate::store::Lease;

/// A wait that is shorter is over before anybody reads of it.
const WORTH_TELLING: Duration = Duration::minutes(2);

impl Reconcile {
    /// Says on the check run that the pull request waits for `after`, if that is worth a call.
    ///
    /// # Errors
    /// The store's, and GitHub's other than that there is nothing left to say it with.
    pub(super) async fn say_it_waits(
        &self,
        lease: &Lease,
        kept: &Kept,
        after: Duration,
    ) -> Result<(), PassError> {
        let until = self.clock.now() + after;
        if self.shadow || after < WORTH_TELLING {
            return Ok(());
        }
        // What this pass read is half of it; what is remembered asks for nothing that GitHub would count.
        let gathered = self.gather.remembered(kept, false).await?;
        let verdict = verdict::decide(&gathered.snapshot);
        // As it was kept: what this pass began with it is begun anew by the next.
        let mut record = kept.record.clone();
        let Some(order) = plan::waits(&verdict, &record, until) else {
            return Ok(());
        };
        let effect = Effect::PublishCheck(order);
        let said = self
            .execute
            .effect(lease, kept, &gathered.snapshot, &mut record, effect);
        match class::within(Class::Check, said)
            .await
            .map_err(PassError::from)
        {
            Err(PassError::Refused(refused)) if refused.wait().is_some() => Ok(()),
            said => said.map(drop),
        }
    }
}
