//! The client that posts evidence, against a server: the library's own loop where pauses matter, the program
//! itself for everything that a person types.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use countersign::simulator::PullHandle;
use countersign::submit::{Failure, Proof, Run, Server, SigningKey, Taken, Watch, submit};
use serde_json::{Value, json};

use crate::stage::{Evidence, POLICY, PUBLIC_URL, Stage};

const WORKFLOW: &str = ".github/workflows/verify.yml";
const MAIN: &str = "refs/heads/main";
/// The first key of RFC 8032, section 7.1.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";
const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

fn policy() -> String {
    let verifiers = format!(
        "verifiers:\n  nightly: {{ workflow: {WORKFLOW}, vendor: openai, model: gpt-5-codex }}\n  \
         sealed: {{ key: {KEY}, vendor: google, model: gemini-pro }}\n"
    );
    POLICY.replace("verifiers:\n", &verifiers)
}

/// What the program answered.
#[derive(Debug)]
struct Answer {
    code: i32,
    out: String,
    err: String,
}

/// A pull request that lacks nothing but evidence, a server, and a folder for files.
struct Desk {
    stage: Stage,
    pull: PullHandle,
    url: String,
    folder: tempfile::TempDir,
}

impl Desk {
    async fn new() -> Self {
        let stage = Stage::with_policy(&policy()).await;
        let pull = stage.open_pull().await;
        stage.unit_passes(&pull).await;
        let url = stage.serve_pages("token").await;
        let folder = tempfile::tempdir().unwrap();
        Self {
            stage,
            pull,
            url,
            folder,
        }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn good(&self) -> Evidence {
        self.stage.evidence(&self.pull)
    }

    fn document(&self, evidence: &Evidence) -> String {
        self.file("evidence.json", &evidence.0.to_string())
    }

    fn claims(&self) -> Value {
        let github = &self.stage.github;
        github.run_claims(&self.pull, WORKFLOW, MAIN, "nobody yet")
    }

    /// The variables of a run with these claims.
    fn run_of(&self, claims: Value) -> Vec<(String, String)> {
        let (address, secret) = self.stage.github.grant_tokens(claims);
        vec![
            ("GITHUB_ACTIONS".to_owned(), "true".to_owned()),
            ("ACTIONS_ID_TOKEN_REQUEST_URL".to_owned(), address),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN".to_owned(), secret),
        ]
    }

    /// Runs the program with these words, in a world of these variables alone.
    async fn program(&self, words: &[&str], variables: &[(String, String)]) -> Answer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(words).env_clear();
        command.envs(variables.iter().cloned());
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output());
        let output = output.await.unwrap().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let answer = Answer {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
        };
        let told = format!("{}{}", answer.out, answer.err);
        for (name, value) in variables {
            let secret = name == "ACTIONS_ID_TOKEN_REQUEST_TOKEN";
            assert!(!secret || !told.contains(value), "a secret is told: {told}");
        }
        assert!(!told.contains("eyJ"), "a token is told: {told}");
        assert!(!told.contains("MC4CAQ"), "a key is told: {told}");
        self.stage.settle().await;
        answer
    }

    /// `evidence submit` of a document in the name of a run.
    async fn by_run(&self, evidence: &Evidence, claims: Value) -> Answer {
        let file = self.document(evidence);
        let words = ["evidence", "submit", &file, "--url", &self.url];
        let words = [&words[..], &["--audience", PUBLIC_URL]].concat();
        self.program(&words, &self.run_of(claims)).await
    }

    /// `evidence submit` of a document with a key.
    async fn by_key(&self, evidence: &Evidence, pem: &str) -> Answer {
        let (file, key) = (self.document(evidence), self.file("key.pem", pem));
        let words = [
            "evidence", "submit", &file, "--url", &self.url, "--key", &key,
        ];
        self.program(&words, &[]).await
    }

    async fn nothing_came_of_it(&self) {
        let state = self.stage.state(&self.pull, "second_verifier").await;
        assert_eq!(state, "waiting");
        assert!(!self.stage.merged(&self.pull));
    }
}

#[tokio::test]
async fn in_a_workflow_run_the_identity_is_found_by_itself_and_the_gate_merges() {
    let desk = Desk::new().await;
    let answer = desk.by_run(&desk.good(), desk.claims()).await;
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert_eq!(answer.err, "posted: the server has stored the document\n");
    assert!(desk.stage.merged(&desk.pull));
}

