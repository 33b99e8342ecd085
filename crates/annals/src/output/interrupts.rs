//! Ctrl-C, which ends the program, except while a pager or a question has the terminal.

#[cfg(unix)]
mod signal {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, LazyLock};

    use signal_hook::consts::SIGINT;
    use signal_hook::flag::register_conditional_default;

    /// Whether Ctrl-C ends the program.
    static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
        let ends = Arc::new(AtomicBool::new(true));
        // If this fails, Ctrl-C ends the program at any time.
        let _ = register_conditional_default(SIGINT, Arc::clone(&ends));
        ends
    });

    pub(super) fn set(ends: bool) {
        ENDS.store(ends, Ordering::SeqCst);
    }
}

/// From now on, Ctrl-C does not end the program.
pub(super) fn hold() {
    #[cfg(unix)]
    signal::set(false);
}

/// From now on, Ctrl-C ends the program again.
pub(super) fn release() {
    #[cfg(unix)]
    signal::set(true);
}
