;; Writes a file again and again, and replies after 200 times.
(import "toolhost:plugin/files@0.1.0" "write-all" (func $write (param i32 i32 i32)))
(data (i32.const 8192) "\50\01\00\00\05\00\00\00\50\01\00\00\05\00\00\00\00\00\00\00")
(func $attack (result i32)
  (local $n i32)
  (loop $more
    (global.set $next (i32.const 16384))
    (call $write (i32.const 8192) (i32.const 1) (i32.const 2048))
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if $more (i32.lt_u (local.get $n) (i32.const 200))))
  i32.const 288)
