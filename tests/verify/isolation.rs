//! What a verification leaves alone: the caller's checkout, the machine, the verifier's secrets.

use std::process::{Command, Stdio};

use countersign::domain::evidence::{MutantStatus, Outcome};

use crate::project::{Project, git};
use crate::{half_tested, tested};

/// A checkout as people have them: something staged, something not, a stash, a branch elsewhere.
fn lived_in() -> Project {
    let project = half_tested();
    project.write("src/sum.sh", "stashed\n");
    project.git(&["stash"]);
    project.git(&["checkout", "-q", "main"]);
    project.write("staged", "1\n");
    project.git(&["add", "staged"]);
    project.write("src/sum.sh", "not staged\n");
    project.write("untracked", "1\n");
    project
}

/// B176: what is verified is the head that was named, whatever lies in the checkout.
#[test]
fn the_callers_checkout_stays_as_it_is_to_the_byte() {
    let project = lived_in();
    let before = project.fingerprint();
    let answer = project.verify(&["--test", "sh check.sh", "--head", "agent", "--jobs", "2"]);
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Killed, MutantStatus::Survived]
    );
    assert!(
        answer.err.contains("changes that are not committed"),
        "{}",
        answer.err
    );
    project.assert_untouched(&before);
}

#[test]
fn a_verification_killed_in_the_middle_leaves_the_checkout_and_can_go_on() {
    let project = lived_in();
    let before = project.fingerprint();
    let lock = project.beside("lock");
    std::fs::write(&lock, "").unwrap();
    // The second mutant's tests wait for the file to go.
    let test = format!(
        "sh check.sh || exit 1; . ./src/sum.sh; [ $(product 1 1) = 1 ] || while [ -e {} ]; do sleep 0.1; done",
        lock.display()
    );
    let words = ["--test", &test, "--head", "agent"];
    let mut child = project.command(&words).spawn().unwrap();
    let journal = project.beside("evidence.json.journal");
    let known = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    while known() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it waits for us");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    project.assert_untouched(&before);
    std::fs::remove_file(&lock).unwrap();
    let answer = project.verify(&["--test", &test, "--head", "agent", "--resume"]);
    assert!(
        answer.err.contains("1 mutants are known from before"),
        "{}",
        answer.err
    );
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Killed, MutantStatus::Survived]
    );
    project.assert_untouched(&before);
}

#[test]
fn a_verification_that_is_told_to_stop_leaves_no_process_and_no_folder_and_says_so() {
    let project = lived_in();
    let before = project.fingerprint();
    let room = project.beside("room");
    std::fs::create_dir(&room).unwrap();
    // The second mutant's tests never end by themselves.
    let mark = format!("86300.{}", std::process::id());
    let test = format!(
        "sh check.sh || exit 1; . ./src/sum.sh; [ $(product 1 1) = 1 ] || {{ setsid sleep {mark} & sleep {mark}; }}"
    );
    let words = ["--test", &test, "--head", "agent"];
    let mut child = project
        .command(&words)
        .env("TMPDIR", &room)
        .spawn()
        .unwrap();
    while !lives(&mark) {
        assert!(child.try_wait().unwrap().is_none(), "it waits for us");
        std::thread::yield_now();
    }
    let stopped = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(stopped.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "the answer is not yes");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("interrupted; `--resume` goes on from here"),
        "{told}"
    );
    assert!(!lives(&mark), "what a command started outlives it");
    assert!(
        !project.out().exists(),
        "there is no document of half a run"
    );
    let left: Vec<_> = std::fs::read_dir(&room).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let worktrees = project.git(&["worktree", "list"]);
    assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
    project.assert_untouched(&before);
}

/// Whether any process was started with this word.
fn lives(word: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let mut words = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    words.any(|line| line.split('\0').any(|one| one == word))
}

#[test]
fn a_process_that_left_its_group_does_not_outlive_its_command() {
    for sandbox in ["off", "auto"] {
        let project = tested();
        // A duration that nobody else sleeps for.
        let mark = format!("86400.{}{}", std::process::id(), sandbox.len());
        let test = format!("setsid sleep {mark} & sh -c 'setsid sleep {mark} &'; sh check.sh");
        let answer = project.verify(&["--test", &test, "--sandbox", sandbox]);
        assert_eq!(
            answer.said().result,
            Outcome::Approved,
            "{}{}",
            answer.out,
            answer.err
        );
        assert!(!lives(&mark), "with sandbox {sandbox}");
    }
}

#[test]
fn a_command_out_of_time_dies_with_all_it_started() {
    let project = tested();
    let mark = format!("86401.{}", std::process::id());
    let test = format!("setsid sleep {mark} & sleep {mark}");
    let answer = project.verify(&["--test", &test, "--timeout", "1s"]);
    assert_eq!(answer.said().result, Outcome::Inconclusive);
    assert!(!lives(&mark));
}

