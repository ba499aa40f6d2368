//! What can be read: repositories, code, pull requests, comparisons, teams.

use super::*;

#[tokio::test]
async fn an_unknown_address_is_404_in_githubs_shape() {
    let shop = shop().await;
    let answer = shop.get("/no/such/thing").await;
    assert_eq!((answer.status, answer.message()), (404, "Not Found"));
    let call = shop.github.calls().pop().unwrap();
    assert_eq!((call.status, call.route.as_str()), (404, ""));
}

#[tokio::test]
async fn a_repository_answers_under_its_name_and_its_id() {
    let shop = shop().await;
    let named = shop.get("").await;
    let id = named.body["id"].as_u64().unwrap();
    let token = &shop.token;
    let by_id = shop
        .ask_as(token, "GET", &format!("/repositories/{id}"), Value::Null)
        .await;
    assert_eq!(by_id.body, named.body);
    let branch = format!("/repositories/{id}/branches/main");
    assert_eq!(
        shop.ask_as(token, "GET", &branch, Value::Null).await.status,
        200
    );
    let listed = shop
        .ask_as(token, "GET", "/installation/repositories", Value::Null)
        .await;
    assert_eq!(listed.body["total_count"], 1);
    assert_eq!(listed.body["repositories"][0]["id"], id);
}

#[tokio::test]
async fn a_former_name_leads_to_the_repository_by_id() {
    let shop = shop().await;
    shop.repo.rename(&shop.alice, "store").unwrap();
    let read = shop.get("/pulls?state=all").await;
    assert_eq!((read.status, read.message()), (301, "Moved Permanently"));
    let to = read.header("location").to_owned();
    assert!(
        to.contains("/repositories/") && to.ends_with("/pulls?state=all"),
        "{to}"
    );
    assert_eq!(shop.get(&to).await.status, 200);
    let write = shop.ask("POST", "/check-runs", json!({})).await;
    assert_eq!(write.status, 307, "a 301 would become a GET");
}

#[tokio::test]
async fn branches_with_slashes_are_found_escaped_or_not() {
    let shop = shop().await;
    shop.change("agent/two", "two", "2");
    for path in [
        "/branches/agent/two",
        "/branches/agent%2Ftwo",
        "/git/ref/heads/agent/two",
    ] {
        assert_eq!(shop.get(path).await.status, 200, "{path}");
    }
    assert_eq!(shop.get("/rules/branches/agent/two").await.length(), 0);
    let missing = shop.get("/branches/agent/three").await;
    assert_eq!(
        (missing.status, missing.message()),
        (404, "Branch not found")
    );
    assert_eq!(
        shop.get("/commits/agent/two/status").await.body["state"],
        "pending"
    );
}

#[tokio::test]
async fn a_file_comes_in_base64_with_its_blob_and_a_missing_one_is_404() {
    use base64::Engine as _;
    let shop = shop().await;
    let tip = shop.repo.tip("main").unwrap();
    let file = shop
        .get(&format!("/contents/.github/workflows/verify.yml?ref={tip}"))
        .await;
    let text: String = file.body["content"].as_str().unwrap().split('\n').collect();
    let text = base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap();
    assert_eq!(text, b"on: {}\n");
    assert_eq!(file.body["sha"].as_str().unwrap().len(), 40);
    assert_eq!(
        shop.get("/contents/nothing.yml").await.message(),
        "Not Found"
    );
    let nowhere = shop.get("/contents/poem.txt?ref=nowhere").await;
    assert_eq!(nowhere.message(), "No commit found for the ref nowhere");
    let large = Edits::write("large.txt", "x".repeat(1_100_000));
    shop.alice.push(&shop.repo, "main", "large", large).unwrap();
    let large = shop.get("/contents/large.txt").await;
    assert_eq!(large.body["encoding"], "none");
    assert_eq!(large.body["content"], "");
}

