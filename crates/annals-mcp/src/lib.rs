//! Session history for agents, over the Model Context Protocol.
