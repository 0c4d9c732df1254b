//! Looking for secrets: WASI is linked with nothing in it, and settings are those of the plugin itself.

use toolhost_core::{Options, Settings};

use super::contained::{End, contained};
use crate::guest::{guest, options};
use crate::harness::Setup;

/// No variable, no argument, no directory to be in, no directory to read, though the host has all of them.
#[tokio::test]
async fn environment_reader() {
    contained("environment_reader").await;
}

/// Another plugin of the same host has the secret.
#[tokio::test]
async fn secret_guesser() {
    let told = r#"the operator gave this plugin no secret named "api_key""#;
    contained("secret_guesser").await;
    let own = Options {
        settings: Settings {
            secrets: [("api_key".to_owned(), "s3cret".to_owned())].into(),
            ..Settings::default()
        },
        ..options("owner")
    };
    let setup = Setup::with(|builder| {
        let builder = builder.plugin(guest("secret_guesser"), own);
        builder.plugin(guest("secret_guesser"), options("thief"))
    })
    .await;
    let nothing = serde_json::json!({});
    let owner = setup.outcome("owner__t", nothing.clone()).await;
    End::Reply("s3cret").assert(&owner);
    let thief = setup.outcome("thief__t", nothing).await;
    End::Reply(told).assert(&thief);
}
