;; Tries a million ids of processes, and replies if one of them can be opened.
(import "toolhost:plugin/processes@0.1.0" "open" (func $open (param i32 i32 i32)))
(data (i32.const 1024) "p-000000")
(func $attack (result i32)
  (local $n i32)
  (loop $more
    (global.set $next (i32.const 8192))
    (i32.store (i32.const 1026) (i32.add (i32.const 0x30303030) (i32.and (local.get $n) (i32.const 0x07070707))))
    (call $open (i32.const 1024) (i32.const 8) (i32.const 2048))
    (if (i32.eqz (i32.load8_u (i32.const 2048))) (then (return (i32.const 288))))
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br $more))
  unreachable)
