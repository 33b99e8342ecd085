//! What whole transcripts become, and that nothing in them becomes markup.

mod assembled;
mod hostile;
mod rows;
