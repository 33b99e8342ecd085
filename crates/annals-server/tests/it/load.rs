//! `history/load`: messages from contents of every shape.

use std::fs;

use serde_json::{Value, json};
use testkit::transcript::Transcript;

use crate::world::World;

const ODD: &str = "00000000-0000-4000-8000-0000000000dd";

fn load(lines: &Transcript) -> Vec<Value> {
    let world = World::new();
    fs::write(world.session(ODD), lines.to_string()).unwrap();
    let result = world.get("history/load", &json!({"sessionId": ODD}));
    result["messages"].as_array().unwrap().clone()
}

#[test]
fn contents_of_every_shape_are_messages() {
    let lines = Transcript::session(ODD)
        .user("u1", "One 茶")
        .record("queue-operation", json!({"operation": "enqueue", "content": "Later"}))
        .assistant("a1", |reply| reply.thinking("Hm").text("First").text("second"))
        .user("u2", json!([{"type": "text", "text": "Two"}, "three"]))
        .message(
            "assistant",
            "a2",
            json!({"message": {"id": "m2", "role": "assistant", "content": "Plain"}}),
        );
    let told: Vec<_> = load(&lines)
        .iter()
        .map(|message| [&message["role"], &message["content"], &message["thought"]].map(Clone::clone))
        .collect();
    assert_eq!(
        told,
        [
            ["user".into(), "One 茶".into(), Value::Null],
            ["assistant".into(), "First\nsecond".into(), "Hm".into()],
            ["user".into(), "Two\nthree".into(), Value::Null],
            ["assistant".into(), "Plain".into(), Value::Null],
        ]
    );
}

#[test]
fn calls_are_one_message_and_find_their_results_by_id() {
    let call = |id: &'static str| {
        move |reply: testkit::transcript::Reply| reply.id("m1").tool(id, "Bash", json!({"command": id}))
    };
    let lines = Transcript::session(ODD)
        .user("u1", "Work")
        .assistant("a1", call("t1"))
        .assistant("a2", call("call_2"))
        .assistant("a3", call("t3"))
        .failure("r2", "call_2", "no")
        .result("r1", "t1", "yes");
    let messages = load(&lines);
    assert_eq!((messages.len(), &messages[1]["content"]), (2, &json!("")));
    let told: Vec<_> = messages[1]["toolCalls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            ["id", "name", "status", "result", "error"]
                .map(|key| call[key].as_str().unwrap_or("-").to_owned())
        })
        .collect();
    assert_eq!(
        told,
        [
            ["t1", "Bash", "completed", "yes", "-"],
            ["call_2", "Bash", "failed", "-", "no"],
            ["t3", "Bash", "pending", "-", "-"],
        ]
    );
}
