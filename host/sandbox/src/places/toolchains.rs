//! Toolchains: their programs, libraries and caches, which are lent to commands.

use std::path::{Path, PathBuf};

use super::{Environment, Lent, Places};

/// The directory of a toolchain, and its caches.
struct Toolchain {
    /// The variables that can name the directory. The first one that is set counts.
    variables: &'static [&'static str],
    /// The default, relative to the home; with a leading `@`, relative to the directory for caches; empty: no default.
    default: &'static str,
    /// The caches, relative to the directory. A `.` is the directory itself.
    caches: &'static [&'static str],
}

const fn toolchain(
    variables: &'static [&'static str],
    default: &'static str,
    caches: &'static [&'static str],
) -> Toolchain {
    Toolchain {
        variables,
        default,
        caches,
    }
}

/// The known toolchains.
#[rustfmt::skip]
const TOOLCHAINS: &[Toolchain] = &[
    toolchain(&["CARGO_HOME"], ".cargo", &["registry", "git", ".package-cache", ".package-cache-mutate", ".global-cache"]),
    toolchain(&["RUSTUP_HOME"], ".rustup", &[]),
    toolchain(&["SCCACHE_DIR"], "@sccache", &["."]),
    toolchain(&["CCACHE_DIR"], "@ccache", &["."]),
    toolchain(&["GOPATH"], "go", &["pkg"]),
    toolchain(&["GOMODCACHE"], "", &["."]),
    toolchain(&["GOCACHE"], "@go-build", &["."]),
    toolchain(&["GOROOT"], "", &[]),
    toolchain(&["GOBIN"], "", &[]),
    // JavaScript.
    toolchain(&["NVM_DIR"], ".nvm", &[]),
    toolchain(&["FNM_DIR"], ".local/share/fnm", &[]),
    toolchain(&["VOLTA_HOME"], ".volta", &[]),
    toolchain(&["N_PREFIX"], "", &[]),
    toolchain(&["NPM_CONFIG_PREFIX", "npm_config_prefix"], ".npm-global", &[]),
    toolchain(&["NPM_CONFIG_CACHE", "npm_config_cache"], ".npm", &["."]),
    toolchain(&["COREPACK_HOME"], "@node/corepack", &["."]),
    toolchain(&["PNPM_HOME"], ".local/share/pnpm", &["store"]),
    toolchain(&[], "@pnpm", &["."]),
    toolchain(&["YARN_CACHE_FOLDER"], "@yarn", &["."]),
    toolchain(&["YARN_GLOBAL_FOLDER"], ".yarn", &["berry"]),
    toolchain(&["BUN_INSTALL"], ".bun", &["install/cache"]),
    toolchain(&["DENO_INSTALL", "DENO_INSTALL_ROOT"], ".deno", &[]),
    toolchain(&["DENO_DIR"], "@deno", &["."]),
    toolchain(&["PLAYWRIGHT_BROWSERS_PATH"], "@ms-playwright", &[]),
    toolchain(&["PUPPETEER_CACHE_DIR"], "@puppeteer", &[]),
    toolchain(&["CYPRESS_CACHE_FOLDER"], "@Cypress", &[]),
    // Python.
    toolchain(&["PYENV_ROOT"], ".pyenv", &[]),
    toolchain(&["VIRTUAL_ENV"], "", &[]),
    toolchain(&["CONDA_PREFIX"], "", &[]),
    toolchain(&["MAMBA_ROOT_PREFIX"], "", &[]),
    toolchain(&["PYTHONHOME"], "", &[]),
    toolchain(&["PYTHONUSERBASE"], ".local/lib", &[]),
    toolchain(&["PYTHONPYCACHEPREFIX"], "", &["."]),
    toolchain(&["PIPX_HOME"], ".local/share/pipx", &[]),
    toolchain(&["PIP_CACHE_DIR"], "@pip", &["."]),
    toolchain(&["POETRY_HOME"], ".local/share/pypoetry", &[]),
    toolchain(&["POETRY_CACHE_DIR"], "@pypoetry", &["."]),
    toolchain(&["UV_CACHE_DIR"], "@uv", &["."]),
    toolchain(&["UV_PYTHON_INSTALL_DIR"], ".local/share/uv/python", &[]),
    toolchain(&["UV_TOOL_DIR"], ".local/share/uv/tools", &[]),
    // Java and Android.
    toolchain(&["JAVA_HOME"], "", &[]),
    toolchain(&["JDK_HOME"], "", &[]),
    toolchain(&["SDKMAN_DIR"], ".sdkman", &[]),
    toolchain(&["MAVEN_HOME"], "", &[]),
    toolchain(&["M2_HOME"], "", &[]),
    toolchain(&[], ".m2", &["repository"]),
    toolchain(&["GRADLE_HOME"], "", &[]),
    toolchain(&["GRADLE_USER_HOME"], ".gradle", &["caches", "daemon", "native", "wrapper"]),
    toolchain(&["ANDROID_HOME", "ANDROID_SDK_ROOT"], "Android/Sdk", &[]),
    toolchain(&["ANDROID_NDK_HOME"], "", &[]),
    toolchain(&["FLUTTER_ROOT"], "", &[]),
    // Others.
    toolchain(&["RBENV_ROOT"], ".rbenv", &[]),
    toolchain(&["GEM_HOME"], ".gem", &[]),
    toolchain(&["BUNDLE_PATH"], "", &["."]),
    toolchain(&["DOTNET_ROOT"], ".dotnet", &[]),
    toolchain(&["NUGET_PACKAGES"], ".nuget/packages", &["."]),
    toolchain(&["GHCUP_INSTALL_BASE_PREFIX"], ".ghcup", &[]),
    toolchain(&["STACK_ROOT"], ".stack", &[]),
    toolchain(&["OPAMROOT"], ".opam", &[]),
    toolchain(&["MIX_HOME"], ".mix", &[]),
    toolchain(&["JULIA_DEPOT_PATH"], ".julia", &[]),
    toolchain(&["ZIG_GLOBAL_CACHE_DIR"], "@zig", &["."]),
    toolchain(&["ASDF_DIR"], "", &[]),
    toolchain(&["ASDF_DATA_DIR"], ".asdf", &[]),
    toolchain(&["MISE_DATA_DIR"], ".local/share/mise", &[]),
    toolchain(&["MISE_CONFIG_DIR"], ".config/mise", &[]),
    toolchain(&["HOMEBREW_PREFIX"], "", &[]),
    toolchain(&["EMSDK"], "", &[]),
    toolchain(&["WASI_SDK_PATH"], "", &[]),
    toolchain(&["CUDA_HOME", "CUDA_PATH"], "", &[]),
    // Configuration of git without credentials, programs of the user, and MIME types.
    toolchain(&[], ".gitconfig", &[]),
    toolchain(&[], ".config/git", &[]),
    toolchain(&[], ".local/bin", &[]),
    toolchain(&[], ".local/share/mime", &[]),
    toolchain(&[], ".nix-profile", &[]),
    toolchain(&[], ".local/state/nix", &[]),
];

