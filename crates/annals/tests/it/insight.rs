//! `annals insight`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::{annals, small_home};

#[test]
fn days_hours_tools_and_errors_are_shown() {
    let shown = annals(&small_home(), &["insight"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(shown.stdout, @"
    1 session, 1 turn, 3.0 s of work

    day (UTC)   sessions  turns   time  turns per day
    2026-03-01         1      1  3.0 s  ████████████████████

    turns by hour
         0     3     6     9     12    15    18    21
    Mon  · · · · · · · · · · · · · · · · · · · · · · · ·
    Tue  · · · · · · · · · · · · · · · · · · · · · · · ·
    Wed  · · · · · · · · · · · · · · · · · · · · · · · ·
    Thu  · · · · · · · · · · · · · · · · · · · · · · · ·
    Fri  · · · · · · · · · · · · · · · · · · · · · · · ·
    Sat  · · · · · · · · · · · · · · · · · · · · · · · ·
    Sun  · · · · · · · · · · █ · · · · · · · · · · · · ·

    tool  calls  failed     rate  stopped  mean time
    Bash      1       1  100.0 %        0     500 ms

    failed because  calls  most recent           opens it
    other               1  Bash: no such folder  annals show 3e11a6b4 --at a1
    ");
}

#[test]
fn the_same_is_one_object_in_json() {
    let ran = annals(&small_home(), &["insight", "--json"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 1));
    let insight: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&insight["sessions"], &insight["turns"]), (&1.into(), &1.into()));
    assert_eq!(insight["days"][0]["date"], "2026-03-01");
    assert_eq!(insight["tools"]["Bash"]["calls"], 1);
    assert_eq!(insight["hours"].as_array().unwrap().len(), 7);
}

#[test]
fn times_and_projects_select() {
    let home = small_home();
    for (args, code) in [
        (&["--since", "2026-03-01"][..], 0),
        (&["--since", "2026-03-02"], 1),
        (&["--until", "2026-02-28"], 1),
        (&["--project", "/home/mia/tea"], 0),
        (&["--project", "/elsewhere"], 1),
        (&["3e11", "--here"], 2),
    ] {
        assert_eq!(annals(&home, &[&["insight"], args].concat()).code, Some(code), "{args:?}");
    }
}
