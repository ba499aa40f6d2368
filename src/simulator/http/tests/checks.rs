//! Check runs and statuses over the wire.

use super::*;

fn page(head: &str, output: Value) -> Value {
    json!({ "name": "countersign", "head_sha": head, "status": "in_progress", "output": output })
}

#[tokio::test]
async fn a_check_run_is_created_updated_and_read() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    let output = json!({ "title": "Waiting", "summary": "A table", "text": "What to do" });
    let mut draft = page(&head, output);
    draft["external_id"] = json!("pass 1");
    draft["actions"] = json!([{ "label": "Hold", "description": "Stop it", "identifier": "hold" }]);
    let created = shop.ask("POST", "/check-runs", draft).await;
    assert_eq!(created.status, 201);
    assert_eq!(created.body["app"]["slug"], "countersign");
    assert_eq!(created.body["external_id"], "pass 1");
    let path = format!("/check-runs/{}", created.body["id"]);
    let done = json!({
        "conclusion": "success",
        "output": { "summary": "All good", "annotations": [{}, {}] },
    });
    let updated = shop.ask("PATCH", &path, done).await;
    assert_eq!(
        (updated.status, &updated.body["status"]),
        (200, &json!("completed"))
    );
    let read = shop.get(&path).await.body;
    assert_eq!(read["conclusion"], "success");
    assert_eq!(
        read["output"]["title"], "Waiting",
        "a title not said again stays"
    );
    assert_eq!(read["output"]["annotations_count"], 2);
}

#[tokio::test]
async fn a_completed_run_does_not_go_back() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    let draft = json!({ "name": "countersign", "head_sha": head, "conclusion": "success" });
    let created = shop.ask("POST", "/check-runs", draft).await.body;
    let path = format!("/check-runs/{}", created["id"]);
    let back = shop
        .ask("PATCH", &path, json!({ "status": "in_progress" }))
        .await;
    assert_eq!(back.status, 200);
    assert_eq!(back.body["status"], "completed");
    assert_eq!(back.body["conclusion"], "success");
}

#[tokio::test]
async fn the_65_536th_character_is_refused() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    for (summary, text, status) in [
        ("x".repeat(65_535), "x".repeat(65_535), 201),
        ("x".repeat(65_536), String::new(), 422),
        (String::new(), "x".repeat(65_536), 422),
    ] {
        let output = json!({ "title": "t", "summary": summary, "text": text });
        let answer = shop.ask("POST", "/check-runs", page(&head, output)).await;
        assert_eq!(answer.status, status);
        if status == 422 {
            assert_eq!(
                answer.message(),
                "Invalid request.\n\nOnly 65535 characters are allowed; 65536 were supplied."
            );
        }
    }
    let runs = shop.get(&format!("/commits/{head}/check-runs")).await;
    assert_eq!(runs.body["total_count"], 1);
}

#[tokio::test]
async fn letters_of_several_bytes_count_for_several() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    let output = json!({ "title": "t", "summary": "é".repeat(32_768) });
    let answer = shop.ask("POST", "/check-runs", page(&head, output)).await;
    assert_eq!(
        (answer.status, answer.message()),
        (422, "Validation Failed")
    );
    assert_eq!(
        answer.body["errors"][0]["message"],
        "summary exceeds a maximum bytesize of 65535"
    );
}

#[tokio::test]
async fn a_run_that_runs_again_is_in_no_list_until_the_new_one_is_there() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    let actions = shop.github.actions();
    let run = actions.fail(&shop.repo, &head, "unit").unwrap();
    let names = |filter: &str| {
        let path = format!("/commits/{head}/check-runs?filter={filter}");
        let shop = &shop;
        async move { shop.get(&path).await.body["total_count"].as_u64().unwrap() }
    };
    actions.begin_rerun(&shop.repo, run).unwrap();
    assert_eq!((names("latest").await, names("all").await), (0, 0));
    actions.pass(&shop.repo, &head, "unit").unwrap();
    assert_eq!((names("latest").await, names("all").await), (1, 2));
}

#[tokio::test]
async fn a_check_run_that_says_too_much_or_too_little_is_refused() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    let button = json!({ "label": "a", "description": "b", "identifier": "c" });
    let good = json!({ "title": "t", "summary": "s" });
    let mut crowded = good.clone();
    crowded["annotations"] = vec![json!({}); 51].into();
    let mut four = page(&head, good.clone());
    four["actions"] = vec![button; 4].into();
    let mut ended = page(&head, good.clone());
    ended["status"] = json!("completed");
    let mut odd = page(&head, good);
    odd["conclusion"] = json!("splendid");
    for (draft, words) in [
        (
            page(&head, crowded),
            "No more than 50 items are allowed; 51 were supplied.",
        ),
        (four, "No more than 3 items are allowed; 4 were supplied."),
        (ended, "\"conclusion\" wasn't supplied."),
        (odd, "splendid is not a possible value."),
        (
            page(&head, json!({ "title": "t" })),
            "\"summary\" wasn't supplied.",
        ),
        (
            json!({ "name": "countersign" }),
            "\"head_sha\" wasn't supplied.",
        ),
        (
            page(&"0".repeat(40), Value::Null),
            "No commit found for SHA",
        ),
    ] {
        let answer = shop.ask("POST", "/check-runs", draft).await;
        assert_eq!(answer.status, 422, "{words}");
        assert!(answer.message().contains(words), "{}", answer.message());
    }
}

