//! Nothing that a command starts outlives its end, however it tries to, and whatever is killed.
//!
//! The processes of a test carry a mark in their environment and arguments, by which they are found again among all processes. Each
//! test first sees that the things really run: nothing is left of what never started, either.

/// A registry of its own, with and without a cgroup for each command.
/// Commands that keep what is above them from its work, other than by signals.
mod attacks;
mod bench;
/// Ways in which commands try to outlive their end.
mod commands;
/// What escaped once, each by a way of its own.
mod escapes;
/// The whole host as a user of its own, whose commands may signal all of it.
mod other_user;
/// A host that is a program of its own, to be killed.
mod program;
/// What a shell gets from its supervisor, and what it does not.
mod shell;
/// Signals from many sides at once.
mod signals;
/// What is killed or stopped above a command.
mod spawner;
/// Finding what carries a mark.
mod survivors;
/// Every command, with every end.
mod table;
/// Commands that did not start.
mod unstarted;
