use std::future::pending;
use std::path::Path;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::cli::Cli;
use crate::domain::model::AppId;
use crate::github::auth::AppKey;
use crate::github::{Client, ClientOptions, Reads};
use crate::settings::{CredentialArgs, ServeArgs, Settings};
use crate::simulator::faults::{Fault, FaultPlan};
use crate::simulator::{Options, Simulator};

/// A GitHub, a folder, and somebody with a browser.
struct Desk {
    github: Simulator,
    api: String,
    folder: TempDir,
    browser: Http<HttpConnector, Full<Bytes>>,
}

struct Page {
    status: StatusCode,
    location: String,
    text: String,
}

impl Page {
    /// What stands between two texts, as a browser reads it.
    fn between(&self, before: &str, after: &str) -> String {
        let (_, rest) = self.text.split_once(before).expect(before);
        let (found, _) = rest.split_once(after).expect(after);
        let plain = found.replace("&#34;", "\"").replace("&quot;", "\"");
        plain.replace("&#38;", "&").replace("&amp;", "&")
    }
}

impl Desk {
    async fn new() -> Self {
        let options = Options {
            clock: Clock::System,
            seed: 3,
        };
        let github = Simulator::new(options).unwrap();
        let api = github.serve().await.unwrap();
        Self {
            github,
            api,
            folder: TempDir::new().unwrap(),
            browser: Http::builder(TokioExecutor::new()).build_http(),
        }
    }

