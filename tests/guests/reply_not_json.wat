;; Replies with a part that claims to be JSON.
(data (i32.const 512) "\00\00\00\00\40\02\00\00\01\00\00\00")
(data (i32.const 576) "\01\00\00\00\50\01\00\00\05\00\00\00")
(func $attack (result i32)
  i32.const 512)
