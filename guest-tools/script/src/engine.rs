//! The JavaScript engine, without a way out: no module can be imported, and no text becomes code.

use std::cell::RefCell;
use std::rc::Rc;

use boa_engine::builtins::promise::{OperationType, Promise};
use boa_engine::context::HostHooks;
use boa_engine::module::IdleModuleLoader;
use boa_engine::object::JsObject;
use boa_engine::realm::Realm;
use boa_engine::{Context, JsNativeError, JsResult, JsString};

/// How deep functions may call each other. The engine keeps their frames in the memory of the guest.
const CALLS: usize = 10_000;

/// How many values these frames may have together.
const VALUES: usize = 1_000_000;

/// The most bytes of one `ArrayBuffer`.
const BUFFER: u64 = 64 << 20;

/// The answers to what the engine asks its host.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    /// Rejected promises that nothing handles.
    unhandled: RefCell<Vec<JsObject>>,
}

impl Hooks {
    /// Returns the first rejected promise that nothing handles.
    pub(crate) fn unhandled(&self) -> Option<JsObject> {
        self.unhandled.borrow().first().cloned()
    }
}

impl HostHooks for Hooks {
    fn promise_rejection_tracker(
        &self,
        promise: &JsObject<Promise>,
        operation: OperationType,
        _: &mut Context,
    ) {
        let promise = promise.clone().upcast();
        let mut unhandled = self.unhandled.borrow_mut();
        match operation {
            OperationType::Reject => unhandled.push(promise),
            OperationType::Handle => unhandled.retain(|other| !JsObject::equals(other, &promise)),
        }
    }

    fn ensure_can_compile_strings(
        &self,
        _: Realm,
        _: &[JsString],
        _: &JsString,
        _: bool,
        _: &mut Context,
    ) -> JsResult<()> {
        let text = "`eval` and `Function` are off: a script runs no text as code";
        Err(JsNativeError::eval().with_message(text).into())
    }

    fn local_timezone_offset_seconds(&self, _: i64) -> i32 {
        0
    }

    fn max_buffer_size(&self, _: &mut Context) -> u64 {
        BUFFER
    }
}

/// Makes an engine.
pub(crate) fn new(hooks: Rc<Hooks>) -> JsResult<Context> {
    let mut context = Context::builder()
        .host_hooks(hooks)
        .module_loader(Rc::new(IdleModuleLoader))
        .build()?;
    let limits = context.runtime_limits_mut();
    limits.set_recursion_limit(CALLS);
    limits.set_stack_size_limit(VALUES);
    Ok(context)
}
