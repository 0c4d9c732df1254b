//! Progressive JPEG, whose decoder keeps all of it before there is a pixel.

/// Returns how many bytes the coefficients of a file take while it is decoded: two for each sample. None if it is not progressive.
pub(super) fn coefficients(file: &[u8]) -> u64 {
    /// The head of a progressive frame.
    const FRAME: u8 = 0xc2;
    let mut rest = file.get(2..).unwrap_or_default();
    loop {
        match rest {
            [0xff, 0xff, ..] => rest = rest.get(1..).unwrap_or_default(),
            [0xff, FRAME, _, _, _, frame @ ..] => return of_frame(frame),
            // The pixels begin.
            [0xff, 0xda, ..] => return 0,
            [0xff, _, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                rest = rest.get(2 + length..).unwrap_or_default();
            }
            // The decoder passes over what is no marker.
            [_, ..] => rest = rest.get(1..).unwrap_or_default(),
            [] => return 0,
        }
    }
}

/// Reads the sizes of a frame and of its components.
fn of_frame(frame: &[u8]) -> u64 {
    let [h1, h2, w1, w2, count, components @ ..] = frame else {
        return 0;
    };
    let height = u64::from(u16::from_be_bytes([*h1, *h2]));
    let width = u64::from(u16::from_be_bytes([*w1, *w2]));
    let factors = components.chunks_exact(3).take(usize::from(*count));
    let factors: Vec<_> = factors
        .filter_map(|component| component.get(1))
        .map(|factors| (u64::from(factors >> 4), u64::from(factors & 15)))
        .collect();
    let across = factors.iter().map(|(across, _)| *across).max();
    let down = factors.iter().map(|(_, down)| *down).max();
    let samples: u64 = factors.iter().map(|(across, down)| across * down).sum();
    let most = across.unwrap_or(1) * down.unwrap_or(1);
    2 * width * height * samples / most.max(1)
}
