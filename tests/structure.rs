//! What holds the shape of the code: floors, sizes, who may write to GitHub, and documents that name
//! only what exists. Each rule is data here; a failure names the file and says what to do.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use syn::spanned::Spanned;
use syn::visit::Visit;

/// The floors, from the ground up. A room imports from lower floors, and within its own floor nothing
/// but itself. `ARCHITECTURE.md` tells the same table.
const FLOORS: &[(&str, &[&str])] = &[
    ("meaning", &["domain"]),
    ("ground", &["clock", "settings", "telemetry"]),
    ("world", &["github", "store"]),
    (
        "steps",
        &[
            "webhook", "intake", "gather", "hear", "execute", "sweep", "inspect", "outlook",
            "verify", "watch", "submit",
        ],
    ),
    ("flow", &["reconcile", "dispatch"]),
    ("engine", &["worker"]),
    ("faces", &["web"]),
    ("whole", &["app"]),
    ("words", &["cli"]),
];

/// Aside from the floors: imports the clock alone, and is imported by the demo alone.
const SIMULATOR: &str = "simulator";

/// Edges within a floor that are meant.
const NEIGHBOURS: &[(&str, &str, &str)] = &[
    (
        "telemetry",
        "settings",
        "the format of log lines is a setting",
    ),
    ("execute", "gather", "what a pass starts from is handed on"),
    (
        "reconcile",
        "dispatch",
        "one pass a key, whatever the key is about",
    ),
    (
        "watch",
        "sweep",
        "how long its turns take, and where it keeps which deliveries are missing",
    ),
    (
        "hear",
        "gather",
        "what people ask is heard over the facts of the pass",
    ),
];

/// The pure rooms within `domain`, from the ground up: each imports from rooms before it. Rooms on one
/// line know each other.
const DOMAIN: &[&[&str]] = &[
    &["model", "distinct"],
    &[
        "facts", "policy", "command", "request", "evidence", "ledger", "event", "memory",
    ],
    &["patch", "testlog", "mutants", "import", "redelivery"],
    &["gate", "verdict", "landing", "doctor", "prospects"],
    &["preview", "hypothesis"],
    &["render"],
    &["dispatch", "plan", "asking"],
    &["alarms"],
    &["next", "scorecard", "attest"],
];

const LONGEST_FILE: usize = 600;
const LONGEST_FUNCTION: usize = 70;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of Rust below a folder, in order.
fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every source file that is not a test's, with its path from the root.
fn sources() -> Vec<(String, String)> {
    rust_files("src")
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
            (name.to_owned(), text)
        })
        .filter(|(name, _)| !is_test_file(name))
        .collect()
}

fn is_test_file(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap();
    matches!(file, "tests.rs" | "testing.rs" | "conformance.rs") || name.contains("/tests/")
}

/// `src/domain/gate/mod.rs` is in the room `domain`, part `gate`.
fn room(name: &str) -> (String, String) {
    let inner = name.strip_prefix("src/").unwrap().trim_end_matches(".rs");
    let mut parts = inner.split('/');
    let room = parts.next().unwrap_or_default().to_owned();
    let part = parts.next().unwrap_or_default().to_owned();
    (room, part)
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, syn::Meta::List(list) if list.tokens.to_string().contains("test"))
            || attribute.path().is_ident("test")
    })
}

/// `src/domain/gate/mod.rs` is the module `domain::gate`.
fn module(name: &str) -> Vec<String> {
    let inner = name.trim_start_matches("src/").trim_end_matches(".rs");
    let parts = inner.split('/');
    parts
        .filter(|part| !matches!(*part, "mod" | "lib" | "main"))
        .map(str::to_owned)
        .collect()
}

/// What a file imports from the crate, the lengths of its functions, its words.
#[derive(Default)]
struct Reader {
    /// Where in the crate the reader stands.
    module: Vec<String>,
    /// Paths from the crate's root, however they are written: `crate::`, `super::`, within macros.
    paths: BTreeSet<Vec<String>>,
    /// Every name that occurs in a path.
    names: BTreeSet<String>,
    functions: Vec<(String, usize)>,
    test_switches: Vec<String>,
}

