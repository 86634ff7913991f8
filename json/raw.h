#ifndef JSON_RAW_H
#define JSON_RAW_H

/* raw - steps through JSON written by this program (canonical, without blanks,
   its CRC checked) without making tokens. Any other text causes an error, never
   an overrun. */

#include "base/base.h"

/* The byte after the value that begins at p, or NULL. */
const char *raw_skip(const char *p, const char *end);

/* Steps through the members of a body or, starting after its brace, of an
   object. */
struct raw_members {
    const char *p, *end;
    struct str name;  /* without quotes; our names have no escapes */
    struct str value; /* raw */
};
/* Starts stepping through a raw object, or a run of members without braces. */
struct raw_members raw_members_of(struct str raw);
/* Reads the next member into name and value. 1; 0: the end; ERR_FORMAT. */
int raw_next(struct raw_members *m);
/* The same, but does not read the value: value.p is its start, value.len 0. The
   caller steps over it or stops. */
int raw_next_name(struct raw_members *m);

/* The content of a raw string, with escapes unchanged. */
struct str raw_inner(struct str raw);
/* The value of a raw whole number; 0 for anything else. */
uint64_t raw_u64(struct str raw);

/* The text as a raw string, in a; .p NULL: out of memory. */
struct str raw_quote(struct arena *a, struct str text);
/* The decoded text of a raw string, in a if it has escapes. .p NULL: not a
   string, or out of memory. */
struct str raw_text(struct arena *a, struct str raw);
/* The number of elements of a raw array; 0 for anything else. */
size_t raw_list_n(struct str raw);
/* Steps through a raw array: the element after item, or the first if item is
   STR_NONE; .p NULL: there is none, or raw is no array. */
struct str raw_list_next(struct str raw, struct str item);
/* Returns whether a raw array has an element equal to item. */
bool raw_list_has(struct str raw, struct str item);
/* The element of a raw array of objects whose member name has this raw value;
   .p NULL: not found. */
struct str raw_list_find(struct str raw, const char *name, struct str value);
/* The raw value of an object's member; .p NULL: absent. */
struct str raw_member(struct str raw, const char *name);
/* A list in which with replaces item, a slice of the list. If item.p is NULL,
   with is appended; if with is empty, item is removed. The result is in a; .p
   NULL: out of memory. */
struct str raw_list_edit(struct arena *a, struct str list, struct str item,
                         struct str with);

#endif
