//! Known bad patches stay patches of this tree: else nobody would notice that the table beside them
//! (`tests/known-bad/README.md`) tells of another program.

use std::path::Path;

/// The text that a patch wants to find, hunk by hunk: a file and its lines.
fn wanted(patch: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut file = "";
    for line in patch.lines() {
        if let Some(name) = line.strip_prefix("--- a/") {
            file = name;
        } else if line.starts_with("@@ ") {
            found.push((file.to_owned(), String::new()));
        } else if let Some((_, text)) = found.last_mut()
            && let Some(kept) = line.strip_prefix(' ').or(line.strip_prefix('-'))
        {
            text.push_str(kept);
            text.push('\n');
        }
    }
    found
}

#[test]
fn every_known_bad_patch_applies_and_stands_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("tests/known-bad");
    let table = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut patches = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "patch")
        {
            continue;
        }
        patches += 1;
        let name = path.file_stem().unwrap().to_string_lossy();
        let row = format!("| {name} |");
        assert!(table.contains(&row), "{name} stands in no row of the table");
        let hunks = wanted(&std::fs::read_to_string(&path).unwrap());
        assert!(!hunks.is_empty(), "{name} changes nothing");
        for (file, lines) in hunks {
            let text = std::fs::read_to_string(root.join(&file)).unwrap();
            let fits = text.matches(&lines).count();
            assert_eq!(fits, 1, "{name} does not apply to {file}: make it anew");
        }
    }
    assert!(patches >= 10, "{patches} patches");
}
