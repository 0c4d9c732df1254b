//! `/v1/workspaces`: making, looking at and removing workspaces.

use axum::extract::{Path, Query, Request, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::{Object, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::chats::EndedProcess;
use super::paths::WorkspacePath;
use super::{json_body, pages};
use toolhost_core::{Host, Removal, WorkspaceInfo};
use toolhost_http::access::{Principal, Scope};
use toolhost_http::problem::Problem;
use toolhost_state::secret::Secret;
use toolhost_state::workspace_name::{MAX_WORKSPACE_NAME, WorkspaceName};
use toolhost_workspace::{AgentSpec, DirectorySpec, GitSpec, Quota, Spec, TemplateSpec};

/// The largest body, in bytes.
pub(super) const MAX_BODY: usize = 16 << 10;

/// The greatest number of a body: the largest that JSON has in every language.
const MAX_NUMBER: u64 = (1 << 53) - 1;

pub(super) fn routes() -> OpenApiRouter<Host> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(put, get, delete))
}

/// A workspace to make.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WorkspaceRequest {
    /// The provider that makes it: `directory` for a directory on this machine, `agent` for the workspace of an agent,
    /// `template` for a machine of its own.
    #[schema(schema_with = providers)]
    provider: Option<String>,
    /// Of `agent`: the name of an agent that the operator gave, or that connects to this server. Without it and `url`, the operator's
    /// lookup service finds the agent; if there is none, the agent has the name of the workspace.
    #[schema(examples("build-7"))]
    agent: Option<String>,
    /// Of `agent`: its address, if the operator allows it.
    #[schema(max_length = 2048, examples("https://10.0.0.7:7412"))]
    url: Option<String>,
    /// Of `agent`: the token with which the agent at this address lets the server in. It is in no answer.
    #[schema(max_length = 4096)]
    token: Option<String>,
    /// Of `directory`: the template whose files it begins with. Of `template`: that of its machine. Both are names that the operator gave.
    #[schema(examples("python"))]
    template: Option<String>,
    /// Of `template`: the parameters of the template.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Map<String, Value>>,
    /// The repository that it begins with, in the place of a template.
    git: Option<Repository>,
    /// The most that its files may take.
    quota: Option<Bounds>,
    /// After how many seconds without a call or a process it is removed; absent: never.
    #[schema(minimum = 1, maximum = 9007199254740991_u64)]
    idle_seconds: Option<u64>,
}

fn providers() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(["directory", "agent", "template"]))
        .build()
}

/// A repository to clone. The clone runs as a command of the workspace, in its sandbox.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Repository {
    /// The address, as `git clone` takes it.
    #[schema(max_length = 2048, examples("https://git.example.com/web.git"))]
    url: String,
    /// The branch or tag to check out; absent: that of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    branch: Option<String>,
}

/// The most that the files of a workspace may take.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Bounds {
    /// Bytes on the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9007199254740991_u64)]
    bytes: Option<u64>,
    /// Files and directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9007199254740991_u64)]
    files: Option<u64>,
    /// Whether the workspace is refused if the bounds cannot be enforced. Otherwise `gaps` names them.
    #[serde(default)]
    required: bool,
}

/// A workspace.
#[derive(Serialize, ToSchema)]
pub(super) struct Workspace {
    /// Its name.
    #[schema(examples("team-a/web"))]
    name: String,
    /// Its provider; `host` for the workspace that the server opened at its start.
    #[schema(examples("directory"))]
    provider: &'static str,
    #[schema(inline)]
    state: StateOfWorkspace,
    /// What is wrong: why it could not be opened the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The parts of its specification that are not enforced, while it is open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<String>,
    /// How many chats belong to it; absent for `default`, to which all other chats belong.
    #[serde(skip_serializing_if = "Option::is_none")]
    chats: Option<usize>,
    /// How many calls run in it; absent for `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<usize>,
    /// How many processes run or linger in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<usize>,
    /// When it was made, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at_unix_ms: Option<u64>,
    /// When a call last began or ended in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at_unix_ms: Option<u64>,
    /// The name of its agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The address of its agent, if a request gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The template that it began with, or that of its machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    /// The parameters of that template which a request gave.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object, required = false)]
    parameters: Map<String, Value>,
    /// The repository that it began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    git: Option<Repository>,
    /// The most that its files may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<Bounds>,
    /// After how many seconds without a call or a process it is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_seconds: Option<u64>,
}

/// `open`: in use lately. `closed`: the next call opens it, and makes it if it is not there. `failed`: it could not be opened; the next
/// call tries again. `removing`: it is being removed. A workspace with a machine of its own is `creating` or `starting` before it is
/// `ready`, `stopping` before it is `stopped`, and `failed` if that was not possible. With `start_failed` and `start_timeout` it can be used
/// as well: its start-up script has failed, or still runs after its time.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WorkspaceState)]
pub(super) enum StateOfWorkspace {
    Open,
    Closed,
    Failed,
    Removing,
    Creating,
    Starting,
    Ready,
    StartFailed,
    StartTimeout,
    Stopping,
    Stopped,
}