    fn args(&self) -> SetupArgs {
        SetupArgs {
            name: None,
            organization: None,
            public_url: Some("https://gate.example/".into()),
            github_api_url: Some(self.api.clone()),
            github_url: None,
            listen: "127.0.0.1:0".parse().unwrap(),
            dir: self.folder.path().to_owned(),
            force: false,
        }
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// A text with what differs from run to run left out.
    fn same_everywhere(&self, text: &str) -> String {
        let folder = self.folder.path().canonicalize().unwrap();
        text.replace(folder.to_str().unwrap(), "/srv/gate")
            .replace(&self.api, "https://github.example")
            .replace(&self.github.app().app_id.to_string(), "200001")
    }

    async fn refused(&self, args: SetupArgs) -> Complaint {
        match Setup::prepare(args).await {
            Ok(_) => panic!("it is not refused"),
            Err(complaint) => complaint,
        }
    }

    async fn get(&self, url: &str) -> Page {
        self.fetch(Request::get(url).body(Full::default())).await
    }

    async fn post(&self, url: &str, fields: &[(&str, &str)]) -> Page {
        let form: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
            .collect();
        self.fetch(Request::post(url).body(Full::from(form.join("&"))))
            .await
    }

    async fn fetch(&self, request: http::Result<Request<Full<Bytes>>>) -> Page {
        let response = self.browser.request(request.unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let location = parts.headers.get(header::LOCATION);
        let location = location.map_or("", |value| value.to_str().unwrap());
        let text = body.collect().await.unwrap().to_bytes();
        Page {
            status: parts.status,
            location: location.to_owned(),
            text: String::from_utf8(text.to_vec()).unwrap(),
        }
    }

    /// From the local page to GitHub and through both buttons; where GitHub sends one back to.
    async fn click_through(&self, address: SocketAddr) -> String {
        let page = self.get(&format!("http://{address}/")).await;
        let action = page.between("action=\"", "\"");
        let manifest = page.between("name=\"manifest\" value=\"", "\"");
        let page = self.post(&action, &[("manifest", &manifest)]).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text);
        let state = page.between("name=\"state\" value=\"", "\"");
        let fields = [("manifest", manifest.as_str()), ("state", &state)];
        let action = format!("{}{}", self.api, page.between("action=\"", "\""));
        self.post(&action, &fields).await.location
    }

    /// The whole way: what the last page shows, and the last words in the terminal.
    async fn go(&self, setup: Setup) -> (Page, Result<String, Complaint>) {
        let address = setup.place.address;
        let visit = async {
            let back = self.click_through(address).await;
            self.get(&back).await
        };
        let (page, told) = tokio::join!(visit, setup.wait(pending()));
        (page, told)
    }

    /// Whether GitHub knows who we are by what is in the folder.
    async fn app_by_the_stored_key(&self) -> crate::domain::model::AppRef {
        let dotenv = dotenv::Dotenv(self.file(".env"));
        let value = |name| dotenv.value(name).unwrap().unwrap();
        let key = std::fs::read_to_string(value("COUNTERSIGN_PRIVATE_KEY_PATH")).unwrap();
        let client = Client::new(ClientOptions {
            api_url: value("COUNTERSIGN_GITHUB_API_URL"),
            app_id: AppId::new(value("COUNTERSIGN_APP_ID").parse().unwrap()).unwrap(),
            key: AppKey::read(&key).unwrap(),
            clock: Clock::System,
            timeouts: Timeouts::default(),
        });
        client.unwrap().app().await.unwrap()
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn one_click_registers_the_app_and_what_is_stored_proves_who_we_are() {
    let desk = Desk::new().await;
    let setup = Setup::prepare(desk.args()).await.unwrap();
    let address = setup.place.address.to_string();
    let invitation = setup.invitation().replace(&address, "127.0.0.1:8400");
    insta::assert_snapshot!(desk.same_everywhere(&invitation));
    let (page, told) = desk.go(setup).await;
    assert_eq!(page.status, StatusCode::OK);
    let install = format!("{}/apps/countersign/installations/new", desk.api);
    assert!(
        page.text.contains(&format!("href=\"{install}\"")),
        "{}",
        page.text
    );
    let told = told.unwrap();
    insta::assert_snapshot!(desk.same_everywhere(&told));
    assert_eq!(desk.files(), [".env", drawer::KEY]);
    let secret = &desk.github.app().webhook_secret;
    let env = desk
        .same_everywhere(&desk.file(".env"))
        .replace(secret, "[SECRET]");
    insta::assert_snapshot!(env, @r#"
    # Written by `countersign setup`.
    COUNTERSIGN_APP_ID=200001
    COUNTERSIGN_PRIVATE_KEY_PATH=/srv/gate/countersign.private-key.pem
    COUNTERSIGN_WEBHOOK_SECRET="[SECRET]"
    COUNTERSIGN_PUBLIC_URL=https://gate.example
    COUNTERSIGN_GITHUB_API_URL=https://github.example
    "#);
    assert_eq!(desk.file(drawer::KEY), desk.github.app().private_key_pem);
    let app = desk.app_by_the_stored_key().await;
    assert_eq!(app.id.get(), desk.github.app().app_id);
    assert_eq!(
        desk.github.webhook().as_deref(),
        Some("https://gate.example/webhook")
    );
    for text in [&told, &page.text] {
        assert!(
            !text.contains(secret) && !text.contains("PRIVATE KEY-----"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn the_app_asks_for_exactly_what_the_manifest_says() {
    let desk = Desk::new().await;
    let args = SetupArgs {
        name: Some("Gate of Acme".into()),
        ..desk.args()
    };
    let (_, told) = desk.go(Setup::prepare(args).await.unwrap()).await;
    told.unwrap();
    let asked = Asked::read().unwrap();
    let world = desk.github.lock();
    let app = &world.apps[&world.our_app];
    assert_eq!(
        (app.name.as_str(), app.slug.as_str()),
        ("Gate of Acme", "gate-of-acme")
    );
    assert_eq!(app.permissions, asked.permissions);
    assert_eq!(app.events, asked.events.into_iter().collect());
}

#[tokio::test]
async fn the_server_starts_with_what_is_stored() {
    let desk = Desk::new().await;
    let (_, told) = desk.go(Setup::prepare(desk.args()).await.unwrap()).await;
    told.unwrap();
    let dotenv = dotenv::Dotenv(desk.file(".env"));
    let value = |name| dotenv.value(name).unwrap();
    let settings = Settings::from_args(ServeArgs {
        credentials: CredentialArgs {
            app_id: value("COUNTERSIGN_APP_ID"),
            private_key_path: value("COUNTERSIGN_PRIVATE_KEY_PATH"),
            github_api_url: value("COUNTERSIGN_GITHUB_API_URL"),
            ..CredentialArgs::default()
        },
        webhook_secret: value("COUNTERSIGN_WEBHOOK_SECRET").map(Into::into),
        public_url: value("COUNTERSIGN_PUBLIC_URL"),
        ..ServeArgs::default()
    });
    assert_eq!(
        settings.unwrap().public_url.as_deref(),
        Some("https://gate.example")
    );
}

#[cfg(unix)]
#[tokio::test]
async fn what_holds_a_secret_is_for_its_owner_alone_even_where_it_was_not() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new().await;
    desk.put(".env", "OTHER=1\n");
    let env = desk.folder.path().join(".env");
    std::fs::set_permissions(&env, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (_, told) = desk.go(Setup::prepare(desk.args()).await.unwrap()).await;
    told.unwrap();
    assert_eq!(mode(&env), 0o600);
    assert_eq!(mode(&desk.folder.path().join(drawer::KEY)), 0o600);
    assert!(desk.file(".env").starts_with("OTHER=1\n\n"));
}

#[tokio::test]
async fn an_organizations_app_without_an_address_has_its_webhook_off_and_is_told_how_to_turn_it_on()
{
    let desk = Desk::new().await;
    let args = SetupArgs {
        organization: Some("acme".into()),
        public_url: None,
        ..desk.args()
    };
    let setup = Setup::prepare(args).await.unwrap();
    let address = setup.place.address.to_string();
    let invitation = setup.invitation().replace(&address, "127.0.0.1:8400");
    let (_, told) = desk.go(setup).await;
    insta::assert_snapshot!(desk.same_everywhere(&format!("{invitation}\n{}", told.unwrap())));
    assert_eq!(desk.github.webhook(), None);
    assert!(!desk.file(".env").contains("PUBLIC_URL"));
}

#[tokio::test]
async fn a_key_that_is_there_is_never_overwritten_and_nobody_is_sent_to_github() {
    let desk = Desk::new().await;
    desk.put(drawer::KEY, "of another App");
    let forced = SetupArgs {
        force: true,
        ..desk.args()
    };
    for args in [desk.args(), forced] {
        let complaint = desk.refused(args).await;
        assert_eq!(complaint.exit, Exit::Usage);
        insta::allow_duplicates! {
            insta::assert_snapshot!(desk.same_everywhere(&complaint.text), @"/srv/gate/countersign.private-key.pem is there already, and a key is never overwritten: move it away, or name another folder with --dir");
        }
    }
    assert_eq!(desk.file(drawer::KEY), "of another App");
    assert_eq!(desk.files(), [drawer::KEY]);
}

#[tokio::test]
async fn a_key_that_appears_meanwhile_is_not_overwritten_either_and_the_new_one_is_kept() {
    let desk = Desk::new().await;
    let setup = Setup::prepare(desk.args()).await.unwrap();
    desk.put(drawer::KEY, "of another App");
    let (_, told) = desk.go(setup).await;
    told.unwrap();
    assert_eq!(desk.file(drawer::KEY), "of another App");
    assert_eq!(
        desk.app_by_the_stored_key().await.id.get(),
        desk.github.app().app_id
    );
}

#[tokio::test]
async fn settings_of_another_app_are_refused_and_with_force_become_comments() {
    let desk = Desk::new().await;
    let old = "LOG=debug\nCOUNTERSIGN_APP_ID=7\nCOUNTERSIGN_PRIVATE_KEY=\"-----BEGIN\nold\"\n";
    desk.put(".env", old);
    let complaint = desk.refused(desk.args()).await;
    assert_eq!(complaint.exit, Exit::Usage);
    insta::assert_snapshot!(desk.same_everywhere(&complaint.text), @"/srv/gate/.env sets COUNTERSIGN_APP_ID, COUNTERSIGN_PRIVATE_KEY already: remove that, name another folder with --dir, or pass --force, which turns those lines into comments");
    assert_eq!(desk.file(".env"), old);
    let forced = SetupArgs {
        force: true,
        ..desk.args()
    };
    let (_, told) = desk.go(Setup::prepare(forced).await.unwrap()).await;
    told.unwrap();
    let commented =
        "LOG=debug\n# COUNTERSIGN_APP_ID=7\n# COUNTERSIGN_PRIVATE_KEY=\"-----BEGIN\n# old\"\n";
    assert!(
        desk.file(".env").starts_with(commented),
        "{}",
        desk.file(".env")
    );
    assert_eq!(
        desk.app_by_the_stored_key().await.id.get(),
        desk.github.app().app_id
    );
}

#[tokio::test]
async fn settings_that_say_the_same_or_nothing_are_no_hindrance() {
    let desk = Desk::new().await;
    let before = "COUNTERSIGN_PUBLIC_URL=https://gate.example\nCOUNTERSIGN_APP_ID=\n";
    desk.put(".env", before);
    let (_, told) = desk.go(Setup::prepare(desk.args()).await.unwrap()).await;
    told.unwrap();
    let env = desk.file(".env");
    assert_eq!(env.matches("COUNTERSIGN_PUBLIC_URL=").count(), 1, "{env}");
    assert!(env.contains("# COUNTERSIGN_APP_ID=\n"), "{env}");
}

#[tokio::test]
async fn a_folder_or_file_that_cannot_be_used_is_told_before_anybody_is_sent_to_github() {
    let desk = Desk::new().await;
    let nowhere = SetupArgs {
        dir: desk.folder.path().join("nowhere"),
        ..desk.args()
    };
    let complaint = desk.refused(nowhere).await;
    assert!(
        complaint.text.contains("name another with --dir"),
        "{}",
        complaint.text
    );
    desk.put(".env", "COUNTERSIGN_WEBHOOK_SECRET=\"hunter2\n");
    let complaint = desk.refused(desk.args()).await;
    assert!(complaint.text.contains("mend it"), "{}", complaint.text);
    assert!(!complaint.text.contains("hunter2"), "{}", complaint.text);
}

#[tokio::test]
async fn a_code_that_was_used_is_told_with_what_to_do_and_nothing_is_stored() {
    let desk = Desk::new().await;
    let setup = Setup::prepare(desk.args()).await.unwrap();
    let address = setup.place.address;
    let visit = async {
        let back = desk.click_through(address).await;
        let (_, query) = back.split_once("code=").unwrap();
        let code = query.split('&').next().unwrap();
        let exchange = format!("{}/app-manifests/{code}/conversions", desk.api);
        let request = Request::post(&exchange).header(header::USER_AGENT, "somebody else");
        assert_eq!(
            desk.fetch(request.body(Full::default())).await.status,
            StatusCode::CREATED
        );
        desk.get(&back).await
    };
    let (page, told) = tokio::join!(visit, setup.wait(pending()));
    let complaint = told.unwrap_err();
    assert_eq!(complaint.exit, Exit::Remote);
    insta::assert_snapshot!(desk.same_everywhere(&complaint.text), @"GitHub does not take the code (404): it was used, is older than an hour, or belongs to another GitHub than the API's address. If the App is listed at https://github.example/settings/apps, delete it there: its key cannot be fetched any more. Then run countersign setup again");
    assert_eq!(page.status, StatusCode::BAD_GATEWAY);
    assert!(
        page.text.contains("GitHub does not take the code"),
        "{}",
        page.text
    );
    assert!(desk.files().is_empty(), "{:?}", desk.files());
}

#[tokio::test]
async fn a_refused_exchange_is_told_in_githubs_words_and_nothing_is_stored() {
    let desk = Desk::new().await;
    let plan = FaultPlan::none().with(
        "POST",
        "/conversions",
        1,
        Fault::Refuse(422, "Validation Failed"),
    );
    desk.github.set_faults(plan);
    let (page, told) = desk.go(Setup::prepare(desk.args()).await.unwrap()).await;
    let complaint = told.unwrap_err();
    assert_eq!(
        (page.status, complaint.exit),
        (StatusCode::BAD_GATEWAY, Exit::Remote)
    );
    assert!(
        complaint.text.contains("(422): Validation Failed"),
        "{}",
        complaint.text
    );
    assert!(desk.files().is_empty(), "{:?}", desk.files());
}

#[cfg(unix)]
#[tokio::test]
async fn where_the_settings_cannot_be_written_the_key_is_kept_and_the_rest_is_told() {
    let desk = Desk::new().await;
    let setup = Setup::prepare(desk.args()).await.unwrap();
    // A folder in the file's place, meanwhile.
    std::fs::create_dir(desk.folder.path().join(".env")).unwrap();
    let (_, told) = desk.go(setup).await;
    let complaint = told.unwrap_err();
    assert_eq!(complaint.exit, Exit::Internal);
    assert_eq!(desk.file(drawer::KEY), desk.github.app().private_key_pem);
    insta::assert_snapshot!(desk.same_everywhere(&complaint.text));
    assert!(!complaint.text.contains(&desk.github.app().webhook_secret));
}

#[tokio::test]
async fn a_key_that_could_not_be_written_is_told_with_what_to_do() {
    let desk = Desk::new().await;
    let setup = Setup::prepare(desk.args()).await.unwrap();
    let app = Registered {
        id: AppId::new(200_001).unwrap(),
        slug: Some("countersign".into()),
        name: Some("Countersign\u{1b}[2J".into()),
        html_url: None,
        private_key: "a key".to_owned().into(),
        webhook_secret: None,
    };
    let error = std::io::Error::other("no space left on device");
    let text = told::key_lost(&setup.place, &app, &error);
    insta::assert_snapshot!(desk.same_everywhere(&text), @r#"the App "Countersign[2J" (id 200001) is registered, but its private key could not be written: no space left on device. GitHub does not show it again: delete the App at https://github.example/settings/apps/countersign/advanced, then run countersign setup again"#);
}

#[tokio::test]
async fn whoever_stops_it_leaves_nothing_behind() {
    let desk = Desk::new().await;
    let setup = Setup::prepare(desk.args()).await.unwrap();
    assert_eq!(desk.files().len(), 2, "both files are begun");
    let complaint = setup.wait(async {}).await.unwrap_err();
    assert_eq!(complaint.exit, Exit::No);
    insta::assert_snapshot!(desk.same_everywhere(&complaint.text), @"stopped; nothing was stored. If you have confirmed the App on GitHub already, delete it at https://github.example/settings/apps");
    assert!(desk.files().is_empty(), "{:?}", desk.files());
}

#[tokio::test]
async fn an_address_that_github_refuses_is_named() {
    let desk = Desk::new().await;
    for (url, named) in [
        ("http://localhost:8137", true),
        ("http://127.0.0.1:8137", true),
        ("http://[::1]:8137", true),
        ("https://gate.example", false),
        ("https://localhost.example", false),
    ] {
        let args = SetupArgs {
            public_url: Some(url.to_owned()),
            ..desk.args()
        };
        let text = Setup::prepare(args).await.unwrap().invitation();
        assert_eq!(
            text.contains("GitHub refuses webhooks on the machine itself"),
            named,
            "{url}"
        );
    }
}

#[tokio::test]
async fn github_is_where_its_api_is_unless_it_is_named() {
    let desk = Desk::new().await;
    for (api, named, github) in [
        (None, None, "https://github.com"),
        (Some(""), None, "https://github.com"),
        (
            Some("https://ghe.example/api/v3/"),
            None,
            "https://ghe.example",
        ),
        (Some("http://127.0.0.1:9"), None, "http://127.0.0.1:9"),
        (
            Some("http://127.0.0.1:9"),
            Some("http://127.0.0.1:8"),
            "http://127.0.0.1:8",
        ),
    ] {
        let args = SetupArgs {
            github_api_url: api.map(str::to_owned),
            github_url: named.map(str::to_owned),
            ..desk.args()
        };
        let setup = Setup::prepare(args).await.unwrap();
        assert_eq!(setup.offer.github, github, "{api:?} {named:?}");
        let manifest: Value = serde_json::from_str(&setup.offer.manifest).unwrap();
        let back = format!("http://{}/created", setup.place.address);
        assert_eq!(manifest["redirect_url"], json!(back));
    }
}

#[test]
fn words_that_cannot_be_meant_are_refused() {
    use clap::Parser;
    for (flag, value, why) in [
        ("--listen", "0.0.0.0:0", "for this machine alone"),
        ("--listen", "192.0.2.1:80", "for this machine alone"),
        ("--listen", "8400", "an IP address with a port"),
        ("--organization", "acme/shop", "the organization's login"),
        ("--organization", "", "the organization's login"),
        ("--name", " ", "needs a name"),
        (
            "--name",
            "a name that is far too long for GitHub",
            "34 characters",
        ),
    ] {
        let error = Cli::try_parse_from(["countersign", "setup", flag, value]).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    assert!(Cli::try_parse_from(["countersign", "setup", "--listen", "[::1]:0"]).is_ok());
}

#[test]
fn the_help_says_what_each_flag_is_for() {
    use clap::CommandFactory;
    let mut cli = Cli::command();
    let setup = cli.find_subcommand_mut("setup").unwrap();
    insta::assert_snapshot!(setup.render_help().to_string());
}
