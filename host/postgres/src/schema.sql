-- The first version of the schema. Later versions only add to it, so that hosts of two versions can use it together.

CREATE TABLE toolhost.hosts (
    id uuid PRIMARY KEY,
    -- The state directory that it has locked, by which its next run is known.
    machine uuid NOT NULL,
    name text NOT NULL,
    -- Where other hosts and clients reach it, if that is known.
    address text,
    -- The end of its lease.
    until timestamptz NOT NULL
);

CREATE INDEX hosts_machine ON toolhost.hosts (machine);

CREATE TABLE toolhost.chats (
    chat text COLLATE "C" PRIMARY KEY,
    -- The token that first used it.
    owner text NOT NULL,
    -- The machine in whose default workspace its calls run; NULL if they run elsewhere, or none has run.
    home uuid,
    -- When it became known.
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When it was ended, in milliseconds since 1970.
    ended bigint
);

CREATE TABLE toolhost.calls (
    chat text COLLATE "C" NOT NULL,
    call text COLLATE "C" NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- The host that runs it, or ran it last.
    host uuid,
    -- The attempt to begin it that counts.
    attempt uuid,
    -- Whether that host took it over from another one.
    taken boolean NOT NULL DEFAULT false,
    -- Whether another host waits for its end.
    awaited boolean NOT NULL DEFAULT false,
    principal text NOT NULL,
    tool text NOT NULL,
    -- The tools of a tombstone; NULL: all.
    tools text[],
    state smallint NOT NULL,
    cancelled boolean NOT NULL DEFAULT false,
    digest bytea NOT NULL,
    began bigint NOT NULL,
    ended bigint,
    -- When it last changed.
    touched timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When its outcome was dropped; NULL while it runs or its outcome is kept.
    gone timestamptz,
    -- The bytes that its outcome counts; 0 without an outcome.
    held bigint NOT NULL DEFAULT 0,
    arguments text,
    -- While the call runs again: the outcome of its last run.
    outcome text,
    PRIMARY KEY (chat, call)
);
CREATE UNIQUE INDEX calls_number ON toolhost.calls (number) WHERE gone IS NULL;
CREATE INDEX calls_chat ON toolhost.calls (chat, number) WHERE gone IS NULL;
CREATE INDEX calls_gone ON toolhost.calls (gone, number) WHERE gone IS NOT NULL;
CREATE INDEX calls_running ON toolhost.calls (chat) WHERE state = 0;
CREATE INDEX calls_tombstones ON toolhost.calls (chat) WHERE state = 5;

CREATE TABLE toolhost.workspaces (
    name text COLLATE "C" PRIMARY KEY,
    spec text NOT NULL,
    principal text NOT NULL,
    created bigint NOT NULL,
    used bigint NOT NULL,
    removed bigint
);
CREATE TABLE toolhost.bindings (
    chat text COLLATE "C" PRIMARY KEY,
    workspace text COLLATE "C" NOT NULL
);
CREATE INDEX bindings_workspace ON toolhost.bindings (workspace);

-- The plugins that operators turned on or off. A choice stands at hosts whose configuration has the value `configured`.
CREATE TABLE toolhost.switches (
    plugin text COLLATE "C" NOT NULL,
    configured boolean NOT NULL,
    enabled boolean NOT NULL,
    principal text NOT NULL,
    PRIMARY KEY (plugin, configured)
);

-- The agents that are connected to hosts.
CREATE TABLE toolhost.agents (
    name text COLLATE "C" PRIMARY KEY,
    -- The host to which it is connected. If that host has lost its lease, the agent counts as connected to none.
    host uuid NOT NULL REFERENCES toolhost.hosts ON DELETE CASCADE
);
CREATE INDEX agents_host ON toolhost.agents (host);

-- The hosts at which clients read the events of a chat, or did shortly before. The others tell them what happens in it.
CREATE TABLE toolhost.readers (
    chat text COLLATE "C" NOT NULL,
    host uuid NOT NULL REFERENCES toolhost.hosts ON DELETE CASCADE,
    PRIMARY KEY (chat, host)
);
CREATE INDEX readers_host ON toolhost.readers (host);

-- Whether a host has its lease. Every change of a host asks this in its own statement.
CREATE FUNCTION toolhost.has_lease(host uuid) RETURNS boolean LANGUAGE sql VOLATILE AS
    'SELECT EXISTS (SELECT FROM toolhost.hosts WHERE id = $1 AND until > clock_timestamp())';
