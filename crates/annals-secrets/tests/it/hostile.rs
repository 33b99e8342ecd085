//! JSON that is made to be slow. Text is in `masker/tests.rs`, where work can be counted.

use annals_secrets::Items;

use crate::json::masker;

/// Work that is quadratic in the depth or in the number of strings would not end here: it has 90 billion steps.
#[test]
fn json_that_is_deep_and_has_many_strings_is_masked() {
    const SIZE: usize = 300_000;
    let strings = vec!["\"a\""; SIZE].join(",");
    let json = format!(r#"{{"title":"","id":{}{strings}{}}}"#, "[".repeat(SIZE), "]".repeat(SIZE));
    let masked = masker().mask_json(&json, Items::Whole);
    assert_eq!((masked.json.len(), masked.count), (json.len(), 0));
}
