;; Passes a list that begins at an odd address.
(import "toolhost:plugin/files@0.1.0" "write-all" (func $write (param i32 i32 i32)))
(func $attack (result i32)
  (call $write (i32.const 4097) (i32.const 1) (i32.const 2048))
  i32.const 288)
