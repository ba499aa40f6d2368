-- What the server keeps for itself, by name: how far the App's list of deliveries was read, for one.
create table notes (
    name text primary key,
    version integer not null,
    document text not null
);
