use super::*;

#[test]
fn a_rust_change_has_its_mutants() {
    let text = r#"/// How much is left: `a < b`.
#[must_use]
pub fn left(limit: u32, used: &[u32]) -> Option<u32> {
    // Nothing is left when 3 > 2.
    let total = used[1] + 0x0f_u32;
    if limit <= total && !used.is_empty() {
        tracing::info!("true == {}", total >= 10);
        return None;
    }
    report(total, true);
    Some(limit - total)
}
"#;
    insta::assert_snapshot!("rust", told(&added("src/left.rs", text)));
}

#[test]
fn a_python_change_has_its_mutants() {
    let text = r#"def left(limit, used):
    """Whether limit > used, as 1 < 2."""
    if limit is None or limit < used[1]:
        raise ValueError(f"limit {limit > 3} is True")
    elif used not in KNOWN:  # 1 == 2
        self.total += 1
    kept = [one for one in used if one >= 0.5]
    return True if kept else False
"#;
    insta::assert_snapshot!("python", told(&added("left.py", text)));
}

#[test]
fn a_typescript_change_has_its_mutants() {
    let text = r#"export function left(limit: number, used: number[]): boolean {
  const kept: 1 | 2 = used[1] === 2 ? 1 : 2; // a < b
  while (limit > kept) {
    limit -= 1;
  }
  if (!kept) {
    throw new Error(`no ${limit < 1} left`);
  }
  log("1 < 2", /a<1/, true);
  return limit !== 3;
}
"#;
    insta::assert_snapshot!("typescript", told(&added("src/left.ts", text)));
}

#[test]
fn a_change_of_marked_up_javascript_has_its_mutants() {
    let text = r#"export const Left = ({ limit }) => {
  const open = limit > 0;
  return <p title="1 < 2" hidden={!open}>3 == 4 {open ? limit + 1 : null}</p>;
};
"#;
    insta::assert_snapshot!("tsx", told(&added("src/left.tsx", text)));
    insta::assert_snapshot!("jsx", told(&added("src/left.jsx", text)));
}

#[test]
fn a_go_change_has_its_mutants() {
    let text = r#"// Left says 1 < 2.
func Left(limit int, used []int) (int, error) {
	for i := 0; i < len(used); i++ {
		limit -= used[i]
	}
	if err := check(limit); err != nil || limit <= 0 {
		return 0, errors.New("limit == 1")
	}
	defer done(true)
	return limit, nil
}
"#;
    insta::assert_snapshot!(
        "go",
        told(&changed("left.go", "package left\n\n", "", text, ""))
    );
}

#[test]
fn a_java_change_has_its_mutants() {
    let text = r#"    @Timeout(5)
    boolean left(int limit, int[] used) {
        // 1 < 2
        if (limit >= used[2] && open) {
            total = 1L;
            throw new IllegalStateException("1 == 2");
        }
        log.info("true");
        return limit == 'a' ? true : check(limit);
    }
"#;
    insta::assert_snapshot!(
        "java",
        told(&changed("Left.java", "class Left {\n", "", text, "}\n"))
    );
}

#[test]
fn c_and_cpp_changes_have_their_mutants() {
    let text = r#"#define LIMIT 10
#if LIMIT > 5
static int left(int limit, const int *used) {
    /* 1 < 2 */
    for (int i = 0; i < 3; i++) {
        limit -= used[i + 1];
    }
    if (limit == 'a' || !used) {
        puts("1 == 2");
        return -1;
    }
    return limit > 010;
}
#endif
"#;
    insta::assert_snapshot!("c", told(&added("left.c", text)));
    let text = r#"bool Left::open(std::array<int, 4> &used) const {
    if (auto found = find(used); found && used.size() > 1'000) {
        return R"(1 < 2)" == name;
    }
    return true;
}
"#;
    insta::assert_snapshot!("cpp", told(&added("left.cpp", text)));
}

#[test]
fn a_language_without_a_parser_is_touched_where_a_line_leaves_no_doubt() {
    let text = "if limit <= 10 then\n  total = 3\n  open = true\n  puts \"1 < 2\"\n  a<b\n  x = 1 # 2 == 3\nend\n";
    insta::assert_snapshot!("unknown", told(&added("left.rb", text)));
    let heredoc = format!("{text}puts <<TEXT\nif 1 < 2\nTEXT\n");
    assert!(!told(&added("left.rb", &heredoc)).contains("swap"));
    assert!(!told(&added("README.md", text)).contains("swap"));
}
