//! A database behind TLS and a password.

use super::*;
use crate::harness::serving::{Serving, server};
use crate::harness::{Certificate, TOKEN, program};

/// A database, and the configuration of a host that uses it.
struct Place {
    database: postgres::Server,
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let certificate = Certificate::new(directory.path());
        let database = postgres::Server::with_tls(&certificate.files, "of the role");
        std::fs::create_dir(directory.path().join("other")).unwrap();
        Certificate::new(&directory.path().join("other"));
        Self {
            database,
            directory,
        }
    }

    /// Writes the configuration, with this password and these certificates of authorities, and returns the arguments that choose it.
    fn configured(&self, password: &str, ca: &str) -> [String; 2] {
        let file = |name: &str, text: &str| {
            let path = self.directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, mode).unwrap();
            path
        };
        file("password", &format!("{password}\n"));
        let port = self.database.port();
        let text = format!(
            "[store]\nurl = \"postgres://toolhost@localhost:{port}/postgres?sslmode=require\"\n\
             password_file = \"password\"\nca = {ca:?}\n"
        );
        let config = file("toolhost.toml", &text).display().to_string();
        ["--config".to_owned(), config]
    }

    /// Returns what `toolhost doctor` says of the database.
    async fn doctor(&self, arguments: [String; 2]) -> String {
        let mut command = tokio::process::Command::new(program());
        command.env("TOOLHOST_STATE_DIR", self.directory.path().join("state"));
        let output = command
            .args(arguments)
            .arg("doctor")
            .output()
            .await
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let line = said.lines().skip_while(|line| !line.contains("database"));
        line.take(3).collect::<Vec<_>>().join("\n")
    }
}

#[needs(postgres)]
#[tokio::test]
async fn a_host_speaks_tls_with_its_database() {
    let place = Place::new();
    let mut command = server(place.directory.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    command.args(place.configured("of the role", "cert.pem"));
    command.arg("serve");
    let serving = Serving::of(command);
    let url = format!("{}/v1/chats/a/calls/1", serving.url);
    let client = crate::harness::client();
    let request = client.put(url).bearer_auth(TOKEN).json(&here("echo x"));
    assert_eq!(request.send().await.unwrap().status(), 200);
    let admin = postgres::connect(&place.database.database()).await;
    let encrypted = "SELECT count(*), bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'toolhost'";
    let row = admin.query_one(encrypted, &[]).await.unwrap();
    let (connections, are_encrypted): (i64, Option<bool>) = (row.get(0), row.get(1));
    assert!(
        connections >= 2 && are_encrypted == Some(true),
        "{connections}"
    );
}

#[needs(postgres)]
#[tokio::test]
async fn a_database_that_is_another_or_wants_another_password_is_not_used() {
    let place = Place::new();
    let said = place
        .doctor(place.configured("of the role", "cert.pem"))
        .await;
    assert!(said.contains("PostgreSQL 1"), "{said}");
    let said = place
        .doctor(place.configured("of the role", "other/cert.pem"))
        .await;
    assert!(said.contains("certificate"), "{said}");
    let said = place.doctor(place.configured("another", "cert.pem")).await;
    assert!(said.contains("password authentication failed"), "{said}");
}
