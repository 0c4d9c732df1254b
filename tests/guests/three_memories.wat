;; Has three memories, each of which stays below the limit alone.
(memory $a 0)
(memory $b 0)
(func $attack (result i32)
  (if (i32.eq (memory.grow $a (i32.const 500)) (i32.const -1)) (then unreachable))
  (if (i32.eq (memory.grow $b (i32.const 600)) (i32.const -1)) (then unreachable))
  i32.const 288)
