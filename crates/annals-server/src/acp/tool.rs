//! Tool calls as editors show them: the kind of tool, a title, the files and the changes.

use std::borrow::Cow;

use annals_proto::acp::{Location, ToolContent, ToolKind};
use annals_transcript::content::ToolUse;
use annals_transcript::json::Value;
use annals_transcript::tool;

use annals_api::is_absolute;

/// How many characters of the subject of a call its title has.
const MAX_TITLE_CHARS: usize = 200;

/// Returns the kind of the tool with this name.
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
            .map_or(ToolKind::Other, kind_by_verb),
    }
}

/// Returns the kind of an MCP tool. Many of their names begin with a verb.
fn kind_by_verb(name: &str) -> ToolKind {
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

/// Returns the title of a call: the tool, and the first line of what it works on.
pub(super) fn title(call: &ToolUse<'_>) -> String {
    let name = call.name().filter(|name| !name.is_empty()).unwrap_or(Cow::Borrowed("Tool"));
    let subject = tool::subject(call);
    let line = subject.trim().lines().next().unwrap_or_default();
    if line.is_empty() {
        return name.into_owned();
    }
    let end = line.char_indices().nth(MAX_TITLE_CHARS).map_or(line.len(), |(end, _)| end);
    let more = if end < subject.trim().len() { " …" } else { "" };
    format!("{name}: {}{more}", &line[..end])
}

/// Returns the files that a call reads or writes, where their absolute paths are known.
pub(super) fn locations(call: &ToolUse<'_>, cwd: Option<&str>) -> Vec<Location> {
    let line = call.input().and_then(|input| input.number("offset"));
    let line = line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
    let is_read = call.name().as_deref() == Some("Read");
    let files = tool::files(call).into_iter().filter_map(|path| absolute(&path, cwd));
    files.map(|path| Location { path, line: line.filter(|_| is_read) }).collect()
}

/// Returns the changes of files that a call asks for.
pub(super) fn diffs(call: &ToolUse<'_>, cwd: Option<&str>) -> Vec<ToolContent> {
    let (Some(name), Some(input)) = (call.name(), call.input()) else { return Vec::new() };
    let path_key = match &*name {
        "Edit" | "MultiEdit" | "Write" => "file_path",
        "NotebookEdit" => "notebook_path",
        _ => return Vec::new(),
    };
    let Some(path) = input.text(path_key).and_then(|path| absolute(&path, cwd)) else { return Vec::new() };
    match &*name {
        "Edit" => replacement(&path, input).into_iter().collect(),
        "MultiEdit" => {
            let edits = input.get("edits").into_iter().flat_map(Value::items);
            edits.filter_map(|edit| replacement(&path, edit)).collect()
        }
        "Write" => new_text(&path, input, "content").into_iter().collect(),
        _ => new_text(&path, input, "new_source").into_iter().collect(),
    }
}

/// Returns the change that replaces `old_string` by `new_string`.
fn replacement(path: &str, edit: Value<'_>) -> Option<ToolContent> {
    let (old, new) = (edit.text("old_string"), edit.text("new_string")?);
    let (old_text, new_text) = (old.map(Cow::into_owned), new.into_owned());
    Some(ToolContent::Diff { path: path.to_owned(), old_text, new_text })
}

/// Returns the change that writes the text under a key; what it overwrites is not known.
fn new_text(path: &str, input: Value<'_>, key: &str) -> Option<ToolContent> {
    let new_text = input.text(key)?.into_owned();
    Some(ToolContent::Diff { path: path.to_owned(), old_text: None, new_text })
}

/// Returns the change of a file that was overwritten. Only the result has its former contents.
pub(super) fn overwrite_diff(result: Value<'_>, cwd: Option<&str>) -> Option<ToolContent> {
    let (old, new) = (result.text("originalFile")?, result.text("content")?);
    let path = absolute(&result.text("filePath")?, cwd)?;
    Some(ToolContent::Diff { path, old_text: Some(old.into_owned()), new_text: new.into_owned() })
}

/// Returns the first line that an edit changed.
pub(super) fn first_changed_line(result: Value<'_>, cwd: Option<&str>) -> Option<Location> {
    let patch = result.get("structuredPatch").filter(|patch| patch.is_array())?.items().next()?;
    let line = u32::try_from(patch.number("newStart")?).ok()?;
    Some(Location { path: absolute(&result.text("filePath")?, cwd)?, line: Some(line) })
}

/// Returns an absolute path, because editors accept no others; `None` if it is not known.
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

    fn titled(name: &str, input: &str) -> String {
        with(name, input, title)
    }

    /// Returns the files that a call names, with their lines.
    fn located(name: &str, input: &str, cwd: Option<&str>) -> Vec<(String, Option<u32>)> {
        let found = with(name, input, |call| locations(call, cwd));
        found.into_iter().map(|location| (location.path, location.line)).collect()
    }

    fn diff(old: Option<&str>, new: &str) -> ToolContent {
        ToolContent::Diff {
            path: "/a".to_owned(),
            old_text: old.map(str::to_owned),
            new_text: new.to_owned(),
        }
    }

    fn diffs_of(name: &str, input: &str) -> Vec<ToolContent> {
        with(name, input, |call| diffs(call, None))
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(titled("Bash", r#"{"command":"ls"}"#), "Bash: ls");
        assert_eq!(titled("Bash", r#"{"command":"cat <<E\n天气\nE"}"#), "Bash: cat <<E …");
        assert_eq!(titled("TaskList", "{}"), "TaskList");
        assert_eq!(titled("", "{}"), "Tool");
        let long = titled("Bash", &format!(r#"{{"command":"{}"}}"#, "天".repeat(300)));
        assert_eq!(long.chars().count(), "Bash: ".len() + MAX_TITLE_CHARS + " …".chars().count());
    }

    #[test]
    fn files_are_named_from_the_root() {
        let cwd = Some("/home/mia/茶");
        assert_eq!(
            located("Read", r#"{"file_path":"/a.rs","offset":7}"#, cwd),
            [("/a.rs".to_owned(), Some(7))]
        );
        assert_eq!(located("Read", r#"{"file_path":"/a.rs","offset":0}"#, cwd), [("/a.rs".to_owned(), None)]);
        assert_eq!(
            located("Edit", r#"{"file_path":"C:\\天\\a.rs"}"#, cwd),
            [(r"C:\天\a.rs".to_owned(), None)]
        );
        assert_eq!(
            located("Bash", r#"{"command":"ls > b.txt"}"#, cwd),
            [("/home/mia/茶/b.txt".to_owned(), None)]
        );
        assert_eq!(located("Grep", r#"{"path":"src"}"#, Some(r"C:\天\")), [(r"C:\天\src".to_owned(), None)]);
        assert_eq!(located("Grep", r#"{"path":"src"}"#, None), []);
        assert_eq!(located("Grep", r#"{"path":"~/src"}"#, cwd), []);
    }

    #[test]
    fn edits_are_changes_of_files() {
        let edit = r#"{"file_path":"/a","old_string":"旧","new_string":"新"}"#;
        assert_eq!(diffs_of("Edit", edit), [diff(Some("旧"), "新")]);
        let edits = r#"{"file_path":"/a","edits":[{"old_string":"1","new_string":"2"},{"old_string":"3","new_string":""},7]}"#;
        assert_eq!(diffs_of("MultiEdit", edits), [diff(Some("1"), "2"), diff(Some("3"), "")]);
        assert_eq!(diffs_of("Write", r#"{"file_path":"/a","content":"x"}"#), [diff(None, "x")]);
        assert_eq!(diffs_of("NotebookEdit", r#"{"notebook_path":"/a","new_source":"x"}"#), [diff(None, "x")]);
        for nothing in ["{}", "[]", "7", r#"{"file_path":"a","content":"x"}"#, r#"{"file_path":"/a"}"#] {
            assert_eq!(diffs_of("Write", nothing), [], "{nothing}");
        }
        let result =
            br#"{"filePath":"/a","content":"new","originalFile":"old","structuredPatch":[{"newStart":12}]}"#;
        let result = Value::new(result).unwrap();
        assert_eq!(overwrite_diff(result, None), Some(diff(Some("old"), "new")));
        assert_eq!(
            first_changed_line(result, None),
            Some(Location { path: "/a".to_owned(), line: Some(12) })
        );
        let nothing = Value::new(br#"{"filePath":"/a","structuredPatch":{"newStart":1}}"#).unwrap();
        assert_eq!((overwrite_diff(nothing, None), first_changed_line(nothing, None)), (None, None));
    }
}