/// A page of workspaces.
#[derive(Serialize, ToSchema)]
struct WorkspacePage {
    /// The workspaces, by name.
    workspaces: Vec<Workspace>,
    /// The `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A workspace that was removed.
#[derive(Serialize, ToSchema)]
struct RemovedWorkspace {
    /// The processes that were live.
    ended: Vec<EndedProcess>,
}

/// The query parameters that select workspaces.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListParameters {
    /// Only workspaces whose names begin like this.
    #[param(
        max_length = 128,
        pattern = r"^[A-Za-z0-9._:@/-]*$",
        example = "team-a/"
    )]
    prefix: Option<String>,
    /// The maximum number of returned workspaces; 50 if this is absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next` of the page before.
    #[param(
        min_length = 1,
        max_length = 128,
        pattern = r"^(?!\.{1,2}(/|$))[A-Za-z0-9._:@-]+(/(?!\.{1,2}(/|$))[A-Za-z0-9._:@-]+)*$"
    )]
    after: Option<String>,
}

/// The query parameters of a removal.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RemoveParameters {
    /// Whether the calls and processes that run in it are ended. Otherwise a workspace in which something runs is not removed.
    force: Option<bool>,
}

impl WorkspaceRequest {
    fn into_spec(self) -> Result<Spec, Problem> {
        match self.provider.as_deref() {
            None | Some("directory") => self.into_directory(),
            Some("agent") => self.into_agent(),
            Some("template") => self.into_template(),
            Some(other) => {
                let detail = format!(
                    "there is no provider {other:?}; it is \"directory\", \"agent\" or \"template\""
                );
                Err(Problem::broken_request(detail))
            }
        }
    }

    fn into_template(self) -> Result<Spec, Problem> {
        let Self {
            provider: _,
            template: Some(template),
            parameters,
            agent: None,
            url: None,
            token: None,
            git: None,
            quota: None,
            idle_seconds: None,
        } = self
        else {
            let detail = "a machine has a `template` and its `parameters`, and no other keys";
            return Err(Problem::broken_request(detail));
        };
        Ok(Spec::Template(TemplateSpec {
            template,
            parameters: parameters.unwrap_or_default(),
        }))
    }

    fn into_agent(self) -> Result<Spec, Problem> {
        let Self {
            template: None,
            parameters: None,
            git: None,
            quota: None,
            idle_seconds: None,
            provider: _,
            agent,
            url,
            token,
        } = self
        else {
            let detail = "template, git, quota and idle_seconds are of directories, and parameters of machines: an agent has none of them";
            return Err(Problem::broken_request(detail));
        };
        if agent.is_some() && url.is_some() {
            let detail = "an agent is found by `agent` or by `url`: leave one out";
            return Err(Problem::broken_request(detail));
        }
        Ok(Spec::Agent(AgentSpec {
            agent,
            url,
            token: token.map(Secret::new),
        }))
    }

    fn into_directory(self) -> Result<Spec, Problem> {
        if self.agent.is_some() || self.url.is_some() || self.token.is_some() {
            let detail = "agent, url and token are of the provider \"agent\"";
            return Err(Problem::broken_request(detail));
        }
        if self.parameters.is_some() {
            let detail = "parameters are of the provider \"template\"";
            return Err(Problem::broken_request(detail));
        }
        let number = |name: &str, value: Option<u64>| match value {
            Some(value) => pages::within(name, value, 0..=MAX_NUMBER).map(Some),
            None => Ok(None),
        };
        let quota = self.quota.map(|bounds| {
            Ok::<_, Problem>(Quota {
                bytes: number("quota.bytes", bounds.bytes)?,
                files: number("quota.files", bounds.files)?,
                required: bounds.required,
            })
        });
        Ok(Spec::Directory(DirectorySpec {
            template: self.template,
            git: self.git.map(|git| GitSpec {
                url: git.url,
                branch: git.branch,
            }),
            quota: quota.transpose()?,
            idle_seconds: number("idle_seconds", self.idle_seconds)?,
        }))
    }
}

impl From<WorkspaceInfo> for Workspace {
    fn from(info: WorkspaceInfo) -> Self {
        let provider = info.spec.as_ref().map_or("host", Spec::provider);
        let (mut spec, mut agent) = (DirectorySpec::default(), AgentSpec::default());
        let mut parameters = Map::new();
        match info.spec {
            Some(Spec::Directory(given)) => spec = given,
            Some(Spec::Agent(given)) => agent = given,
            Some(Spec::Template(given)) => {
                spec.template = Some(given.template);
                parameters = given.parameters;
            }
            None => {}
        }
        Self {
            name: info.name.to_string(),
            provider,
            state: info.state.into(),
            problem: info.problem,
            gaps: info.gaps,
            chats: info.chats,
            calls: info.calls,
            processes: info.processes,
            created_at_unix_ms: info.created_ms,
            used_at_unix_ms: info.used_ms,
            agent: agent.agent,
            url: agent.url,
            template: spec.template,
            parameters,
            git: spec.git.map(|git| Repository {
                url: git.shown_url(),
                branch: git.branch,
            }),
            quota: spec.quota.map(|quota| Bounds {
                bytes: quota.bytes,
                files: quota.files,
                required: quota.required,
            }),
            idle_seconds: spec.idle_seconds,
        }
    }
}

