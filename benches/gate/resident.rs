//! How much memory the server holds with a thousand open pull requests: the release program itself,
//! after its sweep at the start, with its dashboard looked at. It publishes a check run on each, at the pace
//! of one write a second that GitHub asks for: this takes a quarter of an hour.

use std::time::{Duration, Instant};

use countersign::simulator::Edits;
use countersign::simulator::http::Limits;

use crate::place::{Kind, Place};
use crate::run;
use crate::server::{Server, get};
use crate::stage::Stage;

const OPEN: usize = 1_000;
/// What takes longer than this has gone wrong.
const PATIENCE: Duration = Duration::from_secs(1_800);

pub fn measure() -> Vec<String> {
    run(async {
        let stage = Stage::new().await;
        let mut heads = Vec::new();
        for nth in 0..OPEN {
            let edits = Edits::write(&format!("src/part_{nth}.rs"), "pub fn part() {}\n");
            let branch = format!("agent/{nth}");
            let title = format!("Part {nth}");
            stage
                .agent
                .push(&stage.shop, &branch, &title, edits)
                .unwrap();
            let pull = stage.agent.open_pull(&stage.shop, &branch, "main", &title);
            heads.push(pull.unwrap().head().unwrap());
        }
        // What the stage's own product would have been told is not for the program.
        stage.github.lose_pending();
        // The program lives by the real clock.
        let real = chrono::Utc::now();
        stage.clock.advance(real - stage.clock.now());
        stage.github.clear_calls();
        stage.github.set_limits(Limits {
            hourly: 1_000_000,
            ..Limits::default()
        });
        let place = Place::new(Kind::Sqlite).unwrap();
        let began = Instant::now();
        let mut server = Server::start(&stage, &place, "10m");
        for head in &heads {
            while stage.our_check(head).is_none() {
                assert!(began.elapsed() < PATIENCE, "the sweep does not end");
                assert!(server.lives(), "the server ended");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        let swept = began.elapsed().as_secs_f64();
        let calls = stage.github.calls().len();
        let after_sweep = server.resident();
        for _ in 0..20 {
            let page = get(server.address, "/").await.unwrap();
            assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        }
        let looked = server.resident();
        vec![
            format!(
                "first sweep of {OPEN} open pull requests: {swept:.1} s, {calls} calls to GitHub"
            ),
            format!(
                "resident after it: {after_sweep} MB; after looking at the dashboard: {looked} MB"
            ),
        ]
    })
}
