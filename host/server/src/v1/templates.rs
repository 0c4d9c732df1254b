//! `/v1/templates`: the kinds of machines from which workspaces are made.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::paths::TemplatePath;
use toolhost_core::{Host, TemplateUse};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::{Kind, Problem};
use toolhost_machine::{self as machine, Kind as Provider};

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(get))
}

/// A kind of machine, as the operator describes it.
#[derive(Serialize, ToSchema)]
struct Template {
    /// Its name.
    #[schema(examples("debian"))]
    name: String,
    /// Its provider: `container` or `command`.
    #[schema(examples("container"))]
    provider: &'static str,
    /// Its title, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The purpose of its machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The address of a picture, or an emoji.
    #[serde(skip_serializing_if = "Option::is_none")]
    icon: Option<String>,
    /// Words by which it is found.
    tags: Vec<String>,
    /// The JSON Schema of its parameters.
    #[schema(value_type = Object)]
    parameters: Value,
    /// Whether a call starts a machine that is stopped.
    autostart: bool,
    /// After how many seconds without a call or a process a machine is stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_seconds: Option<u64>,
    /// After how many it is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    remove_seconds: Option<u64>,
    /// How many workspaces are made from it.
    workspaces: usize,
    /// How many chats belong to these workspaces.
    chats: usize,
}

/// The templates that the token may use.
#[derive(Serialize, ToSchema)]
struct TemplateList {
    /// The templates, those with most workspaces first.
    templates: Vec<Template>,
}

/// Returns the templates that a principal may use, those with most workspaces first.
fn all(host: &Host, principal: &Principal) -> Vec<Template> {
    let templates = host.machines().into_iter();
    let templates = templates.flat_map(|machines| machines.templates());
    let uses = host.template_uses();
    let used = |name: &str| uses.get(name).copied().unwrap_or_default();
    let mut all: Vec<_> = templates
        .filter(|(name, _)| principal.actor().may_use_template(name))
        .map(|(name, template)| described(name, template, used(name)))
        .collect();
    all.sort_by_key(|template| std::cmp::Reverse(template.workspaces));
    all
}

fn described(name: &str, template: &machine::Template, used: TemplateUse) -> Template {
    let settings = template.settings.clone();
    Template {
        name: name.to_owned(),
        provider: match template.kind {
            Provider::Container(_) => "container",
            Provider::Command(_) => "command",
        },
        parameters: settings.schema(),
        title: settings.title,
        description: settings.description,
        icon: settings.icon,
        tags: settings.tags,
        autostart: settings.autostart,
        idle_seconds: settings.idle_seconds,
        remove_seconds: settings.remove_seconds,
        workspaces: used.workspaces,
        chats: used.chats,
    }
}

/// Lists the templates
///
/// The kinds of machines from which the token may make workspaces, those with most workspaces first.
#[utoipa::path(
    get, path = "/v1/templates", operation_id = "listTemplates", tag = "workspaces",
    responses((status = 200, description = "The templates.", body = TemplateList)),
    extensions(("x-problems" = json!(["missing_scope"]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
) -> Result<Json<TemplateList>, Problem> {
    principal.require(Scope::Read)?;
    let templates = all(&host, &principal);
    Ok(Json(TemplateList { templates }))
}

/// Returns a template
#[utoipa::path(
    get, path = "/v1/templates/{name}", operation_id = "getTemplate", tag = "workspaces",
    params(TemplatePath),
    responses((status = 200, description = "The template.", body = Template)),
    extensions(("x-problems" = json!(["missing_scope", "unknown_template"]))),
)]
async fn get(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
) -> Result<Json<Template>, Problem> {
    principal.require(Scope::Read)?;
    let mut templates = all(&host, &principal).into_iter();
    let found = templates.find(|template| template.name == name);
    found.map(Json).ok_or_else(|| {
        let detail =
            format!("there is no template {name:?} of machines: GET /v1/templates has them");
        Problem::new(Kind::UNKNOWN_TEMPLATE, detail)
    })
}