#[tokio::test]
async fn with_a_key_of_the_policy_it_is_signed_and_the_gate_merges() {
    let desk = Desk::new().await;
    let answer = desk.by_key(&desk.good(), PEM).await;
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(desk.stage.merged(&desk.pull));
}

#[tokio::test]
async fn the_key_that_keygen_makes_signs_once_the_policy_names_what_it_printed() {
    let mut desk = Desk::new().await;
    let made = desk.program(&["evidence", "keygen", "mine.pem"], &[]).await;
    assert_eq!(made.code, 0, "{}", made.err);
    let line = made
        .out
        .lines()
        .find_map(|line| line.trim().strip_prefix("key: "));
    let public = line.unwrap().to_owned();
    let again = desk.program(&["evidence", "keygen", "mine.pem"], &[]).await;
    assert_eq!(again.code, 2);
    assert!(again.err.contains("never overwritten"), "{}", again.err);

    desk.stage = Stage::with_policy(&policy().replace(KEY, &public)).await;
    desk.pull = desk.stage.open_pull().await;
    desk.stage.unit_passes(&desk.pull).await;
    desk.url = desk.stage.serve_pages("token").await;
    let pem = std::fs::read_to_string(desk.folder.path().join("mine.pem")).unwrap();
    let answer = desk.by_key(&desk.good(), &pem).await;
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(desk.stage.merged(&desk.pull));
}

