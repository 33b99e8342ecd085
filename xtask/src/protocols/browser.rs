//! A browser opens the page, shows sessions, updates one as it grows, and archives and deletes one.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::http::{SESSION, Served, entry};
use super::{Stage, Trouble, Verdict, npm, program};

const PACKAGES: [(&str, &str); 1] = [("playwright-core", "1.64.1")];

pub(super) fn check(stage: &Stage) -> Verdict {
    let chromium = program(&["chromium", "chromium-browser", "google-chrome"])?;
    let packages = npm(stage, "browser", &PACKAGES)?;
    let script = packages.join("browser.mjs");
    fs::write(&script, include_str!("browser.mjs"))?;
    let pictures = stage.folder.join("pictures");
    fs::create_dir_all(&pictures)?;
    let served = Served::start(stage)?;
    let read_only = Served::start_with(stage, &["--read-only"])?;
    let lines: Vec<_> = (5..25)
        .map(|number| {
            let text = format!("Line {number} <img src=x onerror='window.hacked = 3'> 你好");
            let (uuid, parent) = (format!("h{number}"), format!("h{}", number - 1));
            entry("assistant", &uuid, Some(&parent), &json!([{"type": "text", "text": text}])).to_string()
        })
        .collect();
    let told = json!({
        "chromium": chromium, "url": served.url, "pictures": pictures, "session": SESSION,
        "path": served.session(), "lines": lines, "readOnlyUrl": read_only.url,
    });
    let output = Command::new("node").arg(&script).arg(told.to_string()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Trouble::Failed(said.trim().to_owned()));
    }
    println!(
        "browser: {}; pictures in {}",
        String::from_utf8_lossy(&output.stdout).trim(),
        pictures.display()
    );
    read_only.end()?;
    served.end()
}
