//! Where a point of one plane is in another.

/// A matrix as PDF writes it: `[a b c d e f]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Matrix(pub(super) [f64; 6]);

impl Matrix {
    pub(super) const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) const fn translation(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// Returns the matrix that does what `first` does, and then what this one does.
    pub(super) fn after(self, first: Self) -> Self {
        let [a, b, c, d, e, f] = first.0;
        let [x, y, z, w, ..] = self.0;
        let (to_e, to_f) = self.of(e, f);
        Self([
            a * x + b * z,
            a * y + b * w,
            c * x + d * z,
            c * y + d * w,
            to_e,
            to_f,
        ])
    }

    /// Returns where a point is.
    pub(super) fn of(self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }

    /// Returns how much larger heights become.
    pub(super) fn scale(self) -> f64 {
        let [_, _, c, d, ..] = self.0;
        c.hypot(d)
    }
}
