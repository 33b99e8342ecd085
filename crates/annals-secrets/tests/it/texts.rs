//! Single texts: what is masked, what stays, and how it looks.

use annals_secrets::Masker;
use fastrand::Rng;

use crate::invented::fill;

/// Fills in a template, masks it and compares.
#[track_caller]
fn check(template: &str, expected: &str) {
    let sample = fill(template, &mut Rng::with_seed(7));
    let masked = Masker::new().mask(&sample.text).text.into_owned();
    assert_eq!(masked, expected.replace('⏎', "\n"), "{}", sample.text);
}

#[test]
fn the_public_prefix_stays_and_the_rule_is_named() {
    check("sk-ant-api03-<url:93>AA", "sk-ant-api03-[masked: anthropic-api-key]");
    check("ghp_<alnum:36>", "ghp_[masked: github-token]");
    check("AKIA<upper:16>", "AKIA[masked: aws-access-key-id]");
    check("DB_PASSWORD='<alnum:12>'", "DB_PASSWORD='[masked: password]'");
    check("postgres://app:<alnum:12>@db/prod", "postgres://app:[masked: url-password]@db/prod");
    check(
        "-----BEGIN PRIVATE KEY-----⏎<base64:64>⏎-----END PRIVATE KEY-----⏎",
        "-----BEGIN PRIVATE KEY-----[masked: private-key]-----END PRIVATE KEY-----⏎",
    );
}

#[test]
fn several_secrets_on_a_line_are_masked_each() {
    check(
        "ghp_<alnum:36> npm_<alnum:36>,ghp_<alnum:36>",
        "ghp_[masked: github-token] npm_[masked: npm-token],ghp_[masked: github-token]",
    );
    check(
        "https://a:<alnum:9>@b https://c:<alnum:9>@d",
        "https://a:[masked: url-password]@b https://c:[masked: url-password]@d",
    );
}

#[test]
fn the_specific_rule_names_a_secret_that_several_find() {
    check("API_KEY=sk-ant-api03-<url:90>", "API_KEY=sk-ant-api03-[masked: anthropic-api-key]");
    check("Authorization: Bearer ghp_<alnum:36>", "Authorization: Bearer ghp_[masked: github-token]");
    check("token: eyJ<url:33>.eyJ<url:90>.<url:43>", "token: eyJ[masked: jwt]");
    check("https://x:ghp_<alnum:36>@github.com/a/b", "https://x:ghp_[masked: github-token]@github.com/a/b");
}

/// Introductions to JSON web tokens show a token of John Doe, whose number others have, too.
#[test]
fn only_the_token_of_introductions_stays() {
    let header = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
    let introduced = "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ";
    let introduced = fill(&format!("{header}.{introduced}.<url:43>"), &mut Rng::with_seed(7)).text;
    check(&introduced, &introduced);
    // {"sub":"1234567890","role":"admin","iat":1795080000}
    let other = "eyJzdWIiOiIxMjM0NTY3ODkwIiwicm9sZSI6ImFkbWluIiwiaWF0IjoxNzk1MDgwMDAwfQ";
    check(&format!("{header}.{other}.<url:43>"), "eyJ[masked: jwt]");
}

#[test]
fn secrets_at_both_ends_and_beside_any_script_are_found() {
    check("ghp_<alnum:36>", "ghp_[masked: github-token]");
    check("密钥ghp_<alnum:36>在此", "密钥ghp_[masked: github-token]在此");
    check("🔑ghp_<alnum:36>🔑", "🔑ghp_[masked: github-token]🔑");
    check("口令：<alnum:10>密", "口令：[masked: password]");
    check("a\r\nTOKEN=<alnum:32>\r\nb", "a\r\nTOKEN=[masked: secret-value]\r\nb");
}

