-- Where the ledger's chain ends: one row, turned by the database itself with every entry (also with one of a
-- program of the version before), so that an entry that is gone from the end is missed, and the next one follows
-- the last that was written, not the last that is left. Of a database that is older than this table it tells the
-- end that was found.
create table ledger_head (
    id integer primary key check (id = 1),
    seq bigint not null,
    hash text not null
) with (fillfactor = 50);
-- Nobody adds an entry between this look and the trigger.
lock table ledger in share row exclusive mode;
insert into ledger_head (id, seq, hash)
select 1, coalesce(max(seq), 0), coalesce(
    (select hash from ledger order by seq desc limit 1),
    repeat('0', 64)
) from ledger;
create function ledger_went_on() returns trigger language plpgsql as $$
begin
    update ledger_head set seq = last.seq, hash = last.hash
    from (select seq, hash from came order by seq desc limit 1) as last
    where ledger_head.id = 1;
    return null;
end $$;
-- For each statement: a row that is written many times in one transaction gets slower with each.
create trigger ledger_head_follows after insert on ledger
    referencing new table as came for each statement execute function ledger_went_on();
create function ledger_head_goes_on() returns trigger language plpgsql as $$
begin
    if new.seq > old.seq then
        return new;
    end if;
    raise exception 'the ledger is append-only';
end $$;
create trigger ledger_head_goes_on before update on ledger_head
    for each row execute function ledger_head_goes_on();
create trigger ledger_head_stays before delete or truncate on ledger_head
    for each statement execute function ledger_is_append_only();
