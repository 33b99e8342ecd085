//! Code: its lines, and the classes of its words. One pass over the text; see `language.rs` for what it knows of each language.

use annals_proto::{ViewNode, ViewSpan};

use crate::ansi::LONGEST_LINE;
use crate::language::{Form, LITERALS, Language};
use crate::{floor, visible};

/// Longer code is shown without colours.
const MOST_COLOURED: (usize, usize) = (800, 50 << 10);

/// Renders code. Its lines are numbered from `first` on, if that is given.
pub fn code(text: &str, language: Option<&'static Language>, first: Option<u64>) -> ViewNode {
    let text = text.strip_suffix('\n').unwrap_or(text);
    ViewNode::Code {
        lang: language.map(|language| language.name.to_owned()),
        lines: lines_of(text, language),
        first,
    }
}

/// Renders code without colours, for documents that have none. The writers of these split lines themselves, so that the text stays in
/// one piece unless a line of it has to be cut.
pub(crate) fn plain_code(text: &str, language: Option<&'static Language>, first: Option<u64>) -> ViewNode {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines = one_piece(text).unwrap_or_else(|| lines_of(text, None));
    ViewNode::Code { lang: language.map(|language| language.name.to_owned()), lines, first }
}

/// Returns a text as one span with all of its lines; `None` if one of them is too long.
pub(crate) fn one_piece(text: &str) -> Option<Vec<Vec<ViewSpan>>> {
    let mut start = 0;
    let is_long = |end: usize| {
        let length = end - start;
        start = end + 1;
        length > LONGEST_LINE
    };
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    let has_long = text.len() > LONGEST_LINE && ends.map(is_long).fold(false, |any, long| any | long);
    (!has_long).then(|| vec![vec![ViewSpan::Text(visible(text).into_owned())]])
}

/// Returns the lines of code with the classes of their words, if it is not too long for that.
pub fn lines_of(text: &str, language: Option<&'static Language>) -> Vec<Vec<ViewSpan>> {
    let is_short = text.len() <= MOST_COLOURED.1
        && memchr::memchr_iter(b'\n', text.as_bytes()).count() < MOST_COLOURED.0;
    match language.filter(|_| is_short) {
        Some(language) => Scanner::new(language, &visible(text)).scan(),
        None => text.split('\n').map(plain_line).collect(),
    }
}

fn plain_line(line: &str) -> Vec<ViewSpan> {
    if line.is_empty() {
        return Vec::new();
    }
    let shown = &line[..floor(line, LONGEST_LINE)];
    let mut spans = vec![ViewSpan::Text(visible(shown).into_owned())];
    if shown.len() < line.len() {
        spans.push(ViewSpan::Marked("com".into(), format!(" … {} bytes more", line.len() - shown.len())));
    }
    spans
}

/// Lines that are being made. Neighbours of the same class are one span.
#[derive(Default)]
struct Lines {
    done: Vec<Vec<ViewSpan>>,
    line: Vec<ViewSpan>,
}

impl Lines {
    fn push(&mut self, class: &'static str, text: &str) {
        let mut pieces = text.split('\n');
        if let Some(piece) = pieces.next() {
            self.push_piece(class, piece);
        }
        for piece in pieces {
            self.done.push(std::mem::take(&mut self.line));
            self.push_piece(class, piece);
        }
    }

    fn push_piece(&mut self, class: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.line.last_mut() {
            Some(ViewSpan::Text(last)) if class.is_empty() => last.push_str(text),
            Some(ViewSpan::Marked(before, last)) if *before == class => last.push_str(text),
            _ if class.is_empty() => self.line.push(ViewSpan::Text(text.to_owned())),
            _ => self.line.push(ViewSpan::Marked(class.into(), text.to_owned())),
        }
    }
}

struct Scanner<'a> {
    language: &'static Language,
    /// The code, with harmful characters made visible.
    text: &'a str,
    /// By first byte, the lengths that keywords and literals have, as bits: most words are none, and need not be compared.
    lengths: [u32; 128],
    /// By first byte, whether a comment or a string may begin.
    begins: [bool; 256],
    out: Lines,
}

