//! Credentials: what is accepted, until when, for what.

use super::*;

#[tokio::test]
async fn the_app_proves_itself_and_is_told_who_it_is() {
    let shop = shop().await;
    let app = shop.as_app("GET", "/app").await;
    assert_eq!(app.status, 200);
    assert_eq!(app.body["slug"], "countersign");
    assert_eq!(app.body["id"], shop.github.app().app_id);
    assert_eq!(app.body["installations_count"], 1);
}

#[tokio::test]
async fn a_wrongly_signed_jwt_is_refused() {
    let shop = shop().await;
    let good = shop.jwt(-60, 540);
    let (signed, _) = good.rsplit_once('.').unwrap();
    let other = shop.jwt(-61, 540);
    let (_, signature) = other.rsplit_once('.').unwrap();
    let answer = shop
        .ask_as(&format!("{signed}.{signature}"), "GET", "/app", Value::Null)
        .await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.message(), "A JSON web token could not be decoded");
    assert_eq!(answer.body["status"], "401");
    assert!(answer.body["documentation_url"].is_string());
}

#[tokio::test]
async fn a_jwt_is_judged_by_the_worlds_clock_and_told_what_is_wrong_with_its_times() {
    let shop = shop().await;
    for (issued, expires, status, words) in [
        (0, 600, 200, ""),
        (-60, 601, 401, "is too far in the future"),
        (1, 540, 401, "'Issued at' claim ('iat') must be an Integer"),
        (
            -700,
            0,
            401,
            "'Expiration time' claim ('exp') must be a numeric value",
        ),
    ] {
        let jwt = shop.jwt(issued, expires);
        let answer = shop.ask_as(&jwt, "GET", "/app", Value::Null).await;
        assert_eq!(answer.status, status, "{issued} {expires}");
        assert!(answer.message().contains(words), "{}", answer.message());
    }
    let jwt = shop.jwt(-60, 540);
    shop.clock.advance(chrono::Duration::seconds(541));
    assert_eq!(
        shop.ask_as(&jwt, "GET", "/app", Value::Null).await.status,
        401
    );
}

#[tokio::test]
async fn a_jwt_of_an_app_nobody_registered_is_refused() {
    let shop = shop().await;
    let now = shop.clock.now().timestamp();
    let jwt = shop.sign(&json!({ "iat": now, "exp": now + 60, "iss": "999" }));
    let answer = shop.ask_as(&jwt, "GET", "/app", Value::Null).await;
    assert_eq!(
        (answer.status, answer.message()),
        (404, "Integration not found")
    );
}

#[tokio::test]
async fn an_installation_token_lives_an_hour_and_an_expired_one_is_refused() {
    let shop = shop().await;
    let minted = shop.mint().await;
    assert_eq!(minted.status, 201);
    assert_eq!(minted.body["expires_at"], "2025-06-15T16:06:40Z");
    assert_eq!(minted.body["permissions"]["checks"], "write");
    let token = minted.body["token"].as_str().unwrap();
    shop.clock.advance(chrono::Duration::seconds(3_599));
    let path = "/installation/repositories";
    assert_eq!(
        shop.ask_as(token, "GET", path, Value::Null).await.status,
        200
    );
    shop.clock.advance(chrono::Duration::seconds(1));
    let late = shop.ask_as(token, "GET", path, Value::Null).await;
    assert_eq!((late.status, late.message()), (401, "Bad credentials"));
}

#[tokio::test]
async fn nobody_and_the_wrong_kind_of_credential_are_refused() {
    let shop = shop().await;
    let wrong = shop
        .ask_as("ghs_made_up", "GET", "/repos/acme/shop", Value::Null)
        .await;
    assert_eq!((wrong.status, wrong.message()), (401, "Bad credentials"));
    assert_eq!(shop.as_app("GET", "/repos/acme/shop").await.status, 401);
    let token = shop.token.clone();
    let app = shop.ask_as(&token, "GET", "/app", Value::Null).await;
    assert_eq!(app.message(), "A JSON web token could not be decoded");
    let request = Request::get(format!("{}/repos/acme/shop", shop.url));
    let nobody = shop.send(request, Value::Null).await.unwrap();
    assert_eq!(
        (nobody.status, nobody.message()),
        (401, "Requires authentication")
    );
}

