;; Replies with a text of 32 MiB, more than may cross into the host at once.
(data (i32.const 512) "\00\00\00\00\40\02\00\00\01\00\00\00")
(data (i32.const 576) "\00\00\00\00\00\00\01\00\00\00\00\02")
(func $attack (result i32)
  (drop (memory.grow (i32.const 600)))
  i32.const 512)
