//! Masking inside JSON.

use annals_secrets::{Items, JsonForm, Masker};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fastrand::Rng;

use crate::invented::fill;

const FORM: JsonForm =
    JsonForm { keep: &["id", "path"], keep_base64: &["signature"], free: &["input"], cut: &[("title", 300)] };

/// Returns a masker that knows the form of the JSON in these tests.
pub(crate) fn masker() -> Masker {
    Masker::new().with_form(FORM)
}

/// Fills in a template, masks it as JSON and compares.
#[track_caller]
fn check(template: &str, expected: &str) {
    let sample = fill(template, &mut Rng::with_seed(7));
    serde_json::from_str::<serde_json::Value>(&sample.text).expect("the template is JSON");
    let masked = masker().mask_json(&sample.text, Items::Whole);
    assert_eq!(String::from_utf8_lossy(&masked.json), expected, "{}", sample.text);
    serde_json::from_slice::<serde_json::Value>(&masked.json).expect("masked JSON is JSON");
}

#[test]
fn values_are_masked_by_their_form_and_by_their_names() {
    check(r#"{"a":["ghp_<alnum:36>"]}"#, r#"{"a":["ghp_[masked: github-token]"],"masked":1}"#);
    check(r#"{"api_key": "<alnum:32>"}"#, r#"{"api_key": "[masked: secret-value]","masked":1}"#);
    check(r#"{"a":"clean"}"#, r#"{"a":"clean"}"#);
    check(r#"{"ghp_<alnum:36>":1}"#, r#"{"ghp_[masked: github-token]":1,"masked":1}"#);
}

#[test]
fn marks_near_a_private_key_do_not_make_later_strings_lines_of_it() {
    for json in [
        // The string was too long for a line of a key before it was masked.
        r#"{"":["Private-Lines: 1"],"a":["<alnum:30>Authorization: Bearer <alnum:110>"]}"#,
        // What was masked contained the last line of the key.
        r#"{"a":["Private-Lines: 1"],"b":["--token Private-MAC:Y3Q"],"c":["<alnum:40>"]}"#,
        r#"{"a":["-----BEGIN RSA PRIVATE KEY-----<alnum:40>Private-MAC:"],"b":["<alnum:40>"]}"#,
        r#"{"a":["-----BEGIN RSA PRIVATE KEY-----<alnum:40>Private-MAC:","<alnum:40>"]}"#,
    ] {
        let sample = fill(json, &mut Rng::with_seed(7)).text;
        let once = masker().mask_json(&sample, Items::Whole);
        assert_eq!(once.count, 1, "{sample}");
        let twice = masker().mask_json_bytes(&once.json, Items::Whole);
        assert_eq!(twice.count, 0, "{}", String::from_utf8_lossy(&twice.json));
    }
}

#[test]
fn ids_and_paths_are_kept_except_where_anybody_may_have_made_them() {
    let kept = fill(r#"{"id":"ghp_<alnum:36>","path":"/a/ghp_<alnum:36>"}"#, &mut Rng::with_seed(7)).text;
    let masked = masker().mask_json(&kept, Items::Whole);
    assert_eq!((&*masked.json, masked.count), (kept.as_bytes(), 0));
    check(
        r#"{"input":{"id":"ghp_<alnum:36>"}}"#,
        r#"{"input":{"id":"ghp_[masked: github-token]"},"masked":1}"#,
    );
}

#[test]
fn a_signature_is_kept_only_if_it_is_base64() {
    let kept = fill(r#"{"signature":"/AKIA<upper:16>/<base64:40>=="}"#, &mut Rng::with_seed(7)).text;
    assert_eq!(masker().mask_json(&kept, Items::Whole).count, 0);
    assert_eq!(Masker::new().mask(&kept).count, 1, "the rules alone would damage it");
    check(
        r#"{"signature":"see ghp_<alnum:36>"}"#,
        r#"{"signature":"see ghp_[masked: github-token]","masked":1}"#,
    );
}

#[test]
fn each_item_counts_its_different_values() {
    let sample = fill("ghp_<alnum:36>", &mut Rng::with_seed(7)).text;
    let other = fill("npm_<alnum:36>", &mut Rng::with_seed(8)).text;
    let json =
        format!(r#"{{"items":[{{"a":"{sample}","b":["{sample} {other}"]}},{{"a":1}}],"title":"{other}"}}"#);
    let count = |items| {
        let masked = masker().mask_json(&json, items);
        let read: serde_json::Value = serde_json::from_slice(&masked.json).unwrap();
        let at = |pointer: &str| read.pointer(pointer).and_then(serde_json::Value::as_u64);
        (at("/items/0/masked"), at("/items/1/masked"), at("/masked"), masked.count)
    };
    assert_eq!(count(Items::Elements), (Some(2), None, Some(1), 3));
    assert_eq!(count(Items::Whole), (None, None, Some(2), 2));
    assert_eq!(count(Items::None), (None, None, None, 2));
}

#[test]
fn text_that_is_not_utf8_is_masked_in_its_base64() {
    let secret = fill("\u{e9} ghp_<alnum:36>", &mut Rng::with_seed(7)).text;
    let mut bytes = secret.into_bytes();
    bytes[0] = 0xff;
    let json = format!(r#"{{"line":{{"bytes":"{}"}}}}"#, STANDARD.encode(&bytes));
    let masked = masker().mask_json(&json, Items::Whole);
    let read: serde_json::Value = serde_json::from_slice(&masked.json).unwrap();
    let bytes = STANDARD.decode(read["line"]["bytes"].as_str().unwrap()).unwrap();
    assert!(bytes.ends_with(b" ghp_[masked: github-token]"), "{read}");
    assert_eq!(read["masked"], 1);
}

#[test]
fn a_private_key_goes_on_through_the_strings_of_an_array() {
    let begin = "-----BEGIN RSA PRIVATE KEY-----";
    let end = "-----END RSA PRIVATE KEY-----";
    let mask = "[masked: private-key]";
    check(
        &format!(r#"{{"lines":[" a","+{begin}","+<base64:64>","-<base64:11>=","","-{end}","+b"],"c":"d"}}"#),
        &format!(r#"{{"lines":[" a","+{begin}","+{mask}","-{mask}","","-{end}","+b"],"c":"d","masked":2}}"#),
    );
    check(
        &format!(r#"[["{begin}","<base64:64>"],["{begin}","a {end} b","c"],["{begin} {end}","d"]]"#),
        &format!(r#"[["{begin}","{mask}"],["{begin}","{mask}{end} b","c"],["{begin} {end}","d"]]"#),
    );
    let certificate = r#"{"lines":["-----BEGIN CERTIFICATE-----","abc","no PRIVATE KEY"]}"#;
    check(certificate, certificate);
    // What a command looks for is no key.
    let search = format!(
        r#"{{"args":["grep","-rn","{begin}","src/main.rs","packages/frontend/src","documentation"],"b":"{end}"}}"#
    );
    check(&search, &search);
    // Masking again changes nothing.
    let masked = format!(r#"{{"lines":["+{begin}","+{mask}","{mask}","+{end}"]}}"#);
    check(&masked, &masked);
}

#[test]
fn a_private_key_goes_on_through_objects_and_arrays() {
    /// Base64 that belongs to no key.
    const OTHER: &str = "aQ7fZk2mX9rT4w8B3cLs5Vn1Yd6Hj0Gp3Ae8U";
    let begin = "-----BEGIN RSA PRIVATE KEY-----";
    let end = "-----END RSA PRIVATE KEY-----";
    let mask = "[masked: private-key]";
    // In objects, only what looks like a line of a key is masked.
    check(
        &format!(
            r#"{{"lines":[{{"n":1,"text":"{begin}"}},{{"n":2,"text":"+<base64:64>"}},{{"n":3,"text":"{end}"}}],"c":"d"}}"#
        ),
        &format!(
            r#"{{"lines":[{{"n":1,"text":"{begin}"}},{{"n":2,"text":"+{mask}"}},{{"n":3,"text":"{end}"}}],"c":"d","masked":1}}"#
        ),
    );
    check(
        &format!(r#"{{"1":"{begin}","2":"<base64:64>","3":"{end}","4":"{OTHER}"}}"#),
        &format!(r#"{{"1":"{begin}","2":"{mask}","3":"{end}","4":"{OTHER}","masked":1}}"#),
    );
    check(
        &format!(r#"[["{begin}"],["<base64:64>"],["<base64:64>","{end}"],["{OTHER}"]]"#),
        &format!(r#"[["{begin}"],["{mask}"],["{mask}","{end}"],["{OTHER}"]]"#),
    );
    // An array in between has a last line of its own.
    check(
        &format!(r#"["{begin}",["a","{end}"],"short","{end}","b"]"#),
        &format!(r#"["{begin}",["a","{end}"],"{mask}","{end}","b"]"#),
    );
    // What a command looks for is no key.
    let search =
        format!(r#"{{"pattern":"{begin}","path":"/home/Mia/tea-shop2/src/Main/Kettle/PrivateKeys"}}"#);
    check(&search, &search);
}

/// Lines of keys are read in many ways: with their line ends, after numbers, as a diff with colours.
#[test]
fn no_line_of_a_private_key_in_an_array_is_shown() {
    let key = [
        "-----BEGIN RSA PRIVATE KEY-----",
        "Proc-Type: 4,ENCRYPTED",
        "Comment:",
        "",
        "@@ -1,4 +1,4 @@",
        "...",
    ];
    let mut lines = key.map(str::to_owned).to_vec();
    let base64: Vec<_> = (0..6).map(|seed| fill("<base64:64>", &mut Rng::with_seed(seed)).text).collect();
    lines.extend(base64.iter().cloned());
    for end in [Some("-----END RSA PRIVATE KEY-----"), None] {
        for (before, behind) in [
            ("", ""),
            ("", "\r"),
            ("", "\n"),
            ("+", "\r"),
            ("     4\t", ""),
            ("  4→", ""),
            ("> ", ""),
            ("a.pem-4-", ""),
            ("\u{1b}[32m+", "\u{1b}[m"),
        ] {
            let lines = lines.iter().map(String::as_str).chain(end);
            let lines: Vec<_> = lines.map(|line| format!("{before}{line}{behind}")).collect();
            let json = serde_json::json!({ "lines": lines, "c": "d" }).to_string();
            let masked = masker().mask_json(&json, Items::Whole);
            let shown: serde_json::Value = serde_json::from_slice(&masked.json).unwrap();
            assert!(base64.iter().all(|line| !shown.to_string().contains(&line[8..24])), "{shown}");
            assert_eq!(shown["c"], "d");
        }
    }
}

/// Each line of the file is a string of its own, as in a patch.
#[test]
fn no_line_of_a_putty_key_in_an_array_is_shown() {
    let [public, first, second] = [1, 2, 3].map(|seed| fill("<base64:64>", &mut Rng::with_seed(seed)).text);
    for (before, end) in [("", Some("Private-MAC: 0f1e")), ("+", None)] {
        let lines = [
            "PuTTY-User-Key-File-3: ssh-rsa",
            "Public-Lines: 1",
            &public,
            "Private-Lines: 2",
            &first,
            &second,
        ];
        let lines: Vec<_> = lines.into_iter().chain(end).map(|line| format!("{before}{line}")).collect();
        let json = serde_json::json!({ "lines": lines, "c": "d" }).to_string();
        let masked = masker().mask_json(&json, Items::Whole);
        let shown: serde_json::Value = serde_json::from_slice(&masked.json).unwrap();
        let shown = shown.to_string();
        assert!(!shown.contains(&first[8..24]) && !shown.contains(&second[8..24]), "{shown}");
        assert!(shown.contains(&public), "{shown}");
    }
}

/// Pieces of JSON strings that a rule may cut in two, and texts that the rules below match.
const PIECES: [&str; 14] = [
    r"\u200b",
    r"\u001b",
    r"\ud83d\udd11",
    r"\ud83d",
    r"\n",
    r"\\",
    r#"\""#,
    r"\\n",
    "密",
    "a",
    " ",
    "kettle.corp.tea",
    "acmekey=Zr8Qw41LmX",
    r"\/",
];

#[test]
fn rules_of_users_leave_json_valid_and_names_of_other_members_alone() {
    let rules = [
        r"keywords = ['.corp.tea']\npattern = '[a-z]+\.corp\.tea'",
        r"keywords = ['.corp.tea']\npattern = '[0-9a-z]+\.corp\.tea.?'",
        r"keywords = ['corp']\npattern = '(?-u:.)corp(?-u:.)'",
        r"keywords = ['acmekey=']\npattern = 'acmekey=(?<secret>.+)'",
        r"keywords = ['acmekey=']\npattern = '.{0,9}acmekey=.{0,15}'",
    ];
    for rule in rules {
        let rules = format!("[[rule]]\nname = 'ours'\n{}", rule.replace(r"\n", "\n"));
        let ours = Masker::with_rules(&rules).unwrap().with_form(FORM);
        let mut rng = Rng::with_seed(11);
        for _ in 0..2000 {
            let text: String = (0..rng.usize(1..9)).map(|_| PIECES[rng.usize(..PIECES.len())]).collect();
            let json = format!(r#"{{"a":"{text}","tool":["b"],"usage":{{"c":1}},"title":"{text}…"}}"#);
            let masked = ours.mask_json(&json, Items::Whole);
            let masked = String::from_utf8(masked.json.into_owned()).unwrap();
            let valid = |json: &str| serde_json::from_str::<serde_json::Value>(json);
            // A half of a character is no JSON for serde_json; it must only stay as it was.
            let lone = json.replace(r"\ud83d\udd11", "");
            if lone.contains(r"\ud83d") {
                continue;
            }
            let read =
                valid(&masked).unwrap_or_else(|error| panic!("{rule}: {error}: {json} became {masked}"));
            assert_eq!(
                (&read["tool"], &read["usage"]),
                (&serde_json::json!(["b"]), &serde_json::json!({"c": 1})),
                "{masked}"
            );
        }
    }
}

/// A pattern sees neither how JSON writes a line end nor what follows the string; names, numbers and constants stay.
#[test]
fn rules_of_users_match_strings_as_programs_read_them_and_change_nothing_else() {
    for (rule, json, expected) in [
        (
            r"keywords = ['KETTLE-']\npattern = 'KETTLE-.+'",
            r#"{"a":"KETTLE-1111","b":["KETTLE-2222"]}"#,
            r#"{"a":"[masked: ours]","b":["[masked: ours]"],"masked":2}"#,
        ),
        (
            r#"keywords = ['badge_pin']\npattern = '"badge_pin"\s*:\s*"?[0-9]{6}"?'"#,
            r#"{"badge_pin":"123456","b":{"badge_pin":654321}}"#,
            // A number stays: programs need it as it is.
            r#"{"badge_pin":"[masked: ours]","b":{"badge_pin":654321},"masked":1}"#,
        ),
        (
            r"keywords = ['KETTLE-']\npattern = 'KETTLE-\S+'",
            r#"{"title":"use KETTLE-48151623\nexample: see","size":7,"archived":false,"role":"user"}"#,
            r#"{"title":"use [masked: ours]\nexample: see","size":7,"archived":false,"role":"user","masked":1}"#,
        ),
        (
            r"keywords = ['KETTLE-']\npattern = 'KETTLE-.+'",
            r#"[{"a":"KETTLE-1","n":1,"m":{"x":"y"}},{"a":"b"}]"#,
            r#"[{"a":"[masked: ours]","n":1,"m":{"x":"y"}},{"a":"b"}]"#,
        ),
        (
            r"keywords = ['KETTLE-']\npattern = '(?s).{0,40}KETTLE-.{0,40}'",
            r#"{"a":"b","c":"x KETTLE-1 y","d":1}"#,
            r#"{"a":"b","c":"[masked: ours]","d":1,"masked":1}"#,
        ),
        // JSON writes a quotation mark of the keyword as an escape.
        (
            r#"keywords = ['pin="']\npattern = 'pin="(?<secret>[0-9]{6})"'"#,
            r#"{"a":"<door pin=\"123456\"> and pin=\"654321\"","b":"pin=1"}"#,
            r#"{"a":"<door pin=\"[masked: ours]\"> and pin=\"[masked: ours]\"","b":"pin=1","masked":2}"#,
        ),
        (
            r#"keywords = ['"pin"']\npattern = '"pin" is (?<secret>[0-9]{6})'"#,
            r#"{"a":"the \"pin\" is 123456","pin":"b"}"#,
            r#"{"a":"the \"pin\" is [masked: ours]","pin":"b","masked":1}"#,
        ),
        (
            r"keywords = ['C:\pin']\npattern = 'C:\\pin (?<secret>[0-9]{6})'",
            r#"{"a":"C:\\pin 123456"}"#,
            r#"{"a":"C:\\pin [masked: ours]","masked":1}"#,
        ),
    ] {
        let rules = format!("[[rule]]\nname = 'ours'\n{}", rule.replace(r"\n", "\n"));
        let ours = Masker::with_rules(&rules).unwrap().with_form(FORM);
        assert_eq!(String::from_utf8_lossy(&ours.mask_json(json, Items::Whole).json), expected);
    }
}

#[test]
fn colours_and_escaped_letters_hide_nothing() {
    // A sequence ends neither in an escape of JSON nor after the string.
    check(
        r#"{"a":"password=\u001b[\nfoobar1234Zq9","b":"\u001b[0","c":"d"}"#,
        r#"{"a":"password=\u001b[\nfoobar1234Zq9","b":"\u001b[0","c":"d"}"#,
    );
    check(
        r#"{"a":"b \u001b[01;31m\u001b[Kghp_\u001b[m\u001b[K<alnum:36>"}"#,
        r#"{"a":"b \u001b[01;31m\u001b[Kghp_\u001b[m\u001b[K[masked: github-token]","masked":1}"#,
    );
    check(
        r#"{"a":"g\u0068p_<alnum:18>\u0041<alnum:18>"}"#,
        r#"{"a":"g\u0068p_[masked: github-token]","masked":1}"#,
    );
}

#[test]
fn lines_that_are_broken_or_not_utf8_are_masked_too() {
    let secret = fill("ghp_<alnum:36>", &mut Rng::with_seed(7)).text;
    for (before, behind) in [
        (&b"{\"a\":\"\xff "[..], &b"\xff\"}"[..]),
        (b"{\"a\":\"", b""),
        (b"not JSON: ", b" {"),
        (b"]}\"", b""),
    ] {
        let line = [before, secret.as_bytes(), behind].concat();
        let masked = masker().mask_json_bytes(&line, Items::None);
        let expected = [before, b"ghp_[masked: github-token]", behind].concat();
        assert_eq!((&*masked.json, masked.count), (&expected[..], 1), "{}", String::from_utf8_lossy(&line));
    }
}

#[test]
fn the_beginning_of_a_secret_at_a_cut_is_masked() {
    for secret in [
        "sk-ant-api03-<url:93>AA",
        "ghp_<alnum:36>",
        "AKIA<upper:16>",
        "sk-or-v1-<hex:64>",
        "eyJ<url:33>.eyJ<url:90>.<url:43>",
        "postgres://app:<alnum:20>@db/prod",
        "DB_PASSWORD=<alnum:24>",
        "-----BEGIN PRIVATE KEY-----\\n<base64:64>",
    ] {
        let sample = fill(secret, &mut Rng::with_seed(7));
        let piece = &sample.pieces[0];
        let at = sample.text.find(piece.as_str()).unwrap();
        for shown in [4, 8, piece.len() / 2] {
            let text = format!("{}{}", "a ".repeat(150), &sample.text[..at + shown]);
            let json = serde_json::json!({"title": text}).to_string();
            let masked = masker().mask_json(&json, Items::Whole);
            let masked = String::from_utf8_lossy(&masked.json).into_owned();
            assert!(!masked.contains(&piece[..shown]) && masked.contains("[masked: "), "{shown}: {masked}");
            serde_json::from_str::<serde_json::Value>(&masked).unwrap();
        }
    }
    for clean in [
        "see the tokens of ",
        "https://docs.internal/a/b",
        "deploy to /home/mia/tea",
        "fix token coun",
        "send a password res",
        "ask for an API key fro",
        "password - ente",
        "修改密码 登",
    ] {
        let json = serde_json::json!({"title": format!("{}{clean}", "a ".repeat(150))}).to_string();
        assert_eq!(masker().mask_json(&json, Items::Whole).count, 0, "{clean}");
    }
}

/// A list cuts a title after 300 characters, or earlier with `…`.
#[test]
fn the_beginning_of_a_secret_of_a_user_s_rule_is_masked_at_a_cut() {
    for (rule, cut, expected) in [
        (
            r"keywords = ['-acme-']\npattern = '[A-Z]{4}-acme-(?<secret>[0-9a-f]{32})\b'",
            "TEAM-acme-5f0c",
            "TEAM-acme-",
        ),
        (r"keywords = ['-acme-']\npattern = '(?<secret>[A-Z]{4}-acme-[0-9A-F]{32})'", "TEAM-acme-5F0C", ""),
        (r"keywords = ['BADGE-']\npattern = 'BADGE-(?<secret>[0-9]{6})'", "BADGE-12", "BADGE-"),
    ] {
        let rules = format!("[[rule]]\nname = 'ours'\n{}", rule.replace(r"\n", "\n"));
        let masker = Masker::with_rules(&rules).unwrap().with_form(FORM);
        for (title, end) in [(format!("水 {cut}…"), "…"), (format!("{}{cut}", "水 ".repeat(150)), "")] {
            let json = serde_json::json!({ "title": title }).to_string();
            let shown = String::from_utf8(masker.mask_json(&json, Items::Whole).json.into_owned()).unwrap();
            let expected = format!(" {expected}[masked: ours]{end}\",\"masked\":1}}");
            assert!(shown.ends_with(&expected), "{rule}: {shown}");
        }
    }
}
