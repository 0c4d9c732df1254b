;; Has a tool whose name holds an escape sequence, and runs backwards. It does not load.
(module
  (data (i32.const 16) "\00\00\00\00\40\00\00\00\01\00\00\00")
  (data (i32.const 64) "\00\04\00\00\0b\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\04\00\00\0b\00\00\00\00\08\00\00\11\00\00\00")
  (data (i32.const 1024) "\e2\80\aelooc\1b[2J")
  (data (i32.const 2048) "{\22type\22:\22object\22}")
  (memory (export "memory") 64)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
  (func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32) i32.const 16)
  (func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable))
