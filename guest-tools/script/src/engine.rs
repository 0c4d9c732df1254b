//! The JavaScript engine, without a way out: no module can be imported, and no text becomes code.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Context, Persistent, Result, Runtime, Value};

/// The most bytes of the stack in the memory of the guest. WebAssembly's own frames, which the host bounds to 1 MiB, take about three times
/// as much: so too deep a recursion of a script is an error that it can catch, at some 1,100 functions.
const STACK: usize = 288 << 10;

/// The rejected promises that nothing handles, each with its reason.
pub(crate) type Unhandled = Rc<RefCell<Vec<Rejected>>>;

/// A promise that was rejected.
pub(crate) struct Rejected {
    /// The promise, which is only compared.
    promise: Persistent<Value<'static>>,
    /// What it was rejected with.
    pub(crate) reason: Persistent<Value<'static>>,
}

/// Makes an engine that collects the promises whose rejection nothing handles.
pub(crate) fn new(unhandled: &Unhandled) -> Result<(Runtime, Context)> {
    let runtime = Runtime::new()?;
    runtime.set_max_stack_size(STACK);
    let list = Rc::clone(unhandled);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx, promise, reason, is_handled| {
            let promise = Persistent::save(&ctx, promise);
            match is_handled {
                false => list.borrow_mut().push(Rejected {
                    promise,
                    reason: Persistent::save(&ctx, reason),
                }),
                true => list
                    .borrow_mut()
                    .retain(|rejected| rejected.promise != promise),
            }
        },
    )));
    let context = Context::full(&runtime)?;
    Ok((runtime, context))
}