#[tokio::test]
async fn another_apps_run_cannot_be_changed() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    shop.github
        .actions()
        .pass(&shop.repo, &head, "unit")
        .unwrap();
    let runs = shop.get(&format!("/commits/{head}/check-runs")).await.body;
    let path = format!("/check-runs/{}", runs["check_runs"][0]["id"]);
    let refused = shop
        .ask("PATCH", &path, json!({ "conclusion": "failure" }))
        .await;
    assert_eq!(refused.status, 403);
    assert!(
        refused
            .message()
            .contains("can only be modified by the GitHub App that created it")
    );
}

#[tokio::test]
async fn the_latest_run_of_a_name_is_listed_and_all_of_them_when_asked() {
    let shop = shop().await;
    let head = shop.repo.tip("main").unwrap();
    let draft =
        |conclusion| json!({ "name": "countersign", "head_sha": head, "conclusion": conclusion });
    shop.ask("POST", "/check-runs", draft("failure")).await;
    shop.ask("POST", "/check-runs", draft("success")).await;
    let (codex, actions) = (shop.github.other_app("codex-verify"), shop.github.actions());
    codex.pass(&shop.repo, &head, "countersign").unwrap();
    actions.pass(&shop.repo, &head, "unit").unwrap();
    let count = |query: &str| {
        let path = format!("/commits/{head}/check-runs{query}");
        let shop = &shop;
        async move { shop.get(&path).await.body["total_count"].as_u64().unwrap() }
    };
    assert_eq!(count("").await, 3);
    assert_eq!(count("?filter=all").await, 4);
    assert_eq!(count("?check_name=countersign").await, 2);
    assert_eq!(count("?check_name=countersign&filter=all").await, 3);
    let ours = shop.github.app().app_id;
    assert_eq!(count(&format!("?app_id={ours}")).await, 1);
    assert_eq!(count("?check_name=coun").await, 0, "a name is no pattern");
    let suites = shop
        .get(&format!("/commits/{head}/check-suites"))
        .await
        .body;
    assert_eq!(suites["total_count"], 3);
}

#[tokio::test]
async fn statuses_are_set_and_combined() {
    let shop = shop().await;
    let sha = shop.repo.tip("main").unwrap();
    let path = format!("/statuses/{sha}");
    let say = |state| json!({ "state": state, "context": "countersign" });
    assert_eq!(shop.ask("POST", &path, say("pending")).await.status, 201);
    let set = shop.ask("POST", &path, say("success")).await;
    assert_eq!(set.body["creator"]["login"], "countersign[bot]");
    let combined = shop.get(&format!("/commits/{sha}/status")).await.body;
    assert_eq!(combined["state"], "success");
    assert_eq!(combined["total_count"], 1);
    assert_eq!(
        shop.get(&format!("/commits/{sha}/statuses")).await.length(),
        2
    );
    assert_eq!(shop.ask("POST", &path, say("splendid")).await.status, 422);
    let mut long = say("success");
    long["description"] = json!("x".repeat(141));
    assert_eq!(shop.ask("POST", &path, long).await.status, 422);
}

#[tokio::test]
async fn a_verifiers_workflow_is_started_and_listed_by_head() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let path = "/actions/workflows/verify.yml/dispatches";
    let start = json!({ "ref": "agent/two", "inputs": { "pull": "1" } });
    assert_eq!(shop.ask("POST", path, start).await.status, 204);
    let head = pull.head().unwrap();
    let runs = shop
        .get(&format!("/actions/runs?head_sha={head}"))
        .await
        .body;
    assert_eq!(runs["total_count"], 1);
    let run = &runs["workflow_runs"][0];
    assert_eq!(run["path"], ".github/workflows/verify.yml");
    assert_eq!(run["event"], "workflow_dispatch");
    let main = shop.repo.tip("main").unwrap();
    let none = shop
        .get(&format!("/actions/runs?head_sha={main}"))
        .await
        .body;
    assert_eq!(none["total_count"], 0);
    let unknown = "/actions/workflows/none.yml/dispatches";
    assert_eq!(
        shop.ask("POST", unknown, json!({ "ref": "main" }))
            .await
            .status,
        404
    );
    assert_eq!(shop.ask("POST", path, json!({})).await.status, 422);
}
