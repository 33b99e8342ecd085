//! Calls of tools in the words of editors: what kind of tool, which files, which changes.

use std::borrow::Cow;

use annals_proto::acp::{Location, ToolContent, ToolKind};
use annals_transcript::content::ToolUse;
use annals_transcript::json::Value;
use annals_transcript::tool;

use annals_api::is_absolute;

/// How many characters of what a call is about stand in its title.
const LONGEST_TITLE: usize = 200;

/// Returns what kind of tool has this name.
pub(super) fn kind(name: &str) -> ToolKind {
    match name {
        "Read" | "NotebookRead" | "ReadMcpResourceTool" | "ListMcpResourcesTool" => ToolKind::Read,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "LS" | "LSP" | "ToolSearch" => ToolKind::Search,
        "Bash" | "BashOutput" | "PowerShell" | "KillBash" | "KillShell" | "Monitor" => ToolKind::Execute,
        "WebFetch" | "WebSearch" | "web_fetch" | "web_search" => ToolKind::Fetch,
        "Agent" | "Task" | "TodoWrite" | "TaskCreate" | "TaskGet" | "TaskList" | "TaskUpdate" => {
            ToolKind::Think
        }
        "EnterPlanMode" | "ExitPlanMode" | "exit_plan_mode" => ToolKind::SwitchMode,
        _ => name
            .strip_prefix("mcp__")
            .and_then(|name| name.rsplit("__").next())
            .map_or(ToolKind::Other, by_verb),
    }
}

