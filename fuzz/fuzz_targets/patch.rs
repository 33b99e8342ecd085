//! A patch of any line is refused, or sets the value and keeps every other byte.

#![no_main]

use annals_transcript::{Entry, patch};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    const KEY: &str = "uuid";
    let Ok(patched) = patch::set(line, KEY, "\"new\"") else { return };
    let before = Entry::new(line).body().expect("it could be patched");
    let after = Entry::new(&patched).body().expect("it was patched");
    assert_eq!(after.text(KEY).as_deref(), Some("new"));
    // Everything but the last value of the key is as it was.
    let others = |body: annals_transcript::json::Value<'_>| {
        let mut members: Vec<_> = body.members().map(|(key, value)| (key.raw().to_vec(), value.bytes().to_vec())).collect();
        if let Some(index) = body.members().collect::<Vec<_>>().iter().rposition(|(key, _)| key == KEY) {
            members.remove(index);
        }
        members
    };
    assert_eq!(others(before), others(after));
    if let Some(old) = before.get(KEY)
        && let Ok(old) = std::str::from_utf8(old.bytes())
        && let Ok(undone) = patch::set(&patched, KEY, old)
    {
        assert_eq!(undone, line);
    }
});
