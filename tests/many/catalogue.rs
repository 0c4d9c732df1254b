//! Three hundred tools as integrations have them: fifteen plugins with four kinds of things each, and five tools for each kind.

use serde_json::{Value, json};

/// A kind of things: its name, its plural, and its explanation.
type Kind = (&'static str, &'static str, &'static str);

/// The plugins: the name, the product, and the kinds of its things.
const PLUGINS: [(&str, &str, [Kind; 4]); 15] = [
    (
        "github",
        "GitHub",
        [
            ("issue", "issues", "a bug report or a wish in a repository"),
            (
                "pull_request",
                "pull requests",
                "a proposed change of a branch that others review and merge",
            ),
            (
                "release",
                "releases",
                "a tagged version with notes and files to download",
            ),
            (
                "workflow",
                "workflows",
                "an automation that builds and tests each push",
            ),
        ],
    ),
    (
        "gitlab",
        "GitLab",
        [
            ("issue", "issues", "a bug report or a wish in a project"),
            (
                "merge_request",
                "merge requests",
                "a proposed change of a branch that others review and merge",
            ),
            (
                "pipeline",
                "pipelines",
                "a run of the jobs that build and test a commit",
            ),
            ("runner", "runners", "a machine that runs jobs"),
        ],
    ),
    (
        "jira",
        "Jira",
        [
            (
                "ticket",
                "tickets",
                "a task or a story on the board of a team",
            ),
            (
                "sprint",
                "sprints",
                "two weeks of work that a team plans together",
            ),
            ("epic", "epics", "a large goal that groups stories"),
            (
                "worklog",
                "worklogs",
                "the hours that somebody spent on a ticket",
            ),
        ],
    ),
    (
        "slack",
        "Slack",
        [
            (
                "message",
                "messages",
                "a text that colleagues read in a channel or a thread",
            ),
            (
                "channel",
                "channels",
                "a room for the conversations of a team",
            ),
            ("reaction", "reactions", "an emoji below a message"),
            (
                "reminder",
                "reminders",
                "a note that is sent to somebody later",
            ),
        ],
    ),
    (
        "calendar",
        "the calendar",
        [
            (
                "event",
                "events",
                "a meeting or an appointment with a time, a place and guests",
            ),
            (
                "invitation",
                "invitations",
                "the answer of a guest to a meeting",
            ),
            ("room", "rooms", "a meeting room that can be booked"),
            (
                "holiday",
                "holidays",
                "days on which somebody is away on vacation",
            ),
        ],
    ),
    (
        "mail",
        "the mailbox",
        [
            (
                "mail",
                "mails",
                "an email with recipients, a subject and attachments",
            ),
            (
                "draft",
                "drafts",
                "an email that is written and not yet sent",
            ),
            ("label", "labels", "a tag that sorts emails into folders"),
            ("filter", "filters", "a rule that sorts incoming emails"),
        ],
    ),
    (
        "drive",
        "the drive",
        [
            (
                "document",
                "documents",
                "a text with headings, tables and pictures",
            ),
            (
                "spreadsheet",
                "spreadsheets",
                "a table with rows, columns and formulas",
            ),
            (
                "folder",
                "folders",
                "a place for documents that are shared with a team",
            ),
            (
                "permission",
                "permissions",
                "who may read or edit a shared document",
            ),
        ],
    ),
    (
        "crm",
        "the CRM",
        [
            ("customer", "customers", "a company that buys from us"),
            (
                "contact",
                "contacts",
                "a person at a customer, with phone number and address",
            ),
            (
                "deal",
                "deals",
                "a sale that may be won, with its amount and stage",
            ),
            ("note", "notes", "a remark of a seller about a conversation"),
        ],
    ),
    (
        "stripe",
        "Stripe",
        [
            (
                "invoice",
                "invoices",
                "a bill with its positions, taxes and due date",
            ),
            ("refund", "refunds", "money that is paid back to a buyer"),
            (
                "subscription",
                "subscriptions",
                "a plan that is paid each month or year",
            ),
            ("coupon", "coupons", "a discount in percent or as an amount"),
        ],
    ),
    (
        "sentry",
        "Sentry",
        [
            (
                "crash",
                "crashes",
                "an exception of an application with its stack trace",
            ),
            (
                "alert_rule",
                "alert rules",
                "a threshold above which errors wake somebody",
            ),
            ("replay", "replays", "a recording of the session of a user"),
            (
                "environment",
                "environments",
                "production, staging or another place where an application runs",
            ),
        ],
    ),
    (
        "pagerduty",
        "PagerDuty",
        [
            (
                "incident",
                "incidents",
                "an outage that the engineer on call works on",
            ),
            ("schedule", "schedules", "who is on call in which week"),
            (
                "escalation",
                "escalations",
                "whom to call next if nobody answers",
            ),
            (
                "postmortem",
                "postmortems",
                "the causes of an outage and the lessons from it",
            ),
        ],
    ),
    (
        "kubernetes",
        "Kubernetes",
        [
            (
                "deployment",
                "deployments",
                "a service with its image and number of replicas",
            ),
            (
                "pod",
                "pods",
                "one running instance of a service with its containers",
            ),
            (
                "secret",
                "secrets",
                "a password or key that containers read",
            ),
            (
                "ingress",
                "ingresses",
                "a host name and path that lead to a service",
            ),
        ],
    ),
    (
        "cloud",
        "the cloud",
        [
            ("bucket", "buckets", "a store of objects and backups"),
            (
                "virtual_machine",
                "virtual machines",
                "a server with its size, disk and region",
            ),
            ("dns_record", "DNS records", "the address of a domain name"),
            (
                "budget",
                "budgets",
                "a limit of monthly costs that warns somebody",
            ),
        ],
    ),
    (
        "travel",
        "the travel desk",
        [
            (
                "flight",
                "flights",
                "a seat in an aeroplane from one airport to another",
            ),
            (
                "hotel",
                "hotels",
                "a stay in a city with its nights and its price",
            ),
            ("train", "trains", "a journey by rail between two stations"),
            (
                "expense",
                "expenses",
                "a receipt that the company pays back to an employee",
            ),
        ],
    ),
    (
        "people",
        "the staff directory",
        [
            (
                "employee",
                "employees",
                "a member of staff with role, manager and start date",
            ),
            (
                "candidate",
                "candidates",
                "a person who applies for a job, with interviews and CV",
            ),
            (
                "payslip",
                "payslips",
                "the salary of a month with taxes and deductions",
            ),
            (
                "training",
                "trainings",
                "a course that staff take, with its dates and places",
            ),
        ],
    ),
];

/// Tasks in ordinary words, the tool that each needs, and its arguments.
pub(super) const TASKS: [(&str, &str, &str); 20] = [
    (
        "Please file a bug in our GitHub repository: the login page is blank in Safari.",
        "github__create_issue",
        "title",
    ),
    (
        "Which pull requests on GitHub still wait for somebody to review them?",
        "list_pull_request",
        "page_size",
    ),
    (
        "Cut a new release on GitHub with the notes of this week.",
        "create_release",
        "title",
    ),
    (
        "Did the GitLab pipeline of my last commit pass its tests?",
        "get_pipeline",
        "id",
    ),
    (
        "Write down that I spent three hours on the ticket PAY-17 today.",
        "create_worklog",
        "title",
    ),
    (
        "Tell the team on Slack that the site is back, as a message in the thread.",
        "create_message",
        "title",
    ),
    (
        "Remind Anna on Friday to water the plants.",
        "create_reminder",
        "title",
    ),
    (
        "Put an appointment with the auditors into my calendar for Monday at ten.",
        "create_event",
        "title",
    ),
    (
        "Is there a free meeting room for eight people tomorrow?",
        "list_room",
        "page_size",
    ),
    (
        "Send an email with the minutes to all recipients of the last one.",
        "create_mail",
        "title",
    ),
    (
        "Let Ben edit the shared document, not only read it.",
        "update_permission",
        "id",
    ),
    (
        "Change the phone number of our contact at Acme.",
        "update_contact",
        "id",
    ),
    (
        "The buyer wants the money back: pay the order 4711 back.",
        "create_refund",
        "title",
    ),
    (
        "Cancel the monthly subscription of this user.",
        "delete_subscription",
        "id",
    ),
    (
        "Show me the stack trace of the exception that users hit this morning.",
        "get_crash",
        "id",
    ),
    ("Who is on call this week?", "get_schedule", "id"),
    (
        "Scale the deployment of the web service to six replicas.",
        "update_deployment",
        "id",
    ),
    (
        "Change the DNS record of shop.example.org to the new address.",
        "update_dns_record",
        "id",
    ),
    (
        "Book me a flight from Hamburg to Lisbon on the third of May.",
        "create_flight",
        "title",
    ),
    (
        "Hand in the receipt of the taxi so that the company pays it back.",
        "create_expense",
        "title",
    ),
];

/// Returns the plugins with their tools: the name of each plugin, and the setting that describes its tools.
pub(super) fn plugins() -> impl Iterator<Item = (&'static str, Value)> {
    PLUGINS.iter().map(|(plugin, product, kinds)| {
        let tools = kinds.iter().flat_map(|kind| tools(product, *kind));
        (*plugin, tools.collect())
    })
}

/// Returns the five tools for one kind of things.
fn tools(product: &str, (name, plural, gloss): Kind) -> [Value; 5] {
    let one = name.replace('_', " ");
    let id = json!({ "type": "string", "description": format!("The id of the {one}, as list_{name} replies with it.") });
    let content = json!({
        "title": { "type": "string", "description": format!("The title of the {one}: one line, for lists and notifications.") },
        "body": { "type": "string", "description": format!("The content of the {one}, in Markdown; empty if it needs none.") },
        "assignee": { "type": "string", "description": "The name of the account that is responsible, such as jdoe." },
        "labels": { "type": "array", "items": { "type": "string" }, "description": "Labels by which lists are filtered." },
        "due": { "type": "string", "format": "date", "description": "The day by which it has to be done, as YYYY-MM-DD." },
    });
    let mut changes = content.clone();
    changes["id"] = id.clone();
    let schema = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let tool = |action: &str, description: String, input_schema: Value| json!({ "name": format!("{action}_{name}"), "description": description, "input_schema": input_schema });
    let listing = json!({
        "query": { "type": "string", "description": format!("Only {plural} with these words in the title or the content.") },
        "state": { "type": "string", "enum": ["open", "closed", "all"], "description": "Only those in this state; open if not given." },
        "page": { "type": "integer", "minimum": 1, "description": "The number of the page, from 1." },
        "page_size": { "type": "integer", "minimum": 1, "maximum": 100, "description": "The number of results on a page." },
    });
    [
        tool(
            "list",
            format!(
                "Lists {plural} of {product}, newest first: each is {gloss}. Filters by words and state, and replies in pages."
            ),
            schema(listing, &[]),
        ),
        tool(
            "get",
            format!(
                "Shows one of the {plural} of {product}, with all its fields and its history. Here it is {gloss}."
            ),
            schema(json!({ "id": id.clone() }), &["id"]),
        ),
        tool(
            "create",
            format!(
                "Creates, adds, books or sends a new {one} in {product}: {gloss}. Replies with its id and its address."
            ),
            schema(content, &["title"]),
        ),
        tool(
            "update",
            format!(
                "Changes fields of a {one} in {product}: {gloss}. Fields that are not given stay as they are."
            ),
            schema(changes, &["id"]),
        ),
        tool(
            "delete",
            format!(
                "Deletes, cancels or closes a {one} in {product} for good: {gloss}. This cannot be undone."
            ),
            schema(json!({ "id": id }), &["id"]),
        ),
    ]
}
