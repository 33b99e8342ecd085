//! A simulated disk on which each operation fails once, in every way.

use std::collections::HashSet;
use std::fs::Permissions;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use annals_transcript::file_state::FileState;
use annals_transcript::write::fs::{Disk, Handle, RealDisk};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails, and everything after it works.
    Once,
    /// It fails, and so does everything after it.
    ForGood,
    /// A write has space for half of its bytes; everything after it works.
    Short,
    /// A write has space for half of its bytes; later writes have none.
    NoSpace,
    /// The process is killed: neither the operation nor anything after it happens.
    Crash,
    /// The process is killed in the middle of a write: half of it happens, and nothing after it.
    CrashMidway,
}

/// Every way to fail.
pub const FAULTS: [Fault; 6] =
    [Fault::Once, Fault::ForGood, Fault::Short, Fault::NoSpace, Fault::Crash, Fault::CrashMidway];

impl Fault {
    /// Returns whether only writes can fail in this way.
    fn is_of_writes(self) -> bool {
        matches!(self, Fault::Short | Fault::NoSpace | Fault::CrashMidway)
    }
}

/// Runs `act` again and again on a folder that `set_up` has filled, with the first, second … last operation failing in
/// every way that it can, and lets `check` look at what is left. Returns the number of failures.
///
/// `check` gets how the operation failed, and whether `act` reported success.
pub fn every_fault<T>(
    set_up: impl Fn(&Path),
    act: impl Fn(Arc<dyn Disk>, &Path) -> T,
    check: impl Fn(&Path, Fault, &T),
) -> usize {
    let mut failed = 0;
    for fault in FAULTS {
        for number in 0.. {
            let folder = tempfile::tempdir_in(memory()).expect("a temporary folder can be made");
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

/// Runs `act` again and again on a folder that `set_up` has filled, while `meanwhile` happens before its first, second … last
/// operation on the disk, and lets `check` look at what is left. Returns the number of runs.
pub fn every_moment<T>(
    set_up: impl Fn(&Path),
    act: impl Fn(Arc<dyn Disk>, &Path) -> T,
    meanwhile: fn(&Path),
    check: impl Fn(&Path, usize, &T),
) -> usize {
    for number in 0.. {
        let folder = tempfile::tempdir_in(memory()).expect("a temporary folder can be made");
        set_up(folder.path());
        let disk = FaultyDisk::failing(number, Fault::Once);
        disk.plan().meanwhile = Some(Meanwhile { act: meanwhile, folder: folder.path().to_owned() });
        let result = act(Arc::new(disk.clone()), folder.path());
        if !disk.plan().fired {
            return number;
        }
        check(folder.path(), number, &result);
    }
    unreachable!("an operation has an end")
}

/// Returns a folder in memory if the system has one: these tests create many files, and none has to survive a restart.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// A disk on which one folder is on another device, so that nothing can be renamed into it or out of it.
#[derive(Clone, Debug)]
pub struct TwoDevices {
    /// The underlying disk.
    pub disk: Arc<dyn Disk>,
    /// The folder on the other device.
    pub folder: PathBuf,
}

impl Disk for TwoDevices {
    fn open_or_create(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        self.disk.open_or_create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        self.disk.open(path)
    }

    fn create(&self, path: &Path, like: Option<&Path>) -> io::Result<Box<dyn Handle>> {
        self.disk.create(path, like)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.create_folder(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ensure_one_device(from, to)?;
        self.disk.rename(from, to)
    }

    fn create_new_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.create_new_folder(path)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ensure_one_device(from, to)?;
        self.disk.rename_new(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ensure_one_device(from, to)?;
        self.disk.link(from, to)
    }

    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        self.disk.symlink(target, path)
    }

    fn set_attributes(&self, path: &Path, permissions: Permissions, modified: SystemTime) -> io::Result<()> {
        self.disk.set_attributes(path, permissions, modified)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_folder(path)
    }
}

impl TwoDevices {
    fn ensure_one_device(&self, from: &Path, to: &Path) -> io::Result<()> {
        if from.starts_with(&self.folder) == to.starts_with(&self.folder) {
            return Ok(());
        }
        Err(io::ErrorKind::CrossesDevices.into())
    }
}

/// The real disk, one operation of which fails. A sync is recorded and not carried out, which would be slow.
#[derive(Clone, Debug)]
pub struct FaultyDisk(Arc<Mutex<Plan>>);

#[derive(Debug)]
struct Plan {
    /// The number of operations, of those that can fail in this way, before the one that fails.
    left: usize,
    fault: Fault,
    fired: bool,
    /// How many bytes were read.
    read: usize,
    /// Files with bytes that are not synced, which a power failure would lose.
    unsynced: HashSet<PathBuf>,
    renamed_unsynced: bool,
    /// Called at the moment in which an operation would fail, which then succeeds.
    meanwhile: Option<Meanwhile>,
}

/// A change by another process in the folder, at any moment.
#[derive(Debug)]
struct Meanwhile {
    act: fn(&Path),
    folder: PathBuf,
}

/// How much of a write happens.
enum Write {
    Whole,
    Half,
}

impl FaultyDisk {
    /// Returns a disk on which nothing fails.
    pub fn sound() -> Self {
        Self::failing(usize::MAX, Fault::Once)
    }

    fn failing(number: usize, fault: Fault) -> Self {
        let unsynced = HashSet::new();
        let plan = Plan {
            left: number,
            fault,
            fired: false,
            read: 0,
            unsynced,
            renamed_unsynced: false,
            meanwhile: None,
        };
        Self(Arc::new(Mutex::new(plan)))
    }

    /// Returns how many bytes were read from files so far.
    pub fn bytes_read(&self) -> usize {
        self.plan().read
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().expect("no test panics while it holds the plan")
    }

    /// Counts an operation that is not a write.
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
        if self.fault.is_of_writes() && !is_write {
            return Ok(Write::Whole);
        }
        if self.left > 0 {
            self.left -= 1;
            return Ok(Write::Whole);
        }
        self.fired = true;
        if let Some(Meanwhile { act, folder }) = &self.meanwhile {
            act(folder);
            return Ok(Write::Whole);
        }
        if self.fault.is_of_writes() { Ok(Write::Half) } else { Err(io::Error::other("broken disk")) }
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
        self.note_unsynced(from);
        RealDisk.rename(from, to)
    }

    fn create_new_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.create_new_folder(path)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        self.note_unsynced(from);
        RealDisk.rename_new(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.link(from, to)
    }

    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.symlink(target, path)
    }

    fn set_attributes(&self, path: &Path, permissions: Permissions, modified: SystemTime) -> io::Result<()> {
        self.step()?;
        RealDisk.set_attributes(path, permissions, modified)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove_folder(path)
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        self.step()
    }
}

impl FaultyDisk {
    /// Records a rename of a file, or of a folder with a file in it, whose bytes are not synced.
    fn note_unsynced(&self, renamed: &Path) {
        let mut plan = self.plan();
        plan.renamed_unsynced |= plan.unsynced.iter().any(|path| path.starts_with(renamed));
    }

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
        Ok(())
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        self.disk.step()?;
        self.file.try_lock()
    }

    fn try_lock_shared(&mut self) -> io::Result<bool> {
        self.disk.step()?;
        self.file.try_lock_shared()
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.disk.step()?;
        self.file.unlock()
    }

    fn state(&self) -> io::Result<FileState> {
        self.disk.step()?;
        self.file.state()
    }
}

impl Read for FaultyHandle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.disk.step()?;
        let count = self.file.read(buffer)?;
        self.disk.plan().read += count;
        Ok(count)
    }
}

impl Seek for FaultyHandle {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.disk.step()?;
        self.file.seek(to)
    }
}
