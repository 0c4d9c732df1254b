//! Calls into the host from where none may come: while it is about to pass something, or when the call is over.

use super::contained::contained;

#[tokio::test]
async fn import_from_realloc() {
    contained("import_from_realloc").await;
}

#[tokio::test]
async fn import_from_post_return() {
    contained("import_from_post_return").await;
}
