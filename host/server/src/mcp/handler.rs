//! The handler of a client's requests and notifications.

use std::future::pending;
use std::sync::OnceLock;

use futures_util::future::join_all;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode, GetTaskParams, GetTaskResult, Implementation,
    InitializeRequestParams, InitializeResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::caller::{Caller, Revived, Session, http_extension};
use super::subscriptions::{MAX_WATCHED, Subscriptions, ToolChanges, Watch};
use super::{McpOptions, call, errors, resources, tasks};
use crate::unknown::cut;
use toolhost_call::tool::{Definition, Format};
use toolhost_core::Host;
use toolhost_http::access::Principal;

/// The instructions about the tools that every client gets.
const INSTRUCTIONS: &str = "Commands and files of these tools are in one workspace. \
                            The whole output of a command is the resource toolhost://processes/{id}/output, a page at a time (?since=).";

/// The supported methods. A request for one of them with wrong parameters is not a request for an unknown method.
const METHODS: [&str; 10] = [
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/get",
    "tasks/cancel",
    "tasks/update",
];

/// The handler of one client: of two pipes, of a session, or of one request.
#[derive(Debug)]
pub(super) struct Handler {
    pub(super) host: Host,
    pub(super) options: McpOptions,
    /// The principal of the pipes, or of the HTTP request for which this handler was made. `rmcp` looks tools up without naming
    /// a client.
    principal: Principal,
    /// The session of two pipes; requests over HTTP name their own.
    session: Option<Session>,
    /// Cancelled when the server stops: ends streams that would otherwise stay open.
    stopping: CancellationToken,
    /// Ends the notifications that the session gets when the tools change.
    telling: OnceLock<DropGuard>,
    /// The resources whose changes the client subscribed to.
    subscriptions: Subscriptions,
}

