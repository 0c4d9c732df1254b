;; Not even a component; the harness does not wrap it.
(module (func (export "run")))
