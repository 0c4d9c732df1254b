//! Signals between the commands of a chat.

use serde_json::json;
use toolhost_needs::needs;

use super::site::Site;

/// A sandboxed command can signal only what it started itself. The reply names the tool that can do more.
#[needs(namespaces)]
#[tokio::test]
async fn a_kill_of_another_command_is_explained() {
    let site = Site::new(&[]);
    let started = json!({ "command": "sleep 1000 >/dev/null 2>&1 & echo $! > pid" });
    let (_, started) = site.put("a", "execute", started).await;
    let started = &started["structured"];
    let id = started["background_process_id"].as_str().unwrap();
    // The number is the one that commands see.
    let pid = site.file("pid").await;
    assert_eq!(
        started["survivors"][0]["pid"].to_string(),
        pid.trim(),
        "{started}"
    );
    let kill = json!({ "command": "kill $(cat pid)" });
    let (_, killed) = site.put("a", "execute", kill).await;
    let killed = &killed["structured"];
    let output = killed["output"].as_str().unwrap_or_default();
    // Kernels before Linux 6.12 have no rule for signals.
    if output.contains("Operation not permitted") {
        let note = killed["note"].as_str().unwrap_or_default();
        assert!(
            note.contains("process_signal") && note.contains(id),
            "{killed}"
        );
    } else {
        assert_eq!(killed["exit_code"], 0, "{killed}");
    }
}
