//! The `countersign` binary: hands its words to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    countersign::cli::main(std::env::args_os())
}
