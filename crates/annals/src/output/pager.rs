//! Standard output, with a pager for long output on a terminal, as git has one.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice, StripStream};

use super::interrupts;

/// The command of the pager; `None` if nothing is paged.
static PAGER: OnceLock<Option<String>> = OnceLock::new();

/// Chooses the pager of what is printed from now on: `ANNALS_PAGER`, else `PAGER`, else `less`. An empty one, or `cat`, is none.
pub(crate) fn set_up(is_wanted: bool) {
    let is_terminal = io::stdout().is_terminal() && env::var("TERM").as_deref() != Ok("dumb");
    let pager = if is_wanted && is_terminal { chosen() } else { None };
    // It is chosen once, before anything is printed.
    let _ = PAGER.set(pager);
}

fn chosen() -> Option<String> {
    let given = ["ANNALS_PAGER", "PAGER"].iter().find_map(|name| env::var(name).ok());
    let pager = given.unwrap_or_else(|| if cfg!(windows) { "more" } else { "less" }.to_owned());
    Some(pager.trim().to_owned()).filter(|pager| !pager.is_empty() && pager != "cat")
}

/// Standard output. With a pager, text is held back until it is longer than the terminal, or until it is flushed: what fits on
/// the screen needs no pager.
pub(crate) enum Stdout {
    Direct(AutoStream<io::Stdout>),
    Held { text: Vec<u8>, lines: usize, rows: usize },
    Paged(Pager),
}

impl Stdout {
    pub(crate) fn new() -> Self {
        let rows = terminal_size::terminal_size().map_or(0, |(_, height)| usize::from(height.0));
        match PAGER.get() {
            Some(Some(_)) if rows > 1 => Stdout::Held { text: Vec::new(), lines: 0, rows },
            _ => Stdout::direct(),
        }
    }

    fn direct() -> Self {
        Stdout::Direct(AutoStream::auto(io::stdout()))
    }

    /// Writes what was held back: to the pager if it is long and the pager can be started, or else to the terminal.
    fn release(&mut self) -> io::Result<()> {
        let Stdout::Held { text, lines, rows } = self else { return Ok(()) };
        let (text, is_long) = (std::mem::take(text), *lines >= *rows);
        let pager = PAGER.get().and_then(Option::as_deref).filter(|_| is_long);
        *self = pager.and_then(Pager::start).map_or_else(Stdout::direct, Stdout::Paged);
        self.write_all(&text)
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stdout::Direct(stdout) => stdout.write(bytes),
            Stdout::Paged(pager) => pager.input()?.write(bytes),
            Stdout::Held { text, lines, rows } => {
                text.extend_from_slice(bytes);
                *lines += bytes.split(|byte| *byte == b'\n').count() - 1;
                if *lines >= *rows {
                    self.release()?;
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.release()?;
        match self {
            Stdout::Direct(stdout) => stdout.flush(),
            Stdout::Paged(pager) => pager.input()?.flush(),
            Stdout::Held { .. } => Ok(()),
        }
    }
}

/// A pager that runs. Dropping it closes its input, and waits until the user leaves it.
pub(crate) struct Pager {
    child: Child,
    input: Option<Input>,
}

enum Input {
    Styled(ChildStdin),
    Plain(StripStream<Box<dyn Write>>),
}

impl Pager {
    /// Starts a pager; `None` if it cannot be started, for example because it is not installed.
    fn start(command: &str) -> Option<Self> {
        let mut command = command_of(command)?;
        // The options that git gives to less: end at once if the text fits, pass colours on, leave the text on the screen.
        if env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        if env::var_os("LV").is_none() {
            command.env("LV", "-c");
        }
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take()?;
        let is_plain = AutoStream::choice(&io::stdout()) == ColorChoice::Never;
        let input =
            if is_plain { Input::Plain(StripStream::new(Box::new(input))) } else { Input::Styled(input) };
        // Less ends a search with Ctrl-C, and would be left without annals on the terminal otherwise.
        interrupts::hold();
        Some(Self { child, input: Some(input) })
    }

    fn input(&mut self) -> io::Result<&mut dyn Write> {
        match &mut self.input {
            Some(Input::Styled(input)) => Ok(input),
            Some(Input::Plain(input)) => Ok(input),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.input = None;
        // How the pager ends is the user's business.
        let _ = self.child.wait();
    }
}

/// Returns a command as the user wrote it: a program with arguments, or a line for the shell.
fn command_of(text: &str) -> Option<Command> {
    let is_for_shell =
        text.contains(['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '#', '~', '=', '%']);
    if is_for_shell && cfg!(unix) {
        let mut shell = Command::new("sh");
        shell.args(["-c", text]);
        return Some(shell);
    }
    let mut words = shell_words::split(text).ok()?.into_iter();
    let mut command = Command::new(words.next()?);
    command.args(words);
    Some(command)
}
