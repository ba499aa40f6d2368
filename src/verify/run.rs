//! Running one command of the project: bounded in time, in memory, and with nothing of it left behind.
//!
//! A command is a process group of its own, and dies as one. A process that left the group (`setsid`) is
//! found by a mark in its environment; within bubblewrap it dies with its pid namespace, whatever it does.
//! Output is one stream, as people would see it; its head and tail are kept, and a digest of it.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::Child;

use super::sandbox::Room;

/// So much of the beginning of an output is kept, and so much of its end. A summary stands at the end; the
/// names of what failed may stand far before it.
const HEAD: usize = 1024 * 1024;
const TAIL: usize = 4 * 1024 * 1024;

/// So much of an output its digest covers, with the length of all: a command that prints without end must not be
/// waited for longer than for its own sake.
const DIGESTED: u64 = 64 * 1024 * 1024;

/// How long what a killed command still has in its pipe is waited for. Only a process that escaped every
/// net holds it open longer.
const DRAIN: Duration = Duration::from_secs(5);

/// The variable that marks every process of a run.
pub(super) const MARK: &str = "IN_VERIFICATION";

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed when its time was over.
    TimedOut,
}

impl End {
    /// Shells tell a signal as 128 and its number.
    fn of(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        match (status.code(), status.signal()) {
            (Some(code @ 129..=192), _) => Self::Signal(code - 128),
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }

    /// The exit code that evidence tells.
    pub fn code(self) -> i64 {
        match self {
            Self::Code(code) => code.into(),
            Self::Signal(signal) => (128 + signal).into(),
            // What `timeout` answers.
            Self::TimedOut => 124,
        }
    }

    /// For people.
    pub fn told(self) -> String {
        match self {
            Self::Code(code) => format!("exit code {code}"),
            Self::Signal(signal) => format!("ended by signal {signal}"),
            Self::TimedOut => "out of time".to_owned(),
        }
    }
}

/// What a command did.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    /// How it ended.
    pub end: End,
    /// Its output; the middle of a very long one is left out.
    pub output: String,
    /// The first 12 hex digits of the SHA-256 of the output; of a very long one, of its beginning and its length.
    pub digest: String,
    /// How long it took.
    pub took: Duration,
}

/// Runs a command in a room.
///
/// # Errors
/// When it cannot be started.
pub(super) async fn run(room: &Room, line: &str, limit: Duration) -> io::Result<Ran> {
    let started = Instant::now();
    let mark = uuid::Uuid::new_v4().to_string();
    let (output, write) = io::pipe()?;
    let output = pipe::Receiver::from_owned_fd(output.into())?;
    let mut command = room.command(line);
    command
        .env(MARK, &mark)
        .stdin(Stdio::null())
        .stdout(write.try_clone()?)
        .stderr(write)
        .process_group(0);
    let mut child = command.spawn()?;
    // Our own copies of the pipe's writing end go with it, or its end would never come.
    drop(command);
    let family = Family::of(&child, mark);
    let reader = tokio::spawn(kept(output));
    let end = match tokio::time::timeout(limit, child.wait()).await {
        Ok(status) => End::of(status?),
        Err(_) => End::TimedOut,
    };
    let took = started.elapsed();
    drop(family);
    let _ = child.wait().await;
    let abort = reader.abort_handle();
    let (output, digest) = match tokio::time::timeout(DRAIN, reader).await {
        Ok(Ok(kept)) => kept,
        _ => {
            abort.abort();
            (
                "(a process of it lives on and holds its output)".to_owned(),
                String::new(),
            )
        }
    };
    Ok(Ran {
        end,
        output,
        digest,
        took,
    })
}

/// A command's processes; they die when this goes, also when whoever waits is cancelled.
struct Family {
    group: Option<Pid>,
    mark: String,
}

impl Family {
    fn of(child: &Child, mark: String) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = id.and_then(Pid::from_raw);
        Self { group, mark }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // It may be gone already, which is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // One that is killed may have had a child just before: look again until there is none.
        for look in 0..100 {
            let Marked { found, unclear } = marked(&self.mark);
            if found.is_empty() && (!unclear || look >= 10) {
                break;
            }
            for process in found {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

/// What a look at all processes finds.
#[derive(Default)]
struct Marked {
    /// The living processes with the mark.
    found: Vec<Pid>,
    /// Whether one may have it that shows nothing: it is just becoming another program.
    unclear: bool,
}

/// Looks for living processes with this mark, where the system tells (Linux).
fn marked(mark: &str) -> Marked {
    let wanted = format!("{MARK}={mark}");
    let mut marked = Marked::default();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return marked;
    };
    for entry in entries.flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            continue;
        };
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else {
            continue;
        };
        let mut variables = environment.split(|byte| *byte == 0);
        if variables.any(|one| one == wanted.as_bytes()) {
            marked.found.push(pid);
        } else if environment.is_empty() {
            let line = std::fs::read_to_string(entry.path().join("stat"));
            marked.unclear |= line.is_ok_and(|line| runs_a_program(&line));
        }
    }
    marked
}

