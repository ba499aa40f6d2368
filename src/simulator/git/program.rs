//! Calls of the git program, shut off from everybody's settings.

use std::process::{Command, Output};

use super::{Entry, Failure, FileDiff, Files, Merged, Pool, diff};

impl Pool {
    fn call(&self, arguments: &[&str]) -> Result<Output, Failure> {
        let mut command = Command::new("git");
        command
            .arg("--git-dir")
            .arg(self.git_dir())
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .current_dir(self.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C");
        for inherited in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
        ] {
            command.env_remove(inherited);
        }
        Ok(command.output()?)
    }

    pub(super) fn git(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        let output = self.call(arguments)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(failed(arguments, &output))
        }
    }

    pub(super) fn list_tree(&self, tree: &str) -> Result<Files, Failure> {
        let listed = self.git(&["ls-tree", "-r", "-z", tree])?;
        let listed = String::from_utf8_lossy(&listed);
        listed
            .split_terminator('\0')
            .map(|line| {
                let (about, path) = line.split_once('\t')?;
                let mut words = about.split(' ');
                let (mode, _kind, id) = (words.next()?, words.next()?, words.next()?);
                let entry = Entry {
                    mode: mode.to_owned(),
                    id: id.to_owned(),
                };
                Some((path.to_owned(), entry))
            })
            .collect::<Option<Files>>()
            .ok_or_else(|| Failure::Unreadable(listed.to_string()))
    }

    /// `git merge-tree`: exit code 0 is a clean merge, 1 a conflict, anything else an error.
    pub(super) fn ask_merge(&self, arguments: &[&str]) -> Result<Merged, Failure> {
        let whole = [
            &[
                "merge-tree",
                "--write-tree",
                "--no-messages",
                "--allow-unrelated-histories",
            ],
            arguments,
        ]
        .concat();
        let output = self.call(&whole)?;
        match output.status.code() {
            Some(0) => {
                let said = String::from_utf8_lossy(&output.stdout);
                let tree = said.lines().next().unwrap_or_default();
                Ok(Merged::Clean(tree.to_owned()))
            }
            Some(1) => Ok(Merged::Conflict),
            _ => Err(failed(&whole, &output)),
        }
    }

    pub(super) fn ask_diff(&self, from: &str, to: &str) -> Result<Vec<FileDiff>, Failure> {
        let said = self.git(&[
            "diff-tree",
            "-r",
            "-M",
            "--raw",
            "-p",
            "-z",
            "--full-index",
            from,
            to,
        ])?;
        diff::read(&String::from_utf8_lossy(&said))
    }
}

fn failed(arguments: &[&str], output: &Output) -> Failure {
    Failure::Program {
        arguments: arguments.join(" "),
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    }
}
