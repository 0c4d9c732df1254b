;; Computes with vectors of floats, without end and without a call.
(func $attack (result i32)
  (local $x v128)
  (local.set $x (f64x2.splat (f64.const 1.0000001)))
  (loop $forever
    (local.set $x (f64x2.div (f64x2.sqrt (f64x2.mul (local.get $x) (local.get $x))) (f64x2.splat (f64.const 1.1))))
    (br $forever))
  unreachable)
