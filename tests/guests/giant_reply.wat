;; Replies with a text of 2 MiB.
(data (i32.const 512) "\00\00\00\00\40\02\00\00\01\00\00\00")
(data (i32.const 576) "\00\00\00\00\00\00\01\00\00\00\20\00")
(func $attack (result i32)
  (drop (memory.grow (i32.const 40)))
  i32.const 512)
