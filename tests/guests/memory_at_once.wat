;; Asks for nearly 4 GiB at once, and replies if it gets them.
(func $attack (result i32)
  (if (i32.eq (memory.grow (i32.const 65000)) (i32.const -1)) (then unreachable))
  i32.const 288)
