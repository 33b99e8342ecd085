//! Usage: `annals usage`, compared with `wc -l` and `ccusage` on the same files, and with a directory walk.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::generate;

use super::lists::{Cost, cost, walk};
use crate::{Outcome, call};

/// The version of ccusage that is compared.
const CCUSAGE: &str = "ccusage@20.0.24";

/// Generated config folders: name, sessions, and bytes of each.
const CORPORA: [(&str, u64, u64); 3] =
    [("600 × 360 KB", 600, 360_000), ("10,000 × 30 KB", 10_000, 30_000), ("1 × 336 MB", 1, 336_000_000)];

pub(super) fn run(scratch: &Path, corpus: Option<&Path>, rounds: usize) -> Outcome {
    call(env!("CARGO"), &["build", "--quiet", "--release", "--package", "annals"])?;
    let peer = ccusage(scratch);
    println!("\nusage by day, as programs, best of {rounds} rounds");
    println!(
        "{:<16} {:<26} {:>10} {:>10} {:>10} {:>10}",
        "", "", "ms", "ms of CPU", "CPU × wc", "MB at peak"
    );
    match corpus {
        Some(root) => on(scratch, "given", root, peer.as_deref(), rounds)?,
        None => {
            for (name, sessions, bytes) in CORPORA {
                let root = scratch.join(format!("usage-{sessions}"));
                generated(&root, sessions, bytes)?;
                on(scratch, name, &root, peer.as_deref(), rounds)?;
            }
        }
    }
    let root = corpus.map_or_else(|| scratch.join("usage-10000"), Path::to_owned);
    statusline(scratch, &root)?;
    if peer.is_none() {
        println!("ccusage: not measured (`npm install {CCUSAGE}` failed)");
    }
    Ok(())
}

fn on(scratch: &Path, name: &str, root: &Path, peer: Option<&Path>, rounds: usize) -> Outcome {
    let home = scratch.join("usage-home");
    // What is appended goes into a folder of its own: the other may be somebody's.
    let beside = scratch.join("usage-beside");
    generated(&beside, 1, 10_000)?;
    let growing = session_path(&beside, 0);
    let mut annals = Command::new(std::env::current_exe()?.with_file_name("annals"));
    annals.args(["usage", "--json", "--timezone", "UTC", "--root"]).arg(root).arg("--root").arg(&beside);
    annals.env("ANNALS_HOME", &home).env("HOME", scratch);
    let mut lines = Command::new("sh");
    lines.args(["-c", "find \"$0\" -name '*.jsonl' -print0 | xargs -0 wc -l"]).arg(root.join("projects"));
    let forget = || fs::remove_dir_all(&home).unwrap_or_default();
    let append = || append_to(&growing);
    let mut contenders: Vec<(&str, &Command, &dyn Fn())> = vec![
        ("wc -l", &lines, &|| {}),
        ("annals, nothing counted", &annals, &forget),
        ("annals, nothing new", &annals, &|| {}),
        ("annals, after one append", &annals, &append),
    ];
    let theirs = peer.map(|peer| {
        let mut command = Command::new("node");
        command.arg(peer).args(["daily", "--json", "--offline", "--timezone", "UTC"]);
        command.env("CLAUDE_CONFIG_DIR", root).env("HOME", scratch);
        command
    });
    if let Some(theirs) = &theirs {
        contenders.push(("ccusage daily", theirs, &|| {}));
    }
    let mut best = vec![Cost::WORST; contenders.len()];
    for _ in 0..rounds {
        for ((_, program, prepare), best) in contenders.iter().zip(&mut best) {
            prepare();
            best.improve(cost(program)?);
        }
    }
    for ((contender, ..), cost) in contenders.iter().zip(&best) {
        let ratio = cost.cpu / best[0].cpu;
        let (ms, cpu) = (cost.seconds * 1e3, cost.cpu * 1e3);
        println!("{name:<16} {contender:<26} {ms:>10.1} {cpu:>10.1} {ratio:>10.2} {:>10.1}", cost.memory);
    }
    let begun = std::time::Instant::now();
    walk(root);
    println!("{name:<16} {:<26} {:>10.1}", "walk and stat", begun.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// So many status lines are measured.
const STATUS_LINES: usize = 200;

/// Prints how long a status line takes, from the start of the program to its end, beside a config folder. What it shows was counted before,
/// and its own transcript has grown since.
fn statusline(scratch: &Path, root: &Path) -> Outcome {
    let program = std::env::current_exe()?.with_file_name("annals");
    let home = scratch.join("statusline-home");
    let beside = scratch.join("statusline-beside");
    generated(&beside, 1, 2_000_000)?;
    let transcript = session_path(&beside, 0);
    let annals = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("--root").arg(root).arg("--root").arg(&beside).args(args);
        command.env("ANNALS_HOME", &home).env("HOME", scratch);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    if !annals(&["statusline", "update"]).status()?.success() {
        return Err("`annals statusline update` failed".into());
    }
    append_to(&transcript);
    let input = format!(
        r#"{{"model":{{"display_name":"Opus"}},"cost":{{"total_cost_usd":1.5}},"transcript_path":{:?}}}"#,
        transcript.to_string_lossy()
    );
    let mut times = Vec::new();
    for _ in 0..STATUS_LINES {
        let begun = std::time::Instant::now();
        let mut child = annals(&["statusline", "--no-update"]).stdin(Stdio::piped()).spawn()?;
        child.stdin.take().ok_or("there is a pipe")?.write_all(input.as_bytes())?;
        child.wait()?;
        times.push(begun.elapsed());
    }
    times.sort();
    let percentile = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!(
        "status line, {STATUS_LINES} times: median {:.1} ms, 95th percentile {:.1} ms, longest {:.1} ms",
        percentile(50),
        percentile(95),
        percentile(100)
    );
    Ok(())
}

/// Installs ccusage in the scratch folder. Returns the script to run; `None` if that is not possible.
fn ccusage(scratch: &Path) -> Option<PathBuf> {
    let folder = scratch.join("ccusage");
    fs::create_dir_all(&folder).ok()?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg(CCUSAGE);
    npm.envs([("npm_config_fetch_retries", "1"), ("npm_config_fetch_retry_mintimeout", "1000")]);
    let installed =
        npm.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    let script = folder.join("node_modules/.bin/ccusage");
    (installed && script.exists()).then(|| script.canonicalize().unwrap_or(script))
}

/// Generates sessions in twenty projects, unless they exist. Every response has ids of its own.
fn generated(root: &Path, sessions: u64, bytes: u64) -> Outcome {
    if root.exists() {
        return Ok(());
    }
    for number in 0..sessions {
        let mut text = Vec::new();
        generate::session(&mut text, number, bytes)?;
        let text = String::from_utf8(text)?;
        let text = text
            .replace("\"msg_", &format!("\"msg_{number}_"))
            .replace("\"req_", &format!("\"req_{number}_"));
        let path = session_path(root, number);
        fs::create_dir_all(path.parent().ok_or("a path has a folder")?)?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn session_path(root: &Path, number: u64) -> PathBuf {
    let project = root.join(format!("projects/-home-dev-work-{}", number % 20));
    project.join(format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"))
}

fn append_to(path: &Path) {
    let file = fs::OpenOptions::new().append(true).open(path);
    let line = b"{\"type\":\"assistant\",\"uuid\":\"x\",\"message\":{\"id\":\"x\",\"model\":\"claude-opus-4-5\",\"usage\":{\"output_tokens\":1}}}\n";
    file.and_then(|mut file| file.write_all(line)).expect("a session can be written");
}
