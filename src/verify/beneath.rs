//! Files below one folder, reached without following a link, ever.
//!
//! Commands of the project run in a work folder, and what is done there between them (putting a mutant back,
//! reading a report, clearing up) is done outside of their walls. A folder of the repository may be a link
//! to anywhere by then. That a path was sound before a command says nothing afterwards, so every use walks
//! down from the folder's own handle, part by part, and each part is opened as the folder it must be or not
//! at all. Nothing is looked at first and used later, so there is no moment in which to swap it.
//!
//! A path is plain names, one below the other: no `..`, none that begins at the root.
//!
//! Left out: mounts. Who can mount into a work folder from within its walls is not shut in by them anyway.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

/// The folder.
#[derive(Debug)]
pub(super) struct Beneath {
    folder: OwnedFd,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// A link, a pipe, a socket, a device.
    Other,
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Beneath {
    /// Below this folder, which must be none that a link leads to.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let folder = openat(rustix::fs::CWD, folder, FOLDER, Mode::empty())?;
        Ok(Self { folder })
    }

    /// The folder that holds a path's last name, and that name.
    fn above<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let mut names = names(path)?;
        let last = names.pop().ok_or(Errno::INVAL)?;
        Ok((self.walk(&names)?, last))
    }

    fn walk(&self, names: &[&OsStr]) -> io::Result<OwnedFd> {
        let mut folder = self.folder.try_clone()?;
        for name in names {
            folder = openat(&folder, *name, FOLDER, Mode::empty())?;
        }
        Ok(folder)
    }

    /// A plain file's content and mode; `None` where there is nothing of that name.
    ///
    /// # Errors
    /// Also when something else is there, or more than `most` bytes.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Option<(Vec<u8>, Mode)>> {
        let (folder, name) = match self.above(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        // A pipe would have us wait for whoever writes to it.
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(&folder, name, how, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::MLINK) => return Err(no_file()),
            found => File::from(found?),
        };
        let about = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Err(no_file());
        }
        let mut content = Vec::new();
        let read = file
            .take(most.saturating_add(1))
            .read_to_end(&mut content)?;
        if read as u64 > most {
            let why = format!("it is larger than {most} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(Some((content, Mode::from_raw_mode(about.st_mode))))
    }

    /// Writes a new file in the place of whatever file or link is there.
    pub fn write(
        &self,
        path: &Path,
        content: &[u8],
        mode: Mode,
        time: SystemTime,
    ) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        gone(unlinkat(&folder, name, AtFlags::empty()))?;
        let how =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, name, how, Mode::from_raw_mode(0o600))?);
        file.write_all(content)?;
        fchmod(&file, mode)?;
        file.set_modified(time)
    }

    /// Takes away a file or link; that there is none is well.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        gone(unlinkat(&folder, name, AtFlags::empty()))
    }

    /// Takes away whatever is there, a folder with all in it, also what was made unwritable.
    pub fn remove_all(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        remove_all(&folder, name)
    }

    /// Makes the folders above a path that are missing, and names them.
    pub fn make_folders(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut made = Vec::new();
        let mut names = names(path)?;
        names.pop();
        let mut folder = self.folder.try_clone()?;
        let mut here = PathBuf::new();
        for name in names {
            here.push(name);
            match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(here.clone()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok(made)
    }

    /// Takes away a folder that is empty.
    pub fn remove_empty(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        Ok(unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
    }

    /// What is in a folder below; the empty path is the folder itself.
    pub fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Kind)>> {
        let folder = self.walk(&names(path)?)?;
        list(&folder)
    }
}

/// The parts of a path.
fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let plain = path.components().map(|part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it leads out of its folder",
        )),
    });
    plain.collect()
}

fn no_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")
}

fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn list(folder: &OwnedFd) -> io::Result<Vec<(OsString, Kind)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not tell.
            FileType::Unknown => match statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(about) => FileType::from_raw_mode(about.st_mode),
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            },
            kind => kind,
        };
        let kind = match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            _ => Kind::Other,
        };
        found.push((name, kind));
    }
    Ok(found)
}

fn remove_all(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    // What a folder answers to this differs between systems, so it is not looked at.
    if gone(unlinkat(folder, name, AtFlags::empty())).is_ok() {
        return Ok(());
    }
    let inner = opened_up(folder, name)?;
    for (entry, _) in list(&inner)? {
        remove_all(&inner, &entry)?;
    }
    gone(unlinkat(folder, name, AtFlags::REMOVEDIR))
}

