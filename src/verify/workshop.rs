//! A work folder: exactly the head's tree, in which mutants come and go.
//!
//! The git directory that knows what the tree must be lies beside it, out of the reach of what runs in it:
//! a test that writes a filter or a monitor into the `.git` it finds would otherwise have git run it
//! outside of its walls. The `.git` in the folder is there because builds and tests ask for a version or a
//! branch; it is never asked by us. Its index holds the mutant while one is in place, so that a check for
//! changes that are not committed (`git diff --exit-code`) finds none, and kills nothing. Its HEAD stays the
//! head: whoever asks `git status` still sees the mutant, as something staged.
//!
//! Every write makes a file newer by a second at least. Compilers and interpreters believe what they made
//! of a file as long as its time (for some in whole seconds) did not move, and a mutant comes and goes
//! within less.
//!
//! Every use of a path in the folder goes through `beneath`, since a test may have put a link where a folder
//! was.
//!
//! What a run leaves behind untracked is cleared away before the next, in the folder and in its `/tmp`,
//! unless it was there when the head was built. Caches are the point of keeping a folder, so what git
//! ignores stays, and so does `/tmp/.cache`; `hunt` looks whether the tests still pass with what stayed.
//!
//! Left out: the content of submodules is laid out and never changed, and not compared again.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Mode;

use super::beneath::Beneath;
use super::ends::{Ends, Origin, see};
use super::git::Git;
use super::modules;
use super::run::{self, Ran};
use super::sandbox::{Room, Walls, environment};
use crate::domain::model::Oid;
use crate::domain::mutants::Mutant;

/// What all work folders of one verification share.
#[derive(Debug)]
pub(super) struct Yard {
    /// The folder for everything; it goes when this does.
    pub folder: tempfile::TempDir,
    /// Our git directory.
    pub git: Git,
    /// Where the objects come from.
    pub origin: Origin,
    /// What is verified.
    pub ends: Ends,
    /// Around commands.
    pub walls: Walls,
    /// Variables that commands are given though they look like secrets.
    pub through: Vec<String>,
}

/// One work folder.
#[derive(Debug)]
pub(super) struct Workshop {
    /// Where commands run.
    pub room: Room,
    git: Git,
    index: PathBuf,
    number: usize,
    stamp: SystemTime,
    /// What lay about untracked once the head was built.
    kept: Option<Leavings>,
}

/// What lies about that is not of the head: in the work folder as git tells it, and in the folder for
/// temporary files.
#[derive(Debug, Default)]
struct Leavings {
    work: BTreeSet<PathBuf>,
    scratch: BTreeSet<PathBuf>,
}

/// A file as it was, where there was one.
type Before = Option<(Vec<u8>, Mode)>;

/// What a mutant replaced.
pub(super) struct Replaced {
    files: Vec<(PathBuf, Before)>,
    made: Vec<PathBuf>,
}

impl Yard {
    /// Makes the shared part.
    pub async fn open(
        folder: tempfile::TempDir,
        origin: Origin,
        ends: Ends,
        walls: Walls,
        through: Vec<String>,
    ) -> Result<Self, String> {
        let git = origin.seen_from(&folder.path().join("git")).await?;
        let head = ends.head.as_str();
        git.bytes(&["update-ref", "--no-deref", "HEAD", head])
            .await?;
        Ok(Self {
            folder,
            git,
            origin,
            ends,
            walls,
            through,
        })
    }

    /// Makes a work folder.
    pub async fn workshop(&self, number: usize) -> Result<Workshop, String> {
        let at = |name: &str| self.folder.path().join(format!("{name}-{number}"));
        let (work, index) = (at("work"), at("index"));
        let room = Room {
            work: work.clone(),
            scratch: at("tmp"),
            walls: self.walls.clone(),
            environment: environment(std::env::vars_os(), &self.through),
        };
        let mut workshop = Workshop {
            git: self.git.with_tree(&work, &index),
            room,
            index,
            number,
            stamp: UNIX_EPOCH,
            kept: None,
        };
        workshop.lay(self).await?;
        Ok(workshop)
    }
}

