;; Fills and copies 60 MiB without end: a few instructions, each of which takes long.
(func $attack (result i32)
  (if (i32.eq (memory.grow (i32.const 960)) (i32.const -1)) (then unreachable))
  (loop $forever
    (memory.fill (i32.const 0x10000) (i32.const 7) (i32.const 0x3c00000))
    (memory.copy (i32.const 0x10001) (i32.const 0x10000) (i32.const 0x3bfffff))
    (br $forever))
  unreachable)
