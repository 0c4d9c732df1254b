//! Paths that lead out of the workspace, or are no paths. What the walk does with links that change is in `files`.

use toolhost_plugin::Limits;

use super::contained::Attack;

/// Each is refused: `f` is `outside-workspace`, `a` is `invalid`.
#[tokio::test]
async fn path_escapes() {
    let attack = Attack::new("path_escapes", Limits::default()).await;
    std::fs::create_dir(attack.setup.root().join("x")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", attack.setup.root().join("link")).unwrap();
    attack.run().await;
}
