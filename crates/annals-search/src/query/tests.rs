use super::*;
use crate::part::Part;

/// Writes a tree as text: terms as words in brackets, with `*` for a prefix and `|` before the parts.
fn written(expression: &Expression) -> String {
    let several = |all: &[Expression], operator: &str| {
        format!("({})", all.iter().map(written).collect::<Vec<_>>().join(operator))
    };
    match expression {
        Expression::Term(term) => {
            let star = if term.is_prefix { "*" } else { "" };
            let parts = match &term.parts {
                parts if *parts == term.words => String::new(),
                parts if parts.is_empty() => "|".to_owned(),
                parts => format!("|{}", parts.join(" ")),
            };
            format!("[{}{star}{parts}]", term.words.join(" "))
        }
        Expression::All(all) => several(all, " "),
        Expression::Any(any) => several(any, " OR "),
        Expression::Not(inner) => format!("-{}", written(inner)),
    }
}

#[track_caller]
fn check(query: &str, expected: &str) {
    let parsed = Query::parse(query).unwrap();
    assert_eq!(parsed.expression().map(written).unwrap_or_default(), expected, "{query}");
}

#[track_caller]
fn check_notices(query: &str, expected: &[Notice]) {
    assert_eq!(Query::parse(query).unwrap().notices(), expected, "{query}");
}

#[test]
fn words_are_all_required() {
    check("borrow Checker", "([borrow] [checker])");
    check("  borrow\tAND\u{3000}checker ", "([borrow] [checker])");
    check("E0502", "[e0502]");
    check("foo_bar src/main.rs:42", "([foo bar] [src main rs 42])");
    check("--dry-run", "[dry run]");
    check("getUser", "[getuser|get user]");
    check("foo::getUser", "[foo getuser|foo get user]");
    check(r"C:\Users\ada", "[c users ada]");
}

