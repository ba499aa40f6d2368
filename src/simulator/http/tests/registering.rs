//! Registering an App from a manifest.

use super::*;

const MANIFEST: &str = r#"{
    "name": "Gate of Acme", "url": "https://gate.example", "public": false,
    "hook_attributes": { "url": "https://gate.example/webhook" },
    "redirect_url": "http://127.0.0.1:9/created",
    "default_permissions": { "checks": "write", "metadata": "read" },
    "default_events": ["check_run", "repository"]
}"#;

struct Page {
    status: u16,
    location: String,
    text: String,
}

impl Page {
    /// The value of a word in the query of where it leads.
    fn leads_with(&self, name: &str) -> Option<&str> {
        let (_, query) = self.location.split_once('?')?;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|pair| pair.1)
    }
}

impl Shop {
    async fn post_form(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let encode = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        };
        let form: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encode(value)))
            .collect();
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(form.join("&"))));
        let response = self.client.request(request.unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let location = parts.headers.get("location");
        let location = location.map_or("", |value| value.to_str().unwrap());
        let text = body.collect().await.unwrap().to_bytes();
        Page {
            status: parts.status.as_u16(),
            location: location.to_owned(),
            text: String::from_utf8(text.to_vec()).unwrap(),
        }
    }

    async fn offer(&self, manifest: &str) -> Page {
        let path = "/settings/apps/new?state=a+b";
        self.post_form(path, &[("manifest", manifest)]).await
    }

    async fn click(&self, manifest: &str, name: &str) -> Page {
        let fields = [("manifest", manifest), ("name", name), ("state", "a b")];
        self.post_form("/settings/apps", &fields).await
    }

    async fn exchange(&self, code: &str) -> Answer {
        let path = format!("{}/app-manifests/{code}/conversions", self.url);
        let request = Request::builder().method("POST").uri(path);
        self.send(request, Value::Null).await.unwrap()
    }
}

/// `MANIFEST` with one part changed; null takes it out.
fn with(pointer: &str, value: Value) -> String {
    let mut manifest: Value = serde_json::from_str(MANIFEST).unwrap();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let place = manifest.pointer_mut(parent).unwrap();
    place[name] = value.clone();
    if value.is_null() {
        place.as_object_mut().unwrap().remove(name);
    }
    manifest.to_string()
}

