//! Requests over TLS: the name has to be right, and somebody who is trusted has to say so.

use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio::sync::mpsc::unbounded_channel;
use tokio_rustls::TlsAcceptor;
use toolhost_plugin::outgoing::{Network, Resolve, SendError};

use super::support::{Names, QUOTA, Script, converse, fetch, response, session_over};

/// A server for `api.test`, and those who trust it.
async fn server() -> (u16, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["api.test".to_owned()]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = Script {
        answer: response("200 OK", "hello"),
        drip: None,
        hold: false,
    };
    tokio::spawn(async move {
        let (seen, _unseen) = unbounded_channel();
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                converse(stream, script.clone(), seen.clone()).await;
            }
        }
    });
    (port, roots)
}

#[tokio::test]
async fn the_name_and_who_vouches_for_it_are_checked() {
    let (port, roots) = server().await;
    let names = Names::new(&[&["127.0.0.1"]]) as Arc<dyn Resolve>;
    let grants = [
        format!("private:*.test:{port}"),
        format!("127.0.0.1:{port}"),
    ];
    let (session, told) = session_over(&grants, Network::new(Arc::clone(&names), roots), QUOTA);
    let got = fetch(&session, &format!("https://api.test:{port}/"))
        .await
        .unwrap();
    assert_eq!(got, (200, "hello".into()));
    assert_eq!(
        told.all(),
        [format!("GET https://api.test:{port} Some(200)")]
    );
    for host in ["other.test", "127.0.0.1"] {
        let error = fetch(&session, &format!("https://{host}:{port}/"))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, SendError::Tls(error) if error.to_string().contains("certificate")),
            "{host}: {error:?}"
        );
    }
    let nobody = Network::new(names, RootCertStore::empty());
    let error = fetch(
        &session_over(&grants, nobody, QUOTA).0,
        &format!("https://api.test:{port}/"),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, SendError::Tls(_)), "{error:?}");
}

/// Whoever was granted https gets no plain HTTP, and a server that speaks no TLS gets no request.
#[tokio::test]
async fn https_is_never_http() {
    let server = super::support::Server::answering(response("200 OK", "plain")).await;
    let port = server.port;
    let names = Names::new(&[&["127.0.0.1"]]) as Arc<dyn Resolve>;
    let network = Network::new(names, RootCertStore::empty());
    let (session, _) = session_over(&[format!("private:api.test:{port}")], network, QUOTA);
    let error = fetch(&session, &format!("http://api.test:{port}/"))
        .await
        .unwrap_err();
    assert!(matches!(error, SendError::NotGranted(_)), "{error:?}");
}
