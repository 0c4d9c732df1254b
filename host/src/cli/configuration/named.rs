//! The files and directories that settings name.

use std::path::Path;
use std::time::Duration;

use toml::Value;

use super::settings::{args, is_path, of};
use crate::config::{Config, Problem};
use toolhost_call::approval::Approval;
use toolhost_http::Tls;
use toolhost_state::trusted::read_private;

/// Settings whose directories are made if they are missing.
const MADE: [&str; 2] = ["state_dir", "audit_dir"];

/// Returns a problem for each file or directory that a setting names and that does not exist.
pub(super) fn missing(config: &Config) -> Vec<Problem> {
    let args: Vec<_> = args().into_iter().filter(is_path).collect();
    let mut problems = Vec::new();
    for setting in of(config) {
        let unusable = match &*setting.key {
            "approval_command" => unusable_hook(setting.value),
            "tls_cert" => unusable_certificate(config),
            "token_file" | "approval_token_file" => unusable_token(setting.value, config),
            _ => None,
        };
        let path = setting.path.clone().into_owned();
        problems.extend(unusable.map(|text| config.problem(path, text)));
        if MADE.contains(&&*setting.key) || !args.iter().any(|arg| setting.is_of(arg)) {
            continue;
        }
        let values = match setting.value {
            Value::Array(values) => &values[..],
            value => std::slice::from_ref(value),
        };
        for path in values.iter().filter_map(Value::as_str) {
            let path = config.resolve(Path::new(path));
            if let Err(error) = std::fs::metadata(&path) {
                let text = format!("{} cannot be used: {error}", path.display());
                problems.push(config.problem(setting.path.clone().into_owned(), text));
            }
        }
    }
    problems
}

/// Returns why the program of the approval hook cannot be used.
fn unusable_hook(value: &Value) -> Option<String> {
    let mut words = match value {
        Value::Array(words) => words.iter(),
        word => std::slice::from_ref(word).iter(),
    }
    .filter_map(Value::as_str);
    let program = words.next()?;
    let arguments = words.map(str::to_owned).collect();
    match Approval::command(program, arguments, Duration::ZERO) {
        Ok(approval) if approval.is_missing() => Some(format!(
            "the program {program:?} is not there, so every call that needs approval would be refused"
        )),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Returns why the certificate and its key cannot be used. That one of them is missing is said elsewhere.
fn unusable_certificate(config: &Config) -> Option<String> {
    let file = |key| {
        let path = config.settings().get(key)?.as_str()?;
        Some(config.resolve(Path::new(path))).filter(|path| path.exists())
    };
    let (certificate, key) = (file("tls_cert")?, file("tls_key")?);
    Some(Tls::open(certificate, key).err()?.to_string())
}

/// Returns why a file of a token cannot be used. That it is missing is said elsewhere.
fn unusable_token(value: &Value, config: &Config) -> Option<String> {
    let path = config.resolve(Path::new(value.as_str()?));
    match read_private(&path) {
        Ok(text) if text.trim().is_empty() => Some(format!("{} holds no token", path.display())),
        Err(error) if path.exists() => Some(error.to_string()),
        Ok(_) | Err(_) => None,
    }
}
