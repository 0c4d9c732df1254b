//! A chart in SVG: panels side by side, each with a curve for each series, over an axis of powers of ten.

use std::fmt::Write as _;

/// A curve.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Curves with the same unit.
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 260.0;
/// The room for labels around a panel: left, right, above, below.
const MARGINS: [f64; 4] = [60.0, 20.0, 50.0, 40.0];
const COLOURS: [&str; 3] = ["#1f6feb", "#d1642a", "#2da44e"];

/// Draws panels whose horizontal axis has this label.
pub(crate) fn chart(axis: &str, panels: &[Panel]) -> String {
    let width = WIDTH * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        let left = WIDTH * index as f64;
        _ = writeln!(svg, "<g transform=\"translate({left} 0)\">");
        draw(&mut svg, axis, panel);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

/// An axis from one power of ten to another.
struct Axis {
    least: i32,
    most: i32,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let logarithms = values.filter(|value| *value > 0.0).map(f64::log10);
        let least = logarithms.clone().fold(f64::INFINITY, f64::min).floor() as i32;
        let most = logarithms.fold(f64::NEG_INFINITY, f64::max).ceil() as i32;
        let most = most.max(least + 1);
        Self {
            least,
            most,
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.log10() - f64::from(self.least)) / f64::from(self.most - self.least);
        self.from + part * (self.to - self.from)
    }

    /// The powers of ten on it, with their places.
    fn ticks(&self) -> impl Iterator<Item = (String, f64)> {
        (self.least..=self.most).map(|power| {
            let value = 10_f64.powi(power);
            let label = match power {
                9.. => format!("{} G", value / 1e9),
                6..9 => format!("{} M", value / 1e6),
                3..6 => format!("{} k", value / 1e3),
                _ => value.to_string(),
            };
            (label, self.place(value))
        })
    }
}

fn draw(svg: &mut String, axis: &str, panel: &Panel) {
    let [left, right, above, below] = MARGINS;
    let points = || panel.series.iter().flat_map(|series| &series.points);
    let x = Axis::new(points().map(|point| point.0), left, WIDTH - right);
    let y = Axis::new(points().map(|point| point.1), HEIGHT - below, above);
    let text = |svg: &mut String, x: f64, y: f64, rest: &str, text: &str| {
        _ = writeln!(svg, "<text x=\"{x:.0}\" y=\"{y:.0}\" {rest}>{text}</text>");
    };
    text(svg, left, 16.0, "font-weight=\"bold\"", panel.title);
    let line = |svg: &mut String, from: (f64, f64), to: (f64, f64)| {
        let ((x1, y1), (x2, y2)) = (from, to);
        _ = writeln!(
            svg,
            "<path d=\"M{x1:.0} {y1:.0}L{x2:.0} {y2:.0}\" stroke=\"#ddd\"/>"
        );
    };
    for (label, place) in x.ticks() {
        line(svg, (place, above), (place, HEIGHT - below));
        text(
            svg,
            place,
            HEIGHT - below + 14.0,
            "text-anchor=\"middle\"",
            &label,
        );
    }
    for (label, place) in y.ticks() {
        line(svg, (left, place), (WIDTH - right, place));
        text(svg, left - 6.0, place + 4.0, "text-anchor=\"end\"", &label);
    }
    let middle = f64::midpoint(left, WIDTH - right);
    text(svg, middle, HEIGHT - 8.0, "text-anchor=\"middle\"", axis);
    for ((index, series), colour) in panel.series.iter().enumerate().zip(COLOURS) {
        let fill = format!("fill=\"{colour}\"");
        text(svg, left + 150.0 * index as f64, 36.0, &fill, series.name);
        let mut curve = String::new();
        for (at, value) in &series.points {
            let (at, value) = (x.place(*at), y.place(*value));
            _ = write!(curve, "{at:.1},{value:.1} ");
            _ = writeln!(
                svg,
                "<circle cx=\"{at:.1}\" cy=\"{value:.1}\" r=\"2.5\" {fill}/>"
            );
        }
        _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            curve.trim_end()
        );
    }
}
