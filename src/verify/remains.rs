//! What verifications that were killed left behind.
//!
//! A verification works in a temporary folder that goes when it ends, in whatever way but one: whoever is
//! killed by SIGKILL, or loses the machine's power, takes nothing away. Such folders hold whole trees with what was
//! built in them, so the next verification looks for them. Whether one is in use is told by a lock on a file
//! in it, which the system lets go of with the process that held it, however that ended.
//!
//! Only folders with such a file are looked at: others with our prefix are somebody else's business. The file
//! gets its name once it is locked, so that none is ever seen unlocked while its verification lives. Whatever
//! cannot be taken away is left, and says nothing of the head.
//!
//! Known race: without walls, a command of the killed verification may still write where its folder was.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use tempfile::TempDir;

/// How our folders begin.
const PREFIX: &str = "countersign-";
const NAME: &str = "in-use";

/// A temporary folder of ours, and what tells that it is in use for as long as that lives. Those that are no
/// longer in use go.
pub(super) fn folder() -> io::Result<(TempDir, File)> {
    clear_away(&std::env::temp_dir());
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
    let held = hold(folder.path())?;
    Ok((folder, held))
}

/// Marks a folder as one in use, for as long as the answer lives.
fn hold(folder: &Path) -> io::Result<File> {
    let unready = folder.join("in-use.new");
    let file = File::create_new(&unready)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    std::fs::rename(&unready, folder.join(NAME))?;
    Ok(file)
}

/// Takes away the folders in this one whose verification is no more.
fn clear_away(place: &Path) {
    let Ok(entries) = std::fs::read_dir(place) else {
        return;
    };
    let ours = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
    });
    for entry in ours {
        if let Some(_held) = abandoned(&entry.path()) {
            // Held until it is gone, so that two who look at once do not both begin.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The lock of a folder that nobody else holds.
fn abandoned(folder: &Path) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut how = OpenOptions::new();
    how.read(true).custom_flags(flags.bits().cast_signed());
    let file = how.open(folder.join(NAME)).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_whose_verification_is_no_more_are_taken_away() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = place.path().join(name);
            std::fs::create_dir_all(folder.join("work-0")).unwrap();
            folder
        };
        let (alive, dead) = (folder("countersign-aaaaaa"), folder("countersign-bbbbbb"));
        let (young, other) = (folder("countersign-cccccc"), folder("others-dddddd"));
        let held = hold(&alive).unwrap();
        drop(hold(&dead).unwrap());
        drop(hold(&other).unwrap());
        clear_away(place.path());
        assert!(alive.exists() && young.exists() && other.exists());
        assert!(!dead.exists());
        drop(held);
        // A child that another test starts at this moment holds a copy of the lock until it is its own program.
        let gone = (0..10_000).any(|_| {
            std::thread::yield_now();
            clear_away(place.path());
            !alive.exists()
        });
        assert!(gone);
    }
}