/// Variables with lists of directories that commands may read.
const LISTS: &[&str] = &[
    "PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "PKG_CONFIG_PATH",
    "CMAKE_PREFIX_PATH",
    "PYTHONPATH",
    "NODE_PATH",
    "GEM_PATH",
    "RUBYLIB",
    "PERL5LIB",
    "LUA_PATH",
    "XDG_DATA_DIRS",
];

/// Variables that name files or directories of certificates, which clients need behind some proxies.
const CERTIFICATES: &[&str] = &[
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
];

/// Adds the toolchains that the environment variables name, or that are at their default places. What is in the home, and what has a
/// cache, is lent: commands need to write there.
pub(super) fn add(places: &mut Places, environment: &Environment) {
    let is_at_home = |path: &Path| {
        environment
            .home()
            .is_some_and(|home| path.starts_with(home))
    };
    for toolchain in TOOLCHAINS {
        let Some(path) = directory(toolchain.variables, toolchain.default, environment) else {
            continue;
        };
        if is_at_home(&path) || !toolchain.caches.is_empty() {
            places.lent.push(Lent {
                path,
                variable: toolchain.variables.first().copied(),
                caches: toolchain.caches,
            });
        } else {
            places.read.push(path);
        }
    }
    let lists = LISTS.iter().flat_map(|list| environment.directories(list));
    let certificates = CERTIFICATES.iter();
    let certificates = certificates.filter_map(|variable| environment.directory(variable));
    for path in lists.chain(certificates) {
        if is_at_home(&path) {
            places.lent.push(Lent {
                path,
                ..Lent::default()
            });
        } else {
            places.read.push(path);
        }
    }
}

fn directory(variables: &[&str], default: &str, environment: &Environment) -> Option<PathBuf> {
    let mut named = variables.iter();
    let named = named.find_map(|variable| environment.directory(variable));
    named.or_else(|| match (default, default.strip_prefix('@')) {
        ("", _) => None,
        (_, Some(cache)) => Some(environment.cache()?.join(cache)),
        (below, None) => Some(environment.home()?.join(below)),
    })
}