impl Workshop {
    /// Lays out the head's tree in an empty folder.
    pub async fn lay(&mut self, yard: &Yard) -> Result<(), String> {
        let (work, head) = (&self.room.work, yard.ends.head.as_str());
        let place = yard.folder.path();
        let all = Beneath::open(place).map_err(|error| told(place, &error))?;
        for folder in [work, &self.room.scratch] {
            let name = folder.file_name().map(Path::new).unwrap_or(folder);
            all.remove_all(name).map_err(|error| told(folder, &error))?;
            std::fs::create_dir(folder).map_err(|error| told(folder, &error))?;
        }
        let _ = std::fs::remove_file(&self.index);
        self.git
            .bytes(&["read-tree", "--reset", "-u", head])
            .await?;
        let place = yard.folder.path().join("modules");
        modules::lay(&yard.git, &yard.origin, head, work, &place).await?;
        self.disguise(yard).await?;
        // Files were written just now; what is written next must be newer.
        self.stamp = SystemTime::now();
        self.assert(yard).await
    }

    /// The `.git` that builds and tests may ask.
    async fn disguise(&self, yard: &Yard) -> Result<(), String> {
        let git_dir = self.room.work.join(".git");
        let git = Git::own(&git_dir).plain();
        git.bytes(&["init", "-q", "--template=", "--object-format=sha1"])
            .await?;
        see(&git_dir, &yard.origin.objects)?;
        let shallow = yard.origin.git_dir.join("shallow");
        if shallow.exists() {
            let _ = std::fs::copy(&shallow, git_dir.join("shallow"));
        }
        let head = yard.ends.head.as_str();
        git.bytes(&["update-ref", "--no-deref", "HEAD", head])
            .await?;
        std::fs::copy(&self.index, git_dir.join("index"))
            .map_err(|error| told(&self.index, &error))?;
        // Versions are often made of the nearest tag.
        let caller = Git::reading(&yard.origin.git_dir);
        let words = [
            "for-each-ref",
            "--format=create %(refname) %(objectname)",
            "refs/tags",
        ];
        let tags = caller.bytes(&words).await?;
        git.fed(&["update-ref", "--stdin"], &tags).await?;
        Ok(())
    }

    /// Whether this is the head, to the byte.
    pub async fn assert(&self, yard: &Yard) -> Result<(), String> {
        let head = self.git.text(&["rev-parse", "HEAD"]).await?;
        let tree = self.tree(yard).await?;
        if head == yard.ends.head.as_str() && tree == yard.ends.tree {
            return Ok(());
        }
        Err(format!(
            "the work folder holds the tree {} at {head:.12}, and not the head's {}",
            tree.short(),
            yard.ends.tree.short()
        ))
    }

    /// The tree that the files make, read anew from their content.
    pub async fn tree(&self, yard: &Yard) -> Result<Oid, String> {
        let fresh = yard.folder.path().join(format!("proof-{}", self.number));
        let _ = std::fs::remove_file(&fresh);
        let git = yard.git.with_tree(&self.room.work, &fresh);
        git.bytes(&["read-tree", yard.ends.head.as_str()]).await?;
        // Without what the index remembers of times and sizes, every file is read.
        let listed = git.bytes(&["ls-files", "-z", "--stage"]).await?;
        let entries = listed.split(|byte| *byte == 0);
        let files = entries.filter(|entry| !entry.is_empty() && !entry.starts_with(b"160000 "));
        let mut paths = Vec::new();
        for entry in files {
            let tab = entry.iter().position(|byte| *byte == b'\t');
            paths.extend_from_slice(&entry[tab.map_or(0, |tab| tab + 1)..]);
            paths.push(0);
        }
        // Their names are all that is wanted. A git that writes an object finds it at the caller's, and
        // touches the file there.
        let words = ["update-index", "--info-only", "--remove", "-z", "--stdin"];
        git.fed(&words, &paths).await?;
        let tree = yard.ends.tree.as_str();
        let words = [
            "diff-index",
            "--cached",
            "--quiet",
            "--ignore-submodules=none",
            tree,
        ];
        if git.bytes(&words).await.is_ok() {
            return Ok(yard.ends.tree.clone());
        }
        let tree = git.text(&["write-tree", "--missing-ok"]).await?;
        Oid::parse(&tree).map_err(|error| error.to_string())
    }

    /// Puts a mutant in place of the files it is about.
    ///
    /// # Errors
    /// Why it cannot be; nothing is changed then.
    pub fn put(
        &mut self,
        mutant: &Mutant,
        executable: &BTreeSet<String>,
    ) -> Result<Replaced, String> {
        let mut replaced = Replaced {
            files: Vec::new(),
            made: Vec::new(),
        };
        for (path, content) in &mutant.files {
            let put = self.replace(
                path,
                content.as_deref(),
                executable.contains(path),
                &mut replaced,
            );
            if let Err(why) = put {
                self.put_back(replaced)?;
                return Err(why);
            }
        }
        Ok(replaced)
    }

