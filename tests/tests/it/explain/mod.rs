//! `explain` on real servers: it needs few rights, and is a plugin of kubectl.

mod plugin;
