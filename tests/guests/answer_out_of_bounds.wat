;; Has an answer written behind the end of its memory.
(import "toolhost:plugin/context@0.1.0" "chat" (func $chat (param i32)))
(func $attack (result i32)
  (call $chat (i32.const 0xfffffff8))
  i32.const 288)
