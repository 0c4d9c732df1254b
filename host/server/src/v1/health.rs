//! `GET /v1/health`: checks of the server and its machine. For operators.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::checks::{Check, MachineChecks};
use toolhost_core::{Host, PluginState};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_state::workspace_name::WorkspaceName;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default().routes(routes!(get))
}

/// The checks of the server and its machine.
#[derive(Serialize, ToSchema)]
#[schema(as = ServerHealth)]
struct Health {
    /// The version of Toolhost.
    version: &'static str,
    /// The checks, each with its result.
    checks: Vec<Check>,
}

/// Checks the server and its machine
///
/// Containment, room for commands, plugins, workspaces, agents, store and audit trail of the server; and, if the operator's program adds them, the checks of the
/// machine that `toolhost doctor` makes, with the layers of the sandbox.
#[utoipa::path(
    get, path = "/v1/health", operation_id = "checkHealth", tag = "server",
    responses((status = 200, description = "The results.", body = Health)),
    extensions(("x-problems" = json!(["missing_scope", "bounded_token"]))),
)]
async fn get(
    State(host): State<Host>,
    Extension(machine): Extension<MachineChecks>,
    Extension(principal): Extension<Principal>,
) -> Result<Json<Health>, Problem> {
    principal.require_everything(Scope::Admin)?;
    let mut checks = vec![containment(&host).await, room(&host).await, plugins(&host)];
    checks.extend(workspaces(&host).await);
    checks.extend(agents(&host).await);
    checks.extend([store(&host), audit(&host)]);
    checks.extend(machine.run().await);
    Ok(Json(Health {
        version: env!("CARGO_PKG_VERSION"),
        checks,
    }))
}

async fn containment(host: &Host) -> Check {
    const NAME: &str = "containment";
    let status = match host.workspace().status().await {
        Ok(status) => status,
        Err(error) => {
            return Check::error(NAME, error.to_string()).advice("see the log of the server");
        }
    };
    let live = status.totals.live;
    let kind = status.containment.kind.to_string();
    match status.containment.reason {
        None => Check::ok(NAME, format!("{kind}; {live} processes live")),
        Some(reason) => Check::ok(NAME, format!("{kind}; {live} processes live")).advice(reason),
    }
}

/// How long a refused start is a warning, in seconds.
const LATELY: u64 = 10 * 60;

/// Checks whether the machine had room for all commands lately.
async fn room(host: &Host) -> Check {
    const NAME: &str = "room";
    let status = host.workspace().status().await;
    let Some(shortage) = status.ok().and_then(|status| status.shortage) else {
        return Check::ok(NAME, "no start was refused");
    };
    let (count, ago) = (shortage.count, shortage.seconds_ago);
    let text = format!("{count} starts were refused, the last one {ago} s ago");
    match ago <= LATELY {
        false => Check::ok(NAME, text),
        true => Check::warning(NAME, format!("{text}: {}", shortage.why)).advice(
            "raise the limit that it names, or let fewer chats run commands at the same time",
        ),
    }
}

fn plugins(host: &Host) -> Check {
    const NAME: &str = "plugins";
    let mut by_state: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut failed = Vec::new();
    for plugin in host.plugins() {
        let state = match plugin.state {
            PluginState::Active => "active",
            PluginState::Quarantined => "quarantined",
            PluginState::Disabled => "disabled",
            PluginState::Loading => "loading",
            PluginState::Failed => "failed",
        };
        if let Some(error) = plugin.error {
            failed.push(format!("{}: {error}", plugin.name));
        }
        by_state.entry(state).or_default().push(plugin.name);
    }
    let texts = by_state.iter();
    let texts = texts.map(|(state, names)| format!("{state}: {}", names.join(", ")));
    let text = texts.collect::<Vec<_>>().join("; ");
    if !failed.is_empty() {
        return Check::error(NAME, text).advice(failed.join("; "));
    }
    match by_state.contains_key("quarantined") {
        true => Check::warning(NAME, text)
            .advice("the log has the causes of their traps; a reload ends the quarantine"),
        false => Check::ok(NAME, text),
    }
}

/// Checks the workspaces with names, if there are any.
async fn workspaces(host: &Host) -> Option<Check> {
    const NAME: &str = "workspaces";
    let counts = host.workspace().status().await.ok()?.named?;
    let text = format!("{} known, {} open", counts.known, counts.open);
    match (counts.known, counts.failed) {
        (0, _) => None,
        (_, 0) => Some(Check::ok(NAME, text)),
        (_, failed) => Some(
            Check::warning(NAME, format!("{text}, {failed} failed"))
                .advice("the list of workspaces says why"),
        ),
    }
}

/// Checks whether agents answer, if the server uses any.
async fn agents(host: &Host) -> Option<Check> {
    const NAME: &str = "agents";
    let connected = host.agents()?.dialled().count();
    let away = host.agents_away().await;
    if away.is_empty() {
        let text = format!("{connected} connected to this server; all that were used answer");
        return Some(Check::ok(NAME, text));
    }
    let names: Vec<_> = away.iter().map(WorkspaceName::as_str).collect();
    let text = format!("no answer from {}", names.join(", "));
    let advice = "look at their machines and at the network in between; calls in their workspaces are refused until they are back";
    Some(Check::warning(NAME, text).advice(advice))
}

fn store(host: &Host) -> Check {
    const NAME: &str = "store";
    let stats = host.ledger().stats();
    let store = stats.store;
    let text = format!("{} calls, {} KiB", stats.calls, store.bytes >> 10);
    if !host.is_recording() {
        return Check::error(NAME, "the store does not answer: no call can be recorded").advice(
            "see `toolhost doctor` and the log of the server; calls are refused until it is back",
        );
    }
    if !store.is_kept {
        return Check::warning(NAME, format!("{text}, in memory"))
            .advice("calls and processes are forgotten with the host: name a state directory");
    }
    match (store.failures, store.damaged) {
        (0, 0) => Check::ok(NAME, text),
        (failures, damaged) => Check::warning(
            NAME,
            format!(
                "{text}; {failures} changes could not be written, {damaged} records are damaged"
            ),
        )
        .advice("look closer with `toolhost state check`, and for free space on its disk"),
    }
}

fn audit(host: &Host) -> Check {
    const NAME: &str = "audit";
    match host.audit().directory() {
        Some(directory) => Check::ok(NAME, directory.display().to_string()),
        None => Check::warning(NAME, "there is no audit trail")
            .advice("leave out --no-audit, and name a state directory or --audit-dir"),
    }
}
