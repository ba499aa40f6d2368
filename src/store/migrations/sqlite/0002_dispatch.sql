-- What deliveries told of a repository's issues since they were last looked at.
create table issues (
    repo integer primary key,
    version integer not null,
    document text not null
);

-- What passes keep about the dispatches of a repository.
create table dispatches (
    repo integer primary key,
    document text not null
);
