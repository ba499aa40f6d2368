//! Where a project's commands run: what they may see and change.
//!
//! With bubblewrap: their own process tree, their own `/tmp`, everything else read-only but the work
//! folder. Keys that lie about in a home (`.ssh`, `.aws`, ...) and the settings of the caller's checkout,
//! where build machines leave a token, are empty. A home's caches are readable, so cargo and npm find what
//! was fetched; what is written to a cache goes to the private `/tmp`, or one change could poison the
//! verification of the next.
//!
//! The network stays. Tests run against databases on this machine, and a verification that could not
//! reach them would prove less, not more. What is kept from leaking is kept from being there: see
//! [`environment`]. A socket such as Docker's stays reachable for the same reason; whoever verifies
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

/// In a home: what a test has no business with.
const KEYS: [&str; 12] = [
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
];

/// The variables that commands are given, of those that there are.
pub(super) fn environment(
    all: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let handed_on = |name: &OsStr| {
        let name = name.to_string_lossy();
        !DROPPED.contains(&name.as_ref())
            && !DROPPED_BEGINNINGS
                .iter()
                .any(|start| name.starts_with(start))
    };
    let mut kept: Vec<_> = all
        .into_iter()
        .filter(|(name, _)| handed_on(name))
        .collect();
    // Python believes a compiled file whose source has the same size and second: a mutant may have both.
    kept.push(("PYTHONDONTWRITEBYTECODE".into(), "1".into()));
    kept
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
        environment: environment(std::env::vars_os()),
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
