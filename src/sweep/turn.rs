//! Pull requests take turns at being read again.

use std::collections::BTreeMap;

use super::Sweep;
use crate::domain::memory::Confirm;
use crate::domain::model::{InstallationId, Key, PullNumber, RepoId};
use crate::store::Stored;

/// So many pull requests of an installation are read again at one sweep.
pub const IN_TURN: usize = 40;
/// The note in which it stands whose turn it was.
const NOTE: &str = "turns";

/// One open pull request.
type Place = (RepoId, PullNumber);

impl Sweep {
    /// Has those pull requests read again whose turn it is, in the repositories in which the App may act.
    pub(super) async fn in_turn(&self, homes: &BTreeMap<RepoId, InstallationId>) -> Stored<()> {
        let mut open: BTreeMap<InstallationId, Vec<Place>> = BTreeMap::new();
        for row in self.store.open_pulls(None).await? {
            if let Some(home) = homes.get(&row.repo) {
                let place = (row.repo, row.pull.number);
                open.entry(*home).or_default().push(place);
            }
        }
        let note = self.store.note(NOTE).await?;
        let last: BTreeMap<InstallationId, Place> =
            serde_json::from_value(note.value.clone()).unwrap_or_default();
        let mut now = BTreeMap::new();
        let mut keys = Vec::new();
        for (installation, places) in open {
            let chosen = turn(places, last.get(&installation), IN_TURN);
            if let Some(end) = chosen.last() {
                now.insert(installation, *end);
            }
            let chosen = chosen.into_iter();
            keys.extend(chosen.map(|(repo, number)| (Key::Pull(repo, number), Confirm::Always)));
        }
        self.store.wake(&keys, self.clock.now()).await?;
        self.keep(NOTE, note, serde_json::json!(now)).await
    }
}

/// The next `most` behind the last one, round and round. Whether their passes succeed plays no part: a
/// pull request that cannot be read takes its turn like the others, and no longer.
fn turn(mut places: Vec<Place>, last: Option<&Place>, most: usize) -> Vec<Place> {
    places.sort_unstable();
    let from = last.map_or(0, |last| places.partition_point(|place| place <= last));
    places.rotate_left(from);
    places.truncate(most);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(repo: u64, number: u64) -> Place {
        (RepoId::new(repo).unwrap(), PullNumber::new(number).unwrap())
    }

    fn many() -> Vec<Place> {
        (1..=10).map(|n| place(1 + n % 3, n)).collect()
    }

    #[test]
    fn everybody_has_a_turn_before_anybody_has_a_second() {
        let (mut seen, mut last) = (Vec::new(), None);
        for _ in 0..3 {
            let chosen = turn(many(), last.as_ref(), 4);
            last = chosen.last().copied();
            seen.extend(chosen);
        }
        let mut first: Vec<_> = seen[..10].to_vec();
        first.sort_unstable();
        let mut all = many();
        all.sort_unstable();
        assert_eq!(first, all);
        assert_eq!(seen[10..], seen[..2], "then from the beginning");
    }

    #[test]
    fn who_comes_and_goes_costs_nobody_a_turn() {
        let first = turn(many(), None, 4);
        let mut others = many();
        others.retain(|place| !first.contains(place));
        others.push(place(9, 1));
        let second = turn(others.clone(), first.last(), 7);
        others.sort_unstable();
        assert_eq!(second, others);
    }

    #[test]
    fn where_there_are_few_each_has_its_turn_every_time() {
        let first = turn(many(), None, 60);
        assert_eq!(first.len(), 10);
        assert_eq!(turn(many(), first.last(), 60).len(), 10);
    }
}
