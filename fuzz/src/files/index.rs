//! Descriptions of indexes of encrypted vectors.
//!
//! Must hold: bytes are refused or describe segments whose records are counted, and positions that
//! do not exist are refused.

use he_files::search::IndexDescription;
use he_search::Position;

pub fn run(data: &[u8]) {
    let Ok(mut index) = IndexDescription::from_bytes(data, "index.json") else { return };
    let slots = (index.segments() * index.params().slots()) as u64;
    assert!(index.records() <= slots, "more records than slots");
    assert!(index.segments() <= index.files(), "more segments than files");
    let facts = index.params().facts();
    assert!(facts.key_bytes > 0 && facts.index_bytes > 0, "an index of nothing");
    let beyond = Position { segment: index.segments(), slot: 0 };
    index.delete(&[beyond]).expect_err("a record of a segment that does not exist");
}

pub fn seeds() -> Vec<Vec<u8>> {
    let plan = |wanted: &str| {
        format!(r#"{{"dimension":3,"metric":"dot","norm":2.0,"records":20000,"wanted":{wanted}}}"#)
    };
    let rank = plan(r#"{"task":"rank"}"#);
    let matching = plan(r#"{"task":"match","bands":[-1.0,0.1,0.9,1.0],"payload":8}"#);
    let part = |file: u32, start: u32, deleted: &str| {
        format!(r#"{{"file":{file},"occupancy":{{"start":{start},"records":7{deleted}}}}}"#)
    };
    let index = |plan: &str, segments: &[String]| {
        let segments = segments.join(",");
        format!(r#"{{"version":1,"plan":{plan},"key_set":null,"segments":[{segments}]}}"#).into_bytes()
    };
    vec![
        index(&rank, &[]),
        index(&rank, &[part(0, 0, ""), part(1, 7, r#","deleted":[8,9]"#), part(2, 0, "")]),
        index(&matching, &[part(0, 8185, "")]),
        index(&matching, &[part(0, 8186, "")]),
        index(&rank, &[part(0, 0, r#","deleted":[9]"#)]),
        b"{\"version\":2}".to_vec(),
    ]
}
