//! Path and name patterns, as `.gitignore`-style tools read them: `*` stays within a folder, `**`
//! crosses folders. A pattern that excludes nothing a reader would expect is worse than an error,
//! so a malformed one is refused when the policy is read.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A compiled list of patterns. Equal when the patterns are; an empty list matches nothing.
#[derive(Clone)]
pub struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
}

impl Globs {
    /// Compiles patterns.
    ///
    /// # Errors
    /// The index of the first malformed pattern, and what is wrong with it.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, (usize, String)> {
        let mut builder = GlobSetBuilder::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let glob = GlobBuilder::new(pattern.as_ref())
                .literal_separator(true)
                .build()
                .map_err(|error| (index, error.kind().to_string()))?;
            builder.add(glob);
        }
        let set = builder.build().map_err(|error| (0, error.to_string()))?;
        Ok(Self {
            patterns: patterns.iter().map(|p| p.as_ref().to_owned()).collect(),
            set,
        })
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
        let one = Globs::new(&["src/*.rs"]).unwrap();
        assert!(one.matches("src/main.rs"));
        assert!(!one.matches("src/deep/main.rs"));
        let two = Globs::new(&["src/**"]).unwrap();
        assert!(two.matches("src/deep/main.rs"));
    }

    #[test]
    fn a_malformed_pattern_is_refused_by_its_index() {
        let (index, _) = Globs::new(&["ok", "a["]).unwrap_err();
        assert_eq!(index, 1);
    }
}