#[test]
fn no_secret_of_the_verifiers_is_handed_on() {
    let project = tested();
    let seen = project.beside("seen");
    let test = format!("env > {}; sh check.sh", seen.display());
    let mut command = project.command(&["--test", &test]);
    let secrets = [
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_URL",
        "ACTIONS_RUNTIME_TOKEN",
        "COUNTERSIGN_PRIVATE_KEY",
        "COUNTERSIGN_API_TOKEN",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GIT_ASKPASS",
        "GITHUB_ENV",
        "SSH_AUTH_SOCK",
        "INPUT_TOKEN",
    ];
    let output = command
        .envs(secrets.map(|name| (name, "a-secret")))
        .env("DATABASE_URL", "postgres://localhost")
        .output()
        .unwrap();
    assert!(output.status.success());
    let seen = std::fs::read_to_string(&seen).unwrap();
    assert!(!seen.contains("a-secret"), "{seen}");
    assert!(
        seen.contains("DATABASE_URL=postgres://localhost"),
        "tests need their settings"
    );
}

#[test]
fn a_variable_that_looks_like_a_secret_is_handed_on_only_when_it_is_named() {
    let project = tested();
    let seen = project.beside("seen");
    let test = format!("env > {}; sh check.sh", seen.display());
    let run = |words: &[&str]| {
        let words = [&["--test", test.as_str()], words].concat();
        let mut command = project.command(&words);
        let output = command
            .env("OPENAI_API_KEY", "a-secret")
            .env("DATABASE_URL", "postgres://me:b-secret@localhost/db")
            .env("GITHUB_TOKEN", "c-secret")
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), told)
    };
    let (code, told) = run(&[]);
    assert_eq!(code, Some(0), "{told}");
    let names = "kept from the commands: DATABASE_URL, OPENAI_API_KEY";
    assert!(
        told.contains("DATABASE_URL") && told.contains("OPENAI_API_KEY"),
        "{names}: {told}"
    );
    assert!(!told.contains("-secret"), "{told}");
    assert!(!std::fs::read_to_string(&seen).unwrap().contains("-secret"));
    let (code, told) = run(&["--env", "DATABASE_URL"]);
    assert_eq!(code, Some(0), "{told}");
    let handed = std::fs::read_to_string(&seen).unwrap();
    assert!(
        handed.contains("b-secret") && !handed.contains("a-secret"),
        "{handed}"
    );
    let (code, told) = run(&["--env", "GITHUB_TOKEN"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("never handed on"), "{told}");
}

#[test]
fn within_walls_the_usual_files_with_keys_in_a_home_are_empty() {
    if !walled() {
        return;
    }
    let project = tested();
    // Not under `/tmp`, all of which is hidden anyway.
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = home.path();
    let files = [".npmrc", ".pypirc", ".m2/settings.xml", ".aws/credentials"];
    for file in files {
        let place = home.join(file);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, "a-secret").unwrap();
    }
    let test = "for f in .npmrc .pypirc .m2/settings.xml .aws/credentials; do \
                ! grep -q a-secret \"$HOME/$f\" 2>/dev/null || exit 1; done; sh check.sh";
    let mut command = project.command(&["--test", test, "--sandbox", "require"]);
    let output = command.env("HOME", home).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
}

/// Whether bubblewrap works here; where everything is to be tested it must.
pub fn walled() -> bool {
    let words = [
        "--ro-bind",
        "/",
        "/",
        "--unshare-pid",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "true",
    ];
    let works = Command::new("bwrap")
        .args(words)
        .stderr(Stdio::null())
        .status();
    let works = works.is_ok_and(|status| status.success());
    let all = std::env::var_os("COUNTERSIGN_TEST_ALL").is_some();
    assert!(
        works || !all,
        "install bubblewrap and allow user namespaces"
    );
    works
}

#[test]
fn within_walls_a_test_writes_its_folder_and_nothing_else() {
    if !walled() {
        return;
    }
    let project = tested();
    let (outside, token) = (
        project.beside("outside"),
        project.repo().join(".git/config"),
    );
    let test = format!(
        "touch built && touch /tmp/mine; echo x 2>/dev/null > {}; cat {} 2>/dev/null; sh check.sh",
        outside.display(),
        token.display()
    );
    let build = "[ ! -e /tmp/from-outside ]";
    let words = ["--test", &test, "--build", build, "--sandbox", "require"];
    let answer = project.verify(&words);
    assert_eq!(
        answer.said().result,
        Outcome::Approved,
        "{}{}",
        answer.out,
        answer.err
    );
    assert!(
        answer.err.contains("commands run in bubblewrap"),
        "{}",
        answer.err
    );
    assert!(!outside.exists());
}

