//! `cargo x push`: pushes sessions to a server on loopback that misbehaves, and kills the processes that push.
//!
//! Each session has a server of its own. Entries are recorded and pushed, by several processes one after the other and beside
//! another program that appends. At the end the server must have the entries of the file, in order, each once.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use testkit::command::Home;
use testkit::ingress::{Fault, Plan, Server};

use crate::{Outcome, call, project};

/// A session gets this many kills, and another one this many faults.
const KILLS_PER_SESSION: usize = 20;
const FAULTS_PER_SESSION: usize = 100;
/// A process is killed within this time, in microseconds.
const LONGEST_LIFE: u64 = 150_000;
/// The drafts of one process.
const DRAFTS: usize = 40;
/// A push that the last fault has stopped is repeated this often.
const LAST_TRIES: usize = 5;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many processes are killed while they record and push
    #[arg(long, default_value_t = 200)]
    kills: usize,
    /// How often the server misbehaves while sessions are pushed, apart from what it does while processes are killed
    #[arg(long, default_value_t = 1000)]
    faults: usize,
    /// The seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The annals to run [default: a debug build]
    #[arg(long, value_name = "FILE")]
    annals: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let annals = if let Some(annals) = &args.annals {
        annals.canonicalize()?
    } else {
        call(env!("CARGO"), &["build", "--quiet", "--package", "annals"])?;
        project().join("target/debug/annals")
    };
    let mut figures = Figures::default();
    let bar = ProgressBar::new((args.kills + args.faults) as u64)
        .with_style(ProgressStyle::with_template("{msg:10} {bar:30} {pos}/{len} {eta}")?);
    let mut seed = args.seed;
    bar.set_message("kills");
    while figures.kills < args.kills {
        let goal = KILLS_PER_SESSION.min(args.kills - figures.kills);
        let mut session = Session::new(&annals, seed, 10)?;
        for _ in 0..goal {
            session.kill_one(&mut figures)?;
            bar.inc(1);
        }
        session.finish(&mut figures)?;
        seed += 1;
    }
    bar.set_message("faults");
    while figures.faults < args.faults {
        let goal = FAULTS_PER_SESSION.min(args.faults - figures.faults);
        let mut session = Session::new(&annals, seed, 2)?;
        while session.server.faults() < goal {
            session.run_one()?;
            bar.set_position(
                (args.kills + (figures.faults + session.server.faults()).min(args.faults)) as u64,
            );
        }
        figures.faults += session.server.faults();
        session.finish(&mut figures)?;
        seed += 1;
    }
    bar.finish_and_clear();
    figures.report(args.seed)
}

/// What happened.
#[derive(Default)]
struct Figures {
    sessions: usize,
    kills: usize,
    /// Kills of processes that had not ended by themselves.
    interrupted: usize,
    /// Faults of the sessions without kills.
    faults: usize,
    /// Faults of all sessions, by kind.
    by_kind: BTreeMap<String, usize>,
    entries: usize,
    requests: usize,
    troubles: Vec<String>,
}

impl Figures {
    fn report(&self, seed: u64) -> Outcome {
        println!("sessions          {:>8}", self.sessions);
        println!(
            "kills             {:>8}   of these {} before the end of the process",
            self.kills, self.interrupted
        );
        println!(
            "faults            {:>8}   {} more while processes were killed",
            self.faults,
            self.by_kind.values().sum::<usize>() - self.faults
        );
        println!("requests          {:>8}", self.requests);
        println!("entries           {:>8}", self.entries);
        for (kind, count) in &self.by_kind {
            println!("  {kind:22} {count:>6}");
        }
        if self.troubles.is_empty() {
            println!("every server has the entries of its file, in order, each once");
            return Ok(());
        }
        for trouble in self.troubles.iter().take(3) {
            println!("\ncargo x push --seed {seed}\n{trouble}");
        }
        Err(format!("{} of {} servers differ from their files", self.troubles.len(), self.sessions).into())
    }
}

