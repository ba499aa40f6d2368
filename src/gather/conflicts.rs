//! When GitHub's word about conflicts has grown old.

use super::Kept;
use crate::domain::facts::PullRequest;

impl Kept {
    /// Whether it is remembered that the pull request conflicts, from before its base moved. Nobody is told
    /// when a conflict ends with the base. An old word that there is none does no harm: before anything is
    /// merged it is read again.
    pub(super) fn remembers_an_old_conflict(&self) -> bool {
        let pull = self.pull_memory.value.pull.as_ref();
        let conflicts = |pull: &&PullRequest| pull.mergeable == Some(false);
        let Some(pull) = pull.filter(conflicts) else {
            return false;
        };
        let base = self.repo_memory.value.bases.get(&pull.base);
        let tip = base.and_then(|base| base.tip.as_ref());
        let judged = self.record.verdict.as_ref();
        let judged = judged.and_then(|verdict| verdict["base_tip"].as_str());
        tip.is_some_and(|tip| judged.is_some_and(|judged| judged != tip.as_str()))
    }
}
