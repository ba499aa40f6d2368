//! Standard output and standard error, which may be closed or full.
//!
//! The standard library's macros end the program in a panic where a line cannot be written: `verify 2>&1 |
//! head -1` would throw an hour's evidence away for a reader that had seen enough. So the macros of these
//! names here shadow them in all of `cli`:
//!
//! - A reader who went away is nobody's fault. The command goes on to its end, and its exit code is the answer.
//! - An answer that could not be written for another reason (a full disk) was not given: that is told once on
//!   standard error, and [`lost`] makes the command end with a fault.
//! - What goes to standard error is told to whoever watches. Nothing depends on it.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static LOST: AtomicBool = AtomicBool::new(false);

/// Writes a part of the answer.
pub(super) fn answer(text: Arguments<'_>) {
    if let Err(error) = write(&mut io::stdout().lock(), text)
        && !LOST.swap(true, Ordering::Relaxed)
    {
        complain(format_args!(
            "countersign: the answer could not be written: {error}\n"
        ));
    }
}

/// Tells whoever watches.
pub(super) fn complain(text: Arguments<'_>) {
    let _ = write(&mut io::stderr().lock(), text);
}

/// Whether a part of the answer could not be written, though somebody may wait for it.
pub(super) fn lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

fn write(to: &mut impl Write, text: Arguments<'_>) -> io::Result<()> {
    match to.write_fmt(text).and_then(|()| to.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

macro_rules! print {
    ($($text:tt)*) => { $crate::cli::streams::answer(format_args!($($text)*)) };
}

macro_rules! println {
    () => { $crate::cli::streams::answer(format_args!("\n")) };
    ($($text:tt)*) => {
        $crate::cli::streams::answer(format_args!("{}\n", format_args!($($text)*)))
    };
}

macro_rules! eprint {
    ($($text:tt)*) => { $crate::cli::streams::complain(format_args!($($text)*)) };
}

macro_rules! eprintln {
    () => { $crate::cli::streams::complain(format_args!("\n")) };
    ($($text:tt)*) => {
        $crate::cli::streams::complain(format_args!("{}\n", format_args!($($text)*)))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream on which every write ends like this.
    struct Ends(ErrorKind);

    impl Write for Ends {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_who_went_away_is_no_fault_and_a_full_disk_is_one() {
        assert!(write(&mut Ends(ErrorKind::BrokenPipe), format_args!("a")).is_ok());
        let full = write(&mut Ends(ErrorKind::StorageFull), format_args!("a"));
        assert_eq!(full.unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
