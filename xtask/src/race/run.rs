//! One run of a race.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::operation::{Finished, Operation};
use super::world::{Mark, Marks, Owned, Setting, Side, State, World};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The longest delay of the second of two processes, in microseconds.
const LONGEST_DELAY: u64 = 12_000;

/// What happens at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Race {
    /// Two processes.
    Pair(Operation, Operation),
    /// Requests to one server, sent at once.
    Server,
    /// A process that is killed.
    Kill(Operation),
}

impl Race {
    pub(super) fn name(self) -> String {
        match self {
            Race::Pair(first, second) => format!("{}+{}", first.name(), second.name()),
            Race::Server => "serve".to_owned(),
            Race::Kill(operation) => format!("kill-{}", operation.name()),
        }
    }

    fn includes(self, operation: Operation) -> bool {
        match self {
            Race::Pair(first, second) => first == operation || second == operation,
            Race::Server => false,
            Race::Kill(killed) => killed == operation,
        }
    }

    /// Returns whether a name means this race; the order of the operations does not matter.
    pub(super) fn is_named(self, name: &str) -> bool {
        let turned = name.split_once('+').map(|(first, second)| format!("{second}+{first}"));
        self.name() == name || Some(self.name()) == turned
    }
}

/// What went wrong in a run.
pub(super) struct Trouble {
    pub(super) seed: u64,
    pub(super) text: String,
}

/// Runs a race once; returns what went wrong.
pub(super) fn run(race: Race, seed: u64, annals: &Path) -> Result<Option<Trouble>> {
    let setting = Setting::of_seed(seed);
    let mut world = World::new(setting, annals)?;
    if race.includes(Operation::Replace) {
        world.hydrate_sessions(annals)?;
    }
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let complaints = match race {
        Race::Pair(first, second) => pair(first, second, &mut world, &mut random, annals)?,
        Race::Server => server(&world, setting.state, annals)?,
        Race::Kill(operation) => kill(operation, &mut world, &mut random, annals)?,
    };
    let text = || format!("{setting:?}\n{}", complaints.join("\n"));
    Ok((!complaints.is_empty()).then(|| Trouble { seed, text: text() }))
}

/// Two processes at the same time.
fn pair(
    first: Operation,
    second: Operation,
    world: &mut World,
    random: &mut Random,
    annals: &Path,
) -> Result<Vec<String>> {
    let is_turned = random.below(2) == 1;
    let (first, second) = if is_turned { (second, first) } else { (first, second) };
    let first = first.start(Side::First, world, annals)?;
    // Between none and as long as a process runs.
    thread::sleep(Duration::from_micros(random.below(2) * random.below(LONGEST_DELAY)));
    let second = second.start(Side::Second, world, annals)?;
    let finished = [first.finish()?, second.finish()?];
    let mut complaints = lost(world, &finished)?;
    complaints.extend(world.unfinished()?.iter().map(|path| format!("left unfinished: {path}")));
    Ok(complaints)
}

/// Returns the marks that are missing and were not purged, with everything that the operations printed.
fn lost(world: &World, finished: &[Finished]) -> Result<Vec<String>> {
    let mut expected = world.live.clone();
    expected.extend(world.trashed.values().flatten().cloned());
    expected.extend(finished.iter().filter_map(|one| Some((world.owner(one.side), one.promised()?.clone()))));
    for one in finished {
        match one.operation {
            Operation::Purge if one.went_well() => forget_purged(&mut expected, one, world),
            // One that was killed may have taken the entry out before.
            Operation::Tombstone if one.went_well() || one.code.is_none() => {
                let doomed = world.doomed_mark(one.side);
                expected.retain(|(_, mark)| Some(mark) != doomed);
            }
            _ => {}
        }
    }
    let found = world.found()?;
    let missing = missing(&expected, &found);
    let mut complaints = Vec::new();
    if !missing.is_empty() {
        complaints.push(format!("missing: {}", missing.join(" ")));
    }
    if !world.indexes_are_whole() {
        complaints.push("a sessions-index.json is damaged".to_owned());
    }
    complaints.extend(
        finished
            .iter()
            .filter(|one| !matches!(one.code, Some(0..=2) | None))
            .map(|one| format!("{} ended with {:?}", one.operation.name(), one.code)),
    );
    if !complaints.is_empty() {
        complaints.extend(finished.iter().map(|one| {
            format!("{}: exit {:?}: {} {}", one.operation.name(), one.code, one.told, one.stderr.trim())
        }));
    }
    Ok(complaints)
}

