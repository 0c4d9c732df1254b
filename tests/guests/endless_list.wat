;; Passes a list of 2,147,483,648 files to be written.
(import "toolhost:plugin/files@0.1.0" "write-all" (func $write (param i32 i32 i32)))
(func $attack (result i32)
  (call $write (i32.const 4096) (i32.const 0x80000000) (i32.const 2048))
  i32.const 288)
