;; Replies with 20,000 empty parts.
(data (i32.const 512) "\00\00\00\00\00\00\01\00\20\4e\00\00")
(func $attack (result i32)
  (drop (memory.grow (i32.const 600)))
  i32.const 512)
