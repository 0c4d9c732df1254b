//! The environment variables by which clients find the proxy.

/// The addresses of servers that commands start themselves, which clients reach without the proxy. The name of this machine leads to them
/// as well. curl and Python's requests know blocks of addresses; the others need each address.
const DIRECT: &str =
    "localhost,127.0.0.1,127.0.1.1,127.0.0.0/8,0.0.0.0,::1,::,::ffff:127.0.0.1,::ffff:7f00:1";

/// Returns the variables for a proxy that listens on this port of 127.0.0.1.
///
/// curl and wget read `http_proxy` in lower case only; Go, Node.js and most other clients read either case. npm, pip, cargo, git, apt,
/// Ruby, uv and Yarn read these variables too, so they need none of their own. There is no variable for Java, because Java prints the
/// variables that it reads.
///
/// `ALL_PROXY` names the HTTP proxy and not the SOCKS5 proxy. If it named SOCKS5, some clients, such as httpx, would refuse to start
/// without an optional package, even if they never use the proxy.
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
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let hosts = format!("{DIRECT},{}", own.unwrap_or_default().trim());
    variables.extend(direct.iter().map(|name| (*name, hosts.clone())));
    // Node.js 22.21, 24 and newer reads the other variables only if this one is set.
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
}
