//! Errors and outputs that a script gets in parts, and large files that it gets whole.

use super::*;

#[tokio::test]
async fn errors_in_errors_are_told() {
    let setup = with_scripts().await;
    let error = |report: Value| report["error"].clone();
    let code = "try { null.a } catch (error) { throw new Error('it failed', { cause: error }) }";
    let caused = error(report(&setup.host, script(code)).await);
    assert_eq!(
        caused["cause"],
        "TypeError: cannot read property 'a' of null"
    );
    let code = "await Promise.any([Promise.reject(new Error('one')), Promise.reject(new TypeError('two'))])";
    let all = error(report(&setup.host, script(code)).await);
    assert_eq!(all["errors"], json!(["Error: one", "TypeError: two"]));
    let code = "throw new Error('half \\ud800 of a pair')";
    let half = error(report(&setup.host, script(code)).await);
    assert_eq!(half["message"], "half \u{fffd} of a pair");
}

#[tokio::test]
async fn outputs_that_were_cut_are_told() {
    let setup = with_scripts().await;
    let code = "return (await tools.execute({ command: 'seq 20000' })).output.length";
    let report = report(&setup.host, script(code)).await;
    assert!(
        report["note"]
            .as_str()
            .is_some_and(|note| note.starts_with("The output of execute was cut: ")),
        "{report}"
    );
}

#[tokio::test]
async fn large_files_are_read_whole() {
    let setup = with_scripts().await;
    let rows: Vec<_> = (0..20_000)
        .map(|id| json!({ "id": id, "name": format!("user {id}") }))
        .collect();
    let text = serde_json::to_string(&rows).unwrap();
    std::fs::write(setup.root().join("rows.json"), &text).unwrap();
    let code = "
        const { content, truncated_by } = await tools.read_file({ path: 'rows.json' });
        return [JSON.parse(content).length, truncated_by]";
    assert_eq!(result(&setup.host, code).await, json!([20_000, null]));
}
