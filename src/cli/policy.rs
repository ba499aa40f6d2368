//! stub
use super::{Complaint, Ended, Exit};
use std::path::{Path, PathBuf};
pub fn check(_: &Path) -> Ended {
    Ok(Exit::Done)
}
pub fn schema() -> Ended {
    Ok(Exit::Done)
}
pub fn check_evidence(_: &[PathBuf]) -> Ended {
    Ok(Exit::Done)
}
pub fn text_of(file: &Path) -> Result<String, Complaint> {
    std::fs::read_to_string(file).map_err(|e| Complaint::new(Exit::Usage, e.to_string()))
}
