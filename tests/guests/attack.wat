;; What a guest with a function `$attack` gets: `call-tool` calls it, unless its arguments are {"calm":true}, which are
;; answered with "hello". So every test can show that a plugin works again after its attack.

;; Where the arguments of the call are.
(global $arguments (mut i32) (i32.const 0))
(global $length (mut i32) (i32.const 0))

(func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32)
  (global.set $arguments (local.get 4))
  (global.set $length (local.get 5))
  (if (result i32) (i32.eq (local.get 5) (i32.const 13))
    (then (i32.const 288))
    (else (call $attack))))

;; Makes a reply of one part of this kind: 0 is text, 1 is JSON. It is at 2560, its part at 2592.
(func $reply (param $kind i32) (param $at i32) (param $length i32) (result i32)
  (memory.fill (i32.const 2560) (i32.const 0) (i32.const 72))
  (i32.store (i32.const 2564) (i32.const 2592))
  (i32.store (i32.const 2568) (i32.const 1))
  (i32.store (i32.const 2592) (local.get $kind))
  (i32.store (i32.const 2596) (local.get $at))
  (i32.store (i32.const 2600) (local.get $length))
  (i32.const 2560))

;; Replies with this one character.
(func $letter (param i32) (result i32)
  (i32.store8 (i32.const 2640) (local.get 0))
  (call $reply (i32.const 0) (i32.const 2640) (i32.const 1)))
