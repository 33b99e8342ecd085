//! Invented secrets: made at run time, so that no scanner takes this repository for a leak.

use std::fmt::Write as _;

use fastrand::Rng;

/// A text with an invented secret.
pub(crate) struct Sample {
    pub(crate) text: String,
    /// The random pieces that must not stay visible.
    pub(crate) pieces: Vec<String>,
}

/// Fills in a template: `<hex:32>` becomes 32 random hexadecimal digits, `⏎` a line end.
pub(crate) fn fill(template: &str, rng: &mut Rng) -> Sample {
    let mut sample = Sample { text: String::new(), pieces: Vec::new() };
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('<') {
        sample.text.push_str(before);
        let placeholder =
            after.split_once('>').and_then(|(inside, after)| Some((characters(inside, rng)?, inside, after)));
        let Some((piece, inside, after)) = placeholder else {
            sample.text.push('<');
            rest = after;
            continue;
        };
        sample.text.push_str(&piece);
        if !inside.ends_with(" public") {
            sample.pieces.push(piece);
        }
        rest = after;
    }
    sample.text.push_str(rest);
    sample.text = sample.text.replace('⏎', "\n");
    sample
}

/// Returns random characters for a placeholder such as `hex:32`.
fn characters(placeholder: &str, rng: &mut Rng) -> Option<String> {
    const DIGITS: &str = "0123456789";
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let (kind, length) = placeholder.trim_end_matches(" public").split_once(':')?;
    let alphabet = match kind {
        "digit" => DIGITS.to_owned(),
        "hex" => format!("{DIGITS}abcdef"),
        "lower" => format!("{DIGITS}{LOWER}"),
        "upper" => format!("{DIGITS}{UPPER}"),
        "letters" => format!("{LOWER}{UPPER}"),
        "alnum" => format!("{DIGITS}{LOWER}{UPPER}"),
        "url" => format!("{DIGITS}{LOWER}{UPPER}_-"),
        "base64" => format!("{DIGITS}{LOWER}{UPPER}+/"),
        "bech32" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
        _ => return None,
    };
    let length: usize = length.parse().ok()?;
    // The first and last characters are letters or digits, so that contexts can put punctuation beside them.
    let ends = if kind == "url" || kind == "base64" { &alphabet[..62] } else { &alphabet };
    let pick =
        |from: &str, rng: &mut Rng| char::from(*rng.choice(from.as_bytes()).expect("no alphabet is empty"));
    Some(
        (0..length).map(|at| pick(if at == 0 || at + 1 == length { ends } else { &alphabet }, rng)).collect(),
    )
}

type Write = fn(&str) -> String;

/// The forms in which a text occurs: as it is, and inside JSON strings as different programs write them.
pub(crate) const FORMS: [(&str, Write); 4] = [
    ("plain", str::to_owned),
    ("JSON", escape),
    ("JSON in JSON", |text| escape(&escape(text))),
    ("JSON with all escapes", escape_much),
];

/// Returns `text` as a JSON string, with its quotes.
pub(crate) fn escape(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON")
}

/// Returns `text` as a JSON string in which all that can be escaped is, apart from letters and digits.
pub(crate) fn escape_much(text: &str) -> String {
    let mut units = [0; 2];
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '/' => out.push_str("\\/"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '"' | '\'' | '\\' | '<' | '>' | '&' | '\0'..='\x1f' | '\x7f'.. => {
                for unit in character.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}").expect("a string takes all text");
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}
