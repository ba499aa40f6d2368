//! After a merge: is what landed what was judged?
//!
//! The merge call guards the head and nothing else, so the commit is read back. Its parents must be
//! a tip of the base and the cleared head, its tree what the merge of both gives. Anything else
//! freezes the base branch: the next merge would build on something nobody judged.

use super::facts::PullCommit;
use super::model::{HeadSha, Oid};
use super::policy::Method;

/// What was cleared, as far as the landed commit must agree with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The cleared head.
    pub head: HeadSha,
    /// The base's tip when it was cleared.
    pub base_tip: Oid,
    /// The tree that the merge of both gives, where it is known: the head's own tree when the head
    /// contains the base's tip, else the tree of GitHub's trial merge of exactly these two.
    pub tree: Option<Oid>,
    /// How it was merged.
    pub method: Method,
}

/// What the landed commit turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    /// Exactly what was judged.
    AsJudged,
    /// The cleared head, but onto a base that had moved meanwhile, or with a tree nobody could
    /// foretell: consistent as far as can be seen; the sentence says how far.
    Consistent(String),
    /// Not what was judged; the sentence says in what.
    Mismatch(String),
}

/// Compares the landed commit with what was cleared.
pub fn judge(expected: &Expected, landed: &PullCommit) -> Landed {
    match expected.method {
        Method::Merge => merge(expected, landed),
        // The head itself is no parent then: only base and tree can be compared.
        Method::Squash | Method::Rebase => flattened(expected, landed),
    }
}

fn merge(expected: &Expected, landed: &PullCommit) -> Landed {
    let head = expected.head.oid();
    let [base, merged] = landed.parents.as_slice() else {
        return Landed::Mismatch(format!(
            "it has {} parents, and a merge of the base and the head has two",
            landed.parents.len()
        ));
    };
    if *merged != head {
        return Landed::Mismatch(format!(
            "its second parent is {}, and {} was cleared",
            merged.short(),
            expected.head.short()
        ));
    }
    if *base != expected.base_tip {
        return Landed::Consistent(moved(expected, base));
    }
    tree(expected, landed)
}

fn flattened(expected: &Expected, landed: &PullCommit) -> Landed {
    match (expected.method, landed.parents.as_slice()) {
        (Method::Squash, [base]) if *base == expected.base_tip => tree(expected, landed),
        (Method::Squash, [base]) => Landed::Consistent(moved(expected, base)),
        (Method::Squash, parents) => Landed::Mismatch(format!(
            "it has {} parents, and a squashed commit has one",
            parents.len()
        )),
        // The last of several commits: its parent is another of them, its tree is the whole.
        (_, [_]) => tree(expected, landed),
        (_, parents) => Landed::Mismatch(format!(
            "it has {} parents, and a rebased commit has one",
            parents.len()
        )),
    }
}

fn moved(expected: &Expected, base: &Oid) -> String {
    format!(
        "the cleared head, onto a base that had moved from {} to {} meanwhile; its tree could not be \
         foretold",
        expected.base_tip.short(),
        base.short()
    )
}

fn tree(expected: &Expected, landed: &PullCommit) -> Landed {
    match &expected.tree {
        Some(tree) if *tree == landed.tree => Landed::AsJudged,
        Some(tree) => Landed::Mismatch(format!(
            "its tree is {}, and the merge of base and head gives {}",
            landed.tree.short(),
            tree.short()
        )),
        None => Landed::Consistent(
            "the cleared head onto the cleared base; GitHub had no trial merge to compare its tree with"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn expected() -> Expected {
        Expected {
            head: oid('b').into(),
            base_tip: oid('a'),
            tree: Some(oid('c')),
            method: Method::Merge,
        }
    }

    fn landed(parents: &[char], tree: char) -> PullCommit {
        PullCommit {
            sha: oid('d'),
            tree: oid(tree),
            parents: parents.iter().map(|parent| oid(*parent)).collect(),
            author: None,
            committer: None,
        }
    }

    #[test]
    fn a_merge_of_the_cleared_base_and_head_is_as_judged() {
        assert_eq!(
            judge(&expected(), &landed(&['a', 'b'], 'c')),
            Landed::AsJudged
        );
    }

    #[test]
    fn another_head_another_tree_or_a_flattened_merge_is_a_mismatch() {
        for wrong in [
            landed(&['a', 'e'], 'c'),
            landed(&['b', 'a'], 'c'),
            landed(&['a', 'b'], 'e'),
            landed(&['b'], 'c'),
            landed(&[], 'c'),
            landed(&['a', 'b', 'b'], 'c'),
        ] {
            assert!(
                matches!(judge(&expected(), &wrong), Landed::Mismatch(_)),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn a_base_that_moved_meanwhile_is_told_and_is_no_mismatch() {
        let judged = judge(&expected(), &landed(&['e', 'b'], 'e'));
        assert!(matches!(judged, Landed::Consistent(_)), "{judged:?}");
    }

    #[test]
    fn a_squashed_commit_stands_on_the_base_alone_and_has_the_merges_tree() {
        let squash = Expected {
            method: Method::Squash,
            ..expected()
        };
        assert_eq!(judge(&squash, &landed(&['a'], 'c')), Landed::AsJudged);
        assert!(matches!(
            judge(&squash, &landed(&['a'], 'e')),
            Landed::Mismatch(_)
        ));
        assert!(matches!(
            judge(&squash, &landed(&['a', 'b'], 'c')),
            Landed::Mismatch(_)
        ));
    }
}