/// Removes the marks that a purge reported as removed.
fn forget_purged(expected: &mut Owned, purge: &Finished, world: &World) {
    match purge.told["entry"].as_str().and_then(|entry| world.trashed.get(entry)) {
        Some(marks) => expected.retain(|mark| !marks.contains(mark)),
        // What was on disk, whoever put it there.
        None => expected.retain(|(owner, _)| *owner != world.owner(purge.side)),
    }
}

fn missing(expected: &Owned, found: &Marks) -> Vec<Mark> {
    expected.iter().map(|(_, mark)| mark).filter(|mark| !found.contains(*mark)).cloned().collect()
}

/// Requests that are sent to one server at once.
fn server(world: &World, state: State, annals: &Path) -> Result<Vec<String>> {
    let mut command = world.command(Side::First, annals);
    command.args(["serve", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn()?;
    let mut stdin = server.stdin.take().ok_or("the server has no standard input")?;
    let methods = if state == State::InTrash { ["restore", "delete"] } else { ["delete", "restore"] };
    let sessions: Vec<_> = world.sides_in_first_root().into_iter().map(|side| world.session(side)).collect();
    let calls = methods.iter().flat_map(|method| sessions.iter().map(move |session| (method, session)));
    let request = |(number, (method, session)): (usize, (&&str, &&str))| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"history/{method}\",\"params\":{{\"sessionId\":\"{session}\"}}}}\n"
        )
    };
    let requests: String = calls.cycle().take(4 * sessions.len()).enumerate().map(request).collect();
    stdin.write_all(requests.as_bytes())?;
    drop(stdin);
    let output = server.wait_with_output()?;
    let mut complaints = lost(world, &[])?;
    complaints.extend(world.unfinished()?.iter().map(|path| format!("left unfinished: {path}")));
    if !complaints.is_empty() {
        complaints.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Ok(complaints)
}

/// A process that is killed at any moment. Afterwards deleting or restoring the session finishes the work.
fn kill(operation: Operation, world: &mut World, random: &mut Random, annals: &Path) -> Result<Vec<String>> {
    let began = Instant::now();
    world.command(Side::First, annals).args(["list", "--json"]).output()?;
    let usual = began.elapsed().as_micros().try_into().unwrap_or(u64::MAX);
    let mut running = operation.start(Side::First, world, annals)?;
    thread::sleep(Duration::from_micros(random.below(usual * 3)));
    running.child.kill()?;
    let killed = running.finish()?;
    // What a purge had begun to remove when it was killed is gone; nothing was promised about it.
    let may_be_gone = operation == Operation::Purge;
    let mut complaints = if may_be_gone { Vec::new() } else { lost(world, std::slice::from_ref(&killed))? };
    let next = if random.below(2) == 0 { Operation::Delete } else { Operation::Restore };
    let finished = next.start(Side::First, world, annals)?.finish()?;
    if !may_be_gone {
        complaints.extend(lost(world, &[killed, finished])?);
    }
    if next == Operation::Delete && world.transcript(Side::First).exists() {
        complaints.push("it is still on disk after it was deleted".to_owned());
    }
    // A rewrite or a fork that was killed leaves the file beside, which the next one or the deletion of the session removes.
    let is_finished = match operation {
        Operation::Delete | Operation::Restore => true,
        Operation::Tombstone => next == Operation::Delete,
        _ => false,
    };
    if is_finished {
        complaints.extend(world.unfinished()?.iter().map(|path| format!("left unfinished: {path}")));
    }
    Ok(complaints)
}

/// Numbers that look random and are the same for the same seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}
