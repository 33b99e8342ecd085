//! Lists: how close they come to a mere walk over the files, and how the client's SDK does on the same folder.

use std::fs::{self, File, FileTimes};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use annals_engine::{Engine, Home, Roots, Wanted};
use annals_transcript::lite::Lite;
use testkit::generate;

use crate::{Outcome, project};

/// How many sessions are made, and how large each is.
const SESSIONS: u64 = 2000;
const BYTES: u64 = 30_000;

pub(super) fn run(scratch: &Path, corpus: Option<&Path>, rounds: usize) -> Outcome {
    let root = match corpus {
        Some(root) => root.to_owned(),
        None => generated(&scratch.join("lists"))?,
    };
    let home = scratch.join("home");
    let engine = Engine::open(Roots::given(vec![root.clone()])?, Home::at(&home));
    let forget = || fs::remove_dir_all(&home).unwrap_or_default();
    let all = Wanted::default();
    let short = Wanted { limit: Some(20), ..Wanted::default() };
    let sessions = engine.list(&all).sessions.len();
    println!("\nlists of {sessions} sessions");
    println!("{:<36} {:>12} {:>12}", "", "ms", "× the walk");
    let newest = engine.list(&short).sessions.first().map(|listed| listed.file.path.clone());
    let contenders: [Contender<'_>; 6] = [
        ("walk and stat", &|| {}, &|| _ = black_box(walk(&root))),
        ("list, nothing remembered", &forget, &|| drop(engine.list(&all))),
        ("list, remembered", &|| {}, &|| drop(engine.list(&all))),
        ("list after one append", &|| append_to(newest.as_deref()), &|| drop(engine.list(&all))),
        ("--limit 20, nothing remembered", &forget, &|| drop(engine.list(&short))),
        ("--limit 20, remembered", &|| {}, &|| drop(engine.list(&short))),
    ];
    let mut first = None;
    for (name, prepare, work) in contenders {
        let mut best = f64::INFINITY;
        for _ in 0..rounds {
            prepare();
            let begun = Instant::now();
            work();
            best = best.min(begun.elapsed().as_secs_f64() * 1e3);
        }
        println!("{name:<36} {best:>12.2} {:>12.2}", best / *first.get_or_insert(best));
    }
    match sdk(&root) {
        Ok(ms) => {
            let ratio = ms / first.unwrap_or(ms);
            println!("{:<36} {ms:>12.2} {ratio:>12.2}", "the client's SDK, listSessions");
        }
        Err(reason) => println!("the client's SDK: not measured ({reason})"),
    }
    Ok(())
}

/// Its name, what is done before each round, and what is measured.
type Contender<'a> = (&'a str, &'a dyn Fn(), &'a dyn Fn());

/// Makes a folder of sessions in twenty projects.
fn generated(root: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    for number in 0..SESSIONS {
        let folder = root.join(format!("projects/-home-dev-work-{}", number % 20));
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"));
        let mut out = BufWriter::new(File::create(&path)?);
        generate::session(&mut out, number, BYTES)?;
        // Each was written last when its last entry was.
        let file = out.into_inner()?;
        if let Some(last) = Lite::read(&mut File::open(&path)?)?.last_at {
            file.set_times(FileTimes::new().set_modified(last.into()))?;
        }
    }
    Ok(root.to_owned())
}

fn walk(root: &Path) -> u64 {
    let folders = fs::read_dir(root.join("projects")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path())).flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

fn append_to(path: Option<&Path>) {
    let file = path.and_then(|path| fs::OpenOptions::new().append(true).open(path).ok());
    if let Some(mut file) = file {
        let _ = file.write_all(b"{\"type\":\"mode\",\"mode\":\"normal\"}\n");
    }
}

/// Returns how long the SDK takes, in milliseconds, without the start of its program.
fn sdk(root: &Path) -> Result<f64, Box<dyn std::error::Error>> {
    let packages = project().join("target/oracle/npm/node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs");
    if !packages.exists() {
        return Err("`cargo x oracle` installs it".into());
    }
    let script = "const sdk = await import(process.argv[1]); const begun = performance.now(); \
                  await sdk.listSessions({}); console.log(performance.now() - begun)";
    let output = Command::new("node")
        .args(["--input-type=module", "-e", script])
        .arg(&packages)
        .env("CLAUDE_CONFIG_DIR", root)
        .env("HOME", root)
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let ms: f64 = text.trim().parse().map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok(ms)
}
