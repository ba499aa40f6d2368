use super::*;

#[test]
fn a_budget_is_a_time_or_a_number() {
    assert_eq!(budget("50"), Ok(Budget::Mutants(50)));
    assert_eq!(budget("20m"), Ok(Budget::Time(Duration::from_secs(1200))));
    for wrong in ["0", "", "m", "-1", "1.5h", "20 m", "0s", "999999h"] {
        assert!(budget(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn no_document_closes_its_own_block() {
    let told = block("{ \"message\": \"````countersign\" }");
    assert!(told.starts_with("`````countersign\n"), "{told}");
    assert!(told.ends_with("\n`````\n"), "{told}");
    assert!(block("{}").starts_with("```countersign\n"));
}
