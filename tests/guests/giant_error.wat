;; Fails with a text of 4 MiB.
(data (i32.const 512) "\01\00\00\00\04\00\00\00\00\00\01\00\00\00\40\00")
(func $attack (result i32)
  (drop (memory.grow (i32.const 80)))
  (memory.fill (i32.const 0x10000) (i32.const 120) (i32.const 0x400000))
  i32.const 512)
