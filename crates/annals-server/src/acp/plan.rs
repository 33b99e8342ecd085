//! What the agent means to do: its list of to-dos, or its tasks.

use annals_proto::acp::{Plan, PlanEntry, PlanStatus};
use annals_transcript::content::ToolUse;
use annals_transcript::json::Value;

/// How many things a plan has at most, and how many characters each.
const MOST: usize = 200;
const LONGEST: usize = 1000;

/// The tasks that calls have made so far, by their ids.
#[derive(Debug, Default)]
pub(super) struct Tasks(Vec<(String, PlanEntry)>);

/// What a call does to the tasks, once it is known to have worked.
#[derive(Debug)]
pub(super) enum TaskChange {
    /// There is a new one; its id stands in the result.
    Create { subject: String },
    /// One is called otherwise, goes on or is gone.
    Update { id: String, subject: Option<String>, status: Option<String> },
}

/// Reads a list of to-dos from the call that writes it.
pub(super) fn todos(call: &ToolUse<'_>) -> Option<Plan> {
    let todos = call.input().filter(|_| call.name().as_deref() == Some("TodoWrite"))?.get("todos")?;
    let todos = todos.is_array().then(|| todos.items())?;
    let entry = |todo: Value<'_>| Some(entry(&todo.text("content")?, todo.text("status").as_deref()));
    Some(Plan { entries: todos.filter_map(entry).take(MOST).collect() })
}

impl TaskChange {
    /// Reads what a call would do to the tasks.
    pub(super) fn of(call: &ToolUse<'_>) -> Option<Self> {
        let input = call.input()?;
        let text = |key: &str| input.text(key).map(std::borrow::Cow::into_owned);
        match call.name().as_deref()? {
            "TaskCreate" => Some(Self::Create { subject: text("subject")? }),
            "TaskUpdate" => {
                Some(Self::Update { id: text("taskId")?, subject: text("subject"), status: text("status") })
            }
            _ => None,
        }
    }
}

impl Tasks {
    /// Does what a call did, and returns the plan if it is another one now.
    pub(super) fn change(&mut self, change: TaskChange, result: Option<Value<'_>>) -> Option<Plan> {
        match change {
            TaskChange::Create { subject } => {
                let id = result?.get("task")?.text("id")?.into_owned();
                if self.0.len() == MOST || self.0.iter().any(|(known, _)| *known == id) {
                    return None;
                }
                self.0.push((id, entry(&subject, None)));
            }
            TaskChange::Update { id, subject, status } => {
                let place = self.0.iter().position(|(known, _)| *known == id)?;
                if status.as_deref() == Some("deleted") {
                    self.0.remove(place);
                } else {
                    let task = &mut self.0[place].1;
                    let said = entry(subject.as_deref().unwrap_or(&task.content), status.as_deref());
                    *task = PlanEntry { status: status.map_or(task.status, |_| said.status), ..said };
                }
            }
        }
        Some(Plan { entries: self.0.iter().map(|(_, entry)| entry.clone()).collect() })
    }
}

fn entry(content: &str, status: Option<&str>) -> PlanEntry {
    let status = match status {
        Some("completed") => PlanStatus::Completed,
        Some("in_progress") => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    };
    PlanEntry { content: content.chars().take(LONGEST).collect(), priority: "medium", status }
}

#[cfg(test)]
mod tests {
    use annals_transcript::tool;

    use super::*;

    fn with<T>(name: &str, input: &str, look: impl Fn(&ToolUse<'_>) -> T) -> T {
        let block = format!(r#"{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}"#);
        look(&tool::read(block.as_bytes()).unwrap())
    }

    fn spelled(plan: &Plan) -> Vec<String> {
        plan.entries.iter().map(|entry| format!("{} {:?}", entry.content, entry.status)).collect()
    }

    #[test]
    fn a_list_of_to_dos_is_a_plan() {
        let todos = |input: &str| with("TodoWrite", input, todos);
        let plan = todos(
            r#"{"todos":[{"content":"煮水","status":"completed"},{"content":"Pour","status":"in_progress"},{"content":"Drink"},7]}"#,
        );
        assert_eq!(spelled(&plan.unwrap()), ["煮水 Completed", "Pour InProgress", "Drink Pending"]);
        assert_eq!(todos(r#"{"todos":"none"}"#), None);
        assert_eq!(with("Write", r#"{"todos":[]}"#, super::todos), None);
        assert_eq!(spelled(&todos(r#"{"todos":[]}"#).unwrap()), [] as [String; 0], "a list may become empty");
    }

    #[test]
    fn tasks_are_a_plan_that_grows() {
        let mut tasks = Tasks::default();
        let mut change = |name: &str, input: &str, result: &str| {
            let change = with(name, input, TaskChange::of)?;
            tasks.change(change, Value::new(result.as_bytes())).map(|plan| spelled(&plan))
        };
        let made = |id: u8| format!(r#"{{"task":{{"id":"{id}","subject":"x"}}}}"#);
        assert_eq!(change("TaskCreate", r#"{"subject":"Boil"}"#, &made(1)).unwrap(), ["Boil Pending"]);
        assert_eq!(
            change("TaskCreate", r#"{"subject":"Pour"}"#, &made(2)).unwrap(),
            ["Boil Pending", "Pour Pending"]
        );
        assert_eq!(change("TaskCreate", r#"{"subject":"Pour"}"#, &made(2)), None, "told again");
        assert_eq!(change("TaskCreate", r#"{"subject":"Stir"}"#, "{}"), None, "nobody knows its id");
        let update = r#"{"taskId":"1","status":"in_progress"}"#;
        assert_eq!(change("TaskUpdate", update, "{}").unwrap(), ["Boil InProgress", "Pour Pending"]);
        let rename = r#"{"taskId":"1","subject":"煮水"}"#;
        assert_eq!(change("TaskUpdate", rename, "{}").unwrap(), ["煮水 InProgress", "Pour Pending"]);
        assert_eq!(change("TaskUpdate", r#"{"taskId":"9","status":"completed"}"#, "{}"), None);
        let delete = r#"{"taskId":"1","status":"deleted"}"#;
        assert_eq!(change("TaskUpdate", delete, "{}").unwrap(), ["Pour Pending"]);
    }
}
