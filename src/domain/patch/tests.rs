use proptest::prelude::*;

use super::*;

fn hunk(new_start: u64, removed: &[&str], added: &[&str]) -> ChangedHunk {
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    ChangedHunk {
        new_start,
        new_lines: added.len() as u64,
        old_lines: removed.len() as u64,
        added: owned(added),
        removed: owned(removed),
    }
}

#[test]
fn context_is_taken_away_and_each_run_stands_alone() {
    let patch = "@@ -1,7 +1,7 @@ fn main()\n a\n-b\n+B\n c\n d\n-e\n+E\n+F\n f\n-g";
    assert_eq!(
        hunks(patch),
        Some(vec![
            hunk(2, &["b"], &["B"]),
            hunk(5, &["e"], &["E", "F"]),
            hunk(7, &["g"], &[]),
        ])
    );
}

#[test]
fn a_new_file_is_one_run_from_line_one() {
    let patch = "@@ -0,0 +1,2 @@\n+a\n+b";
    assert_eq!(hunks(patch), Some(vec![hunk(1, &[], &["a", "b"])]));
    assert_eq!(hunks("@@ -0,0 +1 @@\n+a"), Some(vec![hunk(1, &[], &["a"])]));
}

#[test]
fn an_emptied_file_leaves_a_gap_at_the_top() {
    let patch = "@@ -1,2 +0,0 @@\n-a\n-b";
    assert_eq!(hunks(patch), Some(vec![hunk(0, &["a", "b"], &[])]));
}

#[test]
fn lines_removed_in_the_middle_leave_a_gap_after_the_line_before() {
    let with_context = "@@ -3,4 +3,2 @@\n c\n-d\n-e\n f";
    let without = "@@ -4,2 +3,0 @@\n-d\n-e";
    let expected = Some(vec![hunk(3, &["d", "e"], &[])]);
    assert_eq!(hunks(with_context), expected);
    assert_eq!(hunks(without), expected);
}

#[test]
fn a_missing_line_break_at_the_end_is_no_line() {
    let patch = "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n\
                 \\ No newline at end of file";
    assert_eq!(hunks(patch), Some(vec![hunk(2, &["b"], &["b"])]));
    let both_hunks = "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n@@ -9 +9 @@\n-c\n+d\n";
    assert_eq!(
        hunks(both_hunks),
        Some(vec![hunk(1, &["a"], &["b"]), hunk(9, &["c"], &["d"])])
    );
}

#[test]
fn carriage_returns_belong_to_the_lines() {
    let patch = "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r";
    assert_eq!(hunks(patch), Some(vec![hunk(2, &["b\r"], &["c\r"])]));
}

#[test]
fn an_empty_context_line_may_have_lost_its_space() {
    let patch = "@@ -1,3 +1,3 @@\n a\n\n-b\n+c";
    assert_eq!(hunks(patch), Some(vec![hunk(3, &["b"], &["c"])]));
}

#[test]
fn lines_that_look_like_headers_are_lines() {
    let patch = "@@ -1,2 +1,2 @@\n---- a/x\n-@@ -1 +1 @@\n++++ b/x\n+@@ -2 +2 @@";
    assert_eq!(
        hunks(patch),
        Some(vec![hunk(
            1,
            &["--- a/x", "@@ -1 +1 @@"],
            &["+++ b/x", "@@ -2 +2 @@"]
        )])
    );
}

#[test]
fn a_patch_that_is_not_whole_says_nothing() {
    for patch in [
        "",
        "Binary files differ",
        "@@ -1,2 +1,2 @@\n a\n-b",
        "@@ -1,2 +1,2 @@\n a\n-b\n+B\n+C",
        "@@ -1,2 +1,2 @@\n a\n-b\n+B\nsurplus",
        "@@ -1,2 +1,2 @@\n a\n?b\n+B",
        "@@ -x,2 +1,2 @@\n a\n-b\n+B",
        "@@ -1,2 +1,2\n a\n-b\n+B",
        "@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,2",
        "@@ -1,1 +1,99999999999999999999 @@\n-a\n+b",
    ] {
        assert_eq!(hunks(patch), None, "{patch:?}");
    }
}

#[test]
fn numbers_at_the_edge_of_the_machine_do_not_overflow() {
    let patch = format!("@@ -1,1 +{max},1 @@\n-a\n+b", max = u64::MAX);
    assert!(hunks(&patch).is_some());
    let patch = format!("@@ -1,1 +{max},0 @@\n-a", max = u64::MAX);
    assert!(hunks(&patch).is_some());
}