#[tokio::test]
async fn a_suspended_installation_is_403_and_a_removed_one_401() {
    let shop = shop().await;
    shop.repo.suspend_app(&shop.alice, true).unwrap();
    for answer in [shop.get("").await, shop.mint().await] {
        assert_eq!(answer.status, 403);
        assert_eq!(answer.message(), "This installation has been suspended");
    }
    let listed = shop.as_app("GET", "/app/installations").await;
    assert!(listed.body[0]["suspended_at"].is_string());
    shop.repo.suspend_app(&shop.alice, false).unwrap();
    assert_eq!(shop.get("").await.status, 200);
    shop.repo.uninstall_app(&shop.alice).unwrap();
    assert_eq!(shop.get("").await.status, 401);
    assert_eq!(
        shop.as_app("GET", "/repos/acme/shop/installation")
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn a_missing_permission_is_403_by_name() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    let runs = format!("/commits/{head}/check-runs");
    let draft = json!({ "name": "countersign", "head_sha": head });
    assert_eq!(
        shop.ask("POST", "/check-runs", draft.clone()).await.status,
        201
    );
    let granted = [("checks", "read"), ("metadata", "read")];
    shop.repo.grant_app(&shop.alice, &granted).unwrap();
    assert_eq!(shop.get(&runs).await.status, 200);
    let refused = shop.ask("POST", "/check-runs", draft).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.message(), "Resource not accessible by integration");
    assert_eq!(
        refused.header("x-accepted-github-permissions"),
        "checks=write"
    );
    let refused = shop.get("/pulls").await;
    assert_eq!(
        refused.header("x-accepted-github-permissions"),
        "pull_requests=read"
    );
    assert_eq!(shop.get("/branches/main/protection").await.status, 403);
}

#[tokio::test]
async fn a_private_repository_that_is_not_selected_does_not_exist_and_a_public_one_can_be_read() {
    let shop = shop().await;
    let other = shop.github.repo("acme/other", &[("a", "b")]).unwrap();
    let (token, path) = (&shop.token, "/repos/acme/other");
    assert_eq!(
        shop.ask_as(token, "GET", path, Value::Null).await.status,
        404
    );
    other.publish().unwrap();
    assert_eq!(
        shop.ask_as(token, "GET", path, Value::Null).await.status,
        200
    );
    let draft = json!({ "name": "countersign", "head_sha": other.tip("main").unwrap() });
    let write = shop
        .ask_as(token, "POST", "/repos/acme/other/check-runs", draft)
        .await;
    assert_eq!(write.status, 403);
}

#[tokio::test]
async fn a_token_may_be_narrowed_and_never_widened() {
    let shop = shop().await;
    let id = shop.repo.installation().unwrap();
    let path = format!("/app/installations/{id}/access_tokens");
    let jwt = shop.jwt(-60, 540);
    let narrow = json!({ "permissions": { "checks": "read" }, "repositories": ["shop"] });
    let narrow = shop.ask_as(&jwt, "POST", &path, narrow).await;
    assert_eq!(narrow.body["repositories"][0]["name"], "shop");
    let token = narrow.body["token"].as_str().unwrap();
    let pulls = shop
        .ask_as(token, "GET", "/repos/acme/shop/pulls", Value::Null)
        .await;
    assert_eq!(pulls.status, 403);
    let wide = json!({ "permissions": { "administration": "write" } });
    assert_eq!(shop.ask_as(&jwt, "POST", &path, wide).await.status, 422);
}
