//! The variables of the host that commands get. A name belongs here if programs need it to work as they do in the
//! operator's shell, and if it does not usually hold a credential.
//!
//! Left out on purpose: `*_TOKEN`, `*_AUTH`, `*_PASSWORD`, `*_KEY`; `SSH_AUTH_SOCK`, with which a command could act as the
//! operator; `GIT_CONFIG_*`, `MAVEN_OPTS`, `GRADLE_OPTS` and `JAVA_TOOL_OPTIONS`, whose options hold headers and passwords;
//! `GIT_DIR`, `MAKEFLAGS`, `BASH_ENV` and `ENV`, which were meant for the program that started the host.

/// Passed on as they are.
const BASE: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LOCALE_ARCHIVE",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "GIT_ASKPASS",
    // Certificates, without which nothing can be fetched behind some proxies.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "DENO_CERT",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "CARGO_HTTP_CAINFO",
    "NO_PROXY",
    "no_proxy",
];

/// Prefixes of variables that are passed on as they are.
const PREFIXES: &[&str] = &["LC_", "XDG_", "CARGO_TARGET_", "CARGO_PROFILE_"];

/// Passed on without the user and password that their URLs may hold.
const BASE_URLS: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "ftp_proxy",
];

/// The variables of toolchains that are passed on as they are.
#[rustfmt::skip]
const TOOLCHAINS: &[&str] = &[
    // Facts that git would otherwise ask its user for.
    "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_EXEC_PATH",
    // Compilers and linkers.
    "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
    "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR", "CMAKE_PREFIX_PATH",
    "CMAKE_GENERATOR", "ACLOCAL_PATH", "CC", "CXX", "AR", "LD", "CFLAGS", "CXXFLAGS", "CPPFLAGS",
    "LDFLAGS", "CCACHE_DIR", "SCCACHE_DIR", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES",
    "LIBCLANG_PATH", "LLVM_CONFIG_PATH", "OPENSSL_DIR", "EMSDK", "WASI_SDK_PATH",
    // Rust.
    "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUSTDOCFLAGS", "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER", "CARGO_INCREMENTAL", "CARGO_NET_GIT_FETCH_WITH_CLI",
    "CARGO_NET_OFFLINE", "CARGO_BUILD_JOBS", "CARGO_BUILD_TARGET", "CARGO_INSTALL_ROOT",
    "CARGO_REGISTRY_DEFAULT",
    // Go.
    "GOPATH", "GOROOT", "GOBIN", "GOMODCACHE", "GOCACHE", "GOENV", "GOFLAGS", "GOTOOLCHAIN",
    "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE", "CGO_ENABLED",
    // Java, Kotlin, Android.
    "JAVA_HOME", "JDK_HOME", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME",
    "KOTLIN_HOME", "SDKMAN_DIR", "SDKMAN_CANDIDATES_DIR", "ANDROID_HOME", "ANDROID_SDK_ROOT",
    "ANDROID_NDK_HOME", "FLUTTER_ROOT",
    // JavaScript.
    "NVM_DIR", "NVM_BIN", "NVM_INC", "N_PREFIX", "FNM_DIR", "FNM_MULTISHELL_PATH", "VOLTA_HOME",
    "COREPACK_HOME", "NODE_PATH", "NODE_OPTIONS", "NPM_CONFIG_PREFIX", "npm_config_prefix",
    "NPM_CONFIG_CACHE", "npm_config_cache", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig",
    "NPM_CONFIG_GLOBALCONFIG", "npm_config_globalconfig", "PNPM_HOME", "YARN_CACHE_FOLDER",
    "YARN_GLOBAL_FOLDER", "BUN_INSTALL", "DENO_DIR", "DENO_INSTALL", "DENO_INSTALL_ROOT",
    "PLAYWRIGHT_BROWSERS_PATH", "PUPPETEER_CACHE_DIR", "PUPPETEER_EXECUTABLE_PATH",
    "CYPRESS_CACHE_FOLDER",
    // Python.
    "PYENV_ROOT", "PYENV_VERSION", "PYENV_SHELL", "VIRTUAL_ENV", "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV", "CONDA_EXE", "CONDA_PYTHON_EXE", "CONDA_SHLVL", "MAMBA_EXE",
    "MAMBA_ROOT_PREFIX", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX",
    "PYTHONDONTWRITEBYTECODE", "PIPX_HOME", "PIPX_BIN_DIR", "PIP_CACHE_DIR", "PIP_CONFIG_FILE",
    "PIP_REQUIRE_VIRTUALENV", "PIP_TRUSTED_HOST", "POETRY_HOME", "POETRY_CACHE_DIR",
    "PDM_HOME", "UV_CACHE_DIR", "UV_CONFIG_FILE", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON",
    "UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR",
    // Others.
    "RBENV_ROOT", "RBENV_VERSION", "GEM_HOME", "GEM_PATH", "RUBYLIB", "RUBYOPT", "BUNDLE_PATH",
    "MY_RUBY_HOME", "PERL5LIB", "PERL_LOCAL_LIB_ROOT", "PERL_MB_OPT", "PERL_MM_OPT",
    "COMPOSER_HOME", "COMPOSER_CACHE_DIR", "DOTNET_ROOT", "DOTNET_CLI_HOME",
    "DOTNET_CLI_TELEMETRY_OPTOUT", "NUGET_PACKAGES", "GHCUP_INSTALL_BASE_PREFIX", "STACK_ROOT",
    "CABAL_DIR", "OPAMROOT", "OPAM_SWITCH_PREFIX", "CAML_LD_LIBRARY_PATH", "OCAML_TOPLEVEL_PATH",
    "MIX_HOME", "HEX_HOME", "JULIA_DEPOT_PATH", "R_HOME", "R_LIBS", "R_LIBS_USER", "LUA_PATH",
    "LUA_CPATH", "ZIG_GLOBAL_CACHE_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR",
    "MISE_CONFIG_DIR", "NIX_PROFILES", "NIX_REMOTE", "GUIX_PROFILE", "GUIX_LOCPATH",
    "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "MODULEPATH", "MODULESHOME",
    "LOADEDMODULES", "MANPATH", "INFOPATH",
];

