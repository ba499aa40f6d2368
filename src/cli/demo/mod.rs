//! `countersign demo`: the main story, on embedded parts.
//!
//! A GitHub on loopback (over real git repositories), the server with its webhook, worker and dashboard
//! on a throw-away SQLite database, and people and Apps who act. The second verifier is the real runner on
//! the real repository: which mutants survive is found, not told. Nothing is staged between the two:
//! deliveries are signed and posted, the server reads and writes by HTTP, and each step waits until the
//! verdict on record is the expected one. A step that does not come to it ends the story with exit
//! code 1.

mod evidence;
mod stage;
mod story;
mod trying;

use std::net::SocketAddr;

use clap::Args;
use tokio::net::TcpListener;

use super::stops::Stops;
use super::{Complaint, Ended, Exit};
use stage::Stage;

/// How the demo runs.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// End after the story; exit code 0 only if every step came to its expected state.
    #[arg(long)]
    exit: bool,
    /// Where the dashboard listens; a free port is taken when this one is in use.
    #[arg(long, value_name = "IP:PORT", default_value = crate::settings::LISTEN)]
    listen: SocketAddr,
}

/// Plays the story.
pub async fn run(args: DemoArgs) -> Ended {
    let internal =
        |error: &dyn std::fmt::Display| Complaint::new(Exit::Internal, error.to_string());
    let needs = [
        ("git", "the demo's GitHub stands on real git repositories"),
        (
            "cargo",
            "the demo's verifier runs the tests of a real crate",
        ),
    ];
    for (program, why) in needs {
        let there = std::process::Command::new(program)
            .arg("--version")
            .output();
        if there.is_err() {
            let text = format!("{why}: install `{program}` first");
            return Err(Complaint::new(Exit::Usage, text));
        }
    }
    let listener = match TcpListener::bind(args.listen).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(|error| internal(&error))?,
    };
    // Heard before there is anything on disk to clear away.
    let mut stops = Stops::listen();
    let stage = Stage::build(listener)
        .await
        .map_err(|error| internal(&error))?;
    println!("A GitHub on loopback:  {}", stage.github_url);
    println!("Countersign:           {}\n", stage.dashboard);
    let told = tokio::select! {
        told = story::play(&stage) => told,
        () = stops.next() => {
            stage.stop().await;
            return Ok(Exit::Done);
        }
    };
    let ended = match told {
        Ok(()) => {
            println!("\nEvery step came to its expected state.");
            Exit::Done
        }
        Err(why) => {
            eprintln!("\ncountersign: {why}");
            Exit::No
        }
    };
    if !args.exit {
        tokio::select! {
            () = stand(&stage) => {}
            () = stops.next() => {}
        }
    }
    stage.stop().await;
    Ok(ended)
}

/// Stays up until somebody ends it, with what there is to try.
async fn stand(stage: &Stage) {
    println!(
        "The dashboard stays up at {at} (Ctrl-C ends it).\n\
         What to do next there: {at}/repos/acme/shop. What was told above: {at}/repos/acme/shop/pulls/1 \
         to /6.",
        at = stage.dashboard
    );
    match trying::lay_out(stage).await {
        Ok(text) => print!("{text}"),
        Err(why) => eprintln!("countersign: nothing could be laid out to try: {why:#}"),
    }
    std::future::pending::<()>().await;
}
