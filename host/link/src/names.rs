//! The names in requests between a host and an agent, which both sides use.

use axum::http::HeaderName;

/// The path of what an agent says of itself, before that of an operation or of the events.
pub(crate) const PATH: &str = "/api/v0/workspace";

/// The version of the operations: of a request and of a tunnel, what the sender knows; of an answer, what the agent knows.
pub const OPERATIONS: HeaderName = HeaderName::from_static("toolhost-operations");

/// The path below which connections to ports are made: chat and port follow.
pub const CONNECT: &str = "/api/v0/workspace/connect";

/// The type of the answer to a request for a connection that was made.
pub(crate) const STREAM: &str = "application/octet-stream";

/// The run of the agent that a request is for, and that an answer comes from.
pub(crate) const INSTANCE: HeaderName = HeaderName::from_static("toolhost-instance");

/// Of an answer: how many events the agent had when the operation was done. Those that it caused are among them.
pub(crate) const EVENTS: HeaderName = HeaderName::from_static("toolhost-events");

/// The id of a request that would act twice, by which the agent knows it again.
pub(crate) const CALL: HeaderName = HeaderName::from_static("coder-tool-call-id");

/// Of the request for a tunnel: the name of the agent.
pub const NAME: HeaderName = HeaderName::from_static("toolhost-agent-name");

/// Of the request for a tunnel: the token with which the agent lets requests in that come through it.
pub const TOKEN: HeaderName = HeaderName::from_static("toolhost-agent-token");
