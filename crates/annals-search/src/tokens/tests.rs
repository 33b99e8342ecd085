use super::*;
use crate::columns::Columns;

#[track_caller]
fn check(text: &str, words: &str, parts: &str) {
    let mut columns = Columns::default();
    columns.fill(text);
    assert_eq!((columns.words.as_str(), columns.parts.as_str()), (words, parts), "{text}");
}

#[test]
fn words_are_letters_and_digits() {
    check("", "", "");
    check(" \n\t.,;!?", "", "");
    check("The borrow checker.", "the borrow checker", "");
    check("error[E0502]: cannot", "error e0502 cannot", "");
    check("don't", "don t", "");
    check("3.14 1,000 0x7fff 10ms", "3 14 1 000 0x7fff 10ms", "");
}

#[test]
fn identifiers_are_sequences_of_words() {
    check("foo_bar", "foo bar", "");
    check("std::collections::HashMap", "std collections hashmap", "hash map");
    check("src/main.rs:42", "src main rs 42", "");
    check(r"C:\Users\Ada\notes.txt", "c users ada notes txt", "");
    check("--dry-run", "dry run", "");
    check("https://docs.rs/serde?q=a%20b#x", "https docs rs serde q a 20b x", "");
    check("9f86d081-884c-4d63-8a5e-2b0b9b7a1c11", "9f86d081 884c 4d63 8a5e 2b0b9b7a1c11", "");
    check("3E11A0B2C4D5E6F7", "3e11a0b2c4d5e6f7", "");
}

#[test]
fn humps_are_parts_and_parts_of_two_words_are_not_adjacent() {
    check("camelCase", "camelcase", "camel case");
    check("CamelCase", "camelcase", "camel case");
    check("parseHTTPResponse", "parsehttpresponse", "parse http response");
    check("HTTPServer", "httpserver", "http server");
    check("utf8Error sha256Sum", "utf8error sha256sum", "utf8 error · sha256 sum");
    check("Word WORD word", "word word word", "");
    check("getFoo is a barBaz", "getfoo is a barbaz", "get foo · bar baz");
    check("größeÄndern", "grosseandern", "grosse andern");
    check("имяФайла", "имяфаила", "имя фаила");
}

#[test]
fn scripts_without_blanks_are_pairs_and_a_last_single() {
    check("全文検索", "全文 文検 検索 索", "");
    check("字", "字", "");
    check("使用Rust写数据库", "使用 用 rust 写数 数据 据库 库", "");
    check("数据，库", "数据 据 库", "");
    check("データベース", "デー ータ タベ ベー ース ス", "");
    check("データ・ベース", "デー ータ タ ベー ース ス", "");
    check("데이터베이스를", "데이 이터 터베 베이 이스 스를 를", "");
    check("ภาษาไทย", "ภา าษ ษา าไ ไท ทย ย", "");
}

#[test]
fn forms_of_the_same_character_give_the_same_token() {
    check("が か\u{3099} ｶﾞ ガ", "が が ガ ガ", "");
    check("한글 \u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}", "한글 글 한글 글", "");
    check("café cafe\u{301} CAFÉ", "cafe cafe cafe", "");
    check("ＳＱＬ１２", "sql12", "");
}

#[test]
fn what_nobody_sees_ends_no_word() {
    check("می\u{200c}خواهم", "میخواهم", "");
    check("soft\u{ad}ware", "software", "");
    check("\u{1b}[01;31mfoo\u{1b}[m\u{1b}[K/bar", "foo bar", "");
    check("get\u{1b}[01;31m\u{1b}[KUser\u{1b}[m\u{1b}[K", "getuser", "get user");
    check("one\u{1b}[2K\u{1b}[1Gtwo\u{1b}(Bthree", "one two three", "");
    check("a\u{1b}b", "a b", "");
    check("a\u{200b}b", "a b", "");
}

#[test]
fn emoji_are_tokens() {
    check("done✅ next", "done ✅ next", "");
    check("👍🏽 👍 ❤️", "👍 👍 ❤", "");
    check("👩‍💻", "👩 💻", "");
    check("🇩🇪🇫🇷🇯", "🇩🇪 🇫🇷 🇯", "");
    check("1️⃣", "1", "");
}

#[test]
fn long_words_are_cut_and_have_no_parts() {
    let blob = "aB3".repeat(1_000_000);
    check(&blob, &blob[..LONGEST_WORD].to_lowercase(), "");
    let wide = "éB".repeat(100_000);
    check(&wide, &"eb".repeat(LONGEST_WORD / 2), "");
    let humps = "Ab".repeat(MOST_PARTS);
    check(&humps, &humps.to_lowercase(), ["ab"; MOST_PARTS].join(" ").as_str());
    let humps = "Ab".repeat(MOST_PARTS + 1);
    check(&humps, &humps.to_lowercase(), "");
}

#[test]
fn ranges_are_what_is_written() {
    fn written(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for_each_token(text, |token| found.push(&text[token.range]));
        found
    }
    assert_eq!(written("Café, Cafe\u{301}!"), ["Café", "Cafe\u{301}"]);
    assert_eq!(written("getUser größeÄndern"), ["getUser", "get", "User", "größeÄndern", "größe", "Ändern"]);
    assert_eq!(written("全文検 x"), ["全文", "文検", "検", "x"]);
    assert_eq!(written("中é"), ["中", "é"]);
    assert_eq!(written("か\u{3099}き"), ["か\u{3099}き", "き"]);
}
