//! The database as its operator treats it: copied, put back, proved.

use std::path::Path;

use countersign::domain::ledger::{Draft, Kind};
use countersign::domain::model::RepoId;
use countersign::store::sqlite::{Sqlite, url_of};
use countersign::store::{Ended, Store as _};
use rustix::process::Signal;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqliteConnection};
use tokio::process::Command;

use super::{FIRST, Server};

/// What a command answered.
pub struct Answer {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs the program in a folder; no setting comes from elsewhere. What it says of the folder is said as `DIR`.
pub async fn run(folder: &Path, words: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(words)
        .current_dir(folder)
        .env_clear()
        .output()
        .await
        .unwrap();
    let text = |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(folder.to_str().unwrap(), "DIR")
    };
    Answer {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Makes a database with so many entries, as a server does.
pub async fn database(file: &Path, entries: u64) {
    let store = Sqlite::open(&url_of(file)).await.unwrap();
    for number in 0..entries {
        let at = chrono::DateTime::from_timestamp(1_750_000_000, 0).unwrap();
        let draft = Draft {
            at,
            kind: Kind::Outcome,
            repo: RepoId::new(7).unwrap(),
            number: countersign::domain::model::PullNumber::new(number + 1),
            head: None,
            body: serde_json::json!({ "done": number }),
        };
        let done = Ended::Done(serde_json::Value::Null);
        let effect = format!("effect:{number}");
        store.end(&effect, done, Some(draft), at).await.unwrap();
    }
    store.close().await;
}

/// Writes past the program, as somebody does who can write the file.
async fn sql(file: &Path, statements: &str) {
    let mut db = SqliteConnection::connect(&url_of(file)).await.unwrap();
    db.execute(AssertSqlSafe(statements)).await.unwrap();
    db.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_is_replaced_by_its_copy_once_no_server_uses_it() {
    let mut server = Server::start(FIRST).await;
    let folder = server.folder.path().to_owned();
    let copied = run(&folder, &["database", "backup", "copy.db"]).await;
    assert_eq!(copied.code, 0, "{}", copied.err);
    let live = folder.join("countersign.db");
    // Whatever is in the log would heal the file.
    sql(&live, "pragma wal_checkpoint(truncate)").await;
    let mut bytes = std::fs::read(&live).unwrap();
    bytes[..16].fill(0);
    std::fs::write(&live, &bytes).unwrap();

    let put_back = ["database", "restore", "copy.db"];
    let refused = run(&folder, &put_back).await;
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert_eq!(
        refused.err,
        "countersign: countersign.db is in use: stop the server first (and whatever else has it open)\n"
    );
    assert_eq!(std::fs::read(&live).unwrap()[..16], [0; 16], "as it was");

    server.signal(Signal::KILL);
    server.process.wait().await.unwrap();
    let done = run(&folder, &put_back).await;
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    let told = "What stood there was damaged (its header is none of SQLite's); it is kept as \
                countersign.db.replaced-";
    assert!(done.out.contains(told), "{}", done.out);
    let proved = run(&folder, &["ledger", "verify"]).await;
    assert_eq!((proved.code, proved.err.as_str()), (0, ""));
}

#[tokio::test]
async fn every_command_means_the_file_that_the_server_opens() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(&folder.join("with space.db"), 3).await;
    let url = "--database=sqlite://with%20space.db?mode=rwc";
    let proved = run(folder, &["ledger", "verify", url]).await;
    assert!(
        proved.out.starts_with("3 entries"),
        "{}{}",
        proved.out,
        proved.err
    );
    let copied = run(folder, &["database", "backup", "copy.db", url]).await;
    assert!(
        copied.out.contains("3 ledger entries"),
        "{}{}",
        copied.out,
        copied.err
    );
    let done = run(folder, &["database", "restore", "copy.db", url]).await;
    let told = "What stood there is kept as with space.db.replaced-";
    assert!(done.out.contains(told), "{}{}", done.out, done.err);
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names[..2], ["copy.db", "with space.db"]);
    assert!(names[2].starts_with("with space.db.replaced-"), "{names:?}");
    assert_eq!(names.len(), 3, "{names:?}");
}

/// What lets a forger write the ledger.
const UNGUARD: &str = "drop trigger ledger_is_not_changed; drop trigger ledger_is_not_shortened; \
                       drop trigger ledger_head_goes_on; drop trigger ledger_head_stays; ";

#[tokio::test]
async fn verifying_finds_whatever_was_done_to_the_ledger_but_a_chain_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = folder.join("countersign.db");
    database(&file, 4).await;
    let sound = std::fs::read(&file).unwrap();
    let mut told = String::new();
    for forgery in [
        "delete from ledger where seq > 2",
        "delete from ledger",
        "delete from ledger; delete from ledger_head",
        "delete from ledger; update ledger_head set seq = 0; \
         insert into records values (7, 1, '{\"verdict\":{\"outcome\":\"merged\"}}')",
        "update ledger_head set seq = 3, hash = (select hash from ledger where seq = 3)",
        "update ledger set number = 999 where seq = 3",
        "update ledger set number = null where seq = 3",
        "update ledger set repo = 999 where seq = 3",
        "update ledger set seq = seq + 5",
        "update ledger set hash = '00' where seq = 4",
        "update ledger set entry = json_set(entry, '$.forged', 'x') where seq = 3",
        "update ledger set entry = json_set(entry, '$.body.done', 9) where seq = 3",
        "update ledger set entry = 'nothing' where seq = 3",
        "update ledger set entry = x'00' where seq = 3",
    ] {
        std::fs::write(&file, &sound).unwrap();
        sql(&file, &format!("{UNGUARD}{forgery}")).await;
        let answer = run(folder, &["ledger", "verify"]).await;
        assert_eq!(
            (answer.code, answer.err.as_str()),
            (1, ""),
            "{forgery}: {}",
            answer.out
        );
        told += &answer.out;
    }
    insta::assert_snapshot!(told, @r#"
    BROKEN: the chain breaks at entry 3: it is gone, and all up to entry 4 (hash 4bfe1aa4fc5ba44a03cc46a6b1121a904720dfd34d3b9823efc3d6eab6345fbc), which was the last one written
    BROKEN: the chain breaks at entry 1: it is gone, and all up to entry 4 (hash 4bfe1aa4fc5ba44a03cc46a6b1121a904720dfd34d3b9823efc3d6eab6345fbc), which was the last one written
    BROKEN: the chain breaks at entry 1: the row of `ledger_head` that tells where it ends is gone
    BROKEN: the chain breaks at entry 1: there is none, although pull requests were judged
    BROKEN: the chain breaks at entry 4: the last one that was written is entry 3
    BROKEN: the chain breaks at entry 3: its column `number`, by which it is found, says something else
    BROKEN: the chain breaks at entry 3: its column `number`, by which it is found, says something else
    BROKEN: the chain breaks at entry 3: its column `repo`, by which it is found, says something else
    BROKEN: the chain breaks at entry 1: its column `seq`, by which it is found, says something else
    BROKEN: the chain breaks at entry 4: its column `hash`, by which it is found, says something else
    BROKEN: the chain breaks at entry 3: it holds "forged", which was not hashed
    BROKEN: the chain breaks at entry 3: its content is not what was hashed
    BROKEN: the chain breaks at entry 3: it is no ledger entry: expected ident at line 1 column 2
    BROKEN: the chain breaks at entry 3: it is not kept as a text
    "#);
}

#[tokio::test]
async fn what_was_noted_of_a_chain_tells_it_from_one_that_was_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = folder.join("countersign.db");
    database(&file, 2).await;
    let first = run(folder, &["ledger", "verify"]).await;
    insta::assert_snapshot!(first.out, @r"
    2 entries, the chain holds. The last one, 2, has the hash
    a83b21701587dd4039a390c1ad95c1ea551e158af2df6ac5961aa9e4e82bc1f2
    Who can write the whole database could have made it anew: keep that hash elsewhere, and give it
    as --expect-head later.
    ");
    let head = first.out.lines().nth(1).unwrap().to_owned();
    let expect = format!("--expect-head={head}");

    database(&file, 4).await;
    let later = run(folder, &["ledger", "verify", &expect]).await;
    insta::assert_snapshot!(later.out, @r"
    6 entries, the chain holds. The last one, 6, has the hash
    1b852f20f04c393f044a2471f6a20c8d4b25f063bd7189fd1c82c048968e30ca
    Entry 2 is the one that was expected: all up to there is what it was.
    ");
    assert_eq!(later.code, 0, "{}", later.err);
    let exported = run(folder, &["ledger", "export"]).await;
    std::fs::write(folder.join("all.jsonl"), &exported.out).unwrap();
    let of_file = run(folder, &["ledger", "verify", "all.jsonl", &expect]).await;
    assert_eq!((of_file.code, of_file.out), (0, later.out));

    // Another history, whole and sound in itself.
    std::fs::remove_file(&file).unwrap();
    database(&file, 1).await;
    let anew = run(folder, &["ledger", "verify", &expect]).await;
    insta::assert_snapshot!(anew.out.replace(&head, "HEAD"), @r"
    1 entries, the chain holds. The last one, 1, has the hash
    61d7610c133884669a446796435a7bc0c5b49a766708f3d852f515ee66fa9682
    BROKEN: no entry has the hash HEAD. This is not the chain in which it was seen, or that part of it is gone.
    ");
    assert_eq!(anew.code, 1);
    let cut: String = exported.out.lines().take(1).collect();
    std::fs::write(folder.join("all.jsonl"), cut).unwrap();
    let of_file = run(folder, &["ledger", "verify", "all.jsonl", &expect]).await;
    assert_eq!(of_file.code, 1, "{}", of_file.out);

    let forged = exported.out.replacen('{', r#"{"forged":"x","#, 1);
    std::fs::write(folder.join("all.jsonl"), forged).unwrap();
    let of_file = run(folder, &["ledger", "verify", "all.jsonl"]).await;
    assert_eq!(of_file.code, 1);
    insta::assert_snapshot!(of_file.out, @r#"BROKEN in line 1: the chain breaks at entry 1: it holds "forged", which was not hashed"#);
    let wrong = run(folder, &["ledger", "verify", "--expect-head=00"]).await;
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("all 64 digits"), "{}", wrong.err);
}

#[tokio::test]
async fn what_another_program_keeps_is_neither_read_as_ours_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(&folder.join("ours.db"), 1).await;
    run(
        folder,
        &[
            "database",
            "backup",
            "copy.db",
            "--database=sqlite://ours.db",
        ],
    )
    .await;
    let theirs = folder.join("theirs.db");
    std::fs::write(&theirs, "").unwrap();
    sql(
        &theirs,
        "create table notes (name text); insert into notes values ('mine')",
    )
    .await;
    std::fs::write(folder.join("empty.db"), "").unwrap();
    let before = std::fs::read(&theirs).unwrap();
    let mut told = String::new();
    for words in [
        "ledger verify",
        "ledger export",
        "scorecard acme/shop",
        "database backup new.db",
        "database restore copy.db",
        "serve --app-id=1 --private-key=x --webhook-secret=x",
    ] {
        for name in ["theirs.db", "empty.db"] {
            if name == "empty.db" && (words.contains("restore") || words.contains("serve")) {
                continue;
            }
            let url = format!("--database={}", url_of(Path::new(name)));
            let words: Vec<_> = words.split(' ').chain([url.as_str()]).collect();
            let answer = run(folder, &words).await;
            assert_eq!(
                (answer.code, answer.out.as_str()),
                (2, ""),
                "{words:?}: {}",
                answer.err
            );
            told += &answer.err;
        }
    }
    assert_eq!(std::fs::read(&theirs).unwrap(), before);
    assert_eq!(std::fs::read(folder.join("empty.db")).unwrap(), b"");
    insta::assert_snapshot!(told, @r"
    countersign: theirs.db is not a database of Countersign: another program keeps its tables there; name the server's with --database sqlite://FILE
    countersign: there is no database of a server at sqlite://empty.db: name the server's with --database URL or COUNTERSIGN_DATABASE_URL
    countersign: theirs.db is not a database of Countersign: another program keeps its tables there; name the server's with --database sqlite://FILE
    countersign: there is no database of a server at sqlite://empty.db: name the server's with --database URL or COUNTERSIGN_DATABASE_URL
    countersign: theirs.db is not a database of Countersign: another program keeps its tables there; name the server's with --database sqlite://FILE
    countersign: there is no database of a server at sqlite://empty.db: name the server's with --database URL or COUNTERSIGN_DATABASE_URL
    countersign: theirs.db is not a database of Countersign: another program keeps its tables there; name the server's with --database URL or COUNTERSIGN_DATABASE_URL
    countersign: empty.db is empty: there is no database in it; name the server's with --database URL or COUNTERSIGN_DATABASE_URL
    countersign: theirs.db is not a database of Countersign: another program keeps its tables there
    countersign: the private key is neither PEM (`-----BEGIN RSA PRIVATE KEY-----`) nor the base64 of such a text
    ");
}

#[tokio::test]
async fn what_cannot_be_copied_is_named_as_the_person_named_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(&folder.join("ours.db"), 1).await;
    database(&folder.join("newer.db"), 1).await;
    let newer =
        "insert into _sqlx_migrations values (99, 'later', current_timestamp, true, x'00', 1)";
    sql(&folder.join("newer.db"), newer).await;
    std::fs::create_dir(folder.join("folder")).unwrap();
    std::fs::write(folder.join("text.db"), "this is no database, but a text that is longer than a header of one, which has a hundred bytes").unwrap();
    let mut told = String::new();
    for (code, words) in [
        (2, "ledger verify --database=sqlite://newer.db"),
        (2, "ledger verify --database=sqlite://nowhere/c.db"),
        (2, "ledger verify --database=sqlite://folder"),
        (2, "ledger verify --database=sqlite://text.db"),
        (2, "ledger verify --database=sqlite://a.db?mode=odd"),
        (2, "database backup new.db --database=sqlite://newer.db"),
        (2, "database backup new.db"),
        (1, "database backup new.db --database=sqlite://text.db"),
        (2, "database backup new.db --database=sqlite://folder"),
        (
            2,
            "database backup nowhere/new.db --database=sqlite://ours.db",
        ),
        (2, "database restore newer.db --database=sqlite://ours.db"),
        (
            2,
            "database restore ours.db --database=sqlite://nowhere/c.db",
        ),
        (2, "database restore ours.db --database=sqlite://folder"),
        (2, "database restore folder --database=sqlite://ours.db"),
        (2, "database restore gone.db --database=sqlite://ours.db"),
        (1, "database restore text.db --database=sqlite://ours.db"),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let answer = run(folder, &words).await;
        assert_eq!(
            (answer.code, answer.out.as_str()),
            (code, ""),
            "{words:?}: {}",
            answer.err
        );
        told += &answer.err;
    }
    insta::assert_snapshot!(told, @r#"
    countersign: newer.db was written by a newer version of Countersign: use that version
    countersign: there is no database of a server at sqlite://nowhere/c.db: name the server's with --database URL or COUNTERSIGN_DATABASE_URL
    countersign: the database folder cannot be opened: error returned from database: (code: 14) unable to open database file; name the server's with --database sqlite://FILE
    countersign: the database text.db cannot be opened: error returned from database: (code: 26) file is not a database; if it is the server's, it is damaged: `countersign database restore COPY` puts a copy in its place
    countersign: the database's address sqlite://a.db?mode=odd cannot be read: error with configuration: unknown value "odd" for `mode`; write sqlite://FILE (--database, COUNTERSIGN_DATABASE_URL)
    countersign: newer.db was written by a newer version of Countersign: use that version
    countersign: there is no file countersign.db; name the server's with --database URL or COUNTERSIGN_DATABASE_URL
    countersign: text.db is not a sound database of Countersign: error returned from database: (code: 26) file is not a database; `countersign database restore COPY` puts an earlier copy in its place
    countersign: folder: is a directory
    countersign: there is no folder nowhere
    countersign: newer.db was written by a newer version of Countersign: use that version
    countersign: there is no folder nowhere
    countersign: folder: Is a directory (os error 21)
    countersign: folder: is a directory
    countersign: there is no file gone.db
    countersign: text.db is not a sound database of Countersign: error returned from database: (code: 26) file is not a database
    "#);
    assert!(!folder.join("new.db").exists());
    let names: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert_eq!(names.len(), 4, "nothing half-made is left: {names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_keeps_is_for_its_owner_alone_unless_it_was_open_to_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start(FIRST).await;
    let folder = server.folder.path();
    let rights = |name: &str| {
        let found = std::fs::metadata(folder.join(name));
        found
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .permissions()
            .mode()
            & 0o777
    };
    for name in ["countersign.db", "countersign.db-wal", "countersign.db-shm"] {
        assert_eq!(rights(name), 0o600, "{name}");
    }
    let shared = folder.join("shared.db");
    database(&shared, 1).await;
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o640)).unwrap();
    database(&shared, 2).await;
    assert_eq!(rights("shared.db"), 0o640);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_moved_from_under_a_running_server() {
    let server = Server::start(FIRST).await;
    let folder = server.folder.path();
    let words = [
        "database",
        "move",
        "--from",
        "sqlite://countersign.db",
        "--to",
    ];
    // Nobody listens there: whoever gets so far is told of that instead.
    let words = [words.as_slice(), &["postgres://127.0.0.1:1/x"]].concat();
    let answer = run(folder, &words).await;
    assert_eq!(answer.code, 2, "{}", answer.err);
    assert!(
        answer.err.contains("in use: stop the server first"),
        "{}",
        answer.err
    );
    let mut server = server;
    server.signal(Signal::TERM);
    server.process.wait().await.unwrap();
    let answer = run(server.folder.path(), &words).await;
    assert_eq!(answer.code, 2, "{}", answer.err);
    assert!(answer.err.contains("refused"), "{}", answer.err);
}
