use std::process::Command;

use chrono::DateTime;

use super::*;

fn signature() -> Signature {
    Signature {
        name: "Ada".to_owned(),
        email: "ada@example.org".to_owned(),
        at: DateTime::from_timestamp(1_750_000_000, 0).unwrap(),
    }
}

fn tree(pool: &Pool, files: &[(&str, &str)]) -> String {
    let files = files
        .iter()
        .map(|(path, text)| {
            let entry = Entry {
                mode: "100644".to_owned(),
                id: pool.write_blob(text.as_bytes()),
            };
            ((*path).to_owned(), entry)
        })
        .collect();
    pool.write_tree(&files).unwrap()
}

fn commit(pool: &Pool, tree: &str, parents: &[&str], message: &str) -> String {
    let commit = Commit {
        sha: String::new(),
        tree: tree.to_owned(),
        parents: parents.iter().map(|&parent| parent.to_owned()).collect(),
        author: signature(),
        committer: signature(),
        message: message.to_owned(),
    };
    pool.write_commit(commit).sha.clone()
}

const POEM: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

#[test]
fn git_itself_finds_no_fault_with_what_is_written_here() {
    let pool = Pool::shared().unwrap();
    let long = "x".repeat(200_000);
    let root = tree(
        &pool,
        &[
            ("a.txt", "a\n"),
            ("a/b.txt", "b\n"),
            ("a-b", "c\n"),
            ("long", &long),
            ("empty", ""),
        ],
    );
    let first = commit(&pool, &root, &[], "First");
    let second = commit(&pool, &tree(&pool, &[("z", "z")]), &[&first], "Second");
    let bare = Bare::create(&pool);
    bare.set("refs/heads/main", &second).unwrap();

    let fsck = Command::new("git")
        .arg("-C")
        .arg(bare.path().unwrap())
        .args(["fsck", "--strict", "--no-dangling"])
        .output()
        .unwrap();
    assert!(
        fsck.status.success(),
        "{}",
        String::from_utf8_lossy(&fsck.stderr)
    );

    let log = Command::new("git")
        .arg("-C")
        .arg(bare.path().unwrap())
        .args(["log", "--format=%H %s %ae", "main"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&log.stdout).to_string();
    assert_eq!(
        said,
        format!("{second} Second ada@example.org\n{first} First ada@example.org\n")
    );
    pool.put_on_disk(&[&root]).unwrap();
    assert_eq!(pool.list_tree(&root).unwrap(), *pool.files(&root).unwrap());
}

#[test]
fn changes_to_different_ends_of_a_file_merge_and_changes_to_one_line_conflict() {
    let pool = Pool::shared().unwrap();
    let base = commit(&pool, &tree(&pool, &[("poem", POEM)]), &[], "Base");
    let edit = |from: &str, to: &str| {
        let text = POEM.replace(from, to);
        commit(&pool, &tree(&pool, &[("poem", &text)]), &[&base], to)
    };
    let (top, bottom, other_top) = (edit("one", "ONE"), edit("seven", "SEVEN"), edit("one", "1"));

    let Merged::Clean(merged) = pool.merge(&top, &bottom).unwrap() else {
        panic!("the two ends do not touch");
    };
    let files = pool.files(&merged).unwrap();
    let text = pool.blob(&files["poem"].id).unwrap();
    assert_eq!(
        &*text,
        POEM.replace("one", "ONE")
            .replace("seven", "SEVEN")
            .as_bytes()
    );
    assert_eq!(pool.merge(&top, &other_top).unwrap(), Merged::Conflict);
}

#[test]
fn a_criss_cross_history_has_two_merge_bases_and_git_still_merges_it() {
    let pool = Pool::shared().unwrap();
    let root = commit(&pool, &tree(&pool, &[("x", "0\n")]), &[], "Root");
    let left = commit(
        &pool,
        &tree(&pool, &[("x", "0\n"), ("l", "l\n")]),
        &[&root],
        "Left",
    );
    let right = commit(
        &pool,
        &tree(&pool, &[("x", "0\n"), ("r", "r\n")]),
        &[&root],
        "Right",
    );
    let both = tree(&pool, &[("x", "0\n"), ("l", "l\n"), ("r", "r\n")]);
    let one = commit(&pool, &both, &[&left, &right], "One");
    let two = commit(&pool, &both, &[&right, &left], "Two");
    let mut expected = vec![left, right];
    expected.sort();
    assert_eq!(pool.merge_bases(&one, &two).unwrap(), expected);
    assert_eq!(pool.merge(&one, &two).unwrap(), Merged::Clean(both));
}

#[test]
fn commits_ahead_come_with_parents_before_children() {
    let pool = Pool::shared().unwrap();
    let plain = tree(&pool, &[("x", "0\n")]);
    let root = commit(&pool, &plain, &[], "root");
    let a = commit(&pool, &plain, &[&root], "a");
    let side = commit(&pool, &plain, &[&root], "side");
    let joined = commit(&pool, &plain, &[&a, &side], "joined");
    let messages: Vec<String> = pool
        .ahead(&root, &joined)
        .unwrap()
        .iter()
        .map(|commit| commit.message.clone())
        .collect();
    assert_eq!(messages, ["a", "side", "joined"]);
}

#[test]
fn a_diff_tells_added_removed_modified_renamed_and_binary_files() {
    let pool = Pool::shared().unwrap();
    let from = tree(
        &pool,
        &[
            ("gone", "bye\n"),
            ("kept", POEM),
            ("old name", POEM),
            ("bits", "\0\u{1}"),
        ],
    );
    let to = tree(
        &pool,
        &[
            ("bits", "\0\u{2}"),
            ("kept", &POEM.replace("two", "2")),
            ("new", "diff --git a/x b/x\n"),
            ("new name", &POEM.replace("six", "6")),
        ],
    );
    let diff = pool.diff(&from, &to).unwrap();
    let told: Vec<_> = diff
        .iter()
        .map(|file| {
            let previous = file.previous.as_deref();
            (
                file.path.as_str(),
                previous,
                file.status.word(),
                file.additions,
                file.deletions,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("bits", None, "modified", 0, 0),
            ("gone", None, "removed", 0, 1),
            ("kept", None, "modified", 1, 1),
            ("new", None, "added", 1, 0),
            ("new name", Some("old name"), "renamed", 1, 1),
        ]
    );
    assert_eq!(diff[0].patch, None, "binary");
    assert_eq!(
        diff[3].patch.as_deref(),
        Some("@@ -0,0 +1 @@\n+diff --git a/x b/x")
    );
}

#[test]
fn a_branch_can_go_and_another_take_its_folder_name() {
    let pool = Pool::shared().unwrap();
    let sha = commit(&pool, &tree(&pool, &[("x", "0\n")]), &[], "x");
    let bare = Bare::create(&pool);
    bare.set("refs/heads/agent/one", &sha).unwrap();
    assert!(
        bare.set("refs/heads/agent", &sha).is_err(),
        "git cannot have both"
    );
    bare.remove("refs/heads/agent/one").unwrap();
    bare.set("refs/heads/agent", &sha).unwrap();
}

#[test]
fn merging_by_trees_answers_what_a_merge_of_the_commits_in_a_real_repository_does() {
    let pool = Pool::shared().unwrap();
    let base = commit(
        &pool,
        &tree(&pool, &[("dir/poem", POEM), ("x", "x\n")]),
        &[],
        "Base",
    );
    let sevens = POEM.replace("seven", "SEVEN");
    let sides = [
        vec![("dir/poem", sevens.as_str()), ("x", "x\n")],
        vec![("moved/poem", POEM), ("x", "x\n")],
        vec![("x", "x\n")],
        vec![("dir/poem", POEM), ("dir/new", "new\n"), ("x", "x\n")],
        vec![("dir/poem", POEM), ("x/inside", "x\n")],
        vec![("dir/poem", POEM), ("x", "y\n")],
    ];
    let heads: Vec<String> = sides
        .iter()
        .map(|files| commit(&pool, &tree(&pool, files), &[&base], "Side"))
        .collect();
    let bare = Bare::create(&pool);
    for (index, head) in heads.iter().enumerate() {
        bare.set(&format!("refs/heads/{index}"), head).unwrap();
    }
    let path = bare.path().unwrap();
    for ours in &heads {
        for theirs in &heads {
            let said = Command::new("git")
                .arg("-C")
                .arg(path)
                .args(["merge-tree", "--write-tree", "--no-messages", ours, theirs])
                .output()
                .unwrap();
            let first = String::from_utf8_lossy(&said.stdout);
            let expected = match said.status.code() {
                Some(0) => Merged::Clean(first.lines().next().unwrap().to_owned()),
                _ => Merged::Conflict,
            };
            assert_eq!(
                pool.merge(ours, theirs).unwrap(),
                expected,
                "{ours} {theirs}"
            );
        }
    }
}
