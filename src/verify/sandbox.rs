//! Where a project's commands run: what they may see and change.
//!
//! With bubblewrap: their own process tree, their own `/tmp`, everything else read-only but the work
//! folder. The usual places of keys in a home (`.ssh`, `.aws`, `.npmrc`, ...: the list is [`KEYS`], and no
//! list is whole) and the settings of the caller's checkout, where build machines leave a token, are empty. A home's caches are readable, so cargo and npm find what
//! was fetched; what is written to a cache goes to the private `/tmp`, or one change could poison the
//! verification of the next.
//!
//! The network stays. Tests run against databases on this machine, and a verification that could not
//! reach them would prove less, not more. So whatever can be read there can be sent away, and what is to be
//! kept must not be there: variables that are called or look like a secret are not handed on unless the
//! caller names them ([`environment`]), but a secret with a harmless name, or in a file elsewhere, is not
//! noticed. A socket such as Docker's stays reachable for the same reason; whoever verifies
//! changes of strangers does so on a machine that has none.
//!
//! Without bubblewrap the commands run as the caller does, in a process group of their own; they can read
//! whatever the caller can, and the answer says that they ran so.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use tokio::process::Command;

/// What the caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Bubblewrap where it works.
    Auto,
    /// None.
    Off,
    /// Bubblewrap, or nothing is run.
    Require,
}

/// Commands are shut in, or not.
#[derive(Debug, Clone)]
pub(super) enum Walls {
    /// By bubblewrap.
    Bubblewrap {
        /// What is hidden.
        hidden: Vec<PathBuf>,
        /// What hidden files are replaced by. Not `/dev/null`: a device cannot be opened there.
        empty: PathBuf,
        /// What must be seen though it lies under `/tmp`.
        shown: Vec<PathBuf>,
    },
    /// Not at all, and why.
    None(String),
}

/// A place where commands run.
#[derive(Debug, Clone)]
pub(super) struct Room {
    /// The working tree.
    pub work: PathBuf,
    /// Its own folder for temporary files.
    pub scratch: PathBuf,
    /// Around it.
    pub walls: Walls,
    /// The variables that are handed on.
    pub environment: Vec<(OsString, OsString)>,
}

/// Variables that would let a test act as whoever verifies, or steer the job that it runs in.
const DROPPED: [&str; 21] = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENV",
    "GITHUB_OUTPUT",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_RUNTIME_URL",
    "ACTIONS_RESULTS_URL",
    "ACTIONS_CACHE_URL",
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "CARGO_REGISTRY_TOKEN",
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
    // Not secrets: they would send what is built to a place that others share.
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "TMPDIR",
];

const DROPPED_BEGINNINGS: [&str; 4] = [
    "ACTIONS_ID_TOKEN_REQUEST_",
    "COUNTERSIGN_",
    "GIT_",
    "INPUT_",
];

/// How a word in the name of a secret ends.
const SECRET_ENDINGS: [&str; 14] = [
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "KEY",
    "KEYS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "WEBHOOK",
    "COOKIE",
];

/// Whole words in the name of a secret.
const SECRET_WORDS: [&str; 5] = ["PASS", "PAT", "PWD", "AUTH", "CREDS"];

/// In a home: what a test has no business with.
const KEYS: [&str; 46] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gh",
    ".config/gcloud",
    ".netrc",
    ".git-credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/git/credentials",
    ".config/hub",
    ".config/glab-cli",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".pgpass",
    ".my.cnf",
    ".boto",
    ".s3cfg",
    ".config/rclone",
    ".terraformrc",
    ".terraform.d",
    ".vault-token",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".codex",
    ".claude",
    ".password-store",
    ".local/share/keyrings",
    ".bash_history",
    ".zsh_history",
];

/// Whether a variable is never handed on, whoever asks.
fn denied(name: &str) -> bool {
    let mut beginnings = DROPPED_BEGINNINGS.iter();
    DROPPED.contains(&name) || beginnings.any(|start| name.starts_with(start))
}

