-- Where the ledger's chain ends: one row, turned by the database itself with every entry, so that an entry that
-- is gone from the end is missed, and the next one follows the last that was written, not the last that is left.
-- Of a database that is older than this table it tells the end that was found.
create table ledger_head (
    id integer primary key check (id = 1),
    seq integer not null,
    hash text not null
);
insert into ledger_head (id, seq, hash)
select 1, coalesce(max(seq), 0), coalesce(
    (select hash from ledger order by seq desc limit 1),
    '0000000000000000000000000000000000000000000000000000000000000000'
) from ledger;
create trigger ledger_head_follows after insert on ledger begin
    update ledger_head set seq = new.seq, hash = new.hash where id = 1;
end;
create trigger ledger_head_goes_on before update on ledger_head when new.seq <= old.seq begin
    select raise(abort, 'the ledger is append-only');
end;
create trigger ledger_head_stays before delete on ledger_head begin
    select raise(abort, 'the ledger is append-only');
end;
