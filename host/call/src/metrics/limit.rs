//! The limits of plugins by name: in metrics, and in the texts that callers read.

/// A limit that a call, or a plugin while it is loaded, can reach. Its name never changes: it is a label of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LimitKind {
    /// Linear memory.
    Memory,
    /// Elements of tables.
    TableElements,
    /// Core instances.
    Instances,
    /// Live handles of resources.
    Handles,
    /// The stack of the guest.
    Stack,
    /// CPU time.
    GuestTime,
    /// Wall-clock time of a call.
    Deadline,
    /// Bytes of a reply.
    Reply,
    /// Bytes of log lines. Further lines are left out, and the call goes on.
    Log,
    /// Bytes that one call into the host may carry.
    HostCallData,
    /// Bytes that all calls into the host may hand over, for files and processes.
    HostData,
    /// Processes that one call may start.
    ProcessStarts,
    /// HTTP requests of one call.
    HttpRequests,
    /// Bytes of the HTTP requests and responses of one call.
    HttpBytes,
    /// Calls that one call may make.
    NestedCalls,
    /// Bytes of the replies to the calls that one call makes.
    NestedReplies,
    /// Calls of one plugin at the same time.
    ConcurrentCalls,
    /// Calls of one plugin by one chat at the same time.
    CallsPerChat,
    /// Calls of all plugins at the same time.
    CallsInAll,
    /// Memory of all calls at the same time.
    MemoryInAll,
    /// Bytes of the component.
    Component,
    /// Wall-clock time of compiling the component.
    CompileTime,
}

impl LimitKind {
    /// Returns the name, in snake case.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the text for a caller that reached the limit: its subject and its value. The value is in bytes, milliseconds
    /// or pieces, whichever the limit is in.
    pub fn reached(self, value: u64) -> String {
        let size = bytes(value);
        match self {
            Self::Memory => format!("memory limit of {size} reached"),
            Self::TableElements => format!("limit of {value} table elements reached"),
            Self::Instances => format!("limit of {value} core instances reached"),
            Self::Handles => format!("limit of {value} handles reached"),
            Self::Stack => format!("stack limit of {size} reached"),
            Self::GuestTime => format!("guest time limit of {value} ms reached"),
            Self::Deadline => format!("deadline of {value} ms reached"),
            Self::Reply => format!("reply limit of {size} reached"),
            Self::Log => format!("log limit of {size} reached"),
            Self::HostCallData => {
                format!("limit of {size} of data for one call into the host reached")
            }
            Self::HostData => {
                format!("limit of {size} of data for files and processes of one call reached")
            }
            Self::ProcessStarts => format!("limit of {value} processes for one call reached"),
            Self::HttpRequests => format!("limit of {value} HTTP requests for one call reached"),
            Self::HttpBytes => format!("limit of {size} of HTTP for one call reached"),
            Self::NestedCalls => format!("limit of {value} calls made by one call reached"),
            Self::NestedReplies => {
                format!("limit of {size} of replies to the calls made by one call reached")
            }
            Self::ConcurrentCalls => {
                format!("limit of {value} calls of the plugin at the same time reached")
            }
            Self::CallsPerChat => {
                format!("limit of {value} calls of the plugin by one chat at the same time reached")
            }
            Self::CallsInAll => {
                format!("limit of {value} calls of all plugins at the same time reached")
            }
            Self::MemoryInAll => {
                format!("limit of {size} of memory of all calls at the same time reached")
            }
            Self::Component => format!("component limit of {size} reached"),
            Self::CompileTime => format!("compile time limit of {value} ms reached"),
        }
    }
}

/// Returns a number of bytes for people: `64 MiB`, `100 bytes`.
pub fn bytes(count: u64) -> String {
    match count {
        0 => "0 bytes".into(),
        _ if count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        _ if count.is_multiple_of(1 << 10) => format!("{} KiB", count >> 10),
        _ => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn every_limit_has_a_name_and_a_text_with_its_value() {
        assert_eq!(LimitKind::HostCallData.name(), "host_call_data");
        for kind in LimitKind::VARIANTS {
            let text = kind.reached(7);
            assert!(text.contains('7') && text.ends_with(" reached"), "{text}");
        }
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(
            [bytes(64 << 20), bytes(1 << 10), bytes(1000), bytes(0)],
            ["64 MiB", "1 KiB", "1000 bytes", "0 bytes"]
        );
    }
}
