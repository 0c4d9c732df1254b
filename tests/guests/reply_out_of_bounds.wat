;; Replies with a list that lies outside of its memory.
(data (i32.const 512) "\00\00\00\00\00\00\00\f0\ff\00\00\00")
(func $attack (result i32)
  i32.const 512)