#[tokio::test]
async fn a_key_that_the_policy_does_not_name_is_refused_with_where_to_name_it() {
    use secrecy::ExposeSecret as _;
    let desk = Desk::new().await;
    let key = SigningKey::new().unwrap();
    let pem = key.pem().unwrap();
    let answer = desk.by_key(&desk.good(), pem.expose_secret()).await;
    assert_eq!(answer.code, 3, "{}", answer.err);
    let told = format!("Put `key: {}` under a verifier", key.public());
    assert!(answer.err.contains("(401)"), "{}", answer.err);
    assert!(answer.err.contains(&told), "{}", answer.err);
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn a_forks_run_is_refused_and_told_why() {
    let desk = Desk::new().await;
    let github = &desk.stage.github;
    let fork = github.user("mallory").fork(&desk.stage.shop).unwrap();
    let claims = github.claims_of(&fork, WORKFLOW, MAIN, "nobody yet");
    let answer = desk.by_run(&desk.good(), claims).await;
    assert_eq!(answer.code, 3, "{}", answer.err);
    assert!(answer.err.contains("(403)"), "{}", answer.err);
    assert!(answer.err.contains("repository_id"), "{}", answer.err);
    assert!(answer.err.contains("fork"), "{}", answer.err);
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn a_token_for_another_address_is_refused_and_told_how_to_name_the_right_one() {
    let desk = Desk::new().await;
    let file = desk.document(&desk.good());
    let words = ["evidence", "submit", &file, "--url", &desk.url];
    let answer = desk.program(&words, &desk.run_of(desk.claims())).await;
    assert_eq!(answer.code, 3, "{}", answer.err);
    assert!(answer.err.contains(PUBLIC_URL), "{}", answer.err);
    assert!(answer.err.contains("--audience"), "{}", answer.err);
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn without_a_run_and_without_a_key_it_is_told_what_to_do_and_nothing_is_sent() {
    let desk = Desk::new().await;
    let file = desk.document(&desk.good());
    let words = ["evidence", "submit", &file, "--url", &desk.url];
    let answer = desk.program(&words, &[]).await;
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("evidence keygen"), "{}", answer.err);
    let within = [("GITHUB_ACTIONS".to_owned(), "true".to_owned())];
    let answer = desk.program(&words, &within).await;
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("id-token: write"), "{}", answer.err);
}

#[tokio::test]
async fn a_run_whose_secret_is_refused_is_told_to_look_at_its_permissions() {
    let desk = Desk::new().await;
    let mut variables = desk.run_of(desk.claims());
    variables[2].1 = "run-4711".to_owned();
    let file = desk.document(&desk.good());
    let words = ["evidence", "submit", &file, "--url", &desk.url];
    let answer = desk.program(&words, &variables).await;
    assert_eq!(answer.code, 3, "{}", answer.err);
    assert!(
        answer.err.contains("no identity token for this run (401)"),
        "{}",
        answer.err
    );
    assert!(answer.err.contains("id-token: write"), "{}", answer.err);
}

#[tokio::test]
async fn posting_again_is_told_apart_and_another_document_of_the_context_is_refused() {
    let desk = Desk::new().await;
    let rejected = desk.good().with("/result", json!("rejected"));
    assert_eq!(desk.by_key(&rejected, PEM).await.code, 0);
    let again = desk.by_key(&rejected, PEM).await;
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(
        again.err,
        "posted before: the server has this very document\n"
    );
    let other = rejected.with("/vendor", json!("elsewhere"));
    let answer = desk.by_key(&other, PEM).await;
    assert_eq!(answer.code, 3, "{}", answer.err);
    assert!(answer.err.contains("(409)"), "{}", answer.err);
    assert!(answer.err.contains("--context"), "{}", answer.err);

    let file = desk.document(&desk.good().with("/result", json!("rejected")));
    let key = desk.file("key.pem", PEM);
    let words = [
        "evidence", "submit", &file, "--url", &desk.url, "--key", &key, "--json",
    ];
    assert_eq!(desk.program(&words, &[]).await.out, "{\"stored\":false}\n");
}

#[tokio::test]
async fn a_faulty_document_is_refused_with_the_path_of_each_fault() {
    let desk = Desk::new().await;
    let faulty = desk.good().with("/result", json!("splendid"));
    let answer = desk.by_run(&faulty, desk.claims()).await;
    assert_eq!(answer.code, 3, "{}", answer.err);
    assert!(answer.err.contains("(422)"), "{}", answer.err);
    assert!(
        answer.err.contains("\n  predicate.result "),
        "{}",
        answer.err
    );
    let file = desk.file("broken.json", "{ \"_type\": ");
    let words = ["evidence", "submit", &file, "--url", &desk.url];
    let answer = desk.program(&words, &desk.run_of(desk.claims())).await;
    assert_eq!(answer.code, 2, "{}", answer.err);
    assert!(answer.err.contains("is not JSON"), "{}", answer.err);
}

#[tokio::test]
async fn an_oversized_document_is_refused_with_what_to_leave_out() {
    let desk = Desk::new().await;
    let large = desk.good().with("/model", json!("x".repeat(1_700_000)));
    let answer = desk.by_run(&large, desk.claims()).await;
    assert_eq!(answer.code, 3, "{}", answer.err);
    assert!(answer.err.contains("(413)"), "{}", answer.err);
    assert!(answer.err.contains("shorten findings"), "{}", answer.err);
    desk.nothing_came_of_it().await;
}

/// Makes no pauses, remembers them, and mends what is wrong before the next try.
struct Mending<F> {
    made: Mutex<Vec<(Duration, String)>>,
    mend: F,
}

impl<F: Fn(usize) + Send + Sync> Mending<F> {
    fn new(mend: F) -> Self {
        let made = Mutex::default();
        Self { made, mend }
    }

    fn seconds(&self) -> Vec<u64> {
        let made = self.made.lock().unwrap();
        made.iter().map(|(length, _)| length.as_secs()).collect()
    }
}

#[async_trait]
impl<F: Fn(usize) + Send + Sync> Watch for Mending<F> {
    async fn pause(&self, length: Duration, because: &str) {
        let count = {
            let mut made = self.made.lock().unwrap();
            made.push((length, because.to_owned()));
            made.len()
        };
        (self.mend)(count);
    }
}

impl Desk {
    fn server(&self) -> Server {
        Server::at(&self.url, Some(PUBLIC_URL)).unwrap()
    }

    fn proof(&self) -> Proof {
        let (address, secret) = self.stage.github.grant_tokens(self.claims());
        Proof::Run(Run {
            address,
            secret: secret.into(),
        })
    }
}

#[tokio::test]
async fn a_server_that_cannot_say_yet_is_asked_again_when_it_says_and_then_takes_it() {
    let desk = Desk::new().await;
    let github = &desk.stage.github;
    github.fail_token_keys(true);
    let watch = Mending::new(|count| {
        // The server asks for the keys again after a minute.
        desk.stage.clock.advance(chrono::Duration::seconds(61));
        github.fail_token_keys(count < 2);
    });
    let text = desk.good().0.to_string();
    // A token lives five minutes, so each try brings a new one.
    let taken = submit(&text, &desk.server(), &desk.proof(), &watch).await;
    assert_eq!(taken, Ok(Taken::Stored));
    assert_eq!(
        watch.seconds(),
        [10, 10],
        "as the server's Retry-After says"
    );
    let because = watch.made.lock().unwrap()[0].1.clone();
    assert!(because.contains("(503)"), "{because}");
}

#[tokio::test]
async fn a_server_that_stays_unable_is_given_up_after_five_tries() {
    let desk = Desk::new().await;
    desk.stage.github.fail_token_keys(true);
    let watch = Mending::new(|_| {});
    let text = desk.good().0.to_string();
    let taken = submit(&text, &desk.server(), &desk.proof(), &watch).await;
    let Err(Failure::Remote(told)) = taken else {
        panic!("{taken:?}");
    };
    assert!(told.contains("Tried 5 times"), "{told}");
    assert_eq!(watch.seconds().len(), 4);
}

#[tokio::test]
async fn a_server_that_has_had_enough_for_an_hour_is_not_waited_for() {
    let desk = Desk::new().await;
    let watch = Mending::new(|_| {});
    let proof = Proof::Key(SigningKey::read(PEM).unwrap());
    let mut refused = None;
    for count in 0..1_000 {
        let context = json!(format!("exec-{count}"));
        let rejected = desk.good().with("/result", json!("rejected"));
        let text = rejected.with("/context", context).0.to_string();
        // No minute's rate is reached.
        desk.stage.clock.advance(chrono::Duration::seconds(2));
        match submit(&text, &desk.server(), &proof, &watch).await {
            Ok(_) => {}
            Err(Failure::Remote(told)) => {
                refused = Some(told);
                break;
            }
            Err(other) => panic!("{other}"),
        }
    }
    let told = refused.unwrap();
    assert!(told.contains("(429)"), "{told}");
    assert!(told.contains("come again in 60 min"), "{told}");
    assert_eq!(watch.seconds(), [] as [u64; 0]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_again_and_then_told_as_the_networks_failure() {
    let desk = Desk::new().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let watch = Mending::new(|_| {});
    let server = Server::at(&nobody, None).unwrap();
    let proof = Proof::Key(SigningKey::read(PEM).unwrap());
    let taken = submit("{}", &server, &proof, &watch).await;
    let Err(Failure::Remote(told)) = taken else {
        panic!("{taken:?}");
    };
    assert!(told.contains("did not answer"), "{told}");
    assert_eq!(watch.seconds(), [1, 2, 4, 8]);
    let proof = desk.proof();
    let open = Server::at("http://sign.example", None).unwrap();
    let refused = submit("{}", &open, &proof, &watch).await;
    assert!(matches!(refused, Err(Failure::Use(_))), "{refused:?}");
}

/// Passes where the source holds the second word, tells it as `cargo test` does, and leaves a mark in the
/// file that is the first word. The identity of a run must not reach it.
const CHECK: &str = "\
    if [ -n \"$ACTIONS_ID_TOKEN_REQUEST_TOKEN$ACTIONS_ID_TOKEN_REQUEST_URL\" ]; then exit 9; fi\n\
    echo ran >> \"$1\"\n\
    echo 'running 1 test'\n\
    if grep -qF \"$2\" src/start.rs; then\n\
    echo 'test starts_are_recorded ... ok'\n\
    echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'\n\
    else\n\
    echo 'test starts_are_recorded ... FAILED'\n\
    echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'\n\
    exit 101\n\
    fi\n";

impl Desk {
    /// `verify --submit` of the pull request's head, in a clone of what the simulated GitHub holds.
    async fn verify(&self, words: &[&str], variables: &[(String, String)]) -> Answer {
        self.verify_that("push(1)", words, variables).await
    }

    /// The same with tests that want this text.
    async fn verify_that(
        &self,
        wanted: &str,
        words: &[&str],
        variables: &[(String, String)],
    ) -> Answer {
        let checkout = self.clone_of_head();
        let check = self.file("check.sh", CHECK);
        let test = format!("sh {check} {} '{wanted}'", self.marks().display());
        let cache = self.folder.path().join("cache");
        let mut variables = variables.to_vec();
        variables.push(("PATH".to_owned(), std::env::var("PATH").unwrap()));
        variables.push(("XDG_CACHE_HOME".to_owned(), cache.display().to_string()));
        let usual = ["verify", "--checkout", &checkout, "--base", "origin/main"];
        let usual = [&usual[..], &["--repo", "acme/shop", "--critical", "src/**"]].concat();
        let usual = [&usual[..], &["--sandbox", "off", "--test", &test]].concat();
        let posting = ["--submit", &self.url, "--audience", PUBLIC_URL];
        let words = [&usual[..], &posting, words].concat();
        self.program(&words, &variables).await
    }

    fn clone_of_head(&self) -> String {
        let checkout = self.folder.path().join("shop");
        let git = |words: &[&str]| {
            let done = Command::new("git").args(words).status().unwrap();
            assert!(done.success(), "{words:?}");
        };
        let text = checkout.to_str().unwrap().to_owned();
        if !checkout.exists() {
            let origin = self.stage.shop.path().unwrap();
            git(&["clone", "--quiet", origin.to_str().unwrap(), &text]);
            let head = self.pull.head().unwrap();
            git(&["-C", &text, "checkout", "--quiet", "--detach", &head]);
        }
        text
    }

    fn marks(&self) -> std::path::PathBuf {
        self.folder.path().join("marks")
    }
}

#[tokio::test]
async fn a_verification_that_is_posted_in_one_go_as_the_run_makes_the_gate_merge() {
    let desk = Desk::new().await;
    let answer = desk.verify(&[], &desk.run_of(desk.claims())).await;
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let posted = "posted: the server has stored the document\n";
    assert!(answer.err.ends_with(posted), "{}", answer.err);
    assert!(desk.stage.merged(&desk.pull));
}

#[tokio::test]
async fn a_verification_that_says_no_is_posted_as_well_and_the_gate_hears_it() {
    let desk = Desk::new().await;
    let key = desk.file("key.pem", PEM);
    let answer = desk.verify_that("pop()", &["--key", &key], &[]).await;
    assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
    let posted = "posted: the server has stored the document\n";
    assert!(answer.err.ends_with(posted), "{}", answer.err);
    let told = desk.stage.reasons(&desk.pull, "second_verifier").await;
    assert!(told.contains("rejected"), "{told}");
    assert!(!desk.stage.merged(&desk.pull));
}

#[tokio::test]
async fn a_verification_that_could_not_be_posted_is_kept_and_can_be_posted_from_where_it_says() {
    use secrecy::ExposeSecret as _;
    for out in [true, false] {
        let desk = Desk::new().await;
        let stranger = SigningKey::new().unwrap().pem().unwrap();
        let stranger = desk.file("stranger.pem", stranger.expose_secret());
        let named = desk.folder.path().join("mine.json");
        let mut words = vec!["--key", &stranger];
        if out {
            words.extend(["--out", named.to_str().unwrap()]);
        }
        let answer = desk.verify(&words, &[]).await;
        assert_eq!(answer.code, 3, "{}{}", answer.out, answer.err);
        assert!(answer.err.contains("(401)"), "{}", answer.err);
        let told = answer.err.split("The document is in ").nth(1);
        let file = told.unwrap().split(';').next().unwrap();
        assert_eq!(out, Path::new(file) == named, "{file}");
        desk.nothing_came_of_it().await;

        let key = desk.file("key.pem", PEM);
        let words = [
            "evidence", "submit", file, "--url", &desk.url, "--key", &key,
        ];
        let answer = desk.program(&words, &[]).await;
        assert_eq!(answer.code, 0, "{}", answer.err);
        assert!(desk.stage.merged(&desk.pull));
    }
}

#[tokio::test]
async fn who_cannot_post_is_told_before_the_first_command_runs() {
    let desk = Desk::new().await;
    let answer = desk.verify(&[], &[]).await;
    assert_eq!(answer.code, 2, "{}", answer.err);
    assert!(answer.err.contains("evidence keygen"), "{}", answer.err);
    assert!(!desk.marks().exists(), "commands ran");
    let run = desk.run_of(desk.claims());
    assert_eq!(desk.verify(&[], &run).await.code, 0);
    assert!(desk.marks().exists());
}
