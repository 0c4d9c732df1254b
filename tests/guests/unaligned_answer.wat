;; Has an answer written to an odd address.
(import "toolhost:plugin/context@0.1.0" "chat" (func $chat (param i32)))
(func $attack (result i32)
  (call $chat (i32.const 2049))
  i32.const 288)
