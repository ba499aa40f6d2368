-- Times are microseconds since 1970, UTC. Documents are JSON text. Ids are GitHub's.

-- Deliveries as they came in. The unique id decides who owns a delivery; seq is the order of arrival.
-- The body is emptied once it is understood; the id stays, since it may be delivered again.
create table deliveries (
    seq integer primary key autoincrement,
    id text not null unique,
    event text not null,
    body blob not null,
    at integer not null,
    state text not null default 'waiting' check (state in ('waiting', 'done', 'dead')),
    attempts integer not null default 0,
    note text not null default ''
);
create index deliveries_waiting on deliveries (seq) where state = 'waiting';
create index deliveries_dead on deliveries (seq) where state = 'dead';

-- Counted as they change: whoever asks every few seconds must not count millions of rows each time.
create table delivery_counts (
    state text primary key,
    n integer not null
) without rowid;
insert into delivery_counts (state, n) values ('waiting', 0), ('done', 0), ('dead', 0);
create trigger deliveries_counted after insert on deliveries begin
    update delivery_counts set n = n + 1 where state = new.state;
end;
create trigger deliveries_recounted after update of state on deliveries
when old.state <> new.state begin
    update delivery_counts set n = n + 1 where state = new.state;
    update delivery_counts set n = n - 1 where state = old.state;
end;

-- The keyed work table: what wants a pass, and who works on it.
create table work (
    key text primary key,
    -- When the next pass may start; null while no other is wanted than the one that runs.
    due integer,
    -- How the next pass must look: 0 reads if needed, 1 reads always.
    confirm integer not null default 0,
    -- Until when nobody else may take the key; null while nobody works on it.
    lease_until integer,
    -- How the running pass must look: whoever takes over from it must not look less closely.
    lease_confirm integer not null default 0,
    -- The last lease's number. A holder that shows another one was overtaken.
    fence integer not null default 0,
    -- How many passes in a row failed.
    attempt integer not null default 0,
    check (due is not null or lease_until is not null)
) without rowid;
-- When a key may be taken: a leased one when its lease runs out, any other when it is due.
create index work_ready on work (coalesce(lease_until, due), fence);

-- One row: the number of the last lease of any key, so that a forgotten key starts no number again.
create table fences (
    id integer primary key check (id = 1),
    last integer not null
);
insert into fences (id, last) values (1, 0);

-- What is remembered. Every column beside a document is taken from it when it is written.
create table repos (
    id integer primary key,
    version integer not null,
    -- What the document calls it, in lower case.
    named text,
    -- The same while no other repository took the name since.
    name text,
    installation integer,
    active integer not null,
    document text not null
);
create index repos_named on repos (named);
create index repos_installation on repos (installation);

create table pulls (
    repo integer not null,
    number integer not null,
    version integer not null,
    head text,
    base text,
    open integer not null,
    created integer,
    -- The pull request's own fields again: the overview must not read every diff.
    pull text,
    document text not null,
    primary key (repo, number)
);
-- The number belongs to them: without it SQLite rather walks every pull request of the repository in
-- the order of their numbers than sort a handful.
create index pulls_head on pulls (repo, head, number) where open = 1;
create index pulls_base on pulls (repo, base, number) where open = 1;
create index pulls_open on pulls (repo, created) where open = 1;

create table heads (
    repo integer not null,
    head text not null,
    version integer not null,
    no_pulls_at integer,
    document text not null,
    primary key (repo, head)
);

-- What passes keep about a pull request.
create table records (
    repo integer not null,
    number integer not null,
    document text not null,
    primary key (repo, number)
);

create table freezes (
    repo integer not null,
    base text not null,
    document text not null,
    primary key (repo, base)
) without rowid;

-- The journal of effects: an intent before a try, an outcome after it.
create table effects (
    key text primary key,
    state text not null check (state in ('intent', 'done', 'failed')),
    attempts integer not null,
    intent text not null,
    outcome text,
    at integer not null
) without rowid;

-- The ledger: append-only, hash-chained, without gaps.
create table ledger (
    seq integer primary key,
    repo integer not null,
    number integer,
    entry text not null,
    hash text not null
);
create index ledger_repo on ledger (repo, seq);
create index ledger_pull on ledger (repo, number, seq);
create trigger ledger_is_not_changed before update on ledger begin
    select raise(abort, 'the ledger is append-only');
end;
create trigger ledger_is_not_shortened before delete on ledger begin
    select raise(abort, 'the ledger is append-only');
end;
