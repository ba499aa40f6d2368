//! The files of a report, as other programs wrote them.
//!
//! A report may have been made by code that is not trusted, and what it names is read by whoever imports
//! it. So only plain files are opened (a pipe would be waited for without end), no more than so many bytes
//! of each, and what belongs to a report lies in its folder when every link on the way is followed.

use std::io::Read;
use std::path::Path;

use super::{Complaint, Exit};

/// The largest file that is read, in bytes: some reports hold every source file.
const LARGEST: u64 = 64 * 1024 * 1024;

/// What a plain file holds.
pub(super) fn bytes_of(file: &Path) -> Result<Vec<u8>, Complaint> {
    let known = std::fs::metadata(file).map_err(|error| unreadable(file, &error))?;
    if !known.is_file() {
        return Err(unreadable(file, &"it is no plain file"));
    }
    let mut bytes = Vec::new();
    let read = std::fs::File::open(file).and_then(|f| f.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(file, &error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable(file, &"it is larger than 64 MiB"));
    }
    Ok(bytes)
}

/// The text of a plain file.
pub(super) fn text_of(file: &Path) -> Result<String, Complaint> {
    String::from_utf8(bytes_of(file)?).map_err(|_| unreadable(file, &"it is not UTF-8 text"))
}

/// The text of a document: a plain file, or `-` for standard input.
pub(super) fn document(file: &Path) -> Result<String, Complaint> {
    if file.as_os_str() != "-" && std::fs::metadata(file).is_ok_and(|known| !known.is_file()) {
        let why = "it is no plain file; what comes through a pipe is read as `-`";
        return Err(unreadable(file, &why));
    }
    super::text_of(file)
}

/// Refuses a file that does not lie in this folder.
pub(super) fn within(folder: &Path, file: &Path) -> Result<(), Complaint> {
    let real = |path: &Path| {
        path.canonicalize()
            .map_err(|error| unreadable(path, &error))
    };
    match real(file)?.starts_with(real(folder)?) {
        true => Ok(()),
        false => {
            let why = format!("it lies outside of {}", folder.display());
            Err(unreadable(file, &why))
        }
    }
}

pub(super) fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> Complaint {
    Complaint::new(Exit::Usage, format!("{}: {error}", file.display()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn fifo(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }

    #[test]
    fn a_pipe_and_a_folder_are_no_files_to_read() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("pipe");
        fifo(&pipe);
        for odd in [pipe.as_path(), scratch.path()] {
            let told = bytes_of(odd).unwrap_err();
            assert!(told.text.ends_with("it is no plain file"), "{}", told.text);
            let told = document(odd).unwrap_err();
            assert!(told.text.contains("it is no plain file"), "{}", told.text);
        }
        std::fs::write(scratch.path().join("plain"), "a").unwrap();
        for read in [text_of, document] {
            assert_eq!(read(&scratch.path().join("plain")).unwrap(), "a");
        }
    }

    #[test]
    fn what_a_report_names_lies_in_its_folder_also_behind_links() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("mutants.out");
        std::fs::create_dir_all(folder.join("log")).unwrap();
        std::fs::write(scratch.path().join("secret"), "a").unwrap();
        std::fs::write(folder.join("log/a.log"), "a").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
        std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
        assert!(within(&folder, &folder.join("log/a.log")).is_ok());
        assert!(within(&folder, &folder.join("log/../log/a.log")).is_ok());
        for outside in ["../secret", "link", "up/secret", "/etc/passwd"] {
            assert!(within(&folder, &folder.join(outside)).is_err(), "{outside}");
        }
    }
}
