;; Replies with a text that is no UTF-8.
(data (i32.const 1024) "\ff\fe\80")
(func $attack (result i32) (call $reply (i32.const 0) (i32.const 1024) (i32.const 3)))
