;; Replies with a million empty parts.
(data (i32.const 512) "\00\00\00\00\00\00\01\00\40\42\0f\00")
(func $attack (result i32)
  (drop (memory.grow (i32.const 600)))
  i32.const 512)
