;; Says that it has 40,000 tools, all of one name. It does not load.
(module
  (data (i32.const 16) "\00\00\00\00\00\00\01\00\40\9c\00\00")
  (memory (export "memory") 64)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
  (func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32) i32.const 16)
  (func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable))