/// Whether a variable's name or value is like that of a secret.
fn looks_secret(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let mut words = upper.split(|c: char| !c.is_ascii_alphanumeric());
    let folder = matches!(name, "PWD" | "OLDPWD");
    let called = words.any(|word| {
        SECRET_WORDS.contains(&word) || SECRET_ENDINGS.iter().any(|end| word.ends_with(end))
    });
    (called && !folder) || holds_password(value) || value.contains("PRIVATE KEY-----")
}

/// Whether there is a `scheme://user:password@host` in a text.
fn holds_password(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let host = rest.find(['/', '?', '#', ' ']).unwrap_or(rest.len());
        let user = rest[..host].rsplit_once('@').map(|(user, _)| user);
        user.and_then(|user| user.split_once(':'))
            .is_some_and(|(_, password)| !password.is_empty())
    })
}

/// The names of variables that are kept from commands for what they look like.
pub(super) fn withheld(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    through: &[String],
) -> Vec<String> {
    let names = all.into_iter().filter_map(|(name, value)| {
        let name = name.to_string_lossy().into_owned();
        let looks = looks_secret(&name, &value.to_string_lossy());
        (looks && !denied(&name) && !through.contains(&name)).then_some(name)
    });
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Whether a caller may name these.
///
/// # Errors
/// Which not.
pub(super) fn may_be_handed_on(through: &[String]) -> Result<(), String> {
    match through.iter().find(|name| denied(name)) {
        Some(name) => Err(format!(
            "--env {name}: with it a command could act as whoever verifies, so it is never handed on; \
             give the tests a variable of their own"
        )),
        None => Ok(()),
    }
}

/// The variables that commands are given, of those that there are; those in `through` whatever they look
/// like.
pub(super) fn environment(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    through: &[String],
) -> Vec<(OsString, OsString)> {
    let handed_on = |name: &OsStr, value: &OsStr| {
        let name = name.to_string_lossy();
        let named = through.iter().any(|one| *one == name);
        !denied(&name) && (named || !looks_secret(&name, &value.to_string_lossy()))
    };
    let mut kept: Vec<_> = all
        .into_iter()
        .filter(|(name, value)| handed_on(name, value))
        .collect();
    // Python believes a compiled file whose source has the same size and second: a mutant may have both.
    kept.push(("PYTHONDONTWRITEBYTECODE".into(), "1".into()));
    kept
}

/// What the commands name below `/tmp`, up to the first folder there: a tool that lies beside its libraries.
/// The walls give commands a `/tmp` of their own, and a command that names its tool by a path there would
/// find nothing: to a reader that is a head that does not build.
pub(super) fn named_below_tmp(commands: &[&str]) -> Vec<PathBuf> {
    let ends = |c: char| c.is_whitespace() || "\"'=:;,()&|<>`".contains(c);
    let words = commands.iter().flat_map(|line| line.split(ends));
    let mut found: Vec<_> = words
        .filter_map(|word| word.strip_prefix("/tmp/")?.split('/').next())
        .filter(|name| !["", ".", ".."].contains(name))
        .map(|name| Path::new("/tmp").join(name))
        .filter(|path| path.symlink_metadata().is_ok_and(|it| !it.is_symlink()))
        .collect();
    found.sort();
    found.dedup();
    found
}

impl Walls {
    /// Finds out what works here.
    ///
    /// # Errors
    /// When walls are required and there are none.
    pub async fn find(
        choice: Choice,
        git_dir: &Path,
        shown: Vec<PathBuf>,
        empty: PathBuf,
    ) -> Result<Self, String> {
        if choice == Choice::Off {
            return Ok(Self::None("it was switched off".to_owned()));
        }
        let mut hidden = vec![git_dir.join("config")];
        if let Some(home) = std::env::var_os("HOME").map(PathBuf::from) {
            hidden.extend(KEYS.iter().map(|name| home.join(name)));
        }
        // A mount point must be no link.
        let hidden = hidden.iter().flat_map(|path| path.canonicalize());
        let shown = shown.into_iter().filter(|path| path.starts_with("/tmp"));
        let walls = Self::Bubblewrap {
            hidden: hidden.collect(),
            empty,
            shown: shown.collect(),
        };
        match tried(&walls).await {
            Ok(()) => Ok(walls),
            Err(why) if choice == Choice::Auto => Ok(Self::None(why)),
            Err(why) => Err(format!(
                "no sandbox: {why}; install bubblewrap and allow user namespaces, or run with --sandbox off"
            )),
        }
    }
}

async fn tried(walls: &Walls) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (work, scratch) = (folder.path().join("work"), folder.path().join("tmp"));
    for folder in [&work, &scratch] {
        std::fs::create_dir(folder).map_err(|error| error.to_string())?;
    }
    let room = Room {
        work,
        scratch,
        walls: walls.clone(),
        environment: environment(std::env::vars_os(), &[]),
    };
    let output = room.command("exit 0").output().await;
    let output =
        output.map_err(|error| format!("bubblewrap (bwrap) cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let told = told.trim().lines().next_back().unwrap_or("it failed");
    Err(format!("bubblewrap does not work here: {told}"))
}

impl Room {
    /// The command, ready to be started.
    pub fn command(&self, line: &str) -> Command {
        let mut command = match &self.walls {
            Walls::Bubblewrap {
                hidden,
                empty,
                shown,
            } => {
                let mut command = Command::new("bwrap");
                command.args(self.walled(hidden, empty, shown)).arg("sh");
                command.env_clear().envs(self.environment.clone());
                // `env_clear` is for the walls too: what they hold can be read from within.
                command
                    .env("TMPDIR", "/tmp")
                    .env("XDG_CACHE_HOME", "/tmp/.cache");
                command
            }
            Walls::None(_) => {
                let mut command = Command::new("sh");
                command.env_clear().envs(self.environment.clone());
                command.env("TMPDIR", &self.scratch);
                command
            }
        };
        command
            .args(["-c", line])
            .current_dir(&self.work)
            .kill_on_drop(true);
        command
    }

    fn walled(&self, hidden: &[PathBuf], empty: &Path, shown: &[PathBuf]) -> Vec<OsString> {
        let mut words: Vec<OsString> = [
            "--die-with-parent",
            "--new-session",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--bind",
        ]
        .map(OsString::from)
        .to_vec();
        words.extend([self.scratch.clone().into(), "/tmp".into()]);
        for path in shown {
            words.extend(["--ro-bind".into(), path.into(), path.into()]);
        }
        for path in hidden {
            match path.is_dir() {
                true => words.extend(["--tmpfs".into(), path.into()]),
                false => words.extend(["--ro-bind".into(), empty.into(), path.into()]),
            }
        }
        let work = self.work.as_os_str();
        words.extend(["--bind".into(), work.into(), work.into()]);
        words.extend(["--chdir".into(), work.into(), "--".into()]);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_below_tmp_that_a_command_names_is_shown_with_what_lies_beside_it() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let tool = folder.path().join("bin/tsc").display().to_string();
        let found = |line: &str| named_below_tmp(&[line, "make"]);
        assert_eq!(found(&format!("node '{tool}' -p .")), [folder.path()]);
        assert_eq!(found(&format!("TOOL={tool} {tool}")), [folder.path()]);
        assert!(found("cat /tmp/ /tmp/../etc/passwd /tmp/is-not-there/x tmp/y").is_empty());
    }

    #[test]
    fn what_is_called_or_looks_like_a_secret_is_told_from_a_setting() {
        for (name, value) in [
            ("OPENAI_API_KEY", "a"),
            ("AWS_SECRET_ACCESS_KEY", "a"),
            ("PGPASSWORD", "a"),
            ("MYSQL_PWD", "a"),
            ("npm_config_//registry.example.org/:_authToken", "a"),
            ("STRIPE_SECRET", "a"),
            ("DATABASE_URL", "postgres://me:word@localhost/db"),
            ("HTTPS_PROXY", "http://me:word@proxy:3128"),
            ("PEM", "-----BEGIN PRIVATE KEY-----\nA"),
        ] {
            assert!(looks_secret(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("PATH", "/bin"),
            ("PWD", "/work"),
            ("OLDPWD", "/work"),
            ("DATABASE_URL", "postgres://me@localhost:5432/db"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("KEYBOARD", "us"),
            ("HOMEPAGE", "https://example.org/a:b@c"),
        ] {
            assert!(!looks_secret(name, value), "{name}={value}");
        }
    }
}
