-- Deliveries as they came in. The unique id decides who owns a delivery; seq is the order of arrival.
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

-- The keyed work table. A key wants a pass while wanted > done.
create table work (
    key text primary key,
    wanted integer not null,
    done integer not null default 0,
    not_before integer not null,
    lease_until integer,
    fence integer not null default 0,
    attempt integer not null default 0,
    confirm integer not null default 0
) without rowid;
create index work_due on work (not_before) where wanted > done;

-- What is remembered. The columns beside a document are taken from it when it is written.
create table repos (
    id integer primary key,
    name text,
    installation integer,
    active integer not null,
    version integer not null,
    document text not null
);
create index repos_name on repos (name);
create index repos_installation on repos (installation);

create table pulls (
    repo integer not null,
    number integer not null,
    head text,
    base text,
    open integer not null,
    version integer not null,
    document text not null,
    primary key (repo, number)
) without rowid;
create index pulls_head on pulls (repo, head) where open = 1;
create index pulls_base on pulls (repo, base) where open = 1;

create table heads (
    repo integer not null,
    head text not null,
    version integer not null,
    document text not null,
    primary key (repo, head)
) without rowid;

-- What passes keep about a pull request.
create table records (
    repo integer not null,
    number integer not null,
    document text not null,
    primary key (repo, number)
) without rowid;

-- The journal of effects.
create table effects (
    key text primary key,
    state text not null check (state in ('intent', 'done', 'failed')),
    attempts integer not null,
    intent text not null,
    outcome text,
    at integer not null
) without rowid;

create table freezes (
    repo integer not null,
    base text not null,
    document text not null,
    primary key (repo, base)
) without rowid;

-- The ledger: append-only, hash-chained.
create table ledger (
    seq integer primary key,
    repo integer not null,
    number integer,
    entry text not null,
    hash text not null
);
create index ledger_repo on ledger (repo, seq);
create index ledger_pull on ledger (repo, number, seq);