impl<'a> Scanner<'a> {
    fn new(language: &'static Language, text: &'a str) -> Self {
        let mut lengths = [0; 128];
        for word in language.keywords().iter().chain(&LITERALS) {
            for first in [word.as_bytes()[0], word.as_bytes()[0].to_ascii_uppercase()] {
                lengths[usize::from(first & 0x7F)] |= 1 << word.len().min(31);
            }
        }
        let mut begins = [false; 256];
        let words = language.line_comments.iter().chain(language.long_quotes).copied();
        for word in words.chain(language.block_comment.map(|(begin, _)| begin)) {
            begins[usize::from(word.as_bytes()[0])] = true;
        }
        language.quotes.iter().for_each(|&quote| begins[usize::from(quote)] = true);
        Self { language, text, lengths, begins, out: Lines::default() }
    }

    fn scan(mut self) -> Vec<Vec<ViewSpan>> {
        if self.language.form == Form::Diff {
            self.scan_diff();
        } else {
            // Words without a class, and what is between words, become one span.
            let (mut plain, mut at) = (0, 0);
            while at < self.text.len() {
                let (length, class) = self.token(at);
                if !class.is_empty() {
                    self.out.push("", &self.text[plain..at]);
                    self.out.push(class, &self.text[at..at + length]);
                    plain = at + length;
                }
                at += length;
            }
            self.out.push("", &self.text[plain..]);
        }
        self.out.done.push(self.out.line);
        self.out.done
    }

    fn scan_diff(&mut self) {
        for line in self.text.split_inclusive('\n') {
            let class = match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', b'@', ..] => "hd",
                [b'+', ..] => "add",
                [b'-', ..] => "del",
                _ => "",
            };
            self.out.push(class, line);
        }
    }

    /// Returns the length and the class of the token at an offset.
    fn token(&self, at: usize) -> (usize, &'static str) {
        let (language, rest) = (self.language, &self.text[at..]);
        let first = rest.as_bytes()[0];
        if self.begins[usize::from(first)]
            && let Some(token) = self.comment_or_string(at)
        {
            return token;
        }
        match first {
            b'<' if language.form == Form::Tags => (tag(rest), "tag"),
            b'$' if language.form == Form::Shell => (variable(rest), "var"),
            b'0'..=b'9' => (number(rest), "num"),
            _ if first == b'_' || first.is_ascii_alphabetic() || !first.is_ascii() => {
                let length = word(rest, language.form == Form::Keys);
                (length, self.class_of_word(at, length))
            }
            b' ' | b'\t' | b'\n' => {
                let spaces = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
                (spaces.count(), "")
            }
            _ => (rest.chars().next().map_or(1, char::len_utf8), ""),
        }
    }

    /// Returns the length and the class of the comment or string at an offset.
    fn comment_or_string(&self, at: usize) -> Option<(usize, &'static str)> {
        let (language, rest) = (self.language, &self.text[at..]);
        let first = rest.as_bytes()[0];
        if let Some((begin, end)) = language.block_comment
            && rest.starts_with(begin)
        {
            let length =
                rest[begin.len()..].find(end).map_or(rest.len(), |found| begin.len() + found + end.len());
            return Some((length, "com"));
        }
        if language.line_comments.iter().any(|begin| rest.starts_with(begin)) && self.may_begin_comment(at) {
            return Some((line_length(rest), "com"));
        }
        if let Some(quote) = language.long_quotes.iter().find(|quote| rest.starts_with(**quote)) {
            return Some((long_string(rest, quote), "str"));
        }
        if language.quotes.contains(&first) {
            let length = string(rest, first);
            return Some((length, if self.is_key(at + length) { "key" } else { "str" }));
        }
        None
    }

    /// Returns whether a comment may begin at an offset: a `#` inside of a word begins none.
    fn may_begin_comment(&self, at: usize) -> bool {
        let before = self.text[..at].chars().next_back();
        !self.text[at..].starts_with(['#', ';']) || before.is_none_or(char::is_whitespace)
    }

    /// Returns whether what ends at an offset is a key: a colon or an equals sign follows.
    fn is_key(&self, end: usize) -> bool {
        self.language.form == Form::Keys && {
            let rest = self.text[end..].trim_start_matches(' ');
            rest.starts_with(':') && !rest.starts_with("::") || rest.starts_with('=')
        }
    }

    fn class_of_word(&self, at: usize, length: usize) -> &'static str {
        let word = &self.text[at..at + length];
        let next = self.text[at + length..].bytes().next();
        let first = usize::from(word.as_bytes()[0]);
        let may_be_keyword =
            self.lengths.get(first).is_some_and(|lengths| lengths >> length.min(31) & 1 == 1);
        if may_be_keyword && self.language.is_keyword(word) {
            "kw"
        } else if may_be_keyword && LITERALS.contains(&word) {
            "lit"
        } else if self.is_key(at + length) {
            "key"
        } else if self.language.form != Form::Words {
            ""
        } else if matches!(next, Some(b'(' | b'!')) {
            "fn"
        } else if word.starts_with(|first: char| first.is_ascii_uppercase()) {
            "type"
        } else {
            ""
        }
    }
}

