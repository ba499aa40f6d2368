//! The `countersign` binary: reads `.env`, hands its words to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A missing file is the usual case; a malformed one must not be half read.
    if let Err(error) = countersign::settings::env_file::load() {
        let text = format!("countersign: {error}\n");
        // Nobody may be there to read it.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        return ExitCode::from(2);
    }
    countersign::cli::main(std::env::args_os())
}
