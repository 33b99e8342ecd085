//! A disk that fails: every operation once, in every way.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use annals_transcript::write::fs::{Disk, Handle, RealDisk, State};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails, and everything after it works.
    Once,
    /// It fails, and so does everything after it.
    ForGood,
    /// A write finds room for half of its bytes; what follows works.
    Short,
    /// A write finds room for half of its bytes; no later one finds any.
    NoSpace,
    /// It does not happen, and nothing after it does: the process is gone.
    Crash,
    /// Half of a write happens, and nothing after it does.
    CrashMidway,
}

/// Every way to fail.
pub const FAULTS: [Fault; 6] =
    [Fault::Once, Fault::ForGood, Fault::Short, Fault::NoSpace, Fault::Crash, Fault::CrashMidway];

/// Runs `act` again and again on a folder that `set_up` has filled, with the first, second … last operation failing in
/// every way, and lets `check` look at what is left. Returns how often something failed.
///
/// `check` is told how the operation failed and whether `act` says that it went well.
pub fn every_fault<T>(
    set_up: impl Fn(&Path),
    act: impl Fn(Arc<dyn Disk>, &Path) -> T,
    check: impl Fn(&Path, Fault, &T),
) -> usize {
    let mut failed = 0;
    for fault in FAULTS {
        for number in 0.. {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            set_up(folder.path());
            let disk = FaultyDisk::failing(number, fault);
            let result = act(Arc::new(disk.clone()), folder.path());
            let fired = disk.plan().fired;
            assert!(!disk.plan().renamed_unsynced, "a file took another's place before it was synced");
            check(folder.path(), fault, &result);
            failed += usize::from(fired);
            if !fired {
                break;
            }
        }
    }
    failed
}

/// The real disk, one operation of which fails.
#[derive(Clone, Debug)]
pub struct FaultyDisk(Arc<Mutex<Plan>>);

#[derive(Debug)]
struct Plan {
    /// Operations until the one that fails.
    left: usize,
    fault: Fault,
    fired: bool,
    /// Files with bytes that a loss of power would take.
    unsynced: HashSet<PathBuf>,
    renamed_unsynced: bool,
}

/// What happens to a write.
enum Write {
    Whole,
    Half,
}

impl FaultyDisk {
    fn failing(number: usize, fault: Fault) -> Self {
        let plan =
            Plan { left: number, fault, fired: false, unsynced: HashSet::new(), renamed_unsynced: false };
        Self(Arc::new(Mutex::new(plan)))
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().expect("no test panics while it holds the plan")
    }

    /// Counts an operation that is no write.
    fn step(&self) -> io::Result<()> {
        self.plan().step(false).map(|_| ())
    }
}

impl Plan {
    fn step(&mut self, is_write: bool) -> io::Result<Write> {
        if self.fired {
            return match self.fault {
                Fault::Once | Fault::Short => Ok(Write::Whole),
                Fault::NoSpace if !is_write => Ok(Write::Whole),
                Fault::NoSpace => Err(io::ErrorKind::StorageFull.into()),
                Fault::ForGood | Fault::Crash | Fault::CrashMidway => Err(io::Error::other("broken disk")),
            };
        }
        if self.left > 0 {
            self.left -= 1;
            return Ok(Write::Whole);
        }
        self.fired = true;
        match self.fault {
            Fault::Short | Fault::NoSpace | Fault::CrashMidway if is_write => Ok(Write::Half),
            Fault::Short => Ok(Write::Whole),
            _ => Err(io::Error::other("broken disk")),
        }
    }
}

impl Disk for FaultyDisk {
    fn open_or_create(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        self.step()?;
        self.wrap(path, RealDisk.open_or_create(path))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        self.step()?;
        self.wrap(path, RealDisk.open(path))
    }

    fn create(&self, path: &Path, like: Option<&Path>) -> io::Result<Box<dyn Handle>> {
        self.step()?;
        self.wrap(path, RealDisk.create(path, like))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.create_folder(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        let unsynced = self.plan().unsynced.contains(from);
        self.plan().renamed_unsynced |= unsynced;
        RealDisk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.sync_folder(path)
    }
}

impl FaultyDisk {
    fn wrap(&self, path: &Path, file: io::Result<Box<dyn Handle>>) -> io::Result<Box<dyn Handle>> {
        Ok(Box::new(FaultyHandle { disk: self.clone(), path: path.to_owned(), file: file? }))
    }
}

#[derive(Debug)]
struct FaultyHandle {
    disk: FaultyDisk,
    path: PathBuf,
    file: Box<dyn Handle>,
}

impl Handle for FaultyHandle {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let step = self.disk.plan().step(true)?;
        self.disk.plan().unsynced.insert(self.path.clone());
        match step {
            Write::Whole => self.file.append(bytes),
            Write::Half => {
                let half = bytes.len().div_ceil(2);
                let written = self.file.append(&bytes[..half])?;
                let dead = self.disk.plan().fault == Fault::CrashMidway;
                if dead { Err(io::Error::other("broken disk")) } else { Ok(written) }
            }
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.disk.step()?;
        self.file.truncate(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.step()?;
        self.disk.plan().unsynced.remove(&self.path);
        self.file.sync()
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        self.disk.step()?;
        self.file.try_lock()
    }

    fn state(&self) -> io::Result<State> {
        self.disk.step()?;
        self.file.state()
    }
}

impl Read for FaultyHandle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.disk.step()?;
        self.file.read(buffer)
    }
}

impl Seek for FaultyHandle {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.disk.step()?;
        self.file.seek(to)
    }
}
