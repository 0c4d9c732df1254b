;; Calls itself without end when it is asked for its tools. It does not load.
(module
  (memory (export "memory") 1)
  (func $deeper (param i32) (result i32)
    (i32.add (call $deeper (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
  (func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32) (call $deeper (i32.const 0)))
  (func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable))