#[test]
fn a_sandbox_that_is_required_and_not_there_runs_nothing() {
    let project = tested();
    let ran = project.beside("ran");
    let test = format!("touch {}", ran.display());
    // A path on which there is git and nothing else.
    let bin = project.beside("bin");
    std::fs::create_dir(&bin).unwrap();
    let git = Command::new("sh")
        .args(["-c", "command -v git"])
        .output()
        .unwrap()
        .stdout;
    let git = String::from_utf8(git).unwrap();
    std::os::unix::fs::symlink(git.trim(), bin.join("git")).unwrap();
    let mut command = project.command(&["--test", &test, "--sandbox", "require"]);
    let output = command.env("PATH", &bin).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("install bubblewrap"), "{told}");
    assert!(!ran.exists());
}

#[test]
fn settings_that_a_test_leaves_in_the_git_it_finds_are_never_run() {
    let project = tested();
    project.commit(&[(".gitattributes", "*.sh filter=evil\n")]);
    let done = project.beside("done");
    let evil = format!("touch {}; cat", done.display());
    let test = format!(
        "git config filter.evil.clean '{evil}' && git config core.fsmonitor '{evil}' && sh check.sh"
    );
    let answer = project.verify(&["--test", &test]);
    assert_eq!(
        answer.said().result,
        Outcome::Approved,
        "{}{}",
        answer.out,
        answer.err
    );
    assert!(!done.exists());
}

#[test]
fn no_hook_of_the_callers_is_run() {
    use std::os::unix::fs::PermissionsExt;
    let project = tested();
    let done = project.beside("done");
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
    ] {
        let place = format!(".git/hooks/{hook}");
        project.write(&place, format!("#!/bin/sh\ntouch {}\n", done.display()));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(project.repo().join(place), mode).unwrap();
    }
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.said().result, Outcome::Approved);
    assert!(!done.exists());
}

#[test]
fn a_file_that_is_brought_back_is_never_written_through_a_link() {
    let project = Project::new(&[("src/lib/a.sh", "a=0\n"), ("check.sh", "true\n")]);
    let outside = project.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    project.remove("src/lib/a.sh");
    std::fs::remove_dir(project.repo().join("src/lib")).unwrap();
    std::os::unix::fs::symlink(&outside, project.repo().join("src/lib")).unwrap();
    project.commit(&[]);
    // What the tests meet there while a mutant is in place.
    let met = project.beside("met");
    let test = format!("ls {} >> {}; sh check.sh", outside.display(), met.display());
    let answer = project.verify(&["--test", &test]);
    assert_ne!(answer.said().result, Outcome::Approved);
    assert_eq!(std::fs::read_to_string(met).unwrap(), "");
}

#[test]
fn a_shallow_checkout_without_the_merge_base_is_refused_with_the_command_that_mends_it() {
    let project = tested();
    project.git(&["checkout", "-q", "main"]);
    project.commit(&[("other", "1\n")]);
    let shallow = project.beside("shallow");
    let address = format!("file://{}", project.repo().display());
    let words = [
        "clone",
        "-q",
        "--depth",
        "1",
        "--no-single-branch",
        &address,
    ];
    git(
        project.repo().parent().unwrap(),
        &[&words[..], &[shallow.to_str().unwrap()]].concat(),
    );
    let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args([
            "verify",
            "--base",
            "origin/main",
            "--head",
            "origin/agent",
            "--test",
            "true",
        ])
        .args(["--repo", "acme/shop"])
        .current_dir(&shallow)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("git fetch --unshallow origin"), "{told}");
}

/// A clone without the contents of what is not checked out.
#[test]
fn a_partial_clone_that_lacks_the_old_content_is_refused_with_the_command_that_mends_it() {
    let project = tested();
    project.git(&["config", "uploadpack.allowFilter", "true"]);
    project.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let partial = project.beside("partial");
    let address = format!("file://{}", project.repo().display());
    let words = [
        "clone",
        "-q",
        "--filter=blob:none",
        "--branch",
        "agent",
        &address,
    ];
    let beside = project.repo().parent().unwrap().to_owned();
    git(
        &beside,
        &[&words[..], &[partial.to_str().unwrap()]].concat(),
    );
    let verify = || {
        let words = [
            "verify",
            "--base",
            "origin/main",
            "--test",
            "sh check.sh",
            "--by-exit-code",
        ];
        let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .args(words)
            .args([
                "--repo",
                "acme/shop",
                "--critical",
                "src/**",
                "--sandbox",
                "off",
            ])
            .current_dir(&partial)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), told)
    };
    let (code, told) = verify();
    assert_eq!(code, Some(2), "{told}");
    let mend = "git fetch --refetch --no-filter origin";
    assert!(told.contains(mend), "{told}");
    let words: Vec<_> = mend.split(' ').skip(1).collect();
    git(&partial, &words);
    let (code, told) = verify();
    assert_eq!(code, Some(0), "{told}");
}
