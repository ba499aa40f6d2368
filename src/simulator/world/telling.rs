//! Appends deliveries: who hears of what.

use serde_json::{Map, Value, json};

use super::{AccountId, Delivery, Number, RepoId, World};
use crate::simulator::payload;

impl World {
    /// Takes every delivery that waits, oldest first.
    pub fn take_deliveries(&mut self) -> Vec<Delivery> {
        self.outbox.drain(..).collect()
    }

    /// Whether our App hears of this event in this repository: installed, not suspended, subscribed.
    pub fn hears(&self, repo: RepoId, event: &str) -> bool {
        self.installation_for(self.our_app, repo)
            .is_some_and(|there| there.suspended.is_none() && there.events.contains(event))
    }

    /// Queues an event about a repository, if our App hears of it. `fields` are the event's own; what
    /// every delivery carries is added here.
    pub(super) fn tell(
        &mut self,
        repo: RepoId,
        event: &str,
        action: Option<&str>,
        by: AccountId,
        fields: impl FnOnce(&World) -> Value,
    ) {
        if !self.hears(repo, event) {
            return;
        }
        let Some(about) = self.repos.get(&repo) else {
            return;
        };
        let mut body = as_map(fields(self));
        if let Some(action) = action {
            body.insert("action".to_owned(), json!(action));
        }
        // A push prints its repository in a form of its own (times as numbers).
        body.entry("repository")
            .or_insert_with(|| payload::repository(self, about));
        if let Some(organization) = payload::organization(self, about.owner) {
            body.insert("organization".to_owned(), organization);
        }
        body.insert("sender".to_owned(), payload::account(self, Some(by)));
        let installation = self
            .installation_for(self.our_app, repo)
            .map(|there| there.id);
        if let Some(id) = installation {
            body.insert("installation".to_owned(), payload::installation_lite(id));
        }
        self.queue(event, action, installation, Some(repo), Value::Object(body));
    }

    /// Queues a delivery as it is.
    pub(super) fn queue(
        &mut self,
        event: &str,
        action: Option<&str>,
        installation: Option<u64>,
        repo: Option<RepoId>,
        payload: Value,
    ) {
        let id = self.next_id("delivery");
        let delivery = Delivery {
            id,
            guid: self.guid(id),
            event: event.to_owned(),
            action: action.map(str::to_owned),
            installation,
            repo,
            payload,
            at: self.now(),
        };
        self.outbox.push_back(delivery);
    }

    /// A GUID that depends on the seed and the delivery's id alone.
    fn guid(&self, id: u64) -> String {
        let seed = self.seed().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bytes = seed.to_be_bytes();
        let [a, b, c, d, e, f, ..] = bytes;
        format!(
            "{a:02x}{b:02x}{c:02x}{d:02x}-{e:02x}{f:02x}-11f0-8{:03x}-{:012x}",
            seed & 0xfff,
            id & 0xffff_ffff_ffff
        )
    }

    /// A `pull_request` delivery; `more` are fields beside `number` and `pull_request`.
    pub(super) fn tell_pull(
        &mut self,
        repo: RepoId,
        number: Number,
        action: &str,
        by: AccountId,
        more: Value,
    ) {
        self.tell(repo, "pull_request", Some(action), by, |world| {
            let mut body = as_map(more);
            body.insert("number".to_owned(), json!(number));
            if let (Ok(about), Ok(pull)) = (world.repo(repo), world.pull(repo, number)) {
                body.insert("pull_request".to_owned(), payload::pull(world, about, pull));
            }
            Value::Object(body)
        });
    }
}

fn as_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
