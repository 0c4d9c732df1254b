//! TLS, and certificates that change.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use toolhost_http::Listener;

use super::*;
use crate::harness::Certificate;
use crate::harness::serving::{Serving, server as program};

/// Connects, if this is the certificate that the server shows.
async fn connect(
    certificate: &Certificate,
    address: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der.clone()).unwrap();
    let mut config = toolhost_call::client::tls(roots).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

#[tokio::test]
async fn requests_come_in_over_tls_and_the_certificate_can_change() {
    let setup = Setup::new().await;
    let directory = tempfile::tempdir().unwrap();
    let first = Certificate::new(directory.path());
    let tls = first.tls();
    let listener = Listener::tcp("127.0.0.1:0".parse().unwrap(), Some(tls.clone())).await;
    let listener = listener.unwrap();
    let address = listener.address().unwrap().to_string();
    assert_eq!(listener.url().unwrap(), format!("https://{address}"));
    let host = setup.host.clone();
    tokio::spawn(serve(listener, host, access(), std::future::pending()));
    let headers =
        |more: &str| format!("host: {address}\r\nauthorization: Bearer {TOKEN}\r\n{more}");
    let stream = connect(&first, &address).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(exchange(stream, &headers("")).await, 200);
    for (origin, expected) in [("https", 200), ("http", 403)] {
        let stream = connect(&first, &address).await.unwrap();
        let origin = headers(&format!("origin: {origin}://{address}\r\n"));
        assert_eq!(exchange(stream, &origin).await, expected);
    }
    let stream = connect(&first, &address).await.unwrap();
    assert_eq!(exchange(stream, "host: localhost\r\n").await, 401);
    // A client that speaks no TLS, one that trusts others, and one that never ends its handshake, disturb nobody.
    let mut plain = TcpStream::connect(&address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"));
    let mut stuck = TcpStream::connect(&address).await.unwrap();
    stuck.write_all(&[22, 3, 1, 2, 0]).await.unwrap();
    let open = connect(&first, &address).await.unwrap();
    let second = Certificate::new(directory.path());
    assert!(
        connect(&second, &address).await.is_err(),
        "it was not read yet"
    );
    tls.reload().unwrap();
    let stream = connect(&second, &address).await.unwrap();
    assert_eq!(exchange(stream, &headers("")).await, 200);
    assert!(connect(&first, &address).await.is_err());
    assert_eq!(
        exchange(open, &headers("")).await,
        200,
        "it was open before"
    );
}

#[tokio::test]
async fn the_command_line_follows_the_certificate_and_calls_over_tls() {
    let workspace = tempfile::tempdir().unwrap();
    let first = Certificate::new(workspace.path());
    let mut command = program(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
    command.arg("--tls-cert").arg(&first.files[0]);
    command.arg("--tls-key").arg(&first.files[1]);
    let serving = Serving::of(command);
    let address = serving.url.strip_prefix("https://").unwrap().to_owned();
    let call = |arguments: &[&str]| {
        let mut command = crate::harness::serving::client();
        command.env("TOOLHOST_TOKEN", TOKEN);
        command.args(["call", "execute", r#"{"command":"echo hi"}"#]);
        command.args(["--server", &serving.url]).args(arguments);
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let ca = first.files[0].to_str().unwrap();
    let (code, reply, said) = call(&["--ca", ca]);
    assert!(
        code == Some(0) && reply.contains(r#""output":"hi\n""#),
        "{said}"
    );
    // Nobody vouches for it.
    let (code, _, said) = call(&[]);
    assert!(code == Some(2) && said.contains("certificate"), "{said}");
    // What cannot be used is not taken.
    std::fs::write(workspace.path().join("cert.pem"), "nothing").unwrap();
    assert!(connect(&first, &address).await.is_ok());
    let second = Certificate::new(workspace.path());
    let begun = std::time::Instant::now();
    while connect(&second, &address).await.is_err() {
        assert!(
            begun.elapsed() < PATIENCE,
            "the certificate is not read again"
        );
    }
    assert!(connect(&first, &address).await.is_err());
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let workspace = tempfile::tempdir().unwrap();
    let certificate = Certificate::new(workspace.path());
    let [path, key] = &certificate.files;
    std::fs::set_permissions(key, PermissionsExt::from_mode(0o644)).unwrap();
    let serve = |arguments: &[&Path]| {
        let mut command = program(workspace.path());
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        for (flag, value) in ["--tls-cert", "--tls-key"].iter().zip(arguments) {
            command.arg(flag).arg(value);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = serve(&[path, key]);
    assert!(said.contains("chmod 600"), "{said}");
    let said = serve(&[path]);
    assert!(said.contains("--tls-key"), "{said}");
}

/// As `openssl req -x509` makes them: of an authority, and used by a server.
#[test]
fn a_certificate_that_signed_itself_is_known_by_itself() {
    let workspace = tempfile::tempdir().unwrap();
    let files = |name: &str, of: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new([of.to_owned()]).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let made = parameters.self_signed(&key).unwrap();
        let write = |ending: &str, text: String| {
            let path = workspace.path().join(format!("{name}.{ending}"));
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            path
        };
        let key = crate::harness::pem("PRIVATE KEY", &key.serialize_der());
        let certificate = crate::harness::pem("CERTIFICATE", made.der());
        (write("cert", certificate), write("key", key))
    };
    let (own, key) = files("own", "127.0.0.1");
    let (other, _) = files("other", "127.0.0.1");
    let mut command = program(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN).arg("serve");
    command
        .arg("--tls-cert")
        .arg(&own)
        .arg("--tls-key")
        .arg(&key);
    let serving = Serving::of(command);
    let tools = |url: &str, ca: Option<&Path>| {
        let mut command = crate::harness::serving::client();
        command.env("TOOLHOST_TOKEN", TOKEN);
        command.args(["tools", "--server", url]);
        if let Some(ca) = ca {
            command.arg("--ca").arg(ca);
        }
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = tools(&serving.url, Some(&own));
    assert_eq!(code, Some(0), "{said}");
    // Not by another name, not another of the same names, and not without being told to.
    let localhost = serving.url.replace("127.0.0.1", "localhost");
    for (url, ca, hint) in [
        (&localhost, Some(&*own), "it is not for localhost"),
        (&serving.url, Some(&*other), "no certificate in "),
        (&serving.url, None, "with --ca FILE"),
    ] {
        let (code, said) = tools(url, ca);
        assert!(code == Some(2) && said.contains(hint), "{said}");
    }
}