/// Whether a line of `/proc/PID/stat` is of a process that lives and is not the kernel's own (proc(5)).
fn runs_a_program(line: &str) -> bool {
    const OF_THE_KERNEL: u64 = 0x0020_0000;
    // The name may hold anything, also brackets; the state follows it, the flags are six fields on.
    let mut fields = line
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let dead = matches!(fields.next(), None | Some("Z" | "X"));
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u64>().ok());
    !dead && flags.is_some_and(|flags| flags & OF_THE_KERNEL == 0)
}

/// Reads to the end, keeps head and tail.
async fn kept(mut output: pipe::Receiver) -> (String, String) {
    let mut head = Vec::new();
    let mut tail: VecDeque<u8> = VecDeque::new();
    let mut lost = false;
    let mut digest = Sha256::new();
    let mut length: u64 = 0;
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        let read = &buffer[..count];
        if length < DIGESTED {
            digest.update(read);
        }
        length += count as u64;
        let fits = read.len().min(HEAD - head.len());
        head.extend_from_slice(&read[..fits]);
        tail.extend(&read[fits..]);
        let over = tail.len().saturating_sub(TAIL);
        lost |= over > 0;
        tail.drain(..over);
    }
    if length > DIGESTED {
        digest.update(length.to_be_bytes());
    }
    let mut text = String::from_utf8_lossy(&head).into_owned();
    if lost {
        text.push_str("\n(the middle of the output is left out)\n");
    }
    let (one, two) = tail.as_slices();
    text.push_str(&String::from_utf8_lossy(&[one, two].concat()));
    let digest = hex::encode(digest.finalize());
    (text, digest[..12].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::sandbox::{Walls, environment};

    fn room(folder: &std::path::Path) -> Room {
        Room {
            work: folder.to_owned(),
            scratch: folder.to_owned(),
            walls: Walls::None("a test".to_owned()),
            environment: environment(std::env::vars_os(), &[]),
        }
    }

    async fn done(line: &str) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        run(&room(folder.path()), line, Duration::from_secs(600))
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn a_long_output_is_kept_at_its_ends_and_its_digest_is_of_all() {
        let print = "yes 0123456789 | head -c 20000000";
        let ran = done(&format!("echo first; {print}; echo last")).await;
        assert_eq!(ran.end, End::Code(0));
        assert!(ran.output.len() < HEAD + TAIL + 100, "{}", ran.output.len());
        assert!(ran.output.starts_with("first\n") && ran.output.ends_with("last\n"));
        assert!(ran.output.contains("the middle of the output is left out"));
        let sum = done(&format!("(echo first; {print}; echo last) | sha256sum")).await;
        assert_eq!(ran.digest, sum.output[..12]);
    }

    #[tokio::test]
    async fn both_streams_come_in_their_order() {
        let ran = done("echo 1; echo 2 >&2; echo 3; exit 7").await;
        assert_eq!((ran.output.as_str(), ran.end), ("1\n2\n3\n", End::Code(7)));
    }

    #[tokio::test]
    async fn a_signal_is_told_whether_the_shell_or_its_child_was_hit() {
        assert_eq!(done("kill -SEGV $$").await.end, End::Signal(11));
        assert_eq!(
            done("sh -c 'kill -SEGV $$'; exit $?").await.end,
            End::Signal(11)
        );
        assert_eq!(End::Signal(11).code(), 139);
    }

    /// Whoever waits may be cancelled, by a signal to this program.
    #[test]
    fn a_process_that_shows_nothing_of_itself_is_asked_about_again_unless_dead_or_the_kernels() {
        assert!(runs_a_program("71 (a) b) R 1 71 71 0 -1 4194304 0"));
        assert!(!runs_a_program("71 (sleep) Z 1 71 71 0 -1 4194304 0"));
        assert!(!runs_a_program("2 (kthreadd) S 0 0 0 0 -1 2129984 0"));
        assert!(!runs_a_program(""));
    }

    #[tokio::test]
    async fn a_run_that_nobody_waits_for_any_more_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("begun");
        let room = room(folder.path());
        // Another run of this very test, elsewhere on the machine, sleeps for another time.
        let sleep = format!("sleep 86402.{}", std::process::id());
        let line = format!("setsid {sleep} & touch begun; {sleep}");
        let waiting = run(&room, &line, Duration::from_secs(600));
        tokio::select! {
            _ = waiting => panic!("it sleeps for a day"),
            () = async { while !begun.exists() { tokio::task::yield_now().await } } => {}
        }
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.flat_map(|entry| std::fs::read(entry.path().join("cmdline")));
        let words = format!("{sleep}\0").replace(' ', "\0");
        let left = lines.filter(|line| line.ends_with(words.as_bytes()));
        assert_eq!(left.count(), 0);
    }
}
