//! What the App should ask for: `app-manifest.yml`, the one list.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// The permissions and events of the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Manifest {
    /// Permissions (`checks` -> `write`).
    #[serde(rename = "default_permissions")]
    pub permissions: BTreeMap<String, String>,
    /// Events.
    #[serde(rename = "default_events")]
    pub events: BTreeSet<String>,
}

impl Manifest {
    /// Reads the manifest's text.
    ///
    /// # Errors
    /// What is wrong with it; cannot happen for the one that is compiled in, which a test reads.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }
}

/// Whether a granted level includes a needed one. A word not known here includes itself alone.
pub fn includes(granted: Option<&String>, needed: &str) -> bool {
    let rank = |level: &str| {
        ["read", "write", "admin"]
            .iter()
            .position(|one| *one == level)
    };
    granted.is_some_and(|granted| match (rank(granted), rank(needed)) {
        (Some(granted), Some(needed)) => granted >= needed,
        _ => granted == needed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_includes_the_lower_ones() {
        let has = |granted: &str, needed| includes(Some(&granted.to_owned()), needed);
        assert!(has("write", "read"));
        assert!(has("write", "write"));
        assert!(has("admin", "write"));
        assert!(!has("read", "write"));
        assert!(!has("some-new-word", "read"));
        assert!(!includes(None, "read"));
    }

    #[test]
    fn the_manifest_in_the_repository_is_read() {
        let manifest = Manifest::read(include_str!("../../../app-manifest.yml")).unwrap();
        assert_eq!(manifest.permissions["checks"], "write");
        assert!(manifest.events.contains("merge_group"));
    }
}
