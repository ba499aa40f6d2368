//! What is laid out once the story is told, for whoever wants to try the other commands on it.
//!
//! A pull request that waits for nothing but a countersignature, an evidence document that gives it, the key
//! that signs it, and a `.env` in the same folder, where every command looks for its settings. All of it is
//! made for this one demo and goes with it; the folder is its owner's alone. No key is printed.

use std::path::Path;

use anyhow::Context as _;
use secrecy::ExposeSecret as _;

use super::evidence::claim;
use super::stage::{Stage, database};
use super::story::gate;
use crate::simulator::Edits;

/// Lays it out; answers what to type. Where the pull request does not come to wait, the rest is laid out all the
/// same.
///
/// # Errors
/// What could not be laid out.
pub async fn lay_out(stage: &Stage) -> anyhow::Result<String> {
    settings(stage)?;
    let folder = stage.folder();
    let program = std::env::current_exe().unwrap_or_else(|_| "countersign".into());
    let waiting = waiting(stage).await;
    if let Err(why) = &waiting {
        eprintln!("countersign: no evidence is laid out to try: {why:#}");
    }
    Ok(commands(folder, &program, &stage.dashboard, waiting.ok()))
}

/// Where every command finds the demo.
fn settings(stage: &Stage) -> anyhow::Result<()> {
    let folder = stage.folder();
    let app = stage.github.app();
    let key = folder.join("app.private-key.pem");
    let settings = [
        ("DATABASE_URL", database(folder)),
        ("GITHUB_API_URL", stage.github_url.clone()),
        ("APP_ID", app.app_id.to_string()),
        ("PRIVATE_KEY_PATH", key.display().to_string()),
        ("WEBHOOK_SECRET", app.webhook_secret.clone()),
    ];
    let settings = settings.map(|(name, value)| format!("COUNTERSIGN_{name}='{value}'\n"));
    std::fs::write(&key, &app.private_key_pem)?;
    std::fs::write(folder.join(".env"), settings.concat())?;
    std::fs::write(folder.join("policy.yml"), &stage.policy)?;
    Ok(())
}

/// The pull request that waits for the evidence that is laid out.
async fn waiting(stage: &Stage) -> anyhow::Result<u64> {
    let edits = Edits::write("notes.md", "Nothing critical.\n");
    stage
        .agent
        .push(&stage.shop, "agent/note", "Leave a note", edits)?;
    let pull = stage
        .agent
        .open_pull(&stage.shop, "agent/note", "main", "Leave a note")?;
    let actions = stage.github.actions();
    actions.pass(&stage.shop, &pull.head()?, "unit")?;
    let number = pull.look(|pull| pull.number)?;
    let waits = |verdict: &serde_json::Value| {
        gate(verdict, "checks") == "satisfied" && gate(verdict, "second_verifier") == "waiting"
    };
    let waiting = stage.verdict(&pull, waits).await;
    waiting.with_context(|| format!("#{number} does not come to wait for a verifier"))?;
    let evidence = claim(stage, &pull, true).context("its head is gone")?;
    let folder = stage.folder();
    let key = stage.desk.pem()?;
    std::fs::write(folder.join("verifier.pem"), key.expose_secret())?;
    std::fs::write(folder.join("evidence.json"), evidence.to_string())?;
    Ok(number)
}

/// What to type in another terminal.
fn commands(folder: &Path, program: &Path, dashboard: &str, waits: Option<u64>) -> String {
    let program = quoted(program);
    let folder = quoted(folder);
    let any = waits.unwrap_or(1);
    let submit = waits.map(|number| {
        format!(
            "#{number} waits for a second verifier. This posts the evidence of one, signed with its key, and \
             #{number} is merged:

  {program} evidence submit evidence.json --key verifier.pem --url {dashboard}

"
        )
    });
    format!(
        "
To try the other commands on it, in another terminal:

  cd {folder}   # its .env names the database, the App and its key

  {program} next acme/shop
  {program} scorecard acme/shop
  {program} ledger verify
  {program} explain 'acme/shop#{any}'
  {program} policy check policy.yml --repo acme/shop

{submit}The folder and the keys in it are made for this demo, and go with it.
",
        submit = submit.unwrap_or_default()
    )
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |one: char| one.is_ascii_alphanumeric() || "/._-+:@%,".contains(one);
    match path.chars().all(plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_can_be_pasted_wherever_the_program_and_the_folder_are() {
        insta::assert_snapshot!(commands(
            Path::new("/tmp/countersign-demo-Ab3dE6"),
            Path::new("/home/ann's work/countersign"),
            "http://127.0.0.1:8137",
            Some(16)
        ));
    }

    #[test]
    fn where_nothing_waits_for_evidence_the_other_commands_are_told() {
        insta::assert_snapshot!(commands(
            Path::new("/tmp/countersign-demo-Ab3dE6"),
            Path::new("/usr/bin/countersign"),
            "http://127.0.0.1:8137",
            None
        ), @"
        To try the other commands on it, in another terminal:

          cd /tmp/countersign-demo-Ab3dE6   # its .env names the database, the App and its key

          /usr/bin/countersign next acme/shop
          /usr/bin/countersign scorecard acme/shop
          /usr/bin/countersign ledger verify
          /usr/bin/countersign explain 'acme/shop#1'
          /usr/bin/countersign policy check policy.yml --repo acme/shop

        The folder and the keys in it are made for this demo, and go with it.
        ");
    }
}
