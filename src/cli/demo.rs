//! stub
use super::{Ended, Exit};
/// stub
#[derive(Debug, clap::Args)]
pub struct DemoArgs {}
/// stub
pub async fn run(_: DemoArgs) -> Ended {
    Ok(Exit::Done)
}
