//! From a file's patch, as GitHub prints it, to the runs of lines that really changed.
//!
//! A patch shows three lines of context around every change and joins neighbours into one hunk. What
//! must be tested is the changed lines, so context is dropped and every run of changed lines stands by
//! itself.

use crate::domain::facts::ChangedHunk;

/// The changed runs of a patch; `None` when it is not one.
pub fn hunks(patch: &str) -> Option<Vec<ChangedHunk>> {
    let mut hunks = Vec::new();
    let mut run: Option<ChangedHunk> = None;
    // The next line of the head's version, and how much of the present hunk is still to come.
    let mut line = 0;
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    for text in patch.split('\n') {
        if old_left == 0 && new_left == 0 {
            hunks.extend(run.take());
            if text.starts_with("@@") {
                let (old, new_start, new) = header(text)?;
                (old_left, new_left) = (old, new);
                // A hunk without new lines names the line before the gap.
                line = if new == 0 { new_start + 1 } else { new_start };
            }
            // Anything else between hunks: the end of the text, or "\ No newline at end of file".
            continue;
        }
        match text.as_bytes().first() {
            Some(b'+') => {
                new_left = new_left.checked_sub(1)?;
                let run = run.get_or_insert_with(|| at(line));
                if run.new_lines == 0 {
                    run.new_start = line;
                }
                run.new_lines += 1;
                run.added.push(text[1..].to_owned());
                line += 1;
            }
            Some(b'-') => {
                old_left = old_left.checked_sub(1)?;
                let run = run.get_or_insert_with(|| at(line));
                run.old_lines += 1;
                run.removed.push(text[1..].to_owned());
            }
            Some(b'\\') => {}
            // An empty line is a context line whose blank was trimmed on the way.
            Some(b' ') | None => {
                hunks.extend(run.take());
                old_left = old_left.checked_sub(1)?;
                new_left = new_left.checked_sub(1)?;
                line += 1;
            }
            Some(_) => return None,
        }
    }
    hunks.extend(run);
    (old_left == 0 && new_left == 0).then_some(hunks)
}

/// A run that begins before this line of the head's version; without added lines it stays "after the
/// line before".
fn at(line: u64) -> ChangedHunk {
    ChangedHunk {
        new_start: line.saturating_sub(1),
        new_lines: 0,
        old_lines: 0,
        added: Vec::new(),
        removed: Vec::new(),
    }
}

/// `@@ -OLD[,COUNT] +NEW[,COUNT] @@`: old count, new start, new count.
fn header(text: &str) -> Option<(u64, u64, u64)> {
    let mut words = text.strip_prefix("@@ ")?.split(' ');
    let (_, old) = range(words.next()?.strip_prefix('-')?)?;
    let (new_start, new) = range(words.next()?.strip_prefix('+')?)?;
    (words.next()? == "@@").then_some((old, new_start, new))
}

fn range(text: &str) -> Option<(u64, u64)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn context_is_dropped_and_neighbours_stand_apart() {
        let patch = "@@ -1,5 +1,5 @@ fn main\n-a\n+A\n b\n c\n-d\n+D\n e";
        let hunks = hunks(patch).unwrap();
        assert_eq!(hunks.len(), 2);
        assert_eq!((hunks[0].new_start, hunks[0].new_lines), (1, 1));
        assert_eq!((hunks[1].new_start, hunks[1].new_lines), (4, 1));
        assert_eq!(hunks[1].removed, ["d"]);
    }

    #[test]
    fn a_pure_removal_stands_after_the_line_before() {
        let hunks = hunks("@@ -1,3 +1,2 @@\n a\n-b\n c").unwrap();
        assert_eq!(
            (hunks[0].new_start, hunks[0].new_lines, hunks[0].old_lines),
            (1, 0, 1)
        );
    }

    #[test]
    fn a_removed_file_and_a_missing_final_newline_are_understood() {
        let gone = hunks("@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file").unwrap();
        assert_eq!(
            (gone[0].new_start, gone[0].new_lines, gone[0].old_lines),
            (0, 0, 2)
        );
        let last = hunks("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b").unwrap();
        assert_eq!(last.len(), 1);
        assert_eq!(last[0].added, ["b"]);
    }

    #[test]
    fn a_cut_patch_is_no_patch() {
        assert_eq!(hunks("@@ -1,5 +1,5 @@\n-a\n+A"), None);
        assert_eq!(hunks("@@ -1,1 +1,1 @@\n?what"), None);
    }

    /// A patch with one line of context at most, written by hand from a script of edits.
    fn written(script: &[(u8, String)]) -> (String, Vec<String>) {
        let (mut old, mut new, mut body) = (0, 0, String::new());
        let mut after = Vec::new();
        for (kind, text) in script {
            match kind {
                0 => {
                    (old, new) = (old + 1, new + 1);
                    body.push_str(&format!("\n {text}"));
                    after.push(text.clone());
                }
                1 => {
                    new += 1;
                    body.push_str(&format!("\n+{text}"));
                    after.push(text.clone());
                }
                _ => {
                    old += 1;
                    body.push_str(&format!("\n-{text}"));
                }
            }
        }
        let start = |count| usize::from(count > 0);
        let header = format!("@@ -{},{old} +{},{new} @@", start(old), start(new));
        (header + &body, after)
    }

    proptest! {
        #[test]
        fn the_added_lines_are_found_where_they_stand(
            script in proptest::collection::vec((0_u8..3, "[a-z ]{0,6}"), 1..30),
        ) {
            let (patch, after) = written(&script);
            for hunk in hunks(&patch).unwrap() {
                for (offset, line) in hunk.added.iter().enumerate() {
                    let at = hunk.new_start as usize + offset;
                    prop_assert_eq!(&after[at - 1], line);
                }
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = hunks(&text);
        }
    }
}