#[test]
fn names_are_found_in_any_case_and_tokens_only_in_their_own() {
    check("Password: <alnum:12>", "Password: [masked: password]");
    check("dbPassWord: <alnum:12>", "dbPassWord: [masked: password]");
    let sample = fill("GHP_<alnum:36>", &mut Rng::with_seed(7));
    assert_eq!(Masker::new().mask(&sample.text).count, 0);
}

#[test]
fn json_keeps_its_form() {
    check(r#"{"password":"<alnum:12>","a":1}"#, r#"{"password":"[masked: password]","a":1}"#);
    check(r#""{\"password\":\"<alnum:12>\",\"a\":1}""#, r#""{\"password\":\"[masked: password]\",\"a\":1}""#);
    check(r#""\\\"password\\\":\\\"<alnum:12>\\\"""#, r#""\\\"password\\\":\\\"[masked: password]\\\"""#);
    check(r#""a\nghp_<alnum:36>\nb""#, r#""a\nghp_[masked: github-token]\nb""#);
    check(r#""password=\u0027<alnum:12>\u0027""#, r#""password=\u0027[masked: password]\u0027""#);
    check(r#""https:\/\/a:<alnum:9>@b\/c""#, r#""https:\/\/a:[masked: url-password]@b\/c""#);
    // The backslash and the `n` of the prefix are a line end here: they stay.
    check(r#""\npm_<alnum:36>""#, r#""\npm_[masked: npm-token]""#);
}

#[test]
fn a_private_key_without_its_last_line_is_masked_to_its_end() {
    check(
        "$ head -3 id_rsa⏎-----BEGIN RSA PRIVATE KEY-----⏎<base64:64>⏎<base64:64>",
        "$ head -3 id_rsa⏎-----BEGIN RSA PRIVATE KEY-----[masked: private-key]",
    );
    check(
        r#""-----BEGIN RSA PRIVATE KEY-----\n<base64:64>\n","next""#,
        r#""-----BEGIN RSA PRIVATE KEY-----[masked: private-key]","next""#,
    );
}

#[test]
fn a_token_longer_than_the_reach_of_its_rule_is_masked_to_its_end() {
    check("ghp_<alnum:2000> and more", "ghp_[masked: github-token] and more");
}

#[test]
fn a_mark_that_somebody_wrote_hides_no_secret() {
    check("[masked: jwt]ghp_<alnum:36>", "[masked: jwt]ghp_[masked: github-token]");
    check("[masked: x]ghp_<alnum:36>", "[masked: x]ghp_[masked: github-token]");
    check("ghp_<alnum:36>[masked: jwt]", "ghp_[masked: github-token][masked: jwt]");
    check("[masked: ghp_<alnum:36>]", "[masked: ghp_[masked: github-token]]");
    // What a rule leaves readable before its mark is no secret of another rule.
    let masked = "Authorization: Bearer q7fZk2mX9rT4w8.atlasv1.[masked: terraform-token]";
    check("Authorization: Bearer q7fZk2mX9rT4w8.atlasv1.<url:60>", masked);
    check(masked, masked);
}

/// Somebody may have pasted the output of annals, or written a mark to hide what stands beside it.
#[test]
fn a_mark_hides_nothing_beside_it() {
    let key = "-----BEGIN PRIVATE KEY-----";
    for (text, masked) in [
        (
            format!("{key}⏎<base64:64>⏎<base64:64>⏎see [masked: jwt]"),
            format!("{key}[masked: private-key]⏎see [masked: jwt]"),
        ),
        (
            format!("{key}⏎<base64:64>⏎[masked: jwt]⏎<base64:64>⏎-----END PRIVATE KEY-----"),
            format!("{key}[masked: private-key][masked: jwt][masked: private-key]-----END PRIVATE KEY-----"),
        ),
        (
            "Cookie: sid=<alnum:40>; auth=[masked: jwt]".to_owned(),
            "Cookie: [masked: cookie][masked: jwt]".to_owned(),
        ),
        (
            "Cookie: sid=<alnum:40>; auth=eyJ[masked: jwt]".to_owned(),
            "Cookie: [masked: cookie]eyJ[masked: jwt]".to_owned(),
        ),
        (
            "postgres://app:<alnum:20>[masked: jwt]@db".to_owned(),
            "postgres://app:[masked: url-password][masked: jwt]@db".to_owned(),
        ),
        (
            "password=<alnum:12>[masked: jwt]<alnum:12>".to_owned(),
            "password=[masked: password][masked: jwt][masked: password]".to_owned(),
        ),
        // Only what the rule of the mark leaves readable is no secret.
        (
            "password=<alnum:12>.atlasv1.[masked: terraform-token]".to_owned(),
            "password=[masked: password][masked: terraform-token]".to_owned(),
        ),
        (
            "password=<alnum:12>ghp_[masked: github-token]".to_owned(),
            "password=[masked: password][masked: github-token]".to_owned(),
        ),
        (
            "[masked: jwt] password=<alnum:12>".to_owned(),
            "[masked: jwt] password=[masked: password]".to_owned(),
        ),
    ] {
        check(&text, &masked);
        check(&masked, &masked);
    }
}

/// However its lines are written, and however long it is.
#[test]
fn no_line_of_a_private_key_is_shown() {
    let mut rng = Rng::with_seed(5);
    let base64: Vec<_> = (0..400).map(|_| fill("<base64:64>", &mut rng).text).collect();
    for count in [4, 400] {
        let lines = &base64[..count];
        for (before, between) in [
            ("", "\n"),
            ("> ", "\n"),
            ("< ", "\n"),
            ("--", "\n"),
            ("- ", "\n"),
            ("    12\t", "\n"),
            ("", "<br>"),
            ("'", "\\n'\n"),
            ("`", "`\n"),
            ("\"", "\\n\" +\n"),
        ] {
            for end in [Some("-----END PRIVATE KEY-----"), None] {
                let all = ["-----BEGIN PRIVATE KEY-----"].into_iter();
                let all = all.chain(lines.iter().map(String::as_str)).chain(end);
                let text = all.map(|line| format!("{before}{line}{between}")).collect::<Vec<_>>().concat();
                for (form, write) in crate::invented::FORMS {
                    let masked = Masker::new().mask(&write(&text)).text.into_owned();
                    let shown = lines.iter().filter(|line| {
                        masked.contains(&line.replace('/', r"\/")[20..40]) || masked.contains(&line[20..40])
                    });
                    assert_eq!(shown.count(), 0, "{form}, {before:?} {between:?}, {end:?}");
                }
            }
        }
    }
}

/// `grep -n '' FILE` writes the path of the file before each line.
#[test]
fn no_line_of_a_private_key_behind_a_long_path_is_shown() {
    let mut rng = Rng::with_seed(5);
    let path = "/srv/Deploy2/customers/tea-house/production/secrets/backup/2026/id_rsa.pem";
    for repeat in [1, 10] {
        let path = path.repeat(repeat);
        let mut lines: Vec<_> = (0..12).map(|_| fill("<base64:64>", &mut rng).text).collect();
        lines.push("Zr8Qw41LmXk=".to_owned());
        let first = "-----BEGIN PRIVATE KEY-----";
        let all = [first].into_iter().chain(lines.iter().map(String::as_str));
        let text: Vec<_> = all.enumerate().map(|(number, line)| format!("{path}:{number}:{line}")).collect();
        let text = format!("first line\n{}\n{path}:14:the end", text.join("\n"));
        for (form, write) in crate::invented::FORMS {
            let masked = Masker::new().mask(&write(&text)).text.into_owned();
            let shown = lines.iter().filter(|line| {
                let piece = &line[..12];
                masked.contains(piece) || masked.contains(&piece.replace('/', r"\/"))
            });
            assert_eq!(shown.count(), 0, "{form}: {masked}");
            assert!(masked.contains("the end") && masked.contains("first line"), "{form}: {masked}");
        }
    }
}

/// A value in quotation marks ends with its own mark.
#[test]
fn a_quoted_password_is_masked_whole() {
    for password in [
        "Zr8Qw41LmXk",
        "Zr8Qw4(1LmXk",
        "Zr8Qw41[LmXk",
        "Zr8Qw41{LmXk",
        "Zr8Qw41&LmXk",
        "Zr8Qw41,LmXk",
        "Zr8Qw41;LmXk",
        "Zr8Qw41 LmXk",
        "Zr8Qw41<LmXk",
        "Zr8Qw41'LmXk",
        "Zr8Qw41|LmXk",
        "a(Zr8Qw41LmXk",
        "$Zr8Qw41LmXk",
        "<Zr8Qw41LmXk",
        "{Zr8Qw41LmXk",
        "-Zr8Qw41LmXk",
        "/Zr8Qw41LmXk",
        "~Zr8Qw41LmXk",
        "Zr8Qw41LmXk密",
        "Zr8Qw41\"LmXk",
        "Zr8Qw41\\LmXk",
    ] {
        let json = serde_json::json!({"a": 1, "password": password}).to_string();
        let expected = r#"{"a":1,"password":"[masked: password]"}"#;
        let masked = Masker::new().mask_json(&json, annals_secrets::Items::None);
        assert_eq!(String::from_utf8_lossy(&masked.json), expected, "{json}");
        let nested = serde_json::json!({ "input": json }).to_string();
        let masked = Masker::new().mask_json(&nested, annals_secrets::Items::None);
        let read: serde_json::Value = serde_json::from_slice(&masked.json).unwrap();
        assert_eq!(read["input"], expected, "{nested}");
        if !password.contains(['"', '\\']) {
            let text = format!("password = \"{password}\"; a = 1");
            assert_eq!(Masker::new().mask(&text).text, "password = \"[masked: password]\"; a = 1");
        }
    }
}

#[test]
fn a_text_that_was_cut_does_not_end_with_the_beginning_of_a_secret() {
    let masker = Masker::new();
    let hex = fill("<hex:32>", &mut Rng::with_seed(7)).text;
    for (text, masked) in [
        ("use ghp_Q7fZk2…".to_owned(), "use ghp_[masked: github-token]…"),
        (format!("use {}…", &hex[..12]), "use [masked: mailchimp-api-key]…"),
        ("Cookie: a=[masked: jwt]; sid=aQ7fZk2mX9…".to_owned(), "Cookie: a=[masked: jwt][masked: cookie]…"),
        ("use [masked: jwt]…".to_owned(), "use [masked: jwt]…"),
        ("see the documentation…".to_owned(), "see the documentation…"),
        ("use ghp_Q7fZk2".to_owned(), "use ghp_Q7fZk2"),
    ] {
        assert_eq!(masker.mask_cut(&text, 300).text, masked, "{text}");
    }
}

#[test]
fn secrets_without_anything_between_them_are_all_masked() {
    check("AIza<alnum:35>ghp_<alnum:36>", "AIza[masked: google-api-key]ghp_[masked: github-token]");
}

/// Where the next page of a list begins is no secret, and neither is the id of a token.
#[test]
fn a_name_tells_cursors_and_ids_from_secrets() {
    let uuid = "<hex:8>-<hex:4>-4<hex:3>-8<hex:3>-<hex:12>";
    for name in [
        "next_page_token",
        "page_token",
        "page-token",
        "PAGE_TOKEN",
        "pageToken",
        "nextPageToken",
        "NextToken",
        "continuation_token",
        "x-ms-continuation-token",
        "ContinuationToken",
    ] {
        for template in
            ["{}=<alnum:40>", r#"{"{}": "<alnum:40>"}"#, r#"{\"{}\":\"<alnum:40>\"}"#, r"a\n{}: <alnum:40>"]
        {
            let kept = fill(&template.replacen("{}", name, 1), &mut Rng::with_seed(7)).text;
            check(&kept, &kept);
        }
    }
    for template in ["token=ID", "?token=ID&a=1", r#"{"token":"ID"}"#, r"a\ntoken: ID", "Token = 'ID'"] {
        let kept = fill(&template.replace("ID", uuid), &mut Rng::with_seed(7)).text;
        check(&kept, &kept);
    }
    for name in [
        "token",
        "access_token",
        "statuspage_token",
        "STATUSPAGE_TOKEN",
        "homepageToken",
        "page_secret",
        "PAGE_ACCESS_TOKEN",
        "NEXT_API_KEY",
        "next_secret",
    ] {
        check(&format!("{name}=<alnum:40>"), &format!("{name}=[masked: secret-value]"));
    }
    for name in ["secret", "api_key", "client_secret", "access_token"] {
        check(&format!("{name}={uuid}"), &format!("{name}=[masked: secret-value]"));
    }
    check(&format!("token=a{uuid}"), "token=[masked: secret-value]");
}

#[test]
fn colours_inside_a_secret_do_not_hide_it() {
    check(
        "a\u{1b}[01;31m\u{1b}[Kghp_\u{1b}[m\u{1b}[K<alnum:36> b",
        "a\u{1b}[01;31m\u{1b}[Kghp_\u{1b}[m\u{1b}[K[masked: github-token] b",
    );
    check("ghp_<alnum:18>\u{1b}[0m<alnum:18>\u{1b}[0m", "ghp_[masked: github-token]\u{1b}[0m");
    check("PASS\u{1b}[1mWORD\u{1b}[m=<alnum:12>", "PASS\u{1b}[1mWORD\u{1b}[m=[masked: password]");
}

#[test]
fn clean_text_is_borrowed() {
    let masker = Masker::new();
    let clean = "cargo test --workspace";
    let result = masker.mask(clean);
    assert!(matches!(result.text, std::borrow::Cow::Borrowed(text) if std::ptr::eq(text, clean)));
    assert_eq!(result.count, 0);
}

#[test]
fn findings_are_the_ranges_that_are_masked() {
    let masker = Masker::new();
    let sample = fill("PASSWORD=<alnum:12> ghp_<alnum:36>", &mut Rng::with_seed(7));
    let found: Vec<_> =
        masker.find(&sample.text).map(|found| (&sample.text[found.range], found.rule)).collect();
    assert_eq!(found, [(sample.pieces[0].as_str(), "password"), (sample.pieces[1].as_str(), "github-token")],);
}

#[test]
fn rules_of_users_come_first_and_replace_those_of_the_same_name() {
    let rule = |name| {
        format!("[[rule]]\nname = '{name}'\nkeywords = ['ghp_']\npattern = 'ghp_(?<secret>[a-z]{{4,}})'\n")
    };
    let text = fill("ghp_abcd ghp_<alnum:36>", &mut Rng::with_seed(7)).text;
    let added = Masker::with_rules(&rule("ours")).unwrap();
    assert_eq!(added.mask(&text).text, "ghp_[masked: ours] ghp_[masked: github-token]");
    let replaced = Masker::with_rules(&rule("github-token")).unwrap();
    assert_eq!(replaced.find(&text).count(), 1);
}

#[test]
fn users_can_allow_values_and_use_parts() {
    let text = "badge: 'corp-1234' PASSWORD=sw0rdfish-training";
    let rules = "allow = ['^sw0rdfish']\n[[rule]]\nname = 'badge'\nkeywords = ['badge']\npattern = 'badge{assign}(?<secret>{value}+)'";
    let masker = Masker::with_rules(rules).unwrap();
    assert_eq!(masker.mask(text).text, "badge: '[masked: badge]' PASSWORD=sw0rdfish-training");
}

/// A match may begin before the keyword, whether or not the rule says how far.
#[test]
fn rules_of_users_match_around_the_keyword() {
    let rule = |pattern: &str, more: &str| {
        let rule =
            format!("[[rule]]\nname = 'host'\nkeywords = ['.corp.tea']\npattern = '{pattern}'\n{more}");
        Masker::with_rules(&rule).unwrap()
    };
    for pattern in [r"[a-z]+\.corp\.tea", r"[a-z]*\.corp\.tea", r"[a-z]+\.corp\.tea(?::[0-9]+)?"] {
        let masker = rule(pattern, "");
        for (text, masked) in [
            ("kettle.corp.tea", "[masked: host]"),
            ("ssh kettle.corp.tea, pot.corp.tea!", "ssh [masked: host], [masked: host]!"),
            ("水 kettle.corp.tea 水\npot.corp.tea", "水 [masked: host] 水\n[masked: host]"),
            (r"a\nkettle.corp.tea\n", r"a\n[masked: host]\n"),
            ("KETTLEkettle.corp.tea", "KETTLE[masked: host]"),
        ] {
            assert_eq!(masker.mask(text).text, masked, "{pattern}");
        }
    }
    let any = rule(r".{1,5}\.corp\.tea", "");
    assert!(any.mask("hi 密密密.corp.tea").text.ends_with("密[masked: host]"));
    let value = Masker::with_rules(
        "[[rule]]\nname = 'acme'\nkeywords = ['acmekey=']\npattern = 'acmekey=(?<secret>.+)'\nallow = ['^example.*']",
    );
    let value = value.unwrap();
    assert!(value.mask("acmekey=example then acmekey=Zr8Qw41LmX").text.ends_with("acmekey=[masked: acme]"));
    let text = format!("acmekey=example {} acmekey=Zr8Qw41LmX {}", "a ".repeat(20), "b ".repeat(60));
    assert_eq!(value.mask(&text).count, 1, "in the first half of a long value that is none");
    let named = rule(r"(?<secret>[^ ]+)\.corp\.tea", "");
    let long = "茶".repeat(300);
    for (text, masked) in [
        ("at kettle.corp.tea".to_owned(), "at [masked: host].corp.tea"),
        ("水.corp.tea".to_owned(), "[masked: host].corp.tea"),
        (format!("x\n{long} kettle.corp.tea"), " [masked: host].corp.tea"),
        (format!("{long}.corp.tea"), "[masked: host].corp.tea"),
    ] {
        assert!(named.mask(&text).text.ends_with(masked), "{text}");
    }
    // `[^ ]` would also match the end of the line before.
    assert_eq!(named.mask("one\ntwo.corp.tea").text, "one\n[masked: host].corp.tea");
    assert_eq!(
        rule(r"pot)(\.corp\.tea", "").mask("a pot.corp.tea").text,
        "a [masked: host]",
        "odd, but no error"
    );
    let exact = rule(r"[a-z]+\.corp\.tea", "before = [3, 3]");
    assert_eq!(exact.mask("kettle.corp.tea pot.corp.tea").text, "kettle.corp.tea [masked: host]");
}

#[test]
fn a_masker_is_shared_by_threads() {
    fn check<T: Send + Sync>(_: &T) {}
    check(&Masker::new());
}

#[test]
fn a_word_of_placeholders_beside_a_short_key_does_not_show_it() {
    let text = "-----BEGIN RSA PRIVATE KEY-----4Dst3n72oWe8zbfrgF8ydBBzb example ug3yU91";
    let masked = Masker::new().mask(text).text.into_owned();
    assert!(!masked.contains("4Dst3n72"), "{masked}");
}

/// Databases and command line tools print tables whose head names what stands below it.
#[test]
fn cells_below_the_name_of_a_secret_are_masked() {
    check(
        " id |   api_key    ⏎----+--------------⏎  1 | <alnum:32>⏎  2 | <alnum:32>⏎(2 rows)⏎",
        " id |   api_key    ⏎----+--------------⏎  1 | [masked: column-value]⏎  2 | [masked: column-value]⏎(2 rows)⏎",
    );
    check(
        "NAME   TYPE     TOKEN    AGE⏎tea    Opaque   <alnum:32>  3d⏎milk   Opaque   <alnum:32>  3d⏎",
        "NAME   TYPE     TOKEN    AGE⏎tea    Opaque   [masked: column-value]  3d⏎milk   Opaque   [masked: column-value]  3d⏎",
    );
    check(
        "id,accessToken⏎1,q7Z<alnum:24>⏎# a, b, c⏎2,q7Z<alnum:24>⏎",
        "id,accessToken⏎1,[masked: column-value]⏎# a, b, c⏎2,[masked: column-value]⏎",
    );
    check(
        "set user, password⏎step one⏎id,name,token⏎1,tea,q7Z<alnum:24>⏎",
        "set user, password⏎step one⏎id,name,token⏎1,tea,[masked: column-value]⏎",
    );
    check(
        "user,password⏎mia,q7Z<alnum:14>⏎id,name,token⏎1,tea,q7Z<alnum:24>⏎",
        "user,password⏎mia,[masked: column-value]⏎id,name,token⏎1,tea,[masked: column-value]⏎",
    );
    for table in [
        "name | secret⏎---+---⏎api_key | ⏎db | {}",
        "user,password⏎token,none⏎mia,{}",
        "| name | password |⏎|---|---|⏎| token | none |⏎| mia | {} |",
        "NAME     TOKEN⏎api-key  none⏎tea      {}",
        "user,password⏎# name, token, more⏎mia,{}",
    ] {
        check(&table.replace("{}", "q7Z<alnum:24>"), &table.replace("{}", "[masked: column-value]"));
    }
    check("password,user⏎q7Z<alnum:14>,mia⏎", "password,user⏎[masked: column-value],mia⏎");
    check(
        "NAME   APIKEY   AGE⏎tea    q7Z<alnum:24>  3d⏎",
        "NAME   APIKEY   AGE⏎tea    [masked: column-value]  3d⏎",
    );
    check("user,password⏎mia,q7Z<alnum:14>⏎⏎other", "user,password⏎mia,[masked: column-value]⏎⏎other");
    check(
        r#"{"stdout":"user\tpassword\nmia\tq7Z<alnum:14>\n","code":0}"#,
        r#"{"stdout":"user\tpassword\nmia\t[masked: column-value]\n","code":0}"#,
    );
}

/// The name and the value of a member of a list stand in two lines, also where the text begins with them.
#[test]
fn listed_values_are_masked_at_the_beginning_of_a_text() {
    let masked = r"- name: DB_PASSWORD\n  value: [masked: listed-value]";
    check(r"- name: DB_PASSWORD\n  value: q7Z<alnum:15>", masked);
    let title = [r#"{"title":""#, r"- name: DB_PASSWORD\n  value: q7Z<alnum:15>", r#""}"#].concat();
    check(&title, &[r#"{"title":""#, masked, r#""}"#].concat());
    // Lists have the first prompt twice.
    let twice = |member: &str| format!(r#"{{"title":"{member}","firstPrompt":"{member}"}}"#);
    check(
        &twice(r"DB_PASSWORD\n  value: q7Z<alnum:15>"),
        &twice(r"DB_PASSWORD\n  value: [masked: listed-value]"),
    );
    check(
        "- name: DB_PASSWORD⏎  value: q7Z<alnum:15>",
        "- name: DB_PASSWORD⏎  value: [masked: listed-value]",
    );
}

/// The name of a key or a token may be in the line before it, with or without a colon.
#[test]
fn secrets_in_the_line_after_their_name_are_masked() {
    for text in [
        "API key⏎{}",
        "Client secret⏎{}",
        "Here is the token⏎{}",
        "**Token**⏎{}",
        "密钥⏎{}",
        "The secret⏎```⏎{}⏎```",
        "token:⏎{}",
    ] {
        let masked = text.replace("{}", "[masked: mixed-secret]");
        check(&text.replace("{}", "q7Z<alnum:24>"), &masked);
    }
}
