;; Takes memory until it gets no more, 1 MiB at a time up to 10 GB, and traps.
(func $attack (result i32)
  (local $rounds i32)
  (loop $more
    (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
    (local.set $rounds (i32.add (local.get $rounds) (i32.const 1)))
    (br_if $more (i32.lt_u (local.get $rounds) (i32.const 10000))))
  i32.const 288)
