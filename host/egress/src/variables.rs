//! Environment variables by which the usual clients find the proxy.

/// The hosts that clients reach without the proxy: servers that commands start themselves.
const DIRECT: &str = "localhost,127.0.0.1,::1";

/// Returns the variables for a proxy that listens on this port of 127.0.0.1.
///
/// curl and wget read `http_proxy` in lower case only; Go, Node.js and most others read either case. The clients of npm, pip, cargo, git,
/// go, apt, Ruby, uv and Yarn read these as well, so there are none of their own. Java reads no variable that it does not also print.
///
/// `ALL_PROXY` names HTTP and not SOCKS5. Some clients, such as httpx, refuse to start if it names SOCKS and a package for that is
/// missing, even if they never use it.
pub fn variables(port: u16) -> Vec<(&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let proxied = [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ];
    let direct = ["NO_PROXY", "no_proxy"];
    let mut variables: Vec<_> = proxied.iter().map(|name| (*name, proxy.clone())).collect();
    variables.extend(direct.iter().map(|name| (*name, DIRECT.to_owned())));
    // Node.js from 22.21 and 24 on reads the others only if it finds this one.
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
}
