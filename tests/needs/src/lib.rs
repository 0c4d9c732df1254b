//! `#[needs(…)]` above a test says what it needs beyond a Rust toolchain. Where that is missing the test is ignored, and says why.
//!
//! A test harness decides before it runs anything which tests are ignored, so the attribute looks when the test is compiled. A test
//! must still fail if its need is not met when it runs: it may have been compiled by another user.

mod machine;

use proc_macro::TokenStream;

/// Ignores a test where one of its needs is not met: `root`, `mount`, `networks`, `cgroup`, `acl`, `bash`, `namespaces`, `postgres`, `quota = "ext4"`,
/// `program = "git"`, `client = "python"`, `language = "quickjs"` or `toolchain = "go"`, with commas in between. It comes before `#[test]`.
#[proc_macro_attribute]
pub fn needs(needs: TokenStream, test: TokenStream) -> TokenStream {
    let attribute = match unmet(&needs.to_string()) {
        Ok(None) => return test,
        Ok(Some(reason)) => format!("#[ignore = {reason:?}]"),
        Err(problem) => format!("compile_error!({problem:?});"),
    };
    // Both are made of quoted texts only.
    let mut attributed: TokenStream = attribute.parse().unwrap_or_default();
    attributed.extend(test);
    attributed
}

/// Returns why a test with these needs is ignored; `None` if it is not.
fn unmet(needs: &str) -> Result<Option<String>, String> {
    let reasons: Vec<_> = needs.split(',').map(unmet_one).collect::<Result<_, _>>()?;
    let reasons: Vec<_> = reasons.into_iter().flatten().collect();
    Ok((!reasons.is_empty()).then(|| format!("needs {}", reasons.join(" and "))))
}

/// Returns what is missing for one need.
fn unmet_one(need: &str) -> Result<Option<String>, String> {
    let (kind, value) = match need.split_once('=') {
        Some((kind, value)) => (kind.trim(), value.trim().trim_matches('"')),
        None => (need.trim(), ""),
    };
    let (met, reason) = match (kind, value) {
        ("root", "") => (machine::is_root(), "root".to_owned()),
        ("mount", "") => (
            machine::can_mount(),
            "to mount file systems as root".to_owned(),
        ),
        ("networks", "") => (
            machine::can_make_networks(),
            "to make network namespaces as root, with iproute2".to_owned(),
        ),
        ("cgroup", "") => (
            machine::has_cgroup(),
            "a delegated cgroup of version 2".to_owned(),
        ),
        ("namespaces", "") => (
            machine::has_namespaces(),
            "namespaces for this user".to_owned(),
        ),
        ("postgres", "") => (
            machine::has_postgres(),
            "PostgreSQL, as in Debian's package `postgresql`".to_owned(),
        ),
        ("bash", "") => (machine::has_bash(), "bash 5.2 or 5.3 in PATH".to_owned()),
        ("acl", "") => (
            machine::has_access_control_lists(),
            "access control lists where temporary files are".to_owned(),
        ),
        ("quota", "ext4" | "xfs") => (
            machine::has_quotas(value),
            format!("to mount {value} with prjquota"),
        ),
        ("program", name) if !name.is_empty() => {
            (machine::has_program(name), format!("{name} in PATH"))
        }
        ("client", name) if !name.is_empty() => (
            machine::clients().join(name).join("installed").exists(),
            format!("`tests/clients/prepare {name}`"),
        ),
        ("language", name) if !name.is_empty() => (
            machine::languages().join(format!("{name}.wasm")).exists(),
            format!("`examples/plugins/build {name}`"),
        ),
        ("toolchain", name) if !name.is_empty() => {
            let tools = machine::languages().join(".tools").join(name);
            (
                tools.join("installed").exists(),
                format!("`examples/plugins/build {name}`"),
            )
        }
        _ => return Err(format!("there is no need `{}`", need.trim())),
    };
    Ok((!met).then_some(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let text = "program = \"no-such-program\"";
        let reason = Some("needs no-such-program in PATH".to_owned());
        assert_eq!(unmet(text), Ok(reason));
        assert_eq!(unmet("program = \"sh\""), Ok(None));
        let client = unmet("client = \"nobody\"");
        let reason = Some("needs `tests/clients/prepare nobody`".to_owned());
        assert_eq!(client, Ok(reason));
        let several = unmet("program = \"sh\", client = \"a\", client = \"b\"");
        let reason = "needs `tests/clients/prepare a` and `tests/clients/prepare b`";
        assert_eq!(several, Ok(Some(reason.to_owned())));
    }

    #[test]
    fn an_unknown_need_is_an_error() {
        for need in [
            "",
            "rot",
            "root = \"x\"",
            "program",
            "program = \"\"",
            "quota = \"fat\"",
        ] {
            assert_eq!(
                unmet(need),
                Err(format!("there is no need `{}`", need.trim()))
            );
        }
    }
}