impl Reader {
    fn read(name: &str, text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut reader = Self {
            module: module(name),
            ..Self::default()
        };
        reader.visit_file(&file);
        reader
    }

    fn tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| {
            let mut path = prefix.to_vec();
            path.push(ident.to_string());
            path
        };
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.note(with(&name.ident)),
            syn::UseTree::Rename(name) => self.note(with(&name.ident)),
            syn::UseTree::Glob(_) => self.note(prefix.to_vec()),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(prefix, tree);
                }
            }
        }
    }

    fn note(&mut self, path: Vec<String>) {
        self.names.extend(path.iter().cloned());
        let supers = path.iter().take_while(|part| *part == "super").count();
        let whole = match path.first().map(String::as_str) {
            Some("crate") => path[1..].to_vec(),
            Some("super") => {
                let kept = self.module.len().saturating_sub(supers);
                [&self.module[..kept], &path[supers..]].concat()
            }
            _ => return,
        };
        self.paths.insert(whole);
    }

    /// Macros hold tokens, not paths: what looks like one is taken for one.
    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut joined = true;
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Ident(ident) => {
                    if !joined {
                        self.note(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    joined = false;
                }
                proc_macro2::TokenTree::Punct(punct) if punct.as_char() == ':' => joined = true,
                other => {
                    self.note(std::mem::take(&mut path));
                    joined = true;
                    if let proc_macro2::TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.note(path);
    }

    fn function(&mut self, name: &syn::Ident, whole: &impl Spanned) {
        let span = whole.span();
        let lines = span.end().line - span.start().line + 1;
        self.functions.push((name.to_string(), lines));
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.module.push(item.ident.to_string());
            syn::visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.tree(&[], &item.tree);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_test(&item.attrs) {
            self.test_switches.push(item.sig.ident.to_string());
            return;
        }
        self.function(&item.sig.ident, item);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_test(&item.attrs) {
            self.test_switches.push("an impl block".into());
            return;
        }
        syn::visit::visit_item_impl(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_test(&item.attrs) {
            self.test_switches.push(item.sig.ident.to_string());
        }
        self.function(&item.sig.ident, item);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.tokens(mac.tokens.clone());
        syn::visit::visit_macro(self, mac);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.note(path.segments.iter().map(|s| s.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }
}

/// The rules below are worth what the reader sees.
#[test]
fn the_reader_sees_imports_however_they_are_written() {
    let text = r#"
        use crate::store::{Store, sqlite::{self, Sqlite}};
        use super::worker::Worker;
        use super::super::cli;
        use std::fmt;
        fn plain() { let _ = crate::web::router; tracing::info!("x", y = crate::app::App::new()); }
        mod inner { use super::super::sweep; }
        #[cfg(test)]
        mod tests { use crate::simulator; }
    "#;
    let reader = Reader::read("src/web/pages.rs", text);
    let seen: Vec<String> = reader.paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(
        seen,
        [
            "app::App::new",
            "cli",
            "store::Store",
            "store::sqlite::Sqlite",
            "store::sqlite::self",
            "web::router",
            "web::sweep",
            "web::worker::Worker",
        ]
    );
    let switched = Reader::read("src/web/x.rs", "#[cfg(test)] impl X { fn f() {} }");
    assert_eq!(switched.test_switches, ["an impl block"]);
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|(_, rooms)| rooms.contains(&room))
}

#[test]
fn arrows_go_down_only() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let (from, _) = room(&name);
        if matches!(from.as_str(), "lib" | "main") {
            continue;
        }
        for path in Reader::read(&name, &text).paths {
            let to = path.first().cloned().unwrap_or_default();
            if to == from || floor(&to).is_none() && to != SIMULATOR {
                continue;
            }
            let allowed = match (from.as_str(), to.as_str()) {
                (SIMULATOR, to) => to == "clock",
                ("cli", SIMULATOR) => name.contains("/demo"),
                (_, SIMULATOR) => false,
                (from, to) => {
                    floor(to) < floor(from)
                        || NEIGHBOURS.iter().any(|(a, b, _)| (*a, *b) == (from, to))
                }
            };
            if !allowed {
                wrong.push(format!("{name} imports {}", path.join("::")));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "these arrows go up or sideways:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_room_has_its_floor() {
    let homeless: BTreeSet<String> = sources()
        .iter()
        .map(|(name, _)| room(name).0)
        .filter(|room| floor(room).is_none())
        .filter(|room| !matches!(room.as_str(), "lib" | "main" | SIMULATOR))
        .collect();
    assert!(
        homeless.is_empty(),
        "give these rooms a floor: {homeless:?}"
    );
}

#[test]
fn the_pure_rooms_stand_on_one_another_and_on_nothing_else() {
    let level = |part: &str| DOMAIN.iter().position(|rooms| rooms.contains(&part));
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let (from, part) = room(&name);
        if from != "domain" || part == "mod" {
            continue;
        }
        assert!(level(&part).is_some(), "give domain::{part} its place");
        for path in Reader::read(&name, &text).paths {
            let to = path.get(1).cloned().unwrap_or_default();
            if path[0] != "domain" {
                wrong.push(format!("{name} imports {}", path.join("::")));
            } else if level(&to).is_some_and(|to| Some(to) > level(&part)) {
                wrong.push(format!("{name} imports {} from above", path.join("::")));
            }
        }
        // A name in a text is data: the attributes that make a test, for one.
        let code = text.replace("\"tokio::", "\"");
        for word in ["async fn", ".await", "tokio::"] {
            if code.contains(word) {
                wrong.push(format!("{name} is not pure: it says `{word}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_execute_writes_to_github() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let (from, _) = room(&name);
        let reader = Reader::read(&name, &text);
        if reader.names.contains("Writes") && !matches!(from.as_str(), "execute" | "app" | "github")
        {
            wrong.push(format!("{name} holds Writes"));
        }
        for method in [
            ".create_check(",
            ".update_check(",
            ".merge(",
            ".react(",
            ".comment(",
            ".edit_comment(",
            ".add_label(",
            ".remove_label(",
            ".disarm_auto_merge(",
            ".start_workflow(",
        ] {
            let calls = text.contains(&format!("writes\n                        {method}"))
                || text.contains(&format!("writes{method}"));
            if calls && from != "execute" {
                wrong.push(format!("{name} calls {method}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_and_functions_fit_on_a_few_screens() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        // A test module at the end of a file is not what makes it long.
        let code = text
            .split("\n#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or(&text);
        let lines = code.lines().count();
        if lines > LONGEST_FILE {
            wrong.push(format!("{name} has {lines} lines: it is two rooms"));
        }
        for (function, lines) in Reader::read(&name, &text).functions {
            if lines > LONGEST_FUNCTION {
                wrong.push(format!("{name}: {function} has {lines} lines"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn production_code_has_no_test_switches() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        for function in Reader::read(&name, &text).test_switches {
            wrong.push(format!("{name}: {function} is there for tests only"));
        }
        if text.contains("cfg!(test)") || text.contains("not(test)") {
            wrong.push(format!("{name} asks whether it is tested"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Texts in back-ticks that look like a path of this repository.
fn named_files(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut names = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        for (index, span) in line.split('`').enumerate() {
            let starts = [
                "src/",
                "tests/",
                "benches/",
                "deploy/",
                "templates/",
                ".ci/",
                "./tests/",
            ];
            let looks = starts.iter().any(|start| span.starts_with(start))
                || (!span.contains('/') && [".md", ".toml"].iter().any(|end| span.ends_with(end)));
            if index % 2 == 1 && looks && !span.contains(['*', '<', ' ']) {
                names.push(span.to_owned());
            }
        }
    }
    names
}

#[test]
fn documents_name_only_files_that_exist() {
    let mut wrong = Vec::new();
    for document in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "deploy/README.md",
        "tests/FIELD.md",
    ] {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        for name in named_files(&text) {
            if !root().join(&name).exists() {
                wrong.push(format!("{document} names {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file below `deploy`, as text.
fn deployed(name: &str) -> String {
    std::fs::read_to_string(root().join("deploy").join(name)).unwrap()
}

/// The names of series in a text, which follow `before`.
fn series(text: &str, before: &str) -> BTreeSet<String> {
    text.split(&format!("{before}countersign_"))
        .skip(1)
        .map(|rest| {
            let more = |c: char| !c.is_ascii_lowercase() && c != '_';
            format!("countersign_{}", rest.split(more).next().unwrap())
        })
        .collect()
}

#[test]
fn the_runbook_has_a_row_and_prometheus_a_rule_for_every_alarm_and_for_no_other() {
    let (runbook, rules) = (deployed("README.md"), deployed("prometheus-rules.yml"));
    let kinds: BTreeSet<_> = countersign::domain::alarms::KINDS
        .iter()
        .map(|kind| kind.word().to_owned())
        .collect();
    let (_, table) = runbook
        .split_once("| kind | rings |")
        .expect("the runbook has its table");
    let rows: BTreeSet<_> = table
        .lines()
        .skip(2)
        .map_while(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_owned)
        .collect();
    assert_eq!(rows, kinds, "the runbook's rows");
    let ruled: BTreeSet<_> = rules
        .split("countersign_alarm{kind=\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .collect();
    assert_eq!(ruled, kinds, "the rules of Prometheus");
}

#[test]
fn every_series_is_told_to_who_runs_the_server_and_no_other_is() {
    let sources = [
        "src/telemetry/meters.rs",
        "src/web/metrics.rs",
        "src/watch.rs",
    ];
    let code = sources.map(|file| std::fs::read_to_string(root().join(file)).unwrap());
    let shown = series(&code.concat(), "\"");
    assert!(shown.len() > 20, "the series are not found: {shown:?}");
    assert_eq!(
        series(&deployed("README.md"), "`"),
        shown,
        "deploy/README.md"
    );
    let ruled = series(&deployed("prometheus-rules.yml"), "");
    let unknown: Vec<_> = ruled.difference(&shown).collect();
    assert!(
        unknown.is_empty(),
        "rules ask for what is not there: {unknown:?}"
    );
}

#[test]
fn what_is_there_to_deploy_is_named_and_what_is_named_is_there() {
    let place = root().join("deploy");
    let mut files = BTreeSet::new();
    let mut folders = vec![place.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&place).unwrap().to_str().unwrap();
                files.insert(name.to_owned());
            }
        }
    }
    files.remove("README.md");
    let text = deployed("README.md");
    let links: BTreeSet<_> = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
        .filter(|link| !link.is_empty() && !link.contains("://"))
        .map(str::to_owned)
        .collect();
    let unnamed: Vec<_> = files.difference(&links).collect();
    assert!(
        unnamed.is_empty(),
        "deploy/README.md does not link to {unnamed:?}"
    );
    for link in links {
        assert!(
            place.join(&link).exists(),
            "deploy/README.md links to {link}"
        );
    }
}

/// What others are told to wait for and to let through is what the server takes.
#[test]
fn the_unit_and_the_proxy_have_the_servers_bounds() {
    let drain = countersign::worker::Pace::default()
        .drain
        .max(countersign::web::server::Limits::default().drain);
    let unit = deployed("countersign.service");
    let patience = unit
        .lines()
        .find_map(|line| line.strip_prefix("TimeoutStopSec="))
        .and_then(|seconds| seconds.parse().ok())
        .map(std::time::Duration::from_secs);
    assert!(
        patience > Some(drain),
        "{patience:?} is too short for {drain:?}"
    );
    let mebibytes = countersign::webhook::body::LARGEST / 1024 / 1024;
    let bound = format!("client_max_body_size {mebibytes}m;");
    assert!(deployed("nginx.conf").contains(&bound), "{bound}");
}

/// A threat is answered as long as the test that it names is there.
#[test]
fn the_threats_name_tests_that_exist() {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let files = [rust_files("src"), rust_files("tests")].concat();
    let code: String = files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 15, "the table of threats is not found");
    for row in &rows[1..] {
        let tests: Vec<_> = row
            .rsplit('|')
            .nth(1)
            .unwrap()
            .split('`')
            .skip(1)
            .step_by(2)
            .collect();
        assert!(!tests.is_empty(), "no test is named: {row}");
        for test in tests {
            assert!(
                code.contains(&format!("fn {test}(")),
                "no such test: {test}"
            );
        }
    }
}

/// Whether a file's text holds this test: marked as one, or a sentence of the suite of stores.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let Some(at) = lines
        .iter()
        .position(|line| line.contains(&format!("fn {name}(")))
    else {
        return false;
    };
    let above = lines[..at].iter().rev();
    let mut above = above.take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    let signature = lines[at..lines.len().min(at + 2)].concat();
    above.any(|line| {
        ["#[test]", "#[tokio::test"]
            .iter()
            .any(|mark| line.starts_with(mark))
    }) || signature.contains("place: &dyn Place")
}

/// What a cell of tests names: each file with a test in it. A name in back ticks that is no file is a test of
/// the file before it.
fn named_tests(cell: &str) -> Vec<(&str, &str)> {
    let mut named = Vec::new();
    let mut file = "";
    for span in cell.split('`').skip(1).step_by(2) {
        if span.ends_with(".rs") {
            file = span;
        } else {
            named.push((file, span));
        }
    }
    named
}

/// What is said to hold against a fault seen elsewhere holds as long as the tests are there that say so.
#[test]
fn the_faults_of_the_field_name_tests_that_exist() {
    let text = std::fs::read_to_string(root().join("tests/FIELD.md")).unwrap();
    let rows: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| what goes wrong"))
        .collect();
    assert!(rows.len() > 60, "the tables are not found");
    let mut wrong = Vec::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 3, "three columns: {row}");
        let named = named_tests(cells[2]);
        if named.is_empty() {
            wrong.push(format!("no test is named: {row}"));
        }
        for (file, test) in named {
            let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
            if !has_test(&text, test) {
                wrong.push(format!("{file} has no test {test}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_architecture_tells_the_floors_as_they_are() {
    let rows = FLOORS.iter().rev().map(|(floor, rooms)| {
        let rooms: Vec<_> = rooms.iter().map(|room| format!("`{room}`")).collect();
        format!("| {floor} | {} |", rooms.join(", "))
    });
    let table: Vec<_> = ["| floor | rooms |".to_owned(), "|---|---|".to_owned()]
        .into_iter()
        .chain(rows)
        .collect();
    let table = table.join("\n");
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(
        text.contains(&table),
        "ARCHITECTURE.md must hold this table:\n\n{table}\n"
    );
}

#[test]
fn one_crypto_provider_is_compiled_and_no_second_tls() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for unwanted in ["openssl-sys", "native-tls"] {
        assert!(
            !lock.contains(&format!("name = \"{unwanted}\"")),
            "{unwanted} came in"
        );
    }
    // `ring` stands in the lock file as an optional part of others; whether it is compiled is cargo's
    // to say.
    let tree = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(
        tree.contains("aws-lc-rs v"),
        "cargo tree answered nothing:\n{tree}"
    );
    assert!(
        !tree.lines().any(|line| line.starts_with("ring v")),
        "ring is compiled"
    );
}

#[test]
fn the_manifest_asks_for_exactly_what_is_used() {
    let text = std::fs::read_to_string(root().join("app-manifest.yml")).unwrap();
    let mut section = String::new();
    let mut lists: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
    {
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.starts_with(' ')) {
            section = name.to_owned();
        } else if line.starts_with("  ") {
            let entry = line.trim().trim_start_matches("- ").to_owned();
            lists.entry(section.clone()).or_default().insert(entry);
        }
    }
    let set = |entries: &[&str]| {
        entries
            .iter()
            .map(|&entry| entry.to_owned())
            .collect::<BTreeSet<_>>()
    };
    let events = [
        "pull_request",
        "pull_request_review",
        "pull_request_review_thread",
        "check_run",
        "check_suite",
        "status",
        "issue_comment",
        "issues",
        "label",
        "push",
        "workflow_run",
        "merge_group",
        "deployment_status",
        "repository",
    ];
    let permissions = [
        "checks: write",
        "statuses: write",
        "contents: write",
        "pull_requests: write",
        "issues: write",
        "actions: write",
        "deployments: read",
        "members: read",
        "merge_queues: read",
        "metadata: read",
    ];
    assert_eq!(lists["default_events"], set(&events));
    assert_eq!(lists["default_permissions"], set(&permissions));
}
