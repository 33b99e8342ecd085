//! Plans: what the model intends to do, from its to-do list or its tasks.

use std::borrow::Cow;

use annals_proto::acp::{Plan, PlanEntry, PlanStatus};
use annals_transcript::content::ToolUse;
use annals_transcript::json::Value;

const MAX_ENTRIES: usize = 200;
/// Longer entries are cut.
const MAX_CONTENT_CHARS: usize = 1000;

/// The tasks that calls have created so far, with their ids.
#[derive(Debug, Default)]
pub(super) struct Tasks(Vec<(String, PlanEntry)>);

/// What a call does to the tasks, once its result says that it succeeded.
#[derive(Debug)]
pub(super) enum TaskChange {
    /// Adds a task, whose id is in the result.
    Create { subject: String },
    /// Renames a task, changes its status, or removes it.
    Update { id: String, subject: Option<String>, status: Option<String> },
}

/// Reads the to-do list from the call that writes it.
pub(super) fn todo_plan(call: &ToolUse<'_>) -> Option<Plan> {
    let todos = call.input().filter(|_| call.name().as_deref() == Some("TodoWrite"))?.get("todos")?;
    let todos = todos.is_array().then(|| todos.items())?;
    let entries =
        todos.filter_map(|todo| Some(plan_entry(&todo.text("content")?, todo.text("status").as_deref())));
    Some(Plan { entries: entries.take(MAX_ENTRIES).collect() })
}

impl TaskChange {
    /// Reads the change that a call asks for; `None` if it is another call.
    pub(super) fn of(call: &ToolUse<'_>) -> Option<Self> {
        let input = call.input()?;
        let [id, subject, status] =
            ["taskId", "subject", "status"].map(|key| input.text(key).map(Cow::into_owned));
        match call.name().as_deref()? {
            "TaskCreate" => Some(Self::Create { subject: subject? }),
            "TaskUpdate" => Some(Self::Update { id: id?, subject, status }),
            _ => None,
        }
    }
}

impl Tasks {
    /// Applies the change of a call that succeeded, and returns the new plan; `None` if nothing changed.
    pub(super) fn apply(&mut self, change: TaskChange, result: Option<Value<'_>>) -> Option<Plan> {
        match change {
            TaskChange::Create { subject } => {
                let id = result?.get("task")?.text("id")?.into_owned();
                if self.0.len() == MAX_ENTRIES || self.0.iter().any(|(known, _)| *known == id) {
                    return None;
                }
                self.0.push((id, plan_entry(&subject, None)));
            }
            TaskChange::Update { id, subject, status } => {
                let index = self.0.iter().position(|(known, _)| *known == id)?;
                if status.as_deref() == Some("deleted") {
                    self.0.remove(index);
                } else {
                    let task = &mut self.0[index].1;
                    let updated = plan_entry(subject.as_deref().unwrap_or(&task.content), status.as_deref());
                    *task = PlanEntry { status: status.map_or(task.status, |_| updated.status), ..updated };
                }
            }
        }
        Some(Plan { entries: self.0.iter().map(|(_, entry)| entry.clone()).collect() })
    }
}

fn plan_entry(content: &str, status: Option<&str>) -> PlanEntry {
    let status = match status {
        Some("completed") => PlanStatus::Completed,
        Some("in_progress") => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    };
    PlanEntry { content: content.chars().take(MAX_CONTENT_CHARS).collect(), priority: "medium", status }
}

#[cfg(test)]
mod tests {
    use annals_transcript::tool;

    use super::*;

    fn with<T>(name: &str, input: &str, look: impl Fn(&ToolUse<'_>) -> T) -> T {
        let block = format!(r#"{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}"#);
        look(&tool::read(block.as_bytes()).unwrap())
    }

    fn lines(plan: &Plan) -> Vec<String> {
        plan.entries.iter().map(|entry| format!("{} {:?}", entry.content, entry.status)).collect()
    }

    fn todos(input: &str) -> Option<Plan> {
        with("TodoWrite", input, todo_plan)
    }

    /// Returns what `TaskCreate` prints.
    fn made(id: u8) -> String {
        format!(r#"{{"task":{{"id":"{id}","subject":"x"}}}}"#)
    }

    /// Changes tasks by a call; returns the new plan.
    fn change(tasks: &mut Tasks, name: &str, input: &str, result: &str) -> Option<Vec<String>> {
        let change = with(name, input, TaskChange::of)?;
        tasks.apply(change, Value::new(result.as_bytes())).map(|plan| lines(&plan))
    }

    #[test]
    fn a_to_do_list_is_a_plan() {
        let plan = todos(
            r#"{"todos":[{"content":"煮水","status":"completed"},{"content":"Pour","status":"in_progress"},{"content":"Drink"},7]}"#,
        );
        assert_eq!(lines(&plan.unwrap()), ["煮水 Completed", "Pour InProgress", "Drink Pending"]);
        assert_eq!(todos(r#"{"todos":"none"}"#), None);
        assert_eq!(with("Write", r#"{"todos":[]}"#, super::todo_plan), None);
        assert_eq!(lines(&todos(r#"{"todos":[]}"#).unwrap()), [] as [String; 0], "a list may become empty");
    }

    #[test]
    fn tasks_are_a_plan_that_grows() {
        let mut tasks = Tasks::default();
        assert_eq!(
            change(&mut tasks, "TaskCreate", r#"{"subject":"Boil"}"#, &made(1)).unwrap(),
            ["Boil Pending"]
        );
        assert_eq!(
            change(&mut tasks, "TaskCreate", r#"{"subject":"Pour"}"#, &made(2)).unwrap(),
            ["Boil Pending", "Pour Pending"]
        );
        assert_eq!(
            change(&mut tasks, "TaskCreate", r#"{"subject":"Pour"}"#, &made(2)),
            None,
            "recorded twice"
        );
        assert_eq!(
            change(&mut tasks, "TaskCreate", r#"{"subject":"Stir"}"#, "{}"),
            None,
            "the result has no id"
        );
        let update = r#"{"taskId":"1","status":"in_progress"}"#;
        assert_eq!(
            change(&mut tasks, "TaskUpdate", update, "{}").unwrap(),
            ["Boil InProgress", "Pour Pending"]
        );
        let rename = r#"{"taskId":"1","subject":"煮水"}"#;
        assert_eq!(
            change(&mut tasks, "TaskUpdate", rename, "{}").unwrap(),
            ["煮水 InProgress", "Pour Pending"]
        );
        assert_eq!(change(&mut tasks, "TaskUpdate", r#"{"taskId":"9","status":"completed"}"#, "{}"), None);
        let delete = r#"{"taskId":"1","status":"deleted"}"#;
        assert_eq!(change(&mut tasks, "TaskUpdate", delete, "{}").unwrap(), ["Pour Pending"]);
    }
}