#[tokio::test]
async fn the_page_shows_what_the_manifest_asks_for_and_has_one_button() {
    let shop = shop().await;
    let page = shop.offer(MANIFEST).await;
    assert_eq!(page.status, 200);
    insta::assert_snapshot!(page.text.replace(&MANIFEST.replace('"', "&quot;"), "[MANIFEST]"), @r#"
    <!DOCTYPE html>
    <html lang="en">
    <meta charset="utf-8">
    <title>Create GitHub App for yourself</title>
    <h1>Create GitHub App for yourself</h1>
    <form method="post" action="/settings/apps">
    <label for="name">GitHub App name</label>
    <input id="name" name="name" value="Gate of Acme">
    <input type="hidden" name="manifest" value="[MANIFEST]"><input type="hidden" name="state" value="a b"><ul><li>checks: write</li><li>metadata: read</li></ul>
    <button>Create GitHub App</button>
    </form>
    </html>
    "#);
    let path = "/organizations/acme/settings/apps/new";
    let page = shop.post_form(path, &[("manifest", MANIFEST)]).await;
    assert!(page.text.contains("Create GitHub App for acme"));
    assert!(
        page.text
            .contains("action=\"/organizations/acme/settings/apps\"")
    );
    assert!(shop.github.calls().is_empty(), "pages are no API calls");
}

#[tokio::test]
async fn the_click_makes_our_app_what_the_manifest_says_and_leads_back_with_code_and_state() {
    let shop = shop().await;
    let page = shop.click(MANIFEST, "").await;
    assert_eq!(page.status, 302);
    assert!(
        page.location
            .starts_with("http://127.0.0.1:9/created?code=")
    );
    assert_eq!(page.leads_with("state"), Some("a%20b"));
    let app = shop.as_app("GET", "/app").await;
    assert_eq!(app.body["name"], "Gate of Acme");
    assert_eq!(app.body["slug"], "gate-of-acme");
    assert_eq!(
        app.body["permissions"],
        json!({ "checks": "write", "metadata": "read" })
    );
    assert_eq!(app.body["events"], json!(["check_run", "repository"]));
    assert_eq!(
        shop.github.webhook().as_deref(),
        Some("https://gate.example/webhook")
    );
}

#[tokio::test]
async fn a_code_gives_the_credentials_once() {
    let shop = shop().await;
    let page = shop.click(MANIFEST, "Another name").await;
    let code = page.leads_with("code").unwrap();
    let given = shop.exchange(code).await;
    assert_eq!(given.status, 201);
    assert_eq!(given.body["id"], shop.github.app().app_id);
    assert_eq!(given.body["slug"], "another-name");
    assert_eq!(
        given.body["html_url"],
        format!("{}/apps/another-name", shop.url)
    );
    assert_eq!(given.body["pem"], shop.github.app().private_key_pem);
    assert_eq!(
        given.body["webhook_secret"],
        shop.github.app().webhook_secret
    );
    assert_eq!(shop.exchange(code).await.status, 404);
    assert_eq!(shop.exchange("guessed").await.status, 404);
}

#[tokio::test]
async fn a_code_is_good_for_an_hour() {
    let shop = shop().await;
    let (first, second) = (
        shop.click(MANIFEST, "").await,
        shop.click(MANIFEST, "").await,
    );
    shop.clock.advance(chrono::Duration::seconds(3_599));
    assert_eq!(
        shop.exchange(first.leads_with("code").unwrap())
            .await
            .status,
        201
    );
    shop.clock.advance(chrono::Duration::seconds(1));
    assert_eq!(
        shop.exchange(second.leads_with("code").unwrap())
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_manifest_is_shown_before_the_button_and_after_it() {
    let shop = shop().await;
    let nowhere = json!({ "active": false });
    let near = json!("http://localhost:8137/webhook");
    for (manifest, words) in [
        ("[]".to_owned(), "not a JSON object"),
        (with("/url", Value::Null), "\"url\" wasn't supplied"),
        (with("/hook_attributes", nowhere), "\"url\" wasn't supplied"),
        (
            with("/hook_attributes", Value::Null),
            "Hook url cannot be blank",
        ),
        (
            with("/hook_attributes/url", near),
            "reachable over the public Internet (localhost)",
        ),
        (
            with("/default_permissions/cheques", json!("write")),
            "resource is not included in the list (cheques)",
        ),
        (
            with("/default_permissions/checks", json!("wirte")),
            "action is not included in the list (checks: wirte)",
        ),
        (
            with("/default_events", json!(["installation", "check_run"])),
            "Default events unsupported: installation",
        ),
        (
            with("/default_events", json!(["merge_group"])),
            "Default events are not supported by permissions: merge_group",
        ),
    ] {
        for page in [shop.offer(&manifest).await, shop.click(&manifest, "").await] {
            let text = page.text.replace("&quot;", "\"");
            assert_eq!(page.status, 422, "{manifest}");
            assert!(text.contains("Invalid GitHub App configuration"), "{text}");
            assert!(text.contains(words), "{words}: {text}");
            assert!(!text.contains("<button>"), "{text}");
        }
    }
    assert_eq!(shop.as_app("GET", "/app").await.body["name"], "countersign");
}

#[tokio::test]
async fn a_name_that_another_app_has_is_refused() {
    let shop = shop().await;
    shop.github.other_app("codex-verify");
    let page = shop.click(MANIFEST, "Codex Verify").await;
    assert_eq!(page.status, 422);
    assert!(page.text.contains("Name has already been taken"));
}

#[tokio::test]
async fn a_webhook_that_is_off_gets_no_address() {
    let shop = shop().await;
    let page = shop
        .click(&with("/hook_attributes/active", json!(false)), "")
        .await;
    assert_eq!(page.status, 302);
    assert_eq!(shop.github.webhook(), None);
}