fn line_length(text: &str) -> usize {
    memchr::memchr(b'\n', text.as_bytes()).unwrap_or(text.len())
}

/// Returns the length of a string on one line, quotes included.
fn string(text: &str, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii) => at += 2,
            b'\n' => return at,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the length of a string that may span lines.
fn long_string(text: &str, quote: &str) -> usize {
    let mut at = quote.len();
    while let Some(found) = text[at..].find(quote) {
        let is_escaped = text[..at + found].bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1;
        at += found + quote.len();
        if !is_escaped {
            return at;
        }
    }
    text.len()
}

fn word(text: &str, has_dashes: bool) -> usize {
    let is_ascii_part =
        |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || has_dashes && matches!(byte, b'-' | b'.');
    let ascii = text.bytes().take_while(|&byte| is_ascii_part(byte)).count();
    if ascii > 0 && text.as_bytes().get(ascii).is_none_or(u8::is_ascii) {
        return ascii;
    }
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || has_dashes && matches!(c, '-' | '.')))
        .unwrap_or(text.len())
        .max(text.chars().next().map_or(1, char::len_utf8))
}

fn number(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(text.len())
}

fn variable(text: &str) -> usize {
    if let Some(rest) = text.strip_prefix("${") {
        return rest.find(['}', '\n']).map_or(text.len(), |end| (end + 3).min(text.len()));
    }
    1 + text[1..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len() - 1)
}

/// Returns the length of a tag, up to the end of its line.
fn tag(text: &str) -> usize {
    text.find(['>', '\n']).map_or(text.len(), |end| if text.as_bytes()[end] == b'>' { end + 1 } else { end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, text: &str, expected: &str) {
        let lines = lines_of(text, Language::named(language));
        let show = |span: &ViewSpan| match span {
            ViewSpan::Text(text) => text.clone(),
            ViewSpan::Marked(class, text) => format!("‹{class} {text}›"),
        };
        let shown: Vec<String> = lines.iter().map(|line| line.iter().map(show).collect()).collect();
        assert_eq!(shown.join("\n"), expected);
        let plain: Vec<String> = lines.iter().map(|line| line.iter().map(ViewSpan::text).collect()).collect();
        assert_eq!(plain.join("\n"), text, "no character is lost");
    }

    #[test]
    fn words_get_the_class_that_their_language_gives_them() {
        check(
            "rust",
            "let x = f(\"a\\\"b\", 0x1F); // 茶",
            "‹kw let› x = ‹fn f›(‹str \"a\\\"b\"›, ‹num 0x1F›); ‹com // 茶›",
        );
        check("rs", "/* a\nb */ struct Tea<'a>", "‹com /* a›\n‹com b */› ‹kw struct› ‹type Tea›<'a>");
        check(
            "py",
            "def f(self):\n  '''x\n  y'''",
            "‹kw def› ‹fn f›(‹lit self›):\n  ‹str '''x›\n‹str   y'''›",
        );
        check("bash", "echo \"$A\" ${B} # x\na#b", "echo ‹str \"$A\"› ‹var ${B}› ‹com # x›\na#b");
        check("json", "{\"a\": [1, null]}", "{‹key \"a\"›: [‹num 1›, ‹lit null›]}");
        check("diff", "@@ 1 @@\n-a\n+b\n c", "‹hd @@ 1 @@›\n‹del -a›\n‹add +b›\n c");
        check("html", "<a b=\"c\">x</a><!-- d -->", "‹tag <a b=\"c\">›x‹tag </a>›‹com <!-- d -->›");
        check("sql", "SELECT a FROM b", "‹kw SELECT› a ‹kw FROM› b");
        check("js", "`a\n${b}` é", "‹str `a›\n‹str ${b}`› é");
    }

    #[test]
    fn long_code_has_no_colours_and_long_lines_an_end() {
        let long = "let x = 1;\n".repeat(900);
        let lines = lines_of(&long, Language::named("rust"));
        assert!(lines.iter().flatten().all(|span| matches!(span, ViewSpan::Text(_))));
        let ViewNode::Code { lines, .. } = code(&"y".repeat(1 << 20), None, None) else { panic!() };
        assert!(lines[0][0].text().len() == LONGEST_LINE && lines[0].len() == 2);
    }
}