#[tokio::test]
async fn a_comparison_counts_from_the_merge_base() {
    let shop = shop().await;
    let base = shop.repo.tip("main").unwrap();
    let pull = shop.change("agent/two", "two", "2");
    let moved = Edits::write("other.txt", "other\n");
    shop.alice.push(&shop.repo, "main", "other", moved).unwrap();
    let (tip, head) = (shop.repo.tip("main").unwrap(), pull.head().unwrap());
    let compared = shop.get(&format!("/compare/{tip}...{head}")).await.body;
    assert_eq!(compared["merge_base_commit"]["sha"], json!(base));
    assert_eq!(compared["status"], "diverged");
    assert_eq!(compared["total_commits"], 1);
    assert_eq!(compared["files"][0]["filename"], "poem.txt");
    assert!(
        compared["files"][0]["patch"]
            .as_str()
            .unwrap()
            .contains("\n-two\n+2\n")
    );
    let commit = &compared["commits"][0];
    assert_eq!(commit["sha"], json!(head));
    assert_eq!(commit["author"]["login"], "acme-agent");
    assert_eq!(commit["parents"][0]["sha"], json!(base));
    assert_eq!(commit["commit"]["tree"]["sha"].as_str().unwrap().len(), 40);
    assert_eq!(
        shop.get("/compare/main...agent/two").await.body["ahead_by"],
        1
    );
    assert_eq!(shop.get("/compare/main...nowhere").await.status, 404);
}

#[tokio::test]
async fn a_comparison_is_cut_at_300_files_and_lists_the_last_250_commits() {
    let shop = shop().await;
    let mut edits = Edits::none();
    for number in 0..301 {
        edits = edits.and_write(&format!("many/{number:03}"), "x\n");
    }
    shop.agent
        .push(&shop.repo, "many", "many files", edits)
        .unwrap();
    for number in 0..251 {
        let edits = Edits::write("counter", format!("{number}\n"));
        shop.agent
            .push(&shop.repo, "many", &number.to_string(), edits)
            .unwrap();
    }
    let head = shop.repo.tip("many").unwrap();
    let compared = shop.get("/compare/main...many").await.body;
    assert_eq!(compared["files"].as_array().unwrap().len(), 300);
    assert_eq!(compared["total_commits"], 252);
    let commits = compared["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 250);
    assert_eq!(commits[249]["sha"], json!(head), "the last are listed");
    let second = shop.get("/compare/main...many?per_page=100&page=2").await;
    assert_eq!(second.body["commits"].as_array().unwrap().len(), 100);
    assert_eq!(second.body["files"], json!([]));
    let pull = shop
        .agent
        .open_pull(&shop.repo, "many", "main", "Many")
        .unwrap();
    let files = shop
        .get(&format!("/pulls/{}/files?per_page=100&page=4", pull.number))
        .await;
    assert_eq!(
        files.length(),
        2,
        "302 in all: the list itself ends at 3,000"
    );
    let commits = shop
        .get(&format!(
            "/pulls/{}/commits?per_page=100&page=3",
            pull.number
        ))
        .await;
    assert_eq!(commits.length(), 50, "250 in all");
}

#[tokio::test]
async fn the_first_read_of_a_pull_request_sets_github_computing_whether_it_merges() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let path = format!("/pulls/{}", pull.number);
    assert_eq!(shop.get(&path).await.body["mergeable"], Value::Null);
    assert_eq!(shop.get(&path).await.body["mergeable"], true);
    let listed = shop.get("/pulls").await;
    assert_eq!(listed.body[0]["number"], pull.number);
    assert!(listed.body[0].get("mergeable").is_none());
    shop.agent.close(&pull).unwrap();
    assert_eq!(shop.get("/pulls").await.length(), 0);
    assert_eq!(shop.get("/pulls?state=closed").await.length(), 1);
}

