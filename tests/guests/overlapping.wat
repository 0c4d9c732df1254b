;; Writes a file whose name and content are the same bytes, which are the list of files itself.
(import "toolhost:plugin/files@0.1.0" "write-all" (func $write (param i32 i32 i32)))
(data (i32.const 8192) "\00\20\00\00\08\00\00\00\00\20\00\00\08\00\00\00\00\00\00\00")
(func $attack (result i32)
  (call $write (i32.const 8192) (i32.const 1) (i32.const 2048))
  (if (i32.eqz (i32.load8_u (i32.const 2048))) (then unreachable))
  i32.const 288)
