-- up

create table "snippets" (
  "id" bigint generated always as identity,
  "title" varchar(100) collate "C" not null,
  "code" text collate "C" not null,
  "language" varchar(50) collate "C" not null,
  "created_at" timestamptz not null default now(),
  constraint "snippets_pkey" primary key ("id"),
  constraint "snippets_title_length" check (char_length("title") >= 1),
  constraint "snippets_code_length" check (char_length("code") >= 1 and char_length("code") <= 10000),
  constraint "snippets_language_length" check (char_length("language") >= 1)
);

create index "snippets_language_id_idx" on "snippets" ("language", "id");

create index "snippets_title_id_idx" on "snippets" ("title", "id");

create index "snippets_created_at_id_idx" on "snippets" ("created_at", "id");

-- down

drop table "snippets";