    fn replace(
        &mut self,
        path: &str,
        content: Option<&[u8]>,
        executable: bool,
        replaced: &mut Replaced,
    ) -> Result<(), String> {
        // Says best what is wrong with a path; what holds is that each use below looks again.
        inside(&self.room.work, path)?;
        let work = self.beneath()?;
        let place = Path::new(path);
        let wrong = |error: std::io::Error| told(place, &error);
        let before = work.read(place, u64::MAX - 1);
        let before =
            before.map_err(|error| format!("{path} is no plain file in the head: {error}"))?;
        match content {
            Some(content) => {
                let made = work.make_folders(place).map_err(wrong)?;
                replaced.made.extend(made);
                let mode = match &before {
                    Some((_, mode)) => *mode,
                    None if executable => Mode::from_raw_mode(0o755),
                    None => Mode::from_raw_mode(0o644),
                };
                replaced.files.push((place.to_owned(), before));
                self.write(&work, place, content, mode)
            }
            None => {
                replaced.files.push((place.to_owned(), before));
                work.remove(place).map_err(wrong)
            }
        }
    }

    /// Lets the `.git` in the folder know of a mutant that was put in.
    pub async fn disclose(&self, yard: &Yard, mutant: &Mutant) -> Result<(), String> {
        let fresh = yard.folder.path().join(format!("shown-{}", self.number));
        std::fs::copy(&self.index, &fresh).map_err(|error| told(&fresh, &error))?;
        let mut paths = Vec::new();
        for (path, _) in &mutant.files {
            paths.extend_from_slice(path.as_bytes());
            paths.push(0);
        }
        let git = yard.git.with_tree(&self.room.work, &fresh);
        let words = [
            "update-index",
            "--add",
            "--remove",
            "--replace",
            "--info-only",
            "-z",
            "--stdin",
        ];
        git.fed(&words, &paths).await?;
        self.give_index(&fresh)
    }

    /// The `.git` in the folder knows the head again.
    pub fn conceal(&self) -> Result<(), String> {
        self.give_index(&self.index)
    }

    fn give_index(&self, index: &Path) -> Result<(), String> {
        let content = std::fs::read(index).map_err(|error| told(index, &error))?;
        let (place, mode) = (Path::new(".git/index"), Mode::from_raw_mode(0o644));
        // A test may have taken the `.git` away. Then there is nobody to be told.
        let _ = self
            .beneath()?
            .write(place, &content, mode, SystemTime::now());
        Ok(())
    }

    fn beneath(&self) -> Result<Beneath, String> {
        let work = &self.room.work;
        Beneath::open(work).map_err(|error| told(work, &error))
    }

    /// Writes a new file, newer than all before.
    fn write(
        &mut self,
        work: &Beneath,
        place: &Path,
        content: &[u8],
        mode: Mode,
    ) -> Result<(), String> {
        self.stamp = newer(self.stamp, SystemTime::now());
        let written = work.write(place, content, mode, self.stamp);
        written.map_err(|error| told(place, &error))
    }

    /// Puts back what a mutant replaced.
    ///
    /// # Errors
    /// When something else stands in the way by now: then nothing but a new folder helps.
    pub fn put_back(&mut self, replaced: Replaced) -> Result<(), String> {
        let work = self.beneath()?;
        for (place, before) in replaced.files.into_iter().rev() {
            match before {
                Some((content, mode)) => self.write(&work, &place, &content, mode)?,
                None => work.remove(&place).map_err(|error| told(&place, &error))?,
            }
        }
        for folder in replaced.made.into_iter().rev() {
            // A test may have left something there; it is untracked, and cleared away with the like.
            let _ = work.remove_empty(&folder);
        }
        Ok(())
    }

    /// Takes what lies about now for what a build made, which stays.
    pub async fn keep(&mut self) -> Result<(), String> {
        self.kept = Some(self.leavings().await?);
        Ok(())
    }

