//! The pages in a real browser: signing in, the dashboard, a pull request, and the registration of the
//! App (`setup`), wide and narrow, light and dark.
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

mod setup;
#[path = "../support/stage.rs"]
#[allow(dead_code, reason = "stories use the rest of the stage")]
mod stage;

use std::path::{Path, PathBuf};
use std::sync::Once;

use serde_json::{Value, json};
use stage::Stage;

const TOKEN: &str = "a-long-random-token";

/// What holds for every page, however it is looked at.
fn is_sound(page: &Value) {
    let name = page["name"].as_str().unwrap();
    assert_eq!(page["overflows"], false, "{name} is wider than the screen");
    assert_eq!(page["styled"], true, "{name} has no style");
    assert_eq!(page["unlabelled"], 0, "{name} has inputs without a label");
    assert_eq!(page["elsewhere"], json!([]), "{name} loads from elsewhere");
    assert_eq!(page["headings"].as_array().unwrap().len(), 1, "{name}");
}

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

/// What a script tells that drives the browser.
async fn drive(script: &str, args: &[&str]) -> Option<Value> {
    static SCRIPTS: Once = Once::new();
    let (program, driver) = browser()?;
    // Node looks for packages above the script: it must lie beside them.
    SCRIPTS.call_once(|| {
        for (name, text) in [
            ("see.mjs", include_str!("see.mjs")),
            ("look.mjs", include_str!("look.mjs")),
            ("setup.mjs", include_str!("setup.mjs")),
        ] {
            std::fs::write(driver.join(name), text).unwrap();
        }
    });
    let mut command = tokio::process::Command::new("node");
    command.arg(driver.join(script)).args(args);
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
    let args = [base.as_str(), TOKEN, "/repos/acme/shop/pulls/1"];
    let Some(seen) = drive("look.mjs", &args).await else {
        return;
    };
    let seen = seen.as_array().unwrap();
    assert_eq!(seen.len(), 16);
    for page in seen {
        is_sound(page);
        let name = page["name"].as_str().unwrap();
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
