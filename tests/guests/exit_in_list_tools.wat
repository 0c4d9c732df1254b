;; Exits when it is asked for its tools. It does not load.
(module
  (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
  (func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32) (call $exit (i32.const 1)) unreachable)
  (func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable))
