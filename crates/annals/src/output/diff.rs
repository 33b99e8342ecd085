//! The difference between two texts, for people.

use std::io::Write;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::{CYAN, GREEN, RED, clean_masked, masked};
use crate::failure::Failure;

/// How long a comparison may take to find the shortest difference. After that, a longer one is shown.
const TIME: Duration = Duration::from_secs(2);

/// How many equal lines are shown around changed ones.
const CONTEXT: usize = 3;

/// Prints the difference from one content to another, line by line. Content that is not text is only named.
///
/// Both are masked as a whole, because some secrets span lines.
pub(crate) fn print(out: &mut impl Write, before: &[u8], after: &[u8]) -> Result<(), Failure> {
    let (Some(before), Some(after)) = (text(before), text(after)) else {
        let (before, after) = (super::size(before.len() as u64), super::size(after.len() as u64));
        writeln!(out, "the two are not text: {before} now, {after} then")?;
        return Ok(());
    };
    let is_changed = before != after;
    let (before, after) = (masked(before), masked(after));
    if is_changed && before == after {
        writeln!(out, "the two differ only in values that are masked; --reveal shows them")?;
        return Ok(());
    }
    let (old_ends, new_ends) = (line_ends(&before), line_ends(&after));
    let (before, after) = (&before.replace("\r\n", "\n"), &after.replace("\r\n", "\n"));
    if before == after {
        writeln!(out, "only the line endings are different: {old_ends} now, {new_ends} then")?;
        return Ok(());
    }
    if old_ends != new_ends {
        writeln!(out, "the line endings are different too: {old_ends} now, {new_ends} then")?;
    }
    let difference = TextDiff::configure().timeout(TIME).diff_lines(before, after);
    for hunk in difference.unified_diff().context_radius(CONTEXT).iter_hunks() {
        writeln!(out, "{CYAN}{}{CYAN:#}", hunk.header())?;
        for change in hunk.iter_changes() {
            let line = clean_masked(change.value().trim_end_matches(['\n', '\r']));
            match change.tag() {
                ChangeTag::Delete => writeln!(out, "{RED}-{line}{RED:#}")?,
                ChangeTag::Insert => writeln!(out, "{GREEN}+{line}{GREEN:#}")?,
                ChangeTag::Equal => writeln!(out, " {line}")?,
            }
            if change.missing_newline() {
                writeln!(out, "\\ no newline at the end")?;
            }
        }
    }
    Ok(())
}

/// Returns the name of the line endings of a text.
fn line_ends(text: &str) -> &'static str {
    let (all, with_return) = (text.matches('\n').count(), text.matches("\r\n").count());
    match with_return {
        0 => "LF",
        _ if with_return == all => "CRLF",
        _ => "CRLF and LF",
    }
}

/// Returns content as text, if it is text.
pub(crate) fn text(content: &[u8]) -> Option<&str> {
    str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(before: &[u8], after: &[u8]) -> String {
        let mut out = anstream::StripStream::new(Vec::new());
        print(&mut out, before, after).unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    }

    #[test]
    fn changed_lines_are_shown_with_their_surroundings_and_without_escapes() {
        let before = (1..20).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n") + "\n";
        let after = before.replace("line 10\n", "第十行 🎋\n") + "\u{1b}[31mred";
        assert_eq!(
            printed(before.as_bytes(), after.as_bytes()),
            "@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+第十行 🎋\n line 11\n line 12\n line 13\n\
             @@ -17,3 +17,4 @@\n line 17\n line 18\n line 19\n+�[31mred\n\\ no newline at the end\n"
        );
        assert_eq!(printed(b"a\0b", b"text"), "the two are not text: 3 B now, 4 B then\n");
    }

    #[test]
    fn line_endings_are_named_because_they_are_not_visible() {
        assert_eq!(
            printed(b"one\r\ntwo\r\n", b"one\ntwo\n"),
            "only the line endings are different: CRLF now, LF then\n"
        );
        assert_eq!(
            printed(b"one\r\ntwo\n", b"one\ntwo\r\n"),
            "only the line endings are different: CRLF and LF now, CRLF and LF then\n"
        );
        assert_eq!(
            printed(b"one\ntwo\n", b"one\r\nzwei\r\n"),
            "the line endings are different too: LF now, CRLF then\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"
        );
        assert_eq!(printed(b"one\r\n", b"two\r\n"), "@@ -1 +1 @@\n-one\n+two\n");
    }

    fn key(line: &str) -> String {
        format!("a\n-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\nb\n", line.repeat(4))
    }

    #[test]
    fn secrets_that_span_lines_are_masked() {
        let (first, second) = (key("Q7fZk2mX9rT4w8B3"), key("cLs5Vn1Yd6Hj0Gp3"));
        let masked = "-----BEGIN PRIVATE KEY-----[masked: private-key]-----END PRIVATE KEY-----";
        assert_eq!(
            printed(first.as_bytes(), format!("{second}c\n").as_bytes()),
            format!("@@ -1,3 +1,4 @@\n a\n {masked}\n b\n+c\n")
        );
        assert_eq!(
            printed(first.as_bytes(), second.as_bytes()),
            "the two differ only in values that are masked; --reveal shows them\n"
        );
    }
}
