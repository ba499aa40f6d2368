//! The `countersign` binary: reads `.env`, hands its words to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A missing file is the usual case; a malformed one must not be half read.
    match dotenvy::dotenv() {
        Ok(_) => {}
        Err(error) if error.not_found() => {}
        Err(error) => {
            let text = format!("countersign: the .env file cannot be read: {error}\n");
            // Nobody may be there to read it.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
            return ExitCode::from(2);
        }
    }
    countersign::cli::main(std::env::args_os())
}