impl Handler {
    pub(super) fn new(
        host: Host,
        options: McpOptions,
        principal: Principal,
        session: Option<Session>,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            host,
            options,
            principal,
            session,
            stopping,
            telling: OnceLock::new(),
            subscriptions: Subscriptions::default(),
        }
    }

    /// Returns the caller of a request.
    pub(super) fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let session = self.session.as_ref();
        Caller::of(session, &context.extensions, &context.meta, &self.options)
    }

    /// Returns the instructions for the tools that the caller may use.
    fn instructions(&self, context: &RequestContext<RoleServer>) -> String {
        let caller = self.caller(context).ok();
        let tools = self.host.tools();
        let has = |name: &str| {
            let may_use = |caller: &Caller| caller.principal.may_use(name);
            caller.as_ref().is_some_and(may_use) && tools.iter().any(|tool| tool.name == name)
        };
        let mut text = INSTRUCTIONS.to_owned();
        if has("process_output") {
            text.push_str(
                " A command that takes long goes on after its call has replied that it is running: process_output \
                 waits for it and shows what follows a cursor",
            );
            text.push_str(match has("process_signal") {
                true => ", process_signal ends it.",
                false => ".",
            });
        }
        if has("process_input") {
            text.push_str(
                " A program that asks or draws is run with terminal=true, and answered with process_input.",
            );
        }
        if has("process_list") && caller.is_some_and(|caller| caller.reach.is_some()) {
            text.push_str(
                " Keep the id of each process: process_list does not show processes of earlier calls.",
            );
        }
        text
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tasks()
            .build();
        let implementation =
            Implementation::new("toolhost", env!("CARGO_PKG_VERSION")).with_title("Toolhost");
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let negotiated = self.negotiate_initialize(&request)?;
        Ok(negotiated.with_instructions(self.instructions(&context)))
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let info = self.get_info();
        let info = info.with_instructions(self.instructions(&context));
        let mut discovered = DiscoverResult::from_server_info(versions, info);
        // The reply depends on the tools that this token may use.
        discovered.cache_scope = CacheScope::Private;
        Ok(discovered)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&context)?;
        let actor = caller.principal.actor();
        let offered = match caller.reach {
            // The next request has another chat.
            Some(_) => self.host.offered_without_chat(actor, Format::Mcp),
            None => {
                let offered = self.host.offered_in(actor, &caller.chat, Format::Mcp).await;
                offered.map_err(|refused| errors::not_now(&refused))?
            }
        };
        let mut rendered = render(&offered)?;
        if !caller.structured {
            // A tool that promises structured content has to reply with it.
            for tool in &mut rendered {
                tool.output_schema = None;
            }
        }
        Ok(ListToolsResult::with_all_items(rendered))
    }

    /// Returns a tool by whose schema `rmcp` checks headers. Tools that the client may not use are not found.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let may_use = self.principal.may_use(name);
        let tools = self.host.tools();
        let tool = tools.iter().find(|tool| may_use && tool.name == name)?;
        render(std::slice::from_ref(tool)).ok()?.pop()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        call::call(&self.host, caller, self.options.max_wait, request, context).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.caller(&context)?;
        let listed = resources::list(&self.host, &caller).await?;
        Ok(ListResourcesResult::with_all_items(listed))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::templates(&self.host, &self.caller(&context)?);
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let read = resources::read(&self.host, &caller, &request.uri, &context.ct).await?;
        Ok(read.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri;
        let watch = Watch::of(&self.host, &self.caller(&context)?, &uri).await?;
        let Some(removed) = self.subscriptions.add(&uri, &self.stopping)? else {
            return Ok(());
        };
        let peer = context.peer;
        let telling = watch.notify(move || {
            let (peer, changed) = (peer.clone(), ResourceUpdatedNotificationParam::new(&uri));
            async move { peer.notify_resource_updated(changed).await.is_ok() }
        });
        tokio::spawn(removed.run_until_cancelled_owned(telling));
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        tasks::get(&self.host, &self.caller(&context)?, &request.task_id).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // No task ever asks its client for input, so no answer is expected here.
        tasks::check(&self.host, &self.caller(&context)?, &request.task_id).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::cancel(&self.host, &self.caller(&context)?, &request.task_id).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        if METHODS.contains(&method.as_str()) {
            return Err(errors::broken(format!("{method} takes other parameters")));
        }
        Err(errors::error(
            ErrorCode::METHOD_NOT_FOUND,
            "unknown_method",
            format!("there is no method {}", cut(&method)),
        ))
    }

    /// Begins to notify a session of changes of the tools, now that it accepts notifications.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let ended = self.stopping.child_token();
        if self.telling.set(ended.clone().drop_guard()).is_err() {
            return;
        }
        let session = self.session.as_ref();
        let session = session.or_else(|| http_extension(&context.extensions));
        let chat = session.map(|session| session.chat.clone());
        let mut changes = ToolChanges::of_list(&self.host, chat);
        if context.extensions.get::<Revived>().is_some() {
            // The client has its list of tools from another server.
            changes.mark_changed();
        }
        let peer = context.peer;
        let telling = Watch::Tools(changes).notify(move || {
            let peer = peer.clone();
            async move { peer.notify_tool_list_changed().await.is_ok() }
        });
        tokio::spawn(ended.run_until_cancelled_owned(telling));
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let accepted = SubscriptionFilter::builder().tools_list_changed();
        Some(
            accepted
                .resource_subscriptions(uris.take(MAX_WATCHED))
                .build(),
        )
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let (sink, accepted) = (context.sink(), context.accepted());
        let caller = self.caller(context.request_context())?;
        let chat = caller.reach.is_none().then(|| caller.chat.clone());
        let changes = Watch::Tools(ToolChanges::of_list(&self.host, chat));
        let tools = async {
            if accepted.tools_list_changed == Some(true) {
                let tell = || async move { sink.notify_tool_list_changed().await.is_ok() };
                changes.notify(tell).await;
            }
        };
        // A resource that does not exist has no updates to send.
        let uris = accepted.resource_subscriptions.iter().flatten();
        let resources = join_all(uris.map(async |uri| {
            if let Ok(watch) = Watch::of(&self.host, &caller, uri).await {
                let tell = || async move { sink.notify_resource_updated(uri).await.is_ok() };
                watch.notify(tell).await;
            }
        }));
        tokio::select! {
            () = context.cancelled() => {}
            () = self.stopping.cancelled() => {}
            // The notifications go on for as long as the client listens.
            () = async { tokio::join!(tools, resources); pending().await } => {}
        }
        Ok(())
    }
}

/// Renders definitions in MCP's format, as `GET /v1/tools` does.
fn render(tools: &[Definition]) -> Result<Vec<Tool>, ErrorData> {
    let mut rendered = Format::Mcp.render(tools);
    let tools = rendered.get_mut("tools").map(serde_json::Value::take);
    serde_json::from_value(tools.unwrap_or_default())
        .map_err(|error| errors::internal(format!("a definition cannot be rendered: {error}")))
}
