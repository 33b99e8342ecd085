//! `POST /export`: sessions as files, behind the same checks as everything else.

use annals_server::HttpOptions;
use serde_json::{Value, json};

use crate::http::client::{Reply, Served};
use crate::world::{TEA, World};

fn export(served: &Served, params: &Value) -> Reply {
    let bearer = served.bearer();
    let headers = [("Authorization", &bearer[..]), ("Content-Type", "application/json")];
    served.ask("POST /export", &headers, params.to_string().as_bytes())
}

#[test]
fn a_session_is_sent_as_a_file_with_a_name() {
    let served = Served::new();
    for (format, kind, ending) in
        [("html", "text/html", "html"), ("md", "text/markdown", "md"), ("text", "text/plain", "txt")]
    {
        let reply = export(&served, &json!({"sessionId": TEA, "format": format}));
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(reply.header("content-type"), Some(&*format!("{kind}; charset=utf-8")));
        let name = format!("attachment; filename=\"annals-{TEA}.{ending}\"");
        assert_eq!(reply.header("content-disposition"), Some(&*name));
        assert!(reply.body.contains("You"), "{}", reply.body);
    }
}

#[test]
fn a_report_follows_as_the_last_line_on_request() {
    let served = Served::new();
    let plain = export(&served, &json!({"sessionId": TEA, "format": "md"}));
    let reported = export(&served, &json!({"sessionId": TEA, "format": "md", "report": true}));
    let (document, report) = reported.body.trim_end_matches('\n').rsplit_once('\n').unwrap();
    assert_eq!(document, plain.body);
    let report: Value = serde_json::from_str(report).unwrap();
    assert!(report["rows"].as_u64().unwrap() > 1, "{report}");
    assert_eq!(report["leftOut"], 0);
}

#[test]
fn an_export_needs_the_token_and_a_page_of_this_server() {
    let served = Served::new();
    let body = json!({"sessionId": TEA, "format": "md"}).to_string();
    let bearer = served.bearer();
    let json = ("Content-Type", "application/json");
    let ask = |headers: &[(&str, &str)]| served.ask("POST /export", headers, body.as_bytes());
    assert_eq!(ask(&[json]).status, 401);
    let token = ("Authorization", &bearer[..]);
    assert_eq!(ask(&[json, token, ("Host", "example.org")]).status, 403);
    assert_eq!(ask(&[json, token, ("Origin", "http://example.org")]).status, 403);
    assert_eq!(ask(&[token, ("Content-Type", "text/plain")]).status, 415);
    assert_eq!(served.get("/export").status, 405);
    assert_eq!(ask(&[json, token]).status, 200);
}

#[test]
fn what_cannot_be_exported_is_told_by_the_status() {
    let served = Served::with(World::new(), HttpOptions::default());
    let status = |params: Value| export(&served, &params).status;
    let nobody = "00000000-0000-4000-8000-000000000000";
    assert_eq!(status(json!({"sessionId": nobody, "format": "md"})), 404);
    assert_eq!(status(json!({"sessionId": TEA, "format": "md", "fromTurn": 900})), 404);
    assert_eq!(status(json!({"sessionId": TEA, "format": "md", "fromTurn": 3, "toTurn": 2})), 400);
    assert_eq!(status(json!({"sessionId": TEA, "format": "pdf"})), 400);
    assert_eq!(status(json!({"sessionId": "../tea", "format": "md"})), 400);
    assert_eq!(status(json!({"sessionId": TEA, "format": "md", "reveal": true})), 403);
}