/// Tools of others are called by what they do, as often as not.
fn by_verb(name: &str) -> ToolKind {
    match name.split(['_', '-']).next().unwrap_or_default() {
        "read" | "get" | "list" | "view" => ToolKind::Read,
        "write" | "edit" | "patch" => ToolKind::Edit,
        "delete" | "remove" => ToolKind::Delete,
        "move" | "rename" => ToolKind::Move,
        "search" | "find" | "grep" | "query" => ToolKind::Search,
        "run" | "exec" | "execute" => ToolKind::Execute,
        "fetch" | "download" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// Returns a line that says what a call is about.
pub(super) fn title(call: &ToolUse<'_>) -> String {
    let name = call.name().filter(|name| !name.is_empty()).unwrap_or(Cow::Borrowed("Tool"));
    let subject = tool::subject(call);
    let line = subject.trim().lines().next().unwrap_or_default();
    if line.is_empty() {
        return name.into_owned();
    }
    let end = line.char_indices().nth(LONGEST_TITLE).map_or(line.len(), |(end, _)| end);
    let more = if end < subject.trim().len() { " …" } else { "" };
    format!("{name}: {}{more}", &line[..end])
}

/// Returns the files that a call touches, as far as they are known for certain.
pub(super) fn locations(call: &ToolUse<'_>, cwd: Option<&str>) -> Vec<Location> {
    let line = call.input().and_then(|input| input.number("offset"));
    let line = line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
    let is_read = call.name().as_deref() == Some("Read");
    let files = tool::files(call).into_iter().filter_map(|path| absolute(&path, cwd));
    files.map(|path| Location { path, line: line.filter(|_| is_read) }).collect()
}

/// Returns the changes of files that a call asks for.
pub(super) fn diffs(call: &ToolUse<'_>, cwd: Option<&str>) -> Vec<ToolContent> {
    let changes = || {
        let input = call.input()?;
        let text = |value: Value<'_>, key: &str| value.text(key).map(Cow::into_owned);
        let change = |path: &str, value: Value<'_>, old: &str, new: &str| {
            let path = absolute(&input.text(path)?, cwd)?;
            Some(ToolContent::Diff { path, old_text: text(value, old), new_text: text(value, new)? })
        };
        let name = call.name()?;
        Some(match &*name {
            "Edit" => change("file_path", input, "old_string", "new_string").into_iter().collect(),
            "MultiEdit" => {
                let edits = input.get("edits").into_iter().flat_map(Value::items);
                edits.filter_map(|edit| change("file_path", edit, "old_string", "new_string")).collect()
            }
            "Write" => change("file_path", input, "", "content").into_iter().collect(),
            "NotebookEdit" => change("notebook_path", input, "", "new_source").into_iter().collect(),
            _ => Vec::new(),
        })
    };
    changes().unwrap_or_default()
}

/// Returns the change of a file that was written anew, which only the result tells: what stood there before.
pub(super) fn written(result: Value<'_>, cwd: Option<&str>) -> Option<ToolContent> {
    let (old, new) = (result.text("originalFile")?, result.text("content")?);
    let path = absolute(&result.text("filePath")?, cwd)?;
    Some(ToolContent::Diff { path, old_text: Some(old.into_owned()), new_text: new.into_owned() })
}

/// Returns the first line that an edit changed.
pub(super) fn changed_line(result: Value<'_>, cwd: Option<&str>) -> Option<Location> {
    let patch = result.get("structuredPatch").filter(|patch| patch.is_array())?.items().next()?;
    let line = u32::try_from(patch.number("newStart")?).ok()?;
    Some(Location { path: absolute(&result.text("filePath")?, cwd)?, line: Some(line) })
}

/// Returns a path from the root: editors want no others.
fn absolute(path: &str, cwd: Option<&str>) -> Option<String> {
    if is_absolute(path) {
        return Some(path.to_owned());
    }
    let cwd = cwd.filter(|cwd| is_absolute(cwd) && !path.is_empty() && !path.starts_with('~'))?;
    let between = if cwd.contains('\\') { '\\' } else { '/' };
    let path = path.strip_prefix("./").unwrap_or(path);
    Some(format!("{}{between}{path}", cwd.trim_end_matches(['/', '\\'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(name: &str, input: &str, look: impl Fn(&ToolUse<'_>) -> T) -> T {
        let block = format!(r#"{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}"#);
        look(&tool::read(block.as_bytes()).unwrap())
    }

    #[test]
    fn tools_have_a_kind_by_their_name() {
        for (name, expected) in [
            ("Read", ToolKind::Read),
            ("MultiEdit", ToolKind::Edit),
            ("Grep", ToolKind::Search),
            ("Bash", ToolKind::Execute),
            ("WebFetch", ToolKind::Fetch),
            ("Agent", ToolKind::Think),
            ("ExitPlanMode", ToolKind::SwitchMode),
            ("mcp__files__delete_file", ToolKind::Delete),
            ("mcp__files__move-file", ToolKind::Move),
            ("mcp__weather__today", ToolKind::Other),
            ("Skill", ToolKind::Other),
            ("", ToolKind::Other),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn a_title_is_one_short_line() {
        let titled = |name: &str, input: &str| with(name, input, title);
        assert_eq!(titled("Bash", r#"{"command":"ls"}"#), "Bash: ls");
        assert_eq!(titled("Bash", r#"{"command":"cat <<E\n天气\nE"}"#), "Bash: cat <<E …");
        assert_eq!(titled("TaskList", "{}"), "TaskList");
        assert_eq!(titled("", "{}"), "Tool");
        let long = titled("Bash", &format!(r#"{{"command":"{}"}}"#, "天".repeat(300)));
        assert_eq!(long.chars().count(), "Bash: ".len() + LONGEST_TITLE + " …".chars().count());
    }

    #[test]
    fn files_are_named_from_the_root() {
        let found = |name: &str, input: &str, cwd| {
            let places = with(name, input, |call| locations(call, cwd));
            places.into_iter().map(|place| (place.path, place.line)).collect::<Vec<_>>()
        };
        let cwd = Some("/home/mia/茶");
        assert_eq!(
            found("Read", r#"{"file_path":"/a.rs","offset":7}"#, cwd),
            [("/a.rs".to_owned(), Some(7))]
        );
        assert_eq!(found("Read", r#"{"file_path":"/a.rs","offset":0}"#, cwd), [("/a.rs".to_owned(), None)]);
        assert_eq!(found("Edit", r#"{"file_path":"C:\\天\\a.rs"}"#, cwd), [(r"C:\天\a.rs".to_owned(), None)]);
        assert_eq!(
            found("Bash", r#"{"command":"ls > b.txt"}"#, cwd),
            [("/home/mia/茶/b.txt".to_owned(), None)]
        );
        assert_eq!(found("Grep", r#"{"path":"src"}"#, Some(r"C:\天\")), [(r"C:\天\src".to_owned(), None)]);
        assert_eq!(found("Grep", r#"{"path":"src"}"#, None), []);
        assert_eq!(found("Grep", r#"{"path":"~/src"}"#, cwd), []);
    }

    #[test]
    fn edits_are_changes_of_files() {
        let diff = |old: Option<&str>, new: &str| ToolContent::Diff {
            path: "/a".to_owned(),
            old_text: old.map(str::to_owned),
            new_text: new.to_owned(),
        };
        let found = |name, input| with(name, input, |call| diffs(call, None));
        let edit = r#"{"file_path":"/a","old_string":"旧","new_string":"新"}"#;
        assert_eq!(found("Edit", edit), [diff(Some("旧"), "新")]);
        let edits = r#"{"file_path":"/a","edits":[{"old_string":"1","new_string":"2"},{"old_string":"3","new_string":""},7]}"#;
        assert_eq!(found("MultiEdit", edits), [diff(Some("1"), "2"), diff(Some("3"), "")]);
        assert_eq!(found("Write", r#"{"file_path":"/a","content":"x"}"#), [diff(None, "x")]);
        assert_eq!(found("NotebookEdit", r#"{"notebook_path":"/a","new_source":"x"}"#), [diff(None, "x")]);
        for nothing in ["{}", "[]", "7", r#"{"file_path":"a","content":"x"}"#, r#"{"file_path":"/a"}"#] {
            assert_eq!(found("Write", nothing), [], "{nothing}");
        }
        let result =
            br#"{"filePath":"/a","content":"new","originalFile":"old","structuredPatch":[{"newStart":12}]}"#;
        let result = Value::new(result).unwrap();
        assert_eq!(written(result, None), Some(diff(Some("old"), "new")));
        assert_eq!(changed_line(result, None), Some(Location { path: "/a".to_owned(), line: Some(12) }));
        let nothing = Value::new(br#"{"filePath":"/a","structuredPatch":{"newStart":1}}"#).unwrap();
        assert_eq!((written(nothing, None), changed_line(nothing, None)), (None, None));
    }
}
