-- Evidence that was posted, with what was proven of who brought it. Of one verifier, head and context there
-- is one document: whoever has more to say says it in another context.
create table evidence (
    id integer primary key autoincrement,
    repo integer not null,
    head text not null,
    verifier text not null,
    context text not null,
    carrier text not null,
    document text not null,
    at integer not null,
    url text,
    unique (repo, head, verifier, context)
);
