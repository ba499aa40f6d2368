//! stub
use crate::domain::model::RepoName;
use crate::domain::verdict::Verdict;
/// stub
pub fn value(verdict: &Verdict, name: &RepoName) -> serde_json::Value {
    let _ = (verdict, name);
    unimplemented!()
}
