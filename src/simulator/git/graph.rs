//! Ancestry, computed on the commits in memory.

use std::collections::{BTreeSet, HashSet};

use super::{Commit, Failure, Pool};
use std::sync::Arc;

impl Pool {
    /// A commit and everything it rests on.
    ///
    /// # Errors
    /// [`Failure::Unknown`].
    pub fn ancestry(&self, sha: &str) -> Result<HashSet<String>, Failure> {
        let mut seen = HashSet::from([sha.to_owned()]);
        let mut open = vec![sha.to_owned()];
        while let Some(next) = open.pop() {
            for parent in &self.commit(&next)?.parents {
                if seen.insert(parent.clone()) {
                    open.push(parent.clone());
                }
            }
        }
        Ok(seen)
    }

    /// Whether `descendant` contains `ancestor` (a commit contains itself).
    ///
    /// # Errors
    /// [`Failure::Unknown`].
    pub fn contains(&self, descendant: &str, ancestor: &str) -> Result<bool, Failure> {
        Ok(self.ancestry(descendant)?.contains(ancestor))
    }

    /// The best common ancestors, in the order of their ids.
    ///
    /// # Errors
    /// [`Failure::Unknown`].
    pub fn merge_bases(&self, left: &str, right: &str) -> Result<Vec<String>, Failure> {
        let (left, right) = (self.ancestry(left)?, self.ancestry(right)?);
        let common: BTreeSet<&String> = left.intersection(&right).collect();
        let mut lesser = HashSet::new();
        for sha in &common {
            for parent in &self.commit(sha)?.parents {
                // Everything common that is below a common commit is not the best.
                if !lesser.contains(parent) {
                    lesser.extend(self.ancestry(parent)?);
                }
            }
        }
        Ok(common
            .into_iter()
            .filter(|sha| !lesser.contains(*sha))
            .cloned()
            .collect())
    }

    /// The commits that `head` has and `base` has not, oldest first (parents before children).
    ///
    /// # Errors
    /// [`Failure::Unknown`].
    pub fn ahead(&self, base: &str, head: &str) -> Result<Vec<Arc<Commit>>, Failure> {
        let known = self.ancestry(base)?;
        let mut done = HashSet::new();
        let mut order = Vec::new();
        let mut stack = vec![(head.to_owned(), false)];
        while let Some((sha, parents_done)) = stack.pop() {
            if known.contains(&sha) || done.contains(&sha) {
                continue;
            }
            let commit = self.commit(&sha)?;
            if parents_done {
                done.insert(sha);
                order.push(commit);
                continue;
            }
            stack.push((sha, true));
            // The last pushed is looked at first: the first parent's line comes first.
            for parent in commit.parents.iter().rev() {
                stack.push((parent.clone(), false));
            }
        }
        Ok(order)
    }
}