/// The variables of toolchains that name registries and mirrors, passed on without the user and password that their URLs may
/// hold. Some are lists.
#[rustfmt::skip]
const TOOLCHAIN_URLS: &[&str] = &[
    "RUSTUP_DIST_SERVER", "RUSTUP_UPDATE_ROOT", "GOPROXY", "GOSUMDB", "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_PYTHON_INSTALL_MIRROR", "NPM_CONFIG_REGISTRY",
    "npm_config_registry", "YARN_REGISTRY", "YARN_NPM_REGISTRY_SERVER", "COREPACK_NPM_REGISTRY",
    "NVM_NODEJS_ORG_MIRROR", "BUNDLE_MIRROR__ALL", "NIX_PATH",
];

/// Parts of a name, between underscores, that say that its value is a secret. A prefix never covers such a name.
const SECRET: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "KEY",
    "APIKEY",
];

/// How a variable of the host is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// As it is.
    Plain,
    /// Without the user and password of every URL in it.
    WithoutCredentials,
}

/// Returns how a variable is passed on if nothing is configured; `None` if it is not.
pub(super) fn rule(name: &str) -> Option<Rule> {
    let has_prefix = PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !name.split('_').any(|part| SECRET.contains(&part));
    // The token of the same registry is beside its index, and is not passed on.
    let is_index = name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX");
    if BASE.contains(&name) || TOOLCHAINS.contains(&name) || has_prefix {
        Some(Rule::Plain)
    } else if BASE_URLS.contains(&name) || TOOLCHAIN_URLS.contains(&name) || is_index {
        Some(Rule::WithoutCredentials)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_one_of_a_secret() {
        for name in [BASE, BASE_URLS, TOOLCHAINS, TOOLCHAIN_URLS].concat() {
            let part = name.split('_').find(|part| SECRET.contains(part));
            assert_eq!(part, None, "{name}");
            assert!(!name.starts_with("GIT_CONFIG"), "{name}");
        }
        for name in [
            "NPM_TOKEN",
            "NPM_CONFIG__AUTH",
            "COMPOSER_AUTH",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_REGISTRIES_MINE_TOKEN",
            "CARGO_PROFILE_TOKEN",
            "XDG_SECRET_X",
            "LC_API_KEY",
            "GIT_CONFIG_VALUE_0",
            "SSH_AUTH_SOCK",
            "POETRY_HTTP_BASIC_MINE_PASSWORD",
            "UV_INDEX_MINE_PASSWORD",
            "BUNDLE_GEMS__EXAMPLE__COM",
            "MAKEFLAGS",
            "TOOLHOST_TOKEN",
            "CODER_CHAT_ID",
            "",
        ] {
            assert_eq!(rule(name), None, "{name}");
        }
    }

    #[test]
    fn variables_of_programs_and_toolchains_are_passed_on() {
        for name in [
            "PATH",
            "LC_ALL",
            "GIT_ASKPASS",
            "CARGO_HOME",
            "XDG_DATA_HOME",
        ] {
            assert_eq!(rule(name), Some(Rule::Plain), "{name}");
        }
        for name in ["https_proxy", "GOPROXY", "CARGO_REGISTRIES_A_INDEX"] {
            assert_eq!(rule(name), Some(Rule::WithoutCredentials), "{name}");
        }
    }
}
