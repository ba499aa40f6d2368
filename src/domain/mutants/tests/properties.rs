use super::*;

/// The hunks between two contents, by their longest common run of lines.
fn hunks(old: &[u8], new: &[u8]) -> Vec<ChangedHunk> {
    let (old, new) = (lines::split(old), lines::split(new));
    let mut table = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            table[i][j] = match old[i] == new[j] {
                true => table[i + 1][j + 1] + 1,
                false => table[i + 1][j].max(table[i][j + 1]),
            };
        }
    }
    let told = |line: &[u8]| {
        let line = String::from_utf8_lossy(line).into_owned();
        line.strip_suffix('\n').map(str::to_owned).unwrap_or(line)
    };
    let mut hunks = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let (from_old, from_new) = (i, j);
        while (i < old.len() || j < new.len())
            && !(i < old.len() && j < new.len() && old[i] == new[j])
        {
            if j < new.len() && (i == old.len() || table[i][j + 1] >= table[i + 1][j]) {
                j += 1;
            } else {
                i += 1;
            }
        }
        if (i, j) == (from_old, from_new) {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        hunks.push(ChangedHunk {
            new_start: (from_new + usize::from(j > from_new)) as u64,
            new_lines: (j - from_new) as u64,
            old_lines: (i - from_old) as u64,
            added: new[from_new..j].iter().map(|line| told(line)).collect(),
            removed: old[from_old..i].iter().map(|line| told(line)).collect(),
        });
    }
    hunks
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        &b"if x < 1 {"[..],
        b"}",
        b"    y = 2;",
        b"if x:",
        b"    z(true)",
        b"// c == 1",
        b"# d",
        b"",
        b"  ",
        b"s = \"a < b\"",
        b"/*",
        b"*/",
        b"`",
        "ü = 'ß'".as_bytes(),
        b"\xff\xfe",
        b"def f():",
        b"func f() {",
        b"x = 1 < 2",
    ]);
    let end = prop::sample::select(vec![&b"\n"[..], b"\n", b"\r\n"]);
    let lines = prop::collection::vec((line, end), 0..14);
    (lines, any::<bool>()).prop_map(|(lines, cut)| {
        let mut text: Vec<u8> = lines
            .into_iter()
            .flat_map(|(line, end)| [line, end].concat())
            .collect();
        while cut && matches!(text.last(), Some(b'\n' | b'\r')) {
            text.pop();
        }
        text
    })
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.cpp", "a.rb", "a",
    ])
}

proptest! {
    #[test]
    fn all_hunks_undone_from_the_bottom_give_the_old_content(old in text(), new in text(), path in path()) {
        let hunks = hunks(&old, &new);
        let mut change = file(path, hunks.clone());
        change.kind = ChangeKind::Modified;
        let mut file = FileText { change, old: Some(old.clone()), new: Some(new) };
        for hunk in hunks.iter().rev() {
            let whole = &rounds(&file, hunk)[0][0];
            prop_assert_eq!(whole.kind, Kind::RevertHunk);
            file.new = whole.files[0].1.clone();
        }
        prop_assert_eq!(file.new, Some(old));
    }

    #[test]
    fn every_mutant_differs_from_the_head_and_from_every_other(
        old in text(), new in text(), path in path(),
    ) {
        let hunks = hunks(&old, &new);
        let file = FileText { change: file(path, hunks.clone()), old: Some(old), new: Some(new) };
        for hunk in &hunks {
            let all = rounds(&file, hunk);
            prop_assert!(all.iter().all(|round| !round.is_empty() && round.len() <= 200));
            let mut seen = std::collections::BTreeSet::new();
            let last = hunk.new_start.max(hunk.new_start + hunk.new_lines).max(1);
            for mutant in all.concat() {
                prop_assert_ne!(&mutant.files[0].1, &file.new);
                prop_assert!(seen.insert(mutant.files.clone()), "{:?} is there twice", mutant.what);
                prop_assert!(mutant.start_line >= hunk.new_start.max(1));
                prop_assert!(mutant.start_line <= mutant.end_line && mutant.end_line <= last);
                breaks_syntax(&file, &mutant);
            }
            only_comments(&file, hunk);
        }
    }

    #[test]
    fn no_hunk_whatever_makes_it_panic(
        old in prop::option::of(text()), new in prop::option::of(text()), path in path(),
        start in 0_u64..20, new_lines in 0_u64..20, old_lines in 0_u64..20,
        removed in prop::collection::vec("[a-z\r ü]{0,6}", 0..5), huge in any::<bool>(),
        kind in prop::sample::select(vec![
            ChangeKind::Added, ChangeKind::Modified, ChangeKind::Removed, ChangeKind::Renamed,
            ChangeKind::Copied, ChangeKind::Other("changed".into()),
        ]),
    ) {
        let hunk = ChangedHunk {
            new_start: if huge { u64::MAX } else { start },
            new_lines: if huge { u64::MAX } else { new_lines },
            old_lines,
            added: Vec::new(),
            removed,
        };
        let mut change = file(path, vec![]);
        (change.kind, change.hunks) = (kind, Some(vec![hunk.clone()]));
        let file = FileText { change, old, new };
        for mutant in rounds(&file, &hunk).concat() {
            prop_assert_ne!(&mutant.files[..], &[(path.to_owned(), file.new.clone())]);
        }
        only_comments(&file, &hunk);
    }
}
