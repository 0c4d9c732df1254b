;; Asks without end for an attribute whose name has 4 MiB, and for the time that is left.
(import "toolhost:plugin/context@0.1.0" "attribute" (func $attribute (param i32 i32 i32)))
(import "toolhost:plugin/context@0.1.0" "remaining-ms" (func $remaining (result i64)))
(func $attack (result i32)
  (drop (memory.grow (i32.const 80)))
  (loop $forever
    (call $attribute (i32.const 0x10000) (i32.const 0x400000) (i32.const 2048))
    (drop (call $remaining))
    (br $forever))
  unreachable)
