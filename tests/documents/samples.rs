//! The samples of configurations on all pages.

use crate::harness::TOKEN;
use crate::harness::serving::client;

/// A reader who copies one gets no error about the file itself. The files that it names are the reader's.
#[test]
fn every_sample_of_a_configuration_is_valid() {
    let directory = tempfile::tempdir().unwrap();
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut checked = 0;
    for page in std::fs::read_dir(docs).unwrap() {
        let page = page.unwrap().path();
        // The cookbook has files of other programs, and a test of its own.
        if page.extension().is_none_or(|kind| kind != "md") || page.ends_with("cookbook.md") {
            continue;
        }
        let text = std::fs::read_to_string(&page).unwrap();
        // A fence with the name of a file is of another file.
        for rest in text.split("\n```toml\n").skip(1) {
            let (sample, _) = rest.split_once("\n```").unwrap();
            let file = directory.path().join("toolhost.toml");
            std::fs::write(&file, sample).unwrap();
            let mut command = client();
            command
                .env("TOOLHOST_TOKEN", TOKEN)
                .env("SSH_AUTH_SOCK", "/nowhere/agent")
                .arg("--config")
                .arg(file);
            // Nothing listens there, which is told once the configuration has been read.
            let output = command
                .args(["tools", "--server", "http://127.0.0.1:1"])
                .output()
                .unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            let page = page.display();
            let mut problems = said.lines().filter(|line| line.starts_with("  line "));
            let of_files = problems.all(|line| line.ends_with("No such file or directory"));
            let is_read = said.contains("cannot reach") || said.contains("No such file");
            assert!(is_read && of_files, "{page}: {said}\n{sample}");
            checked += 1;
        }
    }
    assert!(checked > 5, "{checked}");
}
