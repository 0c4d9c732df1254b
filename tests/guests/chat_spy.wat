;; Opens the process whose id is in its arguments, {"id":"…"}, and replies what it got: `0` a handle, else the letter of
;; the error; and behind it how many processes it can list.
(import "toolhost:plugin/processes@0.1.0" "open" (func $open (param i32 i32 i32)))
(import "toolhost:plugin/processes@0.1.0" "list-processes" (func $list (param i32 i32 i32)))
(func $attack (result i32)
  (call $open (i32.add (global.get $arguments) (i32.const 7)) (i32.sub (global.get $length) (i32.const 9)) (i32.const 2048))
  (call $list (i32.const 0) (i32.const 100) (i32.const 2304))
  (i32.store8 (i32.const 1024) (if (result i32) (i32.load8_u (i32.const 2048))
    (then (i32.add (i32.const 97) (i32.load8_u (i32.const 2052))))
    (else (i32.const 48))))
  (i32.store8 (i32.const 1025) (i32.add (i32.const 48) (i32.load (i32.const 2316))))
  (call $reply (i32.const 0) (i32.const 1024) (i32.const 2)))