/// Makes a workspace
///
/// Repeating the request is no error. The files are made when the first call runs in the workspace. Without a body, the workspace is an
/// empty directory, or stays as it is. A workspace with a template or a repository needs a token without a list of tools. Of a workspace
/// that is there, only `idle_seconds` can be changed, and the `url` and `token` of its agent.
#[utoipa::path(
    put, path = "/v1/workspaces/{*name}", operation_id = "putWorkspace", tag = "workspaces",
    params(WorkspacePath),
    request_body(content = Option<WorkspaceRequest>, description = "What it should be.", example = json!({ "provider": "directory" })),
    responses((status = 200, description = "The workspace.", body = Workspace)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_workspace", "bounded_token", "workspace_exists", "no_provider", "unrecorded", "workspace_unavailable"
    ]))),
)]
async fn put(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<Workspace>, Problem> {
    principal.require(Scope::Call)?;
    let name: WorkspaceName = name.parse()?;
    let asked: Option<WorkspaceRequest> = json_body::read(request, MAX_BODY).await?;
    let spec = asked.map(WorkspaceRequest::into_spec).transpose()?;
    let actor = principal.actor();
    host.put_workspace(&name, spec, actor).await?;
    let info = host.workspace_info(&name, actor).await?;
    Ok(Json(info.into()))
}

/// Returns a workspace
#[utoipa::path(
    get, path = "/v1/workspaces/{*name}", operation_id = "getWorkspace", tag = "workspaces",
    params(WorkspacePath),
    responses((status = 200, description = "The workspace.", body = Workspace)),
    extensions(("x-problems" = json!(["missing_scope", "foreign_workspace", "unknown_workspace"]))),
)]
async fn get(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
) -> Result<Json<Workspace>, Problem> {
    principal.require(Scope::Read)?;
    let name: WorkspaceName = name.parse()?;
    let info = host.workspace_info(&name, principal.actor()).await?;
    Ok(Json(info.into()))
}

/// Lists the workspaces
///
/// In pages, by name: those that the token may name. `default` is the workspace that the server opened at its start.
#[utoipa::path(
    get, path = "/v1/workspaces", operation_id = "listWorkspaces", tag = "workspaces",
    params(ListParameters),
    responses((status = 200, description = "A page of workspaces.", body = WorkspacePage)),
    extensions(("x-problems" = json!(["missing_scope"]))),
)]
async fn list(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Query(parameters): Query<ListParameters>,
) -> Result<Json<WorkspacePage>, Problem> {
    principal.require(Scope::Read)?;
    let prefix = parameters.prefix.unwrap_or_default();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-/".contains(&byte);
    if prefix.len() > MAX_WORKSPACE_NAME || !prefix.bytes().all(allowed) {
        let detail = format!(
            "prefix has at most {MAX_WORKSPACE_NAME} characters of A-Z a-z 0-9 . _ : @ - and \"/\""
        );
        return Err(Problem::broken_request(detail));
    }
    let after = parameters.after.as_deref().map(str::parse::<WorkspaceName>);
    let after = after.transpose().map_err(|_| pages::wrong_place())?;
    let limit = pages::limit(parameters.limit)? as usize;
    let actor = principal.actor();
    let (found, is_more) = host.workspaces(&prefix, after.as_ref(), limit, actor).await;
    let last = found.last().filter(|_| is_more);
    Ok(Json(WorkspacePage {
        next: last.map(|last| last.name.to_string()),
        workspaces: found.into_iter().map(Workspace::from).collect(),
    }))
}

/// Removes a workspace
///
/// Ends what runs in it, if `force` is set, and removes its files. Its chats stay with it: their calls are refused until there is a
/// workspace of this name again, which is empty.
#[utoipa::path(
    delete, path = "/v1/workspaces/{*name}", operation_id = "removeWorkspace", tag = "workspaces",
    params(WorkspacePath, RemoveParameters),
    responses((status = 200, description = "The workspace is gone.", body = RemovedWorkspace)),
    extensions(("x-problems" = json!([
        "missing_scope", "foreign_workspace", "bounded_token", "unknown_workspace", "workspace_in_use", "default_workspace", "unrecorded", "workspace_unavailable"
    ]))),
)]
async fn delete(
    State(host): State<Host>,
    Extension(principal): Extension<Principal>,
    Path(name): Path<String>,
    Query(parameters): Query<RemoveParameters>,
) -> Result<Json<RemovedWorkspace>, Problem> {
    // The removal ends calls of every tool.
    principal.require_all_tools(Scope::Call)?;
    let name: WorkspaceName = name.parse()?;
    let removal = match parameters.force {
        Some(true) => Removal::Forced,
        Some(false) | None => Removal::Unused,
    };
    let removed = host.remove_workspace(&name, removal, principal.actor());
    let ended = removed.await?.ended.into_iter().map(EndedProcess::from);
    Ok(Json(RemovedWorkspace {
        ended: ended.collect(),
    }))
}
