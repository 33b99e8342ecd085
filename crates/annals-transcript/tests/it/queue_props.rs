//! The queue of prompts, compared with a list that is searched from its start.

use annals_transcript::conversation::TranscriptBytes;
use annals_transcript::queue;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

const TEXTS: &[&str] = &["a", "b", "茶", "/tea green"];

#[derive(Clone, Copy, Debug)]
enum Line {
    Enqueue(&'static str),
    Take(&'static str),
    TakeText(&'static str, &'static str),
    PopAll,
    Message(&'static str),
    Attachment(&'static str),
    Reply,
}

impl Line {
    fn json(self) -> String {
        let operation = |name: &str| json!({"type": "queue-operation", "operation": name});
        let value = match self {
            Line::Enqueue(text) => with_content(operation("enqueue"), text),
            Line::Take(name) => operation(name),
            Line::TakeText(name, text) => with_content(operation(name), text),
            Line::PopAll => operation("popAll"),
            Line::Message(text) => json!({"type": "user", "message": {"content": text}}),
            Line::Attachment(text) => {
                json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": text}})
            }
            Line::Reply => json!({"type": "assistant", "message": {"content": "a"}}),
        };
        value.to_string()
    }
}

fn with_content(mut operation: serde_json::Value, text: &str) -> serde_json::Value {
    operation["content"] = text.into();
    operation
}

/// The same rules over lists: what waits, and what operations without a text are assumed to have taken.
#[derive(Default)]
struct Lists {
    waiting: Vec<(usize, &'static str)>,
    assumed: Vec<(usize, &'static str)>,
}

impl Lists {
    fn add(&mut self, index: usize, line: Line) {
        match line {
            Line::Enqueue(text) => self.waiting.push((index, text)),
            Line::Take(_) if self.waiting.is_empty() => {}
            Line::Take(_) => {
                let taken = self.waiting.remove(0);
                self.assumed.push(taken);
            }
            Line::TakeText(_, text) => _ = take(&mut self.waiting, text),
            Line::PopAll => self.waiting.clear(),
            Line::Message(text) | Line::Attachment(text) => self.settle(text),
            Line::Reply => {}
        }
        self.assumed.sort_unstable();
        self.waiting.sort_unstable();
        if self.waiting.is_empty() {
            self.assumed.clear();
        }
    }

    fn settle(&mut self, text: &str) {
        if self.assumed.is_empty() || take(&mut self.assumed, text) {
            return;
        }
        let was_wrong = take(&mut self.waiting, text);
        let settled = self.assumed.remove(0);
        if was_wrong {
            self.waiting.push(settled);
        }
    }
}

fn take(prompts: &mut Vec<(usize, &'static str)>, text: &str) -> bool {
    let place = prompts.iter().position(|(_, prompt)| *prompt == text);
    place.map(|place| prompts.remove(place)).is_some()
}

fn line() -> impl Strategy<Value = Line> {
    let text = || select(TEXTS);
    let taking = || select(&["dequeue", "remove"][..]);
    prop_oneof![
        4 => text().prop_map(Line::Enqueue),
        3 => taking().prop_map(Line::Take),
        1 => (select(&["dequeue", "remove", "popAll"][..]), text()).prop_map(|(name, text)| Line::TakeText(name, text)),
        3 => text().prop_map(Line::Message),
        1 => text().prop_map(Line::Attachment),
        1 => Just(Line::Reply),
        1 => Just(Line::PopAll),
    ]
}

fn found(lines: &[Line]) -> Vec<usize> {
    let file: Vec<_> = lines.iter().map(|line| line.json()).collect();
    queue::waiting(&TranscriptBytes::new(file.join("\n"))).unwrap()
}

proptest! {
    #[test]
    fn the_queue_equals_that_of_plain_lists(lines in prop::collection::vec(line(), 0..40)) {
        let mut lists = Lists::default();
        for (index, line) in lines.iter().enumerate() {
            lists.add(index, *line);
        }
        let expected: Vec<_> = lists.waiting.iter().map(|(index, _)| *index).collect();
        prop_assert_eq!(found(&lines), expected);
    }

    /// An empty queue remembers nothing: lists rely on it when they read on in a file that has grown.
    #[test]
    fn behind_an_empty_queue_only_later_lines_count(
        before in prop::collection::vec(line(), 0..30),
        behind in prop::collection::vec(line(), 0..30),
    ) {
        prop_assume!(found(&before).is_empty());
        let start = before.len();
        let expected: Vec<_> = found(&behind).into_iter().map(|index| index + start).collect();
        prop_assert_eq!(found(&[before, behind].concat()), expected);
    }
}
