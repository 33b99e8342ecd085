//! Recall and false positives on invented lists.

use std::collections::BTreeSet;

use annals_secrets::Masker;
use fastrand::Rng;

use crate::invented::{FORMS, Sample, fill};

const PROVIDERS: &str = include_str!("providers.tsv");
const NEGATIVES: &str = include_str!("negatives.txt");

/// Texts around a secret.
const CONTEXTS: [&str; 7] = [
    "{}",
    "export VALUE={}\n",
    "first line\r\n{}\r\nlast line",
    "请用 {} 登录，不要告诉别人。",
    "Use `{}` (not the old one).",
    "\u{1b}[32m{}\u{1b}[0m",
    "[\"{}\", \"other\"]",
];

fn rows(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns whether eight bytes of a secret can still be read.
fn leaks(masked: &str, sample: &Sample) -> bool {
    let windows = sample.pieces.iter().flat_map(|piece| piece.as_bytes().windows(8));
    windows.map(|window| String::from_utf8_lossy(window)).any(|window| masked.contains(&*window))
}

#[test]
fn secrets_of_all_providers_are_found_in_every_form() {
    let masker = Masker::new();
    let mut rng = Rng::with_seed(16);
    let (mut found, mut total, mut missed) = (0, 0, BTreeSet::new());
    for row in rows(PROVIDERS) {
        let template = row.split('\t').nth(2).unwrap();
        for context in CONTEXTS {
            let sample = fill(&context.replace("{}", template), &mut rng);
            for (form, write) in FORMS {
                let result = masker.mask(&write(&sample.text)).text.into_owned();
                assert_eq!(masker.mask(&result).text, result, "masking again changes nothing");
                if form != "plain" {
                    serde_json::from_str::<String>(&result).expect("masking keeps JSON valid");
                }
                total += 1;
                if leaks(&result, &sample) {
                    missed.insert(format!("{form}, {context}: {template}\n      {result}"));
                } else {
                    found += 1;
                }
            }
        }
    }
    assert!(missed.is_empty(), "{found} of {total} found, but not\n{}", Vec::from_iter(missed).join("\n"));
    assert_eq!((found, total), (11_984, 11_984));
}

#[test]
fn a_secret_is_named_by_the_rule_of_its_provider() {
    let masker = Masker::new();
    let mut rng = Rng::with_seed(8);
    for row in rows(PROVIDERS) {
        let [provider, rule, template] = row.split('\t').collect::<Vec<_>>().try_into().unwrap();
        for _ in 0..3 {
            let sample = fill(template, &mut rng);
            let result = masker.mask(&sample.text).text;
            assert!(result.contains(&format!("[masked: {rule}]")), "{provider}: {result}");
        }
    }
}

#[test]
fn the_list_has_enough_providers_and_every_rule() {
    let providers: BTreeSet<_> = rows(PROVIDERS).map(|row| row.split('\t').next().unwrap()).collect();
    assert!(providers.len() >= 40, "{}", providers.len());
    let tested: BTreeSet<_> = rows(PROVIDERS).map(|row| row.split('\t').nth(1).unwrap()).collect();
    let masker = Masker::new();
    let rules: BTreeSet<_> = masker.rule_names().collect();
    assert_eq!(rules, tested);
}

#[test]
fn text_that_resembles_secrets_is_left_alone() {
    let masker = Masker::new();
    let mut rng = Rng::with_seed(16);
    let mut wrong = Vec::new();
    assert!(rows(NEGATIVES).count() >= 200);
    for template in rows(NEGATIVES) {
        for (form, write) in FORMS {
            let sample = fill(template, &mut rng);
            let text = write(&sample.text);
            let result = masker.mask(&text);
            if result.count > 0 {
                wrong.push(format!("{form}: {}", result.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} false positives:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is allowed for names of types, keys of objects and words after 密码 allows no password.
#[test]
fn values_that_only_resemble_names_are_masked() {
    let rules = Masker::new();
    for (text, secret) in [
        ("pass: XK7F9Q2LPM4Z", "XK7F9Q2LPM4Z"),
        ("| Secret | JBSWY3DPEHPK3PXP |", "JBSWY3DPEHPK3PXP"),
        ("密码 XK7F9Q2LPM4Z", "XK7F9Q2LPM4Z"),
        ("密码 Xk9#mP2vL，请尽快修改", "Xk9#mP2vL"),
        ("user_key=3f786850e387550fdab836ed7e6dc881", "3f786850e387550f"),
    ] {
        let shown = rules.mask(text).text;
        assert!(!shown.contains(secret), "{shown}");
    }
}
