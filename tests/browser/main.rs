//! The pages in a real browser: signing in, the dashboard, a pull request, wide and narrow, light and
//! dark.
//!
//! Chromium is looked for as `chromium`, `chromium-browser` or `google-chrome`, or where
//! `COUNTERSIGN_CHROMIUM` says; it is driven by npm `playwright-core` from `target/npm`. Where either is
//! missing the test is left out, unless `COUNTERSIGN_TEST_ALL` is set. `COUNTERSIGN_SCREENSHOTS` names a
//! folder for pictures of what was seen.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

#[path = "../support/stage.rs"]
#[allow(dead_code, reason = "stories use the rest of the stage")]
mod stage;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stage::Stage;

const TOKEN: &str = "a-long-random-token";

/// The browser and the folder with its driver, if they are there.
fn browser() -> Option<(PathBuf, PathBuf)> {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/npm");
    let program = std::env::var_os("COUNTERSIGN_CHROMIUM")
        .map(PathBuf::from)
        .or_else(|| {
            let names = ["chromium", "chromium-browser", "google-chrome"];
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path)
                .flat_map(|folder| names.map(|name| folder.join(name)))
                .find(|file| file.exists())
        });
    let there = driver.join("node_modules/playwright-core").exists();
    match program {
        Some(program) if there => Some((program, driver)),
        program => {
            let all = std::env::var_os("COUNTERSIGN_TEST_ALL").is_some();
            assert!(!all, "browser: {program:?}, its driver: {there}");
            println!("left out: no browser, or no driver for it");
            None
        }
    }
}

/// Everything that the browser saw, page by page.
async fn look(base: &str, pull: &str) -> Option<Vec<Value>> {
    let (program, driver) = browser()?;
    // Node looks for packages above the script: it must lie beside them.
    let script = driver.join("look.mjs");
    std::fs::write(&script, include_str!("look.mjs")).unwrap();
    let mut command = tokio::process::Command::new("node");
    command.arg(&script).args([base, TOKEN, pull]);
    if let Some(folder) = std::env::var_os("COUNTERSIGN_SCREENSHOTS") {
        std::fs::create_dir_all(&folder).unwrap();
        command.arg(folder);
    }
    let done = command.env("COUNTERSIGN_CHROMIUM", program).output().await;
    let done = done.unwrap();
    let complaint = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{complaint}");
    Some(serde_json::from_slice(&done.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn people_sign_in_find_a_pull_request_and_read_what_is_open() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let twin = stage.evidence(&pull);
    stage.reports(&stage.twin, &pull, &twin).await;
    let other = stage.open_other("agent/<script>alert(1)").await;
    stage.unit_passes(&other).await;
    let base = stage.serve_pages(TOKEN).await;
    let Some(seen) = look(&base, "/repos/acme/shop/pulls/1").await else {
        return;
    };
    assert_eq!(seen.len(), 16);
    for page in &seen {
        let name = page["name"].as_str().unwrap();
        assert_eq!(page["overflows"], false, "{name} is wider than the screen");
        assert_eq!(page["styled"], true, "{name} has no style");
        assert_eq!(page["unlabelled"], 0, "{name} has inputs without a label");
        assert_eq!(page["elsewhere"], json!([]), "{name} loads from elsewhere");
        assert_eq!(page["headings"].as_array().unwrap().len(), 1, "{name}");
        // A refused sign-in is answered 401, which the browser's console repeats.
        let refused = name.ends_with("refused") || name.ends_with("signin");
        let errors = page["status"].as_array().unwrap();
        assert!(refused || errors.is_empty(), "{name}: {errors:?}");
        let text = page["text"].as_str().unwrap();
        for (of, words) in [
            ("signin", "COUNTERSIGN_API_TOKEN"),
            ("refused", "That is not the server's token."),
            ("dashboard", "Record every start"),
            ("pull", "independent"),
        ] {
            assert!(
                !name.ends_with(of) || text.contains(words),
                "{name}: {text}"
            );
        }
    }
}
