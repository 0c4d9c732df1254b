;; Asks for a secret and a setting of another plugin, and replies what it was told.
(import "toolhost:plugin/settings@0.1.0" "secret" (func $secret (param i32 i32 i32)))
(import "toolhost:plugin/settings@0.1.0" "get" (func $get (param i32 i32 i32)))
(data (i32.const 1024) "api_key")
(func $attack (result i32)
  (call $get (i32.const 1024) (i32.const 7) (i32.const 2304))
  (if (i32.load8_u (i32.const 2304)) (then unreachable))
  (call $secret (i32.const 1024) (i32.const 7) (i32.const 2048))
  (call $reply (i32.const 0) (i32.load (i32.const 2052)) (i32.load (i32.const 2056))))
