//! The size from which on files are not rewritten.

use std::fs;
use std::time::Duration;

use annals_transcript::write::fs::RealDisk;
use annals_transcript::write::rewrite::{self, REWRITE_LIMIT, RemovalMethod};

#[test]
fn a_file_above_50_mib_loses_only_its_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let message = |id: &str, text: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":null,\"message\":{{\"content\":\"{text}\"}}}}\n"
        )
    };
    let rest = message("a", "first") + &message("long", &"x".repeat(50 << 20));
    fs::write(&path, rest.clone() + &message("last", "last")).unwrap();
    let remove = |id: &str| rewrite::remove_entry(&RealDisk, &path, id, REWRITE_LIMIT, Duration::ZERO);
    assert!(remove("a").unwrap_err().is_too_large());
    assert_eq!(remove("last").unwrap(), RemovalMethod::Truncate);
    assert!(fs::read(&path).unwrap() == rest.as_bytes(), "the other lines are as they were");
}