    /// Clears away what a run left behind.
    pub async fn tidy(&self) -> Result<(), String> {
        let Some(kept) = &self.kept else {
            return Ok(());
        };
        let left = self.leavings().await?;
        for (folder, left, kept) in [
            (&self.room.work, &left.work, &kept.work),
            (&self.room.scratch, &left.scratch, &kept.scratch),
        ] {
            let place = Beneath::open(folder).map_err(|error| told(folder, &error))?;
            for path in left.difference(kept) {
                // What cannot be removed is for the tests to trip over: `hunt` will see it.
                let _ = place.remove_all(path);
            }
        }
        Ok(())
    }

    async fn leavings(&self) -> Result<Leavings, String> {
        let words = [
            "ls-files",
            "--others",
            "--exclude-standard",
            "--directory",
            "-z",
        ];
        let listed = self.git.bytes(&words).await?;
        let paths = listed
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty());
        let work = paths.map(|path| PathBuf::from(OsStr::from_bytes(path)));
        let scratch = Beneath::open(&self.room.scratch).and_then(|place| place.list(Path::new("")));
        let scratch = scratch.map_err(|error| told(&self.room.scratch, &error))?;
        let scratch = scratch.into_iter().map(|(name, _)| PathBuf::from(name));
        Ok(Leavings {
            work: work.filter(|path| !path.starts_with(".git")).collect(),
            scratch: scratch.filter(|name| name != Path::new(".cache")).collect(),
        })
    }

    /// Makes sure that no tracked file differs from the head: by mending what a test changed, or by making
    /// the folder anew.
    ///
    /// # Errors
    /// When not even that helps.
    pub async fn mend(&mut self, yard: &Yard) -> Result<(), String> {
        if self.is_clean().await {
            return Ok(());
        }
        let head = yard.ends.head.as_str();
        let _ = self.git.bytes(&["read-tree", "--reset", "-u", head]).await;
        if self.is_clean().await {
            self.stamp = newer(self.stamp, SystemTime::now());
            return Ok(());
        }
        self.lay(yard).await
    }

    async fn is_clean(&self) -> bool {
        let words = [
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--ignore-submodules=all",
        ];
        matches!(self.git.bytes(&words).await, Ok(told) if told.is_empty())
    }

    /// Runs a command here.
    pub async fn run(&self, line: &str, limit: Duration) -> Result<Ran, String> {
        let ran = run::run(&self.room, line, limit).await;
        ran.map_err(|error| format!("`{line}` cannot be started: {error}"))
    }
}

/// A time later than `before`, in another second: now, unless that is the same second still.
fn newer(before: SystemTime, now: SystemTime) -> SystemTime {
    let seconds = |time: SystemTime| {
        time.duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    };
    if seconds(now) > seconds(before) {
        now
    } else {
        UNIX_EPOCH + Duration::from_secs(seconds(before) + 1)
    }
}

/// A path of the repository in the work folder; nothing on the way there may be a link, or a change could
/// have us write anywhere.
pub(super) fn inside(work: &Path, path: &str) -> Result<PathBuf, String> {
    let parts = Path::new(path).components();
    let plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    if path.is_empty() || !parts.clone().all(plain) {
        return Err(format!("{path:?} is no path of a file in a repository"));
    }
    let place = work.join(path);
    let above = place
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != work);
    for folder in above {
        match std::fs::symlink_metadata(folder) {
            Ok(about) if !about.is_dir() => {
                return Err(format!("a folder of {path} is none in the head"));
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(place)
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_newer_by_a_second_and_never_older_than_now() {
        let at = |seconds: u64, nanos: u32| UNIX_EPOCH + Duration::new(seconds, nanos);
        assert_eq!(newer(at(5, 0), at(9, 3)), at(9, 3));
        assert_eq!(newer(at(9, 1), at(9, 3)), at(10, 0));
        assert_eq!(newer(at(12, 0), at(9, 3)), at(13, 0));
    }

    #[test]
    fn no_path_leads_out_of_the_work_folder() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        std::fs::create_dir_all(work.join("real")).unwrap();
        std::os::unix::fs::symlink(folder.path(), work.join("link")).unwrap();
        assert_eq!(inside(&work, "real/a"), Ok(work.join("real/a")));
        assert_eq!(inside(&work, "new/a"), Ok(work.join("new/a")));
        for wrong in [
            "",
            "/etc/passwd",
            "../a",
            "real/../../a",
            "link/a",
            ".git/config",
            "a/.git",
        ] {
            assert!(inside(&work, wrong).is_err(), "{wrong}");
        }
    }
}
