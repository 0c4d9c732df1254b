;; Writes 100,000 lines of 1,000 bytes to the log, with an escape sequence in each, and replies.
(import "toolhost:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(data (i32.const 1024) "\1b[2Jflood ")
(func $attack (result i32)
  (local $lines i32)
  (loop $more
    (call $log (i32.const 3) (i32.const 1024) (i32.const 1000))
    (local.set $lines (i32.add (local.get $lines) (i32.const 1)))
    (br_if $more (i32.lt_u (local.get $lines) (i32.const 100000))))
  i32.const 288)
