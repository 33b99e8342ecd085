//! Random texts of several alphabets, in which words repeat.

use proptest::prelude::*;

/// A piece of a text: a word or two, a separator, or something odd.
pub(crate) fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "the",
        "fix",
        "Fix",
        "ERROR",
        "foo",
        "bar",
        "foo_bar",
        "fooBar",
        "FooBar",
        "getHTTPFoo",
        "foo::bar",
        "src/foo.rs:42",
        "--dry-run",
        "E0502",
        "42",
        "a1b2c3d4e5f6",
        "x",
        "don't",
        "Café",
        "cafe\u{301}",
        "größe",
        "ΟΔΟΣ",
        "имяФайла",
        "हिन्दी",
        "می\u{200c}خواهم",
        "数据库",
        "数据",
        "据库",
        "库",
        "使用",
        "検索",
        "データ",
        "ﾃﾞｰﾀ",
        "か\u{3099}",
        "한국어",
        "\u{1112}\u{1161}\u{11ab}",
        "ภาษา",
        "用Rust写",
        "✅",
        "👍🏽",
        "👩‍💻",
        "🇩🇪🇫🇷",
        "1️⃣",
        "\u{1b}[31m",
        "\u{1b}[0m",
        "·",
        "ﬁ",
        "①",
        "İ",
    ]);
    let separators = prop::sample::select(vec![
        " ", " ", " ", "\n", ", ", ".", "/", "_", "-", "、", "\u{3000}", "\u{200b}", "\u{200d}", "",
    ]);
    prop_oneof![
        8 => words.prop_map(str::to_owned),
        8 => separators.prop_map(str::to_owned),
        1 => "[a-zA-Z0-9]{1,8}",
        1 => "[一二三四]{1,5}",
        1 => any::<String>(),
        1 => any::<char>().prop_map(String::from),
    ]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}