/// A unified diff with `context` lines around each change, as git would print it.
fn unified(old: &[String], new: &[String], context: usize) -> String {
    let steps = steps(old, new);
    let mut patch = String::new();
    let changed: Vec<usize> = (0..steps.len()).filter(|i| steps[*i].0 != ' ').collect();
    let mut at = 0;
    while at < changed.len() {
        let first = changed[at].saturating_sub(context);
        let mut last = changed[at];
        while at < changed.len() && changed[at] <= last + 2 * context + 1 {
            last = changed[at];
            at += 1;
        }
        let end = (last + context + 1).min(steps.len());
        let count = |steps: &[(char, &String)], without: char| {
            steps.iter().filter(|step| step.0 != without).count()
        };
        let (old_lines, new_lines) = (
            count(&steps[first..end], '+'),
            count(&steps[first..end], '-'),
        );
        let start = |before: usize, lines: usize| before + usize::from(lines > 0);
        patch.push_str(&format!(
            "@@ -{},{old_lines} +{},{new_lines} @@ somewhere\n",
            start(count(&steps[..first], '+'), old_lines),
            start(count(&steps[..first], '-'), new_lines),
        ));
        for (sign, line) in &steps[first..end] {
            patch.push_str(&format!("{sign}{line}\n"));
        }
    }
    patch
}

/// The longest common subsequence, told as kept, removed and added lines.
fn steps<'a>(old: &'a [String], new: &'a [String]) -> Vec<(char, &'a String)> {
    let mut length = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            length[i][j] = if old[i] == new[j] {
                length[i + 1][j + 1] + 1
            } else {
                length[i + 1][j].max(length[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            steps.push((' ', &new[j]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && length[i + 1][j] >= length[i][j + 1]) {
            steps.push(('-', &old[i]));
            i += 1;
        } else {
            steps.push(('+', &new[j]));
            j += 1;
        }
    }
    steps
}

/// Puts the hunks into the old text, checking that what they remove stands where they say.
fn applied(old: &[String], hunks: &[ChangedHunk]) -> Vec<String> {
    let mut new = Vec::new();
    let mut rest = old.iter();
    for hunk in hunks {
        let before = match hunk.new_lines {
            0 => hunk.new_start,
            _ => hunk.new_start - 1,
        };
        while (new.len() as u64) < before {
            new.push(rest.next().expect("a line before the hunk").clone());
        }
        for line in &hunk.removed {
            assert_eq!(rest.next(), Some(line), "what is removed stands there");
        }
        new.extend(hunk.added.iter().cloned());
    }
    new.extend(rest.cloned());
    new
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = prop::sample::select(vec![
        "", "a", "b", "c", "-", "+", " ", "@@", "\\ odd", "d\r", "ü",
    ]);
    prop::collection::vec(line.prop_map(str::to_owned), 0..24)
}

proptest! {
    #[test]
    fn the_hunks_of_any_patch_rebuild_the_new_text(
        old in lines(), new in lines(), context in 0_usize..4,
    ) {
        prop_assume!(old != new);
        let patch = unified(&old, &new, context);
        for patch in [patch.as_str(), patch.trim_end_matches('\n')] {
            let hunks = hunks(patch).expect("a whole patch");
            prop_assert_eq!(&applied(&old, &hunks), &new);
            let counts = |of: fn(&ChangedHunk) -> u64| hunks.iter().map(of).sum::<u64>();
            let steps = steps(&old, &new);
            let sign = |sign| steps.iter().filter(|step| step.0 == sign).count() as u64;
            prop_assert_eq!(counts(|hunk| hunk.new_lines), sign('+'));
            prop_assert_eq!(counts(|hunk| hunk.old_lines), sign('-'));
        }
    }

    #[test]
    fn no_text_whatever_makes_the_reader_panic(text in "[@+\\- \\\\a0-9,\n]{0,80}") {
        let _ = hunks(&text);
    }

    #[test]
    fn a_patch_cut_anywhere_never_tells_of_more_than_the_whole(
        old in lines(), new in lines(), at in 0_usize..400,
    ) {
        prop_assume!(old != new);
        let patch = unified(&old, &new, 3);
        let cut: String = patch.chars().take(at.min(patch.chars().count())).collect();
        let whole = hunks(&patch).expect("a whole patch");
        if let Some(part) = hunks(&cut) {
            prop_assert!(part.len() <= whole.len());
        }
    }
}
