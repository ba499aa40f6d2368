//! Running git: never asking, never by a hook, never writing where the caller works.
//!
//! Two ways. [`Git::reading`] reads the caller's checkout and takes no lock there, so not even the index
//! is refreshed, and it fetches nothing that a partial clone lacks. [`Git::own`] works in a git directory
//! of ours. `plain` leaves the person's own settings out, for what must come out the same everywhere
//! (diffs, trees); without it they hold, since a checkout may need their filters.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A way to call git.
#[derive(Debug, Clone)]
pub struct Git {
    before: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Reads a checkout of somebody's.
    pub fn reading(checkout: &Path) -> Self {
        let mut git = Self::bare();
        git.before.extend(["-C".into(), checkout.into()]);
        git.environment.extend([
            ("GIT_OPTIONAL_LOCKS", "0".into()),
            ("GIT_NO_LAZY_FETCH", "1".into()),
            // What stands for what in this checkout alone is not so where the merge is made.
            ("GIT_NO_REPLACE_OBJECTS", "1".into()),
            ("GIT_GRAFT_FILE", "/dev/null".into()),
        ]);
        git
    }

    /// Works in a git directory of ours.
    pub fn own(git_dir: &Path) -> Self {
        let mut git = Self::bare();
        git.before.push(joined("--git-dir=", git_dir));
        git
    }

    /// With these files as its working tree, and this index.
    pub fn with_tree(&self, work: &Path, index: &Path) -> Self {
        let mut git = self.clone();
        git.before.push(joined("--work-tree=", work));
        git.before.extend(["-C".into(), work.into()]);
        git.environment.push(("GIT_INDEX_FILE", index.into()));
        git
    }

    /// Without the settings of the person or the machine.
    pub fn plain(&self) -> Self {
        let mut git = self.clone();
        git.environment.extend([
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_ATTR_NOSYSTEM", "1".into()),
        ]);
        git
    }

    /// As git's own submodule command calls itself: addresses come from the repository, not from a
    /// person, so local paths and the like stay refused as git refuses them by default.
    pub fn distrusting(&self) -> Self {
        self.with_setting("GIT_PROTOCOL_FROM_USER", "0")
    }

    /// With a variable of git's.
    pub fn with_setting(&self, name: &'static str, value: &str) -> Self {
        let mut git = self.clone();
        git.environment.push((name, value.into()));
        git
    }

    fn bare() -> Self {
        let settings = ["core.hooksPath=/dev/null", "core.fsmonitor=false"];
        let before = settings.iter().flat_map(|&one| ["-c".into(), one.into()]);
        Self {
            before: before.collect(),
            environment: vec![
                ("GIT_TERMINAL_PROMPT", "0".into()),
                ("GIT_PAGER", "cat".into()),
                ("LC_ALL", "C".into()),
            ],
        }
    }

    fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = Command::from(self.prepared(words));
        command.kill_on_drop(true);
        command
    }

    fn prepared<S: AsRef<OsStr>>(&self, words: &[S]) -> std::process::Command {
        let mut command = std::process::Command::new("git");
        // Whoever started us may have been started by git itself.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command
            .args(&self.before)
            .args(words)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What git answers at once, without the last line break; `None` where it complains. For who asks little
    /// and waits for it.
    pub fn now(&self, words: &[&str]) -> Option<String> {
        let done = self.prepared(words).output().ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        done.status
            .success()
            .then(|| text.trim_end_matches(['\n', '\r']).to_owned())
    }

    /// What git answers.
    ///
    /// # Errors
    /// What it complains about.
    pub async fn bytes<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<Vec<u8>, String> {
        self.fed(words, b"").await
    }

    /// What git answers when it is given this on its standard input.
    ///
    /// # Errors
    /// What it complains about.
    pub async fn fed<S: AsRef<OsStr>>(&self, words: &[S], input: &[u8]) -> Result<Vec<u8>, String> {
        let mut child = self
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("git cannot be started: {error}; install it"))?;
        let pipe = child.stdin.take();
        let feed = async {
            if let Some(mut pipe) = pipe {
                // One that complains at once does not read what it is given.
                let _ = pipe.write_all(input).await;
            }
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), feed);
        let output = output.map_err(|error| format!("git: {error}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let told = String::from_utf8_lossy(&output.stderr);
        let verb = words.first().map(|word| word.as_ref().to_string_lossy());
        Err(format!(
            "git {}: {}",
            verb.unwrap_or_default(),
            told.trim().lines().next_back().unwrap_or("failed")
        ))
    }

    /// What git answers, as one text without the last line break.
    ///
    /// # Errors
    /// What it complains about.
    pub async fn text<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<String, String> {
        let bytes = self.bytes(words).await?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }
}

impl Git {
    /// Whether tracked files differ from what is committed.
    pub async fn is_dirty(&self) -> bool {
        let words = ["status", "--porcelain", "--untracked-files=no"];
        matches!(self.bytes(&words).await, Ok(told) if !told.is_empty())
    }
}

fn joined(flag: &str, path: &Path) -> OsString {
    let mut whole = OsString::from(flag);
    whole.push(path);
    whole
}
