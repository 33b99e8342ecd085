//! Secrets that Markdown or a terminal puts together only when the text is shown.

use annals_secrets::{Items, Masker};
use fastrand::Rng;

use crate::invented::escape;

/// An invented token, made here so that no scanner takes this repository for a leak.
fn token(random: &mut Rng) -> String {
    "gh".to_owned() + "p_" + &(0..36).map(|_| random.alphanumeric()).collect::<String>()
}

/// Returns whether six characters of a secret follow each other in a text somewhere.
fn has_piece(text: &str, secret: &str) -> bool {
    let piece = |window: &[u8]| text.contains(std::str::from_utf8(window).expect("the secret is ASCII"));
    secret.as_bytes().windows(6).any(piece)
}

fn check(masker: &Masker, text: &str, secret: &str) {
    let json = format!(r#"{{"text":{}}}"#, escape(text));
    let nested = format!(r#"{{"text":{}}}"#, escape(&json));
    let shown = masker.mask(text).text.into_owned();
    assert!(!has_piece(&shown, secret), "{text:?} is masked as {shown:?}");
    // Nobody knows whether `\\b` is a backspace in JSON in JSON, or the end of a word in a pattern.
    let forms = if text.contains('\u{8}') { vec![json] } else { vec![json, nested] };
    for json in forms {
        let changed = String::from_utf8(masker.mask_json(&json, Items::Whole).json.into_owned());
        let changed = changed.expect("masked JSON is text");
        assert!(!has_piece(&changed, secret), "{json} is masked as {changed}");
        assert!(serde_json::from_str::<serde_json::Value>(&changed).is_ok(), "{changed}");
    }
}

#[test]
fn a_token_is_found_with_markup_in_the_middle_of_it() {
    let masker = Masker::new();
    let secret = "Q7fZk2mX9rT4w8B3cLs5Vn1Yd6Hj0Gp3Ae8U";
    let (first, rest) = secret.split_at(12);
    let prefix = "gh".to_owned() + "p_";
    let name = &prefix[..3];
    for text in [
        format!("{name}\\_{secret}"),
        format!("{name}&#95;{secret}"),
        format!("{name}&#x5f;{secret}"),
        format!("{name}&lowbar;{secret}"),
        format!("{prefix}**{first}**{rest}"),
        format!("**{prefix}**{first}{rest}"),
        format!("*{prefix}{first}*{rest}"),
        format!("{prefix}`{first}`{rest}"),
        format!("`{prefix}``{secret}`"),
        format!("{prefix}~~{first}~~{rest}"),
        format!("{prefix}[{first}](https://a.example/b){rest}"),
        format!("[{prefix}](https://a.example/b)**{first}**{rest}"),
        format!("{prefix}{first}\u{200b}{rest}"),
        format!("{prefix}{first}\u{2060}\u{feff}{rest}"),
        format!("{prefix}{first}x\u{8}{rest}"),
        format!("{prefix}{first}xyz\u{8}\u{8}\u{8}{rest}"),
        format!("{prefix}{first}\\_\u{8}\u{8}{rest}"),
        format!("{prefix}{first}\u{fe0f}{rest}"),
        format!("{prefix}{first}\u{ad}{rest}"),
        format!("{prefix}{first}\u{200e}{rest}"),
        format!("{prefix}{first}\u{2062}\u{34f}{rest}"),
        format!("&#103;{}{secret}", &prefix[1..]),
        format!("{prefix}[{first}](<https://a.example/b>){rest}"),
        format!("[x](https://a.example/?t={name}\\_{secret})"),
        format!("![x](https://a.example/?t={name}&#95;{secret})"),
        format!("{prefix}{first}\u{1b}[31m{rest}"),
        format!("{prefix}{first}\u{1b}]8;;https://a.example\u{7}{rest}"),
        format!("{prefix}**\u{1b}[31m{first}**{rest}"),
    ] {
        for text in [format!("use {text} now"), format!("one\n- {text}\ntwo")] {
            check(&masker, &text, secret);
        }
    }
}

#[test]
fn the_name_of_a_value_may_be_markup_too() {
    let masker = Masker::new();
    let secret = "q7Zw2Lm8Rt4Xk9Bv";
    for text in [
        format!("API\\_KEY={secret}"),
        format!("DB\\_PASSWORD={secret}"),
        format!("API\\_KEY: {secret}"),
        format!("**API\\_KEY:** {secret}"),
        format!("**API_KEY**={secret}"),
        format!("`API_KEY`=`{secret}`"),
        format!("**api\\_key**: `{secret}`"),
    ] {
        check(&masker, &text, secret);
    }
}

#[test]
fn no_split_of_a_token_by_markup_is_left() {
    let masker = Masker::new();
    let mut random = Rng::with_seed(7);
    for _ in 0..3000 {
        let token = token(&mut random);
        let mut text = String::new();
        let mut rest = &*token;
        let is_whole = |rest: &str| rest.len() == token.len();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(random.usize(1..=rest.len().min(20)));
            let escaped = piece.replace('_', ["_", "\\_", "&#95;"][random.usize(..3)]);
            match random.u8(..9) {
                0 => text.extend(["**", &escaped, "**"]),
                1 => text.extend(["*", &escaped, "*"]),
                2 => text.extend(["~~", &escaped, "~~"]),
                3 => text.extend(["`", piece, "`"]),
                4 => text.extend(["[", &escaped, "](https://a.example/b)"]),
                5 if !is_whole(rest) => text.extend(["\u{200b}", &escaped]),
                6 if !is_whole(rest) => text.extend(["\u{1b}[1m", &escaped]),
                7 if !is_whole(rest) => text.extend(["q\u{8}", &escaped]),
                _ => text.push_str(&escaped),
            }
            rest = behind;
        }
        let shown = masker.mask(&text).text.into_owned();
        assert!(!has_piece(&shown, &token[4..]), "{text:?} is masked as {shown:?}");
    }
}

#[test]
fn signs_that_are_no_markup_change_nothing() {
    let masker = Masker::new();
    for text in [
        "src/**/*.ts and **tests**/*.rs",
        "let x = a**b * c; `token`: `None`",
        "grep 'foo\\.bar\\-baz' | sed s/a\\_b/c/",
        "| **token** | `string` | the\\_token |",
        "[token](https://a.example/b): a**b**c",
    ] {
        assert_eq!(masker.mask(text).text, text);
    }
}
