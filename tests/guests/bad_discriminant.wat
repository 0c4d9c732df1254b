;; Replies with a part of a kind that there is not.
(func $attack (result i32) (call $reply (i32.const 77) (i32.const 336) (i32.const 5)))