#[test]
fn quotes_make_phrases_of_whole_words() {
    check(r#""borrow checker" x"#, "([borrow checker|] [x])");
    check(r#""getUser""#, "[getuser|]");
    check(r#"key="a value""#, "([key] [a value|])");
    check("“智能 引号” x", "([智能 能 引号|] [x])");
}

#[test]
fn stars_and_short_hashes_are_prefixes() {
    check("conf* foo_b*", "([conf*] [foo b*])");
    check(r#""foo ba"*"#, "[foo ba*|]");
    check("e1e4ee0", "[e1e4ee0*]");
    check(r#""e1e4ee0" 1234567 deadbeef e1e4ee"#, "([e1e4ee0|] [1234567] [deadbeef] [e1e4ee])");
}

#[test]
fn characters_of_scripts_without_blanks_are_pairs() {
    check("检索", "[检索|]");
    check("全文检索", "[全文 文检 检索|]");
    check("索", "[索*|]");
    check("用Rust写", "[用 rust 写*|]");
    check(r#""SQLite 数据""#, "[sqlite 数据|]");
    check(r#""数据 SQLite""#, "[数据 据 sqlite|]");
    check("检索*", "[检索|]");
    check("👍🏽", "[👍|]");
}

#[test]
fn minus_negates_only_before_a_letter_a_digit_or_a_quote() {
    check("a -b", "([a] -[b])");
    check(r#"a -"b c" -5 -中文"#, "([a] -[b c|] -[5] -[中文|])");
    check("a --b", "([a] [b])");
    check("a - b", "([a] [b])");
    check("a-b", "[a b]");
    check("-b", "-[b]");
    check("a -(b)", "([a] [b])");
}

#[test]
fn or_separates_alternatives_and_parentheses_group() {
    check("a b OR c", "(([a] [b]) OR [c])");
    check("(a OR b) c", "(([a] OR [b]) [c])");
    check("a or b", "([a] [or] [b])");
    check("main() foo(bar)", "([main] [foo bar])");
    check("(main() OR b)", "([main] OR [b])");
    check("((a))", "[a]");
    check("a) b", "([a] [b])");
    check("-OR a", "(-[or] [a])");
}

#[test]
fn filters_are_apart_from_text() {
    let query = Query::parse(
        r#"fix tool:Bash -file:"C:\my dir\a.rs" role:User in:tool is:error after:7d session:3e11"#,
    )
    .unwrap();
    assert_eq!(query.expression().map(written).as_deref(), Some("[fix]"));
    let conditions: Vec<_> =
        query.filters().iter().map(|filter| (&filter.condition, filter.is_negated)).collect();
    assert_eq!(
        conditions,
        [
            (&Condition::Tool("Bash".to_owned()), false),
            (&Condition::File(r"C:\my dir\a.rs".to_owned()), true),
            (&Condition::Role(Role::User), false),
            (&Condition::In(&[Part::ToolInput, Part::ToolOutput]), false),
            (&Condition::IsError, false),
            (&Condition::After("7d".parse().unwrap()), false),
            (&Condition::Session("3e11".to_owned()), false),
        ]
    );
    assert_eq!(query.notices(), []);
    assert_eq!(Query::parse("tool:Bash").unwrap().fts_match(), FtsMatch::Everything);
    assert_eq!(Query::parse("(fix project:app)").unwrap().filters().len(), 1);
}

#[test]
fn every_name_is_a_filter() {
    for name in filter::NAMES {
        let value = match name {
            "role" => "user",
            "before" | "after" => "today",
            "is" => "error",
            "in" => "title",
            _ => "x",
        };
        assert_eq!(Query::parse(&format!("{name}:{value}")).unwrap().filters().len(), 1, "{name}");
    }
}

#[test]
fn what_only_looks_like_a_filter_is_text() {
    check("model::User", "[model user]");
    check("file:///etc/hosts", "[file etc hosts]");
    check("Error:foo", "[error foo]");
    check("https://example.com", "[https example com]");
    check_notices("model::User foo:bar id:7 modal::x", &[]);
    let unknown = |name: &str, close| Notice::UnknownFilter { name: name.to_owned(), close };
    check_notices("tools:Bash", &[unknown("tools", "tool")]);
    check_notices("Porject:x", &[unknown("Porject", "project")]);
    check_notices("file: foo", &[Notice::EmptyFilter("file")]);
    check("file: foo", "([file] [foo])");
}

#[test]
fn what_is_guessed_is_said() {
    check_notices("a \"b c", &[Notice::Unclosed('"')]);
    check_notices("(a OR b", &[Notice::Unclosed('(')]);
    check_notices("a && b", &[Notice::Ignored("&&".to_owned())]);
    check_notices("a OR", &[Notice::Ignored("OR".to_owned())]);
    check("OR a OR", "[a]");
    check_notices("a OR tool:Bash", &[Notice::FilterForAll]);
    check_notices("tool:Bash OR tool:Edit", &[]);
}

#[test]
fn only_queries_without_words_and_bad_values_fail() {
    assert_eq!(Query::parse(" \n "), Err(QueryError::Empty));
    for query in ["?!", "\"", "()", "-", "OR", "\u{1b}[31m", "\"\" ''", "((((((((((((((("] {
        assert_eq!(Query::parse(query), Err(QueryError::NoWords), "{query}");
    }
    let message = |query: &str| Query::parse(query).unwrap_err().to_string();
    assert_eq!(message("role:me x"), "`role:` takes user, assistant, system, not `me`");
    assert_eq!(message("is:open"), "`is:` takes error, not `open`");
    assert!(message("before:soon").starts_with("`before:` needs a time: `soon` is not a date"));
}

#[test]
fn long_queries_are_cut_with_a_notice() {
    let words = "word ".repeat(20_000);
    check_notices(&words, &[Notice::TooLong { ignored: 20_000 - MOST_TERMS }]);
    let phrase = format!("\"{words}\"");
    check_notices(&phrase, &[Notice::TooLong { ignored: 1 }]);
    assert_eq!(Query::parse(&phrase).unwrap().terms()[0].tokens().count(), MOST_TOKENS);
    assert!(Query::parse(&"& ".repeat(50_000)).is_err());
    assert!(Query::parse(&format!("a {}", "&x:y ".repeat(20_000))).unwrap().notices().len() <= 20);
    let filters = (0..1_100).map(|number| format!("-tool:x{number} ")).collect::<Vec<_>>().concat();
    check_notices(&filters, &[Notice::TooManyFilters { ignored: 1_100 - MOST_FILTERS }]);
    Query::parse(&"x".repeat(100_000)).unwrap();
    Query::parse(&format!("{}a", "(".repeat(100_000))).unwrap();
}

#[test]
fn negations_are_rendered_without_a_term_beside_them() {
    let rendered = |query: &str| Query::parse(query).unwrap().fts_match();
    let rows = |text: &str| FtsMatch::Rows(text.to_owned());
    let all_but = |text: &str| FtsMatch::AllRowsBut(text.to_owned());
    let [a, b, c] = ["a", "b", "c"].map(|word| format!("\"{word}\""));
    assert_eq!(rendered("-a"), all_but(&a));
    assert_eq!(rendered("-a -b"), all_but(&format!("({a} OR {b})")));
    assert_eq!(rendered("a -b"), rows(&format!("({a} NOT {b})")));
    assert_eq!(rendered("a OR b"), rows(&format!("({a} OR {b})")));
    assert_eq!(rendered("a OR -b"), all_but(&format!("({b} NOT {a})")));
    assert_eq!(rendered("(a OR -b) c"), rows(&format!("({c} NOT ({b} NOT {a}))")));
}
