;; Starts processes until it gets no more, and traps.
(import "toolhost:plugin/processes@0.1.0" "start" (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(data (i32.const 1024) "sleep 1000")
(func $attack (result i32)
  (loop $more
    (global.set $next (i32.const 8192))
    (call $start (i32.const 1024) (i32.const 10) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2048))
    (br_if $more (i32.eqz (i32.load8_u (i32.const 2048)))))
  unreachable)
