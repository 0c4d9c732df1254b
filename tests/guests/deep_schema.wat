;; Has a tool whose schema nests 100,000 levels deep. It does not load.
(module
  (data (i32.const 16) "\00\00\00\00\40\00\00\00\01\00\00\00")
  (data (i32.const 64) "\00\04\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\04\00\00\01\00\00\00\00\08\00\00\56\0d\03\00")
  (data (i32.const 1024) "t")
  (data (i32.const 2048) "{\22type\22:\22object\22,\22x\22:")
  (memory (export "memory") 64)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
  (func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32)
    (memory.fill (i32.const 2069) (i32.const 91) (i32.const 100000))
    (memory.fill (i32.add (i32.const 2069) (i32.const 100000)) (i32.const 93) (i32.const 100000))
    (i32.store8 (i32.add (i32.const 2069) (i32.const 200000)) (i32.const 125))
    i32.const 16)
  (func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable))
