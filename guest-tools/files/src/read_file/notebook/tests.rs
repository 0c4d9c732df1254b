//! Notebooks that are made here.

use serde_json::json;

use super::*;

pub(in crate::read_file) fn notebook(cells: &Value) -> Vec<u8> {
    let notebook = json!({ "cells": cells, "metadata": { "language_info": { "name": "python" } }, "nbformat": 4, "nbformat_minor": 5 });
    serde_json::to_vec_pretty(&notebook).unwrap()
}

#[test]
fn cells_have_their_source_and_outputs() {
    let found = cells(&notebook(&json!([
        { "cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"] },
        { "cell_type": "code", "metadata": {}, "execution_count": 3, "source": "print(1)\n1/0", "outputs": [
            { "output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"] },
            { "output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": ["\u{1b}[31mZero\u{1b}[0m", "line"] },
            { "output_type": "execute_result", "execution_count": 3, "metadata": {}, "data": { "text/plain": ["<Figure>"], "image/png": "aGVs\nbG8=\n" } },
            { "output_type": "display_data", "data": { "application/x-thing": {} } },
        ] },
        { "cell_type": "code", "execution_count": null, "source": [], "outputs": [] },
    ])))
    .unwrap();
    let expected = [
        "--- cell 1: markdown ---",
        "# Title",
        "text",
        "--- cell 2: code [3] ---",
        "print(1)",
        "1/0",
        "--- output: stream ---",
        "1",
        "2",
        "--- output: error ---",
        "Zero",
        "line",
        "--- output: execute_result ---",
        "[image/png, 5 bytes]",
        "<Figure>",
        "--- output: display_data ---",
        "[application/x-thing]",
        "--- cell 3: code ---",
    ];
    assert_eq!(found.text.lines().collect::<Vec<_>>(), expected);
    assert_eq!(found.total, 3);
    let image = Drawn {
        line: 14,
        format: ImageFormat::Png,
        data: b"hello".to_vec(),
    };
    assert_eq!(found.images, [image]);
}

#[test]
fn outputs_are_bounded() {
    let text = "line\n".repeat(10_000);
    let images: Vec<_> = (0..300)
        .map(|_| json!({ "output_type": "display_data", "data": { "image/png": "AAAA", "text/plain": text } }))
        .collect();
    let found = cells(&notebook(
        &json!([{ "cell_type": "code", "source": "x", "outputs": images }]),
    ))
    .unwrap();
    assert_eq!(found.images.len(), MAX_IMAGES);
    // Images beyond that are not decoded, and those before stand where they are said to be.
    let lines: Vec<_> = found.text.lines().collect();
    let count = |line: &str| lines.iter().filter(|found| **found == line).count();
    assert_eq!(
        (count("[image/png, 3 bytes]"), count("[image/png]")),
        (MAX_IMAGES, 200)
    );
    for image in &found.images {
        let line = usize::try_from(image.line).unwrap();
        assert_eq!(lines[line - 1], "[image/png, 3 bytes]");
    }
    assert!(found.text.len() < 300 * (MAX_OUTPUT + 200));
    assert!(found.text.contains("... [41808 more bytes of this output]"));
}

#[test]
fn other_json_is_no_notebook() {
    for text in [
        "{}",
        r#"{"cells": []}"#,
        r#"{"cells": 3, "nbformat": 4}"#,
        r#"{"cells": [{"source": "x"}], "nbformat": 4}"#,
        r#"{"cells": [1], "nbformat": 4}"#,
        "{\"cells\": [",
    ] {
        assert_eq!(cells(text.as_bytes()), None, "{text}");
    }
    let deep = format!(
        r#"{{"nbformat": 4, "cells": [], "x": {}"#,
        "[".repeat(1_000_000)
    );
    assert_eq!(cells(deep.as_bytes()), None);
}
