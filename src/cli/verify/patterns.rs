//! Patterns that were typed: a slip in one must not make a change look as if nothing in it were critical.
//!
//! A pattern is matched with paths from the top of the repository, letter by letter. One that matches no
//! file, neither of the base nor of the head, is a slip (`SRC/**`, `srcc/**`). A policy's patterns are not
//! asked: it may speak of files that are still to come, and `policy lint` holds it against the repository.

use std::path::Path;

use super::{Complaint, Exit};
use crate::domain::policy::globs::Globs;
use crate::verify::Git;

/// Patterns as they are matched: without a leading `./`, and none that leaves the repository.
pub(super) fn from_the_top(flag: &str, patterns: &[String]) -> Result<Vec<String>, Complaint> {
    let clean = |pattern: &String| {
        let mut rest = pattern.trim();
        while let Some(after) = rest.strip_prefix("./") {
            rest = after.trim_start_matches('/');
        }
        let outside = rest.split('/').any(|part| part == "..");
        if outside || rest.is_empty() || rest == "." {
            let text = format!(
                "{flag} {pattern:?} names no file of the repository: write it from the repository's top, such as `src/**`"
            );
            return Err(Complaint::new(Exit::Usage, text));
        }
        Ok(rest.to_owned())
    };
    patterns.iter().map(clean).collect()
}

/// Refuses a pattern that matches no file of these commits. Where none of them is known here, there is
/// nothing to say: the verification says that itself.
pub(super) async fn each_matches(
    checkout: &Path,
    commits: &[&str],
    critical: &[String],
) -> Result<(), Complaint> {
    let git = Git::reading(checkout);
    let mut listed: Vec<String> = Vec::new();
    for commit in commits {
        for name in [
            format!("refs/remotes/origin/{commit}"),
            (*commit).to_owned(),
        ] {
            let words = ["ls-tree", "-r", "-z", "--full-tree", "--name-only"];
            let words = [&words[..], &["--end-of-options", &name]].concat();
            if let Ok(files) = git.bytes(&words).await {
                let files = files.split(|byte| *byte == 0);
                listed.extend(files.map(|file| String::from_utf8_lossy(file).into_owned()));
            }
        }
    }
    match idle(&listed, critical)? {
        Some(pattern) if !listed.is_empty() => {
            let text = format!(
                "--critical {pattern:?} matches no file of the base or the head, so nothing would be tested for it: write it from the repository's top, letter by letter, or leave it out"
            );
            Err(Complaint::new(Exit::Usage, text))
        }
        _ => Ok(()),
    }
}

/// The first pattern that matches none of the files.
fn idle<'a>(files: &[String], patterns: &'a [String]) -> Result<Option<&'a String>, Complaint> {
    for pattern in patterns {
        let globs = Globs::paths(&from_the_top("--critical", std::slice::from_ref(pattern))?);
        let globs = globs.map_err(|(_, why)| Complaint::new(Exit::Usage, why))?;
        if !files.iter().any(|file| globs.matches(file)) {
            return Ok(Some(pattern));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn a_pattern_is_read_from_the_top_and_never_leaves_it() {
        let read = |pattern: &str| from_the_top("--critical", &texts(&[pattern]));
        assert_eq!(read("./src/**").unwrap(), ["src/**"]);
        assert_eq!(read(".//./src/a.rs").unwrap(), ["src/a.rs"]);
        assert_eq!(read("/src/**").unwrap(), ["/src/**"]);
        assert_eq!(read("..a/**").unwrap(), ["..a/**"]);
        for wrong in ["../x/src/**", "src/../../x", "", " ", ".", "./"] {
            let complaint = read(wrong).unwrap_err();
            assert_eq!(complaint.exit, Exit::Usage, "{wrong}");
            assert!(complaint.text.contains(wrong), "{}", complaint.text);
        }
    }

    #[test]
    fn a_pattern_that_matches_no_file_is_found() {
        let files = texts(&["src/pay.py", "README.md"]);
        for right in ["src/**", "./src/**", "*.py", "/src/", "pay.py"] {
            assert_eq!(idle(&files, &texts(&[right])).unwrap(), None, "{right}");
        }
        for wrong in [
            "SRC/**",
            "srcc/**",
            "/home/me/src/**",
            "pay.rs",
            "lib/src/**",
        ] {
            let patterns = texts(&["src/**", wrong]);
            assert_eq!(idle(&files, &patterns).unwrap(), Some(&patterns[1]));
        }
    }
}