/// A folder, whose mode is mended first where it keeps its owner out.
fn opened_up(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let all = Mode::from_raw_mode(0o700);
    let inner = match openat(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            unlock(folder, name, all)?;
            openat(folder, name, FOLDER, Mode::empty())?
        }
        found => found?,
    };
    let _ = fchmod(&inner, all);
    Ok(inner)
}

/// Linux changes no mode without either following links or having opened what it is about; a handle
/// that may do nothing else can be had of what may not be read.
#[cfg(target_os = "linux")]
fn unlock(folder: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let how = FOLDER.union(OFlags::PATH);
    let handle = openat(folder, name, how, Mode::empty())?;
    let place = format!("/proc/self/fd/{}", handle.as_raw_fd());
    Ok(rustix::fs::chmod(place, mode)?)
}

#[cfg(not(target_os = "linux"))]
fn unlock(folder: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<()> {
    Ok(rustix::fs::chmodat(
        folder,
        name,
        mode,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder `work` with a link `link` to the folder `outside` beside it, which holds `kept`.
    fn beside() -> (tempfile::TempDir, Beneath) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("work/in/deep")).unwrap();
        std::fs::create_dir(at("outside")).unwrap();
        std::fs::write(at("outside/kept"), "kept").unwrap();
        symlink(at("outside"), at("work/link")).unwrap();
        symlink(at("outside/kept"), at("work/file-link")).unwrap();
        let beneath = Beneath::open(&at("work")).unwrap();
        (folder, beneath)
    }

    const PLAIN: Mode = Mode::from_raw_mode(0o644);

    #[test]
    fn nothing_is_read_written_or_removed_through_a_link() {
        let (folder, work) = beside();
        let now = SystemTime::now();
        let kept = Path::new("link/kept");
        assert!(work.read(kept, 100).is_err());
        assert!(work.write(kept, b"other", PLAIN, now).is_err());
        assert!(work.remove(kept).is_err());
        assert!(work.remove_all(kept).is_err());
        assert!(work.list(Path::new("link")).is_err());
        assert!(work.make_folders(Path::new("link/new/a")).is_err());
        assert!(work.read(Path::new("file-link"), 100).is_err());
        // A link itself is replaced and removed, not what it leads to.
        work.write(Path::new("file-link"), b"mine", PLAIN, now)
            .unwrap();
        work.remove_all(Path::new("link")).unwrap();
        let outside = folder.path().join("outside");
        assert_eq!(std::fs::read(outside.join("kept")).unwrap(), b"kept");
        assert_eq!(std::fs::read_dir(outside).unwrap().count(), 1);
    }

    #[test]
    fn no_path_leads_up_or_begins_at_the_root() {
        let (folder, work) = beside();
        let whole = folder.path().join("outside/kept");
        for wrong in [
            Path::new("../outside/kept"),
            Path::new("in/../../outside/kept"),
            &whole,
        ] {
            assert!(work.read(wrong, 100).is_err(), "{wrong:?}");
            assert!(work.remove(wrong).is_err(), "{wrong:?}");
        }
        assert!(whole.exists());
    }

    #[test]
    fn a_file_comes_and_goes_with_its_mode() {
        let (_folder, work) = beside();
        let path = Path::new("in/new/a");
        assert_eq!(work.read(path, 100).unwrap(), None);
        assert_eq!(work.make_folders(path).unwrap(), [Path::new("in/new")]);
        let mode = Mode::from_raw_mode(0o755);
        work.write(path, b"four", mode, SystemTime::now()).unwrap();
        assert_eq!(work.read(path, 4).unwrap(), Some((b"four".to_vec(), mode)));
        assert!(work.read(path, 3).is_err());
        work.remove(path).unwrap();
        work.remove_empty(Path::new("in/new")).unwrap();
        assert_eq!(
            work.list(Path::new("in")).unwrap(),
            [("deep".into(), Kind::Folder)]
        );
    }

    #[test]
    fn a_folder_that_was_made_unwritable_goes_as_well() {
        let (folder, work) = beside();
        let deep = folder.path().join("work/in/deep");
        std::fs::write(deep.join("a"), "").unwrap();
        for place in [deep.as_path(), deep.parent().unwrap()] {
            let mode = std::fs::Permissions::from_mode(0o0);
            std::fs::set_permissions(place, mode).unwrap();
        }
        work.remove_all(Path::new("in")).unwrap();
        assert!(!folder.path().join("work/in").exists());
    }

    /// Waiting for a writer would never end.
    #[test]
    fn a_pipe_is_no_file() {
        let (folder, work) = beside();
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path().join("work/pipe"))
            .status();
        assert!(made.unwrap().success());
        assert!(work.read(Path::new("pipe"), 100).is_err());
    }
}
