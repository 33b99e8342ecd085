//! What whole transcripts become, and that nothing in them becomes markup.

mod hostile;
mod rows;