/// A session with a server of its own.
struct Session<'a> {
    annals: &'a Path,
    home: Home,
    server: Server,
    id: String,
    /// Whether records without a uuid are pushed, too.
    all: bool,
    rng: fastrand::Rng,
    drafts: usize,
    by_kind: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl<'a> Session<'a> {
    /// Makes a session whose server misbehaves once in so many requests.
    fn new(annals: &'a Path, seed: u64, once_in: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let by_kind = Arc::new(Mutex::new(BTreeMap::new()));
        let plan = plan(rng.fork(), once_in, Arc::clone(&by_kind));
        Ok(Self {
            annals,
            home: Home::new(),
            server: Server::start(Some("token-of-the-race"), plan)?,
            id: format!("00000000-0000-4000-8000-{seed:012x}"),
            all: seed % 2 == 1,
            rng,
            drafts: 0,
            by_kind,
        })
    }

    fn path(&self) -> PathBuf {
        self.home.path().join(".claude/projects/-p").join(format!("{}.jsonl", self.id))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(&self.annals.to_string_lossy());
        command.args(args).args(["--retry-delay", "1"]).env("ANNALS_REMOTE_TOKEN", "token-of-the-race");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts a process that records and pushes, or one that only pushes.
    fn start(&mut self) -> Result<Child, Box<dyn std::error::Error>> {
        let url = self.server.url();
        if self.drafts > 0 && self.rng.u8(0..4) == 0 {
            let mut command = self.command(&["push", &self.id, &url]);
            return Ok(command.args(self.all.then_some("--all")).spawn()?);
        }
        let args = [
            "record",
            "--session",
            &self.id,
            "--project",
            "/p",
            "--batch",
            "1",
            "--sync",
            "never",
            "--push",
            &url,
        ];
        let mut child = self.command(&args).args(self.all.then_some("--push-all")).spawn()?;
        let input = self.input();
        let mut stdin = child.stdin.take().ok_or("the process has an input")?;
        // A process that is killed closes the pipe.
        thread::spawn(move || _ = stdin.write_all(input.as_bytes()));
        Ok(child)
    }

    /// Returns new drafts, with a record now and then.
    fn input(&mut self) -> String {
        let mut lines = Vec::new();
        for _ in 0..DRAFTS {
            self.drafts += 1;
            let number = self.drafts;
            lines.push(format!(
                "{{\"type\":\"user\",\"uuid\":\"draft-{number}\",\"message\":{{\"content\":\"茶 {number}\"}}}}\n"
            ));
            if self.rng.u8(0..5) == 0 {
                lines.push(format!("{{\"type\":\"custom-title\",\"customTitle\":\"title {number}\"}}\n"));
            }
        }
        lines.concat()
    }

    /// Appends a line as another program does.
    fn append_as_another(&mut self) -> Outcome {
        let Ok(mut file) = File::options().append(true).open(self.path()) else { return Ok(()) };
        self.drafts += 1;
        let line = format!(
            "{{\"type\":\"user\",\"parentUuid\":null,\"uuid\":\"other-{}\",\"message\":{{\"content\":\"x\"}}}}\n",
            self.drafts
        );
        Ok(file.write_all(line.as_bytes())?)
    }

    /// Starts a process and kills it at any moment.
    fn kill_one(&mut self, figures: &mut Figures) -> Outcome {
        let mut child = self.start()?;
        thread::sleep(Duration::from_micros(self.rng.u64(0..LONGEST_LIFE)));
        if self.rng.bool() {
            self.append_as_another()?;
        }
        figures.interrupted += usize::from(child.try_wait()?.is_none());
        child.kill()?;
        child.wait()?;
        figures.kills += 1;
        Ok(())
    }

    /// Runs a process to its end, whatever it says.
    fn run_one(&mut self) -> Outcome {
        let mut child = self.start()?;
        self.append_as_another()?;
        child.wait()?;
        Ok(())
    }

    /// Pushes the rest to a server that works, and compares the two sides.
    fn finish(self, figures: &mut Figures) -> Outcome {
        self.server.set_plan(Box::new(|| None));
        let url = self.server.url();
        let push = || {
            let mut command = self.command(&["push", &self.id, &url]);
            command.args(self.all.then_some("--all")).status().is_ok_and(|status| status.success())
        };
        let is_pushed = (0..LAST_TRIES).any(|_| push());
        let expected = sendable(&fs::read(self.path())?, self.all);
        let log = self.server.log();
        figures.sessions += 1;
        figures.entries += expected.len();
        figures.requests += self.server.requests();
        for (kind, count) in &*self.by_kind.lock().map_err(|_| "a plan panicked")? {
            *figures.by_kind.entry(kind.clone()).or_default() += count;
        }
        if !is_pushed || log.entries() != expected {
            let first = log.entries().iter().zip(&expected).position(|(one, other)| one != other);
            figures.troubles.push(format!(
                "{} (records: {}): pushed {is_pushed}, {} on the server, {} in the file, first difference {first:?}",
                self.id,
                self.all,
                log.entries().len(),
                expected.len(),
            ));
        }
        Ok(())
    }
}

/// Returns a plan that misbehaves at random, and counts the faults by kind.
fn plan(mut rng: fastrand::Rng, once_in: usize, by_kind: Arc<Mutex<BTreeMap<String, usize>>>) -> Plan {
    Box::new(move || {
        let fault = Fault::ALL[rng.usize(..Fault::ALL.len())];
        let happens = rng.usize(..once_in) == 0;
        if happens && let Ok(mut by_kind) = by_kind.lock() {
            *by_kind.entry(format!("{fault:?}")).or_default() += 1;
        }
        happens.then_some(fault)
    })
}

/// Returns the lines of a transcript that are to be on the server: whole objects, each uuid once. This is written
/// independently of what annals does.
fn sendable(bytes: &[u8], all: bool) -> Vec<Vec<u8>> {
    let mut seen = HashSet::new();
    let mut lines = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else { continue };
        let Ok(Value::Object(object)) = serde_json::from_slice(line) else { continue };
        let is_sent = match object.get("uuid").and_then(Value::as_str) {
            Some(id) => seen.insert(id.to_owned()),
            None => all,
        };
        if is_sent {
            lines.push(line.to_vec());
        }
    }
    lines
}