#[tokio::test]
async fn a_commit_leads_to_the_pull_requests_that_hold_it() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let first = pull.head().unwrap();
    shop.change_more("agent/two");
    let path = format!("/commits/{first}/pulls");
    assert_eq!(shop.get(&path).await.body[0]["number"], pull.number);
    let main = shop.repo.tip("main").unwrap();
    assert_eq!(
        shop.get(&format!("/commits/{main}/pulls")).await.length(),
        0
    );
    let landed = shop.alice.merge(&pull, MergeMethod::Merge).unwrap();
    let by_merge = shop.get(&format!("/commits/{landed}/pulls")).await;
    assert_eq!(by_merge.body[0]["number"], pull.number);
    assert_eq!(by_merge.body[0]["state"], "closed");
}

impl Shop {
    fn change_more(&self, branch: &str) {
        let edits = Edits::write("more.txt", "more\n");
        self.agent.push(&self.repo, branch, "more", edits).unwrap();
    }
}

#[tokio::test]
async fn a_permission_is_yes_no_or_an_unknown_login() {
    let shop = shop().await;
    shop.github.user("stranger");
    for (login, permission) in [
        ("acme-agent", "write"),
        ("ALICE", "admin"),
        ("stranger", "none"),
    ] {
        let answer = shop
            .get(&format!("/collaborators/{login}/permission"))
            .await;
        assert_eq!(answer.body["permission"], permission, "{login}");
    }
    let nobody = shop.get("/collaborators/nobody/permission").await;
    assert_eq!(
        (nobody.status, nobody.message()),
        (404, "nobody is not a user")
    );
}

#[tokio::test]
async fn a_teams_members_are_listed() {
    let shop = shop().await;
    shop.github.team("acme", "owners", &[&shop.alice]);
    let token = &shop.token;
    let path = "/orgs/acme/teams/owners/members";
    let members = shop.ask_as(token, "GET", path, Value::Null).await;
    assert_eq!(members.body[0]["login"], "alice");
    let path = "/orgs/acme/teams/nobody/members";
    assert_eq!(
        shop.ask_as(token, "GET", path, Value::Null).await.status,
        404
    );
}

#[tokio::test]
async fn open_conversations_are_told_by_graphql_page_by_page() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let by = shop.alice.principal();
    for number in 0..101 {
        let mut world = shop.github.lock();
        let id = world
            .open_thread(pull.repo.id, pull.number, by, ("poem.txt", 2), "Why?")
            .unwrap();
        world
            .resolve_thread(pull.repo.id, id, by, number != 100)
            .unwrap();
    }
    let mut after = Value::Null;
    let mut open = 0;
    let mut pages = 0;
    loop {
        let query = json!({
            "query": "query { ... reviewThreads(first: 100) { nodes { isResolved } } }",
            "variables": { "owner": "acme", "name": "shop", "number": pull.number, "after": after },
        });
        let answer = shop
            .ask_as(&shop.token, "POST", "/graphql", query)
            .await
            .body;
        let threads = &answer["data"]["repository"]["pullRequest"]["reviewThreads"];
        let nodes = threads["nodes"].as_array().unwrap();
        open += nodes
            .iter()
            .filter(|node| node["isResolved"] == false)
            .count();
        pages += 1;
        if threads["pageInfo"]["hasNextPage"] == false {
            break;
        }
        after = threads["pageInfo"]["endCursor"].clone();
    }
    assert_eq!((open, pages), (1, 2));
    let query = json!({
        "query": "reviewThreads",
        "variables": { "owner": "acme", "name": "shop", "number": 99 },
    });
    let answer = shop.ask_as(&shop.token, "POST", "/graphql", query).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["errors"][0]["type"], "NOT_FOUND");
}

#[tokio::test]
async fn protection_is_shown_to_whoever_may_administer() {
    let shop = shop().await;
    let mut granted = vec![("administration", "read"), ("contents", "read")];
    granted.push(("metadata", "read"));
    shop.repo.grant_app(&shop.alice, &granted).unwrap();
    let none = shop.get("/branches/main/protection").await;
    assert_eq!((none.status, none.message()), (404, "Branch not protected"));
    shop.repo
        .protect("main", BranchProtection::default())
        .unwrap();
    assert_eq!(shop.get("/branches/main/protection").await.status, 200);
    assert_eq!(shop.get("/branches/main").await.body["protected"], true);
}
