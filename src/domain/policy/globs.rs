//! Path and name patterns, as `.gitignore`-style tools read them: `*` stays within a folder, `**`
//! crosses folders. A pattern that excludes nothing a reader would expect is worse than an error,
//! so a malformed one is refused when the policy is read.
//!
//! Three flavours, since three sorts of names are matched. Branches are matched as they are. Paths
//! follow `.gitignore`: a pattern without a slash matches at any depth, a leading slash ties it to
//! the top, and a pattern that names a folder covers what is in it. Labels compare without case, as
//! GitHub compares them.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A compiled list of patterns. Equal when the patterns are; an empty list matches nothing.
#[derive(Clone)]
pub struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
}

/// Which pattern of a list is malformed (its index), and what is wrong with it.
pub type Malformed = (usize, String);

impl Globs {
    /// Compiles patterns that are matched as they are: for branches.
    ///
    /// # Errors
    /// The index of the first malformed pattern, and what is wrong with it.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Malformed> {
        Self::compile(patterns, false, |pattern| vec![pattern.to_owned()])
    }

    /// Compiles patterns for paths, by the habits of `.gitignore`.
    ///
    /// # Errors
    /// The index of the first malformed pattern, and what is wrong with it.
    pub fn paths<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Malformed> {
        Self::compile(patterns, false, as_in_gitignore)
    }

    /// Compiles patterns for labels, which compare without case.
    ///
    /// # Errors
    /// The index of the first malformed pattern, and what is wrong with it.
    pub fn labels<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Malformed> {
        Self::compile(patterns, true, |pattern| vec![pattern.to_owned()])
    }

    fn compile<S: AsRef<str>>(
        patterns: &[S],
        without_case: bool,
        spell_out: impl Fn(&str) -> Vec<String>,
    ) -> Result<Self, Malformed> {
        let mut builder = GlobSetBuilder::new();
        for (index, pattern) in patterns.iter().enumerate() {
            for spelled in spell_out(pattern.as_ref()) {
                let glob = GlobBuilder::new(&spelled)
                    .literal_separator(true)
                    .case_insensitive(without_case)
                    .build()
                    .map_err(|error| (index, error.kind().to_string()))?;
                builder.add(glob);
            }
        }
        let set = builder.build().map_err(|error| (0, error.to_string()))?;
        Ok(Self {
            patterns: patterns.iter().map(|p| p.as_ref().to_owned()).collect(),
            set,
        })
    }

    /// What is wrong with one pattern, without the cost of compiling it.
    pub(super) fn fault(pattern: &str) -> Option<String> {
        let built = GlobBuilder::new(pattern).literal_separator(true).build();
        built.err().map(|error| error.kind().to_string())
    }

    /// Whether any pattern matches the whole of `text`.
    pub fn matches(&self, text: &str) -> bool {
        self.set.is_match(text)
    }

    /// The patterns as they were written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether there is no pattern at all.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }
}

/// What a path pattern stands for, in patterns that match whole paths from the top.
fn as_in_gitignore(pattern: &str) -> Vec<String> {
    let folder_only = pattern.ends_with('/');
    let trimmed = pattern.trim_end_matches('/');
    let rooted = match trimmed.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if trimmed.contains('/') => trimmed.to_owned(),
        None => format!("**/{trimmed}"),
    };
    let last = rooted.rsplit('/').next().unwrap_or(&rooted);
    let below = format!("{rooted}/**");
    if folder_only {
        vec![below]
    } else if last.contains(['*', '?', '[', '{']) {
        // `src/*` means the files in `src`, not whatever lies in its folders.
        vec![rooted]
    } else {
        vec![rooted, below]
    }
}

impl Default for Globs {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            set: GlobSet::empty(),
        }
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl fmt::Debug for Globs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.patterns).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_star_stays_within_its_folder_and_two_cross_folders() {
        for globs in [Globs::new(&["src/*.rs"]), Globs::paths(&["src/*.rs"])] {
            let one = globs.unwrap();
            assert!(one.matches("src/main.rs"));
            assert!(!one.matches("src/deep/main.rs"));
        }
        let two = Globs::paths(&["src/**"]).unwrap();
        assert!(two.matches("src/deep/main.rs"));
        assert!(!two.matches("lib/src/main.rs"));
    }

    #[test]
    fn a_path_pattern_without_a_slash_matches_at_any_depth() {
        let globs = Globs::paths(&["*.md"]).unwrap();
        assert!(globs.matches("README.md"));
        assert!(globs.matches("docs/deep/page.md"));
        let tied = Globs::paths(&["/*.md"]).unwrap();
        assert!(tied.matches("README.md"));
        assert!(!tied.matches("docs/page.md"));
    }

    #[test]
    fn a_path_pattern_that_names_a_folder_covers_what_is_in_it() {
        let globs = Globs::paths(&["src/generated", "vendor/"]).unwrap();
        assert!(globs.matches("src/generated/deep/a.rs"));
        assert!(globs.matches("third/vendor/b.c"));
        assert!(!globs.matches("src/generated.rs"));
    }

    #[test]
    fn a_branch_pattern_is_matched_as_it_is() {
        let globs = Globs::new(&["release-*", "main"]).unwrap();
        assert!(globs.matches("release-2"));
        assert!(!globs.matches("team/release-2"));
        assert!(!globs.matches("main/old"));
    }

    #[test]
    fn labels_compare_without_case() {
        let globs = Globs::labels(&["agent:*"]).unwrap();
        assert!(globs.matches("Agent:Codex"));
    }

    #[test]
    fn a_malformed_pattern_is_refused_by_its_index() {
        let (index, _) = Globs::new(&["ok", "a["]).unwrap_err();
        assert_eq!(index, 1);
    }
}
