//! Commands in their sandbox, below a real host. Most tests do the same with the sandbox off, where it must succeed: otherwise a
//! test would also pass for a reason of its own.

/// Sandboxes that are made before their chats begin.
mod ahead;
/// Two chats of one host.
mod chats;
/// Paths that are closed to commands and to the tools for files.
mod closed;
/// Ways out over sockets, and ways to use up the machine.
mod escapes;
/// Attacks on the host that commands have carried out without a sandbox.
mod exploits;
/// The home of a workspace, and the caches that are lent to it.
mod homes;
/// What each mode allows.
mod modes;
/// What namespaces add to the other layers.
mod namespaces;
/// Chats in which nothing has run for a while.
mod resting;
/// The root of what a command sees.
mod roots;
/// Commands as clients of the server that runs them.
mod server;
/// Machines without room.
mod shortages;
/// Signals between the commands of a chat.
mod signals;
/// A server whose state, home and secrets are beside its workspace.
mod site;
/// Sockets that are lent one by one.
mod sockets;
/// Processes that commands try to trace.
mod tracing;
/// A host of an ordinary user, where the tests run as root.
mod users;
/// Programs that must work in the default mode.
mod works;
/// Workspaces with names.
mod workspaces;
