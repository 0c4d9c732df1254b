;; What every guest shares: a memory, an allocator, and `list-tools` with one tool named `t`.
;; Layouts are those of the canonical ABI for the types in wit/tools.wit.

;; A result that is ok, with a list of one tool at 64.
(data (i32.const 16) "\00\00\00\00\40\00\00\00\01\00\00\00")
;; name, title (none), description, input-schema, output-schema (none), hints, max-duration-ms (none), examples, extra.
(data (i32.const 64) "\a0\00\00\00\01\00\00\00")
(data (i32.const 84) "\a0\00\00\00\01\00\00\00")
(data (i32.const 92) "\b0\00\00\00\11\00\00\00")
(data (i32.const 160) "t")
(data (i32.const 176) "{\22type\22:\22object\22}")
;; At 256 a reply without parts that is ok; at 288 the same with one part: the text "hello" at 336.
(data (i32.const 288) "\00\00\00\00\40\01\00\00\01\00\00\00")
(data (i32.const 320) "\00\00\00\00\50\01\00\00\05\00\00\00")
(data (i32.const 336) "hello")

(global $next (mut i32) (i32.const 4096))

(func (export "toolhost:plugin/tools@0.1.0#list-tools") (result i32) i32.const 16)

;; Calls `$allocating`, which does nothing unless the guest has one of its own. Gives out memory and never takes any back; grows it by what is needed, and traps if it may not.
(func (export "cabi_realloc") (param i32 i32) (param $align i32) (param $size i32) (result i32)
  (local $at i32)
  (call $allocating)
  (local.set $at
    (i32.and
      (i32.add (global.get $next) (i32.sub (local.get $align) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get $align))))
  (global.set $next (i32.add (local.get $at) (local.get $size)))
  (block $enough
    (br_if $enough (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
    (br_if $enough
      (i32.ne (i32.const -1) (memory.grow (i32.add (i32.div_u (local.get $size) (i32.const 65536)) (i32.const 1)))))
    unreachable)
  (local.get $at))

(memory (export "memory") 1)
